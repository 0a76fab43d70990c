"""SX: a sparse matrix of nodes, with arithmetic and indexing.

What is not in the pattern is zero. Entries stand column by column, and vectors are columns. Sums have an entry where one of their
operands has, products entry by entry where both have; `@` leaves out what the patterns say is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import nodes
from .nodes import CONST, ONE, SYMBOL, ZERO, Node, constant
from .sparsity import Sparsity

_SCALAR = Sparsity.dense(1, 1)
_EMPTY_SCALAR = Sparsity.of_columns(1, [[]])


class SX:
    """A sparse matrix of expressions.

    ``SX(number)``, ``SX(rows, columns)`` (nothing in the pattern), ``SX(pattern)`` (zeros in it), ``SX(pattern, entries)`` with a
    column of entries, ``SX(array)`` of numbers, or a copy of another one.
    """

    __slots__ = ("_nodes", "_pattern")
    __array_ufunc__ = None  # NumPy leaves arithmetic with arrays to us
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, what: Any = None, entries: Any = None):
        if isinstance(what, Sparsity):
            self._pattern = what
            self._nodes = [ZERO] * what.nnz() if entries is None else as_sx(entries).dense_nodes()
            if len(self._nodes) == 1 != what.nnz():
                self._nodes = self._nodes * what.nnz()
            if len(self._nodes) != what.nnz():
                raise ValueError(f"{len(self._nodes)} entries for a pattern of {what.nnz()}")
        elif entries is not None:
            self._pattern, self._nodes = Sparsity.of_columns(int(what), [[]] * int(entries)), []
        elif isinstance(what, SX):
            self._pattern, self._nodes = what._pattern, list(what._nodes)
        elif isinstance(what, np.ndarray | list | tuple):
            numbers = np.asarray(what, dtype=float)
            numbers = numbers.reshape(*numbers.shape, *[1] * (2 - numbers.ndim))
            self._pattern = Sparsity.dense(*numbers.shape)
            self._nodes = [constant(float(x)) for x in numbers.ravel(order="F")]
        else:
            self._pattern = _SCALAR
            self._nodes = [constant(float(what))]

    # ---- made of nothing ----------------------------------------------------------------------------------------------

    @classmethod
    def of(cls, pattern: Sparsity, entries: list[Node]) -> SX:
        """From a pattern and its nodes, which are not copied."""
        made = cls.__new__(cls)
        made._pattern, made._nodes = pattern, entries
        return made

    @classmethod
    def scalar(cls, node: Node) -> SX:
        """One node."""
        made = cls.__new__(cls)
        made._pattern, made._nodes = _SCALAR, [node]
        return made

    @classmethod
    def sym(cls, name: str, m: int = 1, n: int = 1) -> SX:
        """A new symbol, a column of m of them, or a matrix."""
        if m == n == 1:
            return cls.scalar(nodes.symbol(name))
        names = [f"{name}_{i}" for i in range(m * n)]
        return cls.of(Sparsity.dense(m, n), [nodes.symbol(each) for each in names])

    @classmethod
    def zeros(cls, m: int, n: int = 1) -> SX:
        """Zeros, all of them in the pattern."""
        return cls.of(Sparsity.dense(m, n), [ZERO] * (m * n))

    @classmethod
    def nan(cls, m: int, n: int = 1) -> SX:
        """What is no number."""
        return cls.of(Sparsity.dense(m, n), [nodes.NAN] * (m * n))

    @classmethod
    def eye(cls, n: int) -> SX:
        """The identity."""
        return cls.of(Sparsity.of_columns(n, [[j] for j in range(n)]), [ONE] * n)

    @classmethod
    def triplet(cls, rows: Sequence[int], columns: Sequence[int], entries: SX, m: int, n: int) -> SX:
        """Entries at places (row, column), each at most once."""
        order = sorted(range(len(rows)), key=lambda k: (columns[k], rows[k]))
        pattern = Sparsity.of_places(m, n, zip(rows, columns, strict=True))
        return cls.of(pattern, [entries._nodes[k] for k in order])

    # ---- what it says of itself ---------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._pattern.m, self._pattern.n

    @property
    def nodes(self) -> list[Node]:
        """The entries of the pattern; not to be changed."""
        return self._nodes

    def numel(self) -> int:
        """Rows times columns."""
        return self._pattern.m * self._pattern.n

    def nnz(self) -> int:
        """How many entries its pattern has."""
        return len(self._nodes)

    def sparsity(self) -> Sparsity:
        """Its pattern."""
        return self._pattern

    def has_nz(self, i: int, j: int) -> bool:
        """Whether its pattern has an entry at row i, column j."""
        return self._pattern.has_nz(i, j)

    def nonzeros(self) -> list[SX]:
        """The entries of the pattern, each by itself."""
        return [SX.scalar(node) for node in self._nodes]

    def is_zero(self) -> bool:
        """Whether every entry is the number 0."""
        return all(node is ZERO for node in self._nodes)

    def is_one(self) -> bool:
        """Whether every entry is the number 1."""
        return all(node is ONE for node in self.dense_nodes())

    def is_constant(self) -> bool:
        """Whether every entry is a number."""
        return all(node.op is CONST for node in self._nodes)

    def is_leaf(self) -> bool:
        """Whether it is one symbol or one number, and not computed from others."""
        return self._only().op in (SYMBOL, CONST)

    def is_scalar(self) -> bool:
        """Whether it is 1 by 1."""
        return self.shape == (1, 1)

    def name(self) -> str:
        """The name of a symbol."""
        (node,) = self._nodes
        if node.op is not SYMBOL:
            raise ValueError(f"{self} is no symbol")
        return node.value

    def full(self) -> np.ndarray:
        """The numbers of a constant matrix."""
        return np.array([float(SX.scalar(node)) for node in self.dense_nodes()]).reshape(self.shape, order="F")

    def __float__(self) -> float:
        node = self._only()
        if node.op is not CONST:
            raise TypeError(f"{self} is no number")
        return node.value

    def __int__(self) -> int:
        return int(float(self))

    def __bool__(self) -> bool:
        return float(self) != 0.0

    def __str__(self) -> str:
        if self.is_scalar():
            return repr(self._only())
        return "[" + ", ".join(map(repr, self.dense_nodes())) + f"] {self.shape}"

    __repr__ = __str__

    def _only(self) -> Node:
        if self.shape != (1, 1):
            raise ValueError(f"a matrix of {self.shape} where one expression is expected")
        return self._nodes[0] if self._nodes else ZERO

    def dense_nodes(self) -> list[Node]:
        """All entries, column by column."""
        pattern = self._pattern
        if pattern.is_dense:
            return self._nodes
        every = [ZERO] * self.numel()
        m, k = pattern.m, 0
        for j in range(pattern.n):
            for i in pattern.column(j):
                every[j * m + i] = self._nodes[k]
                k += 1
        return every

    def columns(self) -> list[list[tuple[int, Node]]]:
        """For each column its entries as (row, node)."""
        p, every = self._pattern, self._nodes
        return [list(zip(p.column(j), every[p.starts[j] : p.starts[j + 1]], strict=True)) for j in range(p.n)]

    # ---- parts of it --------------------------------------------------------------------------------------------------

    @property
    def T(self) -> SX:
        """The transpose."""
        if self._pattern is _SCALAR:
            return self
        pattern, origin = self._pattern.transposed()
        return SX.of(pattern, [self._nodes[k] for k in origin])

    def __getitem__(self, key) -> SX:
        m, n = self.shape
        if not isinstance(key, tuple):
            if isinstance(key, int | np.integer):
                k = int(key) + (self.numel() if key < 0 else 0)
                if not 0 <= k < self.numel():
                    raise IndexError(f"entry {key} of {self.numel()}")
                return self._at(k % m, k // m)
            from .joining import reshape

            flat = self if n == 1 else reshape(self, m * n, 1)
            return flat._part(_indices(key, m * n), [0])
        i, j = key
        if isinstance(i, int | np.integer) and isinstance(j, int | np.integer):
            return self._at(_index(i, m), _index(j, n))
        return self._part(_indices(i, m), _indices(j, n))

    def _at(self, i: int, j: int) -> SX:
        k = self._pattern.places.get((i, j)) if not self._pattern.is_dense else j * self._pattern.m + i
        return SX.of(_EMPTY_SCALAR, []) if k is None else SX.scalar(self._nodes[k])

    def _part(self, rows: list[int], columns: list[int]) -> SX:
        if self._pattern.is_dense:
            m = self._pattern.m
            found = [self._nodes[j * m + i] for j in columns for i in rows]
            return SX.of(Sparsity.dense(len(rows), len(columns)), found)
        places, starts, kept, found = self._pattern.places, [0], [], []
        for j in columns:
            for place, i in enumerate(rows):
                k = places.get((i, j))
                if k is not None:
                    kept.append(place)
                    found.append(self._nodes[k])
            starts.append(len(kept))
        return SX.of(Sparsity(len(rows), len(columns), starts, kept), found)

    def __setitem__(self, key, value) -> None:
        i, j = key if isinstance(key, tuple) else (key, 0)
        node, places = as_sx(value)._only(), self._pattern.places
        at = (_index(i, self.shape[0]), _index(j, self.shape[1]))
        if at not in places:
            known = dict(zip(places, self._nodes, strict=True))
            self._pattern = Sparsity.of_places(*self.shape, [*places, at])
            self._nodes = [known.get(place, ZERO) for place in self._pattern.places]
            places = self._pattern.places
        self._nodes[places[at]] = node

    def __iter__(self):
        raise TypeError("go through the entries of an expression with vertsplit or nonzeros")

    # ---- arithmetic ---------------------------------------------------------------------------------------------------

    def __neg__(self) -> SX:
        return SX.of(self._pattern, [nodes.neg(node) for node in self._nodes])

    def __pos__(self) -> SX:
        return self

    def __matmul__(self, other) -> SX:
        other = as_sx(other)
        if self.is_scalar() or other.is_scalar():
            return self * other
        if self.shape[1] != other.shape[0]:
            raise ValueError(f"a product of matrices of {self.shape} and {other.shape}")
        left, add, mul = self.columns(), nodes.add, nodes.mul
        columns = []
        for column in other.columns():
            total: dict[int, Node] = {}
            for k, y in column:
                for i, x in left[k]:
                    known = total.get(i)
                    total[i] = mul(x, y) if known is None else add(known, mul(x, y))
            columns.append(total)
        return from_columns(self.shape[0], columns)

    def __rmatmul__(self, other) -> SX:
        return as_sx(other) @ self


def _arithmetic(name: str, f: Callable[[Node, Node], Node], keeps: str) -> None:
    """Give SX an operator; `keeps` says where a result may differ from zero: "both", "either", "left" or "all"."""

    def method(self, other):
        other = _or_none(other)
        return NotImplemented if other is None else entrywise(f, self, other, keeps)

    def reflected(self, other):
        other = _or_none(other)
        return NotImplemented if other is None else entrywise(f, other, self, keeps)

    setattr(SX, f"__{name}__", method)
    setattr(SX, f"__r{name}__", reflected)


def entrywise(f: Callable[[Node, Node], Node], a: SX, b: SX, keeps: str = "all") -> SX:
    """An operation on each pair of entries; a scalar goes with every entry of the other."""
    p, q = a._pattern, b._pattern
    if p is _SCALAR and q is _SCALAR:
        return SX.scalar(f(a._nodes[0], b._nodes[0]))
    if a.shape != b.shape:
        if b.is_scalar():
            other = b._only()
            if keeps in ("both", "left") or p.is_dense:
                return SX.of(p, [f(x, other) for x in a._nodes])
            return SX.of(Sparsity.dense(*a.shape), [f(x, other) for x in a.dense_nodes()])
        if a.is_scalar():
            other = a._only()
            if keeps == "both" or q.is_dense:
                return SX.of(q, [f(other, y) for y in b._nodes])
            return SX.of(Sparsity.dense(*b.shape), [f(other, y) for y in b.dense_nodes()])
        raise ValueError(f"matrices of {a.shape} and {b.shape}, entry by entry")
    if p is q or (p.is_dense and q.is_dense) or p == q:
        return SX.of(p, list(map(f, a._nodes, b._nodes)))
    if keeps == "all":
        return SX.of(Sparsity.dense(*a.shape), list(map(f, a.dense_nodes(), b.dense_nodes())))
    ours, theirs = p.places, q.places
    if keeps == "either":
        pattern = Sparsity.of_places(*a.shape, [*ours, *theirs])
    else:
        pattern = p if keeps == "left" else Sparsity.of_places(*a.shape, [each for each in ours if each in theirs])
    left, right = a._nodes, b._nodes
    made = []
    for place in pattern.places:
        i, j = ours.get(place), theirs.get(place)
        made.append(f(ZERO if i is None else left[i], ZERO if j is None else right[j]))
    return SX.of(pattern, made)


for _name, _f, _keeps in (
    ("add", nodes.add, "either"), ("sub", nodes.sub, "either"), ("mul", nodes.mul, "both"), ("truediv", nodes.div, "left"),
    ("pow", nodes.power, "all"),
):  # fmt: skip
    _arithmetic(_name, _f, _keeps)


def _comparison(name: str, f: Callable[[Node, Node], Node]) -> None:
    def method(self, other):
        other = _or_none(other)
        return NotImplemented if other is None else entrywise(f, self, other)

    setattr(SX, f"__{name}__", method)


_lt, _le = nodes.binary("lt"), nodes.binary("le")
_comparison("lt", _lt)
_comparison("le", _le)
_comparison("gt", lambda x, y: _lt(y, x))
_comparison("ge", lambda x, y: _le(y, x))
_comparison("eq", nodes.binary("eq"))
_comparison("ne", nodes.binary("ne"))


def each_entry(f: Callable[[Node], Node], a: SX, keeps_zero: bool = False) -> SX:
    """An operation on every entry; where it makes something of zero, the result is dense."""
    if keeps_zero or a._pattern.is_dense:
        return SX.of(a._pattern, [f(node) for node in a._nodes])
    return SX.of(Sparsity.dense(*a.shape), [f(node) for node in a.dense_nodes()])


def from_columns(m: int, columns: list[dict[int, Node]]) -> SX:
    """From the entries of each column by row."""
    starts, rows, entries = [0], [], []
    for column in columns:
        for i in sorted(column):
            rows.append(i)
            entries.append(column[i])
        starts.append(len(rows))
    return SX.of(Sparsity(m, len(columns), starts, rows), entries)


def _or_none(value) -> SX | None:
    if isinstance(value, SX):
        return value
    return SX(value) if isinstance(value, int | float | np.floating | np.integer | np.ndarray) else None


def as_sx(value) -> SX:
    return value if isinstance(value, SX) else SX(value)


def _index(i, n: int) -> int:
    i = int(i)
    if not -n <= i < n:
        raise IndexError(f"index {i} of {n}")
    return i + n if i < 0 else i


def _indices(key, n: int) -> list[int]:
    if isinstance(key, slice):
        return list(range(*key.indices(n)))
    if isinstance(key, int | np.integer):
        return [_index(key, n)]
    return [_index(i, n) for i in key]
