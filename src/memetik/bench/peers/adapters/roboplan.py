"""RoboPlan: its SimpleIk, damped steps with restarts in C++."""

import numpy as np


class RoboPlan:
    """SimpleIk without its own collision checks, with whole steps and as many restarts as the time allows."""

    package = "roboplan"

    def prepare(self, task):
        from roboplan.core import CartesianConfiguration, JointConfiguration, Scene, loadUrdfSceneDescriptionFromXml
        from roboplan.simple_ik import SimpleIk, SimpleIkOptions

        if "continuous" in task.kinds:
            raise NotImplementedError("this adapter takes joints with limits")
        self.scene = Scene("chain", loadUrdfSceneDescriptionFromXml(task.urdf))
        self.scene.addGroupFromChain("chain", task.base, task.tip)
        self.cartesian, self.joints, self.ik, self.options = (
            CartesianConfiguration,
            JointConfiguration,
            SimpleIk,
            SimpleIkOptions,
        )
        self.task = task

    def solve(self, target, seed, timeout):
        task = self.task
        self.scene.setRngSeed(int(task.rng.integers(2**31)))
        solver = self.ik(self.scene, self.options(
            group_name="chain", max_iters=100, max_time=timeout, max_restarts=1_000_000, step_size=1.0, damping=1e-3,
            max_linear_error_norm=0.9 * task.position_tolerance, max_angular_error_norm=0.9 * task.rotation_tolerance,
            check_collisions=False, fast_return=True,
        ))  # fmt: skip
        answer = self.joints(task.joints, np.zeros(len(task.joints)))
        goal = self.cartesian(task.base, task.tip, np.asfortranarray(target))
        found = solver.solveIk(goal, self.joints(task.joints, np.ascontiguousarray(seed)), answer)
        return np.array(answer.positions) if found else None

    def close(self):
        self.scene = None
