"""Joining neighbouring loops over the same components: one pass over memory instead of several."""

from __future__ import annotations

import ast


def fused(statements: list[ast.stmt]) -> list[ast.stmt]:
    """Join neighbouring loops over the same components, moving number assignments between them to the front."""
    out: list[ast.stmt] = []
    for node in statements:
        partner = _partner(out, node)
        if partner is None:
            out.append(node)
            continue
        at, between = partner
        first = out[at]
        out[at:] = [*between, ast.For(first.target, first.iter, first.body + node.body, [])]  # type: ignore
    return out


def _partner(out, node):
    if not isinstance(node, ast.For) or not _by_component(node):
        return None
    between: list[ast.stmt] = []
    for at in range(len(out) - 1, -1, -1):
        other = out[at]
        if isinstance(other, ast.For):
            same = ast.dump(other.target) == ast.dump(node.target) and ast.dump(other.iter) == ast.dump(node.iter)
            joined = ast.For(other.target, other.iter, other.body + node.body, [])
            if not same or not _by_component(joined) or any(_reads_any(each, _written(other)) for each in between):
                return None
            return at, between
        if not (isinstance(other, ast.Assign) and isinstance(other.targets[0], ast.Name) and _is_number(other.value)):
            return None
        between.insert(0, other)
    return None


def _is_number(node) -> bool:
    """Whether an expression is made of names and numbers only."""
    allowed = (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context)
    return all(isinstance(each, allowed) for each in ast.walk(node))


def _written(loop) -> set[str]:
    return {target.value.id for node in loop.body for target in [node.targets[0] if isinstance(node, ast.Assign) else node.target]}


def _reads_any(node, names) -> bool:
    return any(isinstance(each, ast.Name) and each.id in names for each in ast.walk(node))


def _by_component(loop) -> bool:
    """Whether each round of a loop writes and reads the written arrays at its own component alone."""
    for node in loop.body:
        if not isinstance(node, ast.Assign | ast.AugAssign):
            return False
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if not (isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)):
            return False
        if any(isinstance(each, ast.Call) for each in ast.walk(node)):
            return False
    name, written = loop.target.id, _written(loop)
    for node in (each for stmt in loop.body for each in ast.walk(stmt)):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in written:
            index = node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) else node.slice
            if not (isinstance(index, ast.Name) and index.id == name):
                return False
    return True
