"""URDF becomes a Description.

All of URDF's joint types are read, and beyond the standard, so that any robot of memetik can be written and read back:

- joint types "spherical" and "cylindrical";
- on any <joint>: rotation_order="xyz", swing_twist="true", reversed="true", and a child <anchor xyz="..."/>,
  with the meaning they have in `memetik.robot.description.Joint`;
- in <limit>: an attribute `acceleration`, and one number per axis in each attribute where the joint has several;
- <memetik version="1"> below <robot>: joints in the form above, each with <replaces joint="..." link="..."/> entries
  for the chain of plain joints that stands for it for the sake of other programs; <capsule .../>, which joins a
  cylinder and two spheres (see `urdf_capsules`); and <base><origin .../></base>, the pose of the root in the world.

What the standard leaves open: numbers of 1e9 and beyond in limits mean no limit; a velocity of 0 means none is stated,
as exporters write it; a <limit> with neither lower nor upper leaves the position free. A planar joint without <axis>
moves in its x-y plane, as every other program has it, although the standard's default axis is x.

The reader has two modes. A strict reading raises the first error. A tolerant reading, for the doctor, reports every
defect as a finding, goes on with what can be read, and keeps the places of links, joints and their parts.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from memetik.errors import DescriptionError, GeometryError, suggest
from memetik.files.xml_tree import Element, parse_xml
from memetik.geometry.shapes import Mesh
from memetik.geometry.transforms import pose, rotation_from_rpy, unit
from memetik.robot.description import Description, Geometry, Inertial, Joint, Link, Mimic
from memetik.robot.findings import Place, Places, Report
from memetik.robot.joint_kinds import JOINT_KINDS, JointTraits, joint_kind
from memetik.robot.notes import summarised
from memetik.robot.readers.mesh_paths import MeshFinder, SearchPath
from memetik.robot.readers.tolerant import TolerantReader
from memetik.robot.readers.urdf_capsules import CapsulePlaces, capsule_places, joined_capsules
from memetik.robot.readers.urdf_shapes import SHAPES, Color, read_color, read_quaternion, read_shape
from memetik.robot.readers.urdf_unread import unread_elements
from memetik.robot.validate import MAX_LINKS, MAX_SUGGESTED

EXTENSION_VERSION = "1"
UNIT_TOLERANCE = 1e-3
"""Axes written with three or four digits count as unit vectors."""

logger = logging.getLogger(__name__)

_IDENTITY = pose()

Limits = dict[str, tuple[float, ...]]

_ELEMENTS = {
    "robot": ("link", "joint", "material", "transmission", "gazebo", "memetik", "mujoco", "ros2_control", "sensor"),
    "link": ("inertial", "visual", "collision", "sensor", "gazebo", "self_collision_checking", "contact"),
    "joint": (
        *("origin", "parent", "child", "axis", "limit", "mimic", "dynamics", "calibration", "safety_controller"),
        *("anchor", "gazebo", "hardwareInterface"),
    ),
}
"""The elements that URDF, simulators and memetik know inside others."""

_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_WITHOUT_SHAPE = {
    "collision": "The link does not collide with what it stands for.",
    "visual": "The link is drawn without it.",
}

_LIMITS = {
    "limit": {name: name for name in ("lower", "upper", "velocity", "acceleration", "effort")},
    "safety_controller": {"soft_lower_limit": "soft_lower", "soft_upper_limit": "soft_upper"},
}
"""Element and attribute of each limit."""


def read_urdf(
    text: str | bytes, *, folder: str | None = None, search_path: SearchPath = (), source: str = ""
) -> Description:
    """Read URDF text. Meshes are looked for from `folder` (of the file) and in `search_path`.

    The result says what the text says; whether that is a robot is the business of `memetik.robot.validate`.
    """
    root = parse_xml(text, source or "the URDF text")
    return read_urdf_element(root, folder=folder, search_path=search_path, source=source)


def read_urdf_element(
    root: Element, *, folder: str | None = None, search_path: SearchPath = (), source: str = ""
) -> Description:
    """Read a parsed URDF."""
    meshes = MeshFinder(folder, search_path, source)
    description = _Reader(meshes, None, source).robot(root, source)
    meshes.report(description.name)
    told = summarised(note for note in description.notes if note.code != "missing-mesh")
    if told:
        logger.warning("robot %r: %s. See robot.notes.", description.name, told)
    return description


@dataclass(slots=True)
class Reading:
    """A description as far as it can be read, where its parts are written, and the limits as they are written.

    `limits` has an entry per joint of a known type: by name, one value per axis, without those that the text leaves
    out. Links and joints whose names cannot be read have the name "", and so have the ends of joints.
    """

    description: Description
    places: Places
    limits: dict[int, Limits] = field(default_factory=dict)
    """By the identity of the joint."""
    refused: bool = False
    """Whether a strict reading refuses the text."""


def read_urdf_tolerantly(root: Element, meshes: MeshFinder, report: Report, file: str) -> Reading:
    """Read what can be read of a parsed URDF, and report what cannot."""
    reader = _Reader(meshes, report, file)
    description = reader.robot(root, file)
    reader.places.add(description, Place(file, root.line, "robot"))
    return Reading(description, reader.places, reader.limits_written, reader.refused)


class _Reader(TolerantReader):
    def __init__(self, meshes: MeshFinder, report: Report | None = None, file: str = ""):
        super().__init__(report, file)
        self.meshes = meshes
        self.colors: dict[str, Color] = {}
        self.capsules: CapsulePlaces = {}
        self.limits_written: dict[int, Limits] = {}
        self.mimic_lines: dict[int, int] = {}
        """By the identity of the mimic, which its joint holds."""

    def robot(self, root: Element, source: str) -> Description:
        what = source or "the URDF text"
        if root.tag != "robot":
            raise DescriptionError(f"{what} starts with <{root.tag}>; a URDF starts with <robot>.")
        count = sum(child.tag in ("link", "joint") for child in root.children)
        if count > 2 * MAX_LINKS:
            raise DescriptionError(f"{what} has {count} links and joints; at most {MAX_LINKS} of each are accepted.")
        name = self.text(root, "name", "robot")
        if not root.attributes.get("name", "").strip():
            self.remark("missing-name", root, "the robot has no name.", 'Write <robot name="...">.')
            self.fill("missing-name", root, "The robot has no name.", "It is called 'robot'.")
        self.check_children(root)
        self.read_materials(root)
        extension = root.first("memetik")
        self.capsules = self.attempt(lambda: capsule_places(extension), {})
        links, joints = [], []
        for child in root.children:
            if child.tag == "link":
                links.append(self.link(child))
            elif child.tag == "joint":
                joints.append(self.joint(child))
            elif child.tag.startswith("xacro:"):
                message = f"{what} holds {child.label}: it is xacro, not URDF. Load it from a file that ends in .xacro."
                self.refuse(child.error(message))
        if not links and self.report is None:
            raise DescriptionError(f"{what} has no <link>.", "no-links")
        base = pose()
        if extension is not None:
            self.owner = "memetik"
            both = links, joints
            links, joints = self.attempt(lambda: self.with_extended_joints(extension, *both), both)
            placed = extension.first("base")
            base = self.origin(placed) if placed is not None else base
        joints = self.without_loose_mimics(joints)
        notes = (*self.notes.collected(), *unread_elements(root, self.file))
        return Description(name, tuple(links), tuple(joints), base=base, source=source, notes=notes)

    def without_loose_mimics(self, joints: list[Joint]) -> list[Joint]:
        """Joints that mimic one that does not exist move by themselves, as every other program has it."""
        names = {joint.name for joint in joints}
        result: list[Joint] = []
        suggested = 0
        for joint in joints:
            if joint.mimic is not None and joint.mimic.joint not in names:
                message = f"Joint {joint.name!r} mimics {joint.mimic.joint!r}, which does not exist"
                # Comparing names takes time: a file full of such joints gets a few suggestions.
                suggested += 1
                message += f"; {suggest(joint.mimic.joint, islice(names, MAX_SUGGESTED))}" if suggested < 20 else "."
                consequence = "The coupling is left out: the joint moves by itself."
                line, element = self.mimic_lines[id(joint.mimic)], f"joint {joint.name!r}"
                self.notes.left_out(message, consequence, line=line, element=element, code="mimic-missing")
                free = replace(joint, mimic=None)
                if id(joint) in self.limits_written:
                    self.limits_written[id(free)] = self.limits_written.pop(id(joint))
                    self.places.add(free, self.places.get(joint, Place(self.file, line, element)))
                joint = free
            result.append(joint)
        return result

    def with_extended_joints(
        self, extension: Element, links: list[Link], joints: list[Joint]
    ) -> tuple[list[Link], list[Joint]]:
        """Put the joints of a <memetik> block in the place of the plain joints and links that stand for them."""
        version = extension.text("version")
        if version != EXTENSION_VERSION:
            message = f"{extension.label} has version {version!r}; this memetik reads version {EXTENSION_VERSION!r}."
            raise extension.error(message)
        at: dict[str, Joint] = {}
        gone_joints, gone_links = set[str](), set[str]()
        for element in extension.all("joint"):
            replaced = list(element.all("replaces"))
            if not replaced:
                raise element.error(f"{element.label} in <memetik> needs a <replaces joint=...>.", "missing-element")
            at[replaced[0].text("joint")] = self.joint(element)
            gone_joints.update(entry.text("joint") for entry in replaced)
            gone_links.update(entry.text("link") for entry in replaced if "link" in entry.attributes)
        restored = [at.get(joint.name, joint) for joint in joints if joint.name in at or joint.name not in gone_joints]
        return [link for link in links if link.name not in gone_links], restored

    # joints

    def joint(self, element: Element) -> Joint:
        """A <joint>, in standard URDF or in the extended form."""
        name = self.named(element)
        stated = self.text(element, "type")
        kind = joint_kind(stated)
        if kind is None and stated:
            message = f"{element.label} has type {stated!r}; {suggest(stated, JOINT_KINDS)}"
            self.refuse(element.error(message, "unknown-joint-type"), "Write one of URDF's joint types.")
        traits = JOINT_KINDS[kind or "revolute"]
        anchor = element.first("anchor")
        written = self.limits(element, traits)
        joint = Joint(
            name=name,
            kind=kind or "revolute",
            parent=self.joint_end(element, "parent"),
            child=self.joint_end(element, "child"),
            origin=self.origin(element),
            axis=self.axis(element, traits),
            anchor=self.triple(anchor, "xyz") if anchor is not None else (0.0, 0.0, 0.0),
            mimic=self.mimic(element) if traits.axes else None,
            rotation_order=self.text(element, "rotation_order", "xyz"),
            swing_twist=self.attempt(lambda: element.flag("swing_twist"), False),
            reversed=self.attempt(lambda: element.flag("reversed"), False),
            **self.limits_in_force(element, traits, written),
        )
        if kind is not None and self.report is not None:
            self.limits_written[id(joint)] = written
            self.mark(written, element.first("limit") or element.first("safety_controller") or element)
        return self.mark(joint, element)

    def joint_end(self, element: Element, tag: str) -> str:
        end = element.first(tag)
        if end is None:
            self.refuse(element.error(f"{element.label} has no <{tag} link=...>.", "missing-element"))
            return ""
        return self.text(end, "link")

    def axis(self, element: Element, traits: JointTraits) -> tuple[float, float, float]:
        x, y, z = (0.0, 0.0, 1.0) if traits.in_plane else (1.0, 0.0, 0.0)
        stated = element.first("axis") if traits.axes else None
        if stated is not None:
            x, y, z = self.triple(stated, "xyz", (x, y, z))
            length = math.hypot(x, y, z)
            if traits.has_axis and length > 0.0 and abs(length - 1.0) > UNIT_TOLERANCE:
                written = f"The axis {x:g} {y:g} {z:g} of {self.owner} has length {length:.4g}, not 1."
                self.fill("unnormalised-axis", element, written, "It is normalised: q is in radians or metres.")
                message = f"the axis {x:g} {y:g} {z:g} of {self.owner} has length {length:.4g}, not 1"
                remedy = f"Write {x / length:.9g} {y / length:.9g} {z / length:.9g}."
                self.remark("unnormalised-axis", element, f"{message}; readers disagree on such axes.", remedy)
        return unit((x, y, z)) or (0.0, 0.0, 0.0)

    def mimic(self, element: Element) -> Mimic | None:
        mimic = element.first("mimic")
        followed = self.text(mimic, "joint") if mimic is not None else ""
        if mimic is None or not followed:
            return None
        multiplier, offset = self.number(mimic, "multiplier", 1.0), self.number(mimic, "offset", 0.0)
        coupling = Mimic(followed, multiplier, offset)
        self.mimic_lines[id(coupling)] = mimic.line
        return self.mark(coupling, mimic)

    def limits(self, element: Element, traits: JointTraits) -> Limits:
        """The limits as they are written, one value per axis."""
        written: Limits = {}
        for tag, names in _LIMITS.items():
            holder = element.first(tag)
            if holder is not None and traits.axes:
                found = {name: self.per_axis(holder, attribute, len(traits.axes)) for attribute, name in names.items()}
                written |= {name: values for name, values in found.items() if values is not None}
        return written

    def limits_in_force(self, element: Element, traits: JointTraits, written: Limits) -> Limits:
        """What written limits mean."""
        limits, count = dict(written), len(traits.axes)
        limit = element.first("limit")
        stated = [limit.attributes.get(name, "").split() for name in ("lower", "upper")] if limit is not None else []
        # A single number for a joint that moves freely in several ways is an exporter's filler, not a limit.
        filler = traits.in_urdf and count > 1 and all(len(words) <= 1 for words in stated)
        place = limit or element
        if filler or not traits.bounded:
            lower, upper = limits.pop("lower", None), limits.pop("upper", None)
            if any(value != 0.0 for value in (*(lower or ()), *(upper or ()))):
                message = f"The position limits of {self.owner} are left out: joints of its type have none in URDF."
                self.drop("continuous-with-limits", place, message, "It moves without limits.")
        elif "lower" in limits or "upper" in limits:
            for name in ("lower", "upper"):
                if name not in limits:
                    message = f"The {self.owner} has no {name} limit."
                    self.fill("one-sided-limits", place, message, "It is 0, as URDF has it.")
            limits = {"lower": (0.0,) * count, "upper": (0.0,) * count} | limits
        elif traits.needs_limits and element.first("mimic") is None:
            message = f"The {self.owner} has no position limits, which URDF requires."
            self.fill("missing-limits", place, message, "It moves without limits.")
        for name in ("velocity", "acceleration"):
            if any(value == 0.0 for value in limits.get(name, ())):
                message = f"The {name} limit 0 of {self.owner} is read as none, as exporters mean it."
                self.fill("missing-velocity", place, message, "Motion cannot be timed without one.")
                limits[name] = tuple(v if v != 0.0 else math.inf for v in limits[name])
        lower, upper = limits.pop("soft_lower", None), limits.pop("soft_upper", None)
        if lower is not None and upper is not None:
            if all(a < b for a, b in zip(lower, upper, strict=True)):
                limits["soft_lower"], limits["soft_upper"] = lower, upper
            elif any((*lower, *upper)):  # files that only want to set the gain leave both at 0
                message = f"The soft limits of {self.owner} are left out: the lower one is not below the upper one."
                place = element.first("safety_controller") or element
                self.drop("soft-limits", place, message, "use_soft_limits=True does not change this joint.")
        return limits

    def per_axis(self, element: Element, attribute: str, count: int) -> tuple[float, ...] | None:
        values = self.attempt(lambda: element.limits(attribute), None)
        if values is None or len(values) == count:
            return values
        if len(values) == 1:
            return values * count
        message = f"{element.label} has {len(values)} numbers in {attribute!r}; one, or one for each of {count} axes,"
        self.refuse(element.error(f"{message} is needed.", "not-a-number"))
        return None

    # links

    def link(self, element: Element) -> Link:
        name = self.named(element)
        owner = self.owner
        inertial = self.inertial(element, owner)
        collisions, visuals = (
            joined_capsules(self.geometries(element, tag, owner), self.capsules.get((name, tag), frozenset()))
            for tag in ("collision", "visual")
        )
        self.owner = owner
        return self.mark(Link(name, inertial, collisions, visuals), element)

    def inertial(self, link: Element, owner: str) -> Inertial | None:
        element = link.first("inertial")
        if element is None:
            return None
        self.owner = f"inertial of {owner}"
        mass, inertia = element.first("mass"), element.first("inertia")
        if mass is None:
            message = f"The <inertial> of {link.label} is left out: it has no <mass>."
            self.drop("missing-element", element, message, f"The {owner} has no mass.")
            return None
        placement = self.origin(element)
        matrix = np.zeros((3, 3))
        if inertia is None:
            self.remark("missing-element", element, f"the {self.owner} has no <inertia>.", "Write its six moments.")
            message = f"The {self.owner} has no <inertia>."
            self.fill("missing-element", element, message, "Its moments of inertia are zero.")
        else:
            xx, xy, xz, yy, yz, zz = [self.number(inertia, name, 0.0) for name in _MOMENTS]
            matrix[:] = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
        rotation = placement[:3, :3]
        if rotation.trace() != 3.0:  # turned at all
            matrix = rotation @ matrix @ rotation.T
            matrix = 0.5 * (matrix + matrix.T)
        matrix += 0.0  # one of the two zeros
        matrix.setflags(write=False)
        x, y, z = (float(v) for v in placement[:3, 3])
        kilograms = self.attempt(lambda: mass.number("value"), None)
        return self.mark(Inertial(kilograms, (x, y, z), matrix), element) if kilograms is not None else None

    def geometries(self, link: Element, tag: str, owner: str) -> tuple[Geometry, ...]:
        geometries = []
        for element in link.all(tag):
            self.owner = f"{tag} of {owner}"
            holder = element.first("geometry")
            shapes = holder.children if holder is not None else []
            what, meaning = f"A <{tag}> of {link.label} is left out", _WITHOUT_SHAPE[tag]
            if not shapes:
                self.drop("missing-element", element, f"{what}: it has no shape.", meaning)
                continue
            shape_element = next((shape for shape in shapes if shape.tag in SHAPES), shapes[0])
            try:
                shape = self.attempt(lambda of=shape_element: read_shape(of, self.meshes), None)
            except GeometryError as error:
                self.drop("bad-shape", element, f"{what}: {str(error).rstrip('.')}.", meaning)
                continue
            if isinstance(shape, Mesh) and shape.path is None:
                why = self.meshes.reason(shape.uri)
                message = f"The mesh {shape.uri!r:.300} of {link.label} is missing{': ' + why if why else ''}."
                self.drop("missing-mesh", element, message, meaning)
            if shape is not None:
                color = self.attempt(lambda of=element.first("material"): self.color(of), None)
                geometry = Geometry(shape, self.origin(element), self.text(element, "name", ""), color)
                geometries.append(self.mark(geometry, element))
        return tuple(geometries)

    def read_materials(self, root: Element) -> None:
        """Colours by material name: those of the robot, and those that links define in passing."""
        holders = [root, *(visual for link in root.all("link") for visual in link.all("visual"))]
        for material in (material for holder in holders for material in holder.all("material")):
            name, color = self.text(material, "name", ""), material.first("color")
            rgba = self.attempt(lambda of=color: read_color(of) if of is not None else None, None)
            if name and rgba is not None:
                self.colors.setdefault(name, rgba)

    def color(self, material: Element | None) -> Color | None:
        color = material.first("color") if material is not None else None
        if color is not None:
            return read_color(color)
        return self.colors.get(material.text("name", "")) if material is not None else None

    # parts of elements, and what is wrong with them

    def named(self, element: Element) -> str:
        """The name of a link or joint, which owns what is found from now on."""
        self.owner = element.tag
        name = self.text(element, "name")
        self.owner = f"{element.tag} {name!r}"
        self.check_children(element)
        return name

    def origin(self, element: Element) -> np.ndarray:
        origin = element.first("origin")
        if origin is None:
            return _IDENTITY
        position = self.triple(origin, "xyz")
        if "quat_xyzw" in origin.attributes:
            return pose(self.attempt(lambda: read_quaternion(origin, element), np.eye(3)), position)
        angles = self.triple(origin, "rpy")
        if self.report is not None and any(abs(v) > 2 * math.pi + 1e-3 and abs(v - round(v)) < 1e-6 for v in angles):
            written = " ".join(f"{v:g}" for v in angles)
            message = f"the origin of {self.owner} has rpy {written}, which is more than a turn in radians and a whole"
            self.remark("degrees", origin, f"{message} number.", "Angles are in radians: multiply degrees by pi/180.")
        return pose(rotation_from_rpy(*angles) if any(angles) else None, position)

    def check_children(self, element: Element) -> None:
        known = _ELEMENTS[element.tag]
        for child in element.children:
            # Elements with a namespace are extensions by design.
            if child.tag not in known and ":" not in child.tag:
                message = f"<{child.tag}> in {self.owner} is not part of URDF and is ignored."
                self.drop("unknown-element", child, message, "What it says has no effect.")
                if self.report is not None:
                    self.remark("unknown-element", child, message, suggest(child.tag, known))
