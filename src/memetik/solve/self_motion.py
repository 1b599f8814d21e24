"""The self-motion of a solution: all configurations that the hard goals join to it, where they leave one freedom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from memetik import _core
from memetik.errors import InvalidInputError
from memetik.goals.base import HARD
from memetik.solve.inputs import Array, Inputs
from memetik.solve.options import SolveOptions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memetik.solve.solution import Solution

RESIDUAL = 1e-9
"""Weighted residual (metres, radians) up to which a configuration counts as satisfying the hard goals."""

RANK = 1e-6
"""Singular values of the goals' Jacobian below this share of the largest count as zero."""


@dataclass(frozen=True, slots=True)
class SelfMotion:
    """A curve of configurations that all satisfy the hard goals.

    q        (M, dof), in order along the curve; neighbours are at most `step` apart.
    s        (M,): signed length along the curve from the solution, in the norm of the joints that move; it grows.
    free     (M,): which configurations are free of collisions, by exact geometry; all where there is no scene.
    start    the number of the solution itself.
    closed   whether the curve comes back to where it began; its last configuration is then next to its first.
    ends     what ends it at either side: a joint at its limit, or "singular"; empty where it is closed.
    step     the resolution: a free part shorter than this may be missed.
    """

    q: Array
    s: Array
    free: NDArray[np.bool_]
    start: int
    closed: bool
    ends: tuple[str, ...]
    step: float

    @property
    def free_parts(self) -> list[tuple[float, float]]:
        """The parts of the curve without collision, as first and last `s` of each."""
        edges = np.flatnonzero(np.diff(np.concatenate([[False], self.free, [False]]).astype(int)))
        return [(float(self.s[a]), float(self.s[b - 1])) for a, b in edges.reshape(-1, 2)]

    def at(self, s: float) -> Array:
        """The configuration at a length along the curve, between two of `q`; the nearest end beyond them."""
        after = int(np.clip(np.searchsorted(self.s, s), 1, len(self.s) - 1)) if len(self.s) > 1 else 0
        if after == 0:
            return self.q[0].copy()
        length = float(self.s[after] - self.s[after - 1])
        share = min(max((s - float(self.s[after - 1])) / length, 0.0), 1.0)
        return (1.0 - share) * self.q[after - 1] + share * self.q[after]

    def __len__(self) -> int:
        return len(self.s)


def trace_self_motion(solution: Solution, step: float = 0.02, most: int = 4000) -> SelfMotion:
    """Follows the null space of the hard goals from a solution to both sides: `Solution.self_motion`."""
    if not 1e-4 <= step <= 0.5:
        raise InvalidInputError(f"step is in radians or metres, from 0.0001 to 0.5, not {step!r}.")
    if solution.problem.callbacks:
        raise InvalidInputError("self-motions are traced for the goals of the core, not for goals of your own.")
    curve = _Curve(solution, step)
    forward, end, closed = curve.follow(curve.tangent(curve.origin, None), most)
    backward: list[Array] = []
    ends: tuple[str, ...] = ()
    if not closed:
        backward, other, _ = curve.follow(-curve.tangent(curve.origin, None), most)
        ends = (other, end)
    variables = np.array([*reversed(backward), curve.origin, *forward])
    q = np.tile(solution.q, (len(variables), 1))
    q[:, solution.problem.core.variables] = variables
    lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(variables, axis=0), axis=1))])
    context = solution.problem.collision_context
    if context is None:
        free = np.ones(len(q), dtype=bool)
    else:
        context.snapshot()  # the scene as it is now
        free = ~np.asarray(context.native.collides(q), dtype=bool)
    start = len(backward)
    return SelfMotion(q, lengths - lengths[start], free, start, closed, ends, step)


