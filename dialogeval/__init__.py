"""dialogeval: evaluate task-oriented dialogue models; a score is a number plus a definition.

>>> import dialogeval as de
>>> gold = de.load_corpus("sample/crosswoz_en", split="test")
>>> de.score(gold, gold, protocol="lin2021")["slot_f1_micro"]
1.0
"""

from lazy_loader import attach_stub

__version__ = "0.1.0"

# ``__init__.pyi`` lists the public names; each is imported when it is first used.
__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
