"""Code blocks of the documentation's pages, and how they are run."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# Written by programs, which their own tests run; their shell blocks name those programs.
GENERATED = {"accuracy.md", "order-and-drift.md", "reproduction.md"}
# Commands that take minutes or change what is not the page's own.
NOT_RUN = re.compile(r"^holonomic (reproduce .*--page|reproduce \S+$|cache --clear)")


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, the title after it, its text and its line in the page."""

    language: str
    title: str
    text: str
    line: int


def pages() -> list[Path]:
    """The README and every page of the documentation that people write."""
    return [ROOT / "README.md", *sorted(path for path in DOCS.rglob("*.md") if path.name not in GENERATED)]


def blocks(path: Path) -> Iterator[Block]:
    """Fenced blocks that begin at the left edge; those inside an admonition only include a file."""
    found = re.finditer(r"^```(\w+)([^\n]*)\n(.*?)^```$", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for block in found:
        title = re.search(r'title="([^"]*)"', block.group(2))
        line = path.read_text(encoding="utf-8").count("\n", 0, block.start()) + 1
        yield Block(block.group(1), title.group(1) if title else "", block.group(3), line)


def run_page(path: Path, folder: Path) -> str:
    """Run a page's blocks in order, in one namespace; return everything that was printed.

    A Python block with a title is also a file of that name. A text block titled "prints" must be what the
    Python block before it prints.
    """
    namespace = {"__name__": "__main__"}
    said = whole = ""
    for block in blocks(path):
        where = f"{path.relative_to(ROOT)}:{block.line}"
        if block.language == "python":
            if block.title:
                (folder / block.title).write_text(block.text, encoding="utf-8")
            said = run_python(block, where, namespace)
        elif block.language == "sh":
            said = run_shell(block, where)
        elif block.title == "prints":
            assert said.strip() == block.text.strip(), f"{where}: the block before prints\n{said}"
            continue
        else:
            continue
        whole += f"--- {where}\n{said}"
    return whole


def run_python(block: Block, where: str, namespace: dict) -> str:
    """Run a block; return what it printed. Errors show the page and the line."""
    source, name = "\n" * block.line + block.text, where.rpartition(":")[0]
    code = compile(source, name, "exec")
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)  # messages quote lines
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, namespace)
    return out.getvalue()


def run_shell(block: Block, where: str) -> str:
    """Run the lines that call holonomic; they must succeed."""
    from typer.testing import CliRunner

    from holonomic.cli.main import app

    said = ""
    for line in block.text.splitlines():
        command = shlex.split(line, comments=True)
        if command[:1] != ["holonomic"] or NOT_RUN.match(shlex.join(command)):
            continue
        done = CliRunner().invoke(app, command[1:])
        assert done.exit_code == 0, f"{where}: {line}\n{done.output}"
        said += done.output
    return said
