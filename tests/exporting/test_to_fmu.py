"""A simulation as a functional mock-up unit: valid, the bits of simulate, states that can be saved, words where it cannot."""

import re
import zipfile

import numpy as np
import pytest
from c_library import needs_compiler
from fmpy import extract, read_model_description, simulate_fmu
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import FMU2Slave
from fmpy.validation import validate_fmu

from holonomic import DOP853, RK4, Event, Projection, Stepper, System, export_fmu, simulate, sweep
from holonomic.errors import HolonomicError
from holonomic.exporting.checked_unit import UnitDiffers, check_unit
from holonomic.multibody import Mechanism, rod

pytestmark = needs_compiler
METHODS = {"integrator": DOP853(), "stabilization": Projection()}
START = {"q0": [1.0, 0.0], "v0": [0.0, 0.0]}
WALL = Event(lambda q: q[0] + 0.5, direction="falling", then=lambda q, v: (q, -0.9 * v))


def pendulum():
    return System(
        mass=lambda p: p.m * np.eye(2), force=lambda p, u: [u.push, -p.m * p.g], constraint={"rod": lambda q, p: q @ q - p.L**2},
        params={"m": 1.0, "g": 9.81, "L": 1.0}, inputs={"push": 0.0}, coordinates={"x": "length", "y": "length"},
        outputs={"tension": lambda lam, q: 2 * lam[0] * np.sqrt(q @ q)},
    )  # fmt: skip


@pytest.fixture(scope="module", params=["3.0", "2.0"])
def swing(request, tmp_path_factory):
    """The pendulum with a wall, checked by FMPy when it is made."""
    path = tmp_path_factory.mktemp("units") / "swing.fmu"
    return export_fmu(pendulum(), 10.0, **START, **METHODS, events={"wall": WALL}, path=path, version=request.param, check=True)


def test_a_unit_is_valid_and_small(swing):
    assert validate_fmu(str(swing.path)) == []
    assert swing.path.stat().st_size < 200_000


def test_variables_have_names_units_and_causes(swing):
    described = read_model_description(str(swing.path))
    known = {each.name: each for each in described.modelVariables}
    assert list(known) == swing.variables
    assert known["p.L"].variability == "fixed" and known["p.g"].variability == "tunable"  # the rod moves with L
    assert known["q.x"].unit == "m" and known["v.x"].unit == "m/s" and known["time"].causality == "independent"
    assert known["u.push"].causality == "input" and known["y.tension"].causality == "output"
    assert float(known["q.x"].start) == 1.0 and known["events.wall"].type in ("Integer", "Int32")
    assert described.defaultExperiment.stopTime == "10.0"


def test_parameters_and_events_of_a_unit_agree_with_a_sweep(swing):
    runs = sweep(pendulum(), 10.0, **START, **METHODS, params={"L": [2.0], "g": [1.62]}, initial="project", save_at=2)
    far = {"p.L": 2.0, "p.g": 1.62}
    found = simulate_fmu(str(swing.path), stop_time=1.0, output_interval=1.0, start_values=far, output=["q.x", "q.y"])
    assert found["q.x"][0] == pytest.approx(2.0, abs=1e-12)  # moved onto the longer rod
    exact = simulate(pendulum().with_params(L=2.0, g=1.62), 1.0, q0=[2.0, 0.0], v0=[0.0, 0.0], rtol=1e-10)
    assert found["q.x"][-1] == pytest.approx(exact.q[-1, 0], abs=1e-5)
    assert runs.q[0, 0, 0] == found["q.x"][0]


def test_an_input_that_steps_between_points_is_held_as_in_a_stepper(swing):
    signal = np.array([(0.0, 0.0), (0.5, 0.0), (0.5, 3.0), (1.0, 3.0)], dtype=[("time", float), ("u.push", float)])
    found = simulate_fmu(str(swing.path), stop_time=1.0, output_interval=0.05, input=signal, output=["q.x", "v.x"])
    pushed = System(
        mass=np.eye(2), force=lambda u: [u.push, -9.81], constraint=lambda q: q @ q - 1.0,
        inputs={"push": ([0.0, 0.5], [0.0, 3.0], "hold")},
    )  # fmt: skip
    exact = simulate(pushed, 1.0, **START, rtol=1e-10, events={"wall": WALL}, save_at=found["time"])
    np.testing.assert_allclose(found["q.x"], exact.q[:, 0], atol=1e-4)  # twenty short steps at rtol 1e-6, and a bounce


