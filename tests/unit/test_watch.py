"""What is changed between two runs of one system is seen by the second run, as plain Python would see it."""

import functools
import types

import numpy as np
import pytest

from holonomic import System, simulate
from holonomic.model import compiled
from holonomic.model.watch import Watch

STIFFNESS = 1.0


def spring(q):
    return -STIFFNESS * q


def frequency(system):
    """ω of q'' = -ω² q from the state at t = 1."""
    return np.arccos(simulate(system, 1.0, q0=[1.0], v0=[0.0], rtol=1e-9).end.q[0])


class Holder:
    k = 1.0

    def force(self, q):
        return -self.k * q


def changed_global(monkeypatch):
    return spring, lambda: monkeypatch.setitem(globals(), "STIFFNESS", 4.0)


def changed_helper(monkeypatch):
    space = {}
    exec("def helper(q):\n    return -q\ndef force(q):\n    return helper(q)", space)
    return space["force"], lambda: exec("def helper(q):\n    return -4.0 * q", space)


def changed_closure(monkeypatch):
    k = 1.0

    def change():
        nonlocal k
        k = 4.0

    return lambda q: -k * q, change


def changed_array(monkeypatch):
    k = np.array([1.0])
    return lambda q: -k * q, lambda: k.fill(4.0)


def changed_dict(monkeypatch):
    values = {"k": 1.0}
    return lambda q: -values["k"] * q, lambda: values.update(k=4.0)


def changed_list(monkeypatch):
    values = [[1.0]]
    return lambda q: -values[0][0] * q, lambda: values[0].__setitem__(0, 4.0)


def changed_namespace(monkeypatch):
    values = types.SimpleNamespace(k=1.0)
    return lambda q: -values.k * q, lambda: setattr(values, "k", 4.0)


def changed_object(monkeypatch):
    holder = Holder()
    return holder.force, lambda: setattr(holder, "k", 4.0)


def changed_class(monkeypatch):
    return Holder().force, lambda: monkeypatch.setattr(Holder, "k", 4.0)


def changed_module(monkeypatch):
    laws = types.ModuleType("laws")
    laws.k = 1.0
    return lambda q: -laws.k * q, lambda: setattr(laws, "k", 4.0)


def changed_attribute(monkeypatch):
    force = lambda q: -force.k * q
    force.k = 1.0
    return force, lambda: setattr(force, "k", 4.0)


def changed_argument(monkeypatch):
    k = np.array([1.0])
    return functools.partial(lambda k, q: -k * q, k), lambda: k.fill(4.0)


WAYS = [value for name, value in sorted(globals().items()) if name.startswith("changed_")]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_the_next_run_sees_the_change(way, monkeypatch):
    force, change = way(monkeypatch)
    system = System(mass=1.0, force=force)
    assert frequency(system) == pytest.approx(1.0, abs=1e-7)
    change()
    assert frequency(system) == pytest.approx(2.0, abs=1e-7)


def test_nothing_is_made_anew_where_nothing_has_changed(monkeypatch):
    system = System(mass=1.0, force=spring)
    frequency(system)
    monkeypatch.setattr(compiled.Model, "__init__", lambda *_: pytest.fail("made again"))
    frequency(system)
    monkeypatch.setitem(globals(), "STIFFNESS", float("1.0"))  # another object of the same value
    frequency(system)


def test_what_leads_everywhere_is_left_at_some_point():
    def chain(n):
        link = None
        for _ in range(n):
            link = types.SimpleNamespace(next=link)
        return link

    for links in ([chain(50) for _ in range(1000)], [chain(5000)]):
        watch = Watch(lambda q, links=links: links[0].next * q)
        assert len(watch._bound) < 10_000 and not watch.changed()
