"""Triangles of mesh files, for drawing alone: STL (binary and text), OBJ and COLLADA.

A mesh with very many triangles is drawn as its convex hull.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

from ..model.refusals import warn

MOST = 20_000  # triangles of one mesh; more make the page large and say nothing more


class MeshWarning(UserWarning):
    """A mesh that is not drawn, or not as it is."""


def triangles_of(file: str, scale=(1.0, 1.0, 1.0)) -> list[list[float]]:
    """Return the corners of a mesh's triangles, nine numbers each; none, with a warning, where it cannot be read."""
    path = Path(file)
    reader = READERS.get(path.suffix.lower())
    try:
        if reader is None:
            raise ValueError(f"files {path.suffix or 'without a suffix'} are not read, only {', '.join(READERS)}")
        found = np.asarray(reader(path), dtype=float).reshape(-1, 3, 3) * np.asarray(scale, dtype=float)
        if not len(found) or not np.all(np.isfinite(found)):
            raise ValueError("it has no triangles, or some that are not finite")
    except (OSError, ValueError, IndexError, KeyError, AttributeError, ET.ParseError) as problem:
        warn(f"the mesh {path.name} is not drawn: {problem}.", MeshWarning)
        return []
    if len(found) > MOST:
        found = _hull(found)
    return found.reshape(-1, 9).tolist()


def _hull(triangles: np.ndarray) -> np.ndarray:
    """Triangles of the convex hull, each with its corners counterclockwise seen from outside."""
    from scipy.spatial import ConvexHull

    points = triangles.reshape(-1, 3)
    hull = ConvexHull(points)
    corners = points[hull.simplices]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("ij,ij->i", normals, hull.equations[:, :3]) < 0
    corners[inward] = corners[inward][:, ::-1]
    return corners


def _stl(path: Path) -> np.ndarray:
    raw = path.read_bytes()
    count = int.from_bytes(raw[80:84], "little") if len(raw) >= 84 else 0
    if len(raw) == 84 + 50 * count and count:
        rows = np.frombuffer(raw, dtype=np.dtype([("f", "<f4", 12), ("a", "<u2")]), offset=84)
        return rows["f"][:, 3:]
    numbers = re.findall(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)", raw)
    return np.array(numbers, dtype=float)


def _obj(path: Path) -> list:
    corners, found = [], []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        word, *rest = line.split() or [""]
        if word == "v":
            corners.append([float(part) for part in rest[:3]])
        elif word == "f":
            at = [int(part.split("/")[0]) for part in rest]
            face = [corners[i - 1 if i > 0 else i] for i in at]
            found += [[face[0], face[i], face[i + 1]] for i in range(1, len(face) - 1)]
    return found


def _dae(path: Path) -> np.ndarray:
    """Triangles of all geometries of a COLLADA file, placed by the nodes of its scene, in metres, z up."""
    root = ET.parse(path).getroot()
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    ids = {element.get("id"): element for element in root.iter() if element.get("id")}
    unit = root.find("asset/unit")
    top = np.eye(4) * (float(unit.get("meter", 1.0)) if unit is not None else 1.0)
    up = (root.findtext("asset/up_axis") or "Y_UP").strip()
    if up == "Y_UP":
        top[:3, :3] = top[:3, :3] @ np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    top[3, 3] = 1.0
    found: list[np.ndarray] = []

    def walk(node, place):
        for matrix in node.findall("matrix"):
            place = place @ np.array(matrix.text.split(), dtype=float).reshape(4, 4)
        for instance in node.findall("instance_geometry"):
            corners = _geometry(ids[instance.get("url")[1:]], ids)
            found.append(corners @ place[:3, :3].T + place[:3, 3])
        for child in node.findall("node"):
            walk(child, place)

    for scene in root.iter("visual_scene"):
        for node in scene.findall("node"):
            walk(node, top)
    return np.concatenate(found) if found else np.zeros((0, 3))


def _geometry(geometry, ids) -> np.ndarray:
    """Corners of all triangles of one geometry, three rows each; its polygons are cut into fans."""
    corners = []
    for kind in ("triangles", "polylist"):
        for part in geometry.iter(kind):
            inputs = {each.get("semantic"): each for each in part.findall("input")}
            width = 1 + max(int(each.get("offset", 0)) for each in inputs.values())
            vertex = inputs["VERTEX"]
            source = ids[ids[vertex.get("source")[1:]].find("input[@semantic='POSITION']").get("source")[1:]]
            places = np.array(source.find("float_array").text.split(), dtype=float).reshape(-1, 3)
            rows = np.array(part.find("p").text.split(), dtype=int).reshape(-1, width)[:, int(vertex.get("offset", 0))]
            counts = part.findtext("vcount")
            sizes = [3] * (len(rows) // 3) if counts is None else [int(n) for n in counts.split()]
            at = 0
            for size in sizes:
                fan = rows[at : at + size]
                corners += [places[[fan[0], fan[i], fan[i + 1]]] for i in range(1, size - 1)]
                at += size
    return np.concatenate(corners) if corners else np.zeros((0, 3))


READERS = {".stl": _stl, ".obj": _obj, ".dae": _dae}
