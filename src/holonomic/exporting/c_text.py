"""The texts of an exported model: its header, what its runtime is told, an example in C, and how CMake finds it."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .. import errors
from .._version import __version__
from ..errors import BadArgument
from ..kernels.memory import PASSING, RUN, STEPPING
from ..loop.after_events import MAP_FAILED
from ..multibody.joint_frames import COMPONENTS
from ..native.layout import WHOLE
from ..planning.words import methods
from .exported_run import ExportedRun, count
from .settled import FRAME
from .step_bound import step_bound

# what C functions return: statuses of the loop, then our own
STATUSES = {
    "EVENT": errors.EVENT, "NOT_FINITE": errors.NOT_FINITE, "SINGULAR": errors.SINGULAR, "PULL_FAILED": errors.PULL_FAILED,
    "STEP_COLLAPSED": errors.STEP_COLLAPSED, "TOO_MANY_STEPS": errors.TOO_MANY_STEPS,
    "ACCUMULATES": errors.ACCUMULATES, "NO_CONVERGENCE": errors.NO_CONVERGENCE, "MAP_FAILED": MAP_FAILED,
    "OFF_POSITION": 201, "OFF_VELOCITY": 202, "UNCLEAR": 203, "BACKWARDS": 204, "BAD_VALUE": 205,
}  # fmt: skip
MEANINGS = {
    "OK": "fine", "EVENT": "a terminal event has happened", "NOT_FINITE": "a function of the model is not finite",
    "SINGULAR": "a singular position", "PULL_FAILED": "the state cannot be brought back to the constraints",
    "STEP_COLLAPSED": "the step fell below rounding", "TOO_MANY_STEPS": "too many steps in one call",
    "ACCUMULATES": "impacts come in ever shorter order", "MAP_FAILED": "the map of an event leaves the constraints",
    "NO_CONVERGENCE": "an implicit step has no solution", "OFF_POSITION": "positions cannot be moved onto the constraints",
    "OFF_VELOCITY": "velocities cannot be moved onto the constraints", "UNCLEAR": "a start that has to be looked at in Python",
    "BACKWARDS": "a time before the present one", "BAD_VALUE": "no such parameter or input, or no finite number",
}  # fmt: skip


@dataclass(frozen=True)
class ExportedNames:
    """What is in a model, by the names users gave, one for each number."""

    params: list[str]
    inputs: list[str]
    q: list[str]
    v: list[str]
    lam: list[str]
    outputs: list[str]
    events: list[str]
    joints: list[str]

    @classmethod
    def of(cls, run: ExportedRun) -> ExportedNames:
        """The names of an exported run."""
        model = run.model
        q = [*model.coordinates, *model.extras.state_labels, *model.extras.algebraic_labels]
        v = [] if model.is_ode else list(model.coordinates) if model.nv == model.nc else [str(i) for i in range(model.nv)]
        lam = entries("y", run.lambda_at[2]) if model.is_ode else list(model.row_labels)
        if len(lam) > run.lambda_at[2]:  # rows that are dropped have none
            lam = [lam[row] for row in run.plan.rows]
        params = [each for name, (where, shape) in model.places.items() for each in entries(name, where.stop - where.start)]
        shown = {name: shape for name, shape in model.output_shapes.items() if not name.startswith(FRAME)}
        outputs = [each for name, shape in shown.items() for each in entries(name, count(shape))]
        parts = COMPONENTS[model.system.resolver.dimension] if run.joints else ()
        joints = [f"{joint} {part}" for joint in run.joints for part in parts]
        return cls(params, run.settable, q, v, lam, outputs, list(run.plan.events), joints)


def entries(name: str, n: int) -> list[str]:
    """ExportedNames of the numbers of one array."""
    return [name] if n == 1 else [f"{name}[{k}]" for k in range(n)]


# what a library cannot be called: words of C and C++, and what the headers of C declare that its files include
TAKEN = frozenset("""
    alignas alignof and asm auto bitand bitor bool break case catch char class compl concept const constexpr continue decltype
    default delete do double else enum explicit export extern false float for friend goto if inline int long mutable namespace
    new noexcept not nullptr operator or private protected public register requires restrict return short signed sizeof static
    struct switch template this throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t
    while xor main hol clearerr fclose feof ferror fflush fgetc fgetpos fgets fopen fprintf fputc fputs fread freopen fscanf
    fseek fsetpos ftell fwrite getc getchar gets perror printf putc putchar puts remove rename rewind scanf setbuf setvbuf
    snprintf sprintf sscanf stderr stdin stdout tmpfile tmpnam ungetc vfprintf vfscanf vprintf vscanf vsnprintf vsprintf
    vsscanf abort abs atexit atof atoi atol atoll bsearch calloc div exit free getenv labs ldiv llabs lldiv malloc mblen
    mbstowcs mbtowc qsort rand realloc srand strtod strtof strtol strtold strtoll strtoul strtoull system wcstombs wctomb
    memchr memcmp memcpy memmove memset strcat strchr strcmp strcoll strcpy strcspn strerror strlen strncat strncmp strncpy
    strpbrk strrchr strspn strstr strtok strxfrm acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc
    exp exp2 expm1 fabs fdim floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma log log10 log1p log2 logb lrint lround
    modf nan nearbyint nextafter pow remainder remquo rint round scalbn sin sinh sqrt tan tanh tgamma trunc j0 j1 jn y0 y1 yn
    signbit isfinite isinf isnan size_t ptrdiff_t va_list fpos_t div_t ldiv_t model
