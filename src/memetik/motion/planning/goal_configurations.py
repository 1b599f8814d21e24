"""From goals to configurations: several that meet them, for the next stage to choose from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from memetik._moved import serve_old_names

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from memetik.solve.options import MethodLike
    from memetik.solve.problem import Problem


SPARE_EVALUATIONS = 400
"""To look for further configurations, at least."""

DISTINCT = 1e-2
"""Radians or metres: configurations whose joints all differ by less are one."""


@dataclass(frozen=True, slots=True, eq=False)
class ConfigurationResult:
    """Configurations (K, dof) that meet the goals; where there is none, inverse kinematics' own `reason` and
    `detail`."""

    configurations: np.ndarray
    reason: str
    detail: str
    tried: str

    def __bool__(self) -> bool:
        return len(self.configurations) > 0


def find_configurations(
    problem: Problem,
    *targets: ArrayLike,
    start: np.ndarray,
    most: int = 6,
    timeout: float = 0.1,
    rng: int = 0,
    method: MethodLike = "memetic",
) -> ConfigurationResult:
    """Up to `most` distinct configurations that meet a problem's goals, nearest to the start first.

    The search stops early when it keeps finding the same ones. timeout: seconds. method: of inverse kinematics, as for
    Problem.solve.
    """
    quick = problem.solve(*targets, seed=start, timeout=timeout, rng=rng, method=method)
    if not quick.success:
        misses = (
            f"{goal} misses by {value:.3g} ({label})"
            for goal, parts in quick.errors.items()
            for label, value in parts.items()
            if value > 1e-4
        )
        detail = "The best configuration found: " + ("; ".join(misses) or "meets the goals, but is not valid") + "."
        line = f"inverse kinematics: none after {quick.time * 1e3:.1f} ms ({quick.reason})"
        return ConfigurationResult(np.empty((0, problem.robot.dof)), quick.reason, detail, line)
    configurations = [quick.q]
    if most > 1:
        # Twice what the first took is worth spending on others; they mostly come cheaply after it. Counted, not timed:
        # the same configurations on a machine that has other things to do.
        spare = max(3 * quick.evaluations, SPARE_EVALUATIONS)
        found = problem.solve_all(
            *targets, seed=start, most=most, timeout=timeout, evaluations=spare, rng=rng, method=method
        )
        for solution in found:
            if np.abs(np.array(configurations) - solution.q).max(axis=1).min() > DISTINCT:
                configurations.append(solution.q)
    line = f"inverse kinematics: {len(configurations)} configurations after {quick.time * 1e3:.2f} ms for the first"
    return ConfigurationResult(np.array(configurations[:most]), "solved", "", line)


serve_old_names(__name__)
