"""Baselines by name: simple trackers and generators, so that every lesson runs without a GPU.

In: a training corpus and a corpus to predict. Out: `Predictions`, the same at every run. The
trackers that learn stand in ``trackers.py``, the generators in ``generators.py``.
"""

from __future__ import annotations

import html
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.delex import Lexicon, build_lexicon, delexicalize, find_known, find_value, plain_text
from dialogeval.exceptions import UnknownNameError, UsageError
from dialogeval.tables import Corpus, Predictions, table

#: Vocabulary size of Lai et al. 2019, with slots and special tokens.
PAPER_VOCABULARY = 4258
#: First entries of every vocabulary, in this order.
SPECIAL_TOKENS = ("<pad>", "<unk>", "<bos>", "<eos>", "<user>", "<system>")

_COUNTS = (
    "histories cut",
    "utterances cut from histories",
    "utterances over the token limit",
    "tokens cut",
    "goal slots not in the layout",
)
# A placeholder or special token; a word with inner marks (can't, 12:30, 10.10); a Chinese
# character; a clitic as MultiWOZ writes it ('m); any other mark.
_TOKEN = re.compile(
    r"\[[^\[\]\s]+\]|<\w+>|[\u3400-\u9fff]|(?:(?![\u3400-\u9fff])\w)+(?:['’:.,-](?:(?![\u3400-\u9fff])\w)+)*|['’]\w+|\S"
)


@dataclass(frozen=True)
class LaiInputs:
    """What the model of Lai et al. reads and should say."""

    examples: pd.DataFrame
    goals: np.ndarray
    dialogue_ids: tuple[str, ...]
    layout: pd.DataFrame
    counts: dict[str, int]

    def goal_of(self, examples: pd.DataFrame | None = None) -> np.ndarray:
        """Return the goal vector of every example."""
        rows = self.examples if examples is None else examples
        return self.goals[pd.Index(self.dialogue_ids, dtype="str").get_indexer(pd.Index(rows["dialogue_id"]))]

    def summary(self) -> pd.DataFrame:
        """Count examples, cuts and vocabulary, with the paper's vocabulary size beside ours."""
        counts = {
            "examples": len(self.examples),
            "dialogues": len(self.dialogue_ids),
            "goal slots (columns)": len(self.layout),
            **self.counts,
            "vocabulary with special tokens": len(vocabulary(self)),
            "vocabulary of Lai et al. 2019": PAPER_VOCABULARY,
        }
        return pd.DataFrame({"count": pd.Series(counts, dtype="int64")}).rename_axis("quantity")

    def __repr__(self) -> str:
        """Name the counts."""
        return (
            f"LaiInputs({len(self.examples):,} examples, {len(self.dialogue_ids):,} dialogues, "
            f"{len(self.layout):,} goal slots)"
        )

    def _repr_html_(self) -> str:
        """Show the summary in a notebook."""
        return f"<p>{html.escape(repr(self))}</p>{self.summary().to_html(border=0)}"


