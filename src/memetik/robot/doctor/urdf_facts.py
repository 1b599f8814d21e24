"""URDF, read tolerantly: every number that cannot be read is a finding, and reading goes on."""

from __future__ import annotations

import math

import numpy as np

from memetik.errors import GeometryError, suggest
from memetik.robot.description import AXIS_NAMES
from memetik.robot.doctor.facts import (
    GeometryFacts,
    InertialFacts,
    JointFacts,
    LimitFacts,
    LinkFacts,
    MimicFacts,
    RobotFacts,
)
from memetik.robot.doctor.finding import Place, Report
from memetik.robot.meshes import MeshFinder
from memetik.robot.rotations import pose, rotation_from_rpy
from memetik.robot.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from memetik.robot.xmltree import MAX_MAGNITUDE, NO_LIMIT, Element

ROBOT_ELEMENTS = ("link", "joint", "material", "transmission", "gazebo", "memetik", "mujoco", "ros2_control", "sensor")
LINK_ELEMENTS = ("inertial", "visual", "collision", "sensor", "gazebo", "self_collision_checking", "contact")
JOINT_ELEMENTS = (
    "origin",
    "parent",
    "child",
    "axis",
    "limit",
    "mimic",
    "dynamics",
    "calibration",
    "safety_controller",
    "anchor",
    "gazebo",
    "hardwareInterface",
)
SHAPE_ELEMENTS = ("box", "sphere", "cylinder", "capsule", "mesh")


def facts_of_urdf(root: Element, report: Report, meshes: MeshFinder, file: str, first_line: int = 0) -> RobotFacts:
    """Read what can be read of a <robot> element and report what cannot. `first_line` is added to line numbers."""
    return _UrdfReader(report, meshes, file, first_line).robot(root)


