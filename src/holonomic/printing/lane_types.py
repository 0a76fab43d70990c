"""Types of a function whose members run side by side: which of its numbers are the same in all lanes, and which are not.

A number differs by lanes where it is read from a lane's own memory or follows from one that does; and where it is set while only
some of the lanes are at work: behind a condition that differs, or after some have returned. The counter of a loop does not,
while its bounds do not.
"""

from __future__ import annotations

import ast

from .lane_memory import OWN, RANK, REAL, SHARED, TRUTH, WHOLE, LaneArray, LaneNumber, Type

OF_REALS = ("math.sqrt", "math.exp", "math.log", "math.copysign", "float")
ON_TRUTHS = ("math.isnan", "math.isfinite")
EXTREMES = ("abs", "min", "max")


class NoLaneCode(Exception):
    """A piece of Python that has no code for lanes; its text says which."""


def varying(kind: Type) -> Type:
    """The type of a value that differs by lanes."""
    if isinstance(kind, tuple):
        return tuple(map(varying, kind))
    return kind if kind is None or isinstance(kind, LaneArray) else LaneNumber(kind.kind, True)


def differs(kind: Type) -> bool:
    """Whether a value, or the place of an array, differs by lanes."""
    return kind.layout == OWN if isinstance(kind, LaneArray) else kind is not None and kind.varying


def joined(a: Type, b: Type) -> Type:
    """The type of a variable that is given both."""
    if a is None or a == b:
        return b
    if b is None:
        return a
    if isinstance(a, tuple) and isinstance(b, tuple):
        return tuple(joined(*both) for both in zip(a, b, strict=True))
    if not (isinstance(a, LaneNumber) and isinstance(b, LaneNumber)):
        raise NoLaneCode(f"a variable of the types {a} and {b}")
    return LaneNumber(max(a.kind, b.kind, key=RANK.index), a.varying or b.varying)


def jumps(body: list[ast.stmt], kinds: tuple[type, ...] = (ast.Return, ast.Break, ast.Continue)) -> bool:
    """Whether lanes may leave these statements on the way: by a return, or out of the loop that they stand in."""
    for node in body:
        if isinstance(node, kinds):
            return True
        if isinstance(node, ast.If) and (jumps(node.body, kinds) or jumps(node.orelse, kinds)):
            return True
        if isinstance(node, ast.For | ast.While) and jumps(node.body, tuple({*kinds} & {ast.Return})):
            return True
    return False


