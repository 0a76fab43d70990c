"""A fuzz of arguments: whatever is given, it is taken as what it means or refused in plain words; nothing raw, nothing silent."""

import warnings

import numpy as np
import pytest
from fuzzing import CALLS, cases, run

from holonomic import HolonomicError

SEED, SAMPLE = 14, 150
NUMBERS = {"half", "huge"}  # positive, if unusual
# what may be taken without a word, by argument: a number is a number, and None leaves a choice to us
MEANT = {
    "t_end": {"minus one", "half", "huge"}, "rtol": {"half"}, "atol": NUMBERS | {"mapping"}, "step": NUMBERS,
    "constraint_tol": NUMBERS, "max_step": NUMBERS | {"inf"}, "first_step": NUMBERS, "events": {"mapping"},
    "inputs": {"mapping"}, "lam0": {"zero", "list"}, "direction": {"zero", "minus one", "true"}, "resume": {"true"},
    "terminal": {"zero", "true"}, "then": {"function", "function of x", "type"},
    "f": {"text", "no text", "null", "function", "function of x", "type", "long"},  # names of outputs are looked up by the run
    "g": {"many"}, "seed": {"zero", "huge"}, "t": {"zero", "list"}, "path": {"text"}, "store": {"text"}, "m": {"zero", "minus one"},
    "q": {"zero", "half"}, "values": {"mapping"}, "speeds": {"mapping"},
}  # fmt: skip
SWEPT = [
    "simulate", "simulate an Ode", "sweep", "Event", "grid", "sample", "load", "sol()", "sol[]", "sol.save", "sol.to_csv",
    "sol.to_dataframe", "sol.reaction", "sol.drift", "sol.events", "runs[]", "runs.mean", "runs.std", "runs.extremes",
    "runs.quantiles", "assemble",
]  # fmt: skip


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
        if value != "none" and value not in MEANT.get(name, set()):
            found.append(f"{call}({name}={value}) is taken without a word")
    return found


def every() -> list[tuple[str, str, str]]:
    return [case for case in cases() if case[0] in SWEPT]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_sample_of_nonsense_is_told_in_plain_words():
    all_of_them = every()
    assert len(all_of_them) > 1000 and set(SWEPT) <= set(CALLS)
    rng = np.random.default_rng(SEED)
    light = [case for case in all_of_them if case[2] != "huge" or case[1] != "t_end"]  # a run of 2**70 s takes its max_steps
    assert faults([light[i] for i in rng.choice(len(light), SAMPLE, replace=False)]) == []


@pytest.mark.slow
def test_all_nonsense_is_told_in_plain_words():
    assert faults(every()) == []
