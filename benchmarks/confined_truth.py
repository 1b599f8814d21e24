"""Whether a configuration is what was asked for, and which targets can be reached at all: by Pinocchio, coal and eaik
alone.

Nothing of memetik's own kinematics, collision checks or search is used here, only its descriptions of robots and
scenes: links' shapes and poses, allowed pairs, triangles.
"""

from __future__ import annotations

import itertools
from typing import Any

import coal
import numpy as np
import pinocchio
from peers.analytic import eaik_arm
from peers.verification import bare

import memetik as mk
from memetik.bench.scenarios.surroundings import Surroundings
from memetik.geometry.shapes import Box, Capsule, Sphere

LIMIT_SLACK = 1e-9


class Truth:
    """A robot in a scene: Pinocchio's kinematics, coal's shapes. Meshes are solid."""

    def __init__(self, robot: mk.Robot, scene: mk.Scene):
        self.robot = robot
        self.model = pinocchio.buildModelFromXML(bare(robot).to_urdf())
        self.data = self.model.createData()
        # Names, frames and shapes of everything that moves, then of what stands in the world.
        self.moving: list[tuple[str, int, Any, np.ndarray]] = []
        for link in robot.description.links:
            for item in link.collisions:
                self.moving.append((link.name, self._frame(link.name), _shape(item.shape), np.asarray(item.origin)))
        self.still: list[tuple[str, Any, coal.Transform3s, _Inside | None]] = []
        touch: set[frozenset[str]] = {frozenset(pair) for pair in scene.allowed}
        for item in scene:
            if item.link is not None:
                self.moving.append((item.name, self._frame(item.link), _shape(item.shape), item.pose))
                touch |= {frozenset((item.name, name)) for name in (item.link, *item.touch)}
                continue
            triangles = getattr(item.shape, "triangles", None)
            inside = None if triangles is None else _Inside(triangles @ item.pose[:3, :3].T + item.pose[:3, 3])
            self.still.append((item.name, _shape(item.shape), _transform(item.pose), inside))
        touch |= {frozenset(pair[:2]) for pair in robot.description.semantics.disabled_pairs}
        touch |= self._neighbours()
        names = [body[0] for body in self.moving]
        self.pairs = [
            (a, b)
            for a, b in itertools.combinations(range(len(names)), 2)
            if names[a] != names[b] and frozenset((names[a], names[b])) not in touch and not self._rigid(a, b)
        ]
        base = {body[0] for body in self.moving if self._parent(body[1]) == 0}
        self.world_pairs = [
            (a, b)
            for a, name in enumerate(names)
            for b, other in enumerate(self.still)
            if frozenset((name, other[0])) not in touch and name not in base
        ]

    def pose(self, link: str, q: np.ndarray) -> np.ndarray:
        self._place(q)
        return self.data.oMf[self._frame(link)].homogeneous

    def within_limits(self, q: np.ndarray) -> bool:
        return bool((q >= self.robot.lower - LIMIT_SLACK).all() and (q <= self.robot.upper + LIMIT_SLACK).all())

    def is_free(self, q: np.ndarray) -> bool:
        """Whether nothing touches: neither shapes' surfaces, nor a shape wholly inside a solid mesh."""
        self._place(q)
        poses = [self.data.oMf[frame].homogeneous @ origin for _, frame, _, origin in self.moving]
        places = [_transform(pose) for pose in poses]
        request = coal.CollisionRequest()
        for a, b in self.world_pairs:
            _, shape, place, inside = self.still[b]
            if coal.collide(self.moving[a][2], places[a], shape, place, request, coal.CollisionResult()):
                return False
            if inside is not None and inside.holds(poses[a][:3, 3]):
                return False
        return not any(
            coal.collide(self.moving[a][2], places[a], self.moving[b][2], places[b], request, coal.CollisionResult())
            for a, b in self.pairs
        )

    def reaches(self, q: np.ndarray, link: str, target: np.ndarray, tolerance: float, free: str = "") -> bool:
        """Whether a link is at a target pose within `tolerance` (m, rad); `free`: "yaw" lets it turn about z."""
        pose = self.pose(link, q)
        turn = pose[:3, :3] @ target[:3, :3].T
        angle = _angle(turn)
        if free == "yaw":
            angle = float(np.arccos(np.clip(turn[2, 2], -1.0, 1.0)))
            angle = float(np.hypot(turn[0, 2], turn[1, 2])) if turn[2, 2] > 0.0 else angle
        return bool(np.linalg.norm(pose[:3, 3] - target[:3, 3]) <= tolerance + 1e-9 and angle <= tolerance + 1e-9)

    def _place(self, q: np.ndarray) -> None:
        pinocchio.framesForwardKinematics(self.model, self.data, self._joints(q))

    def _joints(self, q: np.ndarray) -> np.ndarray:
        if not hasattr(self, "_order"):
            names = list(self.robot.joint_names)
            self._order = []
            for name in self.model.names[1:]:
                joint = self.model.joints[self.model.getJointId(name)]
                coupling = self.robot.couplings[name]
                self._order.append((joint.idx_q, joint.nq, names[coupling.first], coupling))
        joints = pinocchio.neutral(self.model)
        for place, size, name, coupling in self._order:
            value = coupling.multiplier * q[self.robot.joint_names.index(name)] + coupling.offset
            joints[place : place + size] = value if size == 1 else (np.cos(value), np.sin(value))
        return joints

    def _frame(self, link: str) -> int:
        return self.model.getFrameId(link, pinocchio.FrameType.BODY)

    def _parent(self, frame: int) -> int:
        return self.model.frames[frame].parentJoint

    def _rigid(self, a: int, b: int) -> bool:
        return self._parent(self.moving[a][1]) == self._parent(self.moving[b][1])

    def _neighbours(self) -> set[frozenset[str]]:
        """Links with shapes next to each other in the tree, passing over links without."""
        above = {joint.child: joint.parent for joint in self.robot.description.joints}
        shaped = {link.name for link in self.robot.description.links if link.collisions}
        pairs = set()
        for link in shaped:
            parent = above.get(link)
            while parent is not None and parent not in shaped:
                parent = above.get(parent)
            if parent is not None:
                pairs.add(frozenset((link, parent)))
        return pairs


