"""Simple response generators: what a model has to beat.

In: training dialogues and dialogues to answer. Out: predictions with delexicalised responses in
the ``[value_name]`` style. All are deterministic, and none depends on the order of the dialogues.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from .delex import delexicalize
from .exceptions import UsageError
from .model_input import split_tokens
from .tables import Corpus, Predictions

__all__ = ["most_frequent_response", "nearest_neighbour_generator", "ngram_generator"]

#: Utterances compared with the training data at a time: bounds the memory of the similarities.
CHUNK = 256
#: A set of domains with fewer training dialogues gets the model of all dialogues.
SMALLEST_SET = 10


def most_frequent_response(train: Corpus, corpus: Corpus) -> Predictions:
    """Answer every turn with the most frequent training response.

    Parameters
    ----------
    train, corpus : Corpus

    Returns
    -------
    Predictions
        Of equally frequent responses the first in the alphabet.

    Raises
    ------
    UsageError
        The training corpus has no turns.

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> toy = Corpus("toy", turns=table("turns", [("d", 0, "a", "Hi", 0), ("d", 1, "b", "hi", 0), ("d", 2, "c", "no", 0)]))
    >>> most_frequent_response(toy, toy).responses["response"].tolist()
    ['hi', 'hi', 'hi']
    """
    best = _most_frequent(_answers(train)["response"].tolist())
    return _predictions("most-frequent", corpus, [best] * len(corpus.turns))


def nearest_neighbour_generator(train: Corpus, corpus: Corpus) -> Predictions:
    """Answer as the training turn whose user utterance is the most similar one was answered.

    Parameters
    ----------
    train, corpus : Corpus

    Returns
    -------
    Predictions
        Similarity is the cosine of TF-IDF vectors of the delexicalised user utterance and, as
        tokens of their own, the system utterance before it. Ties, to six digits, go to the first
        training turn by dialogue id and turn; an utterance without any known word gets the most
        frequent response.

    Raises
    ------
    UsageError
        The training corpus has no turns.

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> train = Corpus("toy", turns=table("turns", [("d", 0, "hello", "hi", 0), ("e", 0, "thanks a lot", "bye", 0)]))
    >>> test = Corpus("toy", turns=table("turns", [("f", 0, "many thanks", "welcome", 0)]))
    >>> nearest_neighbour_generator(train, test).responses["response"].tolist()
    ['bye']
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    heard = _answers(train)
    answers = heard["response"].tolist()
    fallback = _most_frequent(answers)
    vectorizer = TfidfVectorizer(analyzer=str.split, sublinear_tf=True)
    queries = _queries(_ordered(train), heard)
    if corpus.turns.empty or not any(queries):  # silent users leave nothing to compare
        return _predictions("nearest-neighbour", corpus, [fallback] * len(corpus.turns))
    known = vectorizer.fit_transform(queries)
    asked = vectorizer.transform(_queries(corpus, delexicalize(corpus)))
    out: list[str] = []
    for start in range(0, asked.shape[0], CHUNK):
        similarity = (asked[start : start + CHUNK] @ known.T).toarray().round(6)
        best = similarity.argmax(axis=1)
        found = similarity[np.arange(len(best)), best] > 0
        out += [answers[i] if ok else fallback for i, ok in zip(best, found, strict=True)]
    return _predictions("nearest-neighbour", corpus, out)


