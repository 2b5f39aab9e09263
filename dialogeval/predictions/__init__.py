"""Prediction files: one reader a format in, `Predictions` out, and back again.

`load` finds and recognises, `formats` reads, `states`, `columns` and `cells` check; `documents` and
`writers` go the other way.
"""

from dialogeval.predictions.load import load_predictions

__all__ = ["load_predictions"]
