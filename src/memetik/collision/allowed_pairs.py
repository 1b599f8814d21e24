"""Which pairs of links need not be checked: from SRDF, by neighbourhood, or proposed by sampling configurations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from memetik.errors import UnknownNameError
from memetik.geometry.shapes import Mesh
from memetik.scene.scene import SceneSnapshot
from memetik.scene.scene_object import ordered_pair

if TYPE_CHECKING:
    from memetik.robot.robot import Robot

Pairs = frozenset[tuple[str, str]]

DEFAULT_SAMPLES = 200
NEVER_SAMPLES = 1000
_FEW = 32


@dataclass(frozen=True, slots=True)
class PairRule:
    """Which pairs of names are checked in a scene.

    Left out are pairs that are allowed, what an attached object may touch, and, without `self_collision`, links among
    themselves.
    """

    allowed: Pairs
    may_touch: Mapping[str, frozenset[str]]
    """By attached object: its link, and the names that it may touch."""
    in_world: frozenset[str]
    self_collision: bool

    @classmethod
    def in_scene(cls, allowed: Pairs, snapshot: SceneSnapshot, self_collision: bool) -> PairRule:
        """The rule for a scene, which may allow more pairs."""
        objects = snapshot.objects.values()
        may_touch = {item.name: frozenset((item.link, *item.touch)) for item in objects if item.link is not None}
        in_world = frozenset(item.name for item in objects if item.link is None)
        return cls(allowed | snapshot.allowed, may_touch, in_world, self_collision)

    def checks(self, first: str, second: str) -> bool:
        """Whether two names are kept apart."""
        if ((first, second) if first <= second else (second, first)) in self.allowed:
            return False
        if second in self.may_touch.get(first, ()) or first in self.may_touch.get(second, ()):
            return False
        if self.self_collision or first in self.may_touch or second in self.may_touch:
            return True
        return first in self.in_world or second in self.in_world

    def table(self, names: Sequence[str], objects: Sequence[str]) -> np.ndarray:
        """(names, objects) 1 where a name, which may come more than once, is kept apart from an object of the world."""
        rows: dict[str, list[int]] = {}
        for row, name in enumerate(names):
            rows.setdefault(name, []).append(row)
        columns = {name: column for column, name in enumerate(objects)}
        table = np.ones((len(names), len(objects)), dtype=np.uint8)
        touched = [(name, other) for name, others in self.may_touch.items() for other in others]
        for first, second in (*self.allowed, *touched):
            for name, other in ((first, second), (second, first)):
                if name in rows and other in columns:
                    table[rows[name], columns[other]] = 0
        return table


@dataclass(frozen=True, slots=True)
class CollisionCounts:
    """In how many of `samples` configurations each checked pair of links collides."""

    counts: Mapping[tuple[str, str], int]
    samples: int

    @property
    def always(self) -> Pairs:
        """The pairs that collide in every configuration."""
        return frozenset(pair for pair, count in self.counts.items() if count == self.samples)

    @property
    def never(self) -> Pairs:
        """The pairs that collide in no configuration."""
        return frozenset(pair for pair, count in self.counts.items() if count == 0)


def collision_table(
    robot: Robot, q: np.ndarray, *, allowed: Iterable[tuple[str, str]] = (), padding: float = 0.0
) -> dict[tuple[str, str], np.ndarray]:
    """In which of the configurations q (N, dof) each pair of links collides (N,), those of `allowed` left out.

    By the exact check of the core. `padding` grows all links. Pairs that no joint moves against each other are not
    checked.
    """
    from memetik.collision.mesh_checker import pair_checks

    return {pair: collides(q) for pair, collides in pair_checks(robot, frozenset(allowed), padding)}


def count_collisions(
    robot: Robot, q: np.ndarray, *, allowed: Iterable[tuple[str, str]] = (), padding: float = 0.0
) -> CollisionCounts:
    """Count what `collision_table` tells."""
    table = collision_table(robot, q, allowed=allowed, padding=padding)
    return CollisionCounts({pair: int(collides.sum()) for pair, collides in table.items()}, len(q))


@dataclass(frozen=True, slots=True)
class AllowedProposal:
    """What sampling says about pairs of links, each pair in alphabetical order.

    `adjacent`: neighbours in the tree. `always`: in collision in every sampled configuration, so that checking them
    would forbid all. `never`: in collision in none of them: checking costs time and finds nothing, as far as `samples`
    tell. `sometimes`: the pairs worth checking, with the share of configurations in which they collide.
    """

    adjacent: Pairs
    always: Pairs
    never: Pairs
    sometimes: dict[tuple[str, str], float]
    samples: int

    @property
    def pairs(self) -> Pairs:
        """All pairs proposed to be left unchecked."""
        return self.adjacent | self.always | self.never

    def reasons(self) -> dict[tuple[str, str], str]:
        """The reason of each pair, in the words that SRDF files use."""
        named = (("Never", self.never), ("Default", self.always), ("Adjacent", self.adjacent))
        return {pair: reason for reason, pairs in named for pair in sorted(pairs)}


def propose_allowed(
    robot: Robot, *, samples: int = 10_000, rng: int | np.random.Generator | None = 0
) -> AllowedProposal:
    """Sample configurations within the limits and sort the pairs of links by how often they collide.

    The same `rng` (a seed or a numpy Generator) gives the same proposal. Pairs that no joint moves against each other
    are never checked and not listed.
    """
    adjacent = adjacent_pairs(robot)
    counts = count_collisions(robot, robot.random(rng, samples), allowed=adjacent)
    always, never = counts.always, counts.never
    left_out = adjacent | always | never
    sometimes = {pair: count / samples for pair, count in counts.counts.items() if pair not in left_out}
    return AllowedProposal(adjacent, always, never, sometimes, samples)


def srdf_pairs(robot: Robot) -> Pairs:
    """The pairs that the robot's SRDF disables."""
    return frozenset(ordered_pair(a, b) for a, b, *_ in robot.description.semantics.disabled_pairs if a != b)


