"""Random descriptions of every joint kind, and their forward kinematics straight from the definition of a joint.

The kinematics here follow the docstring of `Joint` with scipy's rotations, and share no code with the compiled tree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from memetik.geometry.shapes import Box, Capsule, Cylinder, Shape, Sphere
from memetik.robot.description import (
    Description,
    EndEffector,
    Geometry,
    Group,
    Inertial,
    Joint,
    Link,
    Mimic,
    NamedState,
    Semantics,
)
from memetik.robot.joint_kinds import JOINT_KINDS

KINDS = tuple(JOINT_KINDS)
SINGLE = ("revolute", "continuous", "prismatic")
ORDERS = ("xyz", "xzy", "yxz", "yzx", "zxy", "zyx", "xyx", "xzx", "yxy", "yzy", "zxz", "zyz")


def random_description(
    rng: np.random.Generator | int,
    joints: int = 8,
    *,
    kinds: Sequence[str] = KINDS,
    branching: float = 0.3,
    mimic: float = 0.4,
    reversed_joints: float = 0.15,
    shapes: bool = True,
    semantics: bool = True,
) -> Description:
    """A random robot with `joints` joints, of which these shares branch off, mimic another, are reversed.

    Axes are along x, y, z as often as not; anchors, swing and twist, all rotation orders, chains of mimic joints, links
    without inertia, a base off the origin and joints listed in any order are among them. At least one joint moves if
    `kinds` has one that does.
    """
    rng = np.random.default_rng(rng)
    links = [_link(rng, "link0", shapes)]
    made: list[Joint] = []
    for number in range(1, joints + 1):
        kind = str(rng.choice(kinds))
        if number == 1 and kind == "fixed":
            kind = next((k for k in kinds if k != "fixed"), "fixed")
        parent = f"link{number - 1 if rng.random() >= branching else rng.integers(number)}"
        joint = _joint(rng, f"joint{number}", kind, parent, f"link{number}", bool(rng.random() < reversed_joints))
        masters = [other.name for other in made if other.kind in SINGLE]
        followers = [other.name for other in made if other.mimic is not None]
        if followers and rng.random() < 0.5:
            masters = followers
        if kind in SINGLE and masters and rng.random() < mimic:
            multiplier = float(rng.choice([1.0, -1.0, 0.5, rng.uniform(-2.0, 2.0)]))
            offset = float(rng.uniform(-0.3, 0.3))
            joint = replace(joint, mimic=Mimic(str(rng.choice(masters)), multiplier, offset))
        made.append(joint)
        links.append(_link(rng, f"link{number}", shapes))
    order = rng.permutation(len(made))
    shuffled = tuple(made[k] for k in order) if rng.random() < 0.3 else tuple(made)
    meaning = _semantics(rng, links, shuffled) if semantics else Semantics()
    return Description("random", tuple(links), shuffled, meaning, base=_pose(rng), source="random_trees")


def reference_poses(description: Description, q: dict[str, float]) -> dict[str, np.ndarray]:
    """Pose of every link in the world for the values of q by axis name."""
    joints = {joint.name: joint for joint in description.joints}
    poses = {
        next(iter({link.name for link in description.links} - {j.child for j in joints.values()})): description.base
    }
    pending = list(description.joints)
    while pending:
        for joint in list(pending):
            if joint.parent in poses:
                poses[joint.child] = poses[joint.parent] @ reference_joint_pose(joint, _values(joint, joints, q))
                pending.remove(joint)
    return poses


def reference_joint_pose(joint: Joint, values: Sequence[float]) -> np.ndarray:
    """origin * T(anchor) * M(q) * T(-anchor), inverted for reversed joints."""
    pose = joint.origin @ _shift(joint.anchor) @ _motion(joint, values) @ _shift([-v for v in joint.anchor])
    return np.linalg.inv(pose) if joint.reversed else pose


def _motion(joint: Joint, values: Sequence[float]) -> np.ndarray:
    axis = np.array(joint.axis) / np.linalg.norm(joint.axis)
    match joint.kind:
        case "fixed":
            return np.eye(4)
        case "revolute" | "continuous":
            return _turn(Rotation.from_rotvec(values[0] * axis))
        case "prismatic":
            return _shift(values[0] * axis)
        case "cylindrical":
            return _shift(values[0] * axis) @ _turn(Rotation.from_rotvec(values[1] * axis))
        case "spherical":
            return _turn(_ball(joint, values))
        case "floating":
            return _shift(values[:3]) @ _turn(_ball(joint, values[3:]))
        case "planar":
            x, y = _plane(axis)
            return _shift(values[0] * x + values[1] * y) @ _turn(Rotation.from_rotvec(values[2] * axis))
    raise AssertionError(joint.kind)


def _ball(joint: Joint, values: Sequence[float]) -> Rotation:
    if joint.swing_twist and joint.kind == "spherical":
        direction, swing, twist = values
        about = swing * np.array([-math.sin(direction), math.cos(direction), 0.0])
        return Rotation.from_rotvec(about) * Rotation.from_rotvec([0.0, 0.0, twist])
    return Rotation.from_euler(joint.rotation_order.upper(), values)


def _plane(normal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """x and y of a plane: those of the shortest rotation from z, or from -z after a half turn about x."""
    sign = -1.0 if normal[2] < 0.0 else 1.0
    about = np.cross([0.0, 0.0, 1.0], sign * normal)
    angle = math.atan2(float(np.linalg.norm(about)), sign * normal[2])
    length = np.linalg.norm(about)
    rotation = Rotation.from_rotvec(angle * about / length if length > 0.0 else np.zeros(3))
    if sign < 0.0:
        rotation = rotation * Rotation.from_rotvec([math.pi, 0.0, 0.0])
    return rotation.apply([1.0, 0.0, 0.0]), rotation.apply([0.0, 1.0, 0.0])


def _values(joint: Joint, joints: dict[str, Joint], q: dict[str, float]) -> list[float]:
    if joint.mimic is None:
        return [q[name] for name in joint.axis_names]
    (master,) = _values(joints[joint.mimic.joint], joints, q)
    return [joint.mimic.multiplier * master + joint.mimic.offset]


def _joint(rng: np.random.Generator, name: str, kind: str, parent: str, child: str, turned: bool) -> Joint:
    count = len(JOINT_KINDS[kind].axes)
    lower, upper = rng.uniform(-2.5, -0.2, count), rng.uniform(0.2, 2.5, count)
    unlimited = rng.random(count) < (0.3 if count > 1 else 0.0)
    lower[unlimited], upper[unlimited] = -np.inf, np.inf
    if kind == "continuous":
        lower[:], upper[:] = -np.inf, np.inf
    swing_twist = kind == "spherical" and bool(rng.random() < 0.5)
    return Joint(
        name,
        kind,  # type: ignore[arg-type]
        parent,
        child,
        origin=_pose(rng),
        axis=_axis(rng),
        anchor=tuple(rng.uniform(-0.2, 0.2, 3)) if rng.random() < 0.4 else (0.0, 0.0, 0.0),
        lower=tuple(lower),
        upper=tuple(upper),
        velocity=tuple(rng.uniform(0.5, 3.0, count)),
        acceleration=tuple(rng.uniform(1.0, 9.0, count)),
        effort=tuple(rng.uniform(5.0, 200.0, count)),
        soft_lower=tuple(0.9 * lower),
        soft_upper=tuple(0.9 * upper),
        rotation_order=str(rng.choice(ORDERS)),
        swing_twist=swing_twist,
        reversed=turned,
    )


def _link(rng: np.random.Generator, name: str, shapes: bool) -> Link:
    inertial = None
    if rng.random() < 0.8:
        spread = rng.normal(size=(3, 3))
        com = tuple(rng.uniform(-0.1, 0.1, 3))
        inertial = Inertial(float(rng.uniform(0.1, 5.0)), com, 0.01 * (spread @ spread.T + np.eye(3)))
    collisions: tuple[Geometry, ...] = ()
    if shapes and rng.random() < 0.7:
        collisions = (Geometry(_shape(rng), _pose(rng, 0.05)),)
    return Link(name, inertial, collisions)


def _shape(rng: np.random.Generator) -> Shape:
    radius, length = rng.uniform(0.02, 0.1, 2).tolist()
    return [Sphere(radius), Capsule(radius, length), Cylinder(radius, length), Box((radius, length, radius))][
        rng.integers(4)
    ]


def _semantics(rng: np.random.Generator, links: list[Link], joints: tuple[Joint, ...]) -> Semantics:
    free = [joint for joint in joints if joint.mimic is None and joint.axes]
    tip = links[-1].name
    state = {j.name: tuple(np.clip(0.1, j.lower, j.upper).tolist()) for j in free}
    pair = (links[0].name, links[-1].name, "Never")
    return Semantics(
        groups=(Group("all", joints=tuple(j.name for j in joints)), Group("chain", chains=((links[0].name, tip),))),
        end_effectors=(EndEffector("hand", tip, parent_group="chain"),),
        states=(NamedState("home", "all", state),) if state else (),
        disabled_pairs=(pair,) if rng.random() < 0.5 else (),
    )


def _axis(rng: np.random.Generator) -> tuple[float, float, float]:
    if rng.random() < 0.5:
        axis = np.zeros(3)
        axis[rng.integers(3)] = rng.choice([-1.0, 1.0])
    else:
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
    x, y, z = axis.tolist()
    return (x, y, z)


def _pose(rng: np.random.Generator, size: float = 0.4) -> np.ndarray:
    pose = np.eye(4)
    choice = rng.random()
    if choice < 0.4:
        pose[:3, :3] = Rotation.random(rng=rng).as_matrix()
    elif choice < 0.7:
        pose[:3, :3] = Rotation.from_euler("ZYX", rng.integers(-1, 3, 3) * math.pi / 2).as_matrix()
    pose[:3, 3] = rng.uniform(-size, size, 3)
    return pose


def _shift(vector: Sequence[float] | np.ndarray) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, 3] = vector
    return pose


def _turn(rotation: Rotation) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3] = rotation.as_matrix()
    return pose
