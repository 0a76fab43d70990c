"""A store is resumed only by the call it was made with: what `then` of an event does is compared, never assumed."""

import numpy as np
import pytest

from holonomic import BadArgument, Event, System, sweep

pytest.importorskip("zarr")

BALL = System(mass=1.0, potential=lambda q, p: p.g * q[0], params={"g": 9.81})


SEEN = []


class Bouncer:
    """A map with a number behind slots, which nobody can follow."""

    __slots__ = ("k",)

    def __init__(self, k):
        self.k = k

    def then(self, q, v):
        return q, -self.k * v

    def __call__(self, q, v):
        return q, -self.k * v


class Plain:
    """A map with a number in plain sight."""

    def __init__(self, k):
        self.k = k

    def then(self, q, v):
        return q, -self.k * v


class Counting(Plain):
    """A map that wears out."""

    def then(self, q, v):
        self.k = 0.5 * self.k
        return q, -0.5 * v


def run(path, then, resume=False):
    bounce = Event(lambda q: q[0], direction="falling", then=then)
    given = {"q0": [1.0], "v0": [0.0], "params": {"g": np.linspace(5.0, 10.0, 3)}, "save_at": 5, "events": {"bounce": bounce}}
    return sweep(BALL, 0.6, **given, store=path, resume=resume)


MAKERS = {
    "lambda": lambda k: lambda q, v: (q, -k * v), "method": lambda k: Plain(k).then,
    "with parameters": lambda k: lambda q, v, p: (q, -k * v * p.g / p.g),
    "with a branch": lambda k: lambda q, v: (q, -k * v if v[0] < 0 else v),
    "with NumPy": lambda k: lambda q, v: (q, np.where(v < 0, -k * v, v)),
}  # fmt: skip


@pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))
def test_a_map_that_can_be_traced_is_compared_by_what_it_does(tmp_path, make):
    first = run(tmp_path / "runs.zarr", make(0.5))
    again = run(tmp_path / "runs.zarr", make(0.5), resume=True)
    np.testing.assert_array_equal(first.q, again.q)
    with pytest.raises(BadArgument, match="it was made with other events"):
        run(tmp_path / "runs.zarr", make(0.6), resume=True)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda k: Bouncer(k).then, "it reaches an instance of Bouncer"),
        (Bouncer, "it reaches an instance of Bouncer"),
        (lambda k: Counting(k).then, "it changes objects"),
        (lambda k: lambda q, v: (SEEN.append(k), (q, -k * v))[1], "it changes objects"),
        (lambda k: lambda q, v: (q, [-k * float(f"{v[0]:.17g}")]), ""),
    ],
    ids=["method", "object", "counting", "noting", "by text"],
)
def test_a_map_that_cannot_be_told_is_not_taken_for_the_same(tmp_path, make, why):
    path = tmp_path / "runs.zarr"
    run(path, make(0.5))
    for k in (0.5, 0.6):
        with pytest.raises(BadArgument) as caught:
            run(path, make(k), resume=True)
        assert str(caught.value).startswith(
            f"store={str(path)!r} cannot be resumed: whether then= of event 'bounce' is what it was cannot be told ({why}"
        )
        assert str(caught.value).endswith(
            "). Take another store; one whose then= is a function of numbers and arrays can be resumed."
        )


def test_a_map_that_can_be_told_does_not_go_on_from_one_that_cannot(tmp_path):
    run(tmp_path / "runs.zarr", Bouncer(0.5))
    with pytest.raises(BadArgument, match="cannot be resumed"):
        run(tmp_path / "runs.zarr", lambda q, v: (q, -0.5 * v), resume=True)
