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
        self.ik = pytracik.ik
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
        answer = self.ik(solver, seed, *target[:3, 3].tolist(), *quaternion(target[:3, :3]))
        return None if answer[0] < 0 else np.array(answer[1:])

    def close(self):
        self.solvers = []


def quaternion(rotation):
    """x, y, z, w: the row of the largest of the four squares, as Shepperd has it."""
    m = rotation
    trace = m[0, 0] + m[1, 1] + m[2, 2]
    squares = (m[0, 0], m[1, 1], m[2, 2], trace)
    k = max(range(4), key=squares.__getitem__)
    if k == 3:
        q = (m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], 1.0 + trace)
    else:
        i, j, n = k, (k + 1) % 3, (k + 2) % 3
        q = [0.0] * 4
        q[i] = 1.0 - trace + 2.0 * m[i, i]
        q[j], q[n] = m[j, i] + m[i, j], m[n, i] + m[i, n]
        q[3] = m[n, j] - m[j, n]
    length = math.sqrt(sum(v * v for v in q))
    return [v / length for v in q]