""".split())  # fmt: skip


def identifier(name: str) -> str:
    """A name as C takes it: Greek letters by their names, other letters without their marks."""
    made = re.sub(r"\W+", "_", "".join(map(_spelled, name)), flags=re.ASCII).strip("_") or "unnamed"
    return f"m_{made}" if made[0].isdigit() else made


def library_name(name: str) -> str:
    """A name that all functions of a library may begin with, and that its type may have."""
    if not isinstance(name, str):
        raise BadArgument(f'name= is a text, such as name="swing", got {name!r}.')
    made = identifier(name)
    return f"m_{made}" if made in TAKEN or made in _own_words() else made


@cache
def _own_words() -> frozenset[str]:
    """Every word of our own C files: a type of that name would stand behind a variable of theirs, or beside another type."""
    files = (Path(__file__).parent / "c").glob("*.[ch]")
    texts = (re.sub(r'/\*.*?\*/|"[^"\n]*"', " ", file.read_text(encoding="utf-8"), flags=re.DOTALL) for file in files)
    return frozenset(word for text in texts for word in re.findall(r"[A-Za-z_]\w*", text))


def _spelled(letter: str) -> str:
    """A letter in ASCII."""
    if letter.isascii():
        return letter
    words = unicodedata.name(letter, "").split()
    if words[:1] == ["GREEK"] and "LETTER" in words:
        return words[words.index("LETTER") + 1].lower().replace("lamda", "lambda")
    return unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode() or "_"


def _enum(title: str, prefix: str, names: list[str], first: int = 0) -> str:
    """An enumeration of names; the comment says those that C cannot spell."""
    if not names:
        return ""
    made, lines = set(), []
    for number, name in enumerate(names, start=first):
        word = f"{prefix}_{identifier(name)}".upper()
        while word in made:
            word += "_"
        made.add(word)
        lines.append(f"    {word} = {number}, /* {name.replace('*/', '* /')} */")
    return "\n".join([f"/* {title} */", "enum {", *lines, "};", ""])


def header(name: str, run: ExportedRun, names: ExportedNames) -> str:
    """The header of a library."""
    big = name.upper()
    statuses = ["    {}_OK = 0, /* {} */".format(big, MEANINGS["OK"])]
    statuses += [f"    {big}_{word} = {code}, /* {MEANINGS[word]} */" for word, code in STATUSES.items()]
    enums = "".join(
        f"{part}\n"
        for part in (
            _enum("parameters, for get and set", f"{big}_P", names.params),
            _enum("inputs, for get, set and set_input", f"{big}_U", names.inputs, len(names.params)),
            _enum("places in q", f"{big}_Q", names.q),
            _enum("places in v", f"{big}_V", names.v),
            _enum("places in lambda", f"{big}_LAM", names.lam),
            _enum("places in outputs", f"{big}_Y", names.outputs),
            _enum("places in joint_forces: on the second body, at the joint, in the ground frame", f"{big}_J", names.joints),
            _enum("events, as they are counted", f"{big}_E", names.events),
        )
        if part
    )
    sizes = f"enum {{ {big}_NQ = {len(names.q)}, {big}_NV = {run.model.nv}, {big}_NLAMBDA = {len(names.lam)}, " \
            f"{big}_NOUTPUTS = {run.n_shown} }};"  # fmt: skip
    bound = step_bound(run)
    told = [*methods(run.plan), *([] if bound is None else textwrap.wrap(str(bound), 116))]
    how = textwrap.indent("\n".join(told), " * ", lambda line: True)
    return HEADER.format(name=name, big=big, version=__version__, how=how, statuses="\n".join(statuses), enums=enums, sizes=sizes)


HEADER = """/* {name}: a simulation by holonomic {version}, as a library of its own. Memory is taken in {name}_create alone.
 *
{how}
 *
 * Seconds, and the units of the model. Each instance belongs to one thread at a time; any number of them run side by side.
 */
