"""Expressions as people write them, for messages."""

from __future__ import annotations

from .nodes import CONST, RESULT, SYMBOL, Node

_BETWEEN = {"add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "eq": "==", "ne": "!=", "and": "&&", "or": "||"}
_LONGEST = 400  # letters; what is longer is cut by the messages in any case


def text_of(node: Node) -> str:
    """A node in letters; of a long one the beginning."""
    parts: list[str] = []
    waiting: list[Node | str] = [node]
    length = 0
    while waiting and length < _LONGEST:
        each = waiting.pop()
        found = [each] if isinstance(each, str) else _parts(each)
        if len(found) == 1 and isinstance(found[0], str):
            parts.append(found[0])
            length += len(found[0])
        else:
            waiting += reversed(found)
    return "".join(parts) + ("..." if waiting else "")


def _parts(node: Node) -> list[Node | str]:
    op, a, b = node.op, node.a, node.b
    if op is SYMBOL:
        return [node.value]
    if op is CONST:
        return [f"{node.value:g}"]
    if op is RESULT:
        call, i = node.value
        inner: list[Node | str] = [f"{call.function.name}("]
        for k, argument in enumerate(call.arguments):
            inner += [", "] * (k > 0) + [argument]
        return [*inner, f")[{i}]" if call.function.m > 1 else ")"]
    if op == "neg":
        return ["(-", a, ")"]
    if op == "inv":
        return ["(1/", a, ")"]
    if op == "twice":
        return ["(2*", a, ")"]
    if op == "not":
        return ["(!", a, ")"]
    if op in _BETWEEN:
        return ["(", a, _BETWEEN[op], b, ")"]
    if op == "constpow":
        op = "pow"
    if op == "if_else_zero":
        return ["(", a, "?", b, ":0)"]
    return [f"{op}(", a, ")"] if b is None else [f"{op}(", a, ",", b, ")"]
