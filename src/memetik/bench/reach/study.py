"""Reach studies: how much of a surface a robot can get at, and how well.

At each target, a point of a surface with its normal, an axis of the tool is put against the normal, `standoff` before
the surface; the turn about that axis is free unless it is fixed. Three things may come of it: the target is reached;
it is blocked (the arm alone could, but no configuration free of collision was found); or it is out of reach.

A second pass starts from the configurations of neighbours, as REACH does it: what one target found often serves the
next, or serves it better. Work is bounded in evaluations, so that the outcome depends on the inputs alone.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from memetik.bench.reach.scores import Scores, combined, joint_margins, manipulability_reference
from memetik.bench.report.statistics import wilson_interval
from memetik.bench.run.worker_pool import WorkerPool
from memetik.collision.allowed_pairs import default_pairs, pairs_always_within
from memetik.collision.fast import FastModel
from memetik.errors import InvalidInputError
from memetik.geometry.primitives import extreme_point
from memetik.geometry.surface_points import surface_frames
from memetik.geometry.transforms import inverse
from memetik.goals import AlignAxis, Pose, Position
from memetik.goals.arguments import as_direction
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene
from memetik.scene.scene_object import ordered_pair
from memetik.solve.problem import Problem

OUT_OF_REACH, BLOCKED, REACHED = 0, 1, 2
STATES = ("out of reach", "blocked", "reached")
"""What may become of a target, by its number."""

BATCH = 512
"""Targets that are solved at once where nothing can be touched."""

STANDOFF_GAP = 0.005
"""Metres between the tool and the surface where no standoff is given."""

SURFACE = "surface"
"""The name of the studied mesh in the scene and in pictures."""

NEIGHBOURS = 8
SEEDS = 2
"""Of a target's nearest neighbours, how many lend it their configurations."""


@dataclass(frozen=True)
class ReachSetup:
    """What is asked of the robot at every target.

    robot        where it stands.
    scene        what must not be touched, or None: then only the arm's own kinematics count.
    link         the link that has to get there.
    axis         the link's axis that points into the surface: "z", "-x" or a vector in the link's frame.
    free_spin    whether the turn about that axis is free.
    standoff     metres that the link's origin stays before the surface; None for as little as the tool's own shape
                 allows (`least_standoff`).
    evaluations  bound on the work for each attempt.
    weights      of manipulability, joint margin and clearance in the score; see `reach_scores`.
    rng          seed of the random numbers.
    """

    robot: Robot
    scene: Scene | None = None
    link: str = ""
    axis: ArrayLike = "z"
    free_spin: bool = True
    standoff: float | None = None
    evaluations: int = 4000
    weights: Mapping[str, float] = field(default_factory=lambda: {"manipulability": 1.0, "margin": 1.0})
    rng: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "link", self.link or self.robot.tip)
        self.robot.link_index(self.link)
        if self.standoff is None:
            object.__setattr__(
                self, "standoff", least_standoff(self.robot, self.link, self.axis) if self.scene else 0.0
            )
        elif not math.isfinite(self.standoff):
            raise InvalidInputError(f"the standoff is in metres, not {self.standoff!r}.")
        if self.scene is None and "clearance" in self.weights:
            raise InvalidInputError("a score by clearance needs a scene, or at least the surface, as an obstacle.")
        if not self.free_spin and not np.allclose(as_direction(self.axis, "the axis"), (0.0, 0.0, 1.0)):
            raise InvalidInputError("with a fixed spin the tool's axis is z.")

    @cached_property
    def arm(self) -> Problem:
        """What is asked, by kinematics alone."""
        return Problem(self.robot, self.goals)

    @cached_property
    def confined(self) -> Problem:
        """The same in the scene."""
        return Problem(self.robot, self.goals, scene=self.scene)

    @cached_property
    def measured(self) -> FastModel:
        """What clearance is measured in: the scene, but for the tool against the studied surface, which the standoff
        alone keeps apart."""
        robot, margin = self.robot, _collision_context(self).margin
        tool = {ordered_pair(name, SURFACE) for name in tool_links(robot, self.link)}
        return FastModel(robot, self.scene, allowed=default_pairs(robot) | pairs_always_within(robot, margin) | tool)

    @cached_property
    def reference(self) -> float:
        """The manipulability that counts as full."""
        return manipulability_reference(self.robot, self.link)

    @property
    def batch(self) -> int:
        """Targets of one attempt: one where they are searched in a scene, so that a lost worker costs one."""
        return BATCH if self.scene is None else 1

    @property
    def goals(self) -> list[Any]:
        """What is asked at every target, which they leave open."""
        if not self.free_spin:
            return [Pose(self.link)]
        return [Position(self.link), AlignAxis(self.link, axis=self.axis)]

    def targets(self, points: np.ndarray, normals: np.ndarray) -> tuple[np.ndarray, ...]:
        """What the problems take, for points and normals (N, 3)."""
        before = points + float(self.standoff or 0.0) * normals
        if not self.free_spin:
            return (surface_frames(before, normals),)
        return np.ascontiguousarray(before), np.ascontiguousarray(-normals)

    def __getstate__(self) -> dict[str, Any]:
        derived = ("arm", "confined", "measured", "reference")
        return {name: value for name, value in self.__dict__.items() if name not in derived}


