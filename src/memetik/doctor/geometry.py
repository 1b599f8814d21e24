"""Whether shapes, meshes and materials are there and of a size that fits the robot."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from memetik.doctor.bodies import Size
from memetik.doctor.subject import Subject
from memetik.errors import GeometryError
from memetik.files.xml_tree import Element
from memetik.geometry.mesh_files import load_mesh
from memetik.geometry.primitives import half_extents
from memetik.geometry.shapes import Mesh, TriangleMesh
from memetik.robot.description import Geometry
from memetik.robot.findings import Place

TOO_LARGE = 30.0
"""A mesh more than this many times the robot's reach is off by a factor, not merely large."""

TOO_SMALL = 1e-3
"""A mesh less than this part of the robot's reach is off by a factor, not merely small."""


def check_geometry(subject: Subject) -> dict[str, Size]:
    """Report missing, unreadable and ill-scaled meshes. Returns centre and diameter of each link's geometry."""
    reach = subject.reach()
    sizes: dict[str, Size] = {}
    for link in subject.description.links:
        corners = [
            _corners(subject, geometry, f"{role} of link {link.name!r}", reach)
            for role, geometries in (("collision", link.collisions), ("visual", link.visuals))
            for geometry in geometries
        ]
        found = [points for points in corners if points is not None]
        if found:
            points = np.concatenate(found)
            low, high = points.min(axis=0), points.max(axis=0)
            sizes[link.name] = (0.5 * (low + high), float(np.linalg.norm(high - low)))
    _check_collision_geometry(subject)
    return sizes


def check_materials(subject: Subject, root: Element) -> None:
    """Materials that are used and not defined, or defined and not used."""
    used = {_text(element, "name") for _, element in _used_materials(root)}
    defined = {_text(element, "name") for element in root.all("material")}
    defined |= {_text(element, "name") for _, element in _used_materials(root) if element.children}
    for element in root.all("material"):
        name = _text(element, "name")
        if name not in used:
            place = Place(subject.file, element.line, f"material {name!r}")
            message = f"material {name!r} is defined and not used."
            subject.report.add("unused-material", place, message, "Remove it, or use it.")
    for link, element in _used_materials(root):
        name = _text(element, "name")
        if name and name not in defined:
            place = Place(subject.file, element.line, f"link {link!r}")
            message = f"material {name!r} is used by link {link!r} and defined nowhere."
            subject.report.add("unknown-material", place, message, "Define it with <color> or <texture>.")


def check_references(subject: Subject, root: Element) -> None:
    """Transmissions and simulator tags that refer to joints or links that do not exist."""
    for element in root.all("transmission"):
        for joint in element.all("joint"):
            name = _text(joint, "name")
            if name and name not in subject.joints:
                place = Place(subject.file, joint.line, "transmission")
                message = f"a transmission drives joint {name!r}, which does not exist."
                remedy = "Correct the name or remove the transmission."
                subject.report.add("unknown-reference", place, message, remedy)
    for element in root.all("gazebo"):
        name = _text(element, "reference")
        if name and name not in subject.joints and name not in subject.links:
            place = Place(subject.file, element.line, "gazebo")
            message = f"a <gazebo> tag refers to {name!r}, which is neither link nor joint."
            subject.report.add("unknown-reference", place, message, "Correct the name or remove the tag.")


def _text(element: Element, attribute: str) -> str:
    return element.attributes.get(attribute, "").strip()


def _used_materials(root: Element) -> Iterator[tuple[str, Element]]:
    for link in root.all("link"):
        for shape in link.children:
            for material in shape.all("material"):
                yield _text(link, "name"), material


def _corners(subject: Subject, geometry: Geometry, owner: str, reach: float) -> np.ndarray | None:
    """The corners of a shape's bounding box in the link's frame; None where the shape cannot be read."""
    shape = geometry.shape
    if isinstance(shape, Mesh):
        bounds = _mesh_bounds(subject, geometry, shape, owner, reach)
        if bounds is None:
            return None
        low, high = bounds
    elif isinstance(shape, TriangleMesh):
        low, high = shape.bounds
    else:
        high = half_extents(shape)
        low = -high
    corners = np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])
    return corners @ geometry.origin[:3, :3].T + geometry.origin[:3, 3]


def _mesh_bounds(
    subject: Subject, geometry: Geometry, mesh: Mesh, owner: str, reach: float
) -> tuple[np.ndarray, np.ndarray] | None:
    def add(code: str, message: str, remedy: str) -> None:
        subject.add(code, geometry, message, remedy, owner)

    name = f"mesh {mesh.uri!r} of the {owner}"
    if mesh.path is None:
        remedy = "Correct the path, or say where its package is with --search-path or ROS_PACKAGE_PATH."
        add("missing-mesh", f"{name} cannot be found.", remedy)
        return None
    if 0.0 in mesh.scale:
        add("bad-shape", f"{name} has a scale of 0.", "Write scale factors that are not zero.")
        return None
    try:
        vertices = load_mesh(mesh).vertices
    except GeometryError as error:
        add("unreadable-mesh", str(error), "Export it again, for instance as binary STL.")
        return None
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    diagonal = float(np.linalg.norm(high - low))
    # A robot without any reach tells nothing about the size of its meshes.
    if reach >= 1e-3 and not TOO_SMALL * reach <= diagonal <= TOO_LARGE * reach:
        factors = " ".join(f"{v:g}" for v in mesh.scale)
        message = (
            f"{name} measures {diagonal:.3g} m, and the robot's joints reach {reach:.3g} m; its scale is {factors}."
        )
        too_large = 'A mesh in millimetres needs scale="0.001 0.001 0.001".'
        too_small = "A mesh in metres needs no scale; remove the factor 0.001."
        add("mesh-scale", message, too_large if diagonal > reach else too_small)
        return None
    return low, high


def _check_collision_geometry(subject: Subject) -> None:
    links = subject.description.links
    seen = [link for link in links if link.visuals and not link.collisions]
    if seen and not any(link.collisions for link in links):
        message = "no link has collision geometry: the robot never collides."
        subject.add("no-collision-geometry", subject.description, message, "Give each link a <collision>.")
        return
    for link in seen:
        message = f"link {link.name!r} is seen and has no collision geometry: it never collides."
        subject.add("no-collision-geometry", link, message, "Give it a <collision>, unless that is meant.")