class Enumeration:
    """All configurations of a six-joint arm, bare or with more joints behind it, whose tip is at a target."""

    def __init__(self, truth: Truth, arm: mk.Robot, flange: str, tip: str):
        self.truth, self.tip, self.flange = truth, tip, flange
        self.arm = eaik_arm(arm, flange)
        self.tail = truth.robot.dof - arm.dof

    def configurations(self, target: np.ndarray, tail: np.ndarray) -> list[np.ndarray]:
        """Configurations with these values of the joints behind the arm."""
        zero = np.concatenate([np.zeros(6), tail])
        reach = np.linalg.inv(self.truth.pose(self.flange, zero)) @ self.truth.pose(self.tip, zero)
        answers = self.arm.calculate_IK(target @ np.linalg.inv(reach))
        return [
            np.concatenate([np.asarray(q, dtype=float), tail])
            for q, only_near in zip(answers.Q, answers.is_LS, strict=True)
            if not only_near
        ]

    def is_reachable(self, target: np.ndarray, budget: int, rng: np.random.Generator) -> bool:
        """Whether one of the configurations is free; with joints behind the arm, of `budget` random values of those."""
        robot = self.truth.robot
        for _ in range(budget if self.tail else 1):
            tail = rng.uniform(robot.lower[6:], robot.upper[6:])
            if any(self.truth.is_free(q) for q in self.configurations(target, tail) if self.truth.within_limits(q)):
                return True
        return False


def touching(surroundings: Surroundings, links: tuple[str, ...]) -> mk.Scene:
    """The scene in which these links may touch the inspected objects."""
    scene = surroundings.scene.copy()
    for link, name in itertools.product(links, surroundings.metadata["surfaces"]):
        scene.allow(link, name)
    return scene


def _shape(shape: Any) -> Any:
    if isinstance(shape, Box):
        return coal.Box(*shape.size)
    if isinstance(shape, Sphere):
        return coal.Sphere(shape.radius)
    if hasattr(shape, "faces"):
        model = coal.BVHModelOBBRSS()
        model.beginModel(len(shape.faces), len(shape.vertices))
        model.addVertices(np.ascontiguousarray(shape.vertices))
        model.addTriangles(np.ascontiguousarray(shape.faces, dtype=np.int64))
        model.endModel()
        return model
    kind = coal.Capsule if isinstance(shape, Capsule) else coal.Cylinder
    return kind(shape.radius, shape.length)


def _transform(pose: np.ndarray) -> coal.Transform3s:
    return coal.Transform3s(np.ascontiguousarray(pose[:3, :3]), np.ascontiguousarray(pose[:3, 3]))


def _angle(turn: np.ndarray) -> float:
    chord = float(np.linalg.norm(turn - np.eye(3))) / np.sqrt(8.0)
    return 2.0 * float(np.arcsin(min(1.0, chord)))


class _Inside:
    """Which points are inside closed triangles (T, 3, 3): by their solid angle."""

    def __init__(self, triangles: np.ndarray):
        self._triangles = triangles
        self._low, self._high = triangles.min(axis=(0, 1)), triangles.max(axis=(0, 1))

    def holds(self, point: np.ndarray) -> bool:
        if (point <= self._low).any() or (point >= self._high).any():
            return False
        a, b, c = np.moveaxis(self._triangles - point, 1, 0)
        la, lb, lc = (np.sqrt(np.einsum("ij,ij->i", v, v)) for v in (a, b, c))
        above = np.einsum("ij,ij->i", a, np.cross(b, c))
        below = la * lb * lc + (a * b).sum(1) * lc + (b * c).sum(1) * la + (c * a).sum(1) * lb
        return float(np.arctan2(above, below).sum()) > np.pi
