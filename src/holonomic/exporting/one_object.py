"""What a library is linked from: the kernels that a plan reaches, the model's functions, and the memory a run begins with.

Kernels come as optimized bitcode, model functions as tapes; both are lowered here for any processor that LLVM knows, with the
same passes as at home, so that a processor with the same instructions gives the same bits. Kernels take words (see
`native.abi`): every entry is a C function of one argument, the run's memory, that calls a kernel with places in
it and with constants.
"""

from __future__ import annotations

import hashlib
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from ..kernels.bounds import BOUNDED
from ..model.bounded_tapes import BoundedTape
from ..model.machine_code import module_of
from ..model.tape import Tape
from ..native import cachefolder
from ..native.layout import Memory
from ..native.library import bitcode_of
from ..native.marks import Kernel
from ..native.types import Array, Group, Number, Record
from .platforms import Platform

I8, I64, REAL = ir.IntType(8), ir.IntType(64), ir.DoubleType()
POINTER = I8.as_pointer()
OPERATOR = ir.FunctionType(I64, [POINTER, I64, REAL, POINTER, POINTER, POINTER, POINTER])  # see `kernels.signatures`
ALIGNED = 64  # bytes: arrays begin on a cache line


class Field:
    """A number that an entry reads in the memory of a run when it is called."""

    def __init__(self, memory: Memory, name: str):
        self.memory, self.name = memory, name


class Functions:
    """A table of addresses, as kernels take them: symbols by place, and contexts of operators."""

    def __init__(self, length: int):
        self.symbols: dict[int, str] = {}
        self.contexts: dict[int, Any] = {}
        self.length = length


