"""Meshes of URDF files: every format gives the same triangles, and what cannot be read is named."""

import numpy as np
import pytest

from holonomic.multibody import meshes
from holonomic.multibody.meshes import MeshWarning, triangles_of

CORNERS = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], dtype=float)
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
WANTED = np.array([CORNERS[list(face)].ravel() for face in FACES])


def binary_stl(path):
    rows = np.zeros(len(FACES), dtype=np.dtype([("n", "<f4", 3), ("v", "<f4", 9), ("a", "<u2")]))
    rows["v"] = WANTED
    path.write_bytes(bytes(80) + len(FACES).to_bytes(4, "little") + rows.tobytes())


def text_stl(path):
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"vertex {x} {y} {z}\n" for x, y, z in CORNERS[list(face)])
        + "endloop\nendfacet\n"
        for face in FACES
    )
    path.write_text(f"solid pyramid\n{facets}endsolid\n", encoding="utf-8")


def obj(path):
    lines = [f"v {x} {y} {z}" for x, y, z in CORNERS] + [f"f {a + 1}/1 {b + 1}//2 {c - 4}" for a, b, c in FACES]
    path.write_text("\n".join(["# a pyramid", *lines]), encoding="utf-8")


def dae(path, up="Z_UP"):
    numbers = " ".join(map(str, CORNERS.ravel()))
    corners = " ".join(f"{k} 0" for face in FACES for k in face)
    path.write_text(
        f"""<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema">
        <asset><unit meter="1"/><up_axis>{up}</up_axis></asset>
        <library_geometries><geometry id="g"><mesh>
        <source id="p"><float_array id="pa" count="12">{numbers}</float_array></source>
        <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
        <triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" source="#n" offset="1"/>
        <p>{corners}</p></triangles></mesh></geometry></library_geometries>
        <library_visual_scenes><visual_scene id="s"><node><matrix>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</matrix>
        <instance_geometry url="#g"/></node></visual_scene></library_visual_scenes></COLLADA>""",
        encoding="utf-8",
    )


@pytest.mark.parametrize(("write", "suffix"), [(binary_stl, ".stl"), (text_stl, ".STL"), (obj, ".obj"), (dae, ".dae")])
def test_every_format_gives_the_same_triangles(tmp_path, write, suffix):
    path = tmp_path / f"pyramid{suffix}"
    write(path)
    assert triangles_of(str(path)) == pytest.approx(WANTED)
    assert triangles_of(str(path), (2.0, 2.0, 2.0)) == pytest.approx(2 * WANTED)


def test_collada_with_y_up_is_turned(tmp_path):
    dae(tmp_path / "pyramid.dae", "Y_UP")
    x, y, z = WANTED.reshape(-1, 3).T
    assert np.reshape(triangles_of(str(tmp_path / "pyramid.dae")), (-1, 3)) == pytest.approx(np.stack([x, -z, y], axis=1))


def test_a_mesh_with_very_many_triangles_is_drawn_as_its_hull(tmp_path, monkeypatch):
    monkeypatch.setattr(meshes, "MOST", 3)
    obj(tmp_path / "pyramid.obj")
    found = np.reshape(triangles_of(str(tmp_path / "pyramid.obj")), (-1, 3, 3))
    assert len(found) == 4
    normals = np.cross(found[:, 1] - found[:, 0], found[:, 2] - found[:, 0])
    outward = found.mean(axis=1) - CORNERS.mean(axis=0)
    assert np.all(np.einsum("ij,ij->i", normals, outward) > 0)


@pytest.mark.parametrize("name", ["missing.stl", "empty.stl", "broken.dae", "odd.xyz", "points.obj"])
def test_what_cannot_be_read_is_named_and_not_drawn(tmp_path, name):
    path = tmp_path / name
    if name != "missing.stl":
        path.write_text("v 0 0 0\n" if name == "points.obj" else "", encoding="utf-8")
    with pytest.warns(MeshWarning, match=name):
        assert triangles_of(str(path)) == []
