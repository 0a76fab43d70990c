"""How arguments travel: between kernels as plain words, from Python as objects.

Between kernels an array is its address and its lengths, a record its address, a group the sequence of its fields: a convention
of our own, so that code of one version of the compiler calls code of another, and shorter than Numba's, which takes seven words
for every array. From Python a function takes CPython's own calling convention (METH_FASTCALL) and looks into NumPy's arrays,
whose first fields have not moved since NumPy 1.7: 5 ns an argument.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types
from numba.np.numpy_support import from_dtype

from .layout import Layout
from .types import Array, Group, Number, Record

I8, I32, I64, REAL = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.DoubleType()
POINTER = I8.as_pointer()
_NUMBERS = {"f8": types.float64, "i8": types.int64, "b1": types.boolean}
# of an array object, behind the head that every object has
_DATA, _NDIM, _LENGTHS, _DESCRIPTION, _FLAGS = 0, 8, 16, 40, 48
_TYPE_CHARACTER = 9  # of its description
_CONTIGUOUS_ALIGNED = 0x101


def numba_type(kind):
    """A type of ours as Numba knows it."""
    if isinstance(kind, Number):
        return _NUMBERS[kind.code]
    if isinstance(kind, Record):
        return from_dtype(Layout.known[kind.layout].dtype)
    if isinstance(kind, Array):
        return types.Array(numba_type(kind.of), kind.ndim, "C")
    if kind == Group(None, ()):
        return types.none
    return types.BaseTuple.from_types([numba_type(field) for field in kind.fields], kind.kind)


def our_type(kind):
    """What a function of Numba's returns, as a type of ours."""
    if kind == types.none:
        return Group(None, ())
    if isinstance(kind, types.BaseTuple):
        return Group(None, tuple(our_type(field) for field in kind))
    if isinstance(kind, types.Integer):
        return Number("i8")
    return Number({types.float64: "f8", types.boolean: "b1"}[kind])


# between kernels


def words(kind) -> list:
    """The LLVM types of the words a value travels in."""
    if isinstance(kind, Group):
        return [word for field in kind.fields for word in words(field)]
    if isinstance(kind, Array):
        return [POINTER] + [I64] * kind.ndim
    if isinstance(kind, Record):
        return [POINTER]
    return [REAL if kind.code == "f8" else I64]


def into_words(context, builder, kind, value) -> list:
    """The words of a value of a kernel."""
    if isinstance(kind, Group):
        fields = [builder.extract_value(value, place) for place in range(len(kind.fields))]
        return [w for field, each in zip(kind.fields, fields, strict=True) for w in into_words(context, builder, field, each)]
    if isinstance(kind, Array):
        array = context.make_array(numba_type(kind))(context, builder, value)
        lengths = cgutils.unpack_tuple(builder, array.shape, kind.ndim)
        return [builder.bitcast(array.data, POINTER), *lengths]
    if isinstance(kind, Record):
        return [builder.bitcast(value, POINTER)]
    return [builder.zext(value, I64) if kind.code == "b1" else value]


def from_words(context, builder, kind, given):
    """A value for a kernel, of an iterator over words."""
    if isinstance(kind, Group):
        fields = [from_words(context, builder, field, given) for field in kind.fields]
        return context.make_tuple(builder, numba_type(kind), fields)
    if isinstance(kind, Array):
        address = next(given)
        return _array(context, builder, kind, address, [next(given) for _ in range(kind.ndim)])
    word = next(given)
    if isinstance(kind, Record):
        return builder.bitcast(word, context.get_value_type(numba_type(kind)))
    return builder.icmp_signed("!=", word, I64(0)) if kind.code == "b1" else word


