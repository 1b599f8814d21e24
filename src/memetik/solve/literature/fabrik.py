"""FABRIK: points of a chain reach forward and backward; then the joints follow them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from memetik.errors import GoalError
from memetik.geometry.transforms import rotation_about
from memetik.goals.base import HARD
from memetik.solve.literature.ccd import CLOSE, best_turn
from memetik.solve.literature.serial import check_poses, point_pull, prismatic_variables, rotation_pull
from memetik.solve.methods.method import PythonMethod
from memetik.solve.methods.parameters import Count, Range, Share
from memetik.solve.methods.task import SearchTask
from memetik.solve.problem import Problem


@dataclass(frozen=True)
class Fabrik(PythonMethod):
    """FABRIK (Aristidou and Lasenby 2011) on a chain of hinges.

    The joints' origins p_1 ... p_n and the tip p_{n+1} are joined by segments of fixed length. Backward: the tip goes
    to its target, and each point to its place on the line to the next at the segment's length; where a rotation is
    wanted, the last joint's origin is where the target pose puts it. Forward: the same from the base. Hinges cannot go
    wherever points want: from the base outwards each joint then turns to where
    sum_k weight |p_k - target_k|^2  over the points behind it, and the tip's rotation, is least, within its limits.

    Serves one Pose or Position goal in the world on a chain of turning joints.

    rotation_scale  metres that a radian of the tip counts.
    share           weight of the inner points beside the tip's at first; multiplied with itself every iteration, so
                    that in the end the tip alone counts.
    iterations      rounds of backward, forward and hinges.
    progress, patience
                    share of the error that so many iterations should take away; less of it ends a run.
    """

    rotation_scale: Annotated[float, Range(1e-6, 1e3)] = 0.3
    share: Share = 0.9
    iterations: Count = 400
    progress: Share = 1e-3
    patience: Count = 10

    def check(self, problem: Problem) -> None:
        check_poses(problem, "fabrik")
        if prismatic_variables(problem).any():
            raise GoalError("fabrik serves chains of turning joints, and this one has a joint that slides.")
        hard = [term for term in problem.terms if term.spec.priority == HARD]
        if len({term.spec.frame for term in hard}) > 1 or (hard and all(term.label != "position" for term in hard)):
            raise GoalError("fabrik serves one goal with a position, on one link: use method='ccd' or 'memetic'.")

    def search(self, task: SearchTask, start: np.ndarray) -> None:
        chain, x, share, reference = Chain(task), np.array(start), 1.0, np.inf
        for iteration in range(self.iterations):
            chain.at(x)
            error = chain.error(self.rotation_scale)
            if error < CLOSE and task.submit_end(x):
                return
            if iteration % self.patience == 0:
                if error > (1.0 - self.progress) * reference:
                    return
                reference = error
            targets = chain.reach()
            for j in range(len(chain.order)):
                chain.turn(x, j, targets, share, self.rotation_scale)
            share *= self.share


class Chain:
    """The points of a chain at a configuration.

    points    (m, 3) origins of the joints of the chain, then the tip, in the world.
    axes      (m - 1, 3) of the joints.
    rotation  (3, 3) of the tip.
    """

    def __init__(self, task: SearchTask):
        (self.want,) = task.pose_targets
        self.task, robot = task, task.problem.robot
        variables = task.problem.core.variables
        index = {variable: k for k, variable in enumerate(variables)}
        couplings, joints = robot.tree.couplings, robot.tree.topology.path_to_root(self.want.link)[::-1]
        moving = [j for j in joints if j.name in couplings and couplings[j.name].first in index]
        self.order = [index[couplings[joint.name].first] for joint in moving]
        self.links = [joint.child for joint in moving]
        self.columns = [couplings[joint.name].first for joint in moving]
        self.lower, self.upper = task.lower, task.upper

    def at(self, x: np.ndarray) -> None:
        """Looks at a configuration: one evaluation."""
        self.task.cost(x)
        robot, want, q = self.task.problem.robot, self.want, self.task.full(x)
        pose, jacobian = robot.pose_and_jacobian(want.link, q, want.frame[:3, 3])
        origins = robot.pose(self.links, q)[:, :3, 3]
        tip = pose @ want.frame
        self.points, self.rotation = np.vstack([origins, tip[:3, 3]]), tip[:3, :3]
        self.axes = jacobian[3:, self.columns].T

    def error(self, rotation_scale: float) -> float:
        """Squared distance of the tip from its target, and that of its rotation."""
        return _squares(self.points[-1], self.want.position) + 0.5 * rotation_scale**2 * (
            0.0 if self.want.rotation is None else _squares(self.rotation, self.want.rotation)
        )

    def reach(self) -> np.ndarray:
        """Where the points go: backward from the target, then forward from the base, at the segments' lengths."""
        points, want = self.points.copy(), self.want
        lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
        points[-1] = want.position
        last = len(points) - 2
        if want.rotation is not None:
            in_tip = self.rotation.T @ (self.points[last] - self.points[-1])
            points[last] = want.position + want.rotation @ in_tip
            last -= 1
        for k in range(last, -1, -1):
            points[k] = points[k + 1] + lengths[k] * _direction(points[k] - points[k + 1])
        points[0] = self.points[0]
        for k in range(len(points) - 1):
            points[k + 1] = points[k] + lengths[k] * _direction(points[k + 1] - points[k])
        points[-1] = want.position
        return points

    def turn(self, x: np.ndarray, j: int, targets: np.ndarray, share: float, rotation_scale: float) -> None:
        """Turns joint j of the chain to what its points behind it want, and them with it."""
        axis, anchor, variable = self.axes[j], self.points[j], self.order[j]
        arms, wanted = self.points[j + 1 :] - anchor, targets[j + 1 :] - anchor
        cosine = sine = 0.0
        for k, (arm, target) in enumerate(zip(arms, wanted, strict=True)):
            weight = 1.0 if k == len(arms) - 1 else share
            pull = point_pull(axis, arm, target)
            cosine, sine = cosine + weight * pull[0], sine + weight * pull[1]
        if self.want.rotation is not None:
            pull = rotation_pull(axis, self.rotation, self.want.rotation)
            cosine, sine = cosine + rotation_scale**2 * pull[0], sine + rotation_scale**2 * pull[1]
        value = best_turn(x[variable], cosine, sine, self.lower[variable], self.upper[variable])
        turn = rotation_about(axis.tolist(), value - x[variable])
        x[variable] = value
        self.points[j + 1 :] = anchor + arms @ turn.T
        self.axes[j + 1 :] = self.axes[j + 1 :] @ turn.T
        self.rotation = turn @ self.rotation


def _squares(a: np.ndarray, b: np.ndarray | None) -> float:
    return 0.0 if b is None else float(((a - b) ** 2).sum())


def _direction(vector: np.ndarray) -> np.ndarray:
    length = float(np.linalg.norm(vector))
    return vector / length if length > 1e-12 else np.zeros(3)