@dataclass(frozen=True)
class Attempt:
    """One batch of targets: points and normals (N, 3), seeds (N, dof) or None, and the stream of random numbers.

    base: where the robot stands for these, if not where the setup says.
    """

    points: np.ndarray
    normals: np.ndarray
    seeds: np.ndarray | None
    stream: int
    base: np.ndarray | None = None


@dataclass(frozen=True)
class Attempts(Sequence[Attempt]):
    """Many attempts over arrays of targets, `size` of them in each, made when they are asked for: a study of millions
    holds its arrays and no more. `stream`: of the first target."""

    points: np.ndarray
    normals: np.ndarray
    seeds: np.ndarray | None
    stream: int
    size: int

    def __len__(self) -> int:
        return math.ceil(len(self.points) / self.size)

    def __getitem__(self, k: int) -> Attempt:  # pyright: ignore[reportIncompatibleMethodOverride]
        if not 0 <= k < len(self):
            raise IndexError(k)
        part = self.part(k)
        seeds = None if self.seeds is None else self.seeds[part]
        return Attempt(self.points[part], self.normals[part], seeds, self.stream + part.start)

    def part(self, k: int) -> slice:
        """The targets of attempt k."""
        return slice(k * self.size, min((k + 1) * self.size, len(self.points)))


