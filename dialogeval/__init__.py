"""dialogeval: evaluate task-oriented dialogue models; a score is a number plus a definition."""

__version__ = "0.1.0"