#ifndef {big}_H
#define {big}_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

#if defined {big}_API
#elif defined _WIN32 && !defined {big}_STATIC
#ifdef HOL_BUILDS
#define {big}_API __declspec(dllexport)
#else
#define {big}_API __declspec(dllimport)
#endif
#elif defined __GNUC__
#define {big}_API __attribute__((visibility("default")))
#else
#define {big}_API
#endif

typedef struct {name} {name};

{sizes}

/* what functions return */
enum {{
{statuses}
}};

{enums}/* A simulation at its start, or NULL: no memory. In memory of one's own: as many bytes as size, aligned to 16. */
{big}_API {name} *{name}_create(void);
{big}_API {name} *{name}_create_in(void *memory);
{big}_API void {name}_free({name} *);

/* Begin again at t0; q0 or v0 NULL: those that were exported. The start is moved onto the constraints, the shortest way, with
 * the parameters and inputs that are set. To be called after setting parameters that the constraints depend on. */
{big}_API int {name}_reset({name} *, double t0, const double *q0, const double *v0);

/* Parameters and inputs; both hold from now on. An input may also follow a line through (now, value). */
{big}_API double {name}_get(const {name} *, int which);
{big}_API int {name}_set({name} *, int which, double value);
{big}_API int {name}_set_input({name} *, int which, double value, double slope);

/* Go on to exactly t, over events; a terminal one ends the call where it happens, and the next call goes on from there. */
{big}_API int {name}_step_to({name} *, double t);
{big}_API double {name}_time(const {name} *);
{big}_API int64_t {name}_steps(const {name} *); /* of the integrator, so far */

/* The present state. Pointers stay valid, and what they point to is that of the last call; NULL: it cannot be evaluated here. */
{big}_API const double *{name}_q(const {name} *);
{big}_API const double *{name}_v(const {name} *);
{big}_API const double *{name}_accelerations({name} *);
{big}_API const double *{name}_lambda({name} *);
{big}_API const double *{name}_outputs({name} *);
{big}_API const double *{name}_joint_forces({name} *);

/* How far off the constraints it is: the largest residual of positions and of velocities; all of them. */
{big}_API double {name}_position_drift({name} *);
{big}_API double {name}_velocity_drift({name} *);
{big}_API const double *{name}_residuals({name} *);

