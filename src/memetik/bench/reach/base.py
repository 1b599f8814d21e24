"""Where should this arm stand? The base pose from which it reaches the most of a surface, and reaches it best.

Places are drawn at random, first from the whole region, then ever closer around the best ones (cross-entropy). Each is
judged by a sample of the targets, each tried once with little work: reached counts one, its score a little more. The
best places are then studied with all targets and all the work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from memetik.bench.reach.study import REACHED, Attempt, ReachResult, ReachSetup, reach_study, try_targets
from memetik.bench.run.worker_pool import WorkerPool
from memetik.errors import InvalidInputError
from memetik.geometry.transforms import transform

COORDINATES = ("x", "y", "z", "yaw")

SCORE_WEIGHT = 0.2
"""What the mean score of all targets counts against the share of them that is reached."""

_ELITE = 0.25
_SAMPLE = 120
_LITTLE_WORK = 400  # evaluations
_GENERATIONS = 6
_LEAST_GENERATION = 4  # places


@dataclass(frozen=True)
class Region:
    """Where a base may stand: (lower, upper) of x, y, z in metres and of yaw in radians; equal ones hold it.

    tilt: roll and pitch of the base, radians, the same everywhere: an arm on a wall turns about the vertical with it.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    z: tuple[float, float] = (0.0, 0.0)
    yaw: tuple[float, float] = (-math.pi, math.pi)
    tilt: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        for name in COORDINATES:
            low, high = getattr(self, name)
            if not (math.isfinite(low) and math.isfinite(high) and low <= high):
                raise InvalidInputError(
                    f"the range of {name} is two finite numbers, the lower first, not {low}, {high}."
                )

    @property
    def bounds(self) -> np.ndarray:
        """(4, 2)."""
        return np.array([getattr(self, name) for name in COORDINATES], dtype=float)


@dataclass(frozen=True)
class Place:
    """A base at (x, y, z, yaw) and what it is worth: the share of targets reached, their mean score, and both."""

    at: tuple[float, float, float, float]
    coverage: float
    score: float
    tilt: tuple[float, float] = (0.0, 0.0)

    @property
    def value(self) -> float:
        return self.coverage + SCORE_WEIGHT * self.score

    @property
    def pose(self) -> np.ndarray:
        return base_pose(self.at, self.tilt)


@dataclass(frozen=True)
class Placement:
    """The outcome: all places that were looked at, and thorough studies of the best, the best first."""

    looked_at: tuple[Place, ...]
    best: tuple[tuple[Place, ReachResult], ...]


def base_pose(at: Sequence[float], tilt: Sequence[float] = (0.0, 0.0)) -> np.ndarray:
    """The pose of a base at (x, y, z, yaw) with roll and pitch."""
    x, y, z, yaw = (float(value) for value in at)
    return transform((x, y, z), rpy=(float(tilt[0]), float(tilt[1]), yaw))


def base_coordinates(pose: np.ndarray) -> tuple[tuple[float, float, float, float], tuple[float, float]]:
    """(x, y, z, yaw) and the tilt (roll, pitch) of a base."""
    yaw, pitch = math.atan2(pose[1, 0], pose[0, 0]), math.atan2(-pose[2, 0], math.hypot(pose[0, 0], pose[1, 0]))
    x, y, z = (float(value) for value in pose[:3, 3])
    return (x, y, z, yaw), (math.atan2(pose[2, 1], pose[2, 2]), pitch)


def place_base(
    setup: ReachSetup,
    points: np.ndarray,
    normals: np.ndarray,
    region: Region,
    *,
    places: int = 192,
    finalists: int = 3,
    passes: int = 3,
    workers: WorkerPool | None = None,
    progress: Callable[[int], None] | None = None,
) -> Placement:
    """Looks for the best place in a region.

    places     how many are looked at, in as many generations as leave each a few places.
    finalists  how many are studied with all targets.
    """
    if places < _LEAST_GENERATION:
        raise InvalidInputError(f"the search for a base looks at least at {_LEAST_GENERATION} places, not {places}.")
    sizes = [len(part) for part in np.array_split(range(places), min(_GENERATIONS, places // _LEAST_GENERATION))]
    workers = workers or WorkerPool()
    probe = replace(
        setup,
        scene=None if setup.scene is None else setup.scene.copy(),  # its objects will be moved
        evaluations=min(setup.evaluations, _LITTLE_WORK),
    )
    generator = np.random.default_rng(setup.rng)
    chosen = generator.permutation(len(points))[:_SAMPLE]
    sample = (points[chosen], normals[chosen])
    low, high = region.bounds.T
    looked_at: list[Place] = []
    for size in sizes:
        if not looked_at:
            drawn = low + (high - low) * _even(size, generator)
        else:
            drawn = _around(looked_at, size, low, high, generator)
        attempts = [Attempt(*sample, None, 0, base_pose(at, region.tilt)) for at in drawn]
        judged: list[Place | None] = [None] * size
        for k, (state, _, scores) in workers.map(try_targets, probe, attempts):
            reached = state == REACHED
            x, y, z, yaw = drawn[k].tolist()
            judged[k] = Place((x, y, z, yaw), float(reached.mean()), float(scores.score.mean()), region.tilt)
            if progress is not None:
                progress(1)
        looked_at += [place for place in judged if place is not None]
    ranked = sorted(looked_at, key=lambda place: -place.value)
    studied = []
    for place in _apart(ranked, finalists, low, high):
        moved = replace(setup, robot=setup.robot.at(place.pose))
        result = reach_study(moved, points, normals, passes=passes, workers=workers)
        studied.append((replace(place, coverage=result.coverage, score=float(result.score.mean())), result))
    studied.sort(key=lambda pair: -pair[0].value)
    return Placement(tuple(looked_at), tuple(studied))


def _even(count: int, generator: np.random.Generator) -> np.ndarray:
    """Points (count, 4) that cover the unit cube evenly: multiples of the roots of x^5 = x + 1, without whole parts."""
    root = 1.1673039782614187
    steps = root ** -np.arange(1.0, len(COORDINATES) + 1.0)
    return (generator.random(len(COORDINATES)) + np.arange(count)[:, None] * steps) % 1.0


def _around(
    places: Sequence[Place], count: int, low: np.ndarray, high: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
    """New places near the best so far, as widely spread as those are."""
    ranked = sorted(places, key=lambda place: -place.value)
    elite = np.array([place.at for place in ranked[: max(3, round(_ELITE * count))]])
    spread = np.maximum(elite.std(axis=0), 0.02 * (high - low))
    drawn = elite[generator.integers(len(elite), size=count)] + spread * generator.standard_normal((count, 4))
    return np.clip(drawn, low, high)


def _apart(ranked: Sequence[Place], count: int, low: np.ndarray, high: np.ndarray) -> list[Place]:
    """The best places that are not the same place once more."""
    width = np.maximum(high - low, 1e-9)
    chosen: list[Place] = []
    for place in ranked:
        if all(np.abs((np.array(place.at) - other.at) / width).max() > 0.05 for other in chosen):
            chosen.append(place)
        if len(chosen) == count:
            break
    return chosen