def test_what_cannot_be_set_is_refused_in_words(tmp_path):
    path = tmp_path / "swing.fmu"
    made = export_fmu(pendulum(), 1.0, **START, integrator=RK4(), step=0.01, path=path, version="2.0")
    folder = extract(str(path))
    described = read_model_description(str(path))
    unit = FMU2Slave(guid=described.guid, unzipDirectory=folder, modelIdentifier=made.name, instanceName="one")
    unit.instantiate()
    reference = {name: k for k, name in enumerate(made.variables)}
    unit.setupExperiment(startTime=0.0)
    unit.enterInitializationMode()
    unit.setReal([reference["q.y"]], [-2.0])
    assert unit.getReal([reference["q.y"]]) == [-2.0]
    assert abs(unit.getReal([reference["drift.position"]])[0]) < 1e-12  # what is calculated follows the projected start
    unit.exitInitializationMode()
    assert np.hypot(*unit.getReal([reference["q.x"], reference["q.y"]])) == pytest.approx(1.0, abs=1e-12)
    for call in (
        lambda: unit.setReal([reference["p.L"]], [2.0]), lambda: unit.setReal([reference["q.x"]], [0.5]),
        lambda: unit.getReal([99]), lambda: unit.doStep(0.7, 0.1), lambda: unit.setReal([reference["u.push"]], [np.nan]),
    ):  # fmt: skip
        with pytest.raises(FMICallException):
            call()
    unit.setReal([reference["p.g"]], [1.62])
    unit.setRealInputDerivatives([reference["u.push"]], [1], [2.0])
    unit.doStep(0.0, 0.5)
    assert unit.getReal([reference["u.push"]]) == [1.0]
    unit.freeInstance()
    with pytest.raises(Exception, match="instantiate"):
        FMU2Slave(guid="other", unzipDirectory=folder, modelIdentifier=made.name, instanceName="two").instantiate()


def test_a_unit_that_ends_elsewhere_does_not_pass(swing):
    other = simulate(pendulum(), 10.0, q0=[0.0, -1.0], v0=[1.0, 0.0], **METHODS)
    with pytest.raises(UnitDiffers, match=r"^swing\.fmu: the end differs by .* from what simulate gives \(allowed 0\.0e\+00\)\.$"):
        check_unit(swing, (0.0, 10.0), lambda held=None: other, {}, same_bits=True)
    right = simulate(pendulum(), 10.0, **START, **METHODS, events={"wall": WALL})
    with pytest.raises(UnitDiffers, match=r"^swing\.fmu: the end after a step of its inputs differs by "):
        check_unit(swing, (0.0, 10.0), lambda held=None: right, {"push": 0.0}, same_bits=True)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_names_that_a_unit_cannot_have_are_spelled_otherwise(version, tmp_path):
    rod = {"rod \n two": lambda q: q @ q - 1.0}
    outputs = {'"<N> & \n': lambda q: q[0], '"<N> &  ': lambda q: q[1]}
    odd = System(mass=np.eye(2), force=[0, -9.81], constraint=rod, outputs=outputs)
    made = export_fmu(odd, 1.0, **START, **METHODS, path=tmp_path / "π for.fmu", version=version, check=True)
    assert made.name == "pi_for"
    assert [name for name in made.variables if name[0] in "yl"] == ['y."<N> &  ', 'y."<N> &  _', "lambda.rod   two"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"platforms": 5}, r"^platforms= is a list of names, such as \['linux-arm64'\], got 5\.$"),
        ({"platforms": ["linux-arm64"]}, r"^check=True runs the unit on this computer, and it is for linux-arm64 alone: name"),
        ({"name": 3}, r'^name= is a text, such as name="swing", got 3\.$'),
        ({"path": 5}, r"^export_fmu\(5\): give the path of a file, as text or Path\.$"),
        ({"path": "/dev/null/swing.fmu"}, r"^the folder /dev/null cannot be made|^/dev/null is a file, no folder\.$"),
    ],
)
def test_what_cannot_be_meant_by_a_unit_is_said(given, said, tmp_path):
    with pytest.raises(HolonomicError, match=said):
        export_fmu(pendulum(), 1.0, **START, **METHODS, **({"path": tmp_path / "swing.fmu", "check": True} | given))
    assert list(tmp_path.iterdir()) == []


