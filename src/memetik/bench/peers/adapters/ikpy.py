"""IKPy: scipy's least squares on a chain, restarted at random."""

import warnings

import numpy as np


class IkPy:
    """inverse_kinematics_frame with all three axes; it finishes a search whatever the time."""

    package = "ikpy"

    def prepare(self, task):
        from ikpy.chain import Chain

        warnings.filterwarnings("ignore")
        with task.urdf_file() as path:
            found = Chain.from_urdf_file(path, base_elements=[task.base], symbolic=False)
            mask = [link.name in task.joints for link in found.links]
            self.chain = Chain.from_urdf_file(path, base_elements=[task.base], active_links_mask=mask, symbolic=False)
        self.entries = [[link.name for link in self.chain.links].index(name) for name in task.joints]
        self.task = task

    def solve(self, target, seed, timeout):
        return self.task.restarted(lambda start: self.search(target, start), seed, timeout)

    def search(self, target, start):
        whole = np.zeros(len(self.chain.links))
        whole[self.entries] = np.clip(start, self.task.lower + 1e-9, self.task.upper - 1e-9)
        answer = self.chain.inverse_kinematics_frame(target, initial_position=whole, orientation_mode="all", tol=1e-14)
        reached = self.task.reached(self.chain.forward_kinematics(answer), target)
        return np.asarray(answer)[self.entries] if reached else None, None

    def close(self):
        self.chain = None
