"""Replies of language models: what a service returns in, text or the state that calls of functions make out.

Batch output of the services, chat messages, and calls of functions (the function is the domain, its
arguments are the slots) are followed to what the model said.
"""

from __future__ import annotations

import re
from typing import Any

from dialogeval.exceptions import show
from dialogeval.predictions import syntaxes
from dialogeval.predictions.names import plain, rank_names

__all__ = ["fields_of_text", "is_reply", "said"]

_STEPS = ("response", "body", "result", "modelOutput", "message", "content", "parts", "text", "output", "outputs",
          "completion", "generated_text", "tool_calls", "function_call", "functionCall", "toolUse")  # fmt: skip
_VERBS = r"(?:find|search|book|track|update|set|get|query|request|inform|make|reserve|call|add|fill|lookup|for|the|in)"
_WHOLE = {"state", "dialoguestate", "dialogstate", "beliefstate", "belief", "dst", "slot", "", "slotvalue"}


def is_reply(value: Any) -> bool:
    """Tell the reply of a language model's service by its keys."""
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict):
        return False
    keys = first.keys()
    inner = [first[k] for k in ("response", "result", "body", "output") if isinstance(first.get(k), dict)]
    return (
        bool(
            {"choices", "candidates", "message", "tool_calls", "functionCall", "function_call", "messages"}
            & keys
        )
        or (
            {"content", "role"} <= keys
            or {"text", "type"} <= keys
            or {"name", "arguments"} <= keys
            or {"name", "input"} <= keys
        )
        or (isinstance(value, list) and bool({"generated_text", "text", "function"} & keys))
        or any(is_reply(x) for x in inner)
    )


def said(value: Any) -> Any:
    """Follow a reply to its text, or to the state that its calls of functions make."""
    texts: list[str] = []
    calls: list[list[Any]] = []

    def visit(node: Any, depth: int = 0) -> None:
        if isinstance(node, str):
            texts.append(node)
        elif isinstance(node, list) and depth < 20:
            for item in node:
                visit(item, depth + 1)
        elif isinstance(node, dict) and depth < 20 and not node.get("thought"):
            call = next(
                (
                    node[k]
                    for k in ("function", "functionCall", "function_call", "toolUse")
                    if isinstance(node.get(k), dict)
                ),
                node,
            )
            arguments = next(
                (call[k] for k in ("arguments", "input", "args", "parameters") if k in call), None
            )
            if isinstance(call.get("name"), str) and arguments is not None:
                calls.extend(_called(call["name"], arguments))
                return
            if node.get("role") in ("user", "system", "tool"):
                return
            for name in ("choices", "candidates"):
                visit(node[name][:1] if isinstance(node.get(name), list) else None, depth + 1)
            if isinstance(node.get("messages"), list):
                visit(node["messages"][-1:], depth + 1)
            for name in _STEPS:
                visit(node.get(name), depth + 1)

    visit(value)
    if calls or (not texts and not isinstance(value, (dict, list))):
        return calls or value
    failed = isinstance(value, dict) and (
        value.get("error") or value.get("type") in ("errored", "expired", "canceled")
    )
    if failed and not texts:
        return "(the request failed)"
    return "".join(texts)


def _called(name: str, arguments: Any) -> list[list[Any]]:
    """The triples of one call: the function is the domain, its arguments are the slots."""
    if isinstance(arguments, str):
        arguments = syntaxes.literal(arguments) if arguments.strip() else {}
    if not isinstance(arguments, dict):
        raise syntaxes.UnparsedError("a call's arguments", expected="an object", got=show(arguments))
    arguments = {k: v for k, v in arguments.items() if v is not None}
    domain = re.sub(
        rf"^(?:{_VERBS}[_-])+|(?:[_-](?:search|booking|book|query|api|tool|info))+$", "", name, flags=re.I
    )
    nested = arguments and all(isinstance(v, dict) for v in arguments.values())
    if len(arguments) == 1 and plain(next(iter(arguments))) in _WHOLE:
        return [list(t) for t in syntaxes.triples(next(iter(arguments.values())))]
    if nested or plain(domain) in _WHOLE:
        return [list(t) for t in syntaxes.triples(arguments)]
    return [[domain, slot.removeprefix(f"{domain}-"), value] for slot, value in arguments.items()]


def fields_of_text(value: Any) -> dict[str, Any]:
    """Return the fields of a JSON text that holds a state beside other things, as language models write it."""
    if not isinstance(value, str) or "{" not in value:
        return {}
    found = syntaxes.literal(value)
    if not isinstance(found, dict):
        return {}
    known = rank_names(tuple(found))
    state = [
        n
        for m in ("predicted", "either", "prediction")
        for n in known.get(m, [])
        if isinstance(found[n], (dict, list, str))
    ]
    text = [
        n for m in ("predicted response", "response") for n in known.get(m, []) if isinstance(found[n], str)
    ]
    out = {"state": found[state[0]]} if state else {}
    return out | ({"response": found[text[0]]} if text and state else {})
