"""Loading corpora: a name of the catalog or a path in, a `Corpus` out."""

from dialogeval.corpora.load import load_corpus

__all__ = ["load_corpus"]
