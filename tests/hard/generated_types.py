"""Forces -k q whose k comes out of an object of a type that is made up here: out of parts, in thousands of ways.

A case is four choices: what its class inherits from, where the number lives, how a function gets hold of the object, and
how deep it lies. `make` gives the force for one value of k and a way to give it another, behind the function's back.
"""

import array
import collections
import collections.abc
import ctypes
import enum
import functools
import types
import typing
import weakref
from dataclasses import dataclass

import numpy as np

# what classes inherit from, and the arguments with which one is made
BASES = {
    "object": (object,), "float": (float, 7.0), "int": (int, 7), "complex": (complex, 7.0), "str": (str, "7"),
    "bytes": (bytes, b"7"), "bytearray": (bytearray, b"7"), "tuple": (tuple, (7.0,)), "list": (list, [7.0]),
    "dict": (dict, {"x": 7.0}), "set": (set, {7.0}), "frozenset": (frozenset, {7.0}), "deque": (collections.deque, [7.0]),
    "defaultdict": (collections.defaultdict, float), "OrderedDict": (collections.OrderedDict, {"x": 7.0}),
    "Counter": (collections.Counter, {"x": 7}), "ChainMap": (collections.ChainMap, {"x": 7.0}),
    "UserDict": (collections.UserDict, {"x": 7.0}), "UserList": (collections.UserList, [7.0]),
    "UserString": (collections.UserString, "7"), "array": (array.array, "d", [7.0]), "ndarray": (np.ndarray, 1),
    "namespace": (types.SimpleNamespace,), "module": (types.ModuleType, "laws"), "partial": (functools.partial, abs),
    "c_double": (ctypes.c_double, 7.0), "Exception": (ValueError, "7"), "property": (property, None),
    "float64": (np.float64, 7.0), "Random": (__import__("random").Random, 7),
    "Mapping": (collections.abc.Mapping,), "Sequence": (collections.abc.Sequence,), "Callable": (collections.abc.Callable,),
    "Iterator": (collections.abc.Iterator,), "Sized": (collections.abc.Sized,), "Hashable": (collections.abc.Hashable,),
    "Number": (__import__("numbers").Number,), "Generic": (typing.Generic[typing.TypeVar("T")],),
}  # fmt: skip
ABSTRACT = {
    "__getitem__": lambda self, key: 0.0, "__len__": lambda self: 1, "__iter__": lambda self: iter([0.0]),
    "__call__": lambda self: 0.0, "__next__": lambda self: 0.0, "__hash__": lambda self: 7,
}  # fmt: skip


class Describing:
    """A descriptor of its own."""

    def __init__(self, box):
        self.box = box

    def __get__(self, thing, kind=None):
        return self.box[0]


def boxes(k):
    """Places to hide a number: (read by [0], a way to change it)."""
    row, memory, table = [k], array.array("d", [k]), np.array([k])
    return {"list": row, "array": memory, "ndarray": table}


def carried(base: str, carrier: str, box, k: float):
    """A class, and how an instance of it gives its number, and takes another."""
    kind, *_ = BASES[base]
    body: dict = {}
    if isinstance(kind, type) and getattr(kind, "__abstractmethods__", None):
        body |= {name: ABSTRACT[name] for name in kind.__abstractmethods__}
    get, change = None, lambda thing, value: box.__setitem__(0, value)
    if carrier == "attribute":
        get, change = (lambda thing: thing.k), (lambda thing, value: setattr(thing, "k", value))
    elif carrier == "class attribute":
        body["k"] = k
        get, change = (lambda thing: thing.k), (lambda thing, value: setattr(type(thing), "k", value))
    elif carrier == "slot":
        body["__slots__"] = ("k",)
        get, change = (lambda thing: thing.k), (lambda thing, value: setattr(thing, "k", value))
    elif carrier == "property":
        body["k"] = property(lambda self: box[0])
        get = lambda thing: thing.k
    elif carrier == "descriptor":
        body["k"] = Describing(box)
        get = lambda thing: thing.k
    elif carrier == "cached":
        body["k"] = functools.cached_property(lambda self: box[0])

        def change(thing, value):
            box[0] = value
            thing.__dict__.pop("k", None)

        get = lambda thing: thing.k
    elif carrier == "method":
        body["k"] = lambda self: box[0]
        get = lambda thing: thing.k()
    elif carrier == "static method":
        body["k"] = staticmethod(lambda: box[0])
        get = lambda thing: thing.k()
    elif carrier == "class method":
        body["k"] = classmethod(lambda cls: box[0])
        get = lambda thing: thing.k()
    elif carrier == "getattr":
        body["__getattr__"] = lambda self, name: box[0] if name == "stiffness" else object.__getattribute__(self, name)
        get = lambda thing: thing.stiffness
    elif carrier == "item":
        body["__getitem__"] = lambda self, key: box[0]
        get = lambda thing: thing["k"]
    elif carrier == "call":
        body["__call__"] = lambda self: box[0]
        get = lambda thing: thing()
    elif carrier == "negative":
        body["__neg__"] = lambda self: -box[0]
        get = lambda thing: 0.0 - (-thing)
    elif carrier == "replaced method":
        body["k"] = lambda self: k
        get, change = (lambda thing: thing.k()), (lambda thing, value: setattr(type(thing), "k", lambda self: value))
    elif carrier == "length":
        body["__len__"] = lambda self: int(10 * box[0])
        get = lambda thing: len(thing) / 10
    return body, get, change


