"""Exact questions about a robot in a scene: collisions by the native check, distances and contacts by coal.

Bodies are the collision shapes of links, what is attached to links, and the objects of the world. A pair is checked
unless it is allowed, unless no joint moves one against the other (no configuration could help), and self-collision
pairs only on request. Before coal is asked about a pair (`pairs.PairTest`), boxes around the bodies sort out those that
are far apart.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from memetik.collision.allowed_pairs import PairRule, Pairs, checked_pairs, default_pairs
from memetik.collision.bodies import body_geometry
from memetik.collision.layout import Body, Layout, Scratch
from memetik.collision.link_padding import link_padding
from memetik.collision.mesh_checker import MeshChecker
from memetik.collision.pairs import Separation
from memetik.errors import InvalidInputError, UnknownNameError, suggest
from memetik.scene.scene import EMPTY, Scene, SceneSnapshot
from memetik.scene.scene_object import ordered_pair

if TYPE_CHECKING:
    from memetik.robot.robot import Robot

logger = logging.getLogger(__name__)

_CHUNK = 512  # configurations of a batch whose boxes are compared at once


@runtime_checkable
class CollisionChecker(Protocol):
    """An external checker: what may take the place of a scene in solve and plan."""

    def collides(self, q: np.ndarray) -> Any:
        """Whether the configuration q (dof,) collides; for configurations (N, dof) an array of N answers."""
        ...


@dataclass(frozen=True, slots=True)
class Contact:
    """Two bodies that touch or overlap: names of links or objects, and where, in the world.

    `depth` is how deep they overlap (see `memetik.collision.pairs`), `points` (2, 3) the points of the first and of the
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
        self.robot, self.scene, self.self_collision = robot, scene, self_collision
        self.tree = robot.tree
        self._links = tuple(link.name for link in robot.description.links)
        self._rigid = dict(zip(self._links, self.tree.link_axes.tolist(), strict=True))
        self._padding = link_padding(robot, padding)
        has_bodies = any(link.collisions for link in robot.description.links)
        if allowed is None:
            self._allowed: Pairs = default_pairs(robot) if self_collision and has_bodies else frozenset()
        else:
            self._allowed = checked_pairs(robot, allowed, scene.names if scene is not None else ())
        self._options = (allowed, padding, self_collision)
        self._lock, self._local = threading.Lock(), threading.local()
        self._layout: Layout | None = None
        self._native: MeshChecker | None = None
        self._named: SceneSnapshot | None = None
        self._warned: set[str] = set()
        self._snapshot()

    # answers

    def collides(self, q: ArrayLike, margin: float = 0.0) -> Any:
        """Whether a configuration (dof,) comes nearer than `margin` to anything; for (N, dof) an array (N,).

        The native check (`mesh_checker`) decides; coal, which says the same, is for distances and contacts.
        """
        return self._native_checker().collides(self._checked(q), margin)

    def colliding_pair(self, q: ArrayLike) -> tuple[str, str] | None:
        """The names of the first pair found in collision, None where there is none."""
        return self._native_checker().first_contact(self._checked(q, single=True))

    def contacts(self, q: ArrayLike) -> list[Contact]:
        """All pairs of bodies in collision, the deepest first. Padding counts as part of a body."""
        layout, scratch = self._placed(self._checked(q, single=True))
        found: list[Contact] = []
        for pair in scratch.candidates().tolist():
            if scratch.pair_collides(pair):
                separation = scratch.separation(pair)
                first, second = layout.pair_names(pair)
                points = np.stack([separation.point_first, separation.point_second])
                depth = max(layout.margins[pair] - separation.distance, 0.0)
                found.append(Contact(first, second, float(depth), points, separation.normal))
        return sorted(found, key=lambda contact: -contact.depth)

    def distance(self, q: ArrayLike) -> Any:
        """The signed distance of the whole robot, metres: the least over all checked pairs, negative where one
        overlaps.

        Infinite where there is nothing to check. For configurations (N, dof) an array (N,).
        """
        q = self._checked(q)
        if q.ndim == 2:
            return np.array([self.distance(row) for row in q])
        return self.closest(q)[0]

    def closest(self, q: ArrayLike) -> tuple[float, tuple[str, str] | None, np.ndarray | None]:
        """The signed distance, the names of the pair that attains it, and the two points (2, 3) in the world."""
        layout, scratch = self._placed(self._checked(q, single=True))
        pair, found = scratch.nearest(np.arange(len(layout.first)), {})
        if pair is None or found is None:
            return np.inf, None, None
        points = np.stack([found.point_first, found.point_second])
        return float(found.distance - layout.margins[pair]), layout.pair_names(pair), points

    def clearance(self, q: ArrayLike) -> Any:
        """How far the robot is from the nearest contact, zero where it collides."""
        return np.maximum(self.distance(q), 0.0)[()]

    def penetration(self, q: ArrayLike) -> Any:
        """How deep the deepest overlap is, zero where there is none."""
        return np.maximum(-np.asarray(self.distance(q)), 0.0)[()]

    def per_link(self, q: ArrayLike) -> dict[str, float]:
        """The signed distance of each link with geometry, and of each attached object, by name."""
        layout, scratch = self._placed(self._checked(q, single=True))
        known: dict[int, Separation] = {}
        result: dict[str, float] = {}
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
        return self._allowed if self.scene is None else self._allowed | self.scene.allowed

    def update(self) -> None:
        """Take over the scene's changes now, instead of at the next question."""
        self._current()

    def prepare(self) -> None:
        """Make now what the questions of this thread need: trees over triangles, tests of inside, tests of pairs."""
        self._scratch(self._current()).prepare()

    def count_collisions(self, q: np.ndarray) -> dict[tuple[str, str], int]:
        """For each checked pair of names, in how many of the configurations (N, dof) it collides."""
        layout, q = self._current(), self._checked(q)
        scratch = self._scratch(layout)
        names = [ordered_pair(*layout.pair_names(pair)) for pair in range(len(layout.first))]
        counts = dict.fromkeys(self.pairs, 0)
        for start in range(0, len(q), _CHUNK):
            for poses, overlaps in scratch.overlaps(self._poses(layout, q[start : start + _CHUNK])):
                scratch.place(poses)
                for pair in {names[pair] for pair in map(int, overlaps) if scratch.pair_collides(pair)}:
                    counts[pair] += 1
        return counts

    def least_time(self, q: np.ndarray, speeds: np.ndarray) -> float:
        """The least of (signed distance of a pair) / (its speed) over the checked pairs; see `continuous`.

        speeds: (pairs,) metres per unit of time, in the order of `layout`. Negative where a pair collides.
        """
        return self._placed(q)[1].least_ratio(speeds)

    def __repr__(self) -> str:
        objects = len(self._snapshot().objects)
        return f"CollisionModel({self.robot.name!r}, {objects} objects, self_collision={self.self_collision})"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.robot, self.scene, *self._options)

    # inside

    @property
    def layout(self) -> Layout:
        """Bodies and pairs as they are now."""
        return self._current()

    def _checked(self, q: ArrayLike, single: bool = False) -> np.ndarray:
        array = np.asarray(self.robot.check_q(q), dtype=float)
        if single and array.ndim != 1:
            raise InvalidInputError(f"one configuration of shape ({self.robot.dof},) is needed, not {array.shape}.")
        return array

    def _placed(self, q: np.ndarray) -> tuple[Layout, Scratch]:
        """The layout of now, and this thread's bodies in one configuration."""
        layout = self._current()
        scratch = self._scratch(layout)
        scratch.place(self._poses(layout, q))
        return layout, scratch

    def _poses(self, layout: Layout, q: np.ndarray) -> np.ndarray:
        """Poses (..., moving bodies, 4, 4) of the bodies on links."""
        poses = self.robot.pose(self._links, q)
        return np.matmul(poses[..., layout.link_index, :, :], layout.origins)

    @cached_property
    def _link_bodies(self) -> list[Body]:
        return [
            Body(
                link.name, index, body_geometry(item.shape), np.asarray(item.origin), self._padding.get(link.name, 0.0)
            )
            for index, link in enumerate(self.robot.description.links)
            for item in link.collisions
        ]

    def _snapshot(self) -> SceneSnapshot:
        """The scene as it is now, with names that are known."""
        snapshot = self.scene.snapshot() if self.scene is not None else EMPTY
        if snapshot is not self._named:
            self._check_names(snapshot)
            self._named = snapshot
        return snapshot

    def _current(self) -> Layout:
        snapshot = self._snapshot()
        layout = self._layout
        if layout is not None and layout.snapshot is snapshot:
            return layout
        with self._lock:
            layout = self._layout
            if layout is None or layout.snapshot is not snapshot:
                layout = self._layout = (layout and layout.moved_to(snapshot)) or self._arranged(snapshot)
            return layout

    def _arranged(self, snapshot: SceneSnapshot) -> Layout:
        attached, still = list[Body](), list[Body]()
        for item in snapshot.objects.values():
            link = -1 if item.link is None else self._links.index(item.link)
            body = Body(item.name, link, body_geometry(item.shape, item.solid), item.pose, item.padding)
            (still if item.link is None else attached).append(body)
        bodies = [*self._link_bodies, *attached, *still]
        moving = len(bodies) - len(still)
        return Layout(snapshot, bodies, moving, self._pairs(snapshot, bodies, moving))

    def _check_names(self, snapshot: SceneSnapshot) -> None:
        """Links that objects name must be there. Unknown names in allowed pairs are told only: a scene may be meant for
        several robots."""
        for item in snapshot.objects.values():
            if item.link is not None and item.link not in self._rigid:
                raise UnknownNameError("link", item.link, f"robot {self.robot.name!r}", self._links)
            for name in item.touch:
                if name not in self._rigid and name not in snapshot.objects:
                    raise UnknownNameError("touch link", name, f"robot {self.robot.name!r}", self._links)
        names = {name for pair in snapshot.allowed for name in pair}
        for name in sorted(names - self._warned):
            if name not in self._rigid and name not in snapshot.objects:
                self._warned.add(name)
                hint = suggest(name, (*self._links, *snapshot.objects))
                logger.warning("the scene allows %r to touch, which is no link or object; %s", name, hint)

    def _pairs(self, snapshot: SceneSnapshot, bodies: list[Body], moving: int) -> list[tuple[int, int]]:
        """The pairs of bodies to check."""
        rule = PairRule.in_scene(self._allowed, snapshot, self.self_collision)
        axes = [self._rigid[self._links[body.link]] if body.link >= 0 else -1 for body in bodies]
        # Bodies on one rigid part, or both fixed to the world, never move against each other.
        return [
            (a, b)
            for a in range(moving)
            for b in range(a + 1, len(bodies))
            if axes[a] != axes[b] and rule.checks(bodies[a].name, bodies[b].name)
        ]

    def _native_checker(self) -> MeshChecker:
        self._snapshot()
        with self._lock:
            if self._native is None:
                own = self.self_collision
                self._native = MeshChecker(
                    self.robot, self.scene, allowed=self._allowed, padding=self._padding, self_collision=own
                )
            return self._native

    def _scratch(self, layout: Layout) -> Scratch:
        scratch = getattr(self._local, "scratch", None)
        if scratch is None or scratch.layout is not layout:
            scratch = Scratch(layout, scratch)
            self._local.scratch = scratch
        return scratch


def _rebuild(
    robot: Robot,
    scene: Scene | None,
    allowed: Iterable[tuple[str, str]] | None,
    padding: float | Mapping[str, float],
    self_collision: bool,
) -> CollisionModel:
    return CollisionModel(robot, scene, allowed=allowed, padding=padding, self_collision=self_collision)
