"""The positive list: what a traced function may reach so that its model is known.

Exact types, whose instances say all about themselves, and functions whose result follows from their arguments alone. What
is not here (instances of other classes, proxies, C types, readers of files, clocks, random numbers) may give other
numbers at any time, so a function that reaches it is traced again at every run. An entry too few costs time; one too many
is a wrong answer.
"""

from __future__ import annotations

import builtins
import cmath
import functools
import itertools
import math
import operator
import sys
import types
from pathlib import Path

import numpy as np

# Values that cannot change, and lead to nothing else.
PLAIN = frozenset(
    {type(None), type(Ellipsis), type(NotImplemented), bool, int, float, complex, str, bytes, range, np.str_, np.bytes_}
    | {kind for kind in np.sctypeDict.values() if issubclass(kind, np.number | np.bool_)}
)

# Types that make something new of their arguments.
MAKERS = frozenset(
    PLAIN
    | {tuple, list, dict, set, frozenset, slice, object, super, enumerate, filter, map, reversed, zip, bytearray}
    | {np.ndarray, np.dtype, functools.partial, types.SimpleNamespace}
    | {itertools.accumulate, itertools.chain, itertools.combinations, itertools.count, itertools.islice, itertools.permutations}
    | {itertools.pairwise, itertools.product, itertools.repeat, itertools.starmap, itertools.zip_longest}
    | {kind for kind in vars(builtins).values() if isinstance(kind, type) and issubclass(kind, BaseException)}
)

_PURE_NAMES = {
    builtins: "abs all any callable divmod hash isinstance issubclass iter len max min next pow print repr round sorted sum",
    functools: "reduce",
    math: " ".join(name for name in vars(math) if not name.startswith("_")),
    cmath: " ".join(name for name in vars(cmath) if not name.startswith("_")),
    operator: """abs add and_ concat contains countOf eq floordiv ge getitem gt iadd imul index indexOf inv invert is_ is_not
        isub itruediv le lshift lt matmul mod mul ne neg not_ or_ pos pow rshift sub truediv truth xor""",
    np: """abs absolute acos acosh add all allclose amax amin angle any append apply_along_axis arange arccos arccosh arcsin
        arcsinh arctan arctan2 arctanh argmax argmin argsort argwhere around array array_equal asarray ascontiguousarray asin
        asinh astype atan atan2 atanh atleast_1d atleast_2d atleast_3d average bincount bitwise_and bitwise_or bitwise_xor
        block bmat broadcast_arrays broadcast_shapes broadcast_to cbrt ceil choose clip column_stack compress concat
        concatenate conj conjugate convolve copy copysign corrcoef correlate cos cosh count_nonzero cov cross cumprod cumsum
        cumulative_prod cumulative_sum deg2rad degrees delete diag diag_indices diagflat diagonal diff digitize divide divmod
        dot dstack ediff1d einsum empty empty_like equal exp exp2 expand_dims expm1 extract eye fabs fix flatnonzero flip
        fliplr flipud float_power floor floor_divide fmax fmin fmod frexp fromfunction full full_like gradient greater
        greater_equal heaviside histogram hsplit hstack hypot i0 identity imag indices inner insert interp invert iscomplex
        iscomplexobj isclose isfinite isin isinf isnan isneginf isposinf isreal isrealobj isscalar ix_ kron ldexp less
        less_equal lexsort linspace log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor
        logspace matmul matrix_transpose matvec max maximum mean median meshgrid min minimum mod modf moveaxis multiply
        nan_to_num nancumsum nanmax nanmean nanmin nanprod nanstd nansum nanvar ndim negative nextafter nonzero not_equal
        ones ones_like outer pad percentile permute_dims piecewise place poly polyadd polyder polydiv polyfit polyint polymul
        polysub polyval positive pow power prod ptp put quantile rad2deg radians ravel real reciprocal remainder repeat
        reshape resize result_type rint roll rollaxis roots rot90 round row_stack searchsorted select shape sign signbit sin
        sinc sinh size sort split spacing sqrt square squeeze stack std subtract sum swapaxes take take_along_axis tan tanh
        tensordot tile trace transpose trapezoid trapz tri tril tril_indices triu triu_indices true_divide trunc union1d
        unique unwrap vander var vdot vecdot vecmat vsplit vstack where zeros zeros_like""",
    np.linalg: """cholesky cond cross det diagonal eig eigh eigvals eigvalsh inv lstsq matmul matrix_norm matrix_power
        matrix_rank matrix_transpose multi_dot norm outer pinv qr slogdet solve svd svdvals tensordot tensorinv tensorsolve
        trace vecdot vector_norm""",
}
_NUMPY_FUNCTION = type(np.linalg.norm)  # what NumPy makes of most of its functions
_NUMPY = Path(np.__file__).parent


def _own(thing, module: types.ModuleType) -> bool:
    """Whether a library's function is the library's own, and not one that somebody put in its place."""
    if type(thing) is types.FunctionType:
        return _NUMPY in Path(thing.__code__.co_filename).parents
    if module not in (np, np.linalg):
        return type(thing) is types.BuiltinFunctionType and thing.__module__ in (module.__name__, f"_{module.__name__}")
    return type(thing) in (types.BuiltinFunctionType, np.ufunc, _NUMPY_FUNCTION)


def _listed() -> dict[int, object]:
    found: dict[int, object] = {id(kind): kind for kind in MAKERS}
    for module, names in _PURE_NAMES.items():
        for name in names.split():
            thing = vars(module).get(name)  # some have come or gone with versions of NumPy
            if thing is not None and _own(thing, module):
                found[id(thing)] = thing
    return found


_PURE = _listed()  # by identity: what equals a function of the list need not be one


def is_pure(thing) -> bool:
    """Tell whether calling something gives what follows from the arguments, and nothing else."""
    return id(thing) in _PURE or (type(thing) is np.ufunc and _is_special(thing))


def _is_special(ufunc: np.ufunc) -> bool:
    """Whether a ufunc is one of SciPy's, compiled, and not made of a Python function by np.frompyfunc."""
    special = sys.modules.get("scipy.special")
    mine = special is not None and vars(special).get(ufunc.__name__) is ufunc
    return mine and all("O" not in signature for signature in ufunc.types)
