"""Files that were written once load for ever: samples of every format, as they were written, with the numbers they had."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from holonomic import BadArgument, System, load, sweep
from holonomic.results import saving
from holonomic.sweeping import store_files

DATA = Path(__file__).parents[1] / "data"
RUNS = {kind: sorted(DATA.glob(f"run-*-{kind}.nc")) for kind in ("system", "impacts", "mechanism", "ode", "dae")}
STORES = sorted(DATA.glob("store-*.zip"))


def samples(kind: str):
    return pytest.mark.parametrize("path", RUNS[kind], ids=lambda path: path.stem)


def test_every_sample_is_loaded_and_every_format_has_all_kinds():
    looked_at = {*STORES, *(path for paths in RUNS.values() for path in paths)}
    assert {path for path in DATA.iterdir() if path.suffix in (".nc", ".zip")} == looked_at
    formats = {kind: {path.name.split("-")[1] for path in paths} for kind, paths in RUNS.items()}
    assert all(str(saving.FORMAT) in found for found in formats.values())
    assert str(store_files.FORMAT) in {path.stem.split("-")[1] for path in STORES}


@samples("system")
def test_a_system_with_events_and_outputs(path):
    sol = load(path)
    assert sol.ended == "time" and len(sol.t) == 18 and sol.t[-1] == 0.1 * 17
    assert sol.q[-1].tolist() == [-0.3268560788941082, -0.9450741260292681]
    assert sol["height"][3] == -0.4246814145648518 and sol["rod"][2] == 5.729938493213014
    assert sol.events["low"].t.tolist() == [0.5919604896606167] and sol.events["time"].t.tolist() == [1.75]
    assert sol.reactions[-1].tolist() == [18.182043077577642, 52.571696170090526]
    assert sol.energy.total[0] == 0.0 and sol.drift["position"].max() < 1e-12 and sol.stats["steps"] == 22
    assert np.allclose(sol(0.73).q, [-0.55877095, -0.82932203], atol=2e-4)  # a fine run; cubic between times 0.1 s apart
    assert sol.provenance.integrator == "DOP853()" and sol.provenance.versions["holonomic"]
    assert "Index1()" in sol.plan.why() and "reached" not in repr(sol).splitlines()[0]


@samples("impacts")
def test_impacts_and_states(path):
    sol = load(path)
    assert sol.q[-1, 0] == 0.013684362285066271 and sol["way"][-1] == 3.945887314678058
    assert sol.events["floor"].t.tolist() == [0.4515236409857307, 1.2642661947600466, 1.995734493156931]
    assert sol.events["floor"].impulses.shape == (3, 1)


@samples("mechanism")
def test_a_mechanism_with_forces_of_its_joints(path):
    sol = load(path)
    assert sol["O"].force[-1].tolist() == [0.18042595738799017, 2.4539749430184306]
    assert sol["bar"].position[-1].tolist() == [-0.4999832940687248, -0.004087254847332646]


@samples("ode")
def test_an_ode(path):
    sol = load(path)
    assert sol.y[-1].tolist() == [-0.9899924892313741, -0.14112005975575415]
    assert list(sol.drift) == ["r"]


@samples("dae")
def test_a_dae(path):
    sol = load(path)
    assert sol.x[-1].tolist() == [-0.986291740133345, -0.16501091886520258]
    assert sol.y[-1].tolist() == [2.4281348007754255]


@pytest.mark.parametrize("path", [path for paths in RUNS.values() for path in paths], ids=lambda path: path.stem)
def test_a_loaded_sample_can_be_saved_again(path, tmp_path):
    sol = load(path)
    sol.save(tmp_path / "again.nc")
    assert np.array_equal(load(tmp_path / "again.nc").q, sol.q)


@pytest.mark.parametrize("path", STORES, ids=lambda path: path.stem)
def test_a_store_is_read_by_xarray(path, tmp_path):
    xarray = pytest.importorskip("xarray", reason="extra store")
    pytest.importorskip("zarr", reason="extra store")
    shutil.unpack_archive(path, tmp_path)
    found = xarray.open_zarr(tmp_path / "store")
    assert found.q.shape == (3, 5, 2) and found.param_g.values.tolist() == [1.0, 2.0, 9.81]
    assert found.time.values.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0] and found.status.values.tolist() == [1, 1, 1]
    assert found.q.values[2, 2].tolist() == [0.391048798796051, -0.9203699457067064]
    known = found.attrs["holonomic"]
    assert known["labels"] == {"coordinate": ["x", "y"], "row": ["rod"], "event": ["low"]}
    assert known["members"] == 3 and known["plan"] == "Index1() + DOP853() + Projection()"
    assert known["provenance"]["integrator"] == "DOP853()"


def test_a_run_of_a_newer_format_gets_a_sentence(monkeypatch):
    path = RUNS["ode"][-1]
    monkeypatch.setattr(saving, "FORMAT", 1)
    with pytest.raises(BadArgument) as caught:
        load(path)
    assert str(caught.value) == (f"{path} was written by a newer holonomic (format 2, known up to 1). Update holonomic to read it.")


def test_a_store_of_a_newer_format_gets_a_sentence(tmp_path):
    pytest.importorskip("zarr", reason="extra store")
    call = {"q0": [1.0], "v0": [0.0], "params": {"k": [1.0, 2.0]}, "store": tmp_path / "runs"}
    spring = System(mass=[[1.0]], force=lambda q, p: -p.k * q, params={"k": 1.0})
    sweep(spring, 1.0, **call)
    file = tmp_path / "runs" / "status" / "journal" / "identity.json"
    known = store_files.unsealed(json.loads(file.read_bytes()))
    newer = re.sub(r'"format": \d+', '"format": 9', known)
    file.write_bytes(store_files.sealed(newer))
    with pytest.raises(BadArgument) as caught:
        sweep(spring, 1.0, **call, resume=True)
    assert str(caught.value) == (
        f"store={str(tmp_path / 'runs')!r} was written by a newer holonomic (format 9, known up to {store_files.FORMAT}). Update "
        "holonomic to go on with it."
    )
