"""Units for model exchange: an ODE gives its derivatives; what would drift, or has events, is refused with the reason."""

import numpy as np
import pytest
from c_library import needs_compiler
from fmpy import read_model_description, simulate_fmu
from fmpy.validation import validate_fmu

from holonomic import DOP853, BadArgument, Event, Ode, System, export_fmu, simulate
from holonomic.exporting.checked_exchange import check_exchange
from holonomic.exporting.checked_unit import UnitDiffers

pytestmark = needs_compiler


def van_der_pol():
    return Ode(
        lambda t, y, p, u: np.array([y[1], p.mu * (1 - y[0] ** 2) * y[1] - y[0] + u.push + 0.1 * np.sin(t)]),
        coordinates=["x", "rate"], params={"mu": 1.5}, inputs={"push": 0.0}, outputs={"energy": lambda y: y @ y / 2},
    )  # fmt: skip


@pytest.fixture(scope="module", params=["2.0", "3.0"])
def unit(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("units") / "vdp.fmu"
    return export_fmu(van_der_pol(), 10.0, y0=[2.0, 0.0], path=path, kind="model-exchange", version=request.param, check=True)


def test_an_ode_is_a_valid_unit_with_states_and_their_derivatives(unit):
    assert validate_fmu(str(unit.path)) == []
    described = read_model_description(str(unit.path))
    assert described.coSimulation is None and described.modelExchange is not None and described.numberOfContinuousStates == 2
    derivatives = {each.name: each.derivative.name for each in described.modelVariables if each.derivative is not None}
    assert derivatives == {"der(q.x)": "q.x", "der(q.rate)": "q.rate"}


def test_an_integrator_of_others_comes_where_simulate_comes(unit):
    asked = {"stop_time": 10.0, "output_interval": 0.1, "relative_tolerance": 1e-9, "fmi_type": "ModelExchange"}
    signal = np.array([(0.0, 0.0), (4.0, 0.0), (4.0, 0.5), (10.0, 0.5)], dtype=[("time", float), ("u.push", float)])
    found = simulate_fmu(
        str(unit.path), **asked, start_values={"p.mu": 1.0, "q.x": 1.0}, input=signal, output=["q.x", "q.rate", "y.energy"]
    )
    found = found[np.append(np.diff(found["time"]) > 0, True)]  # where the input steps there are two rows
    exact = simulate(
        van_der_pol().with_params(mu=1.0), 10.0, y0=[1.0, 0.0], rtol=1e-11, atol=1e-12,
        inputs={"push": ([0.0, 4.0], [0.0, 0.5], "hold")}, save_at=found["time"],
    )  # fmt: skip
    np.testing.assert_allclose(found["q.x"], exact.y[:, 0], atol=1e-5)  # CVODE at 1e-9, and its own way over the step
    np.testing.assert_allclose(found["y.energy"], exact["energy"], atol=1e-5)


def test_a_system_without_constraints_is_one_too(tmp_path):
    spring = System(mass=[[2.0]], force=lambda q, v, u: [-q[0] - 0.1 * v[0] + u.push], inputs={"push": 0.5}, coordinates=["x"])
    made = export_fmu(spring, 10.0, q0=[1.0], v0=[0.0], path=tmp_path / "spring.fmu", kind="model-exchange", check=True)
    assert made.variables[-2:] == ["der(q.x)", "der(v.x)"]
    found = simulate_fmu(str(made.path), stop_time=10.0, relative_tolerance=1e-9, fmi_type="ModelExchange", output=["q.x"])
    assert found["q.x"][-1] == pytest.approx(simulate(spring, 10.0, q0=[1.0], v0=[0.0], rtol=1e-10).q[-1, 0], abs=1e-5)


def test_derivatives_of_another_model_do_not_pass(unit, tmp_path):
    class Other:
        def __init__(self, run):
            self.model, self.ready = run.model, run.ready._replace(data=2.0 * run.ready.data)

    seen = []
    from holonomic.exporting import checked_exchange

    checked_exchange.check_exchange, kept = lambda made, run, same: seen.append(run), check_exchange
    try:
        export_fmu(van_der_pol(), 10.0, y0=[2.0, 0.0], path=tmp_path / "vdp.fmu", kind="model-exchange", check=True)
    finally:
        checked_exchange.check_exchange = kept
    with pytest.raises(UnitDiffers, match=r"^vdp\.fmu: the derivatives at t = .* differ by .* from those of the model"):
        check_exchange(unit, Other(seen[0]), True)


def test_what_would_go_wrong_is_refused_with_its_reason(tmp_path):
    given = {"path": tmp_path / "x.fmu", "kind": "model-exchange"}
    rod = System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1)
    with pytest.raises(BadArgument) as refused:
        export_fmu(rod, 1.0, q0=[1, 0], v0=[0, 0], **given)
    assert str(refused.value) == (
        'kind="model-exchange" hands the equations to an integrator that knows nothing of constraints: a pendulum drifts off its '
        'rod by 1e-4 in ten seconds at rtol 1e-6. Take kind="cosimulation", where steps and projections are those of simulate.'
    )
    circle = Ode(lambda y: np.array([y[1], -y[0]]), invariants={"radius": lambda y: y @ y})
    with pytest.raises(BadArgument, match=r"knows nothing of constraints"):
        export_fmu(circle, 1.0, y0=[1, 0], **given)
    with pytest.raises(BadArgument, match=r'^kind="model-exchange" has no events=: leave that to who integrates, or take kind='):
        export_fmu(van_der_pol(), 1.0, y0=[2, 0], events={"zero": Event(lambda y: y[0])}, integrator=DOP853(), **given)
    with pytest.raises(BadArgument, match=r'^kind="model-exchange" has no inputs that are tables: '):
        export_fmu(van_der_pol(), 1.0, y0=[2, 0], inputs={"push": ([0, 1], [0, 1])}, **given)
    with pytest.raises(BadArgument, match=r"^kind='exchange': there are 'cosimulation' and 'model-exchange'\.$"):
        export_fmu(van_der_pol(), 1.0, y0=[2, 0], path=tmp_path / "x.fmu", kind="exchange")
    assert list(tmp_path.iterdir()) == []
