"""Derivatives of expressions, by the chain rule along the graph.

A Jacobian is formed in one of two ways, whichever takes fewer products:

forward    every node has the derivatives by the symbols it depends on, and only by those
backward   every row has the derivatives by the nodes it is made of

Both know from patterns that go through the graph beforehand which derivatives vanish, so that nothing is computed for these.
What is equal in them is there once, as everywhere in a graph.

References
----------
[griewank-walther-2008] Ch. 3 (forward, reverse), Ch. 7 (sparse patterns through a graph).
"""

from __future__ import annotations

from .derivative_rules import CHOOSING, OF_ONE, OF_TWO
from .matrix import SX, from_columns
from .nodes import ADD, MUL, NEG, ONE, RESULT, SUB, TWICE, ZERO, Node, add, choose, made, mul, neg, sub, twice
from .sparsity import Sparsity
from .traversal import Call, called, in_order

Gradient = dict[int, Node]


def jacobian(y: SX, x: SX) -> SX:
    """∂y/∂x, with its own pattern."""
    m, n = y.numel(), x.numel()
    rows = list(zip(_numbers(y), y.nodes, strict=True))
    pattern = _Pattern(y.nodes, x.nodes)
    if not pattern.masks:
        return SX(m, n)
    found: list[Gradient] = [{} for _ in range(n)]
    if pattern.forward_is_shorter():
        gradients = _forward(pattern, {node: {j: ONE} for j, node in enumerate(x.nodes)})
        for i, node in rows:
            gradient = gradients.get(node, {})
            for j in _bits(pattern.masks.get(node, 0)):
                found[j][i] = gradient.get(j, ZERO)
    else:
        for i, node in rows:
            if node in pattern.masks:
                by = _backward(node, pattern.masks)
                for j in _bits(pattern.masks[node]):
                    found[j][i] = by.get(x.nodes[j], ZERO)
    return from_columns(m, found)


def jacobian_sparsity(y: SX, x: SX) -> Sparsity:
    """The pattern of ∂y/∂x, without its entries."""
    masks = _Pattern(y.nodes, x.nodes).masks
    places = [(i, j) for i, node in zip(_numbers(y), y.nodes, strict=True) for j in _bits(masks.get(node, 0))]
    return Sparsity.of_places(y.numel(), x.numel(), places)


def jtimes(y: SX, x: SX, direction: SX) -> SX:
    """∂y/∂x times a direction, without ∂y/∂x being formed; times each of several, beside one another."""
    pattern = _Pattern(y.nodes, x.nodes)
    place = {number: k for k, number in enumerate(_numbers(x))}
    seeds: dict[Node, Gradient] = {node: {} for node in x.nodes}
    for j, column in enumerate(direction.columns()):
        for i, node in column:
            if i in place and node is not ZERO:
                seeds[x.nodes[place[i]]][j] = node
    gradients = _forward(pattern, seeds)
    found: list[Gradient] = [{} for _ in range(direction.shape[1])]
    for i, node in zip(_numbers(y), y.nodes, strict=True):
        for j, value in gradients.get(node, {}).items():
            found[j][i] = value
    return from_columns(y.numel(), found)


def slopes(name: str, operands: SX) -> list[SX]:
    """The derivatives of an operation by its operands, one or two symbols; nothing in the pattern where they vanish.

    Of an operation that chooses: 1 where the operand is chosen, and 0 elsewhere.
    """
    node = made(name, operands.nodes[0], operands.nodes[1] if operands.numel() > 1 else None)
    if name in CHOOSING:
        found = {which: made("not", made("not", where, None), None) for which, where in CHOOSING[name](node)}
    elif node.b is not None:
        found = dict(enumerate(rule(node) for rule in OF_TWO[name]))
    else:
        found = {0: OF_ONE[name](node)}
    return [SX(1, 1) if found.get(k, ZERO) is ZERO else SX.scalar(found[k]) for k in range(operands.numel())]


def _numbers(A: SX) -> list[int]:
    """Where the entries of a pattern stand, column by column."""
    m = A.shape[0]
    return list(range(A.nnz())) if A.sparsity().is_dense else [j * m + i for i, j in A.sparsity().places]


