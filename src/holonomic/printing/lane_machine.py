"""Machine code of plain Python functions for several members side by side, through LLVM.

What is printed is what the `Specializer` writes: assignments, loops over `range`, conditions, arithmetic, entries of arrays, calls
of each other. A real number is a vector with one number of each member, and so are whole numbers and truths that differ by
members. Where a condition differs, both ways are gone, each for its own members: a *mask* has those that are at work, what is
assigned and written is so for them alone, and a way that nobody goes is jumped over. Nothing that a member computes depends on
its neighbours. Every function is made once for the types that it is called with, and takes the mask of its callers.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from .lane_memory import DOUBLE, LANES, OWN, REAL, SCALAR, TRUTH, WHOLE, WORD, LaneArray, LaneMemory, LaneNumber, LanePlace, Type
from .lane_types import LaneTypes, NoLaneCode, jumps
from .lane_values import LaneValues


@dataclass(frozen=True)
class Word:
    """What a program says and another writes: the code of a call, and the type of what it gives."""

    write: Callable[[Any, ast.Call], Any]
    gives: Type = None


class LaneMachine:
    """Writes functions into a module, for so many members.

    Parameters
    ----------
    module : ir.Module
    width : int
        Members side by side.
    functions : dict
        Functions of the program by name, as trees.
    fused : bool
        Whether the processor rounds a product and a sum once.
    """

    def __init__(self, module: ir.Module, width: int, functions: dict[str, ast.FunctionDef], fused: bool):
        self.module, self.width, self.functions, self.fused = module, width, functions, fused
        self.memory = LaneMemory(module, width)
        self.words: dict[str, Word] = {}
        self._types: dict[tuple, LaneTypes] = {}
        self._made: dict[tuple, ir.Function] = {}

    def step(self, kind: LaneArray) -> int:
        """Words between two entries of one lane."""
        return self.width if kind.layout == LANES else kind.step

    def types(self, name: str, given: tuple[Type, ...]) -> LaneTypes:
        """Return the types of a function's variables where it is called with these."""
        key = (name, given)
        if key not in self._types:
            if name not in self.functions:
                raise NoLaneCode(name)
            self._types[key] = LaneTypes(self, self.functions[name], given)
        return self._types[key]

    def function(self, name: str, given: tuple[Type, ...]) -> ir.Function:
        """Return a function for arguments of these types."""
        key = (name, given)
        if key not in self._made:
            self._made[key] = _Function(self, self.types(name, given), f"{name}_{len(self._made)}").write()
        return self._made[key]

    def each(self, name: str, many: int) -> ir.Function:
        """A function of the mathematics library, for the lanes of a mask one after the other."""
        own = f"each_{name}"
        if own in self.module.globals:
            return self.module.globals[own]
        vector = self.memory.vector(REAL)
        function = ir.Function(self.module, ir.FunctionType(vector, [self.memory.mask] + [vector] * many), own)
        function.linkage = "internal"
        function.attributes.add("noinline")
        builder = ir.IRBuilder(function.append_basic_block())
        mask, *given = function.args
        found = builder.alloca(vector)
        builder.store(self.memory.all_of(REAL, 0.0), found)
        of_one = self.scalar(name, many)
        for k in range(self.width):
            lane = ir.Constant(ir.IntType(32), k)
            with builder.if_then(builder.extract_element(mask, lane)):
                value = builder.call(of_one, [builder.extract_element(x, lane) for x in given])
                builder.store(builder.insert_element(builder.load(found), value, lane), found)
        builder.ret(builder.load(found))
        return function

    def scalar(self, name: str, many: int) -> ir.Function:
        """The same of one number."""
        return self.module.declare_intrinsic(f"llvm.{name}", [DOUBLE], ir.FunctionType(DOUBLE, [DOUBLE] * many))


