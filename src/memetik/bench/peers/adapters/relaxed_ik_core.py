"""RangedIK by way of relaxed-ik-core: an optimiser for streams of poses, here run until it stands still."""

import os
import tempfile

import numpy as np


class RelaxedIkCore:
    """It starts from the posture in its settings' file, so that each search makes a new one; a search takes up to 60
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
        evaluations = searches = 0
        position, quaternion = target[:3, 3].copy(), quaternion_of(target[:3, :3])
        for start in self.task.starts(seed, timeout):
            searches += 1
            solver = self.make(self.settings(start))
            last = None
            for _ in range(self.STEPS):
                q = np.asarray(solver.solve(position, quaternion)[0], dtype=float)
                evaluations += 1
                if self.holds(q, target):
                    return {"q": q, "evaluations": evaluations, "restarts": searches - 1}
                if last is not None and np.abs(q - last).max() < 1e-9:
                    break
                last = q
        return {"q": None, "evaluations": evaluations, "restarts": searches - 1}

    def settings(self, start):
        path = os.path.join(self.folder.name, "settings.yaml")
        with open(path, "w") as file:
            file.write(
                f"urdf: {self.urdf}\nlink_radius: 0.05\nbase_links:\n  - {self.task.base}\n"
                f"ee_links:\n  - {self.task.tip}\nstarting_config: {[float(v) for v in start]}\n"
            )
        return path

    def holds(self, q, target):
        """Whether the chain reaches the target: a product of turns about the joints' axes at the zero posture."""
        pose = np.eye(4)
        for axis, point, value in zip(self.task.axes, self.task.points, q, strict=True):
            pose = pose @ turn_about(axis, point, value)
        pose = pose @ self.task.tip_pose
        away = np.linalg.norm(pose[:3, 3] - target[:3, 3])
        chord = np.linalg.norm(pose[:3, :3] - target[:3, :3]) / np.sqrt(2.0)
        return away < 0.9 * self.task.position_tolerance and chord < 0.9 * self.task.rotation_tolerance

    def close(self):
        self.folder.cleanup()


def turn_about(axis, point, angle):
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    pose = np.eye(4)
    pose[:3, :3] = np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * (cross @ cross)
    pose[:3, 3] = point - pose[:3, :3] @ point
    return pose


def quaternion_of(rotation):
    """w, x, y, z: the eigenvector of the largest eigenvalue of a symmetric matrix (Bar-Itzhack)."""
    m = rotation
    k = np.array([
        [m[0, 0] - m[1, 1] - m[2, 2], m[1, 0] + m[0, 1], m[2, 0] + m[0, 2], m[2, 1] - m[1, 2]],
        [m[1, 0] + m[0, 1], m[1, 1] - m[0, 0] - m[2, 2], m[2, 1] + m[1, 2], m[0, 2] - m[2, 0]],
        [m[2, 0] + m[0, 2], m[2, 1] + m[1, 2], m[2, 2] - m[0, 0] - m[1, 1], m[1, 0] - m[0, 1]],
        [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], m[0, 0] + m[1, 1] + m[2, 2]],
    ])  # fmt: skip
    return np.roll(np.linalg.eigh(k)[1][:, -1], 1)