class _Curve:
    """Where the hard goals of a solution are satisfied, as a curve in the variables."""

    def __init__(self, solution: Solution, step: float):
        problem = solution.problem
        seed = problem.neutral if solution.seed is None else np.array(solution.seed, dtype=float)
        inputs = Inputs(problem, tuple(np.ascontiguousarray(t) for t in solution.targets), seed, solution.base)
        self._bound: _core.BoundProblem = problem.bind(inputs, SolveOptions.checked(problem, {})).bind_core()
        self._names, self._limits, self._step = problem.variables, problem.limits, step
        self._periodic = problem.periodic[problem.core.variables]
        exact = self.corrected(np.array(solution.q[problem.core.variables]))
        if exact is None:
            raise InvalidInputError("the hard goals cannot be met exactly near the solution: it has no self-motion.")
        self.origin = exact

    def tangent(self, x: Array, before: Array | None) -> Array:
        """The unit vector along which the goals do not change, to the side of the one before."""
        _, jacobian = self._residual(x)
        _, values, directions = np.linalg.svd(jacobian)
        rank = int((values > RANK * max(float(values[0]), 1e-12)).sum()) if len(values) else 0
        if rank != len(x) - 1 and before is None:
            raise InvalidInputError(
                f"a self-motion is traced where the hard goals leave one freedom; here they leave {len(x) - rank}"
                + (": hold further joints with fixed=." if rank < len(x) - 1 else ".")
            )
        if rank != len(x) - 1:
            return np.zeros(len(x))
        own = directions[-1]
        return own if before is None or own @ before >= 0.0 else -own

    def follow(self, tangent: Array, most: int) -> tuple[list[Array], str, bool]:
        """Configurations to one side, what ends them, and whether they came back to the origin."""
        x, first, found = self.origin, tangent, list[Array]()
        for _ in range(most):
            following = self._advanced(x, tangent, self._step)
            if following is None:
                return found, "singular", False
            beyond = np.maximum(self._limits.lower - following, following - self._limits.upper)
            if (beyond > 0.0).any():
                joint = int(np.argmax(beyond))
                last = self._to_limit(x, tangent)
                if last is not None:
                    found.append(last)
                return found, f"joint {self._names[joint]!r} at its limit", False
            tangent = self.tangent(following, tangent)
            if not tangent.any():
                return found, "singular", False
            x = following
            if len(found) > 2 and self._distance(x, self.origin) < 0.75 * self._step and tangent @ first > 0.5:
                return found, "", True
            found.append(x)
        return found, f"{most} configurations", False

    def corrected(self, x: Array) -> Array | None:
        """The nearest variables that satisfy the goals, by Gauss and Newton; None where there are none near."""
        for _ in range(12):
            residual, jacobian = self._residual(x)
            if float(np.abs(residual).max(initial=0.0)) <= RESIDUAL:
                return x
            x = x - np.linalg.lstsq(jacobian, residual, rcond=1e-9)[0]
        return None

    def _advanced(self, x: Array, tangent: Array, step: float) -> Array | None:
        for shorter in (1.0, 0.5, 0.25, 0.125):
            found = self.corrected(x + shorter * step * tangent)
            if found is not None and np.linalg.norm(found - x) <= 2.0 * shorter * step:
                return found
        return None

    def _to_limit(self, x: Array, tangent: Array) -> Array | None:
        """The last configuration within limits on the next step, by bisection."""
        low, high, best = 0.0, self._step, None
        for _ in range(30):
            middle = 0.5 * (low + high)
            found = self.corrected(x + middle * tangent)
            if found is not None and (found >= self._limits.lower).all() and (found <= self._limits.upper).all():
                low, best = middle, found
            else:
                high = middle
        return best

    def _distance(self, x: Array, y: Array) -> float:
        difference = x - y
        turns = 2.0 * np.pi * np.round(difference / (2.0 * np.pi))
        return float(np.linalg.norm(np.where(self._periodic, difference - turns, difference)))

    def _residual(self, x: Array) -> tuple[Array, Array]:
        _, _, residual, jacobian = self._bound.evaluate(np.ascontiguousarray(x[None]), HARD, True, True)
        return np.asarray(residual)[0], np.asarray(jacobian)[0]