def _bits(mask: int) -> list[int]:
    """Places of ones."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


class _Pattern:
    """What depends on which symbols: `masks`, one bit for each symbol, for nodes that depend on one; `order` has these alone."""

    def __init__(self, roots: list[Node], symbols: list[Node]):
        masks = {node: 1 << j for j, node in enumerate(symbols)}
        self.roots = roots
        self.order = []
        for node in in_order(roots):
            a = node.a
            if a is not None:
                mask = masks.get(a, 0)
                if node.b is not None:
                    mask |= masks.get(node.b, 0)
            elif node.op is RESULT:
                mask = 0
                for each in node.value[0].arguments:
                    mask |= masks.get(each, 0)
            else:
                continue
            if mask:
                masks[node] = mask
                self.order.append(node)
        self.masks = masks

    def forward_is_shorter(self) -> bool:
        """Whether going forward takes fewer products than going back from every row."""
        masks = self.masks
        rows: dict[Node, int] = {}
        for i, node in enumerate(self.roots):
            rows[node] = rows.get(node, 0) | 1 << i
        forward = backward = 0
        for node in reversed(self.order):
            from_rows = rows.get(node, 0)
            weight = 1 if node.op in _FREE else 4
            for operand in (node.a, node.b) if node.a is not None else node.value[0].arguments:
                mask = masks.get(operand, 0)
                if mask:
                    rows[operand] = rows.get(operand, 0) | from_rows
                    forward += weight * mask.bit_count()
                    backward += weight * from_rows.bit_count()
        return forward <= 2 * backward


_FREE = frozenset({ADD, SUB, NEG})  # no product is needed


def _forward(pattern: _Pattern, seeds: dict[Node, Gradient]) -> dict[Node, Gradient]:
    """The derivatives of every node, by number; those that vanish are left out."""
    known = dict(seeds)
    slopes: dict[Call, list[Node]] = {}
    nothing: Gradient = {}
    for node in pattern.order:
        op, a, b = node.op, node.a, node.b
        if op is RESULT:
            known[node] = _of_result(node, known, slopes)
            continue
        by_a = known.get(a, nothing)
        if b is None:
            if op is NEG:
                known[node] = {j: neg(g) for j, g in by_a.items()}
            elif op is TWICE:
                known[node] = {j: twice(g) for j, g in by_a.items()}
            else:
                known[node] = _times(OF_ONE[op](node), by_a)
            continue
        by_b = known.get(b, nothing)
        if op is ADD:
            known[node] = _sum(by_a, by_b)
        elif op is SUB:
            total = dict(by_a)
            for j, g in by_b.items():
                x = total.get(j)
                total[j] = neg(g) if x is None else sub(x, g)
            known[node] = _clean(total)
        elif op is MUL:
            known[node] = _sum(_times(b, by_a), _times(a, by_b))
        elif op in CHOOSING:
            parts = [{j: choose(where, g) for j, g in (by_b if which else by_a).items()} for which, where in CHOOSING[op](node)]
            known[node] = _clean(parts[0] if len(parts) == 1 else _sum(*parts))
        elif op == "div" and by_a and by_b:
            # (a' - f b') / b
            total = dict(by_a)
            for j, g in by_b.items():
                x, y = total.get(j), mul(node, g)
                total[j] = neg(y) if x is None else sub(x, y)
            known[node] = _times(OF_TWO[op][0](node), total)
        else:
            first, second = OF_TWO[op]
            parts = [_times(rule(node), by) for rule, by in ((first, by_a), (second, by_b)) if by]
            known[node] = _sum(*parts) if len(parts) == 2 else parts[0] if parts else {}
    return known


def _times(factor: Node, gradient: Gradient) -> Gradient:
    if factor is ONE:
        return gradient
    if factor is ZERO:
        return {}
    return {j: mul(factor, g) for j, g in gradient.items()}


def _sum(one: Gradient, other: Gradient) -> Gradient:
    if not one or not other:
        return one or other
    total = dict(one)
    for j, g in other.items():
        x = total.get(j)
        total[j] = g if x is None else add(x, g)
    return _clean(total)


def _clean(gradient: Gradient) -> Gradient:
    return {j: g for j, g in gradient.items() if g is not ZERO} if ZERO in gradient.values() else gradient


def _of_result(node: Node, known: dict[Node, Gradient], slopes: dict[Call, list[Node]]) -> Gradient:
    """What a call gives, by the derivative of its function."""
    call, i = node.value
    f, total = call.function, {}
    if call not in slopes:
        slopes[call] = called(f.derivative, call.arguments).results
    for k, argument in enumerate(call.arguments):
        by = known.get(argument)
        if by:
            total = _sum(total, _times(slopes[call][i * f.n + k], by))
    return total


def _backward(root: Node, masks: dict[Node, int]) -> dict[Node, Node]:
    """The derivatives of one node by all it is made of that depends on a symbol."""
    by: dict[Node, Node] = {root: ONE}
    for node in reversed(in_order([root])):
        g = by.get(node)
        if g is None or g is ZERO or node not in masks:
            continue
        op, a, b = node.op, node.a, node.b
        if a is None:
            if op is RESULT:
                call, i = node.value
                results = called(call.function.derivative, call.arguments).results
                for k, argument in enumerate(call.arguments):
                    if argument in masks:
                        _give(by, argument, mul(results[i * call.function.n + k], g))
            continue
        if b is None:
            _give(by, a, neg(g) if op is NEG else mul(OF_ONE[op](node), g))
        elif op is ADD:
            _give(by, a, g)
            _give(by, b, g)
        elif op is SUB:
            _give(by, a, g)
            known = by.get(b)
            by[b] = neg(g) if known is None else sub(known, g)
        elif op is MUL:
            if a in masks:
                _give(by, a, mul(b, g))
            if b in masks:
                _give(by, b, mul(a, g))
        elif op in CHOOSING:
            for which, where in CHOOSING[op](node):
                _give(by, b if which else a, choose(where, g))
        else:
            first, second = OF_TWO[op]
            if a in masks:
                _give(by, a, mul(first(node), g))
            if b in masks:
                _give(by, b, mul(second(node), g))
    return by


def _give(by: dict[Node, Node], node: Node, share: Node) -> None:
    known = by.get(node)
    by[node] = share if known is None else add(known, share)