/* Events of the last call: how many, with times and numbers of as many as there is room for. How often one has happened. */
{big}_API int {name}_events(const {name} *, double *t, int *which, int room);
{big}_API int64_t {name}_event_count(const {name} *, int which);

/* Everything the next step depends on, as size bytes without pointers. */
{big}_API size_t {name}_size(void);
{big}_API void {name}_save(const {name} *, void *to);
{big}_API void {name}_restore({name} *, const void *from);

{big}_API const char *{name}_text(int status);

#ifdef __cplusplus
}}
#endif
#endif
"""


def model_data(name: str, run: ExportedRun, names: ExportedNames, t_end: float, most_steps: int, **more: str | int) -> str:
    """What runtime.c is told of a model, and `more` that is defined."""
    model, plan, places = run.model, run.plan, run.arena.places
    K = run.run.K
    defined = {
        "MODEL": name,
        "NAMED(word)": f"{name}_##word",
        "HOL_BYTES": run.arena.size,
        **{f"HOL_AT_{word}": places[place] for word, place in (
            ("RUN", "run"), ("DATA", "data"), ("X", "x"), ("K", "K"), ("OUTPUTS", "outputs"), ("RESIDUALS", "residuals"),
            ("TERMS", "terms"), ("JOINTS", "joint_forces"), ("GOAL", "goal"), ("COUNTS", "counts"), ("LOG_T", "log_t"),
            ("LOG", "log"), ("WAITS", "waits"),
        )},
        "HOL_AT_LAMBDA": places[run.lambda_at[0]] + 8 * run.lambda_at[1], "HOL_SMALLEST": int(not run.unique),
        "HOL_MULTIPLIERS": int(len(run.algebraic) > 0), "HOL_N_JOINTS": len(run.joints),
        "HOL_N_COMPONENTS": run.n_components, "HOL_AT_FRAMES": run.n_shown,
        "HOL_AT_G": model.nq + model.nv * model.nv + model.nv,
        "HOL_N_COLUMNS": max([len(each.columns) for each in run.joints.values()], default=0),
        "HOL_JOINTS": _joint_table(run),
        "HOL_WALKS": int(run.walks), "HOL_N_EVENTS": len(names.events), "HOL_WAITS": run.impacts.waits.shape[1],
        "HOL_INPUT_PLACES": f"{{{', '.join(map(str, run.input_places)) or '0'}}}",
        "HOL_WIDTH": K.shape[1], "HOL_ROWS": K.shape[0], "HOL_REMEMBERS": int(bool(plan.integrator.remembers)),
        "HOL_NQ": model.nq, "HOL_NV": model.nv, "HOL_N_PARAMS": len(names.params), "HOL_N_INPUTS": len(names.inputs),
        "HOL_N_DATA": len(run.run.data),
        "HOL_N_OUTPUTS": run.n_outputs, "HOL_N_RESIDUALS": run.n_residuals,
        "HOL_N_POSITION": model.n_constraints, "HOL_N_LEVEL": model.n_constraints + model.n_invariants,
        "HOL_READIES": int(run.readies), "HOL_NEEDS_PYTHON": int(run.needs_python),
        "HOL_T0": run.ready.t0.hex(), "HOL_SPAN": float(t_end - run.ready.t0).hex(),
        "HOL_FIRST_GIVEN": int(run.run.first is not None), "HOL_MOST_STEPS": f"INT64_C({most_steps})",
        "HOL_OK": errors.OK, "HOL_DONE": errors.DONE, "HOL_MORE": errors.MORE,
        **{f"HOL_{word}": code for word, code in STATUSES.items()},
        "HOL_EXCHANGES": 0, "HOL_STEPPING": STEPPING, "HOL_PASSING": PASSING, **more,
    }  # fmt: skip
    fields = "".join(f"    {'int64_t' if kind == WHOLE else 'double'} {field};\n" for field, (kind, _) in RUN.fields.items())
    lines = [f"#define {word} {value}" for word, value in defined.items()]
    return "\n".join(["#define HOL_BUILDS", f'#include "{name}.h"', *lines, f"typedef struct {{\n{fields}}} hol_run;", ""])


def _joint_table(run: ExportedRun) -> str:
    """Joints as C reads them.

    Column of the first velocity, sign, number of rows, and these, in G and among the multipliers; number of couplings, and places
    of their multipliers, -1 where these are dropped.
    """
    if not run.joints:
        return ""
    every = run.lambda_at[2] == run.model.n_lam
    number = {row: place for place, row in enumerate(range(run.model.n_lam) if every else run.plan.rows)}
    pairs = [[(row, number[row]) for row in each.rows if row in number] for each in run.joints.values()]
    coupled = [[number.get(row, -1) for row in each.coupled] for each in run.joints.values()]
    rows = [
        f"{{{each.columns.start}, {each.sign}, {len(own)}, {_braced(own, (0, 0))}, {len(tied)}, {_braced(tied, 0)}}}"
        for each, own, tied in zip(run.joints.values(), pairs, coupled, strict=True)
    ]
    sizes = max(1, *map(len, pairs)), max(1, *map(len, coupled))
    kind = f"struct {{ int column; double sign; int n, rows[{sizes[0]}][2], n_coupled, coupled[{sizes[1]}]; }}"
    return f"static const {kind} joints[] = {{{', '.join(rows)}}}"


def _braced(values: Sequence, nothing) -> str:
    """Numbers, or pairs of these, as C has them."""
    texts = [f"{{{each[0]}, {each[1]}}}" if isinstance(each, tuple) else str(each) for each in values or [nothing]]
    return f"{{{', '.join(texts)}}}"


def example(name: str, t0: float, t_end: float) -> str:
    """A main in C that runs the model once and prints where it comes to."""
    return EXAMPLE.format(name=name, big=name.upper(), t0=repr(float(t0)), t_end=repr(float(t_end)), mark=MARK)


def cmake(name: str, library: str) -> str:
    """A CMake file with the library as a target, and the example."""
    by = f"\n    IMPORTED_IMPLIB ${{CMAKE_CURRENT_SOURCE_DIR}}/{name}.lib" if library.endswith(".dll") else ""
    return CMAKE.format(name=name, library=library, by=by, mark=MARK)


MARK = "holonomic wrote this"  # in files that are written over by the next export, as those of others are not

EXAMPLE = """/* {name} from {t0} s to {t_end} s in 100 steps of communication: times and states as text. {mark}. */
#include <stdio.h>

