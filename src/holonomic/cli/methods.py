"""`holonomic methods`: every formulation, integrator and stabilization there is, and names into objects."""

from __future__ import annotations

import ast
import difflib
import importlib
import inspect
import json
import pkgutil
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

KINDS = ("formulation", "integrator", "stabilization")
FITS = ("takes", "gives", "acts")  # the attributes by which methods are matched to each other


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
        if not method.__name__.startswith("_") and not inspect.isabstract(method):
            found[method.__name__] = method
    return dict(sorted(found.items()))


def describe(kind: str, method: type) -> dict:
    """Return what the class attributes say about a method, ready for JSON."""
    fits = {name: plain(getattr(method, name)) for name in FITS if getattr(method, name, None) is not None}
    order = getattr(method, "order", None)
    return {
        "name": method.__name__,
        "kind": kind,
        "order": order if isinstance(order, int) else None,
        **fits,
        "summary": (inspect.getdoc(method) or "").partition("\n")[0],
        "references": list(getattr(method, "references", ())),
    }


def plain(value):
    """Return a value that JSON can hold; sets come out sorted."""
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool) else str(value)


def nearest(word: str, names) -> str:
    """Return ' Did you mean ...?' for the closest names, or all the names when none is close."""
    by_lower = {name.lower(): name for name in names}
    close = difflib.get_close_matches(word.lower(), by_lower, n=3, cutoff=0.5)
    if close:
        return f"Did you mean {' or '.join(by_lower[name] for name in close)}?"
    return f"There are {', '.join(sorted(by_lower.values()))}."


def make(kind: str, text: str):
    """Turn `Name` or `Name(key=value)` from the command line into a method object.

    Capital letters do not matter; `auto` leaves the choice to the plan, `none` means without.
    """
    if text.lower() == "auto":
        return "auto"
    if text.lower() == "none":
        return None
    try:
        called = ast.parse(text.strip(), mode="eval").body
        if isinstance(called, ast.Call):
            name, arguments = ast.unparse(called.func), [ast.literal_eval(item) for item in called.args]
            options = {item.arg or "**": ast.literal_eval(item.value) for item in called.keywords}
        else:
            name, arguments, options = ast.unparse(called), [], {}
    except (SyntaxError, ValueError):
        raise typer.BadParameter(
            f"{text!r} is not a method. Write a name, or a name with numbers as in 'Baumgarte(alpha=20)'."
        ) from None
    known = classes(kind)
    method = {key.lower(): known[key] for key in known}.get(name.lower())
    if method is None:
        raise typer.BadParameter(f"no {kind} is called {name!r}. {nearest(name, known)}")
    try:
        return method(*arguments, **options)
    except (TypeError, ValueError) as problem:
        raise typer.BadParameter(
            f"{text!r} cannot be made: {problem}. It is {method.__name__}{inspect.signature(method)}."
        ) from None


def methods(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
):
    """List all formulations, integrators and stabilizations."""
    rows = [describe(kind, method) for kind in KINDS for method in classes(kind).values()]
    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=140)  # a pipe has no width; 80 would break the summaries
    for kind in KINDS:
        table = Table(title=f"{kind}s", title_justify="left", title_style="bold", box=None, pad_edge=False)
        table.add_column("name", no_wrap=True)
        table.add_column("order", justify="right")
        table.add_column("fits", no_wrap=True)
        table.add_column("what it does")
        table.add_column("references")
        for row in rows:
            if row["kind"] == kind:
                fits = ", ".join(f"{name} {words(row[name])}" for name in FITS if name in row)
                order = "" if row["order"] is None else str(row["order"])
                table.add_row(row["name"], order, fits, row["summary"], ", ".join(row["references"]))
        console.print(table)
        console.print()


def words(value) -> str:
    """Return a list as words, anything else as it is."""
    return " or ".join(map(str, value)) if isinstance(value, list) else str(value)