def lai_inputs(
    corpus: Corpus,
    max_turns: int = 22,
    max_tokens: int = 36,
    *,
    style: str = "value",
    layout: pd.DataFrame | None = None,
) -> LaiInputs:
    """Build the input of the generation model of Lai et al. (2019) from a corpus.

    Parameters
    ----------
    corpus : Corpus
    max_turns : int, default=22
        Utterances of a history; of a longer one the last are kept.
    max_tokens : int, default=36
        Tokens of an utterance, in histories and targets; of a longer one the first are kept.
    style : {"value", "domain", "canonical"}
        Placeholder style, see `delexicalize`.
    layout : pandas.DataFrame, optional
        Columns domain and slot of another result (that of the training data), so that the goal
        vectors have the same columns; by default all slots of this corpus's goals, sorted.

    Returns
    -------
    LaiInputs

    Raises
    ------
    UsageError
        ``max_turns`` or ``max_tokens`` is not a whole number from 1.
    UnknownNameError
        No such placeholder style.

    Notes
    -----
    Source: Lai, Gupta and Zhang, CoNLL 2019 (arXiv:1909.09220). ``counts`` holds ``histories cut``,
    ``utterances cut from histories``, ``utterances over the token limit`` and ``tokens cut`` (each
    utterance of the corpus counted once), and ``goal slots not in the layout``.

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> corpus = Corpus("toy",
    ...     dialogues=table("dialogues", [("d", "d", "")]),
    ...     turns=table("turns", [("d", 0, "Hi.", "Where?", 0), ("d", 1, "North", "Fine", 0)]),
    ...     goals=table("goals", [("d", "hotel", "inform", "area", "north")]))
    >>> inputs = lai_inputs(corpus)
    >>> inputs.examples["history"].tolist()
    ['<user> hi .', '<user> hi . <system> where ? <user> [value_area]']
    >>> inputs.goals.tolist(), inputs.layout.values.tolist()
    ([[1]], [['hotel', 'area']])
    """
    for name, number in (("max_turns", max_turns), ("max_tokens", max_tokens)):
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
            raise UsageError(name, expected="a whole number from 1", got=repr(number))
    order = corpus.turns[["dialogue_id", "turn"]].reset_index(drop=True)
    counts: Counter[str] = Counter()
    spoken = {
        speaker: [
            _cut(text, max_tokens, counts)
            for text in delexicalize(corpus, style=style, speaker=speaker)["response"]
        ]
        for speaker in ("user", "system")
    }
    histories = _histories(order, spoken["user"], spoken["system"], max_turns, counts)
    examples = order.assign(
        history=pd.Series(histories, dtype="str"), target=pd.Series(spoken["system"], dtype="str")
    )
    ids = tuple(corpus.dialogues["dialogue_id"])
    goals, columns = _goal_vectors(corpus, ids, layout, counts)
    return LaiInputs(examples, goals, ids, columns, {kind: counts[kind] for kind in _COUNTS})


def vocabulary(inputs: LaiInputs, min_count: int = 1) -> pd.DataFrame:
    """List the tokens of the model input, special tokens first, then by frequency."""
    if min_count < 1:
        raise UsageError("min_count", expected="a whole number from 1", got=repr(min_count))
    counter: Counter[str] = Counter()
    for history, target in zip(inputs.examples["history"], inputs.examples["target"], strict=True):
        counter.update(history[history.rfind("<user>") :].split())
        counter.update(target.split())
    special = {token: counter.pop(token, 0) for token in SPECIAL_TOKENS}
    words = sorted((item for item in counter.items() if item[1] >= min_count), key=lambda i: (-i[1], i[0]))
    rows = [*special.items(), *words]
    frame = pd.DataFrame(
        {"token": pd.Series([t for t, _ in rows], dtype="str"), "count": [n for _, n in rows]}
    )
    return frame.rename_axis("id")


def split_tokens(text: str) -> list[str]:
    """Split an utterance into words, marks, placeholders and single Chinese characters."""
    return _TOKEN.findall(text)


def _cut(text: str, limit: int, counts: Counter[str]) -> str:
    tokens = split_tokens(text)
    if len(tokens) > limit:
        counts["utterances over the token limit"] += 1
        counts["tokens cut"] += len(tokens) - limit
    return " ".join(tokens[:limit])


def _histories(
    order: pd.DataFrame, user: Sequence[str], system: Sequence[str], limit: int, counts: Counter[str]
) -> list[str]:
    """Join what was said before each system turn; a loop, since every string grows from the last."""
    said: list[str] = []
    current, out = None, [""] * len(order)
    dialogues = order["dialogue_id"].tolist()
    # By dialogue and turn, whatever the order of the table.
    for row in order.sort_values(["dialogue_id", "turn"], kind="stable").index.tolist():
        dialogue = dialogues[row]
        if dialogue != current:
            current, said = dialogue, []
        said.append(f"<user> {user[row]}".rstrip())
        if len(said) > limit:
            counts["histories cut"] += 1
            counts["utterances cut from histories"] += len(said) - limit
        out[row] = " ".join(said[-limit:])
        said.append(f"<system> {system[row]}".rstrip())
    return out


