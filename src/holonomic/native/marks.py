"""Marks of functions that are compiled, and what a mark means when Python calls one.

`@leaf` marks small loops over components: always compiled, callable from kernels and, where its arguments are annotated with
their types, from Python and interpreted kernels.
`@inner` marks what kernels share: compiled inside compiled kernels, plain Python in interpreted ones.
`@part` is an inner function that is called from one place: its code is put there.
`@kernel(SIGNATURE)` marks a slot function (a step, a pull): it keeps the plain Python function for interpreted and GPU runs
and has a machine address. The step loop calls its slots through these addresses, so any pairing of methods runs without compiling.
`@entry(TYPES)` marks what Python calls for long work: other threads go on meanwhile.

Nothing is compiled at import, and nothing here knows how it is done: `library` has the code of the functions of this package,
`foreign` compiles those of others.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, NamedTuple

from .types import Signature

PACKAGE = Path(__file__).resolve().parent.parent
# Rooms whose functions are compiled; errors.py has the status codes they hold as numbers.
ROOMS = ("kernels", "passage", "loop", "integrators", "stabilizations", "formulations")

MARKED: list = []  # all marks, in the order in which they are met


def is_ours(function) -> bool:
    """Tell whether a function stands in this package."""
    return PACKAGE in Path(function.__code__.co_filename).resolve().parents


def _known_place(function):
    """Refuse a function of the package whose source is not looked at: edited, its old machine code would be used."""
    path = Path(function.__code__.co_filename).resolve()
    if PACKAGE in path.parents and path.parent.name not in ROOMS:
        places = ", ".join(sorted(ROOMS))
        raise RuntimeError(f"{function.__qualname__} in {path} cannot be compiled there. Put it into one of {places}.")
    return function


class Leaf:
    """A function that is compiled wherever it is called from.

    Attributes
    ----------
    py : callable
        Its Python source.
    signature : Signature or None
        What it takes, of functions that are called for long work.
    """

    def __init__(self, function, signature: Signature | None = None):
        self.py = _known_place(function)
        self.signature = signature
        functools.update_wrapper(self, function)
        MARKED.append(self)

    @functools.cached_property
    def native(self):
        """The machine code, as Python calls it."""
        if is_ours(self.py):
            from .library import python_function

            return python_function(self)
        from .foreign import dispatcher

        return dispatcher(self)

    def __call__(self, *arguments):
        return self.native(*arguments)


class Kernel:
    """A slot function: plain Python source and, on request, its machine address."""

    def __init__(self, function, signature: Signature):
        self.py = _known_place(function)
        self.signature = signature
        functools.update_wrapper(self, function)
        MARKED.append(self)

    @functools.cached_property
    def address(self) -> int:
        """The address the step loop calls."""
        if is_ours(self.py):
            from .library import address

            return address(self)
        from .foreign import address

        return address(self)

    def __call__(self, *arguments):
        return self.py(*arguments)


class Inner(NamedTuple):
    """A function that is compiled with what calls it."""

    function: Any
    inline: bool
    apart: bool = False  # it stays a function of its own


class Instead(NamedTuple):
    """What stands for a function where it is compiled."""

    function: Any
    replacement: Any


class SlotCall(NamedTuple):
    """A call through a table of addresses."""

    call: Any
    signature: Signature
    index: int


class View(NamedTuple):
    """An array, or one row of it, seen as memory of a layout."""

    seen: Any
    layout: Any
    row: int | None


def leaf(function) -> Leaf:
    """Mark a loop over components; it is compiled even in interpreted runs."""
    return Leaf(function)


def entry(*arguments):
    """Mark a function that Python calls with these types, for long work."""
    return lambda function: Leaf(function, Signature(None, arguments))


def kernel(signature: Signature):
    """Mark a slot function of this signature."""
    return lambda function: Kernel(function, signature)


def inner(function):
    """Mark a function that kernels call and that calls model functions: compiled in compiled kernels only."""
    MARKED.append(Inner(_known_place(function), inline=False))
    return function


def part(function):
    """Mark a function that is called from one place: its code is put there, and what it is given is not passed."""
    MARKED.append(Inner(_known_place(function), inline=True))
    return function


def apart(function):
    """Mark an inner function that is long, and that most steps do not come to: its code is put nowhere else.

    To make machine code of a long function takes more than twice as long as of its parts.
    """
    MARKED.append(Inner(_known_place(function), inline=False, apart=True))
    return function


def compiled_as(function):
    """Mark what stands for a function where kernels are compiled."""

    def mark(replacement):
        MARKED.append(Instead(function, _known_place(replacement)))
        return replacement

    return mark


def slot_caller(signature: Signature, index: int):
    """Make the function by which the loop calls slot number `index` of a table of slots.

    Interpreted, the table is a sequence of Python functions. Compiled, it is an int64 array of addresses.
    """

    def call(slots, *arguments):
        return slots[index](*arguments)

    call.slot = index
    MARKED.append(SlotCall(call, signature, index))
    return call


def call_model_at(address, context, mode, t, a, at_a, b, at_b, data, out, at_out):
    """Call an operator of a model by its address, from compiled kernels alone: arrays are read and written from the offsets on."""
    raise NotImplementedError("addresses are called by compiled kernels")


def numbers_at(address, n):
    """Return the n numbers at an address as an array, from compiled kernels alone."""
    raise NotImplementedError("addresses are looked at by compiled kernels")


def whole_at(address, n):
    """Return the n whole numbers at an address as an array, from compiled kernels alone."""
    raise NotImplementedError("addresses are looked at by compiled kernels")


def take_room(n):
    """Return the address of room for n numbers, 0 where there is none left; it is given back with `leave_room`."""
    raise NotImplementedError("compiled kernels alone take room")


def leave_room(address):
    """Give room back."""
    raise NotImplementedError("compiled kernels alone take room")
