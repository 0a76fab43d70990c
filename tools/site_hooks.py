"""What mkdocs does to pages while it builds the site, besides the pages that move.

- The changelog and the contributing page are the files at the top of the repository.
- Pages of Evidence, and the changelog, come late among the hits of a search; the page that leads to them does not.
- A page of the API gets a table of what it describes, with the first lines of the docstrings.
- Signatures become one line each, which the style sheet lets the browser wrap.
- Cells of tables are marked: numbers, which do not break, and long texts, which need some width.
- `{version}` and `{repository}` on the front page become the version and, if the environment variable
  HOLONOMIC_REPOSITORY has the address of the repository, links to it and to its issues.
"""

from __future__ import annotations

import importlib
import inspect
import re
from html import unescape
from pathlib import Path

from holonomic import __version__

ROOT = Path(__file__).parents[1]
TAKEN_OVER = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}  # page: file
TABLE = "<!-- summary -->"  # where a page of the API has its table
LATE = {"Evidence": 1e-4, "Changelog": 1e-4}  # section or page of the navigation: weight in a search
LEADS = "measured.md"  # the page that leads to those of Evidence: found as others are


def on_files(files, config):
    """Called by mkdocs when it looks for its files: add the pages that are files of the repository."""
    from mkdocs.structure.files import File

    for page, file in TAKEN_OVER.items():
        text = (ROOT / file).read_text(encoding="utf-8")
        # old entries of the changelog name headings that later pages may not have
        text = re.sub(r"\]\(docs/([\w/-]+\.md)(?:#[\w-]+)?\)", r"](\1)", text)
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page, config, files) -> str:
    """Called by mkdocs before it makes a page."""
    for part in (page, *page.ancestors):
        if part.title in LATE and page.file.src_uri != LEADS:
            page.meta.setdefault("search", {})["boost"] = LATE[part.title]
    if page.file.src_uri == "index.md":
        address = config.repo_url
        links = f"[repository]({address}) · [issues]({address.rstrip('/')}/issues) · " if address else ""
        markdown = markdown.replace("{version}", __version__).replace("{repository}", links)
    return markdown.replace(TABLE, summary(markdown)) if TABLE in markdown else markdown


def on_page_content(html: str, page, config, files) -> str:
    """Called by mkdocs when it has made a page: signatures and cells of tables."""
    html = re.sub(r'<div class="doc-signature.*?</div>', lambda found: one_line(found[0]), html, flags=re.DOTALL)
    return re.sub(r"<td([^>]*)>(.*?)</td>", lambda found: marked(*found.groups()), html, flags=re.DOTALL)


NUMBER = re.compile(r"[<>≤≥±≈]? ?[-+−–]?\d[\d.,   ]*(?:e[-+−]?\d+)?(?: ?(?:%|°|[a-zA-Zµμ][a-zA-Z/²]{0,3}))?")
STAMP = re.compile(r"[0-9a-f]{7,10}(?: with changes)?, \d{4}-\d\d-\d\d")
LONG = 45  # characters


def marked(attributes: str, cell: str) -> str:
    """A cell with the class `number` or `long`, if it is one; a stamp breaks no more than a number."""
    text = unescape(re.sub(r"<[^>]*>", "", cell)).strip()
    kind = "number" if NUMBER.fullmatch(text) or STAMP.fullmatch(text) else "long" if len(text) > LONG else ""
    return f'<td{attributes} class="{kind}">{cell}</td>' if kind and "class=" not in attributes else f"<td{attributes}>{cell}</td>"


def one_line(signature: str) -> str:
    """A signature whose arguments stand one below the other, as one line."""
    signature = re.sub(r"(\(</span>)\n +", r"\1", signature)
    signature = re.sub(r'<span class="p">,</span>\n(<span class="p">\))', r"\1", signature)
    return re.sub(r"\n +", " ", signature)


def summary(markdown: str) -> str:
    """The table of what a page of the API describes, and one for each class with many methods."""
    rows, more = [], []
    for path, options in re.findall(r"^::: ([\w.]+)\n((?:    .*\n)*)", markdown, flags=re.MULTILINE):
        thing = named(path)
        if inspect.ismodule(thing):
            chosen = re.search(r"members: \[(.+)\]", options)
            names = chosen[1].split(", ") if chosen else [name for name, each in vars(thing).items() if inspect.isclass(each)]
            rows += [row(f"{path}.{name}", getattr(thing, name)) for name in names]
            continue
        rows.append(row(path, thing))
        if "inherited_members" in options:
            more += tables_of_members(path, thing)
    return "\n".join(["| name | what it is |", "| --- | --- |", *rows, *more]) if rows else ""


def named(path: str):
    """What a dotted path of the package stands for."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        above, _, name = path.rpartition(".")
        return getattr(importlib.import_module(above), name)


def row(path: str, thing) -> str:
    """One line of a table: a name that leads to its description, and the first line of its docstring."""
    first = (inspect.getdoc(thing) or "").partition("\n")[0].replace("|", "\\|")
    return f"| [`{path.rpartition('.')[2]}`][{path}] | {first} |"


def tables_of_members(path: str, thing: type) -> list[str]:
    """Tables of the public members of a class: what is read, and what is called, for each class that declares some."""
    found: dict[tuple[type, bool], list[str]] = {}
    for name in dir(thing):
        if name.startswith("_") or name == "from_run":
            continue
        declares = [each for each in thing.__mro__ if name in vars(each)][-1]
        static = inspect.getattr_static(thing, name)
        called = isinstance(static, (staticmethod, classmethod)) or inspect.isfunction(static)
        found.setdefault((declares, called), []).append(row(f"{path}.{name}", getattr(thing, name)))
    order = sorted(found, key=lambda group: (thing.__mro__.index(group[0]), group[1]))
    lines, last = [], None
    for declares, called in order:
        topic = re.split(r"[:.] ?", inspect.getdoc(declares) or "")[0]
        if declares is not last:
            lines += ["", f"**`{thing.__name__}`: {topic[0].lower()}{topic[1:]}**"]
        lines += ["", f"| {'call' if called else 'read'} | |", "| --- | --- |", *found[declares, called]]
        last = declares
    return lines
