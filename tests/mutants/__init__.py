"""Mutation testing of the scores: what the tests would not notice. See tests/README.md."""
