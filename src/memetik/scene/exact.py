"""Exact checks of a robot in a scene, by coal on the real geometry.

Bodies are the collision shapes of links, what is attached to links, and the objects of the world. A pair is checked
unless it is allowed, unless no joint moves one against the other (no posture could help), and self-collision pairs
only on request. Boxes around bodies sort out pairs that are far apart; the rest is decided by `pairs.PairTest`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from memetik.errors import InvalidInputError, UnknownNameError
from memetik.robot.tree import compile_tree
from memetik.scene.allowed import Pairs, checked_pairs, default_pairs
from memetik.scene.bodies import BodyGeometry, body_geometry, coal
from memetik.scene.pairs import PairTest, Placed, Separation
from memetik.scene.scene import Scene, SceneSnapshot, ordered_pair

if TYPE_CHECKING:
    from memetik.robot.robot import Robot

_CHUNK = 512  # postures of a batch whose boxes are compared at once


@runtime_checkable
class CollisionChecker(Protocol):
    """Anything that may stand in for a `CollisionModel` in solve and plan."""

    def collides(self, q: Any) -> Any:
        """Whether the posture q (dof,) collides; for postures (N, dof) an array of N answers."""
        ...


@dataclass(frozen=True, slots=True)
class Contact:
    """Two bodies that touch or overlap: names of links or objects, and where, in the world.

    `depth` is how deep they overlap (see `memetik.scene.pairs`), `points` (2, 3) the points of the first and of the
    second body that attain it, `normal` the unit direction from the first to the second.
    """

    first: str
    second: str
    depth: float
    points: np.ndarray
    normal: np.ndarray


class CollisionModel:
    """A robot in a scene, for exact questions.

    scene: seen as it is at each call; moving an object between calls costs microseconds.
    allowed: pairs of names that may touch, instead of those of the robot's SRDF and of neighbouring links.
        Pairs that the scene allows come on top.
    padding: metres by which every link grows, or a mapping {link: metres}.
    self_collision: whether links are checked against each other.
    Answers may be asked from several threads at once.
    """

    def __init__(
        self,
        robot: Robot,
        scene: Scene | None = None,
        *,
        allowed: Iterable[tuple[str, str]] | None = None,
        padding: float | Mapping[str, float] = 0.0,
        self_collision: bool = True,
    ):
        coal()
        self.robot, self.scene, self.self_collision = robot, scene, self_collision
        self._padding = _link_padding(robot, padding)
        tree = compile_tree(robot.description)
        self._rigid = dict(zip((link.name for link in robot.description.links), tree.link_axes.tolist(), strict=True))
        self._links = tuple(link.name for link in robot.description.links)
        self._link_bodies = [
            _Body(
                link.name, index, body_geometry(item.shape), np.asarray(item.origin), self._padding.get(link.name, 0.0)
            )
            for index, link in enumerate(robot.description.links)
            for item in link.collisions
        ]
        if allowed is None:
            self._allowed: Pairs = default_pairs(robot) if self_collision and self._link_bodies else frozenset()
        else:
            self._allowed = checked_pairs(robot, allowed, scene.names if scene is not None else ())
        self._options = (allowed, padding, self_collision)
        self._lock, self._local = threading.Lock(), threading.local()
        self._layout: _Layout | None = None
        self._current()

    # answers

    def collides(self, q: Any) -> Any:
        """Whether a posture (dof,) collides; for postures (N, dof) an array (N,) of answers."""
        layout, q = self._current(), self._checked(q)
        if q.ndim == 1:
            return self._scratch(layout).first_collision(self._poses(layout, q)) is not None
        answers = np.zeros(len(q), dtype=bool)
        scratch = self._scratch(layout)
        for start in range(0, len(q), _CHUNK):
            poses = self._poses(layout, q[start : start + _CHUNK])
            answers[start : start + _CHUNK] = scratch.collide_each(poses)
        return answers

    def colliding_pair(self, q: Any) -> tuple[str, str] | None:
        """The names of the first pair found in collision, None where there is none."""
        layout = self._current()
        pair = self._scratch(layout).first_collision(self._poses(layout, self._checked(q, single=True)))
        return None if pair is None else layout.pair_names(pair)

    def contacts(self, q: Any) -> list[Contact]:
        """All pairs of bodies in collision, the deepest first. Padding counts as part of a body."""
        layout = self._current()
        scratch, poses = self._scratch(layout), self._poses(layout, self._checked(q, single=True))
        scratch.place(poses)
        found = []
        for pair in scratch.candidates():
            if scratch.pair_collides(pair):
                separation = scratch.separation(pair)
                first, second = layout.pair_names(pair)
                points = np.stack([separation.point_first, separation.point_second])
                depth = max(layout.margins[pair] - separation.distance, 0.0)
                found.append(Contact(first, second, float(depth), points, separation.normal))
        return sorted(found, key=lambda contact: -contact.depth)

    def distance(self, q: Any) -> Any:
        """The signed distance of the whole robot, metres: the least over all checked pairs, negative where one
        overlaps.

        Infinite where there is nothing to check. For postures (N, dof) an array (N,).
        """
        q = self._checked(q)
        if q.ndim == 2:
            return np.array([self.distance(row) for row in q])
        return self.closest(q)[0]

    def closest(self, q: Any) -> tuple[float, tuple[str, str] | None, np.ndarray | None]:
        """The signed distance, the names of the pair that attains it, and the two points (2, 3) in the world."""
        layout = self._current()
        scratch = self._scratch(layout)
        scratch.place(self._poses(layout, self._checked(q, single=True)))
        pair, found = scratch.nearest(np.arange(len(layout.first)))
        if pair is None or found is None:
            return np.inf, None, None
        points = np.stack([found.point_first, found.point_second])
        return float(found.distance - layout.margins[pair]), layout.pair_names(pair), points

    def clearance(self, q: Any) -> Any:
        """How far the robot is from the nearest contact, zero where it collides."""
        return np.maximum(self.distance(q), 0.0)[()]

    def penetration(self, q: Any) -> Any:
        """How deep the deepest overlap is, zero where there is none."""
        return np.maximum(-np.asarray(self.distance(q)), 0.0)[()]

    def per_link(self, q: Any) -> dict[str, float]:
        """The signed distance of each link with geometry, and of each attached object, by name."""
        layout = self._current()
        scratch = self._scratch(layout)
        scratch.place(self._poses(layout, self._checked(q, single=True)))
        known: dict[int, Separation] = {}
        result = {}
        for name, pairs in layout.pairs_of.items():
            pair, found = scratch.nearest(pairs, known)
            result[name] = np.inf if pair is None or found is None else float(found.distance - layout.margins[pair])
        return result

    @property
    def pairs(self) -> Pairs:
        """The pairs of names that are checked, each in alphabetical order."""
        layout = self._current()
        return frozenset(ordered_pair(*layout.pair_names(pair)) for pair in range(len(layout.first)))

    @property
    def allowed(self) -> Pairs:
        """The pairs of names that may touch, those of the scene included."""
        return self._allowed | (self.scene.allowed if self.scene is not None else frozenset())

    def update(self) -> None:
        """Take over the scene's changes now, instead of at the next question."""
        self._current()

    def count_self_collisions(self, q: np.ndarray) -> dict[tuple[str, str], int]:
        """For each checked pair of names, in how many of the postures (N, dof) it collides."""
        layout, q = self._current(), self._checked(q)
        scratch = self._scratch(layout)
        counts = {ordered_pair(*layout.pair_names(pair)): 0 for pair in range(len(layout.first))}
        for start in range(0, len(q), _CHUNK):
            for poses, overlaps in scratch.overlaps(self._poses(layout, q[start : start + _CHUNK])):
                scratch.place(poses)
                hit = {ordered_pair(*layout.pair_names(p)) for p in overlaps if scratch.pair_collides(p)}
                for names in hit:
                    counts[names] += 1
        return counts

    def least_time(self, q: np.ndarray, speeds: np.ndarray) -> float:
        """The least of (signed distance of a pair) / (its speed) over the checked pairs; see `continuous`.

        speeds: (pairs,) metres per unit of time, in the order of `layout`. Negative where a pair collides.
        """
        layout = self._current()
        scratch = self._scratch(layout)
        scratch.place(self._poses(layout, q))
        return scratch.least_ratio(speeds)

    def __repr__(self) -> str:
        layout = self._current()
        return (
            f"CollisionModel({self.robot.name!r}, {len(layout.bodies)} bodies, {len(layout.first)} pairs, "
            f"self_collision={self.self_collision})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.robot, self.scene, *self._options)

    # inside

    @property
    def layout(self) -> _Layout:
        """Bodies and pairs as they are now."""
        return self._current()

    def _checked(self, q: Any, single: bool = False) -> np.ndarray:
        array = np.asarray(self.robot.check_q(q), dtype=float)
        if single and array.ndim != 1:
            raise InvalidInputError(
                f"this question is about one posture of shape ({self.robot.dof},), not {array.shape}."
            )
        return array

    def _poses(self, layout: _Layout, q: np.ndarray) -> np.ndarray:
        """Poses (..., moving bodies, 4, 4) of the bodies on links."""
        poses = self.robot.pose(self._links, q)
        return np.matmul(poses[..., layout.link_index, :, :], layout.origins)

    def _current(self) -> _Layout:
        snapshot = self.scene.snapshot() if self.scene is not None else _NOTHING
        layout = self._layout
        if layout is not None and layout.snapshot is snapshot:
            return layout
        with self._lock:
            layout = self._layout
            if layout is None or layout.snapshot is not snapshot:
                moved = layout.moved_to(snapshot) if layout is not None else None
                layout = moved if moved is not None else self._arranged(snapshot)
                self._layout = layout
            return layout

    def _arranged(self, snapshot: SceneSnapshot) -> _Layout:
        bodies = list(self._link_bodies)
        for item in snapshot.objects.values():
            if item.link is None:
                continue
            if item.link not in self._rigid:
                raise UnknownNameError("link", item.link, f"robot {self.robot.name!r}", self._links)
            for name in item.touch:
                if name not in self._rigid and name not in snapshot.objects:
                    raise UnknownNameError("touch link", name, f"robot {self.robot.name!r}", self._links)
            geometry = body_geometry(item.shape, item.solid)
            bodies.append(_Body(item.name, self._links.index(item.link), geometry, item.pose, item.padding))
        moving = len(bodies)
        for item in snapshot.objects.values():
            if item.link is None:
                bodies.append(_Body(item.name, -1, body_geometry(item.shape, item.solid), item.pose, item.padding))
        return _Layout(snapshot, bodies, moving, self._pairs(snapshot, bodies, moving))

    def _pairs(self, snapshot: SceneSnapshot, bodies: list[_Body], moving: int) -> list[tuple[int, int]]:
        """The pairs of bodies to check."""
        allowed = self._allowed | snapshot.allowed
        touches = {name: {item.link, *item.touch} for name, item in snapshot.objects.items() if item.link is not None}
        world = -1
        axes = [self._rigid[self._links[body.link]] if body.link >= 0 else world for body in bodies]
        pairs = []
        for a in range(moving):
            first = bodies[a].name
            own_first = touches.get(first, ())
            for b in range(a + 1, len(bodies)):
                second = bodies[b].name
                # Bodies on one rigid part, or both fixed to the world, never move against each other.
                if axes[a] == axes[b] or ordered(first, second) in allowed:
                    continue
                if second in own_first or first in touches.get(second, ()):
                    continue
                links_only = first not in touches and second not in touches and b < moving
                if links_only and not self.self_collision:
                    continue
                pairs.append((a, b))
        return pairs

    def _scratch(self, layout: _Layout) -> _Scratch:
        scratch = getattr(self._local, "scratch", None)
        if scratch is None or scratch.layout is not layout:
            scratch = _Scratch(layout, scratch)
            self._local.scratch = scratch
        return scratch


def ordered(first: str, second: str) -> tuple[str, str]:
    """Two names in alphabetical order, equal ones too."""
    return (first, second) if first <= second else (second, first)


@dataclass(frozen=True, slots=True, eq=False)
class _Body:
    """A geometry on a link (`link` is its index) or in the world (-1), at `origin` there."""

    name: str
    link: int
    geometry: BodyGeometry
    origin: np.ndarray
    padding: float


_NOTHING = SceneSnapshot({}, frozenset(), 0)

_COSTS = {"plane": 0, "convex": 1, "points": 2, "mesh": 3}


class _Layout:
    """Bodies, the pairs to check and the world's poses, for one version of the scene. Never changed."""

    def __init__(self, snapshot: SceneSnapshot, bodies: Sequence[_Body], moving: int, pairs: list[tuple[int, int]]):
        self.snapshot, self.bodies, self.moving = snapshot, list(bodies), moving
        # Cheap pairs first, so that a collision found by them spares the dear ones.
        pairs = sorted(pairs, key=lambda pair: sum(_COSTS[bodies[index].geometry.kind] for index in pair))
        table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        self.first, self.second = table[:, 0].copy(), table[:, 1].copy()
        self.link_index = np.array([body.link for body in bodies[:moving]], dtype=np.int64)
        self.origins = np.array([body.origin for body in bodies[:moving]]).reshape(-1, 4, 4)
        self.centres = np.array([body.geometry.centre for body in bodies]).reshape(-1, 3)
        self.halves = np.array([body.geometry.half for body in bodies]).reshape(-1, 3)
        paddings = np.array([body.padding for body in bodies])
        self.margins = paddings[self.first] + paddings[self.second] if len(table) else np.zeros(0)
        names = dict.fromkeys(body.name for body in bodies[:moving])
        self.pairs_of = {
            name: np.array(
                [k for k, (a, b) in enumerate(table.tolist()) if name in (bodies[a].name, bodies[b].name)],
                dtype=np.int64,
            )
            for name in names
        }
        self._arrange_world()

    def moved_to(self, snapshot: SceneSnapshot) -> _Layout | None:
        """The layout for another snapshot of the scene, where nothing but poses of world objects changed; else None."""
        old = self.snapshot
        if old.allowed != snapshot.allowed or len(old.objects) != len(snapshot.objects):
            return None
        moved: dict[str, Any] = {}
        for (name, before), (other, now) in zip(old.objects.items(), snapshot.objects.items(), strict=True):
            if before is now:
                continue
            same = name == other and before.link is None and now.link is None and before.shape is now.shape
            if not same or before.padding != now.padding or before.solid != now.solid:
                return None
            moved[name] = now.pose
        layout = object.__new__(_Layout)
        layout.__dict__.update(self.__dict__)
        layout.snapshot, layout.bodies = snapshot, list(self.bodies)
        layout.world_poses, layout.world_centres = self.world_poses.copy(), self.world_centres.copy()
        layout.world_halves = self.world_halves.copy()
        planes_moved = False
        for name, pose in moved.items():
            index = self.index_of[name]
            body = self.bodies[index]
            layout.bodies[index] = _Body(name, -1, body.geometry, pose, body.padding)
            layout._place_in_world(index - self.moving, body.geometry, pose)
            planes_moved |= body.geometry.kind == "plane"
        if planes_moved:
            layout._arrange_planes()
        return layout

    def pair_names(self, pair: int) -> tuple[str, str]:
        """The names of the two bodies of a pair."""
        return self.bodies[self.first[pair]].name, self.bodies[self.second[pair]].name

    def boxes(self, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Centres and half extents (..., bodies, 3) of the boxes around all bodies, for poses (..., moving, 4, 4)."""
        rotations = poses[..., :3, :3]
        centres = np.einsum("...ij,...j->...i", rotations, self.centres[: self.moving]) + poses[..., :3, 3]
        halves = np.einsum("...ij,...j->...i", np.abs(rotations), self.halves[: self.moving])
        lead = poses.shape[:-3]
        still = self.world_centres, self.world_halves
        if not len(still[0]):
            return centres, halves
        return tuple(  # type: ignore[return-value]
            np.concatenate([moving, np.broadcast_to(world, (*lead, *world.shape))], axis=-2)
            for moving, world in zip((centres, halves), still, strict=True)
        )

    def gaps(self, centres: np.ndarray, halves: np.ndarray) -> np.ndarray:
        """Lower bounds (..., pairs) of the distances of all pairs, from the boxes around their bodies (..., bodies, 3).

        The largest gap along an axis of the world, or across the plane: negative where boxes overlap.
        """
        gap = np.abs(centres[..., self.first, :] - centres[..., self.second, :])
        gap -= halves[..., self.first, :] + halves[..., self.second, :]
        bound = gap.max(axis=-1)
        if len(self.plane_pairs):
            normals, body = self.plane_normals, self.first[self.plane_pairs]
            height = np.einsum("...pi,pi->...p", centres[..., body, :], normals) - self.plane_offsets
            height -= np.einsum("...pi,pi->...p", halves[..., body, :], np.abs(normals))
            bound[..., self.plane_pairs] = height
        return bound

    def _arrange_world(self) -> None:
        world = self.bodies[self.moving :]
        self.index_of = {body.name: index for index, body in enumerate(world, start=self.moving)}
        self.world_poses = np.zeros((len(world), 4, 4))
        self.world_centres, self.world_halves = np.zeros((len(world), 3)), np.zeros((len(world), 3))
        for index, body in enumerate(world):
            self._place_in_world(index, body.geometry, body.origin)
        self._arrange_planes()

    def _place_in_world(self, index: int, geometry: BodyGeometry, pose: np.ndarray) -> None:
        self.world_poses[index] = pose
        self.world_centres[index] = pose[:3, :3] @ geometry.centre + pose[:3, 3]
        # A plane's box is of no use; its pairs are bounded across the plane instead.
        self.world_halves[index] = np.abs(pose[:3, :3]) @ geometry.half if geometry.kind != "plane" else 0.0

    def _arrange_planes(self) -> None:
        is_plane = np.array([body.geometry.kind == "plane" for body in self.bodies], dtype=bool)
        self.plane_pairs = np.flatnonzero(is_plane[self.second]) if len(self.bodies) else np.zeros(0, dtype=np.int64)
        planes = [self.bodies[index].origin for index in self.second[self.plane_pairs].tolist()]
        self.plane_normals = np.array([pose[:3, 2] for pose in planes]).reshape(-1, 3)
        self.plane_offsets = np.array([pose[:3, 2] @ pose[:3, 3] for pose in planes])


class _Scratch:
    """One thread's placed bodies and pair tests."""

    def __init__(self, layout: _Layout, before: _Scratch | None):
        module = coal()
        self.layout = layout
        self._tests: dict[tuple[int, int], PairTest] = before._tests if before is not None else {}
        self._keep = before._keep if before is not None else {}
        if before is not None and before.layout.first is layout.first:
            self._placed = before._placed  # the same bodies, some of them elsewhere in the world
            moved = [k for k, body in enumerate(layout.bodies) if body is not before.layout.bodies[k]]
        else:
            self._placed = [
                Placed(body.geometry, np.eye(3), np.zeros(3), module.Transform3s()) for body in layout.bodies
            ]
            moved = list(range(layout.moving, len(layout.bodies)))
        for index in moved:
            self._put(index, layout.bodies[index].origin)
        self._centres = self._halves = np.zeros((0, 3))

    def place(self, poses: np.ndarray) -> None:
        """Put the moving bodies at poses (moving, 4, 4)."""
        for index, pose in enumerate(poses):
            self._put(index, pose)
        self._centres, self._halves = self.layout.boxes(poses)

    def candidates(self) -> np.ndarray:
        """The pairs whose boxes come closer than their margins."""
        return np.flatnonzero(self.layout.gaps(self._centres, self._halves) <= self.layout.margins)

    def overlaps(self, poses: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """For poses (N, moving, 4, 4): those with pairs whose boxes overlap, and these pairs."""
        return [(poses[row], np.flatnonzero(close)) for row, close in enumerate(self._close(poses)) if close.any()]

    def collide_each(self, poses: np.ndarray) -> np.ndarray:
        """Whether each of N postures, by their poses (N, moving, 4, 4), collides."""
        answers = np.zeros(len(poses), dtype=bool)
        layout = self.layout
        for row, close in enumerate(self._close(poses)):
            pairs = np.flatnonzero(close)
            if not len(pairs):
                continue
            for index in {*layout.first[pairs].tolist(), *layout.second[pairs].tolist()}:
                if index < layout.moving:
                    self._put(index, poses[row, index])
            answers[row] = any(self.pair_collides(pair) for pair in pairs.tolist())
        return answers

    def first_collision(self, poses: np.ndarray) -> int | None:
        """A pair that collides at poses (moving, 4, 4), None where none does."""
        layout = self.layout
        self._centres, self._halves = layout.boxes(poses)
        pairs = self.candidates()
        for index in {*layout.first[pairs].tolist(), *layout.second[pairs].tolist()}:
            if index < layout.moving:
                self._put(index, poses[index])
        return next((pair for pair in pairs.tolist() if self.pair_collides(pair)), None)

    def pair_collides(self, pair: int) -> bool:
        """Whether a pair of placed bodies comes closer than its margin."""
        a, b = int(self.layout.first[pair]), int(self.layout.second[pair])
        return self._test(a, b).collides(self._placed[a], self._placed[b], float(self.layout.margins[pair]))

    def separation(self, pair: int) -> Separation:
        """The signed distance of a pair of placed bodies, without padding."""
        a, b = int(self.layout.first[pair]), int(self.layout.second[pair])
        return self._test(a, b).separation(self._placed[a], self._placed[b])

    def nearest(
        self, pairs: np.ndarray, known: dict[int, Separation] | None = None
    ) -> tuple[int | None, Separation | None]:
        """The pair of least signed distance. Boxes bound distances from below; pairs are taken in that order."""
        if not len(pairs):
            return None, None
        bounds = np.maximum(self.layout.gaps(self._centres, self._halves)[pairs], 0.0) - self.layout.margins[pairs]
        known = {} if known is None else known
        best, best_pair, least = None, None, np.inf
        for position in np.argsort(bounds, kind="stable"):
            if bounds[position] >= least and bounds[position] > -self.layout.margins[pairs[position]]:
                break
            pair = int(pairs[position])
            if pair not in known:
                known[pair] = self.separation(pair)
            distance = known[pair].distance - self.layout.margins[pair]
            if distance < least:
                best, best_pair, least = known[pair], pair, distance
        return best_pair, best

    def least_ratio(self, speeds: np.ndarray) -> float:
        """The least of signed distance over speed, for pairs of positive speed (P,); infinite where there is none."""
        moving = np.flatnonzero(speeds > 0.0)
        bounds = (
            np.maximum(self.layout.gaps(self._centres, self._halves)[moving], 0.0) - self.layout.margins[moving]
        ) / speeds[moving]
        least = np.inf
        for position in np.argsort(bounds, kind="stable"):
            pair = int(moving[position])
            if bounds[position] >= least:
                break
            # Whether it collides is asked first: the depth of an overlap is dear and of no use here.
            if bounds[position] <= 0.0 and self.pair_collides(pair):
                return -1.0
            found = self.separation(pair)
            least = min(least, (found.distance - self.layout.margins[pair]) / speeds[pair])
        return least

    def _close(self, poses: np.ndarray) -> np.ndarray:
        """(N, pairs) whether the boxes of a pair come closer than its margin."""
        return self.layout.gaps(*self.layout.boxes(poses)) <= self.layout.margins

    def _put(self, index: int, pose: np.ndarray) -> None:
        placed = self._placed[index]
        placed.rotation, placed.place = pose[:3, :3], pose[:3, 3]
        placed.transform.setRotation(placed.rotation)
        placed.transform.setTranslation(placed.place)

    def _test(self, a: int, b: int) -> PairTest:
        first, second = self._placed[a].geometry, self._placed[b].geometry
        key = (id(first), id(second))
        if key not in self._tests:
            self._tests[key] = PairTest(first, second)
            self._keep[key] = (first, second)
        return self._tests[key]


def _link_padding(robot: Robot, padding: float | Mapping[str, float]) -> dict[str, float]:
    if isinstance(padding, Mapping):
        for name in padding:
            if name not in robot.links:
                raise UnknownNameError("link", name, f"robot {robot.name!r}", robot.links)
        values = {name: float(value) for name, value in padding.items()}
    else:
        values = dict.fromkeys(robot.links, float(padding))
    if not all(0.0 <= value < np.inf for value in values.values()):
        raise InvalidInputError(f"padding= must be at least zero and finite, not {padding!r}.")
    return values


def _rebuild(robot: Robot, scene: Scene | None, allowed: Any, padding: Any, self_collision: bool) -> CollisionModel:
    return CollisionModel(robot, scene, allowed=allowed, padding=padding, self_collision=self_collision)
