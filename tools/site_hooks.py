"""What mkdocs does to pages while it builds the site, besides the pages that move.

- The changelog and the contributing page are the files at the top of the repository.
- Pages below Evidence come late among the hits of a search.
- `{version}` and `{repository}` on the front page become the version and, if the environment variable
  HOLONOMIC_REPOSITORY has the address of the repository, links to it and to its issues.
"""

from __future__ import annotations

import re
from pathlib import Path

from holonomic import __version__

ROOT = Path(__file__).parents[1]
TAKEN_OVER = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}  # page: file
LATE = {"Evidence": 0.2}  # section of the navigation: weight of its pages in a search


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
    for section in page.ancestors:
        if section.title in LATE:
            page.meta.setdefault("search", {})["boost"] = LATE[section.title]
    if page.file.src_uri == "index.md":
        address = config.repo_url
        links = f"[repository]({address}) · [issues]({address.rstrip('/')}/issues) · " if address else ""
        markdown = markdown.replace("{version}", __version__).replace("{repository}", links)
    return markdown