#include "{name}.h"

int main(void) {{
    {name} *m = {name}_create();
    if (!m) return 1;
    const double t0 = {name}_time(m);
    for (int k = 1; k <= 100; k++) {{
        int status = {name}_step_to(m, t0 + k * ({t_end} - t0) / 100);
        if (status) {{
            fprintf(stderr, "t = %g: %s\\n", {name}_time(m), {name}_text(status));
            {name}_free(m);
            return 2;
        }}
        printf("%.17g", {name}_time(m));
        for (int i = 0; i < {big}_NQ; i++) printf(" %.17g", {name}_q(m)[i]);
        for (int i = 0; i < {big}_NV; i++) printf(" %.17g", {name}_v(m)[i]);
        printf("\\n");
    }}
    fprintf(stderr, "%lld steps, drift %.1e\\n", (long long){name}_steps(m), {name}_position_drift(m));
    {name}_free(m);
    return 0;
}}
"""

CMAKE = """# {mark}
cmake_minimum_required(VERSION 3.13)
project({name}_example C)

add_library({name} SHARED IMPORTED)
set_target_properties({name} PROPERTIES
    IMPORTED_LOCATION ${{CMAKE_CURRENT_SOURCE_DIR}}/{library}{by}
    INTERFACE_INCLUDE_DIRECTORIES ${{CMAKE_CURRENT_SOURCE_DIR}})

add_executable({name}_example main.c)
target_link_libraries({name}_example {name})
"""