class Arena:
    """The memory of one run, in one piece and without pointers: its copy is the run's state."""

    def __init__(self):
        self._content: list[np.ndarray] = []
        self._at: dict[int, int] = {}
        self._seen: dict[int, int] = {}
        self._held: list[np.ndarray] = []
        self.places: dict[str, int] = {}
        self.size = 0

    def keep(self, name: str, value: np.ndarray | Memory) -> Any:
        """Give a place to an array or to memory, which begins with what it holds at the end; return it."""
        whole = value.array if isinstance(value, Memory) else value
        self._content.append(whole)
        self._at[id(value)] = self.places[name] = self.size
        self.size += -(-max(whole.nbytes, 8) // ALIGNED) * ALIGNED
        return value

    def same(self, value: np.ndarray, other: np.ndarray) -> None:
        """Give an array the place of another one: the same numbers in another shape."""
        self._seen[id(value)] = self.at(other)
        self._held.append(value)

    def has(self, value) -> bool:
        """Tell whether something has a place."""
        return id(value) in self._at or id(value) in self._seen

    def at(self, value) -> int:
        """Return where something stands."""
        return self._at[id(value)] if id(value) in self._at else self._seen[id(value)]

    @property
    def image(self) -> bytes:
        """All of it as it is now."""
        image = bytearray(self.size)
        for at, whole in zip(self._at.values(), self._content, strict=True):
            image[at : at + whole.nbytes] = whole.tobytes()
        return bytes(image)


class OneObject:
    """What an exported model is linked from."""

    def __init__(self, arena: Arena):
        self.arena = arena
        self.module = ir.Module("exported")
        self._kernels: dict[str, Kernel] = {}
        self._tapes: dict[str, str] = {}  # text -> symbol
        self._constants: dict[int, ir.GlobalVariable] = {}
        self._held: list[Any] = []  # what constants were made of: their ids stay theirs
        self.entries: list[str] = []
        self._contexts = 0

    # what it is made of

    def kernel(self, kernel: Kernel) -> str:
        """Take a kernel in; return its symbol."""
        symbol = f"slot.{kernel.__module__}.{kernel.__name__}"
        self._kernels[symbol] = kernel
        return symbol

    def tape(self, tape: Tape) -> str:
        """Take a model function in; return its symbol."""
        return self._tapes.setdefault(tape.text(), f"model.{len(self._tapes)}")

    def bounds(self, tape: Tape) -> Any:
        """Take in what bounds a tape; return the address of its context."""
        made = BoundedTape(tape)
        held = dict(zip(("code", "constants", "places"), made.held, strict=True))
        at = lambda name: self._bytes(f"{name}.{self._contexts}", held[name].tobytes()).ptrtoint(I64)
        words = [at(name) if name in held else I64(int(getattr(made.memory, name))) for name in BOUNDED.fields]
        context = ir.GlobalVariable(self.module, ir.ArrayType(I64, len(words)), f"bounds.{self._contexts}")
        self._contexts += 1
        context.initializer = ir.Constant(context.value_type, words)
        context.global_constant, context.linkage, context.align = True, "internal", 16
        return context.ptrtoint(I64)

    def entry(self, name: str, kernel: Kernel, *arguments: Any) -> None:
        """Define a C function of the memory of a run that calls a kernel."""
        builder, arena = self._begin(name)
        kinds = kernel.signature.arguments
        words = [w for kind, value in zip(kinds, arguments, strict=True) for w in self._words(builder, arena, kind, value)]
        kind = ir.FunctionType(I64, [word.type for word in words])
        builder.ret(builder.call(self._declared(self.kernel(kernel), kind), words))

    def model_entry(self, name: str, tape: Tape, t: Field, a, b, data, out) -> None:
        """Define a C function of the memory of a run that calls a model function; `b` may be (array, offset)."""
        builder, arena = self._begin(name)
        b, offset = b if isinstance(b, tuple) else (b, 0)
        given = [self._pointer(builder, arena, each) for each in (a, b, data, out)]
        given[1] = builder.gep(given[1], [I64(8 * offset)])
        time = self._words(builder, arena, Number("f8"), t)
        builder.ret(builder.call(self._declared(self.tape(tape), OPERATOR), [POINTER(None), I64(0), *time, *given]))

    def constant(self, name: str, content: bytes) -> None:
        """Define bytes that C sees under a name."""
        made = self._bytes(name, content)
        made.linkage = ""
        self.entries.append(name)

    def _begin(self, name: str):
        function = ir.Function(self.module, ir.FunctionType(I64, [POINTER]), name)
        self.entries.append(name)
        return ir.IRBuilder(function.append_basic_block()), function.args[0]

    def _declared(self, symbol: str, kind: ir.FunctionType) -> ir.Function:
        return self.module.globals.get(symbol) or ir.Function(self.module, kind, symbol)

    def _words(self, builder, arena, kind, value) -> list[ir.Value]:
        """The words of a value of a kernel's argument, see `native.abi.words`."""
        if isinstance(kind, Group):
            parts = zip(kind.fields, value, strict=True)
            return [word for field, each in parts for word in self._words(builder, arena, field, each)]
        if isinstance(kind, Array):
            shape = (value.length,) if isinstance(value, Functions) else value.shape
            assert len(shape) == kind.ndim
            return [self._pointer(builder, arena, value), *(I64(length) for length in shape)]
        if isinstance(kind, Record):
            return [self._pointer(builder, arena, value)]
        if isinstance(value, Field):
            at = self.arena.at(value.memory) + value.memory.layout.dtype.fields[value.name][1]
            place = builder.gep(arena, [I64(at)])
            return [builder.load(builder.bitcast(place, (REAL if kind.code == "f8" else I64).as_pointer()))]
        return [REAL(float(value)) if kind.code == "f8" else I64(int(value))]

    def _pointer(self, builder, arena, value) -> ir.Value:
        if self.arena.has(value):
            return builder.gep(arena, [I64(self.arena.at(value))])
        if id(value) not in self._constants:
            self._held.append(value)
            made = self._table(value) if isinstance(value, Functions) else self._numbers(value)
            self._constants[id(value)] = made
        return builder.bitcast(self._constants[id(value)], POINTER)

    def _numbers(self, value: np.ndarray | Memory) -> ir.GlobalVariable:
        whole = value.array if isinstance(value, Memory) else value
        return self._bytes(f"constant.{len(self._constants)}", whole.tobytes() or bytes(8))

    def _bytes(self, name: str, content: bytes) -> ir.GlobalVariable:
        made = ir.GlobalVariable(self.module, ir.ArrayType(I8, len(content)), name)
        made.initializer = ir.Constant(made.value_type, bytearray(content))
        made.global_constant, made.linkage, made.align = True, "internal", 16
        return made

    def _table(self, functions: Functions) -> ir.GlobalVariable:
        kind = ir.ArrayType(I64, functions.length)
        made = ir.GlobalVariable(self.module, kind, f"constant.{len(self._constants)}")
        kinds = lambda symbol: OPERATOR if symbol in self._tapes.values() else ir.FunctionType(I64, [])
        word = lambda symbol: self._declared(symbol, kinds(symbol)).ptrtoint(I64)
        words = {at: word(symbol) for at, symbol in functions.symbols.items()} | functions.contexts
        made.initializer = ir.Constant(kind, [words.get(i, I64(0)) for i in range(functions.length)])
        made.global_constant, made.linkage, made.align = True, "internal", 16
        return made

    # how it becomes code

    def objects(self, platform: Platform) -> dict[str, bytes]:
        """Return the object files for a platform, by name: the kernels, and all that is the model's own."""
        machine = platform.machine()
        own = llvm.parse_assembly(str(self.module))
        tapes = {symbol: Tape.from_text(text) for text, symbol in self._tapes.items()}
        if tapes:
            own.link_in(module_of(tapes, machine))
        return {"kernels.o": self._kernel_object(platform), "model.o": _emitted(own, machine, set(self.entries))}

    def _kernel_object(self, platform: Platform) -> bytes:
        """The kernels for a platform; they take a second or two, so they are kept for the next model with these methods."""
        symbols = sorted(self._kernels)
        modules = {module: bitcode_of(module) for module in sorted({each.__module__ for each in self._kernels.values()})}
        digest = hashlib.sha256(f"{llvmlite.__version__} {platform} {symbols}".encode())
        for bitcode in modules.values():
            digest.update(bitcode)
        name = f"exported-{digest.hexdigest()[:32]}.o"
        code = cachefolder.read("kernels", name)
        if code is None:
            code = _emitted(_linked(modules), platform.machine(), set(symbols))
            cachefolder.write("kernels", name, code)
        return code


def _linked(modules: dict[str, bytes]) -> llvm.ModuleRef:
    """Kernels of several modules in one, under the names of their symbols."""
    whole = llvm.parse_assembly("")
    for module, bitcode in modules.items():
        part = llvm.parse_bitcode(bitcode)
        for function in part.functions:
            if function.name.startswith("slot."):
                function.name = f"slot.{module}.{function.name.removeprefix('slot.')}"
        part.triple, part.data_layout = whole.triple, whole.data_layout
        whole.link_in(part)
    return whole


def _emitted(whole: llvm.ModuleRef, machine, shown: set[str]) -> bytes:
    """Machine code of what is shown, seen inside one library alone, and of all that it reaches."""
    whole.triple, whole.data_layout = machine.triple, str(machine.target_data)
    for each in (*whole.functions, *whole.global_variables):
        if not each.is_declaration and each.name in shown:
            each.visibility = "hidden"
        elif not each.is_declaration:
            each.linkage = "internal"
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(whole, builder)
    return machine.emit_object(whole)