CARRIERS = (
    "attribute", "class attribute", "slot", "property", "descriptor", "cached", "method", "static method", "class method",
    "getattr", "item", "call", "negative", "replaced method", "length",
)  # fmt: skip
HOLDS = (
    "closure", "default", "keyword default", "list", "dict", "tuple", "attribute of a function", "attribute of a module",
    "attribute of an object", "bound method", "partial", "argument of partial", "mapping proxy", "weak reference", "global",
    "array of objects", "named tuple", "dataclass", "enum", "nested function", "set of one", "iterator",
)  # fmt: skip
HIDDEN = ("list", "array", "ndarray")


class Pair(typing.NamedTuple):
    thing: object


@dataclass
class Carrier:
    thing: object


def held(how: str, thing, get):
    """A function of no arguments that gives the number, getting hold of the thing in some way."""
    if how == "default":
        return lambda thing=thing: get(thing)
    if how == "keyword default":

        def by_keyword(*, thing=thing):
            return get(thing)

        return by_keyword
    if how == "list":
        row = [None, thing]
        return lambda: get(row[1])
    if how == "dict":
        table = {"a": {"b": thing}}
        return lambda: get(table["a"]["b"])
    if how == "tuple":
        row = (1.0, (thing,))
        return lambda: get(row[1][0])
    if how == "attribute of a function":

        def function():
            return get(function.thing)

        function.thing = thing
        return function
    if how == "attribute of a module":
        laws = types.ModuleType("laws")
        laws.thing = thing
        return lambda: get(laws.thing)
    if how == "attribute of an object":
        here = types.SimpleNamespace(thing=thing)
        return lambda: get(here.thing)
    if how == "bound method":
        return types.MethodType(get, thing)
    if how == "partial":
        return functools.partial(get, thing)
    if how == "argument of partial":
        return functools.partial(lambda row: get(row[0]), row=[thing])
    if how == "mapping proxy":
        table = types.MappingProxyType({"a": thing})
        return lambda: get(table["a"])
    if how == "weak reference":
        try:
            seen = weakref.ref(thing)
        except TypeError:
            return None
        return lambda thing=[thing]: get(seen())
    if how == "global":
        space = {"thing": thing, "get": get}
        exec("def function():\n    return get(thing)", space)
        return space["function"]
    if how == "array of objects":
        table = np.empty(1, dtype=object)
        table[0] = thing
        return lambda: get(table[0])
    if how == "named tuple":
        pair = Pair(thing)
        return lambda: get(pair.thing)
    if how == "dataclass":
        carrier = Carrier(thing)
        return lambda: get(carrier.thing)
    if how == "enum":
        try:
            kind = enum.Enum("Kind", {"THING": (thing,)})
        except Exception:
            return None
        return lambda: get(kind.THING.value[0])
    if how == "nested function":

        def outer():
            def inner():
                return get(thing)

            return inner()

        return outer
    if how == "set of one":
        try:
            row = {thing}
        except TypeError:
            return None
        return lambda: get(next(iter(row)))
    if how == "iterator":
        row = iter(lambda: thing, None)
        return lambda: get(next(row))
    return lambda: get(thing)


def make(base: str, carrier: str, how: str, hidden: str, k: float):
    """Return (force, change), or None where Python does not allow such a type."""
    box = boxes(k)[hidden]
    body, get, change = carried(base, carrier, box, k)
    kind, *given = BASES[base]
    try:
        made = types.new_class("Made", (kind,), exec_body=lambda space: space.update(body))
        thing = made(*given)
        if carrier in ("attribute", "slot"):
            thing.k = k
        if abs(get(thing) - k) > 1e-12:
            return None
        stiffness = held(how, thing, get)
        if stiffness is None or abs(stiffness() - k) > 1e-12:
            return None
        change(thing, k)
    except (TypeError, ValueError, AttributeError):
        return None
    return (lambda q: -stiffness() * q), lambda value: change(thing, value)
