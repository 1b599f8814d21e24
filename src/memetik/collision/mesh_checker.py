"""The native exact check of a robot in a scene: the verdict of the exact model, a thousand times faster.

Bodies and pairs are those of `exact.CollisionModel`: the collision shapes of links, what is attached to links, and the
objects of the world. A pair is checked unless it is allowed, and unless no joint moves one against the other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik import _core
from memetik.collision.allowed_pairs import PairRule, Pairs, checked_pairs, default_pairs
from memetik.collision.link_padding import link_padding
from memetik.collision.mesh_shapes import collision_shape
from memetik.errors import UnknownNameError
from memetik.scene.scene import EMPTY, Scene, SceneSnapshot
from memetik.scene.scene_object import ordered_pair

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from memetik.robot.robot import Robot

_SLIDE = 10.0  # metres: what sliding joints without limits are expected to stay within


class MeshChecker:
    """A robot with its real meshes in a scene, for many exact questions.

    scene: seen as it is at each call; moving an object between calls costs microseconds.
    allowed: pairs of names that may touch, instead of those of the robot's SRDF and of neighbouring links.
    padding: metres by which every link grows, or a mapping {link: metres}.
    margin: clearance that is asked for, metres.
    Answers may be asked from several threads at once; the interpreter's lock is released meanwhile.
    """

    def __init__(
        self,
        robot: Robot,
        scene: Scene | None = None,
        *,
        allowed: Iterable[tuple[str, str]] | None = None,
        padding: float | Mapping[str, float] = 0.0,
        self_collision: bool = True,
        margin: float = 0.0,
    ):
        self.robot, self.scene, self.self_collision, self.margin = robot, scene, self_collision, float(margin)
        self._padding = link_padding(robot, padding)
        self._links = tuple(link.name for link in robot.description.links)
        self._link_axes: list[int] = robot.tree.link_axes.tolist()
        has_bodies = any(link.collisions for link in robot.description.links)
        if allowed is not None:
            self._allowed: Pairs = checked_pairs(robot, allowed, scene.names if scene is not None else ())
        else:
            self._allowed = default_pairs(robot) if self_collision and has_bodies else frozenset()
        self._lock = threading.Lock()
        self._seen: SceneSnapshot | None = None
        self._core: _core.MeshModel | None = None
        self._body_names: list[str] = []
        self._pairs: list[tuple[int, int]] = []
        self._checked = np.zeros(0, dtype=np.uint8)
        self._body_shapes: list[_core.CollisionShape] = []
        self._object_shapes: list[_core.CollisionShape] = []
        self._object_names: list[str] = []
        self.core  # noqa: B018 - prepared now, not at the first question

    @property
    def core(self) -> _core.MeshModel:
        """The native model of the robot in the scene as it is now."""
        snapshot = self.scene.snapshot() if self.scene is not None else EMPTY
        with self._lock:
            if self._core is None or self._seen is not snapshot:
                self._core = self._moved(snapshot) or self._build(snapshot)
                self._seen = snapshot
            return self._core

    def collides(self, q: ArrayLike, margin: float | None = None) -> Any:
        """Whether a configuration (dof,) comes nearer than the margin to anything; for (N, dof) an array (N,).

        margin: another one than that of the checker.
        """
        array = np.ascontiguousarray(self.robot.check_q(q), dtype=float)
        core = self.core
        if margin is not None and margin != self.margin:
            core = self._model(core.robot, core.scene, float(margin))
        answers = core.collides(np.atleast_2d(array))
        return answers if array.ndim == 2 else bool(answers[0])

    def edge_free(self, a: ArrayLike, b: ArrayLike, resolution: float = 100.0) -> Any:
        """Whether straight motions from a to b, (dof,) or (N, dof), are free at samples: `resolution` of them per unit
        of |b - a|."""
        first, second = (np.ascontiguousarray(self.robot.check_q(q), dtype=float) for q in (a, b))
        answers = self.core.edges_free(np.atleast_2d(first), np.atleast_2d(second), resolution)
        return answers if first.ndim == 2 else bool(answers[0])

    def certified(self, a: ArrayLike, b: ArrayLike) -> Any:
        """Whether straight motions from a to b are proved free, between samples too."""
        first, second = (np.ascontiguousarray(self.robot.check_q(q), dtype=float) for q in (a, b))
        states, _ = self.core.certify(np.atleast_2d(first), np.atleast_2d(second))
        proved = states == int(_core.EdgeState.proved)
        return proved if first.ndim == 2 else bool(proved[0])

    def first_contact(self, q: ArrayLike) -> tuple[str, str] | None:
        """The names of a pair that comes too near at q (dof,); None where there is none."""
        found = self.core.first_contact(np.ascontiguousarray(self.robot.check_q(q), dtype=float))
        if found is None:
            return None
        return self.names_of(*found)

    def names_of(self, body: int, other: int, with_object: bool) -> tuple[str, str]:
        """The names of a body and of another, or of an object, by the core's numbers."""
        return self._body_names[body], (self._object_names if with_object else self._body_names)[other]

    def pair_names(self) -> Pairs:
        """The pairs of links and attached objects that are checked, each in alphabetical order."""
        _ = self.core
        return frozenset(ordered_pair(self._body_names[a], self._body_names[b]) for a, b in self._pairs)

    @property
    def object_pairs(self) -> np.ndarray:
        """(bodies * objects,) 1 where a body is kept apart from an object, else 0."""
        _ = self.core
        return self._checked

    # inside

    def _build(self, snapshot: SceneSnapshot) -> _core.MeshModel:
        rule = PairRule.in_scene(self._allowed, snapshot, self.self_collision)
        if self._core is not None and self._seen is not None and self._seen.keeps_robot(snapshot):
            robot = self._core.robot
        else:
            robot = self._build_robot(snapshot, rule)
        objects = [item for item in snapshot.objects.values() if item.link is None]
        specs = [
            (
                collision_shape(item.shape, item.solid, covered=False),
                np.ascontiguousarray(item.pose[:3]),
                item.padding,
                number,
            )
            for number, item in enumerate(objects)
        ]
        self._object_shapes = [entry[0] for entry in specs]  # kept: shapes are shared while anything uses them
        self._object_names = [item.name for item in objects]
        self._checked = np.ascontiguousarray(rule.table(self._body_names, self._object_names).reshape(-1))
        return self._model(robot, _core.MeshScene.build(robot, specs), self.margin)

    def _build_robot(self, snapshot: SceneSnapshot, rule: PairRule) -> _core.MeshRobot:
        names: list[str] = []
        axes: list[int] = []
        bodies: list[tuple[_core.CollisionShape, int, np.ndarray, float, int]] = []

        def add(name: str, link: int, shape: _core.CollisionShape, origin: np.ndarray, padding: float) -> None:
            axis = self._link_axes[link]
            placement = self.robot.tree.link_placements[link] @ origin
            bodies.append((shape, axis, np.ascontiguousarray(placement[:3]), padding, len(names)))
            names.append(name)
            axes.append(axis)

        for index, link in enumerate(self.robot.description.links):
            for geometry in link.collisions:
                shape = collision_shape(geometry.shape, covered=True)
                add(link.name, index, shape, np.asarray(geometry.origin), self._padding.get(link.name, 0.0))
        for item in snapshot.attached:
            if item.link not in self._links:
                raise UnknownNameError("link", item.link, f"robot {self.robot.name!r}", self._links)
            shape = collision_shape(item.shape, item.solid, covered=True)
            add(item.name, self._links.index(item.link), shape, item.pose, item.padding)
        pairs = [
            (a, b)
            for a in range(len(names))
            for b in range(a + 1, len(names))
            if axes[a] != axes[b] and rule.checks(names[a], names[b])
        ]
        self._body_names, self._pairs, self._body_shapes = names, pairs, [entry[0] for entry in bodies]
        return _core.MeshRobot.build(
            self.robot.core, bodies, np.array(pairs, dtype=np.int32).reshape(-1, 2), slide_reach(self.robot)
        )

    def _model(self, robot: _core.MeshRobot, scene: _core.MeshScene, margin: float) -> _core.MeshModel:
        return _core.MeshModel.build(
            robot, scene, margin=margin, environment=True, self_collision=True, checked=self._checked
        )

    def _moved(self, snapshot: SceneSnapshot) -> _core.MeshModel | None:
        """The model for a snapshot in which nothing but poses of world objects changed; else None."""
        if self._core is None or self._seen is None or (changed := self._seen.moved_to(snapshot)) is None:
            return None
        scene, names = self._core.scene, self._object_names
        for item in changed:
            scene = scene.moved(names.index(item.name), np.ascontiguousarray(item.pose[:3]))
        return self._model(self._core.robot, scene, self.margin)