@dataclass(frozen=True)
class ReachResult:
    """What came of N targets: state (N,) as in STATES, q (N, dof), and the scores of configurations.

    passes: per pass over all targets, the share reached and the mean score of all targets.
    """

    points: np.ndarray
    normals: np.ndarray
    state: np.ndarray
    q: np.ndarray
    scores: Scores
    passes: tuple[tuple[float, float], ...] = ()

    @property
    def reached(self) -> np.ndarray:
        return self.state == REACHED

    @property
    def score(self) -> np.ndarray:
        """(N,), from 0, not reached, to 1."""
        return self.scores.score

    @property
    def coverage(self) -> float:
        """The share of targets that are reached."""
        return float(self.reached.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """Where the share of the whole surface lies, at 95 %, for targets drawn evenly from it."""
        return wilson_interval(int(self.reached.sum()), len(self.reached))

    def summary(self) -> dict[str, Any]:
        """The figures of a study, as the command line prints them."""
        low, high = self.interval
        reached = self.reached
        return {
            "targets": len(self.state),
            **{name: int((self.state == number).sum()) for number, name in reversed(list(enumerate(STATES)))},
            "coverage": self.coverage,
            "coverage_low": low,
            "coverage_high": high,
            "score": float(self.score.mean()),
            "score_of_reached": float(self.score[reached].mean()) if reached.any() else 0.0,
            "passes": [{"coverage": coverage, "score": score} for coverage, score in self.passes],
        }


def reach_study(
    setup: ReachSetup,
    points: np.ndarray,
    normals: np.ndarray,
    *,
    passes: int = 3,
    workers: WorkerPool | None = None,
    progress: Callable[[int], None] | None = None,
) -> ReachResult:
    """Tries every target, then again from its neighbours' configurations as long as that brings something.

    points, normals  (N, 3) in the world; normals of unit length, out of the surface.
    passes           at most this many, the first included.
    workers          who does it; the result is the same whoever it is.
    progress         called with the number of targets that were tried.
    """
    points, normals = _checked_targets(points, normals)
    workers = workers or WorkerPool()
    result = _run(setup, Attempts(points, normals, None, 0, setup.batch), workers, progress)
    history = [(result.coverage, float(result.score.mean()))]
    for number in range(1, passes):
        better = _from_neighbours(setup, result, number, workers, progress)
        gained = better.score > result.score
        result = _merged(result, better, gained)
        history.append((result.coverage, float(result.score.mean())))
        if gained.mean() < 0.01:
            break
    return replace(result, passes=tuple(history))


def try_targets(setup: ReachSetup, attempt: Attempt) -> tuple[np.ndarray, np.ndarray, Scores]:
    """State (N,), q (N, dof) and scores of a batch: first by the arm alone, then, where that collides, in the scene."""
    if attempt.base is None:
        return _try(setup, attempt, attempt.points, attempt.normals)
    # The world moves instead of the robot: nothing has to be compiled again. It can be in one place at a time only.
    with _moving:
        return _try(setup, attempt, *_seen_from(setup, attempt.base, attempt.points, attempt.normals))


_moving = threading.Lock()


def _try(
    setup: ReachSetup, attempt: Attempt, points: np.ndarray, normals: np.ndarray
) -> tuple[np.ndarray, np.ndarray, Scores]:
    targets = setup.targets(points, normals)
    batch = setup.arm.solve(
        *targets, seed=attempt.seeds, evaluations=setup.evaluations, rng=(setup.rng, attempt.stream)
    )
    q = np.array(batch.q)
    state = np.where(batch.success, REACHED, OUT_OF_REACH)
    if setup.scene is not None:
        conservative = _collision_context(setup).conservative
        tried = np.flatnonzero(batch.success)
        colliding = tried[conservative.collides(q[tried])] if len(tried) else tried
        state[colliding] = BLOCKED
        for k in colliding.tolist():
            seed = None if attempt.seeds is None else attempt.seeds[k]
            found = setup.confined.solve(
                *(target[k] for target in targets), seed=seed, evaluations=setup.evaluations,
                rng=(setup.rng, attempt.stream + k),
            )  # fmt: skip
            if found.success:
                q[k], state[k] = found.q, REACHED
    return state, q, _scores(setup, q, state == REACHED)


def least_standoff(robot: Robot, link: str, axis: ArrayLike = "z") -> float:
    """How far the shapes that are fixed to a link reach beyond its origin along an axis, and a little more; metres."""
    direction = as_direction(axis, "the axis")
    to_link = inverse(robot.pose(link, robot.neutral))
    reach = 0.0
    for name in tool_links(robot, link):
        pose = to_link @ robot.pose(name, robot.neutral)
        for geometry in robot.description.links[robot.link_index(name)].collisions:
            placed = pose @ geometry.origin
            farthest = extreme_point(geometry.shape, placed[:3, :3].T @ direction)
            reach = max(reach, float((placed[:3, :3] @ farthest + placed[:3, 3]) @ direction))
    return reach + STANDOFF_GAP


def tool_links(robot: Robot, link: str) -> list[str]:
    """The names of a link and of those that are fixed to it."""
    axes = robot.tree.link_axes
    own = axes[robot.link_index(link)]
    return [other.name for number, other in enumerate(robot.description.links) if axes[number] == own]


def _collision_context(setup: ReachSetup) -> Any:
    collision_context = setup.confined.collision_context
    assert collision_context is not None
    return collision_context


def _seen_from(setup: ReachSetup, base: np.ndarray, points: np.ndarray, normals: np.ndarray) -> tuple[Any, Any]:
    """Targets as the setup's robot sees them if it stood at `base`; its scene is moved likewise."""
    shift = setup.robot.base_pose @ inverse(base)
    scene = setup.scene
    if scene is not None:
        home = setup.__dict__.setdefault("_home", {item.name: item.pose for item in scene.world_objects})
        for name, pose in home.items():
            scene.move(name, shift @ pose)
    return points @ shift[:3, :3].T + shift[:3, 3], normals @ shift[:3, :3].T


def _scores(setup: ReachSetup, q: np.ndarray, reached: np.ndarray) -> Scores:
    count = len(q)
    parts = {name: np.zeros(count) for name in ("manipulability", "margin", "clearance")}
    good = q[reached]
    if len(good):
        measure = np.atleast_1d(setup.robot.manipulability(setup.link, good))
        parts["manipulability"][reached] = np.clip(measure / setup.reference, 0.0, 1.0)
        parts["margin"][reached] = joint_margins(setup.robot, setup.link, good)
        if setup.scene is not None:
            parts["clearance"][reached] = setup.measured.clearance(good, limit=Scores.FULL_CLEARANCE)
    return combined(parts, setup.weights, reached)


def _run(
    setup: ReachSetup, attempts: Attempts, workers: WorkerPool, progress: Callable[[int], None] | None
) -> ReachResult:
    count = len(attempts.points)
    state, q, scores = np.zeros(count, dtype=np.int8), np.zeros((count, setup.robot.dof)), Scores.zeros(count)
    for k, found in workers.map(try_targets, setup, attempts, together=1 if attempts.size > 1 else None):
        part = attempts.part(k)
        state[part], q[part] = found[0], found[1]
        scores.put(part, found[2])
        if progress is not None:
            progress(len(found[0]))
    return ReachResult(attempts.points, attempts.normals, state, q, scores)


def _from_neighbours(
    setup: ReachSetup, result: ReachResult, number: int, workers: WorkerPool, progress: Callable[[int], None] | None
) -> ReachResult:
    """Every target again, from the configurations of its best neighbours; for each the best that came of it."""
    chosen, lenders = _lenders(result)
    if not len(chosen):
        return result
    count = len(result.points)
    attempts = Attempts(
        result.points[chosen], result.normals[chosen], result.q[lenders], SEEDS * count * number, setup.batch
    )
    tried = _run(setup, attempts, workers, progress)
    # Of several tries at a target the best comes last and stays.
    order = np.argsort(tried.score, kind="stable")
    state, q, scores = np.array(result.state), np.array(result.q), result.scores.copy()
    scores.score[:] = -1.0
    state[chosen[order]], q[chosen[order]] = tried.state[order], tried.q[order]
    scores.put(chosen[order], tried.scores.take(order))
    return replace(result, state=state, q=q, scores=scores)


def _lenders(result: ReachResult) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (target, neighbour): for each target the neighbours whose configurations promise more than its own."""
    from scipy.spatial import KDTree

    count = len(result.points)
    if count < 2 or not result.reached.any():
        return np.zeros(0, dtype=int), np.zeros(0, dtype=int)
    found: Any = KDTree(result.points).query(result.points, k=min(NEIGHBOURS + 1, count))
    near = found[1][:, 1:]
    promise = np.where(result.score[near] > result.score[:, None], result.score[near], -1.0)
    best = np.take_along_axis(near, np.argsort(-promise, axis=1, kind="stable"), axis=1)[:, :SEEDS]
    worth = result.score[best] > result.score[:, None]
    targets = np.broadcast_to(np.arange(count)[:, None], best.shape)
    return targets[worth], best[worth]


def _merged(old: ReachResult, new: ReachResult, gained: np.ndarray) -> ReachResult:
    state, q, scores = np.array(old.state), np.array(old.q), old.scores.copy()
    # A blocked target whose retry fails by kinematics alone is still known to be blocked.
    state[gained], q[gained] = new.state[gained], new.q[gained]
    where = np.flatnonzero(gained)
    scores.put(where, new.scores.take(where))
    return replace(old, state=state, q=q, scores=scores)


def _checked_targets(points: ArrayLike, normals: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    points, normals = np.asarray(points, dtype=float), np.asarray(normals, dtype=float)
    if points.ndim != 2 or points.shape[1:] != (3,) or normals.shape != points.shape or not len(points):
        raise InvalidInputError(
            f"points and normals must both have shape (N, 3) with N > 0, not {points.shape} and {normals.shape}."
        )
    if not (np.isfinite(points).all() and np.isfinite(normals).all()):
        raise InvalidInputError("points and normals of a reach study must be finite.")
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    if (length < 1e-9).any():
        raise InvalidInputError(f"the normal of target {int(np.argmin(length))} is zero.")
    return points, normals / length
