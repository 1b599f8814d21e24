"""RelaxedIK on a stream of targets: a configuration each tick, near to the last ones in motion, too."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import TypedDict, Unpack

import numpy as np

from memetik.collision.fast import FastModel
from memetik.errors import GoalError, InvalidInputError
from memetik.robot.manipulability import manipulability
from memetik.solve.inputs import Inputs, Seed, Target, checked_seed, checked_targets
from memetik.solve.literature.optimisers import minimise_by_scipy
from memetik.solve.literature.relaxed import FAR, Relaxed, RelaxedObjective, groove, swamp
from memetik.solve.methods.parameters import Count, NotNegative, Positive, check_value
from memetik.solve.methods.task import SearchTask
from memetik.solve.options import SolveOptions
from memetik.solve.problem import Problem

APART = (0.02, 1.5)
"""Metres: bounds of RangedIK's swamp for the distance of links from each other."""


WEIGHTS = {
    "velocity": 0.7, "acceleration": 0.5, "jerk": 0.3, "limits": 0.1, "manipulability": 0.0, "self_collision": 0.01,
}  # fmt: skip
"""Those of RangedIK."""


class StreamWeights(TypedDict, total=False):
    """Weights of what a stream adds to the goals' losses."""

    velocity: float
    acceleration: float
    jerk: float
    limits: float
    manipulability: float
    self_collision: float


@dataclass(frozen=True)
class StreamStep:
    """What a tick gives: the configuration (dof,), how far goals are from their targets, and what it took."""

    q: np.ndarray
    errors: dict[str, dict[str, float]]
    evaluations: int
    seconds: float


class RelaxedStream:
    """Follows targets as RelaxedIK and its successors do: each tick minimises the weighted sum of losses from the last
    configuration on, within the limits and what the velocity limits allow in a tick.

    To the goals' losses it adds, with v = q - q_1, a = q - 2 q_1 + q_2, j = q - 3 q_1 + 3 q_2 - q_3 of the
    configurations of the last ticks (radians, not divided by the tick's length),
    velocity groove(|v|) + acceleration groove(|a|) + jerk groove(|j|) + limits sum_i swamp(q_i; its limits)
    + manipulability groove(min(m(q) - 1, 0)), m the product of singular values over its mean; and, where the problem
    has no scene, self_collision swamp(clearance of links from each other; 0.02 m and more).
    The sum is a compromise: goals are approached, and `errors` say how far they are.

    problem         the goals; their open targets come at each step.
    seed            the configuration to begin with.
    dt              seconds of a tick.
    method          weights and optimiser of the goals' part; CollisionIK's three modes of orientation are its
                    `orientation`.
    velocity, acceleration, jerk, limits, manipulability, self_collision
                    weights of the other terms, those of RangedIK by default.
    iterations      of the optimiser at each tick.
    """

    def __init__(
        self, problem: Problem, seed: Seed, dt: float, *, method: Relaxed | None = None, iterations: int = 30,
        **weights: Unpack[StreamWeights],
    ):  # fmt: skip
        self.problem = problem
        self.dt = check_value("dt of RelaxedStream, in seconds,", dt, Positive)
        self.iterations = check_value("iterations of RelaxedStream", iterations, Count)
        self.method = Relaxed(width=0.1, collision=1.0) if method is None else method
        if not isinstance(self.method, Relaxed):
            raise InvalidInputError(f"method of RelaxedStream is an mk.methods.Relaxed, not {method!r}.")
        self.weights: dict[str, float] = dict(WEIGHTS)
        for name, weight in weights.items():
            if name not in WEIGHTS:
                raise TypeError(f"RelaxedStream() got an unexpected keyword argument {name!r}")
            self.weights[name] = check_value(f"the weight {name} of RelaxedStream", weight, NotNegative)
        if not (problem.core.hard_rows and problem.variables):
            raise GoalError("a stream needs a goal that must hold and a joint that may move.")
        self.method.check(problem)
        self.q = checked_seed(problem, seed)
        if self.q.ndim != 1:
            raise InvalidInputError("the seed of a stream is one configuration (dof,).")
        self._options = SolveOptions.checked(problem, {"timeout": np.inf, "refine": 0.0})
        columns = problem.core.variables
        velocities = np.array(problem.robot.tree.limits["velocity"])[columns]
        self._reach = np.where(np.isfinite(velocities), velocities * self.dt, np.inf)
        self.past: deque[np.ndarray] = deque([self.q[columns]] * 3, maxlen=3)
        self.model = (
            self._self_model() if self.weights["self_collision"] > 0.0 and problem.collision_context is None else None
        )
        self.mean_manipulability = self._mean() if self.weights["manipulability"] > 0.0 else 1.0

    def step(self, *targets: Target) -> StreamStep:
        """The configuration for the next tick."""
        begin = time.perf_counter()
        inputs = Inputs(self.problem, checked_targets(self.problem, targets), self.q)
        task = SearchTask(self.problem.bind(inputs, self._options))
        last = self.past[-1]
        task.lower = np.maximum(task.lower, last - self._reach)
        task.upper = np.minimum(task.upper, last + self._reach)
        objective = _StreamObjective(self, task)
        x = minimise_by_scipy("slsqp", objective, task, task.clip(last), self.iterations, ftol=self.method.tolerance)
        # An optimiser may end worse than it began where steps are short; never go there.
        if objective(x)[0] > objective(task.clip(last))[0]:
            x = task.clip(last)
        self.past.append(np.array(x))
        _, self.q, errors = task.check(np.ascontiguousarray(x))
        return StreamStep(
            self.q, self.problem.named_errors(errors.tolist()), task.evaluations, time.perf_counter() - begin
        )

    def _self_model(self) -> FastModel | None:
        robot = self.problem.robot
        if not any(link.collisions for link in robot.description.links):
            return None
        return FastModel(robot, None, "tight")

    def measure(self, q: np.ndarray) -> float:
        link = next(link for goal in self.problem.goals for link in goal.links)
        return float(manipulability(self.problem.robot.jacobian(link, q)[:, self.problem.core.variables]))

    def _mean(self) -> float:
        _, _, low, high = self.problem.limits
        rng, q = np.random.default_rng(0), np.array(self.q)
        values = []
        for _ in range(200):
            q[self.problem.core.variables] = low + rng.random(len(low)) * (high - low)
            values.append(self.measure(q))
        return float(max(np.mean(values), 1e-12))