def pair_checks(
    robot: Robot, allowed: Pairs, padding: float = 0.0
) -> list[tuple[tuple[str, str], Callable[[np.ndarray], np.ndarray]]]:
    """Pairs of links that joints move against each other, each with an exact check of it alone.

    A check tells of configurations (N, dof), not checked, in which the two, each grown by `padding`, come too near.
    """
    tree, description = robot.tree, robot.description
    axes: list[int] = tree.link_axes.tolist()
    bodies: dict[str, list[tuple[_core.CollisionShape, int, np.ndarray, float, int]]] = {}
    for index, link in enumerate(description.links):
        for geometry in link.collisions:
            placement = np.ascontiguousarray((tree.link_placements[index] @ np.asarray(geometry.origin))[:3])
            shape = collision_shape(geometry.shape, covered=True)
            bodies.setdefault(link.name, []).append((shape, axes[index], placement, padding, 0))
    slides = slide_reach(robot)

    def check(first: str, second: str) -> Callable[[np.ndarray], np.ndarray]:
        own, others = bodies[first], bodies[second]
        pairs = np.array([(a, len(own) + b) for a in range(len(own)) for b in range(len(others))], dtype=np.int32)
        both = [(*body[:4], number) for number, body in enumerate((*own, *others))]
        alone = _core.MeshRobot.build(robot.core, both, pairs, slides)
        scene = _core.MeshScene.build(alone, [])
        none = np.zeros(0, dtype=np.uint8)
        model = _core.MeshModel.build(alone, scene, margin=0.0, environment=False, self_collision=True, checked=none)
        return model.collides

    names = list(bodies)
    found = [(a, b) for k, a in enumerate(names) for b in names[k + 1 :] if bodies[a][0][1] != bodies[b][0][1]]
    return [(pair, check(*names)) for names in found if (pair := ordered_pair(*names)) not in allowed]


def slide_reach(robot: Robot) -> np.ndarray:
    """How far sliding joints go (dof,), metres."""
    reach = np.maximum(np.abs(robot.lower), np.abs(robot.upper))
    return np.where(np.isfinite(reach), reach, _SLIDE).astype(float)
