"""Whether shapes, meshes and materials are there and of a size that fits the robot."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from memetik.errors import GeometryError
from memetik.robot.doctor.facts import GeometryFacts, LinkFacts, RobotFacts, primitive_bounds
from memetik.robot.doctor.finding import Place, Report
from memetik.robot.doctor.mesh_files import read_triangles
from memetik.robot.shapes import Mesh
from memetik.robot.xmltree import Element

TOO_LARGE = 30.0
"""A mesh more than this many times the robot's reach is off by a factor, not merely large."""

TOO_SMALL = 1e-3
"""A mesh less than this part of the robot's reach is off by a factor, not merely small."""


def check_geometry(facts: RobotFacts, report: Report) -> dict[str, tuple[np.ndarray, float]]:
    """Report missing, unreadable and ill-scaled meshes. Returns centre and diameter of each link's geometry."""
    reach = facts.reach()
    sizes = {}
    for link in facts.links:
        corners = [_corners(geometry, reach, report) for geometry in (*link.collisions, *link.visuals)]
        found = [points for points in corners if points is not None]
        if found:
            points = np.concatenate(found)
            low, high = points.min(axis=0), points.max(axis=0)
            sizes[link.name] = (0.5 * (low + high), float(np.linalg.norm(high - low)))
    _check_collision_geometry(facts, report)
    return sizes


def check_materials(root: Element, report: Report, file: str, first_line: int = 0) -> None:
    """Materials that are used and not defined, or defined and not used."""

    def place(element: Element, owner: str) -> Place:
        return Place(file, element.line + first_line, owner)

    used = {e.attributes.get("name", "") for _, e in _used_materials(root)}
    defined = {e.attributes.get("name", "") for e in root.all("material")}
    defined |= {e.attributes.get("name", "") for _, e in _used_materials(root) if e.children}
    for element in root.all("material"):
        name = element.attributes.get("name", "")
        if name not in used:
            message = f"material {name!r} is defined and not used."
            report.add("unused-material", place(element, f"material {name!r}"), message, "Remove it, or use it.")
    for link, element in _used_materials(root):
        name = element.attributes.get("name", "")
        if name and name not in defined:
            message = f"material {name!r} is used by link {link!r} and defined nowhere."
            report.add(
                "unknown-material", place(element, f"link {link!r}"), message, "Define it with <color> or <texture>."
            )


def check_references(root: Element, facts: RobotFacts, report: Report, file: str, first_line: int = 0) -> None:
    """Transmissions and simulator tags that refer to joints or links that do not exist."""
    joints = set(facts.joints_by_name())
    known = joints | facts.link_names()
    for element in root.all("transmission"):
        for joint in element.all("joint"):
            name = joint.attributes.get("name", "").strip()
            if name and name not in joints:
                place = Place(file, joint.line + first_line, "transmission")
                message = f"a transmission drives joint {name!r}, which does not exist."
                report.add("unknown-reference", place, message, "Correct the name or remove the transmission.")
    for element in root.all("gazebo"):
        name = element.attributes.get("reference", "").strip()
        if name and name not in known:
            place = Place(file, element.line + first_line, "gazebo")
            message = f"a <gazebo> tag refers to {name!r}, which is neither link nor joint."
            report.add("unknown-reference", place, message, "Correct the name or remove the tag.")


def _used_materials(root: Element) -> Iterator[tuple[str, Element]]:
    for link in root.all("link"):
        for shape in link.children:
            for material in shape.all("material"):
                yield link.attributes.get("name", ""), material


def _corners(geometry: GeometryFacts, reach: float, report: Report) -> np.ndarray | None:
    """The corners of a shape's bounding box in the link's frame; None where the shape cannot be read."""
    shape = geometry.shape
    if shape is None:
        return None
    bounds = _mesh_bounds(geometry, shape, report) if isinstance(shape, Mesh) else primitive_bounds(shape)
    if bounds is None:
        return None
    low, high = bounds
    if isinstance(shape, Mesh) and not _check_scale(geometry, shape, float(np.linalg.norm(high - low)), reach, report):
        return None
    corners = np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])
    return corners @ geometry.origin[:3, :3].T + geometry.origin[:3, 3]


def _mesh_bounds(geometry: GeometryFacts, mesh: Mesh, report: Report) -> tuple[np.ndarray, np.ndarray] | None:
    if mesh.path is None:
        message = f"mesh {mesh.uri!r} of the {geometry.place.element} cannot be found."
        remedy = "Correct the path, or say where its package is with --search-path or ROS_PACKAGE_PATH."
        report.add("missing-mesh", geometry.place, message, remedy)
        return None
    if 0.0 in mesh.scale:
        message = f"mesh {mesh.uri!r} of the {geometry.place.element} has a scale of 0."
        report.add("bad-shape", geometry.place, message, "Write scale factors that are not zero.")
        return None
    try:
        vertices, _ = read_triangles(mesh.path)
    except GeometryError as error:
        report.add("unreadable-mesh", geometry.place, str(error), "Export it again, for instance as binary STL.")
        return None
    scaled = vertices * np.array(mesh.scale)
    return scaled.min(axis=0), scaled.max(axis=0)


def _check_scale(geometry: GeometryFacts, mesh: Mesh, diagonal: float, reach: float, report: Report) -> bool:
    """Whether a mesh's size fits the robot's reach. A robot without any reach tells nothing."""
    if reach < 1e-3:
        return True
    owner = geometry.place.element
    written = f"mesh {mesh.uri!r} of the {owner} measures {diagonal:.3g} m, and the robot's joints reach {reach:.3g} m"
    factors = " ".join(f"{v:g}" for v in mesh.scale)
    if diagonal > TOO_LARGE * reach:
        message = f"{written}; its scale is {factors}."
        report.add("mesh-scale", geometry.place, message, 'A mesh in millimetres needs scale="0.001 0.001 0.001".')
        return False
    if diagonal < TOO_SMALL * reach:
        message = f"{written}; its scale is {factors}."
        report.add("mesh-scale", geometry.place, message, "A mesh in metres needs no scale; remove the factor 0.001.")
        return False
    return True


def _check_collision_geometry(facts: RobotFacts, report: Report) -> None:
    seen = [link for link in facts.links if link.visuals and not link.collisions]
    if not any(link.collisions for link in facts.links):
        if seen:
            message = "no link has collision geometry: the robot never collides."
            report.add("no-collision-geometry", facts.place, message, "Give each link a <collision>.")
        return
    for link in seen:
        _report_no_collision(link, report)


def _report_no_collision(link: LinkFacts, report: Report) -> None:
    message = f"link {link.name!r} is seen and has no collision geometry: it never collides."
    report.add("no-collision-geometry", link.place, message, "Give it a <collision>, unless that is meant.")