class _StreamObjective(RelaxedObjective):
    """The losses of goals and those of motion."""

    def __init__(self, stream: RelaxedStream, task: SearchTask):
        super().__init__(stream.method, task, stops=False)  # motion counts as well: met goals do not end a tick
        self.stream = stream

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        stream, weights = self.stream, self.stream.weights
        value, slope = super().__call__(x)
        third, second, first = stream.past
        differences = {
            "velocity": x - first,
            "acceleration": x - 2.0 * first + second,
            "jerk": x - 3.0 * first + 3.0 * second - third,
        }
        for name, difference in differences.items():
            size = float(np.linalg.norm(difference))
            loss, rise = groove(np.array(size))
            value += weights[name] * float(loss)
            if size > 0.0:
                slope = slope + weights[name] * float(rise) / size * difference
        lower, upper, _, _ = self.task.problem.limits
        bounded = np.isfinite(upper - lower)
        loss, rise = swamp(x[bounded], lower[bounded], upper[bounded], 10.0, 10.0, 20)
        value += weights["limits"] * float(loss.sum())
        slope[bounded] += weights["limits"] * rise
        if stream.model is not None:
            distance, gradient, _ = stream.model.nearest(self.task.full(x[None]), FAR)
            if distance[0] < 0.5 * sum(APART):  # the swamp's other wall is of no use
                loss, rise = swamp(distance, *APART, 60.0, 1e-4, 30)
                value += weights["self_collision"] * float(loss[0] + 1.0)
                slope = slope + weights["self_collision"] * rise[0] * gradient[0, self.task.problem.core.variables]
        if weights["manipulability"] > 0.0:
            value, slope = self._with_manipulability(x, value, slope)
        return value, slope

    def _with_manipulability(self, x: np.ndarray, value: float, slope: np.ndarray) -> tuple[float, np.ndarray]:
        stream, step = self.stream, 1e-5
        steps = self.task.full(np.vstack([x, x + step * np.eye(len(x)), x - step * np.eye(len(x))]))
        measures = np.array([stream.measure(q) for q in steps]) / stream.mean_manipulability
        loss, rise = groove(np.minimum(measures[:1] - 1.0, 0.0), 0.5, 0.1)
        weight = stream.weights["manipulability"]
        change = (measures[1 : len(x) + 1] - measures[len(x) + 1 :]) / (2.0 * step)
        return value + weight * float(loss[0]), slope + weight * float(rise[0]) * change
