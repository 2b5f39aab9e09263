"""Fuzzing of the readers: whatever bytes a file holds, only a `DialogevalError` may come out.

Nothing here is a test that pytest collects; `make fuzz` runs it, README.md says what came of it.
"""
