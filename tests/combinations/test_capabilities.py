"""What a method can do stands in its class: methods that only say so are judged rightly, and nobody asks for names."""

import ast
import gc
import inspect
import re
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from catalogue import KINDS, model_for

import holonomic
from holonomic import (
    BDF,
    DOP853,
    GGL,
    RK4,
    Baumgarte,
    Euler,
    GaussLegendre4,
    IncompatibleMethods,
    Index1,
    Index2,
    Index3,
    Overdetermined,
    Projection,
    Radau,
)
from holonomic.arguments import Asked
from holonomic.formulations.base import Formulation
from holonomic.gpu.engine import check
from holonomic.integrators.base import Integrator
from holonomic.planning.choice import kinds, recommended
from holonomic.planning.fit import check_fit
from holonomic.planning.offered import along_multipliers
from holonomic.stabilizations.base import Stabilization

SOURCE = Path(holonomic.__file__).parent
BASES = {"formulations": Formulation, "integrators": Integrator, "stabilizations": Stabilization}


@pytest.fixture(autouse=True, scope="module")
def forgotten():
    """Methods made here do not stay among those that there are."""
    yield
    gc.collect()


def toy(base, **said):
    """A method that does nothing but say what it can do."""
    return type("_Toy", (base,), said)()


def implicit(**said):
    return toy(Integrator, order=2, adaptive=False, implicit=True, takes="residual", **said)


def explicit(**said):
    return toy(Integrator, order=2, adaptive=False, **said)


def residual(**said):
    return toy(Formulation, gives=("residual",), **{"index": 1, **said})


def pull(**said):
    return toy(Stabilization, acts="step", **said)


def bend(**said):
    return toy(Stabilization, acts="field", **said)


def refusal(kind, formulation, integrator, stabilization, step=0.01):
    """What is said of methods; None: they fit."""
    model = model_for(*KINDS[kind])
    try:
        choice = Asked(formulation, integrator, stabilization, step=None if integrator.adaptive else step).choice(model)
        check_fit(choice, model)
    except IncompatibleMethods as problem:
        return str(problem)


@pytest.mark.parametrize(
    ("kind", "formulation", "can", "cannot", "text"),
    [
        ("pendulum", Index3(), {}, {"highest_index": 2}, "velocities and multipliers do not converge"),
        ("pendulum", Index3(), {}, {"unstable_with_constraints": True}, "unstable with changing steps"),
        ("pendulum", Index1(), {"unstable_with_constraints": True}, {"indices": (2, 3)}, "takes equations of index 2 or 3"),
        ("pendulum", Overdetermined(), {"takes_overdetermined": True}, {}, "more equations than unknowns"),
        ("pendulum", GGL(), {}, {"only_plain": True}, "has further unknowns"),
        ("pendulum", Index2(), {"only_plain": True}, {"takes": "ode"}, "leaves algebraic unknowns"),
        ("pendulum", Index3(), {"indices": (3,), "needs_constant_mass": True}, {"indices": (2,)}, "takes equations of index 2"),
        ("mass of q", Index2(), {}, {"needs_constant_mass": True}, "needs a constant mass matrix"),
        ("damped", Index2(), {}, {"needs_forces_of_position": True}, "is of order 2 for forces of t and q alone"),
        ("skate", Index2(), {}, {"indices": (2,)}, "not for a system with nonholonomic constraints. Use Radau() or BDF()."),
    ],
)
def test_an_integrator_is_judged_by_what_its_class_says(kind, formulation, can, cannot, text):
    plain = toy(Integrator, order=2, adaptive=False, implicit=True, **{"takes": "residual", **cannot})
    assert text in refusal(kind, formulation, plain, None)
    assert refusal(kind, formulation, implicit(**can), None) is None


@pytest.mark.parametrize(
    ("said", "formulation"),
    [({}, Index1()), ({"indices": (2,)}, Index2()), ({"indices": (2, 3)}, Index3()), ({"takes": "half-explicit"}, Index2())],
)
def test_an_integrator_is_given_a_formulation_that_it_takes(said, formulation):
    integrator = toy(Integrator, order=2, adaptive=False, **{"takes": "residual", **said})
    assert Asked("auto", integrator, step=0.01).choice(model_for(*KINDS["pendulum"])).formulation == formulation
    assert refusal("pendulum", "auto", integrator, None) is None


