"""Arguments that cannot be meant, or names that mean something else already: told in plain words, before anything is made."""

import numpy as np
import pytest

import holonomic
from holonomic import (
    BDF,
    BackwardEuler,
    BadArgument,
    Baumgarte,
    Event,
    GeneralizedAlpha,
    Ode,
    PostStabilization,
    Projection,
    StateSpace,
    StrangenessFree,
    System,
    grid,
    sample,
    simulate,
    sweep,
)
from holonomic.multibody import Mechanism, rod

POINT = System(mass=np.eye(1), coordinates=["=1+1"])
START = {"q0": [0.0], "v0": [1.0]}


def bar():
    m = Mechanism(gravity=(0, -9.81))
    m.revolute("O", m.ground, m.body("bar", rod((0, 0), (1, 0), mass=1.0)), at=(0, 0))
    return m


CASES = [
    (lambda: grid(a=np.arange(10**5), b=np.arange(10**5), c=np.arange(10**5)),
     r"grid: 1000000000000000 combinations take 24000000\.0 GB, and this machine has [\d.]+ GB of memory\. Give fewer values, or "
     r"draw some of them with sample\(\)\."),
    (lambda: grid(a=[[1], [2, 3]]), r"grid\(a=\[\[1\], \[2, 3\]\]\): give a list of values, at least one\."),
    (lambda: simulate(POINT, 1.0, **START, save_at=10**12),
     r"save_at=1000000000000: what is kept takes 32000\.0 GB, and this machine has [\d.]+ GB of memory\. Keep fewer times\."),
    (lambda: sweep(POINT, 1.0, q0=[[0.0], [1.0]], v0=[1.0], save_at=10**12), r"save_at=1000000000000: what is kept takes .*"),
    (lambda: simulate(POINT, 1.0, **START, events={"end": lambda q: q[0]}),
     r"an event cannot be called 'end'\. sol\.ended is 'end' where a run reaches its end\. Give it another name, a text\."),
    (lambda: System(mass=np.eye(1), outputs={"q": lambda q: 2 * q}),
     r"an output cannot be called 'q': sol\.q is something else\. Give it another name\."),
    (lambda: Ode(lambda y: -y, outputs={"y": lambda y: y}), r"an output cannot be called 'y': .*"),
    (lambda: System(mass=np.eye(1), outputs={3: lambda q: q}), r"outputs=\{3: \.\.\.\}: an output is called by a text\."),
    (lambda: simulate(POINT, 1.0, **START).to_csv("run.csv"),
     r"to_csv: a spreadsheet takes the column '=1\+1' for a formula, because it begins with '='\. Rename it, or name the columns "
     r"to write: sol\.to_csv\(path, \.\.\.\)\."),
    (lambda: simulate(POINT, 1.0, **START, max_steps=2**70),
     r"max_steps=1180591620717411303424 is more than can be counted\. Use max_steps=10\*\*15 for as many as it takes\."),
    (lambda: simulate(POINT, 1.0, **START, max_steps=np.inf), r"max_steps=inf must be a whole number, at least 1\."),
    (lambda: sample(np.nan, g=(1, 2)), r"sample\(n=nan\): the number of members must be a whole number, at least 1\."),
    (lambda: sample(4, g=(1, "a")), r"g=\(1, 'a'\): give the two bounds of each parameter, \(low, high\)\."),
    (lambda: sample(2**62, g=(1, 2)), r"sample\(n=4611686018427387904\): they take .* Draw fewer\."),
    (lambda: Event(lambda q: q[0], direction=[1]), r"direction=\[1\]: choose 'both', 'rising' or 'falling'\."),
    (lambda: bar().assemble({"O": np.nan}), r"assemble: the value of joint 'O' must be finite, got nan\."),
    (lambda: bar().assemble(np.nan), r'assemble: values are given by joint, \{"O": 0\.3\}, got nan\.'),
    (lambda: bar().assemble(speeds={"O": [1]}), r"assemble: the speed of joint 'O' must be a number, got \[1\]\."),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CASES)))
def test_what_cannot_be_meant_is_told(number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, text = CASES[number]
    with pytest.raises(BadArgument, match=f"^{text}$"):
        call()
    assert not list(tmp_path.iterdir())


def test_grid_has_all_combinations_the_last_name_fastest():
    found = grid(a=[1, 2], b=[0.5], c=[3, 4, 5])
    assert found["a"].tolist() == [1, 1, 1, 2, 2, 2] and found["a"].dtype.kind == "i"
    assert found["b"].tolist() == [0.5] * 6
    assert found["c"].tolist() == [3, 4, 5, 3, 4, 5]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Baumgarte(alpha="fast"),
            "Baumgarte's gains are numbers: Baumgarte(alpha=20), Baumgarte(gains=(9, 6)). Got alpha='fast'.",
        ),
        (lambda: Projection(tol="tight"), "tol='tight' must be a positive number; leave it out for min(1e-10, rtol/10)."),
        (lambda: Projection(max_iterations=0), "max_iterations=0 must be a whole number between 1 and 1000."),
        (lambda: PostStabilization(on=["both"]), "on=['both']: choose 'both', 'velocity', 'position', 'full', 'cheap-full'."),
        (lambda: GeneralizedAlpha(rho=True), "rho=True must lie between 0 and 1."),
        (
            lambda: BDF(coefficients="constant"),
            "coefficients='constant': BDF has 'quasi-constant', 'variable' and 'fixed-leading' ones.",
        ),
        (lambda: BDF(max_order=[5]), "max_order=[5]: BDF formulas are stable for orders 1 to 6."),
        (lambda: BackwardEuler(once="yes"), "once='yes': choose True or False."),
        (lambda: StateSpace(R="rows"), "R= must be a number, an array of numbers or a function, got 'rows'."),
        (lambda: StrangenessFree(selectors={}), "selectors={}: choose 'null-space', 'rows', 'constant'."),
    ],
)
def test_settings_of_methods_that_cannot_be_meant_are_told_in_plain_words(make, words):
    with pytest.raises(BadArgument) as caught:
        make()
    assert str(caught.value) == words


def test_weights_of_a_metric_may_be_an_array():
    swing = System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1)
    ends = [
        simulate(swing, 0.5, q0=[1, 0], v0=[0, 0], stabilization=kind(metric=weights)).end.q
        for kind in (Projection, PostStabilization)
        for weights in (np.array([1.0, 2.0, 1.0, 2.0]), (1.0, 2.0, 1.0, 2.0))
    ]
    assert np.array_equal(ends[0], ends[1]) and np.array_equal(ends[2], ends[3])


@pytest.mark.parametrize(
    "ours, theirs",
    [
        ("BadArgument", ValueError), ("UnknownArgument", TypeError), ("UnknownName", KeyError), ("MissingExtra", ImportError),
        ("FileFailed", OSError), ("UntraceableFunction", TypeError), ("WrongShape", ValueError),
    ],
)  # fmt: skip
def test_an_error_of_ours_is_also_the_one_that_python_would_raise(ours, theirs):
    kind = getattr(holonomic.errors, ours)
    assert issubclass(kind, theirs) and issubclass(kind, holonomic.HolonomicError)
    assert str(kind("words as they are")) == "words as they are"  # a KeyError puts them in quotes
