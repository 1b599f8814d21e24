"""The collision models of a robot in a scene that a solve, a tracker or a planner works with."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from memetik import _core
from memetik.errors import InvalidInputError

if TYPE_CHECKING:
    from memetik.collision.allowed_pairs import Pairs
    from memetik.collision.exact import CollisionModel
    from memetik.collision.mesh_checker import MeshChecker
    from memetik.geometry.distance_field import DistanceField
    from memetik.geometry.openings import Opening, Openings
    from memetik.robot.robot import Robot
    from memetik.scene.scene import Scene, SceneSnapshot
    from memetik.scene.scene_object import SceneObject

_known: WeakKeyDictionary[DistanceField, Openings] = WeakKeyDictionary()

_in_use: WeakValueDictionary[tuple[Robot, int, bool, float], CollisionContext] = WeakValueDictionary()

NEAR = 0.01
"""Metres: pairs of links that no sampled configuration brings this near to each other are left out of the search."""

logger = logging.getLogger(__name__)


class CollisionContext:
    """A robot in a scene, in three collision models: `tight`, fast and a little too small; `conservative`, fast and
    nowhere too small; and exact, in the core (`native`) and by coal (`exact`). The core's exact check decides on what
    meets the goals; the tight model tells the search where to push what is in collision.

    The scene is seen as it is at each solve. What is costly (fields, fits, trees over triangles) is prepared when the
    problem is made, and again when the scene got other shapes, before a solve's clock starts; fields and fits are kept
    on disk. `preparation_time` is the sum of it, seconds.

    `allowed` are the pairs of links that are not checked: those of `default_pairs`, and links that come nearer to each
    other than `margin` in every configuration. The tight model also leaves out pairs that are never near.
    """

    def __init__(self, robot: Robot, scene: Scene | None, self_collision: bool, margin: float):
        from memetik.collision.allowed_pairs import default_pairs, pairs_always_within, pairs_never_within
        from memetik.collision.fast import FastModel
        from memetik.scene.scene import Scene

        if scene is not None and not isinstance(scene, Scene):  # pyright: ignore[reportUnnecessaryIsInstance]
            kind = type(scene).__name__
            raise InvalidInputError(f"scene= is an mk.Scene or an object with a method collides(q), not {kind}.")
        self.robot, self.scene, self.self_collision, self.margin = robot, scene, self_collision, margin
        begin = time.perf_counter()
        self.allowed: Pairs = frozenset()
        searched = self.allowed
        if self_collision:
            searched = self.allowed = default_pairs(robot) | pairs_always_within(robot, margin)
            searched = self.allowed | pairs_never_within(robot, margin + NEAR)
        self.tight = FastModel(robot, scene, "tight", allowed=searched, self_collision=self_collision)
        self.conservative = FastModel(robot, scene, "conservative", allowed=self.allowed, self_collision=self_collision)
        self.preparation_time = 0.0
        self._exact: CollisionModel | None = None
        self._native: MeshChecker | None = None
        self._seen: SceneSnapshot | None = None
        self._snapshot: _core.CollisionSnapshot | None = None
        self._openings: list[tuple[np.ndarray, Openings]] = []
        self._prepare(begin)

    @classmethod
    def shared(cls, robot: Robot, scene: Scene | None, self_collision: bool, margin: float) -> CollisionContext:
        """The context of a robot in a scene: the one that others use already, where there is one."""
        key = (robot, id(scene), self_collision, margin)
        found = _in_use.get(key)
        if found is None:
            found = _in_use[key] = cls(robot, scene, self_collision, margin)
        return found

    @property
    def exact(self) -> CollisionModel:
        """The exact model for distances and contacts (coal)."""
        if self._exact is None:
            from memetik.collision.exact import CollisionModel

            around, own = self.scene, self.self_collision
            self._exact = CollisionModel(self.robot, around, allowed=self.allowed, self_collision=own)
        return self._exact

    @property
    def native(self) -> MeshChecker:
        """The exact check in the core."""
        if self._native is None:
            from memetik.collision.mesh_checker import MeshChecker

            own = self.self_collision
            self._native = MeshChecker(
                self.robot, self.scene, allowed=self.allowed, self_collision=own, margin=self.margin
            )
        return self._native

    @property
    def scene_names(self) -> frozenset[str]:
        """The names of the scene's objects."""
        return frozenset() if self.scene is None else frozenset(self.scene.names)

    def in_collision(self, q: np.ndarray) -> bool:
        """Whether a configuration comes nearer than the margin to anything, by exact geometry."""
        return bool(self.native.collides(q))

    def snapshot(self) -> _core.CollisionSnapshot:
        """The scene as it is now, for the core: the two fast models, the exact check and the margin."""
        found = self._snapshot
        if found is None or (self.scene is not None and self.scene.snapshot() is not self._seen):
            found = self._prepare(time.perf_counter())
        return found

    @property
    def has_openings(self) -> bool:
        """Whether any object of the scene is hollow, with an opening."""
        return bool(self._openings)

    def opening_behind(self, point: np.ndarray) -> Opening | None:
        """The opening, in the world, through which a point (3,) inside an object is reached; None where there is none.

        Of several the narrowest.
        """
        best = None
        for pose, openings in self._openings:
            found = openings.behind(pose[:3, :3].T @ (point - pose[:3, 3]))
            if found is not None and (best is None or found.radius < best.radius):
                best = found._replace(point=pose[:3, :3] @ found.point + pose[:3, 3])
        return best

    def _prepare(self, begin: float) -> _core.CollisionSnapshot:
        """Make all that the scene as it is now needs; `begin` is when the clock started."""
        from memetik.scene.scene import EMPTY

        self._snapshot = None
        self._seen = None if self.scene is None else self.scene.snapshot()
        tight, conservative = self.tight.core, self.conservative.core
        objects = EMPTY.objects if self._seen is None else self._seen.objects
        found = [(objects[name].pose, openings_of(objects[name], field)) for name, field in self.tight.fields.items()]
        self._openings = [(pose, openings) for pose, openings in found if openings]
        found = self._snapshot = _core.CollisionSnapshot(tight, conservative, self.native.core, self.margin)
        spent = time.perf_counter() - begin
        self.preparation_time += spent
        level = logging.INFO if spent > 0.1 else logging.DEBUG
        logger.log(level, "prepared the collision models of %r in %.3g s", self.robot.name, spent)
        return found


def openings_of(item: SceneObject, field: DistanceField) -> Openings | None:
    """The openings of an object with a distance field, kept as long as that and on disk; None where it has no inside
    to speak of: shells, height maps, point clouds."""
    from memetik.geometry import cache
    from memetik.geometry.openings import Openings
    from memetik.geometry.shapes import TriangleMesh, content_key

    if not isinstance(item.shape, TriangleMesh) or field.is_shell:
        return None
    if field not in _known:
        key = cache.digest([str(content_key(item.shape)), -1 if item.solid is None else int(item.solid)])
        _known[field] = Openings.of_field(field, item.shape.bounds, key)
    return _known[field]
