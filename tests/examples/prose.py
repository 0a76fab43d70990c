"""The running text of a page of documentation, as a reader meets it: paragraphs and sentences, without code and tables."""

from __future__ import annotations

import re
from pathlib import Path

NOT_PROSE = re.compile(r"^(#|\||!\[|<|\$|---|\?\?\?|!!! |::: |--8<--)")
ITEM = re.compile(r"^ *(?:[-*]|\d+\.) +")


def paragraphs(path: Path) -> list[str]:
    """Return the paragraphs of a page; an item of a list is one. Code, tables, headings, pictures and formulas are left out."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"\A---\n.*?^---\n", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"<!--.*?-->|<\w[^>]*>.*?</\w+>", "", text, flags=re.DOTALL)
    found, current = [], ""
    for line in text.splitlines():
        formula = line.startswith("    ") and not current
        if not line.strip() or formula or NOT_PROSE.match(line.strip()) or ITEM.match(line):
            found.append(current)
            current = ""
        if line.strip() and not formula and not NOT_PROSE.match(line.strip()):
            current += " " + ITEM.sub("", line).strip()
    return [plain(one) for one in [*found, current] if one.strip()]


def plain(text: str) -> str:
    """Return what is read: a link is its words, a piece of code one word."""
    text = re.sub(r"!?\[((?:`[^`]*`|[^\]])*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"`[^`]*`", "Code", text).strip()


def words(text: str) -> int:
    """Return how many words there are; signs and lone symbols are none."""
    return sum(any(letter.isalnum() for letter in word) for word in text.split())


def sentences(paragraph: str) -> list[str]:
    """Return its sentences: what ends with a full stop, a question mark or an exclamation mark and is followed by a new start."""
    return [one for one in re.split(r"(?<=[.!?])[\"')*]*\s+(?=[^a-z\s])", paragraph) if words(one)]