def _array(context, builder, kind, address, lengths):
    made = context.make_array(numba_type(kind))(context, builder)
    size = context.get_abi_sizeof(context.get_data_type(numba_type(kind).dtype))
    strides, step = [], I64(size)
    for length in reversed(lengths):
        strides.insert(0, step)
        step = builder.mul(step, length)
    made.data = builder.bitcast(address, made.data.type)
    made.nitems = builder.udiv(step, I64(size))
    made.itemsize = I64(size)
    made.shape = cgutils.pack_array(builder, lengths, ty=I64)
    made.strides = cgutils.pack_array(builder, strides, ty=I64)
    return made._getvalue()


def slot_type(signature) -> ir.FunctionType:
    """The type of a slot function."""
    (returned,) = words(signature.returns)
    return ir.FunctionType(returned, [word for kind in signature.arguments for word in words(kind)])


def define_slot(context, module, name: str, descriptor, signature):
    """Define in a module the slot function of a function that Numba has lowered."""
    function = ir.Function(module, slot_type(signature), name)
    builder = ir.IRBuilder(function.append_basic_block())
    given = iter(function.args)
    values = [from_words(context, builder, kind, given) for kind in signature.arguments]
    builder.ret(_called(context, builder, module, descriptor, values))


def call_slot(context, builder, signature, address, values):
    """Call a slot function by its address."""
    pointer = builder.inttoptr(address, slot_type(signature).as_pointer())
    given = [w for kind, v in zip(signature.arguments, values, strict=True) for w in into_words(context, builder, kind, v)]
    return builder.call(pointer, given)


def _called(context, builder, module, descriptor, values):
    """Call a function that Numba has lowered; those we mark cannot fail."""
    kind = context.call_conv.get_function_type(descriptor.restype, descriptor.argtypes)
    callee = cgutils.get_or_insert_function(module, kind, descriptor.llvm_func_name)
    return context.call_conv.call_function(builder, callee, descriptor.restype, descriptor.argtypes, values)[1]


# from Python


def define_for_python(context, module, name: str, descriptor, arguments, defaults: tuple, frees: bool):
    """Define the function that Python calls: `name(self, arguments, count)`; `frees`: other threads go on meanwhile."""
    _Entry(context, module, name, descriptor, arguments, defaults).define(frees)