def _goal_vectors(
    corpus: Corpus, ids: tuple[str, ...], layout: pd.DataFrame | None, counts: Counter[str]
) -> tuple[np.ndarray, pd.DataFrame]:
    named = corpus.goals[["dialogue_id", "domain", "slot"]].drop_duplicates()
    if layout is None:
        layout = named[["domain", "slot"]].drop_duplicates().sort_values(["domain", "slot"])
    layout = layout[["domain", "slot"]].reset_index(drop=True)
    columns = pd.MultiIndex.from_frame(layout).get_indexer(
        pd.MultiIndex.from_frame(named[["domain", "slot"]])
    )
    rows = pd.Index(ids, dtype="str").get_indexer(pd.Index(named["dialogue_id"]))
    known = (columns >= 0) & (rows >= 0)
    counts["goal slots not in the layout"] += int((~known).sum())
    vectors = np.zeros((len(ids), len(layout)), dtype=np.uint8)
    vectors[rows[known], columns[known]] = 1
    return vectors, layout


#: A phrase stands for a value that was newly annotated in at least this share of its turns …
PHRASE_PRECISION = 0.5
#: … and in at least so many of them.
PHRASE_COUNT = 3
#: Cues seen with fewer mentions are left out.
CUE_COUNT = 3
#: Mentions with the prior's odds that are added to those of a cue.
SHRINK = 10
#: Weight of each kind of cue: words of one utterance depend on each other and would outvote the rest.
KINDS = {"left": 1.0, "right": 1.0, "user": 0.5, "asked": 0.2, "state": 1.0}

Slot = tuple[str, str]
#: (kind, word)
Cue = tuple[str, str]


@dataclass(frozen=True)
class ValueMatcher:
    """What `train_value_matcher` learned, as two tables."""

    values: pd.DataFrame
    cues: pd.DataFrame


def train_value_matcher(corpus: Corpus) -> ValueMatcher:
    """Learn values, phrases and cue words from dialogues with gold states."""
    if corpus.states.empty:
        raise UsageError(
            "the training corpus has no states", file=corpus.id, mend="train on an annotated split"
        )
    turns = list(_dialogues(corpus))
    values = _learn_values(turns)
    lexicon, slots = _lexicon(values), _slots_by_value(values)
    hits: Counter[tuple] = Counter()
    misses: Counter[tuple] = Counter()
    for dialogue in turns:
        state: dict[Slot, str] = {}
        active, system = "", ""
        for turn in dialogue:
            labels: Counter[tuple[Slot, str, bool]] = Counter()
            for mention in _mentions(turn.user, system, lexicon):
                for slot in slots[mention.value]:
                    right = turn.new.get(slot) == mention.value
                    labels[slot, mention.source, right] += 1
                    counter = hits if right else misses
                    for kind, cue in _near_cues(slot, mention, state, active):
                        counter[slot, mention.source, kind, cue] += 1
            words = _turn_cues(turn.user, system)
            for (slot, source, right), count in labels.items():
                counter = hits if right else misses
                for kind, cue in words:
                    counter[slot, source, kind, cue] += count
            state, system = turn.state, turn.system
            active = _active(turn.new, active)
    return ValueMatcher(values, _weigh(hits, misses))


