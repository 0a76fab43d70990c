"""Walks through a graph: the order of evaluation, the symbols in it, the same with something else in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .matrix import SX
from .nodes import CONST, RESULT, SYMBOL, ZERO, Node, made
from .sparsity import Sparsity


class Call:
    """A call of a function that is no expression: what it is given, and a node for each number that it gives."""

    __slots__ = ("arguments", "function", "results")

    def __init__(self, function, arguments: list[Node]):
        self.function, self.arguments = function, arguments
        self.results = [Node(RESULT, None, None, (self, i)) for i in range(function.m)]


def called(function, arguments: list[Node]) -> Call:
    """The call of a function with n, m, key, derivative and on_numbers, as `OutsideFunction` has; equal calls are one."""
    home = next((node for node in arguments if node.op is not CONST), None)
    if home is None:
        return Call(function, arguments)
    key = (function.key, *arguments)
    found = home.made.get(key)
    if found is None:
        found = home.made[key] = Call(function, arguments)  # type: ignore[assignment]
    return found  # type: ignore[return-value]


def in_order(roots: Iterable[Node], known: Iterable[Node] = ()) -> list[Node]:
    """All nodes that these are made of, each behind its operands; `known` ones and what only they need are left out."""
    seen = set(known)
    order: list[Node] = []
    append, add = order.append, seen.add
    for root in roots:
        if root in seen:
            continue
        stack = [root]
        push, pop = stack.append, stack.pop
        while stack:
            node = stack[-1]
            a = node.a
            if a is not None:
                if a not in seen:
                    push(a)
                    continue
                b = node.b
                if b is not None and b not in seen:
                    push(b)
                    continue
            elif node.op is RESULT:
                missing = [each for each in node.value[0].arguments if each not in seen]
                if missing:
                    stack += reversed(missing)
                    continue
            pop()
            if node not in seen:
                add(node)
                append(node)
    return order


def symbols_of(roots: Iterable[Node]) -> list[Node]:
    """The symbols that these contain, in the order in which they are met."""
    return [node for node in in_order(roots) if node.op is SYMBOL]


def nodes_of(*expressions: SX) -> list[Node]:
    """All entries of expressions."""
    return [node for each in expressions for node in each.nodes]


def count(*expressions: SX) -> int:
    """How many nodes expressions are made of."""
    return len(in_order(nodes_of(*expressions)))


def calls_in(*expressions: SX) -> list[Call]:
    """The calls that expressions stand on, in the order of evaluation."""
    order = in_order(nodes_of(*expressions))
    return list(dict.fromkeys(node.value[0] for node in order if node.op is RESULT))


def depends_on(y: SX, x: SX) -> bool:
    """Whether an expression contains one of the symbols x."""
    wanted = set(x.nodes)
    return any(node in wanted for node in in_order(y.nodes))


def symvar(y: SX) -> list[SX]:
    """The symbols that an expression contains."""
    return [SX.scalar(node) for node in symbols_of(y.nodes)]


def rebuilt(roots: list[Node], instead: dict[Node, Node], number: Callable[[float], Node | None] | None = None) -> list[Node]:
    """The same with other nodes in the place of some; `number` says what takes the place of a constant, None if nothing does."""
    now = dict(instead)
    for node in in_order(roots, instead):
        op, a, b = node.op, node.a, node.b
        if a is not None:
            x = now[a]
            if b is None:
                now[node] = node if x is a else made(op, x, None)
            else:
                y = now[b]
                now[node] = node if x is a and y is b else made(op, x, y)
        elif op is CONST:
            other = None if number is None else number(node.value)
            now[node] = node if other is None else other
        elif op is RESULT:
            call, i = node.value
            arguments = [now[each] for each in call.arguments]
            same = all(x is y for x, y in zip(arguments, call.arguments, strict=True))
            now[node] = node if same else called(call.function, arguments).results[i]
        else:
            now[node] = node
    return [now[node] for node in roots]


def substitute(y: SX, x: SX, values: SX) -> SX:
    """An expression with values in the place of the symbols x."""
    if not y.nnz() or not x.nnz():
        return y
    every = values.nodes if values.nnz() == x.nnz() else [values[k].nodes[0] if values[k].nnz() else ZERO for k in range(x.numel())]
    return SX.of(y.sparsity(), rebuilt(y.nodes, dict(zip(x.nodes, every, strict=True))))


def with_numbers_replaced(values: list[SX], number: Callable[[float], SX | None]) -> list[SX]:
    """Expressions with symbols in the place of numbers, as far as `number` gives one."""

    def node(value: float) -> Node | None:
        found = number(value)
        return None if found is None else found.nodes[0]

    new = iter(rebuilt(nodes_of(*values), {}, node))
    return [SX.of(each.sparsity(), [next(new) for _ in range(each.nnz())]) for each in values]


def operations(inputs: list[SX], output: SX) -> tuple[list[tuple], list[int]]:
    """What computes an expression, as a tape has it (see `tape`), and the number of what goes into each of its entries.

    Equal operations are there once, but for the order of operands.
    """
    place = {node: ("in", which, k) for which, each in enumerate(inputs) for k, node in enumerate(each.nodes)}
    number: dict[Node, int] = {}
    tape: list[tuple] = []
    append = tape.append
    for node in in_order(output.nodes):
        if node in number:  # given by a call together with others
            continue
        number[node] = len(tape)
        a = node.a
        if a is not None:
            b = node.b
            append((node.op, number[a]) if b is None else (node.op, number[a], number[b]))
        elif node.op is CONST:
            append(("const", node.value))
        elif node.op is RESULT:
            call = node.value[0]
            f, given = call.function, [number[each] for each in call.arguments]
            for i, each in enumerate(call.results):
                number[each] = len(tape)
                append((f"call {f.key} {f.m} {i}", *given))
        elif node in place:
            append(place[node])
        else:
            raise ValueError(f"the symbol {node.value} is in an expression, but not among its arguments")
    return tape, [number[node] for node in output.nodes]


def function_of(inputs: list[SX], outputs: list[SX]) -> Evaluation:
    """A function that evaluates expressions of symbols, given numbers or other expressions; no other symbol may be in them."""
    return Evaluation(inputs, outputs)


class Evaluation:
    """Expressions as a function: called with numbers, it gives an array, or a tuple of them where there are several outputs.

    Called with expressions, it gives expressions.
    """

    def __init__(self, inputs: list[SX], outputs: list[SX]):
        self.inputs, self.outputs = inputs, outputs
        self._program: tuple | None = None
        given = {node for each in inputs for node in each.nodes}
        free = [node for node in symbols_of(nodes_of(*outputs)) if node not in given]
        if free:
            raise ValueError(f"the symbol {free[0].value} is in an expression, but not among its arguments")

    def numel_in(self, i: int) -> int:
        """How many numbers the input i takes."""
        return self.inputs[i].numel()

    def __call__(self, *given):
        if any(isinstance(each, SX) for each in given):
            return self._on_symbols([each if isinstance(each, SX) else SX(each) for each in given])
        from .evaluation import evaluated, program_of

        if self._program is None:
            self._program = program_of(self.inputs, self.outputs)
        values = evaluated(self._program, given)
        return values[0] if len(values) == 1 else tuple(values)

    def _on_symbols(self, given: list[SX]):
        instead = {}
        for own, value in zip(self.inputs, given, strict=True):
            entries = value.nodes if value.nnz() == own.nnz() else [value[k].nodes[0] if value[k].nnz() else ZERO
                                                                    for k in range(own.numel())]  # fmt: skip
            instead.update(zip(own.nodes, entries, strict=True))
        new = iter(rebuilt(nodes_of(*self.outputs), instead))
        found = [SX.of(each.sparsity(), [next(new) for _ in range(each.nnz())]) for each in self.outputs]
        return found[0] if len(found) == 1 else tuple(found)


def is_equal(a: SX, b: SX) -> bool:
    """Whether two expressions are the same."""
    return a.shape == b.shape and _pattern_equal(a.sparsity(), b.sparsity()) and all(map(_same, a.nodes, b.nodes))


def _pattern_equal(p: Sparsity, q: Sparsity) -> bool:
    return p is q or p == q


def _same(x: Node, y: Node) -> bool:
    from .nodes import COMMUTATIVE

    return x is y or (x.op == y.op and x.op in COMMUTATIVE and x.a is y.b and x.b is y.a)
