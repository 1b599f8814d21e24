"""TRAC-IK by way of pytracik: Newton steps and sequential quadratic programming race in two threads."""

import math

import numpy as np


class PyTracIk:
    """Its mode "Speed", called below its Python class, which spends time on converting rotations.

    It takes its timeout when it is made, hence one for each of some fractions of the time given. TRAC-IK compares its
    epsilon with each component of the error, our tolerance bounds the norm of three.
    """

    package = "pytracik"

    def prepare(self, task):
        import pytracik

        if "prismatic" in task.kinds:
            raise NotImplementedError("its chains have turning joints only")
        epsilon = min(task.position_tolerance, task.rotation_tolerance) / math.sqrt(3.0)
        self.ik, self.task = pytracik.ik, task
        self.solvers = [
            (task.timeout * share, pytracik.TRAC_IK(task.base, task.tip, task.urdf, task.timeout * share, epsilon,
                                                    pytracik.SolveType.Speed))
            for share in (0.0625, 0.125, 0.25, 0.5, 1.0)
        ]  # fmt: skip

        # It misreads the limits of some descriptions.
        largest = float(np.finfo(np.float32).max)
        lower, upper = np.maximum(task.lower, -largest).tolist(), np.minimum(task.upper, largest).tolist()
        for _, solver in self.solvers:
            pytracik.set_joint_limits(solver, lower, upper)

    def solve(self, target, seed, timeout):
        solver = next((s for limit, s in self.solvers if limit >= 0.999 * timeout), self.solvers[-1][1])
        answer = self.ik(solver, seed, *target[:3, 3].tolist(), *self.task.quaternion(target[:3, :3]))
        return None if answer[0] < 0 else np.array(answer[1:])

    def close(self):
        self.solvers = []
