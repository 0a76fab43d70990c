"""One file of kernels as LLVM bitcode: lowered by Numba, linked, optimized once.

Numba would compile each function by itself, once more in each that calls it, with wrappers for Python around it; that took
a minute for the kernels of a first run. Here only its front end works (bytecode, typing, lowering): the text it makes is
collected, linked into one module together with our own entries, and optimized once. What comes out refers to the C library and,
for what Python calls, to Python's; not to Numba.

This replaces methods inside Numba's classes, so it happens in a process of its own (`python -m holonomic.native`).
"""

from __future__ import annotations

import importlib
import inspect
from types import ModuleType

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils, codegen, cpu
from numba.core import types as numba_types
from numba.core.registry import cpu_target
from numba.np import arrayobj

from . import abi, types
from .marks import MARKED, Inner, Kernel, Leaf
from .numba_meaning import dispatcher, teach

# of the C library
EXPECTED = set("acos asin atan atan2 cbrt ceil cos cosh exp exp2 expm1 floor fmod free frexp ldexp log log10 log1p log2 "
               "malloc memcpy memmove memset pow sin sinh sqrt tan tanh".split())  # fmt: skip
SPEED = 3  # of the optimizer, as Numba has it
# Numba's helpers in C, for arrays that lie one after the other: all that kernels reshape
SUPPORT = """
declare double @frexp(double, ptr)
declare double @ldexp(double, i32)
define double @numba_frexp(double %x, ptr %e) {
  %r = call double @frexp(double %x, ptr %e)
  ret double %r
}
define double @numba_ldexp(double %x, i32 %e) {
  %r = call double @ldexp(double %x, i32 %e)
  ret double %r
}
define i32 @numba_attempt_nocopy_reshape(i64 %nd, ptr %dims, ptr %strides, i64 %newnd, ptr %newdims, ptr %newstrides, i64 %itemsize, i32 %f) {
entry:
  br label %loop
loop:
  %k = phi i64 [ %newnd, %entry ], [ %down, %body ]
  %step = phi i64 [ %itemsize, %entry ], [ %more, %body ]
  %left = icmp sgt i64 %k, 0
  br i1 %left, label %body, label %done
body:
  %down = sub i64 %k, 1
  %at = getelementptr i64, ptr %newstrides, i64 %down
  store i64 %step, ptr %at
  %from = getelementptr i64, ptr %newdims, i64 %down
  %length = load i64, ptr %from
  %more = mul i64 %step, %length
  br label %loop
done:
  ret i32 1
}
"""  # noqa: E501  a line of LLVM


def as_it_is(context, builder, kind, index, size):
    """An index: none of our kernels counts from the end, and to ask for that takes several instructions each time."""
    return context.cast(builder, index, kind, numba_types.intp)


def front_end_only() -> None:
    """Let Numba lower functions in this process and do nothing else with them."""
    library = codegen.CPUCodeLibrary

    def keep_text(self, module):
        self.__dict__.setdefault("texts", []).append(cgutils.normalize_ir_text(str(module)))

    def finish(self):
        self._finalized = True

    library.add_ir_module = keep_text
    library.finalize = finish
    library.add_linking_library = lambda self, other: self._linking_libraries.append(other)
    cpu.CPUContext.create_cpython_wrapper = lambda *given, **named: None
    cpu.CPUContext.create_cfunc_wrapper = lambda *given, **named: None
    arrayobj.fix_integer_index = as_it_is
    cpu.CPUContext.get_executable = lambda *given: list().append  # by which Numba knows a function: another each time


def marked_in(module: ModuleType) -> list[Leaf | Kernel]:
    """Return what of a module is called from outside: kernels, entries, and leaves whose arguments have types."""
    return [
        mark
        for mark in MARKED
        if isinstance(mark, Leaf | Kernel) and mark.__module__ == module.__name__ and argument_types(mark) is not None
    ]


