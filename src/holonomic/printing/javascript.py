"""Functions of a program as JavaScript: numbers, arrays, rows of matrices, if, while, for and calls by name.

What a `Specializer` leaves and what tapes are printed as is a small part of Python, and each of its operations has one of
JavaScript that rounds alike: sums, products, fractions, square roots and comparisons of doubles. Whole numbers are doubles
there; those of a run stay far below 2^53, or are so large that one more or less does not matter (`PLENTY`). Functions of the
mathematics library, powers among them, may differ in their last bit; sine and cosine do not, see `trig`.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections import Counter

from . import trig

OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.BitAnd: "&", ast.BitOr: "|"}
COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
SIGNS = {ast.USub: "-", ast.Not: "!", ast.UAdd: "+"}
LIBRARY = {
    "sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "atan2", "hypot", "expm1", "log1p", "floor", "ceil",
}  # fmt: skip
CALLS = {"abs": "Math.abs", "int": "Math.trunc", "bool": "Boolean", "math.fabs": "Math.abs"}
CALLS |= {f"math.{name}": f"Math.{name}" for name in LIBRARY}
CALLS |= {f"math.{name}": name for name in ("copysign", "fmod")}
NUMBERS = {"inf": "Infinity", "nan": "NaN", "-inf": "-Infinity"}
RESERVED = {
    "in", "new", "var", "let", "const", "function", "this", "delete", "default", "switch", "case", "typeof", "void", "do",
    "catch", "throw", "enum", "export", "extends", "super", "static", "package", "interface", "arguments", "eval",
}  # fmt: skip
# a function that gives several numbers back leaves them in R0, R1, ..
PRELUDE = """let R0, R1, R2, R3;
function min(a, b) { return b < a ? b : a; }
function max(a, b) { return b > a ? b : a; }
function sq(x) { return x * x; }
function mod(a, b) { return a - b * Math.floor(a / b); }
function copysign(x, y) { return y < 0 || Object.is(y, -0) ? -Math.abs(x) : Math.abs(x); }
function fmod(x, y) { return x % y; }
function isfinite(x) { return Number.isFinite(x); }
function isnan(x) { return x !== x; }
function matrix(rows, columns) {
 const flat = new Float64Array(rows * columns), made = [];
 for (let i = 0; i < rows; i++) made.push(flat.subarray(i * columns, (i + 1) * columns));
 return made;
}
"""


class Untranslatable(Exception):
    """A piece of Python that has no JavaScript here; its text says which."""


def prelude() -> str:
    """Return what every program needs: the small functions above, and sine and cosine as `trig` has them."""
    constants = [f"const {name} = {value!r};" for name, value in vars(trig).items() if name.isupper() or name[1:].isdigit()]
    functions = [ast.parse(textwrap.dedent(inspect.getsource(function))).body[0] for function in (trig.near_sincos, trig.sincos)]
    return "\n".join([PRELUDE, *constants, functions_as_javascript(functions)])


def functions_as_javascript(functions: list) -> str:
    """Return functions, callees first, as text."""
    several = {"sincos"}
    written = []
    for function in functions:
        given_back = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
        if any(isinstance(each, ast.Tuple) for each in given_back):
            several.add(function.name)
        written.append(_Function(function, several).text())
    return "\n".join(written)


class _Apart(ast.NodeTransformer):
    """Several numbers chosen by one condition, `a, b = (c, d) if e else (f, g)`, as an if with two assignments."""

    def visit_Assign(self, node):
        if not (isinstance(node.value, ast.IfExp) and isinstance(node.targets[0], ast.Tuple)):
            return node
        branches = [[self.visit(ast.Assign(node.targets, each))] for each in (node.value.body, node.value.orelse)]
        return ast.If(node.value.test, *branches)


class _Function:
    """Writes one function. One that gives several numbers back leaves them in R0, R1, ..: nothing is allocated."""

    def __init__(self, node: ast.FunctionDef, several: set[str]):
        self.node, self.several = _Apart().visit(node), several
        self.lines: list[str] = []
        self.hoisted = 0

    def text(self) -> str:
        """Return the function as text."""
        node = self.node
        arguments = [argument.arg for argument in node.args.args]
        count: Counter[str] = Counter()
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                count[each.id] += 1
            if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name):
                count[each.target.id] += 1
        self._refuse_late_counters()
        # assigned once, at the top level: a constant where it stands; the others are declared in front
        self.constants = {
            name
            for statement in node.body
            if isinstance(statement, ast.Assign)
            for name in _names(statement.targets[0])
            if count[name] == 1 and name not in arguments
        }
        variables = [_word(name) for name in count if name not in self.constants and name not in arguments]
        self.lines.append(f"function {node.name}({', '.join(map(_word, arguments))}) {{")
        if variables:
            self.lines.append(f" let {', '.join(variables)};")
        self._block(node.body, 1)
        self.lines.append("}")
        return "\n".join(self.lines)

    def _refuse_late_counters(self) -> None:
        """After its loop a counter is one further here than in Python: no function may read it there."""
        read, inside = Counter(_read(self.node)), Counter()
        counters = set()
        for loop in _outermost(self.node):
            counters.add(loop.target.id)
            inside.update(name for statement in loop.body for name in _read(statement) if name == loop.target.id)
        late = [name for name in counters if read[name] > inside[name]]
        if late:
            raise Untranslatable(f"{self.node.name} reads {late[0]!r} after its loop")

    # statements

    def _put(self, depth: int, text: str) -> None:
        self.lines.append(" " * depth + text)

    def _block(self, body: list[ast.stmt], depth: int) -> None:
        for statement in body:
            writer = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if writer is None:
                raise Untranslatable(ast.unparse(statement))
            writer(statement, depth)

    def _pass(self, node, depth):
        pass

    def _break(self, node, depth):
        self._put(depth, "break;")

    def _continue(self, node, depth):
        self._put(depth, "continue;")

    def _expr(self, node, depth):
        if not isinstance(node.value, ast.Constant):  # a docstring
            self._put(depth, f"{self.write(node.value)};")

    def _return(self, node, depth):
        if node.value is None:
            self._put(depth, "return;")
        elif isinstance(node.value, ast.Tuple):
            parts = [f"R{k} = {self.write(each)};" for k, each in enumerate(node.value.elts)]
            self._put(depth, f"{' '.join(parts)} return;")
        elif self._called(node.value) in self.several:  # its numbers stand where ours would
            self._put(depth, f"{self.write(node.value)}; return;")
        else:
            self._put(depth, f"return {self.write(node.value)};")

    def _assign(self, node, depth):
        if len(node.targets) > 1:
            raise Untranslatable(ast.unparse(node))
        target = node.targets[0]
        if not isinstance(target, ast.Tuple):
            self._put(depth, f"{self._head(target)}{self.write(target)} = {self.write(node.value)};")
        elif isinstance(node.value, ast.Tuple):
            self._together(target.elts, node.value.elts, depth)
        elif self._called(node.value) in self.several:
            parts = [f"{self._head(each)}{self.write(each)} = R{k};" for k, each in enumerate(target.elts)]
            self._put(depth, f"{self.write(node.value)}; {' '.join(parts)}")
        else:
            raise Untranslatable(ast.unparse(node))

    def _head(self, target) -> str:
        return "const " if isinstance(target, ast.Name) and target.id in self.constants else ""

    def _together(self, targets, values, depth) -> None:
        """Several assignments at once: through copies where a later value reads what an earlier one changes."""
        changed: set[str] = set()
        waits = False
        for target, value in zip(targets, values, strict=True):
            waits = waits or any(isinstance(each, ast.Name) and each.id in changed for each in ast.walk(value))
            changed.add(_base(target))
        if not waits:
            for target, value in zip(targets, values, strict=True):
                self._put(depth, f"{self._head(target)}{self.write(target)} = {self.write(value)};")
            return
        copies = []
        for value in values:
            self.hoisted += 1
            copies.append(f"h{self.hoisted}_")
            self._put(depth, f"const {copies[-1]} = {self.write(value)};")
        for target, name in zip(targets, copies, strict=True):
            self._put(depth, f"{self._head(target)}{self.write(target)} = {name};")

    def _augassign(self, node, depth):
        value = ast.BinOp(_loaded(node.target), node.op, node.value)
        if type(node.op) in OPERATORS:
            self._put(depth, f"{self.write(node.target)} {OPERATORS[type(node.op)]}= {self.write(node.value)};")
        else:
            self._put(depth, f"{self.write(node.target)} = {self.write(value)};")

    def _if(self, node, depth):
        self._put(depth, f"if ({self.write(node.test)}) {{")
        self._block(node.body, depth + 1)
        while len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            node = node.orelse[0]
            self._put(depth, f"}} else if ({self.write(node.test)}) {{")
            self._block(node.body, depth + 1)
        if node.orelse:
            self._put(depth, "} else {")
            self._block(node.orelse, depth + 1)
        self._put(depth, "}")

    def _while(self, node, depth):
        if node.orelse:
            raise Untranslatable(ast.unparse(node))
        self._put(depth, f"while ({self.write(node.test)}) {{")
        self._block(node.body, depth + 1)
        self._put(depth, "}")

    def _for(self, node, depth):
        if node.orelse or self._called(node.iter) != "range":
            raise Untranslatable(ast.unparse(node))
        name, given = _word(node.target.id), node.iter.args
        low, high = (ast.Constant(0), given[0]) if len(given) == 1 else given[:2]
        step = ast.literal_eval(given[2]) if len(given) == 3 else 1
        end = self.write(high)
        if not isinstance(high, ast.Constant):  # Python asks once where the loop ends
            self.hoisted += 1
            self._put(depth, f"const h{self.hoisted}_ = {end};")
            end = f"h{self.hoisted}_"
        further = {1: f"{name}++", -1: f"{name}--"}.get(step, f"{name} += {step}")
        self._put(depth, f"for ({name} = {self.write(low)}; {name} {'<' if step > 0 else '>'} {end}; {further}) {{")
        self._block(node.body, depth + 1)
        self._put(depth, "}")

    # expressions

    def write(self, node) -> str:
        """Return an expression as text; inside others it needs brackets, see `_part`."""
        writer = getattr(self, f"_on_{type(node).__name__.lower()}", None)
        if writer is None:
            raise Untranslatable(ast.unparse(node))
        return writer(node)

    def _part(self, node) -> str:
        text = self.write(node)
        plain = isinstance(node, ast.Name | ast.Subscript | ast.Call | ast.Constant) and not text.startswith("-")
        return text if plain else f"({text})"

    def _on_constant(self, node):
        value = node.value
        if isinstance(value, bool):
            return "true" if value else "false"
        if not isinstance(value, int | float):
            raise Untranslatable(repr(value))
        return NUMBERS.get(repr(value), repr(value).removesuffix(".0"))

    def _on_name(self, node):
        return NUMBERS.get(node.id, _word(node.id))

    def _on_unaryop(self, node):
        return SIGNS[type(node.op)] + self._part(node.operand)

    def _on_binop(self, node):
        left, right = self._part(node.left), self._part(node.right)
        if isinstance(node.op, ast.Pow):
            square = isinstance(node.right, ast.Constant) and node.right.value == 2
            return f"sq({self.write(node.left)})" if square else f"Math.pow({self.write(node.left)}, {self.write(node.right)})"
        if isinstance(node.op, ast.FloorDiv):
            return f"Math.floor({left} / {right})"
        if isinstance(node.op, ast.Mod):
            return f"mod({self.write(node.left)}, {self.write(node.right)})"
        if type(node.op) not in OPERATORS:
            raise Untranslatable(ast.unparse(node))
        return f"{left} {OPERATORS[type(node.op)]} {right}"

    def _on_compare(self, node):
        ends = [node.left, *node.comparators]
        pairs = zip(ends, node.ops, ends[1:], strict=False)
        return " && ".join(f"{self._part(a)} {COMPARISONS[type(op)]} {self._part(b)}" for a, op, b in pairs)

    def _on_boolop(self, node):
        return (" && " if isinstance(node.op, ast.And) else " || ").join(self._part(each) for each in node.values)

    def _on_ifexp(self, node):
        return f"{self._part(node.test)} ? {self._part(node.body)} : {self._part(node.orelse)}"

    def _on_subscript(self, node):
        value, index = node.value, node.slice
        if isinstance(value, ast.Attribute) and value.attr == "shape":  # of a matrix of rows
            return self.write(value.value) + "[0]" * index.value + ".length"
        if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name) and value.value.id == "data":
            return f"{'CP'[value.slice.value]}[{self.write(index)}]"  # shared by all members, and a member's own
        name = self.write(value)
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        if any(isinstance(each, ast.Slice) or _negative(each) for each in parts):
            raise Untranslatable(ast.unparse(node))
        return name + "".join(f"[{self.write(each)}]" for each in parts)

    def _called(self, node) -> str:
        return ast.unparse(node.func) if isinstance(node, ast.Call) else ""

    def _on_call(self, node):
        name = self._called(node)
        if name in ("min", "max"):
            text, *rest = (self.write(each) for each in node.args)
            for each in rest:
                text = f"{name}({text}, {each})"
            return text
        if name == "float":
            (given,) = node.args
            return NUMBERS[given.value] if isinstance(given, ast.Constant) else self.write(given)
        if name == "len":
            return f"{self._part(node.args[0])}.length"
        if name.startswith("math.") and name not in CALLS and name not in ("math.isfinite", "math.isnan"):
            raise Untranslatable(name)
        name = CALLS.get(name, name.removeprefix("math."))
        return f"{name}({', '.join(map(self.write, node.args))})"


def _word(name: str) -> str:
    """A name that JavaScript allows."""
    return f"{name}_" if name in RESERVED else name


def _names(target) -> list[str]:
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return [each.id for each in parts if isinstance(each, ast.Name)]


def _base(target) -> str:
    """The variable that an assignment changes, or whose entry it changes."""
    while isinstance(target, ast.Subscript):
        target = target.value
    return target.id


def _loaded(target):
    return ast.Name(target.id, ast.Load()) if isinstance(target, ast.Name) else target


def _read(node) -> list[str]:
    """Names that are read in a statement, as often as they are."""
    return [each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)]


def _outermost(node, names: frozenset[str] = frozenset()):
    """Loops, but for those inside a loop with the same counter."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.For) and each.target.id not in names:  # type: ignore[union-attr]
            yield each
            yield from _outermost(each, names | {each.target.id})  # type: ignore[union-attr]
        else:
            yield from _outermost(each, names)


def _negative(node) -> bool:
    return isinstance(node, ast.UnaryOp) or (isinstance(node, ast.Constant) and node.value < 0)
