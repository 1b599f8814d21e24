"""What the tests of bundled robots measure with: forward kinematics written out, contacts, distances to primitives."""

from __future__ import annotations

import math

import coal
import numpy as np
import pinocchio

from memetik.geometry.shapes import Box, Capsule, Cylinder, Sphere
from memetik.robot.description import Description, Geometry, Joint


def poses(robot: Description, values: dict[str, float]) -> dict[str, np.ndarray]:
    """Poses of all links, from the formula of a joint; joints not in `values` are at zero, followers follow."""
    joints = {joint.name: joint for joint in robot.joints}
    above = {joint.child: joint for joint in robot.joints}

    def value(joint: Joint) -> float:
        if joint.mimic is not None:
            return joint.mimic.multiplier * value(joints[joint.mimic.joint]) + joint.mimic.offset
        return values.get(joint.name, 0.0)

    found: dict[str, np.ndarray] = {}
    for link in robot.links:
        path = []
        name = link.name
        while name not in found and name in above:
            path.append(above[name])
            name = above[name].parent
        world = found.setdefault(name, np.array(robot.base))
        for joint in reversed(path):
            world = world @ joint.origin @ motion(joint, value(joint))
            found[joint.child] = world
    return found


def motion(joint: Joint, q: float) -> np.ndarray:
    matrix = np.eye(4)
    if joint.kind in ("revolute", "continuous"):
        matrix[:3, :3] = pinocchio.exp3(np.array(joint.axis) * q)
    elif joint.kind == "prismatic":
        matrix[:3, 3] = np.array(joint.axis) * q
    else:
        assert joint.kind == "fixed", joint.kind
    return matrix


def moving(robot: Description) -> list[Joint]:
    return [joint for joint in robot.joints if joint.kind != "fixed"]


def driven(robot: Description) -> list[Joint]:
    return [joint for joint in moving(robot) if joint.mimic is None]


def random_values(robot: Description, rng: np.random.Generator) -> dict[str, float]:
    values = {}
    for joint in driven(robot):
        lower, upper = joint.lower[0], joint.upper[0]
        values[joint.name] = rng.uniform(*((lower, upper) if math.isfinite(lower) else (-math.pi, math.pi)))
    return values


def touching(
    robot: Description, values: dict[str, float], only: set[tuple[str, str]] | None = None
) -> list[tuple[str, str]]:
    """Pairs of links that are not disabled and whose primitives meet (coal)."""
    world = poses(robot, values)
    disabled = {frozenset(pair[:2]) for pair in robot.semantics.disabled_pairs}
    solid = [
        (
            link.name,
            [coal.CollisionObject(coal_shape(g), *coal_pose(world[link.name] @ g.origin)) for g in link.collisions],
        )
        for link in robot.links
        if link.collisions
    ]
    found = []
    for i, (one, shapes) in enumerate(solid):
        for other, others in solid[i + 1 :]:
            if frozenset((one, other)) in disabled or (only is not None and (one, other) not in only):
                continue
            if any(meet(a, b) for a in shapes for b in others):
                found.append((one, other))
    return found


def meet(one: coal.CollisionObject, other: coal.CollisionObject) -> bool:
    return bool(coal.collide(one, other, coal.CollisionRequest(), coal.CollisionResult()))


def coal_pose(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return matrix[:3, :3], matrix[:3, 3]


def coal_shape(geometry: Geometry):
    match geometry.shape:
        case Sphere(radius):
            return coal.Sphere(radius)
        case Box(size):
            return coal.Box(*size)
        case Capsule(radius, length):
            return coal.Capsule(radius, length)
        case Cylinder(radius, length):
            return coal.Cylinder(radius, length)
    raise AssertionError(geometry.shape)


def signed_distance(geometry: Geometry, points: np.ndarray) -> np.ndarray:
    local = (points - geometry.origin[:3, 3]) @ geometry.origin[:3, :3]
    match geometry.shape:
        case Sphere(radius):
            return np.linalg.norm(local, axis=1) - radius
        case Capsule(radius, length):
            local[:, 2] -= np.clip(local[:, 2], -length / 2, length / 2)
            return np.linalg.norm(local, axis=1) - radius
        case Box(size):
            beyond = np.abs(local) - np.array(size) / 2
        case Cylinder(radius, length):
            beyond = np.stack([np.hypot(local[:, 0], local[:, 1]) - radius, np.abs(local[:, 2]) - length / 2], axis=1)
        case other:
            raise AssertionError(other)
    return np.linalg.norm(np.maximum(beyond, 0.0), axis=1) + np.minimum(beyond.max(axis=1), 0.0)
