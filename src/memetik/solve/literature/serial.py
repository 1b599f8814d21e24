"""What methods of computer animation see of a robot: joints as pure turns or slides, frames with wanted poses."""

from __future__ import annotations

import numpy as np

from memetik.errors import GoalError
from memetik.geometry.transforms import rotation_about
from memetik.goals.base import HARD
from memetik.solve.methods.task import PoseTarget, SearchTask, is_pose_term
from memetik.solve.problem import Problem


def check_poses(problem: Problem, name: str) -> None:
    """Refuses hard goals that are more than positions and rotations of links in the world, and coupled joints."""
    for term in problem.terms:
        if term.spec.priority == HARD and not is_pose_term(term.spec):
            raise GoalError(
                f"{name} serves positions and rotations of links in the world; goal "
                f"{problem.goal_names[term.spec.goal]!r} is something else: use method='memetic'."
            )
    tree = problem.robot.tree
    for variable in problem.core.variables:
        axes = tree.variables == variable
        if axes.sum() > 1 or np.abs(np.abs(tree.multipliers[axes]) - 1.0).any():
            raise GoalError(
                f"{name} turns joints one by one; {problem.robot.joint_names[variable]!r} has others that follow it: "
                "use method='memetic'."
            )


class Frames:
    """The wanted frames of a task as they are at a configuration, and the axes that move them.

    position, rotation  (k, 3), (k, 3, 3) of the k wanted frames in the world.
    axis                (k, n, 3): the direction of variable j for frame k in the world, zero where it does not move it.
    anchor              (k, n, 3): a point on that axis.
    """

    def __init__(self, task: SearchTask, wanted: tuple[PoseTarget, ...], prismatic: np.ndarray):
        self.task, self.wanted, self.prismatic = task, wanted, prismatic
        self.columns = np.array(task.problem.core.variables)

    def at(self, x: np.ndarray) -> None:
        """Looks at a configuration: one evaluation."""
        self.task.cost(x)
        robot, q = self.task.problem.robot, self.task.full(x)
        positions, rotations, axes, anchors = [], [], [], []
        for want in self.wanted:
            pose, jacobian = robot.pose_and_jacobian(want.link, q, want.frame[:3, 3])
            rotation = pose[:3, :3] @ want.frame[:3, :3]
            position = (pose @ want.frame)[:3, 3]
            linear, angular = jacobian[:3, self.columns].T, jacobian[3:, self.columns].T
            positions.append(position)
            rotations.append(rotation)
            axes.append(np.where(self.prismatic[:, None], linear, angular))
            # a x (p - c) = v gives the part of p - c across the axis: v x a.
            anchors.append(position - np.cross(linear, angular))
        self.position, self.rotation = np.array(positions), np.array(rotations)
        self.axis, self.anchor = np.array(axes), np.array(anchors)

    def move(self, j: int, change: float) -> None:
        """Turns or slides the frames as variable j does; axes that come before j in the chain stay as they are."""
        for k in range(len(self.wanted)):
            axis = self.axis[k, j]
            if not axis.any():
                continue
            if self.prismatic[j]:
                self.position[k] += change * axis
                continue
            turn = rotation_about(axis.tolist(), change)
            self.position[k] = self.anchor[k, j] + turn @ (self.position[k] - self.anchor[k, j])
            self.rotation[k] = turn @ self.rotation[k]


def prismatic_variables(problem: Problem) -> np.ndarray:
    """(n,): whether a variable slides."""
    tree = problem.robot.tree
    return np.array([bool(tree.prismatic[tree.variables == v].any()) for v in problem.core.variables])


def point_pull(axis: np.ndarray, arm: np.ndarray, target: np.ndarray) -> tuple[float, float]:
    """B and C of |R(angle) arm - target|^2 / 2 = A - B cos(angle) - C sin(angle)."""
    (x, y, z), (a, b, c), (u, v, w) = axis.tolist(), arm.tolist(), target.tolist()
    cosine = a * u + b * v + c * w - (x * a + y * b + z * c) * (x * u + y * v + z * w)
    return cosine, x * (b * w - c * v) + y * (c * u - a * w) + z * (a * v - b * u)


def rotation_pull(axis: np.ndarray, rotation: np.ndarray, target: np.ndarray) -> tuple[float, float]:
    """B and C of |R(angle) rotation - target|_F^2 / 4 = A - B cos(angle) - C sin(angle)."""
    product = 0.5 * rotation @ target.T
    (a, b, c), (d, e, f), (g, h, i) = product.tolist()
    x, y, z = axis.tolist()
    along = x * (a * x + b * y + c * z) + y * (d * x + e * y + f * z) + z * (g * x + h * y + i * z)
    return a + e + i - along, x * (f - h) + y * (g - c) + z * (b - d)
