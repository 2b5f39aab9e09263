"""Baselines by name: simple trackers and generators, so that every lesson runs without a GPU.

In: a training corpus and a corpus to predict. Out: `Predictions`, the same at every run.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import pandas as pd

from dialogeval.delex import Lexicon, build_lexicon, delexicalize, find_known, find_value, plain_text
from dialogeval.exceptions import UnknownNameError, UsageError, show
from dialogeval.model_input import split_tokens
from dialogeval.tables import Corpus, Predictions, table


def run_baseline(name: str, train: Corpus, test: Corpus) -> Predictions:
    """Train a baseline on one corpus and let it predict another.

    Parameters
    ----------
    name : str
        A tracker: ``empty``, ``carry-over`` (gold's state of the turn before), ``value-matching``
        (known values by the words around them); or a generator: ``most-frequent``,
        ``nearest-neighbour`` (by TF-IDF), ``ngram`` (one model for each set of goal domains).
    train, test : Corpus

    Returns
    -------
    Predictions
        States from a tracker, delexicalised responses from a generator.

    Examples
    --------
    >>> toy = Corpus("toy", turns=table("turns", [("d", 0, "hello", "hi", 0)]))
    >>> run_baseline("most-frequent", toy, toy)
    Predictions(most-frequent: 1 dialogues, 1 turns; responses)
    """
    if name not in BASELINES:
        raise UnknownNameError("baseline", name, BASELINES)
    for corpus in (train, test):
        if not isinstance(corpus, Corpus):
            raise UsageError("", expected="a corpus", got=show(corpus), mend="load it with de.load_corpus")
    # Nothing may depend on the order of the rows that are learned from.
    turns = train.turns.sort_values(["dialogue_id", "turn"], ignore_index=True)
    return BASELINES[name](replace(train, turns=turns), test)


# Trackers -----------------------------------------------------------------------------------------


def _empty(train: Corpus, test: Corpus) -> Predictions:
    """Predict an empty state at every turn: right wherever the gold state is empty."""
    return Predictions("empty", test.turns[["dialogue_id", "turn"]], table("states"), format="baseline")


def _carry_over(train: Corpus, test: Corpus) -> Predictions:
    """Predict the gold state of the turn before: always one turn late, empty at the first."""
    turns = test.turns[["dialogue_id", "turn"]]
    # By position in the dialogue, not by number: the turns of a selection need not be consecutive.
    ordered = turns.sort_values(["dialogue_id", "turn"], kind="stable")
    following = ordered.assign(next=ordered.groupby("dialogue_id")["turn"].shift(-1)).dropna()
    late = test.states.merge(following, on=["dialogue_id", "turn"])
    states = late.assign(turn=late["next"].astype("int64"))[list(test.states.columns)]
    return Predictions("carry-over", turns, states, format="baseline")


Slot = tuple[str, str]
#: Weight of each kind of cue: words of one utterance depend on each other and would outvote the rest.
KINDS = {"prior": 1.0, "left": 1.0, "right": 1.0, "user": 0.5, "asked": 0.2, "state": 1.0}
#: A phrase stands for a value that was newly annotated in this share of its turns, and in so many.
PHRASE_SHARE, PHRASE_COUNT = 0.5, 3
#: Mentions of a cue that count; and mentions with the prior's odds that are added to them.
CUE_COUNT, SHRINK = 3, 10


@dataclass(frozen=True)
class ValueMatcher:
    """Known values as they are said, the slots of each, and the log odds of (slot, source, kind, cue)."""

    lexicon: Lexicon[str]
    slots: dict[str, list[Slot]]
    weights: dict[tuple, float]


def train_value_matcher(corpus: Corpus) -> ValueMatcher:
    """Learn values, phrases and cue words from dialogues with gold states."""
    if corpus.states.empty:
        mend = "train on an annotated split"
        raise UsageError("the training corpus has no states", file=corpus.id, mend=mend)
    dialogues = list(_dialogues(corpus))
    model = ValueMatcher(*_learn_values(dialogues), {})
    hits: Counter[tuple] = Counter()
    misses: Counter[tuple] = Counter()
    for dialogue in dialogues:
        held: dict[Slot, str] = {}
        active = heard = ""
        for _, _, user, system, state, new in dialogue:
            for value, candidates in _candidates(model, user, heard, held, active):
                for slot, keys in candidates:
                    (hits if new.get(slot) == value else misses).update(keys)
            held, heard, active = state, system, _active(new, active)
    for key in hits.keys() | misses.keys():
        prior, right, wrong = (*key[:2], "prior", ""), hits[key], misses[key]
        share = (hits[prior] + 0.5) / (hits[prior] + misses[prior] + 1)
        odds = math.log(share / (1 - share))
        if key == prior:
            model.weights[key] = round(odds, 6)
        elif right + wrong >= CUE_COUNT:
            # Relative to the prior and shrunk towards it: three lucky mentions make no cue.
            cue = math.log((right + SHRINK * share) / (wrong + SHRINK * (1 - share)))
            model.weights[key] = KINDS[key[2]] * round(cue - odds, 6)
    return model


def value_matching_tracker(model: ValueMatcher, corpus: Corpus) -> Predictions:
    """Track states by looking up known values and weighing their cues."""
    rows: list[tuple] = []
    for dialogue in _dialogues(corpus):
        held: dict[Slot, str] = {}
        active = heard = ""
        for name, turn, user, system, *_ in dialogue:
            best: dict[Slot, tuple[float, str]] = {}
            for value, candidates in _candidates(model, user, heard, held, active):
                score, slot = max((_total(model.weights, keys), slot) for slot, keys in candidates)
                if score > 0 and score >= best.get(slot, (0.0, ""))[0]:
                    best[slot] = (score, value)
            held |= {slot: value for slot, (_, value) in best.items()}
            heard, active = system, _active(best, active)
            rows += [(name, turn, *slot, value) for slot, value in held.items()]
    turns = corpus.turns[["dialogue_id", "turn"]]
    return Predictions("value-matching", turns, table("states", rows), format="baseline")


def _total(weights: dict[tuple, float], keys: list[tuple]) -> float:
    return round(math.fsum(weights.get(key, 0.0) for key in keys), 6)


def _dialogues(corpus: Corpus) -> Iterator[list[tuple]]:
    """Yield the turns of each dialogue: id, number, both texts, the state, and what is new in it."""
    states: dict[tuple, dict[Slot, str]] = defaultdict(dict)
    columns = ["dialogue_id", "turn", "domain", "slot", "value"]
    for name, turn, domain, slot, value in corpus.states[columns].itertuples(index=False, name=None):
        states[name, turn][domain, slot] = value
    ordered = corpus.turns.sort_values(["dialogue_id", "turn"], kind="stable")
    for _, group in ordered[["dialogue_id", "turn", "user", "system"]].groupby("dialogue_id"):
        turns: list[tuple] = []
        before: dict[Slot, str] = {}
        for name, turn, user, system in group.itertuples(index=False, name=None):
            state = states.get((name, turn), {})
            new = dict(state.items() - before.items())
            turns.append((name, turn, plain_text(user), plain_text(system), state, new))
            before = state
        yield turns


def _learn_values(dialogues: list[list[tuple]]) -> tuple[Lexicon[str], dict[str, list[Slot]]]:
    """Learn which value each phrase stands for, and which slots have it."""
    uses: Counter[str] = Counter()
    phrases: Counter[str] = Counter()
    together: Counter[tuple[str, str]] = Counter()
    slots: dict[str, list[Slot]] = defaultdict(list)
    for _, _, user, _, _, new in (turn for dialogue in dialogues for turn in dialogue):
        for slot, value in new.items():
            uses[value] += 1
            slots[value] += [] if slot in slots[value] else [slot]
        said = _phrases(user)
        phrases.update(said)
        # Only where the value itself is not said: "to cambridge" tells nothing that "cambridge" does not.
        unsaid = {v for v in new.values() if not find_value(user, plain_text(v).strip())}
        together.update((phrase, value) for value in unsaid for phrase in said)
    meaning: dict[str, str] = {}
    for (phrase, value), n in sorted(together.items(), key=lambda item: (-uses[item[0][1]], item[0][1])):
        if n >= PHRASE_COUNT and n >= PHRASE_SHARE * phrases[phrase]:
            meaning.setdefault(phrase, value)
    # A value's own spelling is never taken by another value; of two spelt alike, the frequent one counts.
    meaning |= {plain_text(v).strip(): v for v in sorted(uses, key=lambda v: (uses[v], v))}
    meaning.pop("", None)
    return build_lexicon(meaning), slots


def _phrases(text: str) -> set[str]:
    """Return all runs of one to three tokens (two to four Chinese characters) as they stand in the text."""
    tokens, out = split_tokens(text), set()
    for run in (tokens[i : i + n] for n in (1, 2, 3, 4) for i in range(len(tokens) - n + 1)):
        if any("\u3400" <= token <= "\u9fff" for token in run):
            out |= {"".join(run)} if len(run) > 1 else set()
        elif len(run) < 4 and any(token.isalnum() for token in run):
            out.add(" ".join(run))
    return out


def _candidates(
    model: ValueMatcher, user: str, heard: str, held: dict[Slot, str], active: str
) -> Iterator[tuple[str, list[tuple[Slot, list[tuple]]]]]:
    """Yield each known value of a turn with the slots it may fill and the keys of its cues there."""
    shared = [("user", word) for word in set(split_tokens(user))]
    shared += [("asked", word) for word in set(split_tokens(heard))]
    said: set[str] = set()
    for source, text in (("user", user), ("system", heard)):
        found: list[tuple[int, int, str]] = []
        for match in find_known(text, model.lexicon):
            if not found or match[0] >= found[-1][1]:
                found.append(match)
            elif match[1] - match[0] > found[-1][1] - found[-1][0]:
                found[-1] = match  # a longer one that begins inside the one before
        for start, end, value in found:
            if source == "system" and value in said:
                continue
            said.add(value)
            near = [("left", word) for word in set(split_tokens(text[max(0, start - 40) : start])[-3:])]
            near += [("right", word) for word in set(split_tokens(text[end : end + 30])[:2])]
            candidates = []
            for slot in model.slots[value]:
                domain = "same domain" if slot[0] == active else "other domain" if active else "no domain yet"
                now = held.get(slot)
                filled = "free" if now is None else "holds this" if now == value else "holds another"
                cues = [("prior", ""), ("state", domain), ("state", filled), *near, *shared]
                candidates.append((slot, [(slot, source, *cue) for cue in cues]))
            yield value, candidates


def _active(changed: Iterable[Slot], before: str) -> str:
    """Return the domain with the most changed slots; of equal ones the one before, then by name."""
    counts = Counter(domain for domain, _ in changed)
    return max(counts, key=lambda d: (counts[d], d == before, d), default=before)


# Generators ---------------------------------------------------------------------------------------

#: A set of domains with fewer training dialogues gets the model of all dialogues.
SMALLEST_SET = 10


def _most_frequent(train: Corpus, test: Corpus) -> Predictions:
    """Answer every turn with the most frequent training response."""
    # Of equally frequent ones the first by the alphabet.
    return _predictions("most-frequent", test, [_answers(train)["response"].mode()[0]] * len(test.turns))


def _nearest_neighbour(train: Corpus, test: Corpus) -> Predictions:
    """Answer as the training turn whose user utterance is the most similar one was answered."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics import pairwise_distances_argmin_min

    heard = _answers(train)
    said = pd.Series(heard["response"].mode()[0], test.turns.index)
    queries = _queries(train, heard)
    if len(said) and any(queries):  # silent users leave nothing to compare
        vectorizer = TfidfVectorizer(analyzer=str.split, sublinear_tf=True)
        known = vectorizer.fit_transform(queries)
        asked = vectorizer.transform(_queries(test, delexicalize(test)))
        best, distance = pairwise_distances_argmin_min(asked, known, metric="cosine")
        said = said.where(distance > 1 - 5e-7, heard["response"].to_numpy()[best])
    return _predictions("nearest-neighbour", test, said.tolist())


def _ngram(train: Corpus, test: Corpus) -> Predictions:
    """Answer with the greedy output of an n-gram model of the goal's domains."""
    answers = _answers(train)
    tokens, everyone = answers["response"].map(split_tokens), frozenset[str]()
    trained, wanted = (
        corpus.goals.groupby("dialogue_id")["domain"].agg(frozenset).to_dict() for corpus in (train, test)
    )
    sets = answers["dialogue_id"].map(lambda name: trained.get(name, everyone))
    sizes = answers["dialogue_id"].groupby(sets).nunique()
    glue = "" if test.language == "zh" else " "
    said: dict[frozenset[str], str] = {}
    out, backed_off = [], set()
    for name in test.turns["dialogue_id"]:
        key = wanted.get(name, everyone)
        if not key or sizes.get(key, 0) < SMALLEST_SET:
            key = everyone
            backed_off.add(name)
        if key not in said:
            said[key] = glue.join(_decode(tokens[sets == key] if key else tokens))
        out.append(said[key])
    notes = (f"{len(backed_off):,} dialogues answered by the model of all domains",) if backed_off else ()
    return _predictions("ngram", test, out, notes)


def _decode(sentences: Iterable[list[str]], order: int = 3, max_tokens: int = 36) -> list[str]:
    """Take the most frequent next token, after as long a context as the model has seen."""
    from nltk.util import ngrams

    counts: dict[tuple, Counter[str]] = defaultdict(Counter)
    for sentence in sentences:
        for *before, token in ngrams(["<s>"] * (order - 1) + sentence + ["</s>"], order):
            counts[tuple(before)][token] += 1
    out: list[str] = []
    while len(out) < max_tokens:
        following = counts[tuple((["<s>"] * (order - 1) + out)[len(out) :])]
        token = min(following, key=lambda t: (-following[t], t), default="</s>")
        if token == "</s>":
            break
        out.append(token)
    return out


def _answers(train: Corpus) -> pd.DataFrame:
    if train.turns.empty:
        raise UsageError("the training corpus has no turns", file=train.id)
    return delexicalize(train)


def _queries(corpus: Corpus, system: pd.DataFrame) -> list[str]:
    """Return what the neighbour search compares: tokens of the user, and marked ones of the system before."""
    keys = ["dialogue_id", "turn"]
    user = delexicalize(corpus, speaker="user")
    before = user[keys].merge(system.assign(turn=system["turn"] + 1), on=keys, how="left")["response"]
    pairs = zip(user["response"], before.fillna(""), strict=True)
    return [" ".join([*split_tokens(u), *(f"<{t}" for t in split_tokens(s))]) for u, s in pairs]


def _predictions(name: str, corpus: Corpus, responses: list[str], notes: tuple[str, ...] = ()) -> Predictions:
    turns = corpus.turns[["dialogue_id", "turn"]]
    answers = turns.assign(response=pd.Series(responses, index=turns.index, dtype="str"))
    return Predictions(name, turns, responses=answers, format="baseline", notes=notes)


#: Each takes a training and a test corpus; the first three predict states, the others responses.
BASELINES: dict[str, Callable[[Corpus, Corpus], Predictions]] = {
    "empty": _empty,
    "carry-over": _carry_over,
    "value-matching": lambda train, test: value_matching_tracker(train_value_matcher(train), test),
    "most-frequent": _most_frequent,
    "nearest-neighbour": _nearest_neighbour,
    "ngram": _ngram,
}
