"""`holonomic methods`: every formulation, integrator and stabilization there is, and names into objects."""

from __future__ import annotations

import ast
import difflib
import importlib
import inspect
import json
import pkgutil
from collections.abc import Callable
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..errors import HolonomicError, UnknownArgument
from ..study.table import named_stabilizations

BAD_USAGE = 2
KINDS = ("formulation", "integrator", "stabilization")
FITS = ("takes", "gives", "acts")  # the attributes by which methods are matched to each other
SAID = {  # what is listed of a method, as its base declares it
    "formulation": ("gives", "index"), "integrator": ("takes", "adaptive", "implicit"), "stabilization": ("acts", "drift_order"),
}  # fmt: skip


def classes(kind: str) -> dict[str, type]:
    """Return the methods of one kind by name: all subclasses of its base, once its folder is imported."""
    folder = importlib.import_module(f"holonomic.{kind}s")
    for module in pkgutil.iter_modules(folder.__path__):
        importlib.import_module(f"{folder.__name__}.{module.name}")
    base = getattr(importlib.import_module(f"{folder.__name__}.base"), kind.capitalize())
    found: dict[str, type] = {}
    waiting = list(base.__subclasses__())
    while waiting:
        method = waiting.pop(0)
        waiting += method.__subclasses__()
        if complete(kind, method):
            found[method.__name__] = method
    return dict(sorted(found.items()))


def complete(kind: str, method: type) -> bool:
    """Tell a method from the base of a family: a family of integrators leaves the order open."""
    hidden = method.__name__.startswith("_") or inspect.isabstract(method)
    return not hidden and (kind != "integrator" or method.order is not None)  # type: ignore[attr-defined]


def describe(kind: str, method) -> dict:
    """Return what the class attributes say about a method, ready for JSON."""
    said = {name: plain(value) for name in SAID[kind] if (value := getattr(method, name)) not in (None, "")}
    return {
        "name": method.__name__,
        "kind": kind,
        "order": method.order if kind == "integrator" else None,
        **said,
        "summary": (inspect.getdoc(method) or "").partition("\n")[0],
        "references": list(method.references),
    }


def plain(value):
    """Return a value that JSON can hold; sets come out sorted."""
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool) else str(value)


def refuse(message: str) -> NoReturn:
    """Say on stderr what cannot be meant, and exit with the code for bad usage."""
    typer.echo(f"holonomic: {message}", err=True)
    raise typer.Exit(BAD_USAGE)


def nearest(word: str, names) -> str:
    """Return ' Did you mean ...?' for the closest names, or all the names when none is close."""
    by_lower = {name.lower(): name for name in names}
    close = difflib.get_close_matches(word.lower(), by_lower, n=3, cutoff=0.5)
    if close:
        return f"Did you mean {' or '.join(by_lower[name] for name in close)}?"
    return f"There are {', '.join(sorted(by_lower.values()))}."


def make(kind: str, text: str):
    """Turn `Name`, `Name(key=value)` or `name:value` from the command line into a method object.

    Capital letters do not matter; `auto` leaves the choice to the plan, `none` means without.
    """
    if text.lower() == "auto":
        return "auto"
    if text.lower() == "none":
        return None
    try:
        called = ast.parse(spelled(text.strip()), mode="eval").body
        if isinstance(called, ast.Call):
            name, arguments = ast.unparse(called.func), [ast.literal_eval(item) for item in called.args]
            options = {item.arg or "**": ast.literal_eval(item.value) for item in called.keywords}
        else:
            name, arguments, options = ast.unparse(called), [], {}
    except (SyntaxError, ValueError):
        refuse(f"{text!r} is not a method. Write a name, or a name with numbers as in 'Baumgarte(alpha=20)'.")
    known: dict[str, Callable] = {**classes(kind), **(named_stabilizations() if kind == "stabilization" else {})}
    method = {key.lower(): known[key] for key in known}.get(name.lower())
    if method is None:
        refuse(f"no {kind} is called {name!r}. {nearest(name, known)}")
    try:
        return method(*arguments, **options)
    except UnknownArgument as problem:
        refuse(f"{problem} It is written {written(method)}.")
    except HolonomicError as problem:
        refuse(str(problem))
    except (TypeError, ValueError) as problem:
        said = str(problem).replace(f"{method.__name__}.__init__()", method.__name__)
        refuse(f"{said}. It is written {written(method)}.")


def spelled(text: str) -> str:
    """Return `name:1:2` as `name(1, 2)`."""
    name, *settings = text.split(":")
    return f"{name}({', '.join(settings)})" if settings else text


def written(method: Callable) -> str:
    """Return a method with its parameters and defaults, without types."""
    given = inspect.signature(method).parameters.values()
    return f"{method.__name__}({', '.join(str(p.replace(annotation=p.empty)) for p in given)})"


def methods(as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False):
    """List all formulations, integrators and stabilizations."""
    rows = [describe(kind, method) for kind in KINDS for method in classes(kind).values()]
    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=140)  # a pipe has no width; 80 would break the summaries
    for kind in KINDS:
        console.print(table_of(kind, [row for row in rows if row["kind"] == kind]))
        console.print()


def table_of(kind: str, rows: list[dict]) -> Table:
    """Return the table of one kind; what is empty for all of them gets no column."""
    table = Table(title=f"{kind}s", title_justify="left", title_style="bold", box=None, pad_edge=False)
    columns = {
        "name": [row["name"] for row in rows],
        "order": ["" if row["order"] is None else str(row["order"]) for row in rows],
        "step": [steps(row) for row in rows],
        "drift order, g; G v": [row.get("drift_order", "") for row in rows],
        "fits": [", ".join(f"{name} {words(row[name])}" for name in FITS if name in row) for row in rows],
        "what it does": [row["summary"] for row in rows],
        "references": [", ".join(row["references"]) for row in rows],
    }
    columns = {title: cells for title, cells in columns.items() if any(cells)}
    for title in columns:
        table.add_column(title, no_wrap=title in ("name", "step", "fits"))
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*map(escape, cells))
    return table


def steps(row: dict) -> str:
    """Return how an integrator's step may be chosen."""
    if "adaptive" not in row:
        return ""
    return "by error or fixed" if row["adaptive"] else "fixed"


def words(value) -> str:
    """Return a list as words, anything else as it is."""
    return " or ".join(map(str, value)) if isinstance(value, list) else str(value)
