"""RelaxedIK: a weighted sum of losses, one for each row of each goal, minimised within the limits.

A loss turns an error into cost so that several goals can be added up: each has its optimum at -1, steep near it and
gentle far away, so that none drowns the others. Rakita, Mutlu, Gleicher 2018 (RelaxedIK); Wang et al. 2023 (RangedIK).
"""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np

from memetik._core import TermKind
from memetik.collision.fast import FastModel
from memetik.errors import GoalError, InvalidInputError
from memetik.goals.base import HARD, Goal
from memetik.goals.losses import SQUARE
from memetik.goals.pose import Orientation, Pose, Position, bands_of
from memetik.solve.literature.optimisers import (
    NLOPT,
    SCIPY,
    Converged,
    load_nlopt,
    load_scipy,
    minimise_by_nlopt,
    minimise_by_scipy,
    takes_gradients,
)
from memetik.solve.methods.method import PythonMethod
from memetik.solve.methods.parameters import Choice, Count, NotNegative, Positive, Range, Share
from memetik.solve.methods.task import SearchTask
from memetik.solve.problem import Problem

OPTIMIZERS = (*SCIPY, *(f"nlopt_{name}" for name in NLOPT))

WIDE = 1e-2
"""Ranges from this half width on are swamps with a groove; narrower ones are grooves."""

FAR = 10.0
"""Clearances beyond this, in metres, do not count."""

ADAPTIVE_SCALE = 0.05
"""a of CollisionIK's weight of orientations, a / (a + collision score)."""

NUMERIC_STEP = 1e-7

WALL = 0.95
"""How much of a swamp's wall is climbed at its bounds."""

Values = np.ndarray
ValuesAndSlopes = tuple[Values, Values]


@dataclass(frozen=True)
class Relaxed(PythonMethod):
    """RelaxedIK (Rakita, Mutlu, Gleicher 2018) as RangedIK (Wang et al. 2023) weighs it, with restarts as in
    relaxed_ik_cpp (T. Engelke, "Benchmarking and Improving Inverse Kinematics for Endoscopic Inspection Tasks",
    Universität Hamburg 2024), the collision term of that thesis (section 8.2) where it is given weight, and the three
    modes of orientation of CollisionIK (Rakita et al. 2021).

    Minimises  sum_i w_i groove(r_i)  over the rows r_i of all hard goals; rows with a range of more than a centimetre
               or
    0.01 rad to either side get a swamp with a groove instead: all of the range is valid, its middle is preferred.

    position_weight, rotation_weight
                 w of rows in metres, and of those in radians or anything else.
    width, growth
                 of groove(r) = -exp(-r^2 / (2 width^2)) + growth r^2. RangedIK's width is 0.1; at 0.5 the search takes
                 a third fewer evaluations (benchmarks/sources/method_comparison.py).
    optimizer    slsqp or another of scipy's optimisers ("bfgs", ...), or one of NLopt's ("nlopt_slsqp", ...).
    gradient     "analytic", or "numeric": forward differences of 1e-7, n more evaluations for each gradient, as the
                 source counts them; none for optimisers that ask for none.
    collision    weight of the collision term; zero for none, 1 as in the programs of this family. It is
                 w groove((2 d0 / (d0 + d))^2; width 2.5, growth 0.035, power 4), d the clearance from everything the
                 problem forbids to touch; inside a body it goes on linearly, where the source has one cost for all.
                 CollisionIK itself sums e^2 / d^2 over all pairs of links and obstacles. The term leads around what is
                 in the way, and pushes off targets on surfaces. With it, a configuration that touches does not end a
                 search.
    clearance    d0 in metres, which the source does not print: where the collision term's score is one.
    orientation  what becomes of rows in radians near obstacles: "keep" them, "ignore" them, or "adaptive":
                 their weight is multiplied by 0.05 / (0.05 + score), with or without the collision term; far from
                 everything that is 1. An answer still has to meet all hard goals.
    tolerance    change of the sum that ends a local search.
    iterations   longest local search.
    """

    position_weight: NotNegative = 50.0
    rotation_weight: NotNegative = 10.0
    width: Positive = 0.5
    growth: NotNegative = 10.0
    optimizer: Annotated[str, Choice(OPTIMIZERS)] = "slsqp"
    gradient: Literal["analytic", "numeric"] = "analytic"
    collision: NotNegative = 0.0
    clearance: Annotated[float, Range(1e-6, 10.0)] = 0.02
    orientation: Literal["keep", "ignore", "adaptive"] = "keep"
    tolerance: Share = 1e-8
    iterations: Count = 100

    def check(self, problem: Problem) -> None:
        kinds = {term.spec.kind: problem.goal_names[term.spec.goal] for term in problem.terms}
        for kind, what in ((TermKind.callback, "evaluated in Python"), (TermKind.contacts, "on contacts")):
            if kind in kinds:
                raise GoalError(f"relaxed does not serve goal {kinds[kind]!r}, which is {what}; use method='memetic'.")
        if problem.external_checker is not None and self.minds_clearance:
            raise GoalError(
                "collision= and orientation='adaptive' of relaxed need distances, which a scene of your own, an object "
                "with collides(q), does not tell: use an mk.Scene, or leave them out."
            )
        if problem.core.hard_rows:
            rows_of(problem)
        if self.optimizer.startswith("nlopt_"):
            load_nlopt()
        else:
            load_scipy()

    @property
    def minds_clearance(self) -> bool:
        """Whether distances from obstacles count."""
        return self.collision > 0.0 or self.orientation == "adaptive"

    def search(self, task: SearchTask, start: np.ndarray) -> None:
        if task.base is not None:
            raise InvalidInputError("relaxed takes the robot where it stands: place it with robot.at(base).")
        task.submit_end(self.minimise(RelaxedObjective(self, task), task, start))

    def minimise(self, objective: RelaxedObjective, task: SearchTask, start: np.ndarray) -> np.ndarray:
        """Where the optimiser ends that starts at `start`."""
        if self.optimizer.startswith("nlopt_"):
            name, most = self.optimizer[len("nlopt_") :], 10 * self.iterations
            return minimise_by_nlopt(name, objective, task, start, most, ftol=self.tolerance)
        stop = {"ftol": self.tolerance} if "ftol" in SCIPY[self.optimizer][2] else {}
        return minimise_by_scipy(self.optimizer, objective, task, start, self.iterations, **stop)


