"""A Description becomes URDF text that memetik reads back as it was, and other programs read as far as URDF goes.

A joint that URDF cannot express (spherical, cylindrical, anchored, reversed, limits per axis) is written twice: as a
chain of plain one-axis joints with massless links in between, for everyone, and in the <memetik> element, from
which memetik restores it (see `memetik.robot.readers.urdf`). The pose of the root in the world is kept there too.
A capsule, which most readers of URDF drop, is written as a cylinder and two spheres; the <memetik> element says that
the three are one. What SRDF says is not written.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal
from xml.etree import ElementTree

import numpy as np

from memetik.errors import DescriptionError
from memetik.files.xml_tree import NO_LIMIT
from memetik.geometry.shapes import Box, Capsule, Cylinder, Mesh, Sphere, TriangleMesh
from memetik.geometry.transforms import pose, rpy_from_rotation
from memetik.robot.description import LIMIT_NAMES, Description, Geometry, Joint, Link, Mimic
from memetik.robot.readers.urdf import EXTENSION_VERSION
from memetik.robot.readers.urdf_capsules import capsule_parts
from memetik.robot.tree import Motion, joint_steps

logger = logging.getLogger(__name__)

_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def write_urdf(description: Description, *, meshes: Literal["found", "given"] = "found") -> str:
    """URDF text of a description.

    meshes: "found" refers to mesh files by the paths found for them, so that the text can be stored anywhere on this
    machine; "given" keeps the references that the description was read with.
    """
    return _Writer(description, meshes).text()


class _Writer:
    def __init__(self, description: Description, meshes: str):
        self.description, self.meshes = description, meshes
        self.root = ElementTree.Element("robot", name=description.name)
        self.extension = ElementTree.Element("memetik", version=EXTENSION_VERSION)
        self.taken = {link.name for link in description.links} | {joint.name for joint in description.joints}
        self.materials: dict[tuple[float, ...], str] = {}

    def text(self) -> str:
        for link in self.description.links:
            self.link(link)
        for joint in self.description.joints:
            if _is_plain(joint):
                write_joint(self.root, joint)
            else:
                self.extended_joint(joint)
        if not np.array_equal(self.description.base, np.eye(4)):
            _origin(ElementTree.SubElement(self.extension, "base"), self.description.base)
        if len(self.extension):
            self.root.append(self.extension)
        for element in self.root.iter():
            for value in element.attrib.values():
                if _UNWRITABLE.search(value):
                    raise DescriptionError(f"{value!r} holds characters that XML cannot express; rename it.")
        ElementTree.indent(self.root)
        return '<?xml version="1.0"?>\n' + ElementTree.tostring(self.root, encoding="unicode") + "\n"

    def link(self, link: Link) -> None:
        element = ElementTree.SubElement(self.root, "link", name=link.name)
        if link.inertial is not None:
            inertial = ElementTree.SubElement(element, "inertial")
            ElementTree.SubElement(inertial, "origin", xyz=_numbers(link.inertial.com), rpy="0 0 0")
            ElementTree.SubElement(inertial, "mass", value=_number(link.inertial.mass))
            matrix = link.inertial.inertia
            entries = {f"i{'xyz'[r]}{'xyz'[c]}": _number(matrix[r, c]) for r in range(3) for c in range(r, 3)}
            ElementTree.SubElement(inertial, "inertia", entries)
        for tag, geometries in (("visual", link.visuals), ("collision", link.collisions)):
            written = 0
            for geometry in geometries:
                shape = geometry.shape
                parts = capsule_parts(geometry, shape) if isinstance(shape, Capsule) else [geometry]
                for part in parts:
                    self.geometry(element, tag, part)
                if len(parts) > 1:
                    place = {"link": link.name, "of": tag, "first": str(written)}
                    ElementTree.SubElement(self.extension, "capsule", place)
                written += len(parts)

    def geometry(self, link: ElementTree.Element, tag: str, geometry: Geometry) -> None:
        if isinstance(geometry.shape, TriangleMesh):
            geometry = _boxed(geometry, geometry.shape)
        element = ElementTree.SubElement(link, tag, {"name": geometry.name} if geometry.name else {})
        _origin(element, geometry.origin)
        holder = ElementTree.SubElement(element, "geometry")
        match geometry.shape:
            case Box(size):
                ElementTree.SubElement(holder, "box", size=_numbers(size))
            case Sphere(radius):
                ElementTree.SubElement(holder, "sphere", radius=_number(radius))
            case Cylinder(radius, length):
                ElementTree.SubElement(holder, "cylinder", radius=_number(radius), length=_number(length))
            case Mesh(uri, path, scale):
                reference = f"file://{path}" if self.meshes == "found" and path is not None else uri
                ElementTree.SubElement(holder, "mesh", filename=reference, scale=_numbers(scale))
        if geometry.color is not None:
            name = self.materials.setdefault(geometry.color, f"color{len(self.materials) + 1}")
            material = ElementTree.SubElement(element, "material", name=name)
            ElementTree.SubElement(material, "color", rgba=_numbers(geometry.color))

    def extended_joint(self, joint: Joint) -> None:
        entry = write_joint(self.extension, joint)
        if joint.traits.in_urdf and joint.axes > 1 and not joint.reversed and not any(joint.anchor):
            bare = Joint(joint.name, joint.kind, joint.parent, joint.child, origin=joint.origin, axis=joint.axis)
            write_joint(self.root, bare)
            ElementTree.SubElement(entry, "replaces", joint=joint.name)
            return
        for plain in self.chain(joint):
            write_joint(self.root, plain)
            replaced = {"joint": plain.name}
            if plain.child != joint.child:
                ElementTree.SubElement(self.root, "link", name=plain.child)
                replaced["link"] = plain.child
            ElementTree.SubElement(entry, "replaces", replaced)

    def chain(self, joint: Joint) -> list[Joint]:
        """Plain joints from the joint's parent to its child, one per elementary motion, that move as it does."""
        chain: list[Joint] = []
        names: dict[int, str] = {}
        parent, pending = joint.parent, np.eye(4)
        for step in joint_steps(joint):
            if not isinstance(step, Motion):
                pending = pending @ step
                continue
            k = step.entry
            repeated = k in names
            name = joint.axis_names[k] if joint.axes > 1 else joint.name
            if repeated or (joint.axes > 1 and name in self.taken):
                name = self.free_name(f"{name}/again" if repeated else name)
            self.taken.add(name)
            free = math.isinf(joint.lower[k]) and math.isinf(joint.upper[k])
            mimic = joint.mimic if joint.axes == 1 else None
            x, y, z = (step.sign * v for v in step.axis)
            plain = Joint(
                name=name,
                kind="prismatic" if step.prismatic else "continuous" if free else "revolute",
                parent=parent,
                child=self.free_name(f"{name}/link"),
                origin=pending,
                axis=(x, y, z),
                mimic=Mimic(names[k]) if repeated else mimic,
                **{limit: getattr(joint, limit)[k : k + 1] for limit in LIMIT_NAMES},
            )
            names.setdefault(k, name)
            chain.append(plain)
            parent, pending = plain.child, np.eye(4)
        chain.append(Joint(self.free_name(f"{joint.name}/fixed"), "fixed", parent, joint.child, origin=pending))
        return chain

    def free_name(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name


def _is_plain(joint: Joint) -> bool:
    """Whether URDF expresses the joint by itself."""
    if joint.reversed or any(joint.anchor):
        return False
    if joint.axes > 1 and joint.traits.in_urdf:
        limited = any(math.isfinite(v) for name in LIMIT_NAMES for v in getattr(joint, name))
        return not limited and joint.rotation_order == "xyz"
    return joint.traits.in_urdf


def write_joint(parent: ElementTree.Element, joint: Joint) -> ElementTree.Element:
    """Append a <joint>, with the extensions where it needs them."""
    attributes = {"name": joint.name, "type": joint.kind}
    if joint.rotation_order != "xyz":
        attributes["rotation_order"] = joint.rotation_order
    if joint.swing_twist:
        attributes["swing_twist"] = "true"
    if joint.reversed:
        attributes["reversed"] = "true"
    element = ElementTree.SubElement(parent, "joint", attributes)
    _origin(element, joint.origin)
    ElementTree.SubElement(element, "parent", link=joint.parent)
    ElementTree.SubElement(element, "child", link=joint.child)
    if joint.kind != "fixed":
        ElementTree.SubElement(element, "axis", xyz=_numbers(joint.axis))
    if any(joint.anchor):
        ElementTree.SubElement(element, "anchor", xyz=_numbers(joint.anchor))
    _limits(element, joint)
    if joint.mimic is not None:
        mimic = joint.mimic
        attributes = {"joint": mimic.joint, "multiplier": _number(mimic.multiplier), "offset": _number(mimic.offset)}
        ElementTree.SubElement(element, "mimic", attributes)
    return element


def _limits(element: ElementTree.Element, joint: Joint) -> None:
    values = {name: getattr(joint, name) for name in LIMIT_NAMES}
    if not joint.traits.bounded:
        values["lower"] = values["upper"] = (math.inf,)
    given = {name: _numbers(v) for name, v in values.items() if any(math.isfinite(x) for x in v)}
    soft = "soft_lower" in given or "soft_upper" in given
    if joint.traits.needs_limits or any(name in given for name in LIMIT_NAMES[:5]):
        attributes = {}
        if joint.traits.bounded:
            attributes = {"lower": _numbers(values["lower"]), "upper": _numbers(values["upper"])}
        # The standard asks for both even where they are unknown.
        attributes |= {"velocity": _numbers(values["velocity"]), "effort": _numbers(values["effort"])}
        if "acceleration" in given:
            attributes["acceleration"] = given["acceleration"]
        ElementTree.SubElement(element, "limit", attributes)
    if soft:
        attributes = {
            "soft_lower_limit": _numbers(values["soft_lower"]),
            "soft_upper_limit": _numbers(values["soft_upper"]),
            "k_velocity": "0",
        }
        ElementTree.SubElement(element, "safety_controller", attributes)


def _boxed(geometry: Geometry, mesh: TriangleMesh) -> Geometry:
    """The box around a mesh in memory: URDF has only meshes in files."""
    low, high = mesh.bounds
    logger.warning("%r is in no file; URDF gets the box around it.", mesh)
    x, y, z = (float(v) for v in high - low)
    return replace(geometry, shape=Box((x, y, z)), origin=geometry.origin @ pose(None, 0.5 * (low + high)))


def _origin(element: ElementTree.Element, matrix: np.ndarray) -> None:
    if not np.array_equal(matrix, np.eye(4)):
        ElementTree.SubElement(
            element, "origin", xyz=_numbers(matrix[:3, 3]), rpy=_numbers(rpy_from_rotation(matrix[:3, :3]))
        )


def _numbers(values: Iterable[float]) -> str:
    return " ".join(_number(value) for value in values)


def _number(value: float) -> str:
    value = float(value)
    if math.isinf(value):
        value = math.copysign(NO_LIMIT, value)
    return repr(value + 0.0)  # + 0.0 turns a negative zero into zero