def test_an_integrator_that_keeps_energy_is_replaced_by_others_that_do():
    said = {"indices": (3,), "only_plain": True}
    keeping = implicit(**said, keeps_energy=True)
    assert "Use Radau() or BDF()." in refusal("Ode", "auto", implicit(**said), "auto")
    assert "Use GaussLegendre4() or ImplicitMidpoint(), which" in refusal("Ode", "auto", keeping, "auto")


def test_velocities_that_an_integrator_of_index_3_keeps_may_be_projected():
    both = Projection(on="full")
    assert "returns as δ/h" in refusal("pendulum", Index3(), implicit(), both)
    assert refusal("pendulum", Index3(), implicit(keeps_velocities=True), both) is None


@pytest.mark.parametrize(
    ("kind", "integrator", "stabilization", "can", "cannot", "text"),
    [
        ("Ode", Radau(), None, {"for_ode": True}, {}, "it does not know an Ode"),
        ("Dae", Radau(), None, {"for_dae": True}, {}, "it does not know a Dae. With Radau use formulation=Index1() or Index2()."),
        ("pendulum", Radau(), Baumgarte(alpha=5), {"has_field_terms": True}, {}, "changes the field"),
        ("pendulum", BDF(6), None, {}, {"keeps": ("position",)}, "order 6 is unstable"),
        ("pendulum", Radau(), Projection(on="full"), {}, {"integrates_multipliers": True}, "stay where they are"),
        ("pendulum", Radau(), None, {}, {"overdetermined": True}, "more equations than unknowns"),
        ("pendulum", GaussLegendre4(), None, {"index": 2}, {"index": 3}, "do not converge"),
    ],
)
def test_a_formulation_is_judged_by_what_its_class_says(kind, integrator, stabilization, can, cannot, text):
    assert text in refusal(kind, residual(**cannot), integrator, stabilization)
    assert refusal(kind, residual(**can), integrator, stabilization) is None


@pytest.mark.parametrize(
    ("kind", "methods", "stabilization", "cannot", "text"),
    [
        ("pendulum", ("auto", Euler()), pull, {"needs_stage": True}, "takes its factors from the last stage"),
        ("Ode with invariants", ("auto", RK4()), pull, {"mechanical": True}, "which a System alone has"),
        ("Ode with invariants", ("auto", RK4()), pull, {"levels": ("velocity",)}, "corrects the velocity level alone"),
        ("pendulum", (Index3(), Radau()), pull, {"couples": True}, "returns as δ/h"),
        ("pendulum", (Index3(), Radau()), pull, {"at_old_point": True}, "that adds up instead of dying out"),
        ("pendulum", ("auto", RK4()), bend, {"rate": 1e4}, "γ h = 100 > 2 is unstable with RK4. Use gain <= 200"),
        ("pendulum", ("auto", RK4()), bend, {"rate": 40, "rate_limit": 0.2}, "α h = 0.4 > 0.2 is unstable with an explicit"),
    ],
)
def test_a_stabilization_is_judged_by_what_its_class_says(kind, methods, stabilization, cannot, text):
    assert text in refusal(kind, *methods, stabilization(**cannot))
    assert refusal(kind, *methods, stabilization()) is None


def test_a_stabilization_whose_direction_is_open_is_turned_along_the_multipliers():
    class _Turning(Stabilization):
        acts, direction_open = "step", True

        def turned(self, metric=None, D=None):
            return metric, D

    for kind, found in (("pendulum", "VEL"), ("Dae", (None, "B"))):
        model = model_for(*KINDS[kind])
        choice = Asked(Index2(), GaussLegendre4(), _Turning(), step=0.01).choice(model)
        assert found in along_multipliers(choice, model)
    assert along_multipliers(Asked(Index2(), Radau(), _Turning(), step=0.01).choice(model), model)[1] is None