def value_matching_tracker(model: ValueMatcher, corpus: Corpus) -> Predictions:
    """Track states by looking up known values and weighing their cues."""
    lexicon, slots = _lexicon(model.values), _slots_by_value(model.values)
    names = ("domain", "slot", "source", "kind", "cue", "weight")
    weights: dict[tuple[Slot, str], dict[Cue, float]] = defaultdict(dict)
    for domain, slot, source, kind, cue, weight in zip(*(model.cues[n] for n in names), strict=True):
        weights[(domain, slot), source][kind, cue] = KINDS.get(kind, 1.0) * weight
    rows = []
    for dialogue in _dialogues(corpus):
        state: dict[Slot, str] = {}
        active, system = "", ""
        for turn in dialogue:
            best: dict[Slot, tuple[float, str]] = {}
            words = _turn_cues(turn.user, system)
            shared: dict[tuple[Slot, str], float] = {}
            for mention in _mentions(turn.user, system, lexicon):
                scored = []
                for slot in slots[mention.value]:
                    key = (slot, mention.source)
                    if key not in shared:
                        shared[key] = _total(weights.get(key, {}), words)
                    near = _total(weights.get(key, {}), _near_cues(slot, mention, state, active))
                    scored.append((round(shared[key] + near, 6), slot))
                score, slot = max(scored)
                if score > 0 and score >= best.get(slot, (0.0, ""))[0]:
                    best[slot] = (score, mention.value)
            state |= {slot: value for slot, (_, value) in best.items()}
            active = _active(best, active)
            system = turn.system
            rows += [(turn.dialogue_id, turn.turn, *slot, value) for slot, value in state.items()]
    return Predictions(
        "value-matching", corpus.turns[["dialogue_id", "turn"]], table("states", rows), format="baseline"
    )


@dataclass(frozen=True)
class _Turn:
    dialogue_id: str
    turn: int
    user: str
    system: str
    state: dict[Slot, str]
    new: dict[Slot, str]


@dataclass(frozen=True)
class _Mention:
    value: str
    source: str
    left: tuple[str, ...]
    right: tuple[str, ...]


def _dialogues(corpus: Corpus) -> Iterator[list[_Turn]]:
    """Yield the turns of each dialogue in order, with the state and what is new in it."""
    states: dict[tuple[str, int], dict[Slot, str]] = defaultdict(dict)
    columns = ("dialogue_id", "turn", "domain", "slot", "value")
    for dialogue, turn, domain, slot, value in zip(
        *(corpus.states[c].tolist() for c in columns), strict=True
    ):
        states[dialogue, turn][domain, slot] = value
    ordered = corpus.turns.sort_values(["dialogue_id", "turn"], kind="stable")
    rows = zip(*(ordered[c].tolist() for c in ("dialogue_id", "turn", "user", "system")), strict=True)
    for _, group in groupby(rows, key=lambda row: row[0]):
        turns: list[_Turn] = []
        before: dict[Slot, str] = {}
        for dialogue, turn, user, system in group:
            state = states.get((dialogue, turn), {})
            new = {slot: value for slot, value in state.items() if before.get(slot) != value}
            turns.append(_Turn(dialogue, turn, plain_text(user), plain_text(system), state, new))
            before = state
        yield turns


def _learn_values(dialogues: list[list[_Turn]]) -> pd.DataFrame:
    uses: Counter[tuple[str, str, str]] = Counter()
    phrases: Counter[str] = Counter()
    together: Counter[tuple[str, str]] = Counter()
    for dialogue in dialogues:
        for turn in dialogue:
            uses.update((*slot, value) for slot, value in turn.new.items())
            said = _phrases(turn.user)
            phrases.update(said)
            # Only where the value itself is not said: "to cambridge" tells nothing that "cambridge" does not.
            unsaid = {v for v in turn.new.values() if not find_value(turn.user, plain_text(v).strip())}
            together.update((phrase, value) for value in unsaid for phrase in said)
    surfaces: dict[str, set[str]] = defaultdict(set)
    for (phrase, value), count in together.items():
        if count >= PHRASE_COUNT and count >= PHRASE_PRECISION * phrases[phrase]:
            surfaces[value].add(phrase)
    rows = []
    for (domain, slot, value), count in sorted(uses.items()):
        plain = plain_text(value).strip()
        found = surfaces[value] | ({plain} if plain else set())
        rows += [(domain, slot, value, surface, count) for surface in sorted(found)]
    return pd.DataFrame(rows, columns=["domain", "slot", "value", "surface", "count"])


