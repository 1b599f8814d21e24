"""Exact checks of a robot in a scene, by coal on the real geometry.

Bodies are the collision shapes of links, what is attached to links, and the objects of the world. A pair is checked
unless it is allowed, unless no joint moves one against the other (no posture could help), and self-collision pairs
only on request. Boxes around bodies sort out pairs that are far apart; the rest is decided by `pairs.PairTest`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from memetik.errors import InvalidInputError, UnknownNameError, suggest
from memetik.robot.tree import compile_tree
from memetik.scene.allowed import Pairs, checked_pairs, default_pairs
from memetik.scene.bodies import body_geometry, coal
from memetik.scene.layout import Body, Layout, Scratch
from memetik.scene.padding import link_padding
from memetik.scene.pairs import Separation
from memetik.scene.scene import Scene, SceneSnapshot, ordered_pair

if TYPE_CHECKING:
    from memetik.robot.robot import Robot

logger = logging.getLogger(__name__)

_NOTHING = SceneSnapshot({}, frozenset(), 0)

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
        self._padding = link_padding(robot, padding)
        self.tree = compile_tree(robot.description)
        axes = self.tree.link_axes.tolist()
        self._rigid = dict(zip((link.name for link in robot.description.links), axes, strict=True))
        self._links = tuple(link.name for link in robot.description.links)
        self._link_bodies = [
            Body(
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
        self._layout: Layout | None = None
        self._warned: set[str] = set()
        self._current()

    # answers

    def collides(self, q: Any, margin: float = 0.0) -> Any:
        """Whether a posture (dof,) comes nearer than `margin` to anything; for postures (N, dof) an array (N,)."""
        layout, q = self._current(), self._checked(q)
        if q.ndim == 1:
            return self._scratch(layout).first_collision(self._poses(layout, q), margin) is not None
        answers = np.zeros(len(q), dtype=bool)
        scratch = self._scratch(layout)
        for start in range(0, len(q), _CHUNK):
            poses = self._poses(layout, q[start : start + _CHUNK])
            answers[start : start + _CHUNK] = scratch.collide_each(poses, margin)
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

    def prepare(self) -> None:
        """Make now what the questions of this thread need: trees over triangles, tests of inside, tests of pairs."""
        self._scratch(self._current()).prepare()

    def count_collisions(self, q: np.ndarray) -> dict[tuple[str, str], int]:
        """For each checked pair of names, in how many of the postures (N, dof) it collides."""
        counts = dict.fromkeys(self.pairs, 0)
        for pairs in self._colliding(q):
            for names in pairs:
                counts[names] += 1
        return counts

    def always_colliding(self, q: np.ndarray) -> Pairs:
        """The checked pairs of names that collide in every one of the postures (N, dof); quick, as few pairs stay."""
        left = set(self.pairs)
        for pairs in self._colliding(q, left):
            left.intersection_update(pairs)
            if not left:
                break
        return frozenset(left)

    def _colliding(self, q: np.ndarray, among: set[tuple[str, str]] | None = None) -> Iterator[Pairs]:
        """For each posture the pairs of names that collide, of those only that are `among` some by then."""
        layout, q = self._current(), self._checked(q)
        scratch = self._scratch(layout)
        names = [ordered_pair(*layout.pair_names(pair)) for pair in range(len(layout.first))]
        for start in range(0, len(q), _CHUNK):
            for poses, overlaps in scratch.overlaps(self._poses(layout, q[start : start + _CHUNK])):
                scratch.place(poses)
                found: set[tuple[str, str]] = set()
                for pair in overlaps.tolist():
                    asked = among is None or names[pair] in among
                    if asked and names[pair] not in found and scratch.pair_collides(pair):
                        found.add(names[pair])
                yield frozenset(found)

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
    def layout(self) -> Layout:
        """Bodies and pairs as they are now."""
        return self._current()

    def _checked(self, q: Any, single: bool = False) -> np.ndarray:
        array = np.asarray(self.robot.check_q(q), dtype=float)
        if single and array.ndim != 1:
            raise InvalidInputError(
                f"this question is about one posture of shape ({self.robot.dof},), not {array.shape}."
            )
        return array

    def _poses(self, layout: Layout, q: np.ndarray) -> np.ndarray:
        """Poses (..., moving bodies, 4, 4) of the bodies on links."""
        poses = self.robot.pose(self._links, q)
        return np.matmul(poses[..., layout.link_index, :, :], layout.origins)

    def _current(self) -> Layout:
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

    def _arranged(self, snapshot: SceneSnapshot) -> Layout:
        self._warn_of_unknown(snapshot)
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
            bodies.append(Body(item.name, self._links.index(item.link), geometry, item.pose, item.padding))
        moving = len(bodies)
        for item in snapshot.objects.values():
            if item.link is None:
                bodies.append(Body(item.name, -1, body_geometry(item.shape, item.solid), item.pose, item.padding))
        return Layout(snapshot, bodies, moving, self._pairs(snapshot, bodies, moving))

    def _warn_of_unknown(self, snapshot: SceneSnapshot) -> None:
        """A scene may be meant for several robots, so that unknown names in its allowed pairs are no error."""
        names = {name for pair in snapshot.allowed for name in pair}
        for name in sorted(names - self._warned):
            if name not in self._rigid and name not in snapshot.objects:
                self._warned.add(name)
                choices = (*self._links, *snapshot.objects)
                logger.warning(
                    "the scene allows %r to touch, which is no link or object; %s", name, suggest(name, choices)
                )

    def _pairs(self, snapshot: SceneSnapshot, bodies: list[Body], moving: int) -> list[tuple[int, int]]:
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
                if axes[a] == axes[b] or _ordered(first, second) in allowed:
                    continue
                if second in own_first or first in touches.get(second, ()):
                    continue
                links_only = first not in touches and second not in touches and b < moving
                if links_only and not self.self_collision:
                    continue
                pairs.append((a, b))
        return pairs

    def _scratch(self, layout: Layout) -> Scratch:
        scratch = getattr(self._local, "scratch", None)
        if scratch is None or scratch.layout is not layout:
            scratch = Scratch(layout, scratch)
            self._local.scratch = scratch
        return scratch


def _ordered(first: str, second: str) -> tuple[str, str]:
    """Two names in alphabetical order, equal ones too."""
    return (first, second) if first <= second else (second, first)


def _rebuild(robot: Robot, scene: Scene | None, allowed: Any, padding: Any, self_collision: bool) -> CollisionModel:
    return CollisionModel(robot, scene, allowed=allowed, padding=padding, self_collision=self_collision)