def test_an_explicit_integrator_runs_on_a_gpu_unless_it_says_otherwise():
    assert explicit().on_gpu and DOP853().on_gpu and not explicit(on_gpu=False).on_gpu
    assert not implicit().on_gpu and not Radau().on_gpu


def test_a_gpu_refuses_what_does_not_run_there_by_name():
    def job(integrator):
        choice = SimpleNamespace(integrator=integrator, step=None)
        plan = SimpleNamespace(choice=choice, model=SimpleNamespace(system=None, switches=()))
        program = SimpleNamespace(by_python=False, opaque=lambda *groups: None)
        return SimpleNamespace(plan=plan, program=program, tables=SimpleNamespace(at=()), limits={"max_step": float("inf")})

    check(job(explicit()))
    with pytest.raises(IncompatibleMethods, match=r'on="cuda" runs explicit integrators; _Toy\(\) solves equations in every step'):
        check(job(implicit()))


def test_refusals_recommend_nothing_that_does_not_say_so_itself():
    class _Mine(Radau):
        order = 1  # would come first

    assert _Mine in kinds(Integrator) and not any(isinstance(each, _Mine) for each in recommended(Integrator))
    assert any(isinstance(each, Radau) for each in recommended(Integrator))
    assert "with GGL() use Radau or BDF" in refusal("pendulum", GGL(), RK4(), None).replace("With", "with")


def methods_of_the_package():
    return [kind for base in BASES.values() for kind in kinds(base) if kind.__module__.startswith("holonomic.")]


@pytest.mark.parametrize("method", methods_of_the_package(), ids=lambda method: method.__name__)
def test_a_method_says_nothing_that_nobody_asks_for(method):
    """A capability with a wrong name would be no capability, in silence."""
    base = next(base for base in BASES.values() if issubclass(method, base))
    settings = set(method.__dataclass_fields__) if is_dataclass(method) else set()
    said = {name for name, value in vars(method).items() if not name.startswith("_") and not callable(value)}
    assert said - settings - {*vars(base)} <= {"tableau", "plain"}  # of Runge-Kutta methods; of one kind of corrections


@pytest.mark.parametrize("base", BASES.values(), ids=lambda base: base.__name__)
def test_everything_that_is_asked_of_a_method_stands_with_its_meaning_and_an_answer(base):
    body = next(node for node in ast.parse(inspect.getsource(base)).body[0].body if isinstance(node, ast.Expr))
    lines = inspect.getsource(base).splitlines()[body.end_lineno :]
    said = {line.split(":")[0].strip(): line for line in lines if re.match(r"    \w+: ", line)}
    assert {*said} == {*base.__annotations__}
    assert [name for name, line in said.items() if not re.search(r" = .+  # \S", line)] == []


@cache
def calls():
    """Calls of plain functions in all files but those of methods: file and line, name, arguments."""
    return [
        (f"{path.relative_to(SOURCE)}:{node.lineno}", node.func.id, node.args)
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] not in BASES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]


def test_nobody_asks_which_class_a_method_is():
    names = {kind.__name__ for kind in methods_of_the_package()}
    found = [
        f"{place}: {name}(..., {ast.unparse(args[1])})"
        for place, name, args in calls()
        if name in ("isinstance", "issubclass") and {*re.findall(r"\w+", ast.unparse(args[1]))} & names
    ]
    assert not found, "\n".join(found)


def test_nobody_asks_a_method_for_what_its_base_may_not_declare():
    declared = {name for base in BASES.values() for name in vars(base) if not name.startswith("_")}
    found = [
        f"{place}: {name}({', '.join(map(ast.unparse, args))})"
        for place, name, args in calls()
        if name == "hasattr" or (name == "getattr" and len(args) == 3)
        if isinstance(args[1], ast.Constant) and args[1].value in declared
        if not {"system", "given"} & {*re.findall(r"\w+", ast.unparse(args[0]))}  # they have an order, a metric, references
    ]
    assert not found, "\n".join(found)