class _UrdfReader:
    def __init__(self, report: Report, meshes: MeshFinder, file: str, first_line: int):
        self.report, self.meshes, self.file, self.first_line = report, meshes, file, first_line

    def robot(self, root: Element) -> RobotFacts:
        facts = RobotFacts(name=root.attributes.get("name", ""), place=self.place(root, "robot"))
        if not facts.name:
            self.report.add("missing-name", facts.place, "the robot has no name.", 'Write <robot name="...">.')
        self.unknown_children(root, "robot", ROBOT_ELEMENTS)
        for element in root.all("link"):
            facts.links.append(self.link(element))
        for element in root.all("joint"):
            facts.joints.append(self.joint(element))
        return facts

    def link(self, element: Element) -> LinkFacts:
        name = self.name(element, "link")
        owner = f"link {name!r}"
        self.unknown_children(element, owner, LINK_ELEMENTS)
        inertial = element.first("inertial")
        return LinkFacts(
            name=name,
            place=self.place(element, owner),
            inertial=self.inertial(inertial, owner) if inertial is not None else None,
            collisions=[self.geometry(e, f"collision of {owner}") for e in element.all("collision")],
            visuals=[self.geometry(e, f"visual of {owner}") for e in element.all("visual")],
        )

    def inertial(self, element: Element, owner: str) -> InertialFacts:
        owner = f"inertial of {owner}"
        place = self.place(element, owner)
        position, rpy = self.origin(element, owner)
        mass_element, inertia_element = element.first("mass"), element.first("inertia")
        mass = None
        if mass_element is None:
            self.report.add("missing-element", place, f"the {owner} has no <mass>.", 'Write <mass value="..."/>.')
        else:
            mass = self.number(mass_element, "value", None, owner, required=True)
        inertia = None
        if inertia_element is None:
            self.report.add("missing-element", place, f"the {owner} has no <inertia>.", "Write its six moments.")
        else:
            xx, xy, xz, yy, yz, zz = (
                self.number(inertia_element, f"i{pair}", 0.0, owner) for pair in ("xx", "xy", "xz", "yy", "yz", "zz")
            )
            if None not in (xx, xy, xz, yy, yz, zz):
                rotation = rotation_from_rpy(*rpy)
                inertia = rotation @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=float) @ rotation.T
        return InertialFacts(place=place, mass=mass, com=np.array(position), inertia=inertia)

    def geometry(self, element: Element, owner: str) -> GeometryFacts:
        place = self.place(element, owner)
        position, rpy = self.origin(element, owner)
        origin = pose(rotation_from_rpy(*rpy), position)
        geometry = element.first("geometry")
        if geometry is None:
            self.report.add(
                "missing-element", place, f"the {owner} has no <geometry>.", "Give it a shape or remove it."
            )
            return GeometryFacts(place, None, origin)
        return GeometryFacts(place, self.shape(geometry, owner), origin)

    def shape(self, geometry: Element, owner: str) -> Shape | None:
        element = next((child for child in geometry.children if child.tag in SHAPE_ELEMENTS), None)
        place = self.place(element or geometry, owner)
        if element is None:
            named = ", ".join(f"<{child.tag}>" for child in geometry.children) or "nothing"
            self.report.add(
                "bad-shape",
                place,
                f"the geometry of the {owner} holds {named}, which is no shape.",
                "Use <box>, <sphere>, <cylinder>, <capsule> or <mesh>.",
            )
            return None
        try:
            return self.known_shape(element, owner)
        except GeometryError as error:
            self.report.add("bad-shape", place, f"in the {owner}: {error}", "Correct the size.")
            return None

    def known_shape(self, element: Element, owner: str) -> Shape | None:
        if element.tag == "mesh":
            uri = element.attributes.get("filename", "").strip()
            if not uri:
                message = f"the <mesh> of the {owner} has no filename."
                self.report.add("missing-element", self.place(element, owner), message, 'Write filename="...".')
                return None
            scale = self.numbers(element, "scale", 3, (1.0, 1.0, 1.0), owner) or (1.0, 1.0, 1.0)
            return Mesh(uri, self.meshes.find(uri), (scale[0], scale[1], scale[2]))
        if element.tag == "box":
            size = self.numbers(element, "size", 3, None, owner)
            return Box((size[0], size[1], size[2])) if size is not None else None
        radius = self.number(element, "radius", None, owner, required=True)
        if radius is None:
            return None
        if element.tag == "sphere":
            return Sphere(radius)
        length = self.number(element, "length", None, owner, required=True)
        if length is None:
            return None
        return Cylinder(radius, length) if element.tag == "cylinder" else Capsule(radius, length)

    def joint(self, element: Element) -> JointFacts:
        name = self.name(element, "joint")
        owner = f"joint {name!r}"
        place = self.place(element, owner)
        self.unknown_children(element, owner, JOINT_ELEMENTS)
        kind = element.attributes.get("type", "").strip()
        if kind not in AXIS_NAMES:
            stated = f"the type {kind!r}" if kind else "no type"
            self.report.add("unknown-joint-type", place, f"{owner} has {stated}.", f"{suggest(kind, AXIS_NAMES)}")
        axis_element = element.first("axis")
        axis = self.numbers(axis_element, "xyz", 3, (1.0, 0.0, 0.0), owner) if axis_element is not None else None
        position, rpy = self.origin(element, owner)
        return JointFacts(
            name=name,
            place=place,
            kind=kind,
            parent=self.end(element, "parent", owner),
            child=self.end(element, "child", owner),
            position=position,
            rpy=rpy,
            axis=axis or (1.0, 0.0, 0.0),
            limits=self.limits(element, kind, name, owner),
            mimic=self.mimic(element, owner),
        )

    def end(self, joint: Element, tag: str, owner: str) -> str | None:
        element = joint.first(tag)
        link = element.attributes.get("link", "").strip() if element is not None else ""
        if not link:
            message = f"{owner} has no <{tag} link=...>."
            self.report.add("missing-element", self.place(joint, owner), message, f"Name its {tag} link.")
        return link or None

    def mimic(self, joint: Element, owner: str) -> MimicFacts | None:
        element = joint.first("mimic")
        if element is None:
            return None
        place = self.place(element, owner)
        followed = element.attributes.get("joint", "").strip()
        if not followed:
            self.report.add("missing-element", place, f"the <mimic> of {owner} names no joint.", 'Write joint="...".')
            return None
        multiplier = self.number(element, "multiplier", 1.0, owner)
        offset = self.number(element, "offset", 0.0, owner)
        return MimicFacts(place, followed, 1.0 if multiplier is None else multiplier, offset or 0.0)

    def limits(self, joint: Element, kind: str, name: str, owner: str) -> list[LimitFacts]:
        element, safety = joint.first("limit"), joint.first("safety_controller")
        suffixes = AXIS_NAMES.get(kind, ("",))
        if (element is None and safety is None) or not suffixes:
            return []
        place = self.place(element or safety or joint, owner)
        limits = [LimitFacts(place=place, axis=f"{name}/{suffix}" if suffix else name) for suffix in suffixes]
        if element is not None:
            self.fill(limits, element, owner, {name: name for name in ("lower", "upper", "velocity", "effort")})
        if safety is not None:
            self.fill(limits, safety, owner, {"soft_lower_limit": "soft_lower", "soft_upper_limit": "soft_upper"})
        return limits

    def fill(self, limits: list[LimitFacts], element: Element, owner: str, names: dict[str, str]) -> None:
        for attribute, field in names.items():
            words = element.attributes.get(attribute, "").split()
            if not words:
                continue
            if len(words) not in (1, len(limits)):
                message = f"{attribute} of {owner} has {len(words)} numbers; {len(limits)} are needed."
                self.report.add("not-a-number", self.place(element, owner), message, "Write one number per axis.")
                continue
            values = [self.limit_value(word, element, attribute, owner) for word in words]
            for index, limit in enumerate(limits):
                setattr(limit, field, values[index if len(words) > 1 else 0])

    def limit_value(self, word: str, element: Element, attribute: str, owner: str) -> float | None:
        """Limits may be infinite: a number that stands for "none" is read as such."""
        value = self.parse(word, element, attribute, owner)
        if value is None:
            return None
        if math.isnan(value):
            message = f"{attribute} of {owner} is NaN."
            self.report.add("not-finite", self.place(element, owner), message, "Write a finite number.")
            return None
        return math.copysign(math.inf, value) if abs(value) >= NO_LIMIT else value

    def origin(self, element: Element, owner: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
        zero = (0.0, 0.0, 0.0)
        origin = element.first("origin")
        if origin is None:
            return zero, zero
        position = self.numbers(origin, "xyz", 3, zero, owner) or zero
        rpy = self.numbers(origin, "rpy", 3, zero, owner) or zero
        if any(_whole_degrees(angle, smallest=2.0 * math.pi + 1e-3) for angle in rpy):
            written = " ".join(f"{v:g}" for v in rpy)
            self.report.add(
                "degrees",
                self.place(origin, owner),
                f"the origin of {owner} has rpy {written}, which is more than a turn in radians and a whole number.",
                "Angles are in radians: multiply degrees by pi/180.",
            )
        return position, rpy

    def number(
        self, element: Element, attribute: str, default: float | None, owner: str, required: bool = False
    ) -> float | None:
        values = self.numbers(element, attribute, 1, None if default is None else (default,), owner, required)
        return values[0] if values is not None else None

    def numbers(
        self,
        element: Element,
        attribute: str,
        count: int,
        default: tuple[float, ...] | None,
        owner: str,
        required: bool = True,
    ) -> tuple[float, ...] | None:
        """Finite numbers of an attribute; the default where it is absent; None, and a finding, where it is wrong."""
        place = self.place(element, owner)
        text = element.attributes.get(attribute, "")
        if not text.strip():
            if default is None and required:
                message = f"<{element.tag}> of {owner} has no {attribute}."
                self.report.add("missing-element", place, message, f"Write the attribute {attribute}.")
            return default
        values = [self.parse(word, element, attribute, owner) for word in text.split()]
        if None in values:
            return None
        if len(values) != count:
            message = f"{attribute} of <{element.tag}> in {owner} has {len(values)} numbers; {count} are needed."
            self.report.add("not-a-number", place, message, "Correct the attribute.")
            return None
        numbers = tuple(float(v) for v in values if v is not None)
        if not all(abs(v) <= MAX_MAGNITUDE for v in numbers):
            self.report.add(
                "not-finite",
                place,
                f"{attribute} of <{element.tag}> in {owner} is {text.strip()!r}.",
                f"Write finite numbers below {MAX_MAGNITUDE:g}.",
            )
            return None
        return numbers

    def parse(self, word: str, element: Element, attribute: str, owner: str) -> float | None:
        try:
            return float(word)
        except ValueError:
            message = f"{attribute} of <{element.tag}> in {owner} has {word[:40]!r} where a number is needed."
            self.report.add(
                "not-a-number", self.place(element, owner), message, "Write a number, with a decimal point."
            )
            return None

    def name(self, element: Element, tag: str) -> str:
        name = element.attributes.get("name", "").strip()
        if not name:
            place = self.place(element, tag)
            self.report.add("missing-name", place, f"a {tag} has no name.", f'Write <{tag} name="...">.')
        return name

    def unknown_children(self, element: Element, owner: str, known: tuple[str, ...]) -> None:
        for child in element.children:
            # Elements with a namespace are extensions by design.
            if child.tag not in known and ":" not in child.tag:
                self.report.add(
                    "unknown-element",
                    self.place(child, owner),
                    f"<{child.tag}> in {owner} is not part of URDF and is ignored.",
                    f"{suggest(child.tag, known)}",
                )

    def place(self, element: Element, owner: str) -> Place:
        return Place(self.file, element.line + self.first_line, owner)


def _whole_degrees(value: float, smallest: float) -> bool:
    return abs(value) > smallest and abs(value - round(value)) < 1e-6
