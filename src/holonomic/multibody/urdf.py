"""Mechanisms from URDF files: links become bodies, joints become joints, visuals are kept for drawing.

The tree is laid out with all joints at zero; that is the drawing. Loops, which URDF cannot state, are closed
in Python afterwards with `m.close`.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadArgument
from ..files import readable, reading
from ..model.refusals import warn
from . import shapes as sh
from .efforts import REACH

JOINTS = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "fixed", "planar": "planar"}


class UrdfWarning(UserWarning):
    """Something in a URDF file that could not be taken over."""


@dataclass
class Link:
    """A link of the file and where it stands with all joints at zero."""

    name: str
    element: ET.Element
    place: np.ndarray = field(default_factory=lambda: np.eye(4))
    body: Any = None  # the body it became, or is a part of


def fill(m, path, package_dirs, base: str, stops: float | None) -> None:
    """Read a file into an empty mechanism."""
    path = readable(path, "from_urdf")
    try:
        with reading(path):
            robot = ET.parse(path).getroot()
    except ET.ParseError as problem:
        raise BadArgument(f"{path} is not XML: {problem}. If it is a xacro file, run xacro on it first.") from None
    if robot.tag != "robot":
        raise BadArgument(f"{path} begins with <{robot.tag}>, not with <robot>: it is no URDF file.")
    macros = [each.tag for each in robot.iter() if "xacro" in str(each.tag)]
    macros += [value for each in robot.iter() for value in each.attrib.values() if "${" in value]
    if macros:
        raise BadArgument(f"{path} holds xacro, which is not expanded here ({macros[0]}). Run xacro on it first.")
    links = {name: Link(name, element) for name, element in _by_name(robot, "link", path).items()}
    joints = _by_name(robot, "joint", path)
    if "world" not in links and any(_parent(element) == "world" for element in joints.values()):
        links["world"] = Link("world", ET.Element("link"))  # some files leave the ground out
    children = {_end(element, "child", links): element for element in joints.values()}
    roots = [name for name in links if name not in children]
    if len(roots) != 1:
        raise BadArgument(f"{path} has {len(roots)} links without a parent ({', '.join(roots)}); a tree has one.")
    meshes = Meshes(path, package_dirs)
    root = links[roots[0]]
    if not isinstance(base, str) or base not in ("fixed", "free"):
        raise BadArgument(f'base={base!r}: choose "fixed" (the root link is the ground) or "free".')
    if base == "free":
        _body(m, root, meshes)
    else:
        root.body = m.ground
        _draw(root, meshes)
    named: dict[str, str] = {}  # joints of the file -> their names here
    for element in _from_root(root.name, joints, links):
        named[element.get("name")] = _join(m, element, links, meshes, stops)
    _couple(m, joints, named)


def _by_name(robot, what: str, path) -> dict[str, ET.Element]:
    """Elements by their names, which must differ."""
    found: dict[str, ET.Element] = {}
    for element in robot.findall(what):
        name = element.get("name")
        if not name:
            raise BadArgument(f"{path} has a <{what}> without a name. Write <{what} name=...>.")
        if name in found:
            raise BadArgument(f"{path} has two <{what}> with the name {name!r}. Rename one.")
        found[name] = element
    return found


def _own_name(m, name: str, what: str) -> str:
    """A name as it can be here: without dots, and a joint's other than a link's."""
    own = name.replace(".", "_").replace("[", "_")
    if what == "joint" and own in m.bodies:
        own = f"{own} joint"
    if own != name:
        warn(f"{what} {name!r} is called {own!r} here.", UrdfWarning)
    return own


def _from_root(root: str, joints, links):
    """Joints in an order in which every parent comes before its children."""
    waiting, known = list(joints.values()), {root}
    while waiting:
        ready = [element for element in waiting if _end(element, "parent", links) in known]
        if not ready:
            raise BadArgument(f"joint {waiting[0].get('name')!r} hangs in a loop of parents. Close loops with m.close.")
        for element in ready:
            yield element
            known.add(_end(element, "child", links))
            waiting.remove(element)


def _couple(m, joints, named: dict[str, str]) -> None:
    """Tie joints with <mimic> to those they follow: value = multiplier x value + offset."""
    at_zero = {}
    for name, element in joints.items():
        mimic = element.find("mimic")
        if mimic is None:
            continue
        where, leader = f"joint {name!r}", mimic.get("joint")
        if leader not in joints:
            raise BadArgument(f"{where} mimics {leader!r}, which is no joint of the file. There are: {', '.join(joints)}.")
        for each in (leader, name):
            if named[each] not in m.joints or m.joints[named[each]].coordinate is None:
                raise BadArgument(
                    f"{where} mimics {leader!r}, but joint {each!r} is {joints[each].get('type')} and has neither one angle nor "
                    "one position. Take <mimic> out."
                )
        ratio, offset = _number(mimic, "multiplier", 1.0, where), _number(mimic, "offset", 0.0, where)
        m.couple(f"{named[name]} mimic", named[leader], named[name], ratio=ratio, offset=offset)
        first = _first_leader(joints, name)
        if offset:
            at_zero[named[first]] = 0.0
    if at_zero:  # the file draws followers at zero, too: they come to their places, not their leaders
        m.assemble(at_zero)


def _first_leader(joints, name: str) -> str:
    """The joint at the head of a chain of <mimic>, which follows none."""
    chain = [name]
    while (mimic := joints[chain[-1]].find("mimic")) is not None and mimic.get("joint") in joints:
        if mimic.get("joint") in chain:
            raise BadArgument(f"joint {name!r}: <mimic> goes in a ring, {' <- '.join([*chain, mimic.get('joint')])}. Take one out.")
        chain.append(mimic.get("joint"))
    return chain[-1]


def _join(m, element, links, meshes, stops) -> str:
    """Add a joint and the link it carries; return the name that the joint has here."""
    name, kind = element.get("name"), element.get("type")
    parent, child = links[_end(element, "parent", links)], links[_end(element, "child", links)]
    where = f"joint {name!r}"
    child.place = parent.place @ _transform(element.find("origin"), where)
    at, axis = child.place[:3, 3], child.place[:3, :3] @ _numbers(element.find("axis"), "xyz", (1.0, 0.0, 0.0), where)
    if kind == "floating":
        _body(m, child, meshes)
        return name
    if kind not in JOINTS:
        raise BadArgument(f"joint {name!r} has the type {kind!r}; known are {', '.join(JOINTS)} and floating.")
    if kind == "fixed" and (child.element.find("inertial") is None or parent.body is m.ground):
        child.body = parent.body
        _draw(child, meshes)
        if child.name not in m._kinds()["point"] and child.name not in m.bodies:
            m.point(child.name, child.body, at)
        return name
    _body(m, child, meshes)
    how = {} if kind == "fixed" else {"axis": axis}
    name = _own_name(m, name, "joint")
    getattr(m, JOINTS[kind])(name, parent.body, child.body, at=at, **how)
    _limits(m, name, kind, element, stops)
    return name


def _limits(m, name, kind, element, stops) -> None:
    """Keep limits, and add friction and stops where they are wanted."""
    limit, dynamics = element.find("limit"), element.find("dynamics")
    if limit is not None and kind != "continuous":
        m.limits[name] = {key: _number(limit, key, default, f"joint {name!r}") for key, default in LIMITS.items()}
    if dynamics is not None and kind in ("revolute", "continuous", "prismatic"):
        damping, friction = (_number(dynamics, key, 0.0, f"joint {name!r}") for key in ("damping", "friction"))
        if damping or friction:
            m.friction(name, coulomb=friction, viscous=damping)
    if stops is not None and name in m.limits and kind in ("revolute", "prismatic"):
        lower, upper = m.limits[name]["lower"], m.limits[name]["upper"]
        if kind == "revolute" and upper - lower > 2 * REACH:
            warn(
                f"joint {name!r} has no stop: its limits leave {upper - lower:.4g} rad, and joints in space count no turns: at "
                f"most {2 * REACH:.4g} rad can be told apart.",
                UrdfWarning,
            )
            return
        m.stop(name, lower=lower, upper=upper, stiffness=stops)


LIMITS = {"lower": 0.0, "upper": 0.0, "effort": np.inf, "velocity": np.inf}


def _body(m, link: Link, meshes) -> None:
    inertial = link.element.find("inertial")
    if inertial is None:
        raise BadArgument(f"link {link.name!r} moves but has no <inertial>. Give it mass and inertia, or fix it to its parent.")
    where = f"link {link.name!r}"
    inside = _transform(inertial.find("origin"), where)
    mass, given = inertial.find("mass"), inertial.find("inertia")
    if mass is None or given is None:
        missing = "mass" if mass is None else "inertia"
        raise BadArgument(f"{where}: its <inertial> has no <{missing}>. Write <mass value=...> and <inertia ixx=...>.")
    mass = _number(mass, "value", None, where)
    keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    ixx, ixy, ixz, iyy, iyz, izz = (_number(given, key, 0.0, where) for key in keys)
    J = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    # the body's axes are those of the link; <inertial> states its numbers along axes of its own
    turned = inside[:3, :3] @ J @ inside[:3, :3].T if np.any(J) else None  # None: a point mass
    origin, axes = link.place[:3, 3], link.place[:3, :3]
    link.body = m.body(_own_name(m, link.name, "link"), at=origin, angle=axes, com=inside[:3, 3], mass=mass, inertia=turned)
    _draw(link, meshes)


def _draw(link: Link, meshes) -> None:
    """Keep what is seen of a link; it does not enter the inertia."""
    found = []
    for visual in link.element.findall("visual"):
        place = link.place @ _transform(visual.find("origin"))
        made = _shape(visual.find("geometry"), place, link.name, meshes)
        if made is not None:
            found.append(made)
    link.body.shapes = (*link.body.shapes, *found)
    if found and not link.body.is_ground:
        centre = np.array(link.body.position)
        reach = max(float(np.linalg.norm(np.subtract(shape.centre, centre))) + shape.size for shape in found)
        link.body.size = max(link.body.size, reach)


def _shape(geometry, place, name, meshes) -> sh.Shape | None:
    """A shape without mass from <geometry>; its axes are those of the file."""
    if geometry is None or not len(geometry):
        return None
    what, where = geometry[0], f"link {name!r}"
    centre, axes = tuple(place[:3, 3].tolist()), place[:3, :3]
    bare = lambda kind, size, outline: sh.Shape(kind, None, centre, axes, np.zeros((3, 3)), size, outline)
    if what.tag == "box":
        size = _numbers(what, "size", (1.0, 1.0, 1.0), where)
        return bare("box", float(np.linalg.norm(size)) / 2, {"size": tuple(size.tolist())})
    if what.tag == "sphere":
        radius = _number(what, "radius", None, where)
        return bare("sphere", radius, {"radius": radius})
    if what.tag == "cylinder":
        radius, length = (_number(what, key, None, where) for key in ("radius", "length"))
        along_z = axes @ np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])  # ours runs along x, URDF's along z
        outline = {"radius": radius, "length": length, "inner": 0.0}
        return sh.Shape("cylinder", None, centre, along_z, np.zeros((3, 3)), float(np.hypot(radius, length / 2)), outline)
    if what.tag == "mesh":
        file = meshes.find(what.get("filename"), name)
        return (
            None if file is None else bare("mesh", 0.0, {"file": file, "scale": tuple(_numbers(what, "scale", (1.0,) * 3, where))})
        )
    return None


class Meshes:
    """Where mesh files are."""

    def __init__(self, path: Path, package_dirs):
        given = [package_dirs] if isinstance(package_dirs, str | Path) else () if package_dirs is None else package_dirs
        if not isinstance(given, Iterable) or not all(isinstance(each, str | Path) for each in given):
            raise BadArgument(f"package_dirs= is a folder, or a list of folders, as text or Path; got {package_dirs!r}.")
        self.folders = [path.parent, *map(Path, given), *path.resolve().parents]

    def find(self, name: str | None, link: str) -> str | None:
        """Path of a mesh file, or None with a warning."""
        if not name:
            raise BadArgument(f"link {link!r}: its <mesh> has no filename=.")
        wanted = name.removeprefix("file://")
        if name.startswith("package://"):
            wanted = name.removeprefix("package://")
        for folder in self.folders:
            if (folder / wanted).is_file():
                return str(folder / wanted)
        warn(
            f"link {link!r}: its mesh {name!r} is not there, so it is not drawn; the motion does not need it. "
            "Pass package_dirs= with the folder that holds it.",
            UrdfWarning,
        )
        return None


def _parent(joint) -> str | None:
    element = joint.find("parent")
    return None if element is None else element.get("link")


def _end(joint, which: str, links) -> str:
    element = joint.find(which)
    name = None if element is None else element.get("link")
    if name not in links:
        raise BadArgument(f"joint {joint.get('name')!r} has the {which} link {name!r}, which is not in the file.")
    return name


def _numbers(element, key: str, default, where: str = "the file") -> np.ndarray:
    """Three numbers of an attribute."""
    text = None if element is None else element.get(key)
    if text is None:
        return np.array(default)
    try:
        found = np.array([float(part) for part in text.split()])
    except ValueError:
        found = np.zeros(0)
    if len(found) != len(default):
        raise BadArgument(f'{where}: <{element.tag} {key}="{text}"> must be {len(default)} numbers.')
    return found


def _number(element, key: str, default, where: str) -> float:
    text = element.get(key)
    try:
        return float(default if text is None else text)
    except (TypeError, ValueError):
        shown = f"has no {key}=" if text is None else f'{key}="{text}" is not a number'
        raise BadArgument(f'{where}: <{element.tag}> {shown}. Write for example {key}="1.0".') from None


def _transform(origin, where: str = "the file") -> np.ndarray:
    """4 x 4 matrix of <origin xyz rpy>: roll about x, then pitch about y, then yaw about z, all fixed axes."""
    roll, pitch, yaw = _numbers(origin, "rpy", (0.0, 0.0, 0.0), where)
    (cr, sr), (cp, sp), (cy, sy) = ((np.cos(angle), np.sin(angle)) for angle in (roll, pitch, yaw))
    made = np.eye(4)
    made[:3, :3] = (
        np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
        @ np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
        @ np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    )
    made[:3, 3] = _numbers(origin, "xyz", (0.0, 0.0, 0.0), where)
    return made
