"""IKPy: scipy's least squares on a chain, restarted at random."""

import os
import tempfile
import warnings

import numpy as np


class IkPy:
    """inverse_kinematics_frame with all three axes; it finishes a search whatever the time."""

    package = "ikpy"

    def prepare(self, task):
        from ikpy.chain import Chain

        warnings.filterwarnings("ignore")
        handle, path = tempfile.mkstemp(suffix=".urdf")
        with os.fdopen(handle, "w") as file:
            file.write(task.urdf)
        try:
            found = Chain.from_urdf_file(path, base_elements=[task.base], symbolic=False)
            mask = [link.name in task.joints for link in found.links]
            self.chain = Chain.from_urdf_file(path, base_elements=[task.base], active_links_mask=mask, symbolic=False)
        finally:
            os.unlink(path)
        self.entries = [[link.name for link in self.chain.links].index(name) for name in task.joints]
        self.task = task

    def solve(self, target, seed, timeout):
        searches = 0
        for start in self.task.starts(seed, timeout):
            searches += 1
            whole = np.zeros(len(self.chain.links))
            whole[self.entries] = np.clip(start, self.task.lower + 1e-9, self.task.upper - 1e-9)
            answer = self.chain.inverse_kinematics_frame(
                target, initial_position=whole, orientation_mode="all", tol=1e-14
            )
            if self.holds(self.chain.forward_kinematics(answer), target):
                return {"q": np.asarray(answer)[self.entries], "restarts": searches - 1}
        return {"q": None, "restarts": searches - 1}

    def holds(self, pose, target):
        away = np.linalg.norm(pose[:3, 3] - target[:3, 3])
        chord = np.linalg.norm(pose[:3, :3] - target[:3, :3]) / np.sqrt(2.0)
        return away < 0.9 * self.task.position_tolerance and chord < 0.9 * self.task.rotation_tolerance

    def close(self):
        self.chain = None
