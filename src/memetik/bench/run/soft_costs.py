"""The cost of soft goals at a configuration that anybody may have found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memetik.solve.inputs import Inputs
from memetik.solve.options import SolveOptions
from memetik.solve.problem import Problem

ALL_PRIORITIES = 1000


def soft_cost(problem: Problem, targets: Sequence[np.ndarray], seed: np.ndarray, q: np.ndarray) -> float | None:
    """The cost of all soft goals together, weights and losses applied; None where there are none."""
    if not problem.has_soft_goals:
        return None
    inputs = Inputs.checked(problem, tuple(targets), seed, None)
    stage = problem.bind(inputs, SolveOptions.checked(problem, {})).bind_core()
    entries = [problem.robot.joint_names.index(name) for name in problem.variables]
    variables = np.ascontiguousarray(np.asarray(q, dtype=float)[None, entries])
    return float(stage.evaluate(variables, ALL_PRIORITIES, False, False)[1][0])
