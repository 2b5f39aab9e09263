"""Bad inputs: the catalogue of what is refused, and how the inputs are made."""
