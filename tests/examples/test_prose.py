"""The pages are plain English: no words of the workshop, no long paragraphs, no long sentences. CONTRIBUTING.md has the rules."""

import re

import pytest
from pages import DOCS, ROOT
from prose import paragraphs, sentences, words

LONGEST_PARAGRAPH, MEAN_SENTENCE = 90, 25  # words
# German word order, the workshop's history, words that mean something else to most readers
FORBIDDEN = (
    "left to you", "left to us", "left to itself", "left to themselves", "left alone", "is told", "are told", "was told",
    "is meant", "are meant", "was meant", "be meant", "anew", "as ever", "it gives what it gives", "who takes", "who wants",
    "who goes", "were aimed at", "was aimed at", "is aimed at", "are aimed at", "looked into", "by turns", "in the same words",
    "compiled beside", "for ever", "of one's own", "what became of", "has become of", "until november", "nobody had",
    "film", "films", "played",
)  # fmt: skip
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


def name(path):
    return path.relative_to(ROOT).as_posix()


def faults(path) -> list[str]:
    """What a page has against the rules."""
    found = paragraphs(path)
    wrong = [f"{words(each)} words in one paragraph: {each[:60]} ..." for each in found if words(each) > LONGEST_PARAGRAPH]
    lengths = [words(sentence) for each in found for sentence in sentences(each)]
    if lengths and sum(lengths) > MEAN_SENTENCE * len(lengths):
        wrong.append(f"{sum(lengths) / len(lengths):.1f} words in the mean sentence")
    for each in found:
        read = " ".join(each.split()).lower()
        wrong += [f"'{phrase}': {each[:60]} ..." for phrase in FORBIDDEN if re.search(rf"\b{re.escape(phrase)}\b", read)]
    return wrong


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_the_page_is_plain_english(path):
    wrong = faults(path)
    assert not wrong, "\n".join(wrong)


def test_long_paragraphs_long_sentences_and_words_of_the_workshop_are_seen(tmp_path):
    page = tmp_path / "page.md"
    for text, seen in (
        ("One two three. " * 31, "93 words in one paragraph"),
        ("one " * 40 + "ends.", "41.0 words in the mean sentence"),
        ("It takes 20 ns (13 were aimed at).", "'were aimed at'"),
    ):
        page.write_text(f"# Title\n\n{text}\n", encoding="utf-8")
        assert any(seen in each for each in faults(page)), text
    page.write_text("```python\nanew = played\n```\n\n| as ever | films |\n\nShort, see [films](films.md) not.\n", encoding="utf-8")
    assert [each[:6] for each in faults(page)] == ["'films"]  # code and tables are not looked at, words of links are
