"""MPlib: closed-loop inverse kinematics on Pinocchio, restarted at random."""

import numpy as np


class MpLib:
    """compute_IK_CLIK_JL with steps of 0.5 and 100 iterations; its defaults, 0.1 and 1000, take longer."""

    package = "mplib"

    def prepare(self, task):
        from mplib import Pose
        from mplib.pymp.kinematics.pinocchio import PinocchioModel

        if "continuous" in task.kinds:
            raise NotImplementedError("this adapter takes joints with limits")
        self.pose = Pose
        self.model = PinocchioModel.create_from_urdf_string(task.urdf)
        self.model.set_joint_order(task.joints)
        names = list(self.model.get_link_names())
        self.model.set_link_order(names)
        self.index = names.index(task.tip)
        self.tolerance = 0.5 * min(task.position_tolerance, task.rotation_tolerance)
        self.task = task

    def solve(self, target, seed, timeout):
        goal, task = self.pose(target), self.task

        def search(start):
            q, found, _ = self.model.compute_IK_CLIK_JL(
                self.index, goal, start, task.lower, task.upper, self.tolerance, 100, 0.5
            )
            return np.array(q) if found else None, None

        return task.restarted(search, seed, timeout)

    def close(self):
        self.model = None
