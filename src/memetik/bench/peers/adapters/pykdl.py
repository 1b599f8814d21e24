"""Orocos KDL by way of PyKDL: its Levenberg-Marquardt search, restarted at random."""

import math

import numpy as np


class PyKdl:
    """ChainIkSolverPos_LMA. It knows no limits: answers are turned into them by whole turns, or dropped.

    Its weights of rotations are small by default, so that the bound on its weighted error is a hundredth of what is
    asked; every answer is checked before it is claimed.
    """

    def prepare(self, task):
        import PyKDL as kdl

        chain, before = kdl.Chain(), np.zeros(3)
        for name, kind, axis, point in zip(task.joints, task.kinds, task.axes, task.points, strict=True):
            way = kdl.Vector(*(point - before))
            kind = kdl.Joint.TransAxis if kind == "prismatic" else kdl.Joint.RotAxis
            joint = kdl.Joint(name, way, kdl.Vector(*axis), kind)
            chain.addSegment(kdl.Segment(name, joint, kdl.Frame(kdl.Rotation.Identity(), way)))
            before = point
        tip = np.array(task.tip_pose)
        tip[:3, 3] -= before
        chain.addSegment(kdl.Segment("tip", kdl.Joint("fixed", kdl.Joint.Fixed), self.frame(kdl, tip)))
        epsilon = 0.01 * min(task.position_tolerance, task.rotation_tolerance)
        self.kdl, self.chain, self.task = kdl, chain, task
        self.solver = kdl.ChainIkSolverPos_LMA(chain, epsilon, 100)
        self.forward = kdl.ChainFkSolverPos_recursive(chain)

    def solve(self, target, seed, timeout):
        return self.task.restarted(lambda start: self.search(target, start), seed, timeout)

    def search(self, target, start):
        kdl, count = self.kdl, len(start)
        start_array, answer, reached = kdl.JntArray(count), kdl.JntArray(count), kdl.Frame()
        for k in range(count):
            start_array[k] = float(start[k])
        if self.solver.CartToJnt(start_array, self.frame(kdl, target), answer) < 0:
            return None, None
        self.forward.JntToCart(answer, reached)
        pose = np.array([[*(reached.M[i, j] for j in range(3)), reached.p[i]] for i in range(3)])
        q = np.array([answer[k] for k in range(count)])
        return self.within(q) if self.task.reached(pose, target) else None, None

    def within(self, q):
        """The configuration with full turns added where a joint is out of its limits; None where that is not enough."""
        turning = np.array([kind != "prismatic" for kind in self.task.kinds])
        low, high = self.task.lower, self.task.upper
        below, above = turning & (q < low), turning & (q > high)
        q = q.copy()
        q[below] += 2.0 * math.pi * np.ceil((low[below] - q[below]) / (2.0 * math.pi))
        q[above] -= 2.0 * math.pi * np.ceil((q[above] - high[above]) / (2.0 * math.pi))
        return q if (q >= low).all() and (q <= high).all() else None

    @staticmethod
    def frame(kdl, pose):
        return kdl.Frame(kdl.Rotation(*np.asarray(pose)[:3, :3].ravel().tolist()), kdl.Vector(*pose[:3, 3].tolist()))

    def close(self):
        self.solver = self.forward = self.chain = None
