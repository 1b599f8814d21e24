"""EAIK: closed-form solutions of arms with six turning joints."""

import numpy as np


class Eaik:
    """All solutions at once; the nearest to the seed that is exact and within limits comes first, and those that follow
    if the same target is asked again."""

    package = "eaik"

    def prepare(self, task):
        from eaik.pybindings import EAIK

        if len(task.joints) != 6 or "prismatic" in task.kinds:
            raise NotImplementedError("it solves arms of six turning joints only")
        ways = np.diff(np.vstack([np.zeros(3), task.points, task.tip_pose[:3, 3]]), axis=0)
        self.arm = EAIK.Robot(task.axes.T, ways.T, task.tip_pose[:3, :3], [], True)
        self.task, self.last, self.left = task, None, []

    def solve(self, target, seed, timeout):
        if self.last is None or not np.array_equal(target, self.last):
            answer = self.arm.calculate_IK(target)
            found = [self.within(q, seed) for q, near in zip(answer.Q, answer.is_LS, strict=True) if not near]
            found = [q for q in found if q is not None]
            self.left = sorted(found, key=lambda q: -np.abs(q - seed).max())
            self.last = target
        return self.left.pop() if self.left else None

    def within(self, q, seed):
        """The configuration with full turns added, as near to the seed as its limits allow; None where they do not."""
        turns = np.round((seed - q) / (2 * np.pi))
        q = q + 2 * np.pi * turns
        q = np.where(q < self.task.lower, q + 2 * np.pi, np.where(q > self.task.upper, q - 2 * np.pi, q))
        return q if (q >= self.task.lower).all() and (q <= self.task.upper).all() else None

    def close(self):
        self.arm = None
