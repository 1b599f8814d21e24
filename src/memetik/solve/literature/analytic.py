"""Closed forms: any function from a pose to configurations, filtered by limits and scene, and polished."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from memetik.errors import GoalError, InvalidInputError, MissingExtraError
from memetik.geometry.transforms import inverse
from memetik.robot.robot import Robot
from memetik.solve.literature.serial import check_poses
from memetik.solve.methods.method import PythonMethod
from memetik.solve.methods.parameters import Natural
from memetik.solve.methods.task import SearchTask
from memetik.solve.problem import Problem

FULL_TURN = 2.0 * np.pi


@dataclass(frozen=True)
class Analytic(PythonMethod):
    """Answers of a closed form: IKFast's (R. Diankov, "Automated Construction of Robotic Manipulation Programs",
    Carnegie Mellon University 2010), eaik's (D. Ostermeier, J. Külz, M. Althoff, "Automatic Geometric Decomposition for
    Analytical Inverse Kinematics", 2025), one of your own.

    Each configuration that `function` gives is brought to the turn nearest to the seed that the limits allow, polished
    by a few steps of q <- q - J^+ r, which take away rounding and small errors of the form's parameters, and offered,
    the nearest to the seed first: limits, tolerances and scene decide. A function that gives only some answers, or
    none, is called once: combine it, Cascade([Analytic(f), "memetic"]).

    Serves one Pose goal in the world.

    function  takes the wanted pose (4, 4) of the goal's link, in the frame of the robot's base, and gives
              configurations: (k, n) of the problem's variables, or (k, dof). None, or an empty list, where there is
              none.
    polish    steps at most; zero for none.
    """

    function: Callable[[np.ndarray], Any] | None = None
    polish: Natural = 5
    restarts: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.function):
            raise InvalidInputError(
                "analytic needs the closed form: mk.methods.Analytic(function), with function(pose) giving "
                "configurations; eaik's is mk.methods.eaik_function(robot)."
            )

    def check(self, problem: Problem) -> None:
        check_poses(problem, "analytic")
        wanted = {(term.spec.frame, term.label) for term in problem.terms if term.spec.priority == 0}
        if len(wanted) != 2 or len({frame for frame, _ in wanted}) != 1:
            raise GoalError("analytic serves one Pose goal on one link: use method='memetic' for other goals.")

    def search(self, task: SearchTask, start: np.ndarray) -> None:
        (want,) = task.pose_targets
        pose = inverse(task.problem.robot.base_pose) @ want.pose @ inverse(want.frame)
        assert self.function is not None
        given = self.function(pose)
        task.spend(1)
        try:
            found = [np.array(each, dtype=float).ravel() for each in (() if given is None else given)]
        except (TypeError, ValueError):
            raise InvalidInputError(f"the closed form must give a list of configurations, not {given!r:.60}.") from None
        for x in self._ordered(task, found, start):
            if task.submit_end(self._polished(task, x)):
                return

    def _ordered(self, task: SearchTask, given: list[np.ndarray], start: np.ndarray) -> list[np.ndarray]:
        """Configurations within the limits, on the turn nearest to `start`, the nearest first."""
        core, dof, n = task.problem.core, task.problem.robot.dof, len(start)
        turns = task.problem.periodic[core.variables]
        found = []
        for x in given:
            if x.shape not in ((n,), (dof,)):
                raise InvalidInputError(
                    f"the closed form gave a configuration of {x.size} values; this problem has {n} variables and the "
                    f"robot {dof} joints."
                )
            if not np.isfinite(x).all():
                continue
            x = x if len(x) == n else x[core.variables]
            near = np.where(turns, x - FULL_TURN * np.round((x - start) / FULL_TURN), x)
            # Where the nearest turn is beyond a limit, the one before it may do.
            near = np.where(turns & (near > task.upper + 1e-9), near - FULL_TURN, near)
            near = np.where(turns & (near < task.lower - 1e-9), near + FULL_TURN, near)
            if ((near >= task.lower - 1e-6) & (near <= task.upper + 1e-6)).all():
                found.append(task.clip(near))
        return sorted(found, key=lambda x: float(np.abs(x - start).max()))

    def _polished(self, task: SearchTask, x: np.ndarray) -> np.ndarray:
        if not self.polish:
            task.cost(x)  # the best of them is kept, answer or not
        for _ in range(self.polish):
            _, residuals, jacobian = task.linearized(x)
            if task.is_within(residuals):
                break
            x = task.clip(x - np.linalg.pinv(jacobian, 1e-6) @ residuals)
        return x


def eaik_function(robot: Robot, link: str | None = None) -> Callable[[np.ndarray], np.ndarray]:
    """eaik's closed form of the chain to a link, the robot's tip by default, as `Analytic` takes it.

    For chains of up to six turning joints, a spherical wrist or parallel axes among them.
    """
    try:
        from eaik.pybindings import EAIK  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingExtraError("eaik", "analytic", "this closed form") from None
    link = robot.tip if link is None else link
    fixed, zero = robot.at(np.eye(4)), np.zeros(robot.dof)
    entries, axes, points = [], [], [np.zeros(3)]
    for name in reversed((link, *robot.ancestors(link))):
        joint = robot.parent_joint(name)
        if joint is None or joint.kind == "fixed":
            continue
        if joint.traits.angular != (True,) or joint.mimic is not None:
            raise GoalError(f"eaik serves chains of turning joints; {joint.name!r} is {joint.kind} or follows another.")
        pose = fixed.pose(name, zero)
        entries.append(robot.joint_index(joint.name))
        axes.append(pose[:3, :3] @ np.asarray(joint.axis) / np.linalg.norm(joint.axis))
        points.append(pose[:3, 3])
    tip = fixed.pose(link, zero)
    ways = np.diff(np.vstack([*points, tip[:3, 3]]), axis=0)
    arm = EAIK.Robot(np.array(axes).T, ways.T, tip[:3, :3], [], True)
    columns = np.array(entries)

    def configurations(pose: np.ndarray) -> np.ndarray:
        found = np.array(arm.calculate_IK(pose).Q).reshape(-1, len(columns))
        result = np.tile(robot.neutral, (len(found), 1))
        result[:, columns] = found
        return result

    return configurations
