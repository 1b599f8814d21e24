"""Which pairs of links need not be checked: from SRDF, by neighbourhood, or proposed by sampling postures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.errors import UnknownNameError
from memetik.scene.scene import ordered_pair

if TYPE_CHECKING:
    from memetik.robot.robot import Robot

Pairs = frozenset[tuple[str, str]]

DEFAULT_SAMPLES = 200
NEVER_SAMPLES = 1000


@dataclass(frozen=True, slots=True)
class AllowedProposal:
    """What sampling says about pairs of links, each pair in alphabetical order.

    `adjacent`: neighbours in the tree. `always`: in collision in every sampled posture, so that checking them would
    forbid all. `never`: in collision in none of them: checking costs time and finds nothing, as far as `samples` tell.
    `sometimes`: the pairs worth checking, with the share of postures in which they collide.
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


def srdf_pairs(robot: Robot) -> Pairs:
    """The pairs that the robot's SRDF disables."""
    return frozenset(ordered_pair(a, b) for a, b, *_ in robot.description.semantics.disabled_pairs if a != b)


def adjacent_pairs(robot: Robot) -> Pairs:
    """Links with geometry next to each other in the tree; links without geometry between them are passed over."""
    bodies = {link.name for link in robot.description.links if link.collisions}
    pairs = set()
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
    result = set()
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
    every one of `DEFAULT_SAMPLES` sampled postures, such as overlapping shapes around a wrist.
    """
    known = srdf_pairs(robot)
    return known | adjacent_pairs(robot) if known else _always_or_adjacent(robot)


@lru_cache(maxsize=64)
def pairs_always_within(robot: Robot, margin: float) -> Pairs:
    """The pairs of links that come nearer than `margin` to each other in every one of `DEFAULT_SAMPLES` postures."""
    from memetik.scene.exact import CollisionModel

    if margin <= 0.0:
        return frozenset()
    model = CollisionModel(robot, None, allowed=default_pairs(robot), padding=0.5 * margin)
    return model.always_colliding(sample_postures(robot, DEFAULT_SAMPLES, 0))


@lru_cache(maxsize=64)
def pairs_never_within(robot: Robot, distance: float) -> Pairs:
    """The pairs of links that come nearer than `distance` to each other in none of `NEVER_SAMPLES` postures.

    A search may leave them out; what certifies its answers may not. Kept on disk.
    """
    from memetik.robot.content import digest
    from memetik.scene import cache
    from memetik.scene.exact import CollisionModel

    key = cache.digest([digest(robot.description).hex(), distance, NEVER_SAMPLES])
    kept = cache.load("never", key)
    if kept is None:
        model = CollisionModel(robot, None, allowed=default_pairs(robot), padding=0.5 * distance)
        counts = model.count_collisions(sample_postures(robot, NEVER_SAMPLES, 1))
        never = sorted(pair for pair, count in counts.items() if count == 0)
        kept = {"pairs": np.array(never, dtype=str).reshape(-1, 2)}
        cache.store("never", key, kept)
    return frozenset((str(first), str(second)) for first, second in kept["pairs"])


def _always_or_adjacent(robot: Robot) -> Pairs:
    from memetik.scene.exact import CollisionModel

    adjacent = adjacent_pairs(robot)
    model = CollisionModel(robot, None, allowed=adjacent, self_collision=True)
    return adjacent | model.always_colliding(sample_postures(robot, DEFAULT_SAMPLES, 0))


def propose_allowed(robot: Robot, *, samples: int = 10_000, rng: Any = 0) -> AllowedProposal:
    """Sample postures within the limits and sort the pairs of links by how often they collide.

    The same `rng` (a seed or a numpy Generator) gives the same proposal. Pairs that no joint moves against each other
    are never checked and not listed.
    """
    from memetik.scene.exact import CollisionModel

    adjacent = adjacent_pairs(robot)
    model = CollisionModel(robot, None, allowed=(), self_collision=True)
    counts = model.count_collisions(sample_postures(robot, samples, rng))
    always, never, sometimes = set(), set(), {}
    for pair, count in counts.items():
        if pair in adjacent:
            continue
        if count == samples:
            always.add(pair)
        elif count == 0:
            never.add(pair)
        else:
            sometimes[pair] = count / samples
    return AllowedProposal(adjacent, frozenset(always), frozenset(never), sometimes, samples)


def sample_postures(robot: Robot, count: int, rng: Any = 0) -> np.ndarray:
    """Postures (count, dof) uniform within the limits; where there are none, within a turn or a metre either way."""
    generator = np.random.default_rng(rng)
    reach = np.where(np.asarray(robot.turning, dtype=bool), np.pi, 1.0)
    lower = np.where(
        np.isfinite(robot.lower), robot.lower, np.where(np.isfinite(robot.upper), robot.upper - 2 * reach, -reach)
    )
    upper = np.where(np.isfinite(robot.upper), robot.upper, lower + 2 * reach)
    return generator.uniform(lower, upper, (count, robot.dof))
