"""All kernels compiled for the repository, or those that `library` asks for, one after the other."""

from __future__ import annotations

import importlib
import json
import lzma
import os
import pkgutil
import sys
import traceback

from . import eight
from .lowering import lower, marked_in
from .marks import PACKAGE, ROOMS
from .sources import FOLDER, hashes_of, manifest, sources_of, stamp


def with_kernels() -> list[str]:
    """Return the names of all modules that have something to call from outside."""
    found = []
    for room in ROOMS:
        for each in pkgutil.iter_modules([str(PACKAGE / room)]):
            module = importlib.import_module(f"holonomic.{room}.{each.name}")
            if marked_in(module):
                found.append(module.__name__)
    return found


def build_all() -> None:
    """Compile the modules whose bitcode is not that of their sources, and write the manifest."""
    eight.teach()
    FOLDER.mkdir(exist_ok=True)
    known, told = manifest()["modules"], {}
    for module in with_kernels():
        short = module.partition(".")[2]
        file, sources = FOLDER / f"{short}.bc.xz", sources_of(module)
        if known.get(module) != {"sources": sources, "stamp": stamp(sources)} or not file.is_file():
            print(f"{module} ...", flush=True)
            file.write_bytes(lzma.compress(lower(module), preset=9))
        told[module] = {"sources": sources, "stamp": stamp(sources)}
    for file in FOLDER.glob("*.bc.xz"):
        if f"holonomic.{file.name.removesuffix('.bc.xz')}" not in told:
            file.unlink()
    files = sorted({name for each in told.values() for name in each["sources"]})
    written = {"modules": told, "files": {name: hashes_of(name) for name in files}}
    (FOLDER / "manifest.json").write_text(json.dumps(written, indent=1) + "\n")


def answer() -> None:
    """Compile the modules that are named line by line; answer each with a word, a length and the bitcode or what is wrong."""
    out = os.fdopen(os.dup(1), "wb")
    eight.teach()
    os.dup2(2, 1)  # what is printed on the way does not belong to the answer
    for line in sys.stdin:
        try:
            word, content = b"fine", lzma.compress(lower(line.strip()), preset=0)
        except Exception:
            word, content = b"wrong", traceback.format_exc().encode()
        out.write(word + f" {len(content)}\n".encode() + content)
        out.flush()
