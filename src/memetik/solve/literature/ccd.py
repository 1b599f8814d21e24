"""Cyclic coordinate descent: one joint at a time, each to its best."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from memetik.solve.literature.serial import Frames, check_poses, point_pull, prismatic_variables, rotation_pull
from memetik.solve.methods.method import PythonMethod
from memetik.solve.methods.parameters import Count, Range, Share
from memetik.solve.methods.task import PoseTarget, SearchTask
from memetik.solve.problem import Problem

CLOSE = 1e-8
"""Sum of squares below which a configuration is offered as an answer."""


@dataclass(frozen=True)
class Ccd(PythonMethod):
    """Cyclic coordinate descent (Wang and Chen 1991; in animation Welman 1993).

    From the tip to the base, each joint moves to where  sum_k |p_k - t_k|^2 + s^2 / 2 |R_k - T_k|_F^2  of all wanted
    frames k is least. About an axis that sum is  A - B cos(angle) - C sin(angle), so the best angle is atan2(C, B); at
    a limit the better end is taken. Slides go to the mean of what the frames ask for.

    Serves Pose, Position and Orientation goals in the world, several of them too. Converges linearly: a good start for
    others, seldom 1e-5 by itself.

    rotation_scale  s: metres that a radian counts.
    sweeps          rounds over all joints.
    progress        share of the sum that `patience` sweeps should take away; less of it ends a run.
    patience        see `progress`.
    """

    rotation_scale: Annotated[float, Range(1e-6, 1e3)] = 0.3
    sweeps: Count = 400
    progress: Share = 1e-3
    patience: Count = 10

    def check(self, problem: Problem) -> None:
        check_poses(problem, "ccd")

    def search(self, task: SearchTask, start: np.ndarray) -> None:
        frames = Frames(task, task.pose_targets, prismatic_variables(task.problem))
        x, reference = np.array(start), np.inf
        order = outermost_first(task.problem)
        for sweep in range(self.sweeps):
            frames.at(x)
            error = self._sum(frames)
            if error < CLOSE and task.submit_end(x):
                return
            if sweep % self.patience == 0:
                if error > (1.0 - self.progress) * reference:
                    return
                reference = error
            for j in order:
                value = self._best(frames, j, x[j], task.lower[j], task.upper[j])
                frames.move(j, value - x[j])
                x[j] = value

    def _sum(self, frames: Frames) -> float:
        total = 0.0
        for k, want in enumerate(frames.wanted):
            if want.position is not None:
                total += float(((frames.position[k] - want.position) ** 2).sum())
            if want.rotation is not None:
                total += 0.5 * self.rotation_scale**2 * float(((frames.rotation[k] - want.rotation) ** 2).sum())
        return total

    def _best(self, frames: Frames, j: int, value: float, lower: float, upper: float) -> float:
        if frames.prismatic[j]:
            pulls = [
                frames.axis[k, j] @ (want.position - frames.position[k])
                for k, want in enumerate(frames.wanted)
                if want.position is not None and frames.axis[k, j].any()
            ]
            return float(np.clip(value + np.mean(pulls), lower, upper)) if pulls else value
        cosine = sine = 0.0
        for k, want in enumerate(frames.wanted):
            if frames.axis[k, j].any():
                c, s = self._pull(frames, k, j, want)
                cosine, sine = cosine + c, sine + s
        if cosine == 0.0 and sine == 0.0:
            return value
        return best_turn(value, cosine, sine, lower, upper)

    def _pull(self, frames: Frames, k: int, j: int, want: PoseTarget) -> tuple[float, float]:
        """B and C of A - B cos(angle) - C sin(angle), the frame's share of half the sum."""
        axis, pulls = frames.axis[k, j], []
        if want.position is not None:
            anchor = frames.anchor[k, j]
            pulls.append((1.0, point_pull(axis, frames.position[k] - anchor, want.position - anchor)))
        if want.rotation is not None:
            pulls.append((self.rotation_scale**2, rotation_pull(axis, frames.rotation[k], want.rotation)))
        return sum(weight * pull[0] for weight, pull in pulls), sum(weight * pull[1] for weight, pull in pulls)


def best_turn(value: float, cosine: float, sine: float, lower: float, upper: float) -> float:
    """The joint value within limits where  cosine cos(value' - value) + sine sin(value' - value)  is largest."""
    best = value + math.atan2(sine, cosine)
    for turn in (0.0, 2.0 * math.pi, -2.0 * math.pi):
        if lower <= best + turn <= upper:
            return best + turn
    return max((lower, upper), key=lambda end: cosine * math.cos(end - value) + sine * math.sin(end - value))


def outermost_first(problem: Problem) -> list[int]:
    """Indices of the variables, those farthest from the base first."""
    tree = problem.robot.tree
    first_axis = [int(np.flatnonzero(tree.variables == v)[0]) for v in problem.core.variables]
    return sorted(range(len(first_axis)), key=lambda k: -first_axis[k])  # parents come before their children