class _Entry:
    """One function as Python calls it."""

    def __init__(self, context, module, name, descriptor, arguments, defaults):
        self.context, self.module, self.descriptor = context, module, descriptor
        self.arguments, self.defaults = arguments, defaults
        self.function = ir.Function(module, ir.FunctionType(POINTER, [POINTER, POINTER.as_pointer(), I64]), name)
        self.builder = ir.IRBuilder(self.function.append_basic_block("begin"))
        self.called = _text(module, name.removeprefix("python."))

    def define(self, frees: bool) -> None:
        builder, context = self.builder, self.context
        _, objects, count = self.function.args
        least = len(self.arguments) - len(self.defaults)
        fits = builder.and_(
            builder.icmp_signed(">=", count, I64(least)), builder.icmp_signed("<=", count, I64(len(self.arguments)))
        )
        self._require(fits, "takes other arguments", 0)
        values = []
        for place, kind in enumerate(self.arguments):
            if place < least:
                values.append(self._value(kind, builder.load(builder.gep(objects, [I64(place)])), place))
            else:
                values.append(self._number_or(kind, self.defaults[place - least], objects, count, place))
        held = builder.call(self._api("PyEval_SaveThread", POINTER, []), []) if frees else None
        result = _called(context, builder, self.module, self.descriptor, values)
        if held is not None:
            builder.call(self._api("PyEval_RestoreThread", ir.VoidType(), [POINTER]), [held])
        builder.ret(self._object(our_type(self.descriptor.restype), result))

    def _api(self, name: str, returns, takes, more: bool = False):
        return cgutils.get_or_insert_function(self.module, ir.FunctionType(returns, takes, var_arg=more), name)

    def _require(self, holds, what: str, place: int) -> None:
        """Go on where something holds; else leave a TypeError that names function and argument."""
        builder = self.builder
        bad, on = builder.append_basic_block("bad"), builder.append_basic_block("on")
        builder.cbranch(holds, on, bad)
        builder.position_at_end(bad)
        error = builder.load(_outside(self.module, "holonomic_type_error", POINTER))
        say = self._api("PyErr_Format", POINTER, [POINTER, POINTER], more=True)
        form = _text(self.module, f"%s: argument %d {what}" if place else f"%s {what}")
        builder.call(say, [error, form, self.called, I32(place)])
        builder.ret(POINTER(None))
        builder.position_at_end(on)

    def _value(self, kind, item, place: int):
        if isinstance(kind, Group):
            return self._group(kind, item, place)
        if isinstance(kind, Array):
            return self._array(kind, item, place)
        if isinstance(kind, Record):
            pointer = self._memory(item, place)
            return self.builder.bitcast(pointer, self.context.get_value_type(numba_type(kind)))
        return self._number(kind, item, place)

    def _number(self, kind, item, place: int):
        builder = self.builder
        if kind.code == "b1":
            return builder.icmp_signed("!=", builder.call(self._api("PyObject_IsTrue", I32, [POINTER]), [item]), I32(0))
        if kind.code == "f8":
            value = builder.call(self._api("PyFloat_AsDouble", REAL, [POINTER]), [item])
            odd = builder.fcmp_ordered("==", value, REAL(-1.0))
        else:
            value = builder.call(self._api("PyLong_AsLongLong", I64, [POINTER]), [item])
            odd = builder.icmp_signed("==", value, I64(-1))
        with builder.if_then(odd, likely=False):
            failed = builder.call(self._api("PyErr_Occurred", POINTER, []), [])
            with builder.if_then(builder.icmp_unsigned("!=", failed, POINTER(None))):
                builder.ret(POINTER(None))
        return value

    def _number_or(self, kind, default, objects, count, place: int):
        """A number that may be left out."""
        builder = self.builder
        given = builder.icmp_signed(">", count, I64(place))
        room = cgutils.alloca_once(builder, REAL if kind.code == "f8" else I64)
        with builder.if_else(given) as (then, otherwise):
            with then:
                value = self._number(kind, builder.load(builder.gep(objects, [I64(place)])), place)
                builder.store(builder.zext(value, I64) if kind.code == "b1" else value, room)
            with otherwise:
                builder.store(REAL(float(default)) if kind.code == "f8" else I64(int(default)), room)
        value = builder.load(room)
        return builder.icmp_signed("!=", value, I64(0)) if kind.code == "b1" else value

    def _group(self, kind, item, place: int):
        builder = self.builder
        size = builder.call(self._api("PyTuple_Size", I64, [POINTER]), [item])
        with builder.if_then(builder.icmp_signed("<", size, I64(0)), likely=False):
            builder.ret(POINTER(None))  # no tuple: Python has said so
        self._require(builder.icmp_signed("==", size, I64(len(kind.fields))), "has another number of parts", place + 1)
        get = self._api("PyTuple_GetItem", POINTER, [POINTER, I64])
        fields = [self._value(field, builder.call(get, [item, I64(i)]), place) for i, field in enumerate(kind.fields)]
        return self.context.make_tuple(builder, numba_type(kind), fields)

    def _field(self, item, offset: int, kind):
        """A field of an object, behind its head."""
        builder = self.builder
        head = builder.load(_outside(self.module, "holonomic_head", I64))
        place = builder.gep(item, [builder.add(head, I64(offset))])
        return builder.load(builder.bitcast(place, kind.as_pointer()))

    def _is_array(self, item):
        builder = self.builder
        kind = builder.call(self._api("PyObject_Type", POINTER, [POINTER]), [item])
        builder.call(self._api("Py_DecRef", ir.VoidType(), [POINTER]), [kind])
        wanted = builder.load(_outside(self.module, "holonomic_ndarray", POINTER))
        return builder.icmp_unsigned("==", kind, wanted)

    def _array(self, kind, item, place: int):
        builder = self.builder
        self._require(self._is_array(item), "is no array", place + 1)
        ndim = self._field(item, _NDIM, I32)
        self._require(builder.icmp_signed("==", ndim, I32(kind.ndim)), "has another number of dimensions", place + 1)
        flags = builder.and_(self._field(item, _FLAGS, I32), I32(_CONTIGUOUS_ALIGNED))
        self._require(builder.icmp_signed("==", flags, I32(_CONTIGUOUS_ALIGNED)), "is not contiguous", place + 1)
        if isinstance(kind.of, Number):
            letter = self._field(self._field(item, _DESCRIPTION, POINTER), _TYPE_CHARACTER, I8)
            if kind.of.code == "i8":
                right = builder.or_(
                    builder.icmp_signed("==", letter, I8(ord("q"))),
                    builder.icmp_signed("==", letter, builder.load(_outside(self.module, "holonomic_int64", I8))),
                )
            else:
                right = builder.icmp_signed("==", letter, I8(ord({"f8": "d", "b1": "?"}[kind.of.code])))
            self._require(right, "has numbers of another kind", place + 1)
        lengths = self._field(item, _LENGTHS, I64.as_pointer())
        sizes = [builder.load(builder.gep(lengths, [I64(axis)])) for axis in range(kind.ndim)]
        return _array(self.context, builder, kind, self._field(item, _DATA, POINTER), sizes)

    def _memory(self, item, place: int):
        """The address of a record: of memory, or of the first entry of an array."""
        builder = self.builder
        room = cgutils.alloca_once(builder, POINTER)
        with builder.if_else(self._is_array(item)) as (then, otherwise):
            with then:
                builder.store(self._field(item, _DATA, POINTER), room)
            with otherwise:
                view = cgutils.alloca_once(builder, ir.ArrayType(I64, 16))  # a Py_buffer has ten words
                view = builder.bitcast(view, POINTER)
                get = self._api("PyObject_GetBuffer", I32, [POINTER, POINTER, I32])
                failed = builder.call(get, [item, view, I32(0)])
                with builder.if_then(builder.icmp_signed("!=", failed, I32(0)), likely=False):
                    builder.ret(POINTER(None))
                builder.store(builder.load(builder.bitcast(view, POINTER.as_pointer())), room)
                builder.call(self._api("PyBuffer_Release", ir.VoidType(), [POINTER]), [view])
        return builder.load(room)

    def _object(self, kind, value):
        builder = self.builder
        if isinstance(kind, Number):
            if kind.code == "f8":
                return builder.call(self._api("PyFloat_FromDouble", POINTER, [REAL]), [value])
            if kind.code == "b1":
                return builder.call(self._api("PyBool_FromLong", POINTER, [I64]), [builder.zext(value, I64)])
            whole = value if value.type == I64 else builder.sext(value, I64)
            return builder.call(self._api("PyLong_FromLongLong", POINTER, [I64]), [whole])
        if not kind.fields:
            return builder.call(self._api("Py_BuildValue", POINTER, [POINTER], more=True), [_text(self.module, "")])
        made = builder.call(self._api("PyTuple_New", POINTER, [I64]), [I64(len(kind.fields))])
        put = self._api("PyTuple_SetItem", I32, [POINTER, I64, POINTER])
        for place, field in enumerate(kind.fields):
            builder.call(put, [made, I64(place), self._object(field, builder.extract_value(value, place))])
        return made


def _text(module, text: str):
    """The address of a text."""
    content = bytearray(text.encode() + b"\0")
    name = "text." + text
    if name not in module.globals:
        made = ir.GlobalVariable(module, ir.ArrayType(I8, len(content)), name)
        made.initializer = ir.Constant(made.type.pointee, content)
        made.global_constant, made.linkage = True, "internal"
    return module.globals[name].bitcast(POINTER)


def _outside(module, name: str, kind):
    """A variable that is found when the code is loaded."""
    if name not in module.globals:
        ir.GlobalVariable(module, kind, name)
    return module.globals[name]
