"""A fuzz of arguments: whatever is given, it is taken as what it means or refused in plain words; nothing raw, nothing silent."""

import warnings
import webbrowser

import numpy as np
import pytest
from fuzzing import NONSENSE, cases, run

from holonomic import HolonomicError

SEED, SAMPLE = 14, 1500
NUMBERS = {"half", "huge"}  # positive, if unusual
TEXTS = {"text", "no text", "null", "long", "digit"}
SIGNED = NUMBERS | {"zero", "minus one"}
# what may be taken without a word, by argument: a number is a number, and None leaves a choice to us
MEANT = {
    "t_end": {"minus one", "half", "huge"}, "rtol": {"half"}, "atol": NUMBERS | {"mapping"}, "step": NUMBERS,
    "constraint_tol": NUMBERS, "max_step": NUMBERS | {"inf"}, "first_step": NUMBERS, "events": {"mapping"},
    "inputs": {"mapping", "mapping of none", "mapping of text"},  # a function that nobody calls
    "lam0": {"zero", "list"}, "direction": {"zero", "minus one", "true"}, "resume": {"true"},
    "terminal": {"zero", "true"}, "then": {name for name in NONSENSE if name.startswith(("function", "type", "giving"))},
    "f": SIGNED | {"digits", *TEXTS, *(name for name in NONSENSE if name.startswith(("text", "function", "type", "giving")))},
    # of an Event: names of outputs are looked up by the run, functions are called by it
    "g": {"many"}, "seed": {"zero", "huge"}, "t": {"zero", "list"}, "m": {"zero", "minus one"},
    "path": {"text", "digit"}, "store": {"text", "digit"}, "checkpoint": {"text", "digit"}, "color": {"digit"}, "live": {"true"},
    "q": {"zero", "half"}, "values": {"mapping"}, "speeds": {"mapping"}, "trace": {"true"}, "velocity_terms": {"true"},
    "potential": SIGNED | {"function"}, "rhs": {"function"}, "B": {"function of x"}, "r": {"zero", "function"},
    "coordinates": {"texts", "digits", "digit"}, "outputs": {"mapping", "mapping of functions"},
    "mass": NUMBERS, "width": NUMBERS, "near": {"mapping"}, "fps": {"half"}, "seconds": {"half"}, "title": TEXTS, "names": TEXTS,
    "rho": {"zero", "half"}, "alpha": NUMBERS | {"zero"}, "gamma": NUMBERS | {"zero"}, "gain": NUMBERS | {"zero"}, "tol": NUMBERS,
    "error": NUMBERS | {"true"}, "controllers": {"mapping"},
    "max_time": NUMBERS | {"inf"}, "max_memory": NUMBERS | {"inf"}, "once": {"true"}, "integral": {"true"},
    **{key: {"list"} for key in ("signals", "traces", "panels")}, **{key: {"true"} for key in ("forces", "show", "software")},
    **{key: {"mapping"} for key in ("constraint", "nonholonomic", "invariants", "states", "algebraic", "params", "derivatives")},
}  # fmt: skip
# the same by call, where "each" is what has a name
MEANT_BY = {
    "an input": SIGNED | {"function"}, "a parameter": NUMBERS | {"true"}, "a state": SIGNED | {"function"},
    "an output": SIGNED | {"list", "many", "cube", "function", "giving many", "giving cubes"},
    "compare": {"many", "none inside"}, "work_precision": {"many", "none inside", "list"},  # several methods or steps, or none
    "with_params": NUMBERS | {"true"}, "a coordinate": {"text", "null", "long", "digit"}, "a kind of coordinate": {"no text"},
}  # fmt: skip


def faults(chosen) -> list[str]:
    """What went wrong: an error that is not ours, or something taken without a word that cannot be meant."""
    found = []
    for call, name, value in chosen:
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                run(call, name, value)
        except HolonomicError:
            continue
        except Exception as problem:
            notes = getattr(problem, "__notes__", ())
            if not any(note.startswith("raised by ") for note in notes):  # a function of the user's, named
                found.append(f"{call}({name}={value}): {type(problem).__name__}: {problem}")
            continue
        if value != "none" and value not in MEANT.get(name, set()) | MEANT_BY.get(call.removesuffix(", untraced"), set()):
            found.append(f"{call}({name}={value}) is taken without a word")
    return found


def every() -> list[tuple[str, str, str]]:
    return list(cases())


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(webbrowser, "open", lambda *_: True)


def test_a_sample_of_nonsense_is_told_in_plain_words():
    all_of_them = every()
    assert len(all_of_them) > 8000
    rng = np.random.default_rng(SEED)
    light = [case for case in all_of_them if case[2] != "huge" or case[1] != "t_end"]  # a run of 2**70 s takes its max_steps
    assert faults([light[i] for i in rng.choice(len(light), SAMPLE, replace=False)]) == []


@pytest.mark.slow
def test_all_nonsense_is_told_in_plain_words():
    assert faults(every()) == []
