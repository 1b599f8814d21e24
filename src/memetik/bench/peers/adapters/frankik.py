"""frankik: closed-form solutions of Franka's arms, with the last joint given."""

import math
import xml.etree.ElementTree as ElementTree

import numpy as np


class Frankik:
    """ik_full over a grid of the seventh joint, the middle first, then halving what is left. The answers for a target
    come one after the other if it is asked again."""

    package = "frankik"
    GRID = 64

    def prepare(self, task):
        if [name[-7:] for name in task.joints] != [f"_joint{k}" for k in range(1, 8)] or "panda" not in task.joints[0]:
            raise NotImplementedError("it solves Franka's Panda only")
        from frankik import ik_full, q_max_panda, q_min_panda

        self.ik = ik_full
        shares = [int(bin(k)[:1:-1], 2) / 2 ** k.bit_length() for k in range(1, self.GRID)]
        self.grid = [q_min_panda[6] + (q_max_panda[6] - q_min_panda[6]) * share for share in shares]
        self.to_flange = np.linalg.inv(pose_between(task.urdf, "panda_link8", task.tip))
        self.task, self.last, self.answers = task, None, iter(())

    def solve(self, target, seed, timeout):
        if self.last is None or not np.array_equal(target, self.last):
            self.last, self.answers = target, self.all_answers(target @ self.to_flange)
        return next(self.answers, None)

    def all_answers(self, flange):
        for last in self.grid:
            for answer in self.ik(flange, None, last):
                q = np.asarray(answer)
                if not math.isnan(q[0]) and (q >= self.task.lower).all() and (q <= self.task.upper).all():
                    yield q

    def close(self):
        pass


def pose_between(urdf, first, last):
    """The pose of a link in another that it is fixed to."""
    joints = {joint.find("child").get("link"): joint for joint in ElementTree.fromstring(urdf).iter("joint")}
    pose, link = np.eye(4), last
    while link != first:
        if link not in joints:
            raise NotImplementedError(f"it needs the link {first!r} before the tip")
        pose, link = origin(joints[link]) @ pose, joints[link].find("parent").get("link")
    return pose


def origin(joint):
    element = joint.find("origin")
    x, y, z = (float(v) for v in element.get("xyz", "0 0 0").split()) if element is not None else (0, 0, 0)
    r, p, w = (float(v) for v in element.get("rpy", "0 0 0").split()) if element is not None else (0, 0, 0)
    (sr, sp, sy), (cr, cp, cy) = (map(math.sin, (r, p, w)), map(math.cos, (r, p, w)))
    pose = np.eye(4)
    pose[:3, :3] = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    pose[:3, 3] = x, y, z
    return pose