class _Function(LaneValues):
    """Writes one function for arguments of certain types."""

    def __init__(self, machine: LaneMachine, found: LaneTypes, name: str):
        self.machine, self.memory, self.found, self.name = machine, machine.memory, found, name
        self.node, self.types, self.type_of = found.node, found.types, found.type_of
        self.places: dict[str, ir.Value] = {}
        self.views: dict[str, LanePlace] = {}
        self.loops: list[tuple[ir.Value, ir.Value]] = []  # of each loop: lanes that have left it, and that go on with its next turn
        self.ends: list[ir.Block] = []  # where each list of statements ends
        self.builder: Any = None  # while it is written

    def write(self) -> ir.Function:
        """Return the function."""
        result, memory = self.found.result, self.memory
        parameters: list[ir.Type] = [memory.mask]
        for kind in self.found.arguments.values():
            if isinstance(kind, LaneArray):
                parameters.append(memory.vector(WHOLE) if kind.layout == OWN else SCALAR[kind.kind].as_pointer())
                parameters += [WORD] * sum(length is None for length in kind.shape)
            else:
                parameters.append(memory.type_of(kind))
        given_back = ir.VoidType() if result is None else memory.type_of(result)
        made = ir.Function(self.machine.module, ir.FunctionType(given_back, parameters), self.name)
        made.linkage = "internal"
        self.builder = ir.IRBuilder(made.append_basic_block())
        self.at_work = self.builder.alloca(memory.mask)
        given = list(made.args)
        self.builder.store(given.pop(0), self.at_work)
        if result is not None:
            self.returned = self.builder.alloca(given_back)
        for name, kind in self.types.items():
            if isinstance(kind, LaneArray):
                if name in self.found.arguments:
                    begin = given.pop(0)
                    self.views[name] = LanePlace(kind, begin, self._lengths(kind, given))
                continue
            self.places[name] = self.builder.alloca(memory.type_of(kind), name=name)
            if name in self.found.arguments:
                value = self.turned(given.pop(0), self.found.arguments[name], kind)
                self.builder.store(value, self.places[name])
        self._block(self.node.body)
        if result is None:
            self.builder.ret_void()
        else:
            self.builder.ret(self.builder.load(self.returned))
        return made

    @staticmethod
    def _lengths(kind: LaneArray, given: list) -> tuple[ir.Value, ...]:
        return tuple(given.pop(0) if length is None else ir.Constant(WORD, length) for length in kind.shape)

    # statements

    def _block(self, body: list[ast.stmt]) -> None:
        """Write statements; lanes that leave them on the way meet the others behind them."""
        self.ends.append(self._new_block())
        for at, node in enumerate(body):
            writer = getattr(self, f"_{type(node).__name__.lower()}", None)
            if writer is None:
                raise NoLaneCode(ast.unparse(node))
            writer(node)
            if isinstance(node, ast.Return | ast.Break | ast.Continue):
                break
            if at + 1 < len(body) and jumps([node]):
                go_on = self._new_block()
                self.builder.cbranch(self.memory.any(self.builder, self.mask()), go_on, self.ends[-1])
                self.builder.position_at_end(go_on)
        end = self.ends.pop()
        self.builder.branch(end)
        self.builder.position_at_end(end)

    def _pass(self, node):
        pass

    def _expr(self, node):
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.value(node.value)

    def _leave(self, to: ir.Value | None) -> None:
        mask = self.mask()
        if to is not None:
            self.builder.store(self.builder.or_(self.builder.load(to), mask), to)
        self.builder.store(self.memory.all_of(TRUTH, 0), self.at_work)

    def _break(self, node):
        self._leave(self.loops[-1][0])

    def _continue(self, node):
        self._leave(self.loops[-1][1])

    def _return(self, node):
        if node.value is not None:
            kind = self.type_of(node.value)
            self._return_value(self.value(node.value), kind, self.found.result, [])
        self._leave(None)

    def _return_value(self, value, kind, wanted, at: list[int]) -> None:
        if isinstance(wanted, tuple):
            for k, (each, one, other) in enumerate(zip(value, kind, wanted, strict=True)):
                self._return_value(each, one, other, [*at, k])
            return
        zero = ir.Constant(ir.IntType(32), 0)
        place = self.builder.gep(self.returned, [zero, *(ir.Constant(ir.IntType(32), k) for k in at)]) if at else self.returned
        value = self.turned(value, kind, wanted)
        if wanted.varying:
            value = self.builder.select(self.mask(), value, self.builder.load(place))
        self.builder.store(value, place)

    def _assign(self, node):
        kind = self.type_of(node.value)
        if isinstance(kind, LaneArray):
            self.views[node.targets[0].id] = self.value(node.value)
            return
        value = self.value(node.value)
        for target in node.targets:
            self._put(target, value, kind, id(node) in self.found.narrowed)

    def _put(self, target, value, kind, narrow: bool) -> None:
        if isinstance(target, ast.Tuple):
            for name, each, one in zip(target.elts, value, kind, strict=True):
                self._put(name, each, one, narrow)
        elif isinstance(target, ast.Name):
            wanted, place = self.types[target.id], self.places[target.id]
            value = self.turned(value, kind, wanted)
            if narrow:
                value = self.builder.select(self.mask(), value, self.builder.load(place))
            self.builder.store(value, place)
        else:
            place, at = self._entry(target)
            value = self.turned(value, kind, LaneNumber(place.type.kind, True))
            self.memory.store(self.builder, place, at, value, self.mask())

    def _augassign(self, node):
        kind, of_right = self.type_of(node.target), self.type_of(node.value)
        whole = self.found._of_operation(kind, node.op, of_right)
        factors = self._factors(node.value) if whole.kind == REAL and isinstance(node.op, ast.Add | ast.Sub) else None
        if factors is None:
            value = self._operation(self.value(node.target), kind, node.op, self.value(node.value), of_right)
        else:
            value = self._summed(self.turned(self.value(node.target), kind, whole), factors, whole, isinstance(node.op, ast.Sub))
        self._put(node.target, value, whole, id(node) in self.found.narrowed)

    def _if(self, node):
        kind = self.type_of(node.test)
        test, builder = self.truth(node.test), self.builder
        if not kind.varying:
            then, behind = self._new_block(), self._new_block()
            other = self._new_block() if node.orelse else behind
            builder.cbranch(test, then, other)
            for block, body in ((then, node.body), (other, node.orelse)):
                if body:
                    builder.position_at_end(block)
                    self._block(body)
                    builder.branch(behind)
            builder.position_at_end(behind)
            return
        before = self.mask()
        mine = builder.and_(before, test)
        others = builder.and_(before, builder.not_(test))
        left = self._for_some(mine, node.body)
        if node.orelse:
            others = self._for_some(others, node.orelse)
        apart = jumps(node.body) or jumps(node.orelse)
        builder.store(builder.or_(left, others) if apart else before, self.at_work)

    def _for_some(self, mine: ir.Value, body: list[ast.stmt]) -> ir.Value:
        """Write statements for some lanes, not gone through where there are none; return those that are left behind them."""
        builder = self.builder
        builder.store(mine, self.at_work)
        if _short(body):
            self._block(body)
        else:
            go, behind = self._new_block(), self._new_block()
            builder.cbranch(self.memory.any(builder, mine), go, behind)
            builder.position_at_end(go)
            self._block(body)
            builder.branch(behind)
            builder.position_at_end(behind)
        return self.mask()

    def _while(self, node):
        self._loop(node, lambda: self.truth(node.test), lambda: None)

    def _for(self, node):
        given = node.iter.args
        low, high = (ast.Constant(0), given[0]) if len(given) == 1 else given[:2]
        step = ast.literal_eval(given[2]) if len(given) == 3 else 1
        builder, wanted = self.builder, LaneNumber(WHOLE, self.found.loop_differs(node))
        begin, end = (self.turned(self.value(each), self.type_of(each), wanted) for each in (low, high))
        with builder.goto_entry_block():
            counter = builder.alloca(self.memory.type_of(wanted))
        builder.store(begin, counter)
        one = self.turned(ir.Constant(WORD, step), LaneNumber(WHOLE), wanted)

        def test():
            now = builder.load(counter)
            named = self.types[node.target.id]  # which may differ by lanes in another loop
            builder.store(self.turned(now, wanted, named), self.places[node.target.id])
            return builder.icmp_signed("<" if step > 0 else ">", now, end)

        self._loop(node, test, lambda: builder.store(builder.add(builder.load(counter), one), counter))

    def _loop(self, node, test: Callable[[], ir.Value], further: Callable[[], Any]) -> None:
        builder, memory = self.builder, self.memory
        apart, leave = self.found.loop_differs(node), jumps(node.body)
        none = memory.all_of(TRUTH, 0)
        with builder.goto_entry_block():
            left, next_turn = builder.alloca(memory.mask), builder.alloca(memory.mask)
        if apart or leave:
            builder.store(none, left)
            builder.store(none, next_turn)
        head, body, behind = self._new_block(), self._new_block(), self._new_block()
        builder.branch(head)
        builder.position_at_end(head)
        going = test()
        if apart:
            before = self.mask()
            builder.store(builder.or_(builder.load(left), builder.and_(before, builder.not_(going))), left)
            now = builder.and_(before, going)
            builder.store(now, self.at_work)
            going = memory.any(builder, now)
        elif leave:
            going = builder.and_(going, memory.any(builder, self.mask()))
        builder.cbranch(going, body, behind)
        builder.position_at_end(body)
        self.loops.append((left, next_turn))
        self._block(node.body)
        self.loops.pop()
        if apart or leave:
            builder.store(builder.or_(self.mask(), builder.load(next_turn)), self.at_work)
            builder.store(none, next_turn)
        further()
        builder.branch(head)
        builder.position_at_end(behind)
        if apart or leave:
            builder.store(builder.or_(self.mask(), builder.load(left)), self.at_work)


def _short(body: list[ast.stmt]) -> bool:
    """Whether it is no more work to compute what statements assign than to jump over them."""
    simple = (ast.Assign, ast.AugAssign, ast.Break, ast.Continue, ast.Return)
    if len(body) > 2 or not all(isinstance(node, simple) for node in body):
        return False
    inside = [each for node in body for each in ast.walk(node)]
    return not any(isinstance(each, ast.Call | ast.Subscript) for each in inside) and len(inside) < 12
