"""Reading back what was written: for each file the package reads, drawn content comes back as it was.

Predictions of every format are in test_convert.py; here they are compressed. Formats of corpora have
no writer: a file is built from what was drawn, and the tables must hold that and no more. What is
drawn is awkward on purpose: other alphabets, quotes, line breaks, separators, blanks, empty texts.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from pathlib import Path

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from test_convert import content, made_for

import dialogeval as de
from dialogeval.ontology.alignment import COLUMNS, Alignment, Hop, load_alignment, save_alignment
from dialogeval.predictions.load import FORMATS, load_predictions
from dialogeval.predictions.writers import save_predictions
from dialogeval.report import read_results, write_results
from dialogeval.tables import canonical_id
from dialogeval.writing import csv_text

WORDS = [
    "not mentioned",
    "a\rb",
    "none",
    "nan",
    "null",
    "NA",
    "1.0",
    "True",
    "[]",
    "{}",
    "=1+1",
    "../x",
    "<b>&amp;",
    "$x_1$",
    "e\u0301",
]
CHARACTERS = "ab0 \t\n\r\0\"',;|-=:\\é酒İß\U0001f600\u2028\u202e\ufeff"
text = (
    st.text(CHARACTERS, max_size=5)
    | st.sampled_from(WORDS)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
)
name = text.filter(bool)
Row = tuple


def rows(frame: pd.DataFrame) -> list[Row]:
    return sorted(frame.itertuples(index=False, name=None))


# Predictions, results, tables ---------------------------------------------------------------------


@given(st.sampled_from(list(FORMATS)).flatmap(lambda f: st.tuples(st.just(f), made_for(f))), st.data())
def test_compressed_predictions(tmp_path_factory, drawn, data):
    format, made = drawn
    path = tmp_path_factory.getbasetemp() / data.draw(st.sampled_from(["a.json.gz", "a.json.zip", "a.gz"]))
    got = load_predictions(save_predictions(made, path, format), format)
    assert content(got) == content(made)


values = st.fixed_dictionaries(
    {name: st.none() | st.floats(allow_nan=False, allow_infinity=False) for name in ("value", "low", "high")}
)
systems = st.fixed_dictionaries(
    {
        "system": text,
        "protocol": text,
        "signature": text,
        "metrics": st.dictionaries(text, values, max_size=3),
    }
)


@given(st.lists(systems, max_size=3))
def test_results(tmp_path_factory, written):
    folder = tmp_path_factory.mktemp("results")
    write_results(folder / "run", written, "report")
    rows = read_results(folder)
    wanted = [
        (s["system"], s["signature"], key, v["value"], v["low"], v["high"])
        for s in written
        for key, v in s["metrics"].items()
    ]
    got = rows[["system", "signature", "metric", "value", "low", "high"]].astype(object)
    assert list(got.where(got.notna(), None).itertuples(index=False, name=None)) == wanted


FORMULA, NUMBER = "=+-@\t\n＝＋－＠", re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@given(st.lists(st.tuples(text, text, st.integers(), st.floats(allow_nan=False)), max_size=5), name)
def test_exported_table(drawn, title):
    frame = pd.DataFrame(drawn, columns=[title, "b", "whole", "real"])
    header, *lines = csv.reader(io.StringIO(csv_text(frame, index=False), newline=""), strict=True)
    assert len(lines) == len(drawn)
    texts = [(header[0], title)] + [pair for line, row in zip(lines, drawn, strict=True) for pair in zip(line, row[:2], strict=False)]  # fmt: skip
    for cell, given_text in texts:
        plain = given_text.replace("\r\n", "\n").replace("\r", "\n")
        assert cell in (plain, f"'{plain}")
        assert cell[:1] not in set(FORMULA) or len(cell) == 1 or NUMBER.fullmatch(cell)
        assert cell == plain or plain[0] in FORMULA
    assert [(int(line[2]), float(line[3])) for line in lines] == [row[2:] for row in drawn]


# Alignments and ontologies ------------------------------------------------------------------------

#: A relation beside a converter that suits it.
RELATIONS = st.sampled_from(
    [("same", ""), ("broader", "yuan_en"), ("related", "open"), ("same", "values:t-1"), ("narrower", "list:t-1"),
     ("same", "any:t-1"), ("same", "yes=有|no=没有"), ("false friend", ""), ("none", "")]
)  # fmt: skip
pairs = st.lists(st.tuples(text, text), min_size=1, max_size=4)


@st.composite
def alignments(draw):
    """An alignment; numbers keep slots and values apart and out of circles."""

    def numbered(sign, number, given_text):
        return f"{sign}{number}:{given_text}".strip()

    lines = []
    for i, (relation, converter) in enumerate(draw(st.lists(RELATIONS, min_size=1, max_size=4))):
        source, target = ([f"x{draw(text)}".strip(), numbered(s, i, draw(text))] for s in "st")
        target = ["", ""] if relation == "none" else target
        lines.append((*source, *target, relation, converter, draw(text).strip()))
    frame = pd.DataFrame(lines, columns=list(COLUMNS), dtype="str")
    table = tuple((numbered("v", i, v), numbered("w", i, w)) for i, (v, w) in enumerate(draw(pairs)))
    named = [c for c in frame["converter"] if c.endswith(":t-1")]
    return Alignment(
        "x__y", "x", "y", hops=(Hop("x", "y", "en", "en", frame, {"t-1": table} if named else {}),)
    )


@given(alignments())
def test_alignment(tmp_path_factory, made):
    got = load_alignment(save_alignment(made, tmp_path_factory.mktemp("alignment") / "x__y.csv"))
    assert rows(got.hops[0].rows) == rows(made.hops[0].rows)
    assert got.hops[0].values == made.hops[0].values
    assert got.id == made.id


plain = text.map(lambda t: t.replace("-", "")).filter(
    lambda t: t and not t.startswith(("semi", "book", "预订"))
)
lists_of_values = st.lists(text, max_size=4, unique=True)


@given(st.dictionaries(st.tuples(plain, plain), lists_of_values, min_size=1, max_size=4), st.booleans())
def test_ontology_file(tmp_path_factory, slots, as_schema):
    path = tmp_path_factory.getbasetemp() / "slots.json"
    if as_schema:
        document = [
            {"service_name": d, "slots": [{"name": f"{d}-{s}", "possible_values": v}]}
            for (d, s), v in slots.items()
        ]
    else:
        document = {f"{d}-{s}": v for (d, s), v in slots.items()}
    path.write_text(json.dumps(document), "utf-8")
    if as_schema or any(slots.values()):
        got = de.ontology_of(path, "schema" if as_schema else "file")
        assert rows(got.values[["domain", "slot", "value"]]) == sorted(
            (*k, v) for k, vs in slots.items() for v in vs
        )
        if as_schema or all(slots.values()):
            assert rows(got.slots[["domain", "slot"]]) == sorted(slots)


# Corpora ------------------------------------------------------------------------------------------

ids = st.lists(name.filter(lambda t: canonical_id(t).strip()), min_size=1, max_size=3, unique_by=canonical_id)
#: {domain: {slot: value}}
states = st.dictionaries(name, st.dictionaries(name, text, max_size=3), max_size=3)
talks = st.lists(st.tuples(text, text, states), min_size=1, max_size=3)


@st.composite
def corpora(draw):
    """{dialogue id: [(user, system, state)]}, which every format can hold."""
    return {key: draw(talks) for key in draw(ids)}


def load(folder: Path, document: object, packed: bool) -> de.tables.Corpus:
    data = json.dumps(document, ensure_ascii=False).encode()
    path = folder / ("test.json.gz" if packed else "test.json")
    path.write_bytes(gzip.compress(data) if packed else data)
    return de.load_corpus(path)


def check(corpus, drawn, slot_of=lambda domain, slot: slot, absent=("", "not mentioned")):
    """Compare ids, texts, states and layouts with what was drawn."""
    turns = [(canonical_id(k), i, *t) for k, talk in drawn.items() for i, t in enumerate(talk)]
    assert corpus.dialogues["original_id"].tolist() == list(drawn)
    got = corpus.turns[["dialogue_id", "turn", "user", "system"]]
    assert list(got.itertuples(index=False, name=None)) == [t[:4] for t in turns]
    filled = [
        (k, i, d, slot_of(d, s), v)
        for k, i, _, _, state in turns
        for d, slots in state.items()
        for s, v in slots.items()
        if v not in absent
    ]
    assert rows(corpus.states) == sorted(filled)
    return turns


@given(
    drawn=corpora(),
    packed=st.booleans(),
    booked=st.booleans(),
    goal=states,
    wanted=st.lists(name, max_size=2),
)
def test_legacy_multiwoz(tmp_path_factory, drawn, packed, booked, goal, wanted):
    def parts(slots):
        semi = {s: v for s, v in slots.items() if not s.startswith("b")}
        return {
            "semi": semi,
            "book": {s: v for s, v in slots.items() if s not in semi} | {"booked": [1] * booked},
        }

    def log(talk):
        for user, system, state in talk:
            yield {"text": user, "metadata": {}}
            acts = {f"{d}-Inform": [[s, v] for s, v in slots.items()] for d, slots in state.items()}
            yield {"text": system, "metadata": {d: parts(s) for d, s in state.items()}, "dialog_act": acts}

    def slot_of(domain, slot):
        if corpus.language == "zh":
            return slot
        short = slot.lower().replace(" ", "")
        return short if not slot.startswith("b") or short.startswith("book") else f"book{short}"

    wishes = {d: {"info": slots, "reqt": wanted} for d, slots in goal.items()}
    corpus = load(
        tmp_path_factory.getbasetemp(),
        {k: {"goal": wishes, "log": list(log(talk))} for k, talk in drawn.items()},
        packed,
    )
    turns = check(corpus, drawn, slot_of, ("", "not mentioned", "未提及"))
    layouts = corpus.turns.merge(corpus.layouts, on="layout")[["dialogue_id", "turn", "domain", "slot"]]
    assert rows(layouts) == sorted(
        (k, i, d, slot_of(d, s)) for k, i, *_, state in turns for d in state for s in state[d]
    )
    assert rows(corpus.bookings) == sorted((k, i, d) for k, i, *_, state in turns for d in state if booked)
    inform = [
        (d, "inform", s.lower().replace(" ", ""), v) for d, slots in goal.items() for s, v in slots.items()
    ]
    request = [(d, "request", s.lower(), "") for d in goal for s in wanted]
    assert rows(corpus.goals) == sorted((canonical_id(k), *wish) for k in drawn for wish in inform + request)
    acts = [(k, i, "system", *f"{d}-inform".lower().split("-", 1), s.lower(), v)
            for k, i, *_, state in turns for d in state for s, v in state[d].items()]  # fmt: skip
    assert rows(corpus.acts) == sorted(acts)


@given(drawn=corpora(), packed=st.booleans(), found=st.lists(text, max_size=3), nameless=st.booleans())
def test_crosswoz(tmp_path_factory, drawn, packed, found, nameless):
    more = {"name": "", "名称": ""} if nameless else {}
    for talk in drawn.values():
        for _, _, state in talk:
            for slots in state.values():
                for slot in ("name", "名称", "selectedResults"):
                    slots.pop(slot, None)
                slots |= more

    def messages(talk):
        for user, system, state in talk:
            full = {d: {**slots, "selectedResults": found} for d, slots in state.items()}
            yield {"role": "usr", "content": user, "dialog_act": [["Inform", d, "a", "b"] for d in state]}
            yield {"role": "sys", "content": system, "sys_state_init": full, "sys_state": full}

    document = {
        k: {"messages": list(messages(talk)), "goal": [[1, "Hotel", "name", "x", False]]}
        for k, talk in drawn.items()
    }
    corpus = load(tmp_path_factory.getbasetemp(), document, packed)
    turns = check(corpus, drawn, absent=("",))
    key = "名称" if corpus.language == "zh" else "name"
    offered = [(k, i, d, key, v) for k, i, *_, state in turns for d in state for v in found if nameless]
    assert rows(corpus.alternatives) == sorted(offered)
    assert rows(corpus.acts) == sorted(
        (k, i, "user", d, "Inform", "a", "b") for k, i, *_, state in turns for d in state
    )
    assert rows(corpus.goals) == sorted((canonical_id(k), "Hotel", "inform", "name", "x") for k in drawn)


@given(
    drawn=corpora(),
    packed=st.booleans(),
    more=st.lists(text, max_size=2),
    services=st.lists(name, max_size=2),
)
def test_schema_guided(tmp_path_factory, drawn, packed, more, services):
    def turns_of(talk):
        for user, system, state in talk:
            frames = [
                {"service": d, "state": {"slot_values": {f"{d}-{s}": [v, *more] for s, v in slots.items()}}}
                for d, slots in state.items()
            ]
            yield {"speaker": "USER", "utterance": user, "frames": frames}
            yield {"speaker": "SYSTEM", "utterance": system, "frames": []}

    document = [
        {"dialogue_id": k, "services": services, "turns": list(turns_of(t))} for k, t in drawn.items()
    ]
    corpus = load(tmp_path_factory.getbasetemp(), document, packed)
    # The first value that is one stands in the state, the others beside it.
    values = {v: [x for x in dict.fromkeys([v, *more]) if x not in ("", "not mentioned")] for v in
              {v for t in drawn.values() for _, _, state in t for slots in state.values() for v in slots.values()}}  # fmt: skip
    first = {
        k: [(u, s, {d: {n: (values[v] or [""])[0] for n, v in slots.items()} for d, slots in state.items()}) for u, s, state in t]
        for k, t in drawn.items()
    }  # fmt: skip
    check(corpus, first)
    others = [(canonical_id(k), i, d, s, x) for k, t in drawn.items() for i, (_, _, state) in enumerate(t)
              for d, slots in state.items() for s, v in slots.items() for x in values[v][1:]]  # fmt: skip
    assert rows(corpus.alternatives) == sorted(others)
    assert set(corpus.dialogues["type"]) == {"+".join(sorted(services))}


@given(drawn=corpora(), packed=st.booleans(), dataset=st.sampled_from(["multiwoz21", "woz", ""]), goal=states)
def test_unified(tmp_path_factory, drawn, packed, dataset, goal):
    def short(domain, slot):
        return slot.replace(" ", "") if dataset.startswith("multiwoz") else slot

    def turns_of(talk):
        for user, system, state in talk:
            acts = [
                {"intent": "inform", "domain": d, "slot": s, "value": v}
                for d in state
                for s, v in state[d].items()
            ]
            yield {
                "speaker": "user",
                "utterance": user,
                "state": state,
                "dialogue_acts": {"categorical": acts},
            }
            yield {"speaker": "system", "utterance": system, "booked": {"taxi": [{}]}}

    document = [
        {
            "dataset": dataset,
            "data_split": "test",
            "dialogue_id": k,
            "goal": {"inform": goal},
            "turns": list(turns_of(t)),
        }
        for k, t in drawn.items()
    ]
    corpus = load(tmp_path_factory.getbasetemp(), document, packed)
    turns = check(corpus, drawn, short)
    acts = [
        (k, i, "user", d, "inform", short(d, s), v)
        for k, i, *_, state in turns
        for d in state
        for s, v in state[d].items()
    ]
    assert rows(corpus.acts) == sorted(acts)
    assert rows(corpus.bookings) == sorted((k, i, "taxi") for k, i, *_ in turns)
    wishes = [
        (d, "book" if s.startswith("book ") else "inform", short(d, s), v)
        for d in goal
        for s, v in goal[d].items()
    ]
    assert rows(corpus.goals) == sorted((canonical_id(k), *wish) for k in drawn for wish in wishes)