def _phrases(text: str) -> set[str]:
    """Return all runs of one to three tokens (two to four Chinese characters) as they stand in the text."""
    tokens = split_tokens(text)
    out = set()
    for n in (1, 2, 3, 4):
        for i in range(len(tokens) - n + 1):
            run = tokens[i : i + n]
            if any("\u3400" <= t <= "\u9fff" for t in run):
                if n > 1:
                    out.add("".join(run))
            elif n < 4 and any(t.isalnum() for t in run):
                out.add(" ".join(run))
    return out


def _lexicon(values: pd.DataFrame) -> Lexicon[str]:
    """Let each surface stand for the value that it was seen with most often."""
    ranked = (
        values.groupby(["surface", "value"], sort=True)["count"]
        .sum()
        .sort_values(ascending=False, kind="stable")
    )
    meaning: dict[str, str] = {}
    for surface, value in ranked.index:
        meaning.setdefault(surface, value)
    # A value's own spelling is never taken by another value; of two spelt alike, the frequent one counts.
    totals = values.groupby("value", sort=True)["count"].sum().sort_values(kind="stable")
    meaning |= {plain: value for value in totals.index if (plain := plain_text(value).strip())}
    return build_lexicon(meaning)


def _slots_by_value(values: pd.DataFrame) -> dict[str, list[Slot]]:
    slots: dict[str, list[Slot]] = defaultdict(list)
    for value, domain, slot in values[["value", "domain", "slot"]].drop_duplicates().itertuples(index=False):
        slots[value].append((domain, slot))
    return slots


def _mentions(user: str, system: str, lexicon: Lexicon[str]) -> list[_Mention]:
    """Find known values in the user's utterance, and those that only the system named before it."""
    found = _unnested(find_known(user, lexicon))
    mentions = [_mention(user, start, end, value, "user") for start, end, value in found]
    said = {value for _, _, value in found}
    for start, end, value in _unnested(find_known(system, lexicon)):
        if value not in said:
            said.add(value)
            mentions.append(_mention(system, start, end, value, "system"))
    return mentions


