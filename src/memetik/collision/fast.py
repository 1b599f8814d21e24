"""The fast collision model: a robot as spheres and capsules, the scene as primitives and distance fields.

Its conservative setting never says free where the exact model says collision; its tight setting lies inside the real
geometry and says collision only a little too late. Both answer in microseconds, with gradients, and are what a
search uses; the exact model decides what lies between them.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from memetik import _core
from memetik.collision.allowed_pairs import PairRule, Pairs, default_pairs
from memetik.collision.link_padding import link_padding
from memetik.collision.robot_spheres import LinkReport, RobotBodies, Setting, build_bodies, fit_attached, fit_links
from memetik.errors import GeometryError, InvalidInputError, UnknownNameError
from memetik.geometry.core_shapes import needs_field, object_spec
from memetik.geometry.distance_field import DistanceField
from memetik.geometry.shapes import content_key
from memetik.geometry.tessellate import as_mesh
from memetik.scene.scene import EMPTY, Scene, SceneSnapshot
from memetik.scene.scene_object import SceneObject, ordered_pair

if TYPE_CHECKING:
    from memetik.robot.robot import Robot

FAR = 10.0
"""Clearances are not looked for beyond this, metres."""

_FIELD_SHARE = 0.365  # resolution of a field as a share of the least radius: the error is then 5 % of that radius
_COARSENING = 1.3
_FIELD_THREADS = 2


class _State(NamedTuple):
    """The model of one version of the scene."""

    snapshot: SceneSnapshot
    core: _core.FastCollisionModel
    bodies: RobotBodies
    objects: dict[str, int]
    """The numbers of the world's objects in the core, by name, in that order."""
    fields: dict[str, DistanceField]


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
    ):
        if setting not in ("conservative", "tight"):
            raise InvalidInputError(f"setting= must be 'conservative' or 'tight', not {setting!r}.")
        self.robot, self.scene, self.self_collision = robot, scene, self_collision
        self.setting: Setting = setting
        self._protrusion, self._resolution = protrusion, resolution
        begin = time.perf_counter()
        self._fitted = fit_links(robot, link_padding(robot, padding), protrusion)
        self._allowed: Pairs = frozenset()
        if allowed is not None:
            self._allowed = frozenset(ordered_pair(*pair) for pair in allowed)
        elif self_collision and self._fitted:
            self._allowed = default_pairs(robot)
        self._lock = threading.Lock()
        self._state: _State | None = None
        self._current()
        self.preparation_time = time.perf_counter() - begin

    def collides(self, q: ArrayLike, margin: float = 0.0, *, threads: int = 1) -> Any:
        """Whether a configuration (dof,) comes nearer than `margin` to anything; for (N, dof) an array (N,)."""
        rows, single = self._rows(q)
        found = self.core.collides(self.robot.core, rows, float(margin), threads)
        return bool(found[0]) if single else found

    def clearance(self, q: ArrayLike, limit: float = FAR, *, threads: int = 1) -> Any:
        """The least clearance, metres, negative where bodies overlap; `limit` where it is larger."""
        rows, single = self._rows(q)
        found = self.core.clearance(self.robot.core, rows, float(limit), threads)
        return float(found[0]) if single else found

    def gradient(self, q: ArrayLike, limit: float = FAR, *, threads: int = 1) -> np.ndarray:
        """The gradient of the clearance (dof,), metres per radian or metre; zero where it is the limit."""
        rows, single = self._rows(q)
        gradient = self.nearest(rows, limit, threads)[1]
        return gradient[0] if single else gradient

    def nearest(self, q: np.ndarray, limit: float = FAR, threads: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of configurations (N, dof), not checked: clearance (N,), its gradient (N, dof), and which are nearest (N, 2),
        by their numbers in the core."""
        return self.core.nearest(self.robot.core, q, float(limit), threads)

    def closest(self, q: ArrayLike, limit: float = FAR) -> tuple[float, tuple[str, str] | None]:
        """The clearance of one configuration, and the names of the two that are nearest to each other."""
        state = self._current()
        clearance, _, between = self.nearest(self._rows(q)[0], limit)
        first, second = int(between[0, 0]), int(between[0, 1])
        names = (*state.bodies.names, *state.objects)
        return float(clearance[0]), None if first < 0 else (names[first], names[second])

    def per_link(self, q: ArrayLike, limit: float = FAR) -> dict[str, float]:
        """The clearance of each link with geometry, and of each attached object, by name."""
        state = self._current()
        found = state.core.group_clearance(self.robot.core, self._rows(q)[0], float(limit))
        result: dict[str, float] = {}
        for name, value in zip(state.bodies.names, found[0].tolist(), strict=True):
            result[name] = min(result.get(name, limit), value)
        return result

    def hinge(self, q: ArrayLike, margin: float, *, threads: int = 1) -> tuple[Any, np.ndarray, np.ndarray]:
        """The cost sum of h^2, h = max(0, margin - clearance) over all contacts, J^T h (dof,) and J^T J (dof, dof).

        J is the Jacobian of the h by q, so that the cost's gradient is 2 J^T h.
        """
        rows, single = self._rows(q)
        cost, gradient, normal = self.core.hinge(self.robot.core, rows, float(margin), threads)
        return (float(cost[0]), gradient[0], normal[0]) if single else (cost, gradient, normal)

    def free_length(self, q: ArrayLike, margin: float = 0.0, *, threads: int = 1) -> Any:
        """The length of the chain, from its tip, that is free of the scene's objects; infinite where all of it is."""
        rows, single = self._rows(q)
        found = self.core.free_length(self.robot.core, rows, float(margin), threads)
        return float(found[0]) if single else found

    @property
    def pairs(self) -> Pairs:
        """The pairs of links and attached objects that are checked, each in alphabetical order."""
        return frozenset(ordered_pair(*names) for names in self._current().bodies.pair_names)

    @property
    def core(self) -> _core.FastCollisionModel:
        """The native model of the scene as it is now: immutable, for searches."""
        return self._current().core

    @property
    def fields(self) -> dict[str, DistanceField]:
        """The distance fields of the scene's objects, by name."""
        return self._current().fields

    def thickness(self) -> dict[str, float]:
        """By link: half the second largest extent of its geometry, metres; the radius where it is a rod."""
        extents: dict[str, list[np.ndarray]] = {}
        for item in self._fitted:
            radii = item.fit.radii[:, None] + item.padding
            ends = (item.fit.starts - radii, item.fit.starts + radii, item.fit.ends - radii, item.fit.ends + radii)
            extents.setdefault(item.name, []).extend(ends)
        boxes = {name: np.ptp(np.concatenate(points), axis=0) for name, points in extents.items()}
        return {name: 0.5 * float(np.sort(box)[1]) for name, box in boxes.items()}

    @property
    def report(self) -> tuple[LinkReport, ...]:
        """Bodies, coverage and protrusion of each link and attached object."""
        return self._current().bodies.report

    def __repr__(self) -> str:
        state = self._current()
        bodies = sum(entry.bodies for entry in state.bodies.report)
        return f"FastModel({self.robot.name!r}, {self.setting}, {bodies} bodies, {len(state.objects)} objects)"

    def _rows(self, q: ArrayLike) -> tuple[np.ndarray, bool]:
        array = np.ascontiguousarray(self.robot.check_q(q), dtype=float)
        return array.reshape(int(np.prod(array.shape[:-1])), self.robot.dof), array.ndim == 1

    def _current(self) -> _State:
        scene = self.scene
        snapshot = EMPTY if scene is None else scene.snapshot() if isinstance(scene, Scene) else scene
        state = self._state
        if state is not None and state.snapshot is snapshot:
            return state
        with self._lock:
            state = self._state
            if state is None:
                state = self._state = self._built(snapshot, None)
            elif state.snapshot is not snapshot:
                moved = state.snapshot.moved_to(snapshot)
                built = self._built(snapshot, state) if moved is None else self._moved(state, snapshot, moved)
                state = self._state = built
            return state

    def _moved(self, state: _State, snapshot: SceneSnapshot, moved: list[SceneObject]) -> _State:
        numbers = np.array([state.objects[item.name] for item in moved], dtype=np.int64)
        poses = np.array([item.pose[:3] for item in moved], dtype=float).reshape(-1, 3, 4)
        return state._replace(snapshot=snapshot, core=state.core.moved(numbers, poses))

    def _built(self, snapshot: SceneSnapshot, before: _State | None) -> _State:
        objects = [item for item in snapshot.objects.values() if item.link is None]
        rule = PairRule.in_scene(self._allowed, snapshot, self.self_collision)
        if before is not None and before.snapshot.keeps_robot(snapshot):
            bodies = before.bodies
        else:
            bodies = self._bodies(snapshot, rule)
        checked = rule.table(bodies.names[: len(bodies.axes)], [item.name for item in objects])
        checked[np.array(bodies.axes, dtype=int) < 0] = 0
        resolution = self._resolution
        if resolution is None:
            resolution = float(np.clip(_FIELD_SHARE * bodies.least_radius, 0.001, 0.004))
        fields = {item.name: field_of(item, resolution) for item in objects if needs_field(item.shape)}
        specs = [
            object_spec(item.shape, item.pose[:3], item.padding, fields.get(item.name), object_key(item.name))
            for item in objects
        ]
        core = _core.FastCollisionModel(bodies.core, specs, checked, self.setting == "conservative")
        return _State(snapshot, core, bodies, {item.name: number for number, item in enumerate(objects)}, fields)

    def _bodies(self, snapshot: SceneSnapshot, rule: PairRule) -> RobotBodies:
        for item in snapshot.attached:
            if item.link not in self.robot.links:
                raise UnknownNameError("link", item.link, f"robot {self.robot.name!r}", self.robot.links)
        fitted = [*self._fitted, *(fit_attached(self.robot, item, self._protrusion) for item in snapshot.attached)]
        return build_bodies(self.robot, self.setting, fitted, rule.checks)


_fields: dict[tuple[object, bool | None, float], DistanceField] = {}
_fields_lock = threading.Lock()
_MOST_FIELD_BYTES = 500_000_000
"""What is kept of distance fields that no model uses any more."""


def field_of(item: SceneObject, resolution: float) -> DistanceField:
    """The distance field of an object's shape, at that resolution or, where it would be too large, a coarser one."""
    key = (content_key(item.shape), item.solid, resolution)
    with _fields_lock:
        if key in _fields:
            return _fields[key]
    shape, tried = item.shape, resolution
    while True:
        try:
            field = DistanceField.of_mesh(as_mesh(shape), tried, solid=item.solid, threads=_FIELD_THREADS)
            break
        except GeometryError as error:
            if "choose a coarser resolution" not in str(error):
                raise
            tried *= _COARSENING
    with _fields_lock:
        while _fields and field.nbytes + sum(kept.nbytes for kept in _fields.values()) > _MOST_FIELD_BYTES:
            _fields.pop(next(iter(_fields)))
        _fields[key] = field
    return field


def object_key(name: str) -> int:
    """By what the core knows an object: goals on contacts name pairs by it."""
    return zlib.crc32(name.encode())
