"""Plants the faults of `faults.py` one at a time in a copy of the tree, and runs the tests that have to notice.

    python tests/mutation/planted.py              # all of them, some ten minutes on two cores
    python tests/mutation/planted.py urdf cache   # those with such a word in their file or in what they are
    python tests/mutation/planted.py --write      # the same, and what became of them into the table in docs/planted-faults.md

A fault is found where a test turns red; one that nobody notices says which test is missing. First all tests that are named
run on the tree as it is, where they have to be green; --unchecked leaves that out.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from faults import FAULTS, Fault

from holonomic.native import cachefolder

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "planted-faults.md"
MOST_SECONDS = 900  # for the tests of one fault, with kernels that are compiled anew: 20 to 120 s on two cores
GREEN, RED = 0, 1  # what pytest returns; anything else is neither


class Found(NamedTuple):
    """What became of a fault."""

    fault: Fault
    by: tuple[str, ...]  # tests that turned red; none: nobody noticed
    seconds: float


class Tree:
    """A copy of the tree in which faults are planted; `cache` is where its compiled code is kept."""

    def __init__(self, place: Path):
        self.place = place / "tree"
        self.cache = place / "cache"
        self.kernels = cachefolder.folder() / "kernels"  # of sources without a fault; one's own to begin with
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
        )
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (ROOT / name).is_file():
                (self.place / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.place / name)
        self._fresh_cache()

    def _fresh_cache(self) -> None:
        """Start with compiled kernels, which are known by their sources, and no model: those are made by what may be wrong."""
        shutil.rmtree(self.cache, ignore_errors=True)
        kernels = self.cache / cachefolder.NAME / "kernels"
        cachefolder.make(kernels)
        if self.kernels.is_dir():
            shutil.copytree(self.kernels, kernels, dirs_exist_ok=True, copy_function=shutil.copyfile)

    def keep_kernels(self) -> None:
        """Remember what was compiled of the tree without a fault."""
        self.kernels = self.place.parent / "kernels"
        shutil.copytree(self.cache / cachefolder.NAME / "kernels", self.kernels)

    @contextmanager
    def planted(self, fault: Fault) -> Iterator[None]:
        """The tree with a fault in it."""
        path = self.place / "src" / "holonomic" / fault.file
        text = path.read_text()
        assert text.count(fault.old) == 1, f"{fault.file} has {fault.old!r} {text.count(fault.old)} times"
        self._fresh_cache()
        path.write_text(text.replace(fault.old, fault.new))
        try:
            yield
        finally:
            path.write_text(text)

    def run(self, tests: Sequence[str]) -> tuple[int, str]:
        """Run tests one after the other until one fails; return what pytest returns and says."""
        environment = {
            **os.environ, "PYTHONPATH": str(self.place / "src"), "HOLONOMIC_CACHE": str(self.cache), "MPLBACKEND": "Agg",
            "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip
        asked = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", "--tb=short", *tests]
        try:
            done = subprocess.run(
                asked, cwd=self.place, env=environment, capture_output=True, text=True, timeout=MOST_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return RED, "FAILED it never comes to an end"
        if done.returncode < 0:  # a signal
            return RED, "FAILED Python itself, which crashed"
        return done.returncode, done.stdout + done.stderr


def noticed(tree: Tree, fault: Fault) -> Found:
    """Plant a fault and say which tests turn red."""
    began, by = time.perf_counter(), []
    with tree.planted(fault):
        for tests in [[each] for each in fault.tests] if fault.each else [list(fault.tests)]:
            code, said = tree.run(tests)
            if code not in (GREEN, RED) or "does not compile" in said:
                raise RuntimeError(f"{fault.what}: the tests could not run.\n{said[-3000:]}")
            by += re.findall(r"^(?:FAILED|ERROR) (?:tests/)?(\S.*?)(?: - .*)?$", said, re.MULTILINE) if code == RED else []
    return Found(fault, tuple(by), time.perf_counter() - began)


def is_found(found: Found) -> bool:
    """Whether those who have to notice a fault did."""
    return len(found.by) >= (len(found.fault.tests) if found.fault.each else 1)


def all_planted(faults: Sequence[Fault], checked: bool = True) -> Iterator[Found]:
    """Plant faults one after the other; a RuntimeError where the tests are red without one, if that is `checked`."""
    with tempfile.TemporaryDirectory(prefix="planted-") as place:
        tree = Tree(Path(place))
        if checked:
            code, said = tree.run(sorted({test for fault in faults for test in fault.tests}))
            if code != GREEN:
                raise RuntimeError(f"the tests that are named are not green on the tree as it is.\n{said[-3000:]}")
            tree.keep_kernels()
        for fault in faults:
            yield noticed(tree, fault)


def page(found: Sequence[Found]) -> str:
    """Return the page with the table of all faults; of those that were not planted now it keeps what it says."""
    head, _, table = PAGE.read_text(encoding="utf-8").partition("<!-- table -->")
    rows = {tuple(line.split(" | ")[:2]): line for line in table.splitlines() if line.startswith("| `")}
    rows |= {tuple(line.split(" | ")[:2]): line for line in map(_row, found)}
    known = [(f"| `{fault.file}`", fault.what) for fault in FAULTS]
    lines = [rows[key] for key in sorted(known) if key in rows]
    return "\n".join([f"{head}<!-- table -->", "", "| file | fault | noticed by |", "| --- | --- | --- |", *lines, ""])


def _row(found: Found) -> str:
    by = ", ".join(dict.fromkeys(f"`{_short(name)}`" for name in found.by)) if is_found(found) else "nobody"
    return f"| `{found.fault.file}` | {found.fault.what} | {by} |"


def _short(name: str) -> str:
    return name.partition("[")[0].replace("|", "/")


def main(arguments: Sequence[str]) -> int:
    """Plant what is asked for; return how many faults nobody noticed."""
    words = [each for each in arguments if not each.startswith("--")]
    chosen = [fault for fault in FAULTS if not words or any(word in f"{fault.file} {fault.what}" for word in words)]
    found = []
    for each in all_planted(chosen, checked="--unchecked" not in arguments):
        found.append(each)
        print(f"{'found' if is_found(each) else 'SURVIVES':9}{each.seconds:5.0f} s  {each.fault.file}: {each.fault.what}")
        print(f"{'':17}{', '.join(each.by) or 'nobody noticed'}", flush=True)
        if "--write" in arguments:
            PAGE.write_text(page(found), encoding="utf-8")
    lost = [each for each in found if not is_found(each)]
    print(f"{len(found) - len(lost)} of {len(found)} faults were found.")
    return len(lost)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
