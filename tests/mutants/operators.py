"""Small faults for a module's syntax tree, one at a time.

In: the source of a module. Out: `Mutant`s, each a place in the tree and what to put there. Docstrings,
annotations, ``__all__``, the wording of messages, labels and sources are left alone: no score hangs on them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

COMPARISONS: dict[type, tuple[type, ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
#: Names of functions that are easily taken for one another.
NEIGHBOURS = {"max": "min", "any": "all", "ones": "zeros", "maximum": "minimum", "cumsum": "cumprod"}
NEIGHBOURS |= {b: a for a, b in NEIGHBOURS.items()}
#: Calls of one argument that may be taken away: f(x) becomes x.
REMOVABLE = {"sorted", "set", "distinct", "len", "unique", "abs", "sum", "list", "sort"}
#: Methods whose call may be taken away: x.f(...) becomes x.
REMOVABLE_METHODS = {"lower", "copy", "rstrip", "strip", "take", "reindex", "fillna", "sum", "ravel"}
MAKERS = {"Metric", "_metric", "_jackknifed", "rate", "_bleu_metric", "_official", "_diversity_metric"}
#: Calls whose first two arguments may be swapped without harm.
COMMUTATIVE = {"max", "min", "maximum", "minimum", "broadcast"}
WORDING_NAMES = {"SOURCE", "_SOURCE", "DEY", "LIN", "_CARD", "_NLTK", "_official", "__all__"}
WORDING_NAMES |= {"label", "source", "expected", "got", "mend"}
#: Wording; ``zip(..., strict=True)``, which only guards against faults of our own; types of numbers.
WORDING_KEYWORDS = {"label", "source", "expected", "got", "mend", "strict", "dtype"}


@dataclass
class Mutant:
    """Put ``new`` at ``index`` of the list ``parent.part``, or at ``parent.part`` if it is None."""

    parent: Any
    part: str
    index: int | None
    new: Any
    what: str
    line: int
    owner: str | None  # outermost function in whose body it stands; None: runs at import
    old: Any = field(init=False)

    def __post_init__(self) -> None:
        at = getattr(self.parent, self.part)
        self.old = at if self.index is None else at[self.index]

    @property
    def source(self) -> str:
        """What stood there, and in which function."""
        return f"{ast.unparse(self.old)[:90]} @ {self.owner}".replace("\n", " ")

    def put(self, node: Any) -> None:
        """Put a node in the place."""
        if self.index is None:
            setattr(self.parent, self.part, node)
        else:
            getattr(self.parent, self.part)[self.index] = node


def mutants(tree: ast.Module) -> list[Mutant]:
    """All mutants of a module, in the order of its lines."""
    found = list(_inside(tree, None, ""))
    return sorted(found, key=lambda m: m.line)


def _inside(node: ast.AST, owner: str | None, scope: str) -> Iterator[Mutant]:
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_comment") or (
            name == "type" and isinstance(node, ast.ExceptHandler)
        ):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or _wording(node, name, index, child):
                continue
            here = owner
            if owner is None and name == "body" and isinstance(node, ast.FunctionDef):
                here = scope + node.name
            if isinstance(child, ast.expr | ast.stmt):
                for new, what in _variants(child):
                    yield Mutant(node, name, index, new, what, getattr(child, "lineno", 0), here)
            yield from _inside(child, here, f"{child.name}." if isinstance(child, ast.ClassDef) else scope)


def _wording(parent: ast.AST, name: str, index: int | None, child: ast.AST) -> bool:
    """Whether a part of the tree is text for people, or no code at all."""
    if isinstance(child, ast.Import | ast.ImportFrom | ast.expr_context | ast.FormattedValue):
        return not isinstance(child, ast.FormattedValue)
    if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
        return True
    if isinstance(child, ast.FunctionDef) and child.name == "__repr__":
        return True
    targets = getattr(child, "targets", [getattr(child, "target", None)])
    if any(isinstance(t, ast.Name) and t.id in WORDING_NAMES for t in targets):
        return True
    if isinstance(child, ast.keyword) and child.arg in WORDING_KEYWORDS:
        return True
    if isinstance(child, ast.AnnAssign) and child.value is None:
        return True
    if isinstance(parent, ast.Call) and name == "args":
        called = _called(parent)
        if called.endswith("Error") or called in ("show", "progress"):
            return called != "progress" or index != 0
        return (called in MAKERS and index == 1) or (called == "_bleu_metric" and index == 3)
    # Rows (key, label, types, total, source) of the diversity scores.
    return isinstance(parent, ast.Tuple) and len(parent.elts) == 5 and index in (1, 4) and _plain(parent)


def _plain(row: ast.Tuple) -> bool:
    return all(isinstance(e, ast.Constant | ast.Name) for e in row.elts)


def _called(call: ast.Call) -> str:
    return getattr(call.func, "id", getattr(call.func, "attr", ""))


def _like(node: Any, **changes: Any) -> Any:
    """Copy a node with some fields changed; its children are shared."""
    fields = dict(ast.iter_fields(node)) | changes
    return ast.copy_location(type(node)(**fields), node)


def _variants(node: ast.AST) -> Iterator[tuple[Any, str]]:
    match node:
        case ast.Compare():
            for i, op in enumerate(node.ops):
                for other in COMPARISONS[type(op)]:
                    ops = [*node.ops[:i], other(), *node.ops[i + 1 :]]
                    yield _like(node, ops=ops), f"{type(op).__name__} → {other.__name__}"
        case ast.BinOp(op=op) | ast.AugAssign(op=op):
            if type(op) in ARITHMETIC:
                other = ARITHMETIC[type(op)]
                yield _like(node, op=other()), f"{type(op).__name__} → {other.__name__}"
            if isinstance(node, ast.AugAssign):
                yield ast.copy_location(ast.Assign([node.target], node.value), node), "augmented → plain"
        case ast.BoolOp():
            other = ast.Or if isinstance(node.op, ast.And) else ast.And
            yield _like(node, op=other()), "and ↔ or"
        case ast.UnaryOp():
            if not isinstance(node.operand, ast.Constant):
                yield node.operand, f"{type(node.op).__name__} dropped"
        case ast.Constant(value=value):
            for other in _constants(value):
                yield _like(node, value=other), f"{value!r} → {other!r}"
        case ast.Return() if node.value is not None:
            yield _like(node, value=ast.copy_location(ast.Constant(None), node)), "return None"
        case ast.If() | ast.IfExp():
            test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
            yield _like(node, test=test), "condition negated"
        case ast.Raise() | ast.Expr():
            yield ast.copy_location(ast.Pass(), node), "statement dropped"
        case ast.Continue():
            yield ast.copy_location(ast.Break(), node), "continue → break"
        case ast.Call():
            yield from _calls(node)
        case ast.Attribute(attr=name) | ast.Name(id=name) if name in NEIGHBOURS:
            changed = {"attr" if isinstance(node, ast.Attribute) else "id": NEIGHBOURS[name]}
            yield _like(node, **changed), f"{name} → {NEIGHBOURS[name]}"
        case ast.Slice():
            for end in ("lower", "upper", "step"):
                if getattr(node, end) is not None:
                    yield _like(node, **{end: None}), f"{end} end of slice dropped"
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            if node.generators[0].ifs:
                first = _like(node.generators[0], ifs=[])
                yield _like(node, generators=[first, *node.generators[1:]]), "filter dropped"


def _calls(node: ast.Call) -> Iterator[tuple[Any, str]]:
    called = _called(node)
    if called.endswith("Error") or called in ("show", "progress", "zip"):
        return
    for keyword in node.keywords:
        if keyword.arg not in WORDING_KEYWORDS:
            left = [k for k in node.keywords if k is not keyword]
            yield _like(node, keywords=left), f"{called}: {keyword.arg or '**'} dropped"
    starred = any(isinstance(a, ast.Starred) for a in node.args)
    if len(node.args) > 1 and called not in MAKERS | COMMUTATIVE and not starred:
        yield _like(node, args=[node.args[1], node.args[0], *node.args[2:]]), f"{called}: arguments swapped"
    if len(node.args) == 1 and called in REMOVABLE and not isinstance(node.args[0], ast.GeneratorExp):
        yield node.args[0], f"{called} dropped"
    if isinstance(node.func, ast.Attribute) and called in REMOVABLE_METHODS:
        yield node.func.value, f".{called}() dropped"


def _constants(value: Any) -> tuple[Any, ...]:
    match value:
        case bool():
            return (not value,)
        case int():
            return (value + 1, value - 1)
        case float():
            return (value + 1.0, value * 0.9) if value else (1.0,)
        case str() if value:
            return (value + "x",)
        case str():
            return ("x",)
    return ()
