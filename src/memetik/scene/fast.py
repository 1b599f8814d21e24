"""The fast collision model: a robot as spheres and capsules, the world as primitives and distance fields.

Its conservative setting never says free where the exact model says collision; its tight setting lies inside the real
geometry and says collision only a little too late. Both answer in microseconds, with gradients, and are what a
search uses; the exact model decides what lies between them.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik import _core
from memetik.errors import GeometryError, InvalidInputError, UnknownNameError
from memetik.scene.field import DistanceField
from memetik.scene.objects import PointCloud, SceneObject, content_key
from memetik.scene.padding import link_padding
from memetik.scene.robot_bodies import (
    BodyBuilder,
    LinkReport,
    RobotBodies,
    Setting,
    attached_piece,
    object_arrays,
    robot_pieces,
)
from memetik.scene.scene import Scene, SceneSnapshot, ordered_pair
from memetik.scene.spheres import as_mesh

if TYPE_CHECKING:
    from memetik.robot.robot import Robot

FAR = 10.0
"""Clearances are not looked for beyond this, metres."""

_NOTHING = SceneSnapshot({}, frozenset(), 0)
_FIELD_SHARE = 0.365  # resolution of a field as a share of the least radius: the error is then 5 % of that radius
_COARSENING = 1.3


class FastModel:
    """A robot in a scene, for quick questions.

    scene: a Scene, seen as it is at each call, or a snapshot of one. Moving an object costs microseconds; new shapes
        cost what their fields and fits cost, which are kept in memory and on disk.
    setting: "conservative" or "tight".
    protrusion: how far bodies may reach beyond the links' geometry; None takes what suits each shape,
        2 to 8 mm, see `default_protrusion`.
    resolution: of distance fields, metres; None takes a third of the robot's smallest body, 1 to 4 mm.
    allowed, padding, self_collision: as for `CollisionModel`, whose pairs are checked.
    """

    def __init__(
        self,
        robot: Robot,
        scene: Scene | SceneSnapshot | None = None,
        setting: Setting = "conservative",
        *,
        protrusion: float | None = None,
        resolution: float | None = None,
        allowed: Iterable[tuple[str, str]] | None = None,
        padding: float | Mapping[str, float] = 0.0,
        self_collision: bool = True,
        threads: int = 2,
    ):
        if setting not in ("conservative", "tight"):
            raise InvalidInputError(f"setting= must be 'conservative' or 'tight', not {setting!r}.")
        self.robot, self.scene, self.self_collision = robot, scene, self_collision
        self.setting: Setting = setting
        self._protrusion, self._resolution, self._threads = protrusion, resolution, threads
        begin = time.perf_counter()
        self._pieces = robot_pieces(robot, link_padding(robot, padding), protrusion)
        self._allowed = _allowed_pairs(robot, allowed, self_collision and bool(self._pieces))
        self._lock = threading.Lock()
        self._snapshot: SceneSnapshot | None = None
        self._bodies: RobotBodies | None = None
        self._world: Any = None
        self.fields: dict[str, DistanceField] = {}
        """The distance fields of the world's objects, by name."""
        self._current()
        self.preparation_time = time.perf_counter() - begin

    def collides(self, q: Any, margin: float = 0.0, *, threads: int = 1) -> Any:
        """Whether a posture (dof,) comes nearer than `margin` to anything; for postures (N, dof) an array (N,)."""
        rows, single = self._rows(q)
        out = np.empty(len(rows), dtype=np.uint8)
        self.world.collides(self.robot.core, rows, float(margin), out, threads)
        return bool(out[0]) if single else out.astype(bool)

    def clearance(self, q: Any, limit: float = FAR, *, threads: int = 1) -> Any:
        """The least clearance, metres, negative where bodies overlap; `limit` where it is larger."""
        rows, single = self._rows(q)
        out = np.empty(len(rows))
        self.world.clearance(self.robot.core, rows, float(limit), out, threads)
        return float(out[0]) if single else out

    def gradient(self, q: Any, limit: float = FAR, *, threads: int = 1) -> np.ndarray:
        """The gradient of the clearance (dof,), metres per radian or metre; zero where it is the limit."""
        rows, single = self._rows(q)
        gradient = self._nearest(rows, limit, threads)[1]
        return gradient[0] if single else gradient

    def closest(self, q: Any, limit: float = FAR) -> tuple[float, tuple[str, str] | None]:
        """The clearance of one posture, and the names of the two that are nearest to each other."""
        rows, _ = self._rows(q)
        clearance, _, between = self._nearest(rows, limit, 1)
        first, second = between[0].tolist()
        if first < 0:
            return float(clearance[0]), None
        bodies, objects = self._current()[1].names, self._objects
        other = bodies[second] if second < len(bodies) else objects[second - len(bodies)]
        return float(clearance[0]), (bodies[first], other)

    def per_link(self, q: Any, limit: float = FAR) -> dict[str, float]:
        """The clearance of each link with geometry, and of each attached object, by name."""
        rows, _ = self._rows(q)
        world, bodies = self._current()
        out = np.empty((len(rows), len(bodies.names)))
        world.group_clearance(self.robot.core, rows, float(limit), out, 1)
        result: dict[str, float] = {}
        for name, value in zip(bodies.names, out[0].tolist(), strict=True):
            result[name] = min(result.get(name, limit), value)
        return result

    def hinge(self, q: Any, margin: float, *, threads: int = 1) -> tuple[Any, np.ndarray, np.ndarray]:
        """The cost sum of h^2, h = max(0, margin - clearance) over all contacts, J^T h (dof,) and J^T J (dof, dof).

        J is the Jacobian of the h by q, so that the cost's gradient is 2 J^T h.
        """
        rows, single = self._rows(q)
        dof = self.robot.dof
        cost, gradient, normal = np.empty(len(rows)), np.empty((len(rows), dof)), np.empty((len(rows), dof, dof))
        self.world.hinge(self.robot.core, rows, float(margin), cost, gradient, normal, threads)
        return (float(cost[0]), gradient[0], normal[0]) if single else (cost, gradient, normal)

    def free_length(self, q: Any, margin: float = 0.0, *, threads: int = 1) -> Any:
        """The length of the chain, from its tip, that is free of the world; infinite where all of it is."""
        rows, single = self._rows(q)
        out = np.empty(len(rows))
        self.world.free_length(self.robot.core, rows, float(margin), out, threads)
        return float(out[0]) if single else out

    @property
    def world(self) -> Any:
        """The native model of the scene as it is now: immutable, for searches."""
        return self._current()[0]

    def thickness(self) -> dict[str, float]:
        """By link: half the second largest extent of its geometry, metres; the radius where it is a rod."""
        extents: dict[str, list[np.ndarray]] = {}
        for piece in self._pieces:
            radii = piece.fit.radii[:, None] + piece.padding
            ends = (piece.fit.starts - radii, piece.fit.starts + radii, piece.fit.ends - radii, piece.fit.ends + radii)
            extents.setdefault(piece.name, []).extend(ends)
        boxes = {name: np.ptp(np.concatenate(points), axis=0) for name, points in extents.items()}
        return {name: 0.5 * float(np.sort(box)[1]) for name, box in boxes.items()}

    @property
    def report(self) -> tuple[LinkReport, ...]:
        """Bodies, coverage and protrusion of each link and attached object."""
        return self._current()[1].report

    def __repr__(self) -> str:
        bodies = sum(entry.bodies for entry in self.report)
        return f"FastModel({self.robot.name!r}, {self.setting}, {bodies} bodies, {len(self._objects)} objects)"

    def _nearest(self, rows: np.ndarray, limit: float, threads: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        out, gradient = np.empty(len(rows)), np.empty((len(rows), self.robot.dof))
        between = np.empty((len(rows), 2), dtype=np.int32)
        self.world.nearest(self.robot.core, rows, float(limit), out, gradient, between, threads)
        return out, gradient, between

    def _rows(self, q: Any) -> tuple[np.ndarray, bool]:
        array = np.ascontiguousarray(self.robot.check_q(q), dtype=float)
        return array.reshape(-1, self.robot.dof), array.ndim == 1

    def _current(self) -> tuple[Any, RobotBodies]:
        scene = self.scene
        snapshot = _NOTHING if scene is None else scene.snapshot() if isinstance(scene, Scene) else scene
        if self._snapshot is snapshot and self._bodies is not None:
            return self._world, self._bodies
        with self._lock:
            if self._snapshot is not snapshot or self._bodies is None:
                self._take(snapshot)
            assert self._bodies is not None
            return self._world, self._bodies

    def _take(self, snapshot: SceneSnapshot) -> None:
        before = self._snapshot
        if before is not None and self._bodies is not None and _same_but_poses(before, snapshot):
            poses = [snapshot.objects[name].pose[:3] for name in self._objects]
            self._world = self._world.moved(np.array(poses, dtype=float).reshape(-1, 3, 4))
        else:
            attached = [item for item in snapshot.objects.values() if item.link is not None]
            in_world = [item for item in snapshot.objects.values() if item.link is None]
            bodies = self._robot_bodies(snapshot, attached)
            self._world = self._native_world(snapshot, bodies, in_world)
            self._bodies, self._objects = bodies, tuple(item.name for item in in_world)
        self._snapshot = snapshot

    def _robot_bodies(self, snapshot: SceneSnapshot, attached: list[SceneObject]) -> RobotBodies:
        for item in attached:
            if item.link not in self.robot.links:
                raise UnknownNameError("link", item.link, f"robot {self.robot.name!r}", self.robot.links)
        pieces = [*self._pieces, *(attached_piece(self.robot, item, self._protrusion) for item in attached)]
        rule = _PairRule(self._allowed, snapshot, self.self_collision)
        return BodyBuilder(self.robot, self.setting).build(pieces, rule.checks)

    def _native_world(self, snapshot: SceneSnapshot, bodies: RobotBodies, objects: list[SceneObject]) -> Any:
        rule = _PairRule(self._allowed, snapshot, self.self_collision)
        checked = np.zeros((len(bodies.axes), len(objects)), dtype=np.uint8)
        for row, (name, axis) in enumerate(zip(bodies.names, bodies.axes.tolist(), strict=False)):
            for column, item in enumerate(objects):
                checked[row, column] = axis >= 0 and rule.checks(name, item.name)
        resolution = self._resolution
        if resolution is None:
            resolution = float(np.clip(_FIELD_SHARE * bodies.least_radius, 0.001, 0.004))
        keys = [object_key(item.name) for item in objects]
        self.fields = {}

        def field(_: Any, item: SceneObject) -> DistanceField:
            return self.fields.setdefault(item.name, field_of(item, resolution, self._threads))

        arrays = object_arrays([(item.shape, item.pose[:3], item.padding, item) for item in objects], field)
        return _core.CollisionWorld.build(bodies.core, *arrays, checked, self.setting == "conservative", keys)


def object_key(name: str) -> int:
    """By what the core knows an object: goals on contacts name pairs by it."""
    return zlib.crc32(name.encode())


_fields: dict[Any, DistanceField] = {}
_MOST_FIELDS = 32


def field_of(item: SceneObject, resolution: float, threads: int = 2) -> DistanceField:
    """The distance field of an object's shape, at that resolution or, where it would be too large, a coarser one."""
    key = (content_key(item.shape), item.solid, resolution)
    if key in _fields:
        return _fields[key]
    wanted = resolution
    while True:
        try:
            if isinstance(item.shape, PointCloud):
                field = DistanceField.from_points(item.shape.points, item.shape.radius, wanted, threads=threads)
            else:
                field = DistanceField.of_mesh(as_mesh(item.shape), wanted, solid=item.solid, threads=threads)
            break
        except GeometryError as error:
            if "choose a coarser resolution" not in str(error):
                raise
            wanted *= _COARSENING
    while len(_fields) >= _MOST_FIELDS:
        _fields.pop(next(iter(_fields)))
    _fields[key] = field
    return field


class _PairRule:
    """Which pairs of names are checked, as the exact model has it."""

    def __init__(self, allowed: frozenset[tuple[str, str]], snapshot: SceneSnapshot, self_collision: bool):
        self._allowed = allowed | snapshot.allowed
        self._touches = {
            name: {item.link, *item.touch} for name, item in snapshot.objects.items() if item.link is not None
        }
        self._world = {name for name, item in snapshot.objects.items() if item.link is None}
        self._self_collision = self_collision

    def checks(self, first: str, second: str) -> bool:
        if first != second and ordered_pair(first, second) in self._allowed:
            return False
        if second in self._touches.get(first, ()) or first in self._touches.get(second, ()):
            return False
        attached = first in self._touches or second in self._touches
        return attached or self._self_collision or first in self._world or second in self._world


def _same_but_poses(before: SceneSnapshot, now: SceneSnapshot) -> bool:
    """Whether nothing but poses of objects in the world changed."""
    if before.allowed != now.allowed or list(before.objects) != list(now.objects):
        return False
    for old, new in zip(before.objects.values(), now.objects.values(), strict=True):
        if old is new:
            continue
        same = old.link is None and new.link is None and old.shape is new.shape
        if not same or old.padding != new.padding or old.solid != new.solid:
            return False
    return True


def _allowed_pairs(
    robot: Robot, allowed: Iterable[tuple[str, str]] | None, self_collision: bool
) -> frozenset[tuple[str, str]]:
    from memetik.scene.allowed import default_pairs

    if allowed is not None:
        return frozenset(ordered_pair(*pair) for pair in allowed)
    return default_pairs(robot) if self_collision else frozenset()