def argument_types(mark: Leaf | Kernel) -> tuple | None:
    """Return the types a function is called with from outside, or None."""
    if mark.signature is not None:
        return mark.signature.arguments
    function = mark.py
    named = inspect.get_annotations(function, eval_str=True, locals=vars(types))
    names = inspect.signature(function).parameters
    return tuple(named[name] for name in names) if names and set(names) <= set(named) else None


def lower(name: str) -> bytes:
    """Return the bitcode of a module of the package, by its name."""
    module = importlib.import_module(name)
    teach()
    marks = marked_in(module)
    lowered = [(mark, _lowered(mark)) for mark in marks]
    entries = ir.Module("entries")
    entries.triple = llvm.get_default_triple()
    context = cpu_target.target_context
    for mark, result in lowered:
        if isinstance(mark, Kernel):
            abi.define_slot(context, entries, f"slot.{mark.__name__}", result.fndesc, mark.signature)
        else:
            defaults = mark.py.__defaults__ or ()
            abi.define_for_python(
                context,
                entries,
                f"python.{mark.__name__}",
                result.fndesc,
                argument_types(mark),
                defaults,
                mark.signature is not None,
            )
    whole, beside = llvm.parse_assembly(cgutils.normalize_ir_text(str(entries))), _names_apart()
    for text in (SUPPORT, *_texts(result.library for _, result in lowered)):
        whole.link_in(llvm.parse_assembly(_with_functions_apart(text, beside)))
    return _optimized(whole, name)


def _lowered(mark: Leaf | Kernel):
    wanted = tuple(abi.numba_type(kind) for kind in argument_types(mark))
    made = dispatcher(mark)
    made.compile(wanted)
    return made.overloads[wanted]


def _names_apart() -> tuple[str, ...]:
    """Return how the names of functions that stay apart end, as Numba has them, in front of the types they take."""
    marks = [mark.function for mark in MARKED if isinstance(mark, Inner) and mark.apart]
    parts = [(function.__module__.rpartition(".")[2], function.__qualname__) for function in marks]
    return tuple(f"{len(file)}{file}{len(name)}{name}B" for file, name in parts)


def _with_functions_apart(text: str, names: tuple[str, ...]) -> str:
    """Return the text of a module in which functions of these names are not put into those that call them.

    Numba hands the wish of a `part` on to all that it calls.
    """
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if line.startswith("define ") and any(name in line.partition("(")[0] for name in names):
            head, found, rest = line.partition(" alwaysinline")
            lines[number] = f"{head} noinline{rest}" if found else line
    return "\n".join(lines)


def _texts(libraries):
    """Yield the texts of libraries and of all they refer to, each once."""
    todo, known = list(libraries), []
    while todo:
        library = todo.pop()
        if any(library is each for each in known):
            continue
        known.append(library)
        todo += library._linking_libraries
        yield from getattr(library, "texts", ())


def _optimized(whole, name: str) -> bytes:
    """Hide what is not called from outside, optimize, and return bitcode that has no names of its making in it."""
    for function in whole.functions:
        if not function.is_declaration and not function.name.startswith(("slot.", "python.")):
            function.linkage = "internal"
    for variable in whole.global_variables:
        if not variable.is_declaration:
            variable.linkage = "internal"
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2, reloc="pic", codemodel="default")
    options = llvm.create_pipeline_tuning_options(speed_level=SPEED)
    options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(whole, builder)
    foreign = {each.name for each in whole.functions if each.is_declaration} - EXPECTED
    if left := sorted(each for each in foreign if not each.startswith(("llvm.", "Py"))):
        raise RuntimeError(f"the kernels of {name} call {', '.join(left)}, which nobody has where they run.")
    number = 0
    for each in (*whole.functions, *whole.global_variables):
        if not each.is_declaration and not each.name.startswith(("slot.", "python.")):
            each.name, number = f"i{number}", number + 1
    whole.name = name
    return whole.as_bitcode()