def adjacent_pairs(robot: Robot) -> Pairs:
    """Links with geometry next to each other in the tree; links without geometry between them are passed over."""
    bodies = {link.name for link in robot.description.links if link.collisions}
    pairs: set[tuple[str, str]] = set()
    for link in bodies:
        above = robot.parent(link)
        while above is not None and above not in bodies:
            above = robot.parent(above)
        if above is not None:
            pairs.add(ordered_pair(link, above))
    return frozenset(pairs)


def checked_pairs(robot: Robot, pairs: Iterable[tuple[str, str]], known: Iterable[str] = ()) -> Pairs:
    """Pairs by hand: their names are links of the robot or among `known`."""
    names = {*robot.links, *known}
    result: set[tuple[str, str]] = set()
    for first, second in pairs:
        for name in (first, second):
            if name not in names:
                raise UnknownNameError("link or object", name, f"robot {robot.name!r} and its scene", sorted(names))
        result.add(ordered_pair(first, second))
    return frozenset(result)


@lru_cache(maxsize=64)
def default_pairs(robot: Robot) -> Pairs:
    """What is left unchecked unless said otherwise.

    The pairs of the robot's SRDF and neighbours in the tree; without SRDF pairs also links that collide in
    every one of `DEFAULT_SAMPLES` sampled configurations, such as overlapping shapes around a wrist. Where the
    description states its pairs completely, as MJCF does, neighbours that it does not name are checked.
    """
    known, adjacent = srdf_pairs(robot), adjacent_pairs(robot)
    if robot.description.semantics.pairs_are_complete:
        return known | _always_colliding(robot, known, 0.0)
    return adjacent | (known or _always_colliding(robot, adjacent, 0.0))


@lru_cache(maxsize=64)
def pairs_always_within(robot: Robot, margin: float) -> Pairs:
    """The pairs of links that come nearer than `margin` to each other in every one of `DEFAULT_SAMPLES`
    configurations."""
    return _always_colliding(robot, default_pairs(robot), margin) if margin > 0.0 else frozenset()


def _always_colliding(robot: Robot, allowed: Pairs, distance: float) -> Pairs:
    from memetik.collision.mesh_checker import pair_checks

    def find() -> Pairs:
        q = robot.random(0, DEFAULT_SAMPLES)
        few, rest = q[:_FEW], q[_FEW:]  # a few configurations are enough for nearly all pairs
        checks = pair_checks(robot, allowed, 0.5 * distance)
        return frozenset(pair for pair, collides in checks if collides(few).all() and collides(rest).all())

    return _kept_pairs("always", robot, (distance, DEFAULT_SAMPLES), allowed, find)


@lru_cache(maxsize=64)
def pairs_never_within(robot: Robot, distance: float) -> Pairs:
    """The pairs of links that come nearer than `distance` to each other in none of `NEVER_SAMPLES` configurations.

    A search may leave them out; what certifies its answers may not. Kept on disk.
    """
    from memetik.collision.mesh_checker import pair_checks

    allowed = default_pairs(robot)

    def find() -> Pairs:
        q = robot.random(1, NEVER_SAMPLES)
        few, rest = q[:_FEW], q[_FEW:]
        checks = pair_checks(robot, allowed, 0.5 * distance)
        return frozenset(pair for pair, collides in checks if not collides(few).any() and not collides(rest).any())

    return _kept_pairs("never", robot, (distance, NEVER_SAMPLES), allowed, find)


def _kept_pairs(
    kind: str, robot: Robot, numbers: tuple[float, ...], allowed: Pairs, find: Callable[[], Pairs]
) -> Pairs:
    """Pairs that are kept on disk by all that they depend on: the description, its mesh files, numbers, other pairs."""
    from memetik.geometry import cache
    from memetik.robot.description_digest import digest

    parts = [digest(robot.description).hex(), numbers, str(sorted(allowed)), _mesh_files(robot)]
    key = cache.digest(parts)
    kept = cache.load(kind, key)
    if kept is None:
        kept = {"pairs": np.array(sorted(find()), dtype=str).reshape(-1, 2)}
        cache.store(kind, key, kept)
    return frozenset((str(first), str(second)) for first, second in kept["pairs"])


def _mesh_files(robot: Robot) -> str:
    """What changes when a mesh file of the robot's collision geometry does."""
    shapes = (geometry.shape for link in robot.description.links for geometry in link.collisions)
    paths = sorted({shape.path for shape in shapes if isinstance(shape, Mesh) and shape.path is not None})
    states = [os.stat(path) for path in paths if os.path.exists(path)]
    return str([(state.st_size, state.st_mtime_ns) for state in states])
