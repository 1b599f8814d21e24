"""All distinct solutions of a problem, and arms whose inverse kinematics has a closed form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from cases import Case, of_solution, of_solutions, robot
from cases_scenes import shelf_scene

import memetik as mk

EVALUATIONS = 6000

CLOSED = ("ur3", "ur5", "ur10", "ur5e", "racer5", "racer3", "kr120", "fanuc_m10ia", "powerball", "iiwa14",
          "panda:panda_arm")  # fmt: skip


def distinct(name: str, goals: Any = None, statement: Any = None, **options: Any) -> dict[str, Any]:
    """The solutions of a pose of the tip."""
    arm = robot(name)
    rng = np.random.default_rng(91)
    target, start = arm.pose(arm.tip, arm.random(rng)), arm.random(rng)
    problem = mk.Problem(arm, [mk.Pose(arm.tip, target)] if goals is None else goals(arm, target), **(statement or {}))
    return of_solutions(problem.solve_all(seed=start, **{"evaluations": EVALUATIONS, **options}))


def closed_form(name: str) -> dict[str, Any]:
    """Poses within a turn, from a start beside the solution."""
    arm = robot(name)
    rng = np.random.default_rng(92)
    lower, upper = np.maximum(arm.lower, -np.pi), np.minimum(arm.upper, np.pi)
    q = rng.uniform(lower, upper)
    problem = mk.Problem(arm, [mk.Pose(arm.tip)])
    return of_solution(problem.solve(arm.pose(arm.tip, q), seed=arm.clip(q + 0.3), evaluations=2000))


def cases() -> Iterator[Case]:
    for name in CLOSED:
        label = name.partition(":")[0]
        yield Case(f"all/closed-form-{label}", lambda name=name: closed_form(name), core=True)
    for name in ("ur5", "ur10", "iiwa14", "panda:panda_arm", "racer5", "katana300", "elise"):
        label = name.partition(":")[0]
        yield Case(f"all/distinct-{label}", lambda name=name: distinct(name), core=True)
    arm = "panda:panda_arm"
    searched = mk.methods.Memetic(closed_form=False)
    runs = {
        "searched": lambda: distinct("ur5", method=searched),
        "most": lambda: distinct("ur10", most=3),
        "coarse": lambda: distinct(arm, distinct=0.5),
        "valid": lambda: distinct("ur5", valid=lambda q: q[2] > 0.0),
        "stream": lambda: distinct("ur10", rng=(2, 5)),
        "position": lambda: distinct(arm, lambda a, t: [mk.Position(a.tip, t[:3, 3])], evaluations=1500, most=8),
        "jac": lambda: distinct("ur5", method="jac"),
    }
    for label, run in runs.items():
        yield Case(f"all/{label}", run, core=True)
    scene = {"scene": shelf_scene()}
    yield Case("all/scene", lambda: distinct("ur10", statement=scene), needs=("coal",))
    yield Case("all/slsqp", lambda: distinct("ur5", method="slsqp", evaluations=800), blas=True)
