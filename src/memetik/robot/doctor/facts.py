"""What a description states, as far as it can be read: the material of the doctor's checks.

Unlike `memetik.robot.description`, nothing here needs to be complete or right: what is missing is None.
Metres, radians, kilograms.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from memetik.robot.description import Description, Geometry, Joint, Link
from memetik.robot.doctor.finding import Place
from memetik.robot.shapes import Box, Capsule, Cylinder, Shape, Sphere


@dataclass(slots=True)
class GeometryFacts:
    """A shape of a link. `shape` is None where it cannot be read; `origin` is in the link's frame."""

    place: Place
    shape: Shape | None
    origin: np.ndarray


@dataclass(slots=True)
class InertialFacts:
    """Mass, centre in the link's frame, inertia about that centre in the link's axes."""

    place: Place
    mass: float | None
    com: np.ndarray
    inertia: np.ndarray | None


@dataclass(slots=True)
class LinkFacts:
    """A link."""

    name: str
    place: Place
    inertial: InertialFacts | None = None
    collisions: list[GeometryFacts] = field(default_factory=list)
    visuals: list[GeometryFacts] = field(default_factory=list)


@dataclass(slots=True)
class LimitFacts:
    """What <limit> says of one axis; None where it is silent."""

    place: Place
    axis: str
    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None
    soft_lower: float | None = None
    soft_upper: float | None = None


@dataclass(slots=True)
class MimicFacts:
    """The joint that is followed, and how."""

    place: Place
    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(slots=True)
class JointFacts:
    """A joint. `kind` is as written; `limits` has one entry per limited axis, none where nothing is stated."""

    name: str
    place: Place
    kind: str
    parent: str | None
    child: str | None
    position: tuple[float, ...]
    rpy: tuple[float, ...]
    axis: tuple[float, ...]
    limits: list[LimitFacts] = field(default_factory=list)
    mimic: MimicFacts | None = None

    @property
    def moves(self) -> bool:
        """Whether the joint has any freedom; a joint of unknown type counts as moving."""
        return self.kind != "fixed"

    @property
    def has_axis(self) -> bool:
        """Whether the direction of `axis` matters."""
        return self.kind in ("revolute", "continuous", "prismatic", "cylindrical", "planar")

    @property
    def is_angle(self) -> bool:
        """Whether position limits are angles."""
        return self.kind in ("revolute", "continuous", "spherical")


@dataclass(slots=True)
class RobotFacts:
    """A robot: its links and joints in the order of the file."""

    name: str
    place: Place
    links: list[LinkFacts] = field(default_factory=list)
    joints: list[JointFacts] = field(default_factory=list)

    def link_names(self) -> set[str]:
        """The names of all links."""
        return {link.name for link in self.links}

    def joints_by_name(self) -> dict[str, JointFacts]:
        """Each joint by its name; of duplicates the first."""
        return {joint.name: joint for joint in reversed(self.joints)}

    def parent_joints(self) -> dict[str, JointFacts]:
        """For each child link the joint that carries it; of several the first."""
        return {joint.child: joint for joint in reversed(self.joints) if joint.child is not None}

    def reach(self) -> float:
        """The longest stretched chain from the root: sum of offsets and slides. 0 where nothing is apart."""
        parents = self.parent_joints()
        lengths: dict[str, float] = {}
        for link in self.links:
            chain: list[JointFacts] = []
            name: str | None = link.name
            seen: set[str] = set()
            while name is not None and name in parents and name not in lengths and name not in seen:
                seen.add(name)
                chain.append(parents[name])
                name = parents[name].parent
            length = lengths.get(name or "", 0.0)
            for joint in reversed(chain):
                length += float(np.linalg.norm(joint.position)) + _slide(joint)
                lengths[joint.child or ""] = length
        return max(lengths.values(), default=0.0)


def _slide(joint: JointFacts) -> float:
    if joint.kind != "prismatic" or not joint.limits:
        return 0.0
    ends = [abs(v) for v in (joint.limits[0].lower, joint.limits[0].upper) if v is not None and np.isfinite(v)]
    # A slide of hundreds of metres stands for "unlimited" and says nothing about the size of the robot.
    return max((end for end in ends if end < 100.0), default=0.0)


def facts_of_description(description: Description, file: str = "") -> RobotFacts:
    """The facts of a description that another reader made; places have no lines."""
    return RobotFacts(
        name=description.name,
        place=Place(file, None, "robot"),
        links=[_link_facts(link, file) for link in description.links],
        joints=[_joint_facts(joint, file) for joint in description.joints],
    )


def _link_facts(link: Link, file: str) -> LinkFacts:
    place = Place(file, None, f"link {link.name!r}")
    inertial = None
    if link.inertial is not None:
        inertial = InertialFacts(
            place=Place(file, None, f"inertial of link {link.name!r}"),
            mass=link.inertial.mass,
            com=np.asarray(link.inertial.com),
            inertia=np.asarray(link.inertial.inertia),
        )
    return LinkFacts(
        name=link.name,
        place=place,
        inertial=inertial,
        collisions=[_geometry_facts(geometry, link.name, "collision", file) for geometry in link.collisions],
        visuals=[_geometry_facts(geometry, link.name, "visual", file) for geometry in link.visuals],
    )


def _geometry_facts(geometry: Geometry, link: str, role: str, file: str) -> GeometryFacts:
    return GeometryFacts(Place(file, None, f"{role} of link {link!r}"), geometry.shape, np.asarray(geometry.origin))


def _joint_facts(joint: Joint, file: str) -> JointFacts:
    place = Place(file, None, f"joint {joint.name!r}")
    limits = []
    for index, axis in enumerate(joint.axis_names):
        values = {
            name: float(getattr(joint, name)[index])
            for name in ("lower", "upper", "velocity", "effort", "soft_lower", "soft_upper")
            if np.isfinite(getattr(joint, name)[index])
        }
        if values:
            limits.append(LimitFacts(place=place, axis=axis, **values))
    mimic = joint.mimic
    return JointFacts(
        name=joint.name,
        place=place,
        kind=joint.kind,
        parent=joint.parent,
        child=joint.child,
        position=tuple(float(v) for v in joint.origin[:3, 3]),
        rpy=(0.0, 0.0, 0.0),
        axis=joint.axis,
        limits=limits,
        mimic=MimicFacts(place, mimic.joint, mimic.multiplier, mimic.offset) if mimic is not None else None,
    )


def primitive_bounds(shape: Box | Sphere | Cylinder | Capsule) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest corner of a primitive's bounding box in its own axes."""
    match shape:
        case Box():
            half = 0.5 * np.array(shape.size)
        case Sphere():
            half = np.full(3, shape.radius)
        case Cylinder():
            half = np.array([shape.radius, shape.radius, 0.5 * shape.length])
        case Capsule():
            half = np.array([shape.radius, shape.radius, 0.5 * shape.length + shape.radius])
    return -half, half
