"""RangedIK by way of relaxed-ik-core: an optimiser for streams of poses, here run until it stands still."""

import os
import tempfile

import numpy as np


class RelaxedIkCore:
    """It starts from the configuration in its settings' file, so that each search makes a new file, and takes up to 60
    steps. Its weighted losses leave errors of tenths of millimetres: it rarely meets tight tolerances."""

    package = "relaxed-ik-core"
    STEPS = 60

    def prepare(self, task):
        from relaxed_ik_lib import RelaxedIK

        self.make, self.task = RelaxedIK, task
        self.folder = tempfile.TemporaryDirectory()
        self.urdf = os.path.join(self.folder.name, "chain.urdf")
        with open(self.urdf, "w") as file:
            file.write(task.urdf)

    def solve(self, target, seed, timeout):
        return self.task.restarted(lambda start: self.search(target, start), seed, timeout)

    def search(self, target, start):
        solver, last = self.make(self.settings(start)), None
        # Its quaternions have w first.
        position, quaternion = target[:3, 3].copy(), np.roll(self.task.quaternion(target[:3, :3]), 1)
        for step in range(1, self.STEPS + 1):
            q = np.asarray(solver.solve(position, quaternion)[0], dtype=float)
            if self.task.reached(self.pose(q), target):
                return q, step
            if last is not None and np.abs(q - last).max() < 1e-9:
                return None, step
            last = q
        return None, self.STEPS

    def settings(self, start):
        path = os.path.join(self.folder.name, "settings.yaml")
        with open(path, "w") as file:
            file.write(
                f"urdf: {self.urdf}\nlink_radius: 0.05\nbase_links:\n  - {self.task.base}\n"
                f"ee_links:\n  - {self.task.tip}\nstarting_config: {[float(v) for v in start]}\n"
            )
        return path

    def pose(self, q):
        """Of the chain's tip: a product of rotations about the joints' axes at the zero configuration."""
        pose = np.eye(4)
        for axis, point, value in zip(self.task.axes, self.task.points, q, strict=True):
            pose = pose @ turn_about(axis, point, value)
        return pose @ self.task.tip_pose

    def close(self):
        self.folder.cleanup()


def turn_about(axis, point, angle):
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    pose = np.eye(4)
    pose[:3, :3] = np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * (cross @ cross)
    pose[:3, 3] = point - pose[:3, :3] @ point
    return pose