def ngram_generator(train: Corpus, corpus: Corpus, order: int = 3, max_tokens: int = 36) -> Predictions:
    """Answer with the greedy output of an n-gram model of the goal's domains.

    Parameters
    ----------
    train, corpus : Corpus
    order : int, default=3
        Longest n-gram of the `nltk.lm` model.
    max_tokens : int, default=36
        Where decoding stops, if it did not end by itself.

    Returns
    -------
    Predictions
        All turns of dialogues whose goals name the same domains get the same response: the model
        sees no history. A set of domains with fewer than ten training dialogues is answered by
        the model of all dialogues; ``notes`` says for how many dialogues that was so. Of equally
        frequent tokens the first in the alphabet is taken.

    Raises
    ------
    UsageError
        The training corpus has no turns, or ``order`` or ``max_tokens`` is below 1.

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> toy = Corpus("toy", turns=table("turns", [("d", 0, "a", "how are you ?", 0), ("d", 1, "b", "how is it ?", 0)]))
    >>> ngram_generator(toy, toy).responses["response"].tolist()
    ['how are you ?', 'how are you ?']
    """
    for name, number in (("order", order), ("max_tokens", max_tokens)):
        if number < 1:
            raise UsageError(name, expected="a whole number from 1", got=repr(number))
    domains = _goal_domains(train)
    answers = _answers(train)
    sentences: dict[frozenset[str] | None, list[list[str]]] = defaultdict(list)
    for dialogue, text in zip(*(answers[c] for c in ("dialogue_id", "response")), strict=True):
        tokens = split_tokens(text)
        sentences[None].append(tokens)
        sentences[domains.get(dialogue, frozenset())].append(tokens)
    sizes: Counter[frozenset[str] | None] = Counter(
        domains.get(dialogue, frozenset()) for dialogue in answers["dialogue_id"].unique()
    )
    wanted = _goal_domains(corpus)
    glue = "" if corpus.language == "zh" else " "
    said: dict[frozenset[str] | None, str] = {}
    out, backed_off = [], set()
    for dialogue in corpus.turns["dialogue_id"]:
        key: frozenset[str] | None = wanted.get(dialogue, frozenset())
        if sizes[key] < SMALLEST_SET or not key:
            key = None
            backed_off.add(dialogue)
        if key not in said:
            said[key] = glue.join(_decode(_counts(sentences[key], order), order, max_tokens))
        out.append(said[key])
    notes = (f"{len(backed_off):,} dialogues answered by the model of all domains",) if backed_off else ()
    return _predictions("ngram", corpus, out, notes)


def _answers(train: Corpus) -> pd.DataFrame:
    """Return the delexicalised system utterances in the order of dialogue and turn."""
    if train.turns.empty:
        raise UsageError("the training corpus has no turns", file=train.id)
    return delexicalize(_ordered(train))


def _most_frequent(texts: list[str]) -> str:
    counts = Counter(texts)
    return min(counts, key=lambda text: (-counts[text], text))


def _ordered(corpus: Corpus) -> Corpus:
    return replace(
        corpus, turns=corpus.turns.sort_values(["dialogue_id", "turn"], kind="stable").reset_index(drop=True)
    )


def _queries(corpus: Corpus, system: pd.DataFrame) -> list[str]:
    """Return what the neighbour search compares: tokens of the user, and marked ones of the system before."""
    user = delexicalize(corpus, speaker="user")
    system = system[["dialogue_id", "turn", "response"]]
    before = user[["dialogue_id", "turn"]].merge(
        system.assign(turn=system["turn"] + 1), on=["dialogue_id", "turn"], how="left"
    )
    return [
        " ".join([*split_tokens(said), *(f"<{token}" for token in split_tokens(heard))])
        for said, heard in zip(user["response"], before["response"].fillna(""), strict=True)
    ]


def _goal_domains(corpus: Corpus) -> dict[str, frozenset[str]]:
    pairs = corpus.goals[["dialogue_id", "domain"]].drop_duplicates()
    found: dict[str, set[str]] = defaultdict(set)
    for dialogue, domain in zip(pairs["dialogue_id"], pairs["domain"], strict=True):
        found[dialogue].add(domain)
    return {dialogue: frozenset(names) for dialogue, names in found.items()}


def _counts(sentences: list[list[str]], order: int) -> Any:
    from nltk.lm import MLE
    from nltk.lm.preprocessing import padded_everygram_pipeline

    model = MLE(order)
    model.fit(*padded_everygram_pipeline(order, sentences))
    return model.counts


def _decode(counts: Any, order: int, max_tokens: int) -> list[str]:
    """Take the most frequent next token, after as long a context as the model has seen."""
    context = ["<s>"] * (order - 1)
    out: list[str] = []
    while len(out) < max_tokens:
        following = counts[tuple(context)] if context else counts.unigrams
        choices = {token: n for token, n in following.items() if token != "<s>"}
        token = min(choices, key=lambda t: (-choices[t], t), default="</s>")
        if token == "</s>":
            break
        out.append(token)
        context = [*context, token][1:] if context else []
    return out


def _predictions(name: str, corpus: Corpus, responses: list[str], notes: tuple[str, ...] = ()) -> Predictions:
    turns = corpus.turns[["dialogue_id", "turn"]]
    answers = turns.assign(response=pd.Series(responses, index=turns.index, dtype="str"))
    return Predictions(name, turns, responses=answers, format="baseline", notes=notes)
