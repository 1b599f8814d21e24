"""The Robotics Toolbox for Python: its Levenberg-Marquardt search in C++, restarted at random."""

import numpy as np


class RoboticsToolbox:
    """ETS.ik_LM with its defaults (Chan's damping, 30 iterations a search) in rounds of a few searches, as it knows no
    timeout. The chain is given in the shortest form it knows. Its tolerance is on half the squared norm of the errors.
    """

    package = "roboticstoolbox-python"
    SEARCHES = 8

    def prepare(self, task):
        from roboticstoolbox import ET, ETS

        if "prismatic" in task.kinds:
            raise NotImplementedError("this adapter builds chains of turning joints only")
        steps, before = [], np.eye(4)
        lower, upper = np.maximum(task.lower, -2 * np.pi), np.minimum(task.upper, 2 * np.pi)
        for axis, point, low, high in zip(task.axes, task.points, lower, upper, strict=True):
            frame = frame_of(axis, point)
            steps += [ET.SE3(np.linalg.inv(before) @ frame), ET.Rz(qlim=np.array([low, high]))]
            before = frame
        steps.append(ET.SE3(np.linalg.inv(before) @ task.tip_pose))
        self.ets, self.task = ETS(steps), task
        self.tolerance = 0.5 * min(task.position_tolerance, task.rotation_tolerance) ** 2

    def solve(self, target, seed, timeout):
        searches = 0
        for start in self.task.starts(seed, timeout):
            answer = self.ets.ik_LM(target, q0=start, tol=self.tolerance, slimit=self.SEARCHES)
            searches += answer.searches
            if answer.success:
                return {"q": answer.q, "restarts": max(searches - 1, 0)}
        return {"q": None, "restarts": max(searches - 1, 0)}

    def close(self):
        pass


def frame_of(axis, point):
    """A pose at a point whose z axis is the joint's."""
    x = np.cross(np.eye(3)[np.argmin(np.abs(axis))], axis)
    x /= np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3, :3] = np.column_stack([x, np.cross(axis, x), axis])
    pose[:3, 3] = point
    return pose
