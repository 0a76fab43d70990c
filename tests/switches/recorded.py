"""The references of all laws as numbers: `python -m switches.recorded`, from tests/, computes those that are new."""

import json
from functools import cache
from pathlib import Path

import numpy as np

from .laws import TABLE
from .random_laws import COUNT, random_law
from .reference import fingerprint, reference
from .traced import traced_math

FILE = Path(__file__).with_name("references.json")


@cache
def recorded():
    """Per law: its fingerprint, the error of its reference, and the states."""
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def right(key, law):
    """The recorded states of a law, and how accurate they are."""
    known = recorded()[key]
    if abs(known["law"] - fingerprint(law)) > 1e-6:
        raise AssertionError(f"{key} has changed since its reference was recorded. Run `python -m switches.recorded` in tests/.")
    return np.array(known["states"]).reshape(-1, 2), known["accuracy"]


def record():
    """Compute what is missing, and write all down."""
    every = TABLE | {f"random {seed}": random_law(seed) for seed in range(COUNT)}
    kept = {}
    for key, law in every.items():
        known = recorded().get(key)
        if known is None or abs(known["law"] - fingerprint(law)) > 1e-6:
            try:
                with traced_math(law.law.__globals__):
                    states, accuracy = reference(law)
            except ArithmeticError as error:
                print(key, error)
                continue
            numbers = [float(f"{x:.11g}") for x in states.ravel()]
            known = {"law": fingerprint(law), "accuracy": float(f"{accuracy:.1e}"), "states": numbers}
            print(f"{key}: {accuracy:.1e}", flush=True)
            write(kept | {key: known})
        kept[key] = known
    write(kept)


def write(kept):
    """Write references down, one in a line."""
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(known)}" for key, known in kept.items())
    FILE.write_text("{\n" + lines + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    record()