def controlled():
    """A crank that a motor drives, with a spring on its slider that a stop throws back."""
    O, A, B = (0, 0), (0.25, 0.433), (1.686, 0)
    m = Mechanism(gravity=(0, -9.81))
    crank, link = m.body("crank", rod(O, A, mass=1.0)), m.body("link", rod(A, B, mass=2.0))
    slider = m.body("slider", at=B, mass=1.0)
    m.revolute("O", m.ground, crank, at=O)
    m.revolute("A", crank, link, at=A)
    m.revolute("B", link, slider, at=B)
    m.prismatic("guide", m.ground, slider, at=B, axis=(1, 0))
    m.input("torque", 0.0)
    m.motor("O", torque=lambda u, speed: u.torque - 2.0 * speed)
    m.output("reach", lambda slider: slider.position[0])
    return m


@pytest.mark.parametrize("version", ["3.0", pytest.param("2.0", marks=pytest.mark.slow)])
def test_a_driven_controlled_bouncing_mechanism_passes_its_check(version, tmp_path):
    machine = controlled()
    stop = Event(machine.quantity(lambda slider: slider.position[0] - 1.64), direction="falling", then=lambda q, v: (q, -0.5 * v))
    made = export_fmu(machine, 1.0, **METHODS, events={"stop": stop}, path=tmp_path / "crank.fmu", version=version, check=True)
    assert "joint.guide force y" in made.variables and "y.reach" in made.variables
    signal = np.array([(0.0, 5.0), (0.4, 5.0), (0.4, -5.0), (1.0, -5.0)], dtype=[("time", float), ("u.torque", float)])
    found = simulate_fmu(
        str(made.path), stop_time=1.0, output_interval=0.1, input=signal, output=["y.reach", "joint.A force x", "events.stop"]
    )
    stepper = Stepper(machine, **METHODS, events={"stop": stop})
    for k in range(1, 11):
        stepper.step(0.1 * k - stepper.t, u={"torque": 5.0 if k <= 4 else -5.0})
    assert found["y.reach"][-1] == pytest.approx(stepper.outputs["reach"], abs=1e-5)  # other first steps, rtol 1e-6
    assert found["joint.A force x"][-1] == pytest.approx(stepper.now["A"].force[-1, 0], rel=1e-3)
    assert found["events.stop"][-1] >= 1


@pytest.mark.slow
def test_a_terminal_event_ends_a_unit(tmp_path):
    for version in ("2.0", "3.0"):
        events = {"wall": Event(lambda q: q[0] + 0.5, terminal=True)}
        made = export_fmu(
            pendulum(), 10.0, **START, **METHODS, events=events, path=tmp_path / "stop.fmu", version=version, check=True
        )
        sol = simulate(pendulum(), 10.0, **START, **METHODS, events=events)
        found = simulate_fmu(str(made.path), stop_time=10.0, output_interval=0.5, output=["q.x"])
        assert found["time"][-1] <= sol.t[-1] + 0.5 and sol.ended == "wall"


def test_a_unit_holds_a_description_and_one_library(swing):
    inside = zipfile.ZipFile(swing.path).namelist()
    assert inside[0] == "modelDescription.xml" and len(inside) == 2
    assert re.fullmatch(r"binaries/(linux64|x86_64-linux|\w+-\w+)/swing\.(so|dll|dylib)", inside[1])