def _unnested(found: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Drop matches that lie within a longer one or begin inside the one before."""
    out: list[tuple[int, int, str]] = []
    for match in found:
        if not out or match[0] >= out[-1][1]:
            out.append(match)
        elif match[1] - match[0] > out[-1][1] - out[-1][0]:
            out[-1] = match
    return out


def _mention(text: str, start: int, end: int, value: str, source: str) -> _Mention:
    left = tuple(split_tokens(text[max(0, start - 40) : start])[-3:])
    return _Mention(value, source, left, tuple(split_tokens(text[end : end + 30])[:2]))


def _turn_cues(user: str, system: str) -> list[Cue]:
    """Return the cues that all mentions of a turn share."""
    cues = [("user", word) for word in dict.fromkeys(split_tokens(user))]
    return cues + [("asked", word) for word in dict.fromkeys(split_tokens(system))]


def _near_cues(slot: Slot, mention: _Mention, state: Mapping[Slot, str], active: str) -> list[Cue]:
    """Return the cues of one mention, as a value of one slot."""
    domain = "same domain" if slot[0] == active else "other domain" if active else "no domain yet"
    held = state.get(slot)
    filled = "free" if held is None else "holds this" if held == mention.value else "holds another"
    cues = [("prior", ""), ("state", domain), ("state", filled)]
    cues += [("left", word) for word in dict.fromkeys(mention.left)]
    return cues + [("right", word) for word in dict.fromkeys(mention.right)]


def _active(changed: Iterable[Slot], before: str) -> str:
    """Return the domain with the most changed slots; of equal ones the one before, then by name."""
    counts = Counter(domain for domain, _ in changed)
    return max(counts, key=lambda d: (counts[d], d == before, d), default=before)


def _total(weights: Mapping[Cue, float], cues: Iterable[Cue]) -> float:
    return math.fsum(weights.get(cue, 0.0) for cue in cues)


def _weigh(hits: Counter[tuple], misses: Counter[tuple]) -> pd.DataFrame:
    """Turn counts into log odds: of the prior in full, of a cue relative to the prior."""
    rows = []
    for key in sorted(hits.keys() | misses.keys()):
        (domain, slot), source, kind, cue = key
        prior = ((domain, slot), source, "prior", "")
        right, wrong = hits[key], misses[key]
        if right + wrong < CUE_COUNT and kind != "prior":
            continue
        share = (hits[prior] + 0.5) / (hits[prior] + misses[prior] + 1)
        weight = math.log(share / (1 - share))
        if kind != "prior":
            # Shrunk towards the prior: three lucky mentions make no cue.
            weight = math.log((right + SHRINK * share) / (wrong + SHRINK * (1 - share))) - weight
        rows.append((domain, slot, source, kind, cue, round(weight, 6)))
    return pd.DataFrame(rows, columns=["domain", "slot", "source", "kind", "cue", "weight"])


#: Utterances compared with the training data at a time: bounds the memory of the similarities.
CHUNK = 256
#: A set of domains with fewer training dialogues gets the model of all dialogues.
SMALLEST_SET = 10


def most_frequent_response(train: Corpus, corpus: Corpus) -> Predictions:
    """Answer every turn with the most frequent training response."""
    best = _most_frequent(_answers(train)["response"].tolist())
    return _predictions("most-frequent", corpus, [best] * len(corpus.turns))


def nearest_neighbour_generator(train: Corpus, corpus: Corpus) -> Predictions:
    """Answer as the training turn whose user utterance is the most similar one was answered."""
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
    """Answer with the greedy output of an n-gram model of the goal's domains."""
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


def run_baseline(name: str, train: Corpus, test: Corpus) -> Predictions:
    """Train a baseline on one corpus and let it predict another.

    Parameters
    ----------
    name : str
        A key of `BASELINES`.
    train, test : Corpus

    Returns
    -------
    Predictions
        States from a tracker, delexicalised responses from a generator.

    Raises
    ------
    UnknownNameError
        No such baseline.
    UsageError
        The training corpus has nothing to learn from.

    Examples
    --------
    >>> toy = Corpus("toy", turns=table("turns", [("d", 0, "hello", "hi", 0)]))
    >>> run_baseline("most-frequent", toy, toy)
    Predictions(most-frequent: 1 dialogues, 1 turns; responses)
    """
    if name not in BASELINES:
        raise UnknownNameError("baseline", name, BASELINES)
    return BASELINES[name](train, test)


def empty_tracker(corpus: Corpus) -> Predictions:
    """Predict an empty state at every turn: right wherever the gold state is empty."""
    return Predictions("empty", corpus.turns[["dialogue_id", "turn"]], table("states"), format="baseline")


def carry_over_tracker(corpus: Corpus) -> Predictions:
    """Predict the gold state of the turn before: always one turn late, empty at the first."""
    turns = corpus.turns[["dialogue_id", "turn"]]
    # By position in the dialogue, not by number: the turns of a selection need not be consecutive.
    ordered = turns.sort_values(["dialogue_id", "turn"], kind="stable")
    following = ordered.assign(next=ordered.groupby("dialogue_id")["turn"].shift(-1)).dropna()
    late = corpus.states.merge(following, on=["dialogue_id", "turn"])
    states = late.assign(turn=late["next"].astype("int64"))[list(corpus.states.columns)]
    return Predictions("carry-over", turns, states, format="baseline")


def _value_matching(train: Corpus, test: Corpus) -> Predictions:
    return value_matching_tracker(train_value_matcher(train), test)


Runner = Callable[[Corpus, Corpus], Predictions]
#: Baselines that predict states, by name; each takes a training and a test corpus.
TRACKERS: dict[str, Runner] = {
    "empty": lambda train, test: empty_tracker(test),
    "carry-over": lambda train, test: carry_over_tracker(test),
    "value-matching": _value_matching,
}
#: Baselines that predict delexicalised responses.
GENERATORS: dict[str, Runner] = {
    "most-frequent": most_frequent_response,
    "nearest-neighbour": nearest_neighbour_generator,
    "ngram": ngram_generator,
}
BASELINES: dict[str, Runner] = TRACKERS | GENERATORS
