"""From goals to postures: several that meet them, for the next stage to choose from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from memetik.solve.problem import Problem


@dataclass(frozen=True, slots=True, eq=False)
class PostureResult:
    """Postures (K, dof) that meet the goals; where there is none, inverse kinematics' own `reason` and `detail`."""

    postures: np.ndarray
    reason: str
    detail: str
    tried: str

    def __bool__(self) -> bool:
        return len(self.postures) > 0


def find_postures(
    problem: Problem, *targets: Any, start: np.ndarray, most: int = 6, timeout: float = 0.1, rng: int = 0
) -> PostureResult:
    """Up to `most` distinct postures that meet a problem's goals, nearest to the start first.

    The search stops early when it keeps finding the same ones. timeout: seconds.
    """
    quick = problem.solve(*targets, seed=start, timeout=timeout, rng=rng)
    if not quick.success:
        misses = (
            f"{goal} misses by {value:.3g} ({label})"
            for goal, parts in quick.errors.items()
            for label, value in parts.items()
            if value > 1e-4
        )
        detail = "The best posture found: " + ("; ".join(misses) or "meets the goals, but is not valid") + "."
        line = f"inverse kinematics: none after {quick.time * 1e3:.1f} ms ({quick.reason})"
        return PostureResult(np.empty((0, problem.robot.dof)), quick.reason, detail, line)
    postures = [quick.q]
    if most > 1:
        # Twice what the first took is worth spending on others; they mostly come cheaply after it. Counted, not timed:
        # the same postures on a machine that has other things to do.
        spare = max(3 * quick.evaluations, SPARE_EVALUATIONS)
        found = problem.solve_all(*targets, seed=start, most=most, timeout=timeout, evaluations=spare, rng=rng)
        for solution in found:
            if np.abs(np.array(postures) - solution.q).max(axis=1).min() > DISTINCT:
                postures.append(solution.q)
    line = f"inverse kinematics: {len(postures)} postures after {quick.time * 1e3:.2f} ms for the first"
    return PostureResult(np.array(postures[:most]), "solved", "", line)


SPARE_EVALUATIONS = 400
"""To look for further postures, at least."""

DISTINCT = 1e-2
"""Radians or metres: postures whose joints all differ by less are one."""
