"""The options of a solve: fixed joints, bases, predicates, selection, threads, own goals, many goals at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from cases import Case, moved, named, of_solution, robot, without_counts
from cases_goals import MAKERS, Draw

import memetik as mk

EVALUATIONS = 3000


class Level(mk.Goal):
    """Two links are as high as each other; derivatives by differences."""

    links = ("panda_link4", "panda_hand")

    def residual(self, q: np.ndarray, poses: np.ndarray) -> np.ndarray:
        return np.array([poses[0, 2, 3] - poses[1, 2, 3]])


class Together(mk.Goal):
    """Two joints add up to a number; with its derivative."""

    joints = ("panda_joint2", "panda_joint4")

    def residual(self, q: np.ndarray, poses: np.ndarray) -> np.ndarray:
        return np.array([q[0] + q[1] + 1.5])

    def jacobian(self, q: np.ndarray, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.array([[1.0, 1.0]]), np.zeros((1, 0, 6))


def level(q: np.ndarray, poses: np.ndarray, residual: np.ndarray) -> None:
    """What numba compiles for a CompiledGoal."""
    residual[0] = poses[0, 2, 3] - poses[1, 2, 3]


def panda_target(seed: int = 1) -> tuple[Any, np.ndarray, np.ndarray]:
    """The arm, the pose of its tip at a random configuration, and another configuration."""
    arm = robot("panda:panda_arm")
    rng = np.random.default_rng(seed)
    return arm, arm.pose(arm.tip, arm.random(rng)), arm.random(rng)


def pose_with(seed: int = 1, statement: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    """A pose of the panda with these options of the problem and of the solve."""
    arm, target, start = panda_target(seed)
    problem = mk.Problem(arm, [mk.Pose(arm.tip)], **(statement or {}))
    return of_solution(problem.solve(target, **{"seed": start, "evaluations": EVALUATIONS, **options}))


def position_with(statement: dict[str, Any] | None = None, soft: Any = (), **options: Any) -> dict[str, Any]:
    """A position of the panda, which leaves four joints free."""
    arm, target, start = panda_target(3)
    problem = mk.Problem(arm, [mk.Position(arm.tip), *soft], **(statement or {}))
    return of_solution(problem.solve(target[:3, 3], **{"seed": start, "evaluations": EVALUATIONS, **options}))


def with_own_goals(goals: Callable[[], list[Any]]) -> dict[str, Any]:
    arm, _, start = panda_target(5)
    down = mk.AlignAxis("panda_hand", "z", "-z")
    return of_solution(mk.Problem(arm, [down, *goals()]).solve(seed=start, evaluations=600))


def approximate() -> dict[str, Any]:
    arm, target, start = panda_target()
    problem = mk.Problem(arm, [mk.Pose(arm.tip)])
    far = moved(target, (1.5, 0.0, 0.0))
    return of_solution(problem.solve(far, seed=start, evaluations=EVALUATIONS, approximate=True))


def mixture(number: int) -> dict[str, Any]:
    """Several goals at once, all of which hold at one configuration unless one of them is infeasible."""
    name = ("panda:panda_arm", "valkyrie", "mannequin", "wolf", "pr2:right_arm", "chain30")[number % 6]
    d = Draw(name, 1000 + number)
    labels = sorted(set(MAKERS) - {"infeasible", "JointFunction", "Distance-links", "Touch", "AlignAxis-loose"})
    chosen = [labels[int(k)] for k in d.rng.choice(len(labels), 4, replace=False)]
    goals = [goal for label in chosen for goal in MAKERS[label](d)]
    if number % 5 == 4:
        goals += MAKERS["infeasible"](d)
    problem = mk.Problem(d.robot, goals, fixed=[d.robot.joint_names[0]] if number % 3 == 2 else None)
    seed = d.robot.random(d.rng)
    if number % 3 == 2:
        seed[0] = d.q[0]
    return of_solution(problem.solve(seed=seed, evaluations=6000, refine_evaluations=1000, rng=number))


def _options() -> dict[str, Callable[[], dict[str, Any]]]:
    base = mk.transform((0.1, -0.2, 0.3), rpy=(0.1, 0.2, 0.3))
    ready = {"panda_joint4": -2.0, "panda_joint6": 1.5}
    soft = (mk.AvoidLimits(weight=0.2), named("Displacement")(priority=2))
    return {
        "seed-by-names": lambda: position_with(seed=ready),
        "seed-outside-limits": lambda: position_with(seed=np.full(7, 9.0)),
        "fixed-names": lambda: position_with({"fixed": ["panda_joint1", "panda_joint3"]}),
        "fixed-values": lambda: position_with({"fixed": {"panda_joint3": 0.4, "panda_joint5": -0.3}}),
        "fixed-too-many": lambda: pose_with(statement={"fixed": ["panda_joint1", "panda_joint2", "panda_joint4"]}),
        "base": lambda: position_with(base=base),
        "approximate": approximate,
        "attempts": lambda: pose_with(statement={"fixed": ["panda_joint2", "panda_joint4"]}, attempts=3),
        "rng-stream": lambda: pose_with(4, rng=(3, 8)),
        "threads-2": lambda: without_counts(pose_with(6, threads=2)),
        "threads-2-hard": lambda: without_counts(pose_with(1, {"fixed": ["panda_joint2", "panda_joint4"]}, threads=2)),
        "no-closed-form": lambda: pose_with(7, method=mk.methods.Memetic(closed_form=False)),
        "population": lambda: pose_with(8, method=mk.methods.Memetic(population=16)),
        "valid": lambda: position_with(valid=lambda q: q[0] > 0.5 and q[3] < -1.0),
        "valid-never": lambda: position_with(valid=lambda q: False, evaluations=800),
        "select-nearest": lambda: pose_with(9, select="nearest"),
        "select-manipulability": lambda: pose_with(10, select="manipulability"),
        "select-preference": lambda: position_with(soft=soft, select="preference"),
        "soft": lambda: position_with(soft=soft, refine_evaluations=2000),
        "soft-threads-2": lambda: without_counts(position_with(soft=soft, refine_evaluations=2000, threads=2)),
        "soft-default-bound": lambda: position_with(soft=soft),
        "exact-start": lambda: position_with(seed=panda_target(3)[0].random(np.random.default_rng(3))),
        "no-evaluations": lambda: pose_with(evaluations=0),
        "own-goal": lambda: with_own_goals(lambda: [Level()]),
        "own-goal-with-derivative": lambda: with_own_goals(lambda: [Together(), Level(priority=1)]),
        "dict-of-targets": dict_of_targets,
        "weights-and-priorities": weights_and_priorities,
    }


def dict_of_targets() -> dict[str, Any]:
    arm, target, start = panda_target(11)
    goals = [mk.Position(arm.tip, name="place"), mk.AlignAxis(arm.tip, "z", name="down")]
    targets = {"down": target[:3, 2], "place": target[:3, 3]}
    return of_solution(mk.Problem(arm, goals).solve(targets, seed=start, evaluations=EVALUATIONS))


def weights_and_priorities() -> dict[str, Any]:
    arm, target, start = panda_target(12)
    goals = [
        mk.Position(arm.tip, target[:3, 3], weight=3.0, tolerance=1e-3),
        mk.AlignAxis(arm.tip, "z", "-z", priority=1, weight=0.5),
        mk.LookAt("panda_link5", "y", (1.0, 0.0, 0.5), priority=2, loss=mk.Huber(0.1)),
        mk.JointValue("panda_joint7", (-math.pi / 4, math.pi / 4), priority=3),
    ]
    solution = mk.Problem(arm, goals).solve(seed=start, evaluations=EVALUATIONS, refine_evaluations=1500)
    return of_solution(solution)


def compiled() -> list[Any]:
    return [mk.CompiledGoal(level, rows=1, link_names=["panda_link4", "panda_hand"])]


def cases() -> Iterator[Case]:
    for label, run in _options().items():
        yield Case(f"options/{label}", run)
    yield Case("options/compiled-goal", lambda: with_own_goals(compiled), needs=("numba",))
    for number in range(24):
        yield Case(f"options/mixture-{number}", lambda number=number: mixture(number), core=True)
