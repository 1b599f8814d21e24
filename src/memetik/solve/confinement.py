"""What a problem's robot must not touch, as the search sees it."""

from __future__ import annotations

import contextlib
import logging
import time
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from memetik.errors import InvalidInputError, MissingExtraError

if TYPE_CHECKING:
    from memetik.robot.robot import Robot
    from memetik.scene.field import DistanceField
    from memetik.scene.objects import SceneObject
    from memetik.scene.openings import Opening, Openings

_known: WeakKeyDictionary[DistanceField, Openings] = WeakKeyDictionary()

NEAR = 0.01
"""Metres: links that sampled postures never bring this near to each other are left to what certifies the answers."""

logger = logging.getLogger(__name__)


class Confinement:
    """A scene and the robot's own links, three times: as fast bodies that are a little too small, as fast bodies that
    are nowhere too small, and exactly. The search moves among the first; an answer that is free among the second is
    certain; between the two the exact geometry decides.

    The scene is seen as it is at each solve. What is costly (fields, fits, trees over triangles) is prepared when the
    problem is made, and again when the scene got other shapes, before a solve's clock starts; fields and fits are kept
    on disk. `preparation_time` is the sum of it, seconds.

    Links that come nearer to each other than `margin` in every posture are not kept that far apart: no posture could.
    Those that are never near are left out of the search, not of what certifies its answers.
    """

    def __init__(self, robot: Robot, scene: Any, self_collision: bool, margin: float):
        from memetik.scene.allowed import default_pairs, pairs_always_within, pairs_never_within
        from memetik.scene.fast import FastModel
        from memetik.scene.scene import Scene

        if scene is not None and not isinstance(scene, Scene):
            raise InvalidInputError(
                f"scene= is an mk.Scene or an object with a method collides(q), not {type(scene).__name__}."
            )
        self.robot, self.scene, self.self_collision, self.margin = robot, scene, self_collision, margin
        begin = time.perf_counter()
        allowed = default_pairs(robot) | pairs_always_within(robot, margin) if self_collision else frozenset()
        self._allowed = allowed
        searched = allowed
        if self_collision:
            with contextlib.suppress(MissingExtraError):  # all pairs are searched then
                searched = allowed | pairs_never_within(robot, margin + NEAR)
        self.tight = FastModel(robot, scene, "tight", allowed=searched, self_collision=self_collision)
        self.certain = FastModel(robot, scene, "conservative", allowed=allowed, self_collision=self_collision)
        self.preparation_time = 0.0
        self._exact: Any = None
        self._seen: Any = None
        self._openings: list[tuple[np.ndarray, Openings]] = []
        self._prepare(begin)

    @property
    def exact(self) -> Any:
        """The exact model (coal)."""
        if self._exact is None:
            from memetik.scene.exact import CollisionModel

            self._exact = CollisionModel(
                self.robot, self.scene, allowed=self._allowed, self_collision=self.self_collision
            )
        return self._exact

    def touches(self, q: np.ndarray) -> bool:
        """Whether the exact geometry at a posture is nearer than the margin to anything."""
        return bool(self.exact.collides(q, self.margin))

    def arguments(self) -> tuple[Any, Any, float, Any]:
        """What `_core.Problem.solve` takes: the two worlds as they are now, the margin and the exact verdict."""
        if self.scene is not None and self.scene.snapshot() is not self._seen:
            self._prepare(time.perf_counter())
        return self.tight.world, self.certain.world, self.margin, self.touches

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

    def _prepare(self, begin: float) -> None:
        """Make all that the scene as it is now needs; `begin` is when the clock started."""
        snapshot = None if self.scene is None else self.scene.snapshot()
        self._seen = snapshot
        _ = self.tight.world, self.certain.world
        self._openings = []
        for name, field in self.tight.fields.items():
            item = snapshot.objects[name] if snapshot is not None else None
            openings = None if item is None else openings_of(item, field)
            if item is not None and openings:
                self._openings.append((item.pose, openings))
        with contextlib.suppress(MissingExtraError):  # raised where exact geometry has to decide
            self.exact.prepare()
        spent = time.perf_counter() - begin
        self.preparation_time += spent
        logger.log(
            logging.INFO if spent > 0.1 else logging.DEBUG,
            "prepared the collision models of %r in %.3g s",
            self.robot.name,
            spent,
        )


def openings_of(item: SceneObject, field: DistanceField) -> Openings | None:
    """The openings of an object with a distance field, kept as long as that and on disk; None where it has no inside
    to speak of: shells, height maps, point clouds."""
    from memetik.scene import cache
    from memetik.scene.objects import TriangleMesh, content_key
    from memetik.scene.openings import Openings

    if not isinstance(item.shape, TriangleMesh) or field.is_shell:
        return None
    if field not in _known:
        key = cache.digest([str(content_key(item.shape)), -1 if item.solid is None else int(item.solid)])
        _known[field] = Openings.of_field(field, item.shape.bounds, key)
    return _known[field]


_in_use: WeakValueDictionary[Any, Confinement] = WeakValueDictionary()


def confined(robot: Robot, scene: Any, self_collision: bool, margin: float) -> Confinement:
    """The confinement of a robot in a scene: the one that others use already, where there is one."""
    key = (robot, id(scene), self_collision, margin)
    found = _in_use.get(key)
    if found is None:
        found = _in_use[key] = Confinement(robot, scene, self_collision, margin)
    return found