class LaneTypes:
    """Types of all variables of a function that is called with arguments of these types, and of what it returns."""

    def __init__(self, machine, node: ast.FunctionDef, given: tuple[Type, ...]):
        self.machine, self.node = machine, node
        self.arguments: dict[str, Type] = dict(zip((each.arg for each in node.args.args), given, strict=True))
        self.types: dict[str, Type] = dict(self.arguments)
        self.result: Type = None
        self.narrowed: set[int] = set()  # statements at which lanes wait that go on behind them
        self.gone = False  # whether some lanes may have returned
        while True:  # until the types of all variables are found
            before = dict(self.types), self.result, len(self.narrowed)
            self.gone = False
            self._look_at(node.body, False)
            if before == (self.types, self.result, len(self.narrowed)):
                break

    def _look_at(self, body: list[ast.stmt], narrow: bool) -> None:
        """Go through statements; `narrow`: where some lanes wait for the others."""
        for node in body:
            if narrow:
                self.narrowed.add(id(node))
            narrow = narrow or id(node) in self.narrowed
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._give(target, self.type_of(node.value), narrow)
            elif isinstance(node, ast.AugAssign):
                kind = self._of_operation(self.type_of(node.target), node.op, self.type_of(node.value))
                self._give(node.target, kind, narrow)
            elif isinstance(node, ast.For | ast.While):
                self._look_at_loop(node, narrow)
            elif isinstance(node, ast.If):
                apart = differs(self.type_of(node.test))
                for each in (node.body, node.orelse):
                    self._look_at(each, narrow or apart)
                narrow = narrow or jumps([node], (ast.Break, ast.Continue))
                self.gone = self.gone or jumps([node], (ast.Return,))
            elif isinstance(node, ast.Return) and node.value is not None:
                kind = self.type_of(node.value)
                self.result = joined(self.result, varying(kind) if narrow or self.gone else kind)

    def _look_at_loop(self, node, narrow: bool) -> None:
        test = self.loop_differs(node)
        if isinstance(node, ast.For):
            self._give(node.target, LaneNumber(WHOLE, test), False)
        self.gone = self.gone or jumps(node.body, (ast.Return,))
        self._look_at(node.body, narrow or test or jumps(node.body, (ast.Break, ast.Continue)))

    def loop_differs(self, node) -> bool:
        """Whether lanes go through a loop a different number of times by its own terms."""
        if isinstance(node, ast.While):
            return differs(self.type_of(node.test))
        if node.orelse or not (isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func) == "range"):
            raise NoLaneCode(ast.unparse(node))
        return any(differs(self.type_of(each)) for each in node.iter.args)

    def _give(self, target, kind: Type, narrow: bool) -> None:
        if kind is None:
            return
        if isinstance(target, ast.Tuple):
            for name, each in zip(target.elts, kind, strict=True):
                self._give(name, each, narrow)
        elif isinstance(target, ast.Name):
            self.types[target.id] = joined(self.types.get(target.id), varying(kind) if narrow else kind)

    def type_of(self, node) -> Type:
        """The type of an expression, as far as the types of the variables are known."""
        return getattr(self, f"_type_{type(node).__name__.lower()}", self._untyped)(node)

    def _untyped(self, node):
        raise NoLaneCode(ast.unparse(node))

    def _type_constant(self, node):
        value = node.value
        return LaneNumber(TRUTH if isinstance(value, bool) else WHOLE if isinstance(value, int) else REAL)

    def _type_name(self, node):
        if node.id in ("nan", "inf"):
            return LaneNumber(REAL)
        return self.types.get(node.id)

    def _type_tuple(self, node):
        kinds = tuple(map(self.type_of, node.elts))
        return None if None in kinds else kinds

    def _type_unaryop(self, node):
        kind = self.type_of(node.operand)
        return LaneNumber(TRUTH, kind.varying) if kind and isinstance(node.op, ast.Not) else kind

    def _type_binop(self, node):
        return self._of_operation(self.type_of(node.left), node.op, self.type_of(node.right))

    @staticmethod
    def _of_operation(left, op, right):
        if left is None or right is None:
            return None
        real = REAL in (left.kind, right.kind) or isinstance(op, ast.Div)
        return LaneNumber(REAL if real else WHOLE, left.varying or right.varying)

    def _type_compare(self, node):
        kinds = [self.type_of(each) for each in (node.left, *node.comparators)]
        return LaneNumber(TRUTH, any(map(differs, kinds)))

    def _type_boolop(self, node):
        return LaneNumber(TRUTH, any(differs(self.type_of(each)) for each in node.values))

    def _type_ifexp(self, node):
        kind = joined(self.type_of(node.body), self.type_of(node.orelse))
        return varying(kind) if differs(self.type_of(node.test)) else kind

    def _type_subscript(self, node):
        if isinstance(node.value, ast.Attribute):  # .shape
            return LaneNumber(WHOLE)
        kind = self.type_of(node.value)
        if kind is None:
            return None
        if isinstance(node.slice, ast.Slice):
            return LaneArray(kind.kind, kind.layout, (None, *kind.shape[1:]), kind.step)
        given = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        indices = [self.type_of(each) for each in given]
        if None in indices:
            return None
        apart, left = any(each.varying for each in indices), kind.shape[len(given) :]
        if not left:
            return LaneNumber(kind.kind, apart or kind.layout != SHARED)
        if kind.layout != OWN and not apart:
            return LaneArray(kind.kind, kind.layout, left, kind.step)
        return LaneArray(kind.kind, OWN, left, self.machine.step(kind))

    def _type_call(self, node):
        name = ast.unparse(node.func)
        kinds = tuple(map(self.type_of, node.args))
        if name in self.machine.words:
            return self.machine.words[name].gives
        if None in kinds:
            return None
        apart = any(isinstance(kind, LaneNumber) and kind.varying for kind in kinds)
        if name in OF_REALS:
            return LaneNumber(REAL, apart)
        if name in ON_TRUTHS:
            return LaneNumber(TRUTH, apart)
        if name in ("int", "len"):
            return LaneNumber(WHOLE, name == "int" and apart)
        if name in EXTREMES:
            found = None
            for each in kinds:
                found = joined(found, each)
            return found
        return self.machine.types(name, kinds).result