class RelaxedObjective:
    """The weighted sum of losses at a configuration, and its gradient. Where it `stops`, it raises `Converged` within
    all tolerances."""

    def __init__(self, method: Relaxed, task: SearchTask, stops: bool = True):
        self.method, self.task, self.stops = method, task, stops
        self.numeric = method.gradient == "numeric" and takes_gradients(method.optimizer)
        self.rows = rows_of(task.problem)
        self.weights = self.rows.weights * np.where(self.rows.lengths, method.position_weight, method.rotation_weight)
        if method.orientation == "ignore":
            self.weights = self.weights * ~self.rows.turns
        collision_context = task.problem.collision_context if method.minds_clearance else None
        self.model = None if collision_context is None else collision_context.tight

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        if not self.numeric:
            values, slopes = self.at(x[None])
            return float(values[0]), slopes[0]
        steps = np.vstack([x, x + NUMERIC_STEP * np.eye(len(x))])
        values, _ = self.at(steps)
        return float(values[0]), (values[1:] - values[0]) / NUMERIC_STEP

    def at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values (N,) and gradients (N, n) at configurations (N, n)."""
        task, rows = self.task, self.rows
        task.spend(len(x))
        residuals, jacobians = rows.core.evaluate(task.targets, task.configuration, np.ascontiguousarray(x), HARD)
        costs = np.einsum("ij,ij->i", residuals, residuals)
        k = int(costs.argmin())
        if costs[k] < task.best[0]:  # what a solve without an answer gives
            task.best = (float(costs[k]), np.array(x[k]))
        near = None if self.model is None else self._collision(self.model, x)
        # A configuration that touches is no answer: the term, or orientations that count less, may still lead away.
        free = near is None or near[0][0] >= task.problem.margin
        raw = residuals / rows.scales
        could_be_within = self.stops and free and costs[0] <= rows.most_within
        if could_be_within and rows.all_within(raw[0]) and (x[0] == task.clip(x[0])).all():
            raise Converged(np.array(x[0]))
        losses = rows.losses(raw, self.method.width, self.method.growth)
        if near is None:
            return _weighed(self.weights, losses, jacobians)
        _, score, score_slope = near
        cost, gradient = _weighed(self.weights * ~rows.turns, losses, jacobians)
        turning = _weighed(self.weights * rows.turns, losses, jacobians)
        value, slope = groove(score, 2.5, 0.035, 4.0)
        share, share_slope = self._orientation_share(score)
        cost += self.method.collision * value + share * turning[0]
        slope = self.method.collision * slope + share_slope * turning[0]
        return cost, gradient + share[:, None] * turning[1] + slope[:, None] * score_slope

    def _collision(self, model: FastModel, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The clearance d, the score (2 d0 / (d0 + d))^2, and its gradient by x."""
        task, scale = self.task, self.method.clearance
        distance, gradient, _ = model.nearest(task.full(x), FAR)
        free = np.maximum(distance, 0.0)
        score = (2.0 * scale / (scale + free)) ** 2
        slope = -2.0 * score / (scale + free)
        score = score + np.where(distance < 0.0, slope * distance, 0.0)
        return distance, score, slope[:, None] * gradient[:, task.problem.core.variables]

    def _orientation_share(self, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the weight of orientations is multiplied with, and its slope by the score."""
        if self.method.orientation == "adaptive":
            share = ADAPTIVE_SCALE / (ADAPTIVE_SCALE + score)
            return share, -share / (ADAPTIVE_SCALE + score)
        return np.ones_like(score), np.zeros_like(score)


def _weighed(
    weights: np.ndarray, losses: tuple[np.ndarray, np.ndarray], jacobians: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The weighted sum of losses (N,), zero where all are met, and its gradients (N, n)."""
    values, slopes = losses
    return (values + 1.0) @ weights, ((weights * slopes)[:, None] @ jacobians)[:, 0]


class Rows:
    """The hard goals of a problem row by row, without weights, losses and ranges: the core's residuals of plain
    goals."""

    def __init__(self, problem: Problem):
        hard = [goal for goal in problem.goals if goal.priority == HARD]
        if any(goal.is_open for goal in problem.goals if goal.priority != HARD):
            raise GoalError("relaxed takes open targets of hard goals only: state the targets of soft goals.")
        if not hard:
            raise GoalError("relaxed needs a goal that must hold.")
        plain = Problem(problem.robot, [_plain(goal) for goal in hard], fixed=problem.fixed)
        self.core = plain.core
        weights, lower, upper, bounds, turns, lengths, starts = [], [], [], [], [], [], []
        for term in plain.terms:
            spec = term.spec
            goal = hard[spec.goal]
            count, weight, tolerance = spec.rows, spec.weight, spec.tolerance
            bands = _bands(goal, term.label)
            starts.append(len(weights))
            bounds.append(tolerance if bands is None else np.inf)
            turns += [term.unit == "rad"] * count
            lengths += [term.unit == "m"] * count
            # The core's residual is multiplied by the weight; losses want metres and radians.
            weights += [(weight or 1.0, goal.weight**2)] * count
            lower += [-np.inf] * count if bands is None else bands[:, 0].tolist()
            upper += [np.inf] * count if bands is None else bands[:, 1].tolist()
        self.scales, self.weights = np.array(weights).T
        self.turns, self.lengths = np.array(turns), np.array(lengths)
        self.lower, self.upper = np.array(lower), np.array(upper)
        self.starts, self.bounds = np.array(starts), np.array(bounds) ** 2
        half = 0.5 * (self.upper - self.lower)
        # The core's cost above which a bound is exceeded for sure: ranges have none.
        self.most_within = float((self.bounds * np.maximum.reduceat(self.scales**2, self.starts)).sum())
        self.ranged = np.isfinite(half) & (half > WIDE)
        self.has_ranges = bool(self.ranged.any())
        self.half = np.where(self.ranged, half, 1.0)
        self.middle = np.where(self.ranged, 0.5 * (np.nan_to_num(self.upper) + np.nan_to_num(self.lower)), 0.0)

    def all_within(self, raw: np.ndarray) -> bool:
        """Whether one configuration's rows hold the hard goals, as far as these plain rows can tell."""
        inside = ((raw >= self.lower) & (raw <= self.upper)).all()
        return bool(inside and (np.add.reduceat(raw * raw, self.starts) <= self.bounds).all())

    def losses(self, raw: np.ndarray, width: float, growth: float) -> tuple[np.ndarray, np.ndarray]:
        """The loss of each row and its slope by the core's residual."""
        value, slope = groove(raw, width, growth)
        if self.has_ranges:
            y = raw - self.middle
            own = swamp_groove(y, -self.half, self.half, 2.0 * self.half)
            # The source tracks, and starts within the range; from afar the groove's growth has to lead to it.
            beyond = np.sign(y) * np.maximum(np.abs(y) - self.half, 0.0)
            value = np.where(self.ranged, own[0] + growth * beyond**2, value)
            slope = np.where(self.ranged, own[1] + 2.0 * growth * beyond, slope)
        return value, slope / self.scales


_rows: weakref.WeakKeyDictionary[Problem, Rows] = weakref.WeakKeyDictionary()


def rows_of(problem: Problem) -> Rows:
    """The plain rows of a problem, made once."""
    if problem not in _rows:
        _rows[problem] = Rows(problem)
    return _rows[problem]


_POINT = (1e-9, 1e-9, 1e-9)
"""Tolerances by axis that leave no range, and give rows in the axes of the target's frame."""


def _plain(goal: Goal) -> Goal:
    """A goal without its loss, and with errors by axis in the place of ranges."""
    changes: dict[str, Any] = {"loss": SQUARE}
    for name in ("position_tolerance", "rotation_tolerance", "tolerance"):
        if _has_ranges(goal, name):
            changes[name] = _POINT
    return replace(goal, **changes)


def _bands(goal: Goal, label: str) -> np.ndarray | None:
    """The ranges (3, 2) of a goal's rows of that label, where `_plain` took them away."""
    name = f"{label}_tolerance" if isinstance(goal, Pose) else "tolerance"
    return bands_of(getattr(goal, name), name)[0] if _has_ranges(goal, name) else None


def _has_ranges(goal: Goal, name: str) -> bool:
    if not isinstance(goal, Pose | Position | Orientation) or not isinstance(getattr(goal, name, None), list | tuple):
        return False
    bands, _ = bands_of(getattr(goal, name), name)
    turning = isinstance(goal, Orientation) or name == "rotation_tolerance"
    # Free turns are swings and twists, which have rows of their own.
    return not (turning and (bands[:, 1] - bands[:, 0] >= 2.0 * np.pi).any())


def groove(x: Values, width: float = 0.1, growth: float = 10.0, power: float = 2.0, at: float = 0.0) -> ValuesAndSlopes:
    """-exp(-(x - at)^2 / (2 width^2)) + growth |x - at|^power: a groove at one value."""
    y = x - at
    square = y * y
    well = np.exp(square * (-0.5 / width**2))
    if power == 2.0:
        return growth * square - well, y * (well / width**2 + 2.0 * growth)
    size = np.abs(y)
    return -well + growth * size**power, y / width**2 * well + growth * power * size ** (power - 1.0) * np.sign(y)


def swamp(
    x: Values,
    lower: Values | float,
    upper: Values | float,
    height: float = 1.0,
    growth: float = 0.1,
    steepness: int = 8,
) -> ValuesAndSlopes:
    """(height + growth s^2) (1 - exp(-(s / b)^steepness)) - 1, s = (2 x - lower - upper) / (upper - lower): flat
    between the bounds, walls at them. b is such that a wall has reached 95 % of its height at the bound."""
    wall, wall_slope, s, scale = _wall(x, lower, upper, steepness)
    level = height + growth * s * s
    return level * wall - 1.0, (2.0 * growth * s * wall + level * wall_slope) * scale


def swamp_groove(
    x: Values, lower: Values | float, upper: Values | float, width: Values | float, growth: float = 0.01,
    wall: float = 100.0, steepness: int = 20, at: float = 0.0,
) -> ValuesAndSlopes:  # fmt: skip
    """-exp(-(x - at)^2 / (2 width^2)) + growth (x - at)^2 + wall (1 - exp(-(s / b)^steepness)): every value
    between the bounds is valid, one is preferred."""
    rise, rise_slope, _, scale = _wall(x, lower, upper, steepness)
    y = x - at
    well = np.exp(-(y * y) / (2.0 * width * width))
    return -well + growth * y * y + wall * rise, y / width**2 * well + 2.0 * growth * y + wall * rise_slope * scale


def _wall(
    x: Values, lower: Values | float, upper: Values | float, steepness: int
) -> tuple[Values, Values, Values, Values]:
    """1 - exp(-(s / b)^p), its slope by s, s, and ds/dx."""
    b = (-1.0 / math.log(1.0 - WALL)) ** (1.0 / steepness)
    scale = 2.0 / (upper - lower)
    s = (x - 0.5 * (np.asarray(lower) + upper)) * scale
    ratio = np.minimum(np.abs(s) / b, 10.0)  # the wall is climbed long before
    fall = np.exp(-(ratio**steepness))
    slope = np.sign(s) * steepness / b * ratio ** (steepness - 1) * fall
    return 1.0 - fall, slope, s, np.broadcast_to(scale, np.shape(s))
