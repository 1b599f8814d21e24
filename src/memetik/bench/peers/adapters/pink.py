"""Pink: weighted quadratic programs on Pinocchio, restarted at random."""

import numpy as np


class Pink:
    """A frame task within the joints' limits, whole steps (dt = 1); a search ends where it converged, made little
    progress, or after 40 steps."""

    package = "pin-pink"
    STEPS = 40

    def prepare(self, task):
        import pink
        import pinocchio

        if "continuous" in task.kinds:
            raise NotImplementedError("this adapter takes joints with one coordinate; continuous ones have two there")
        self.solve_ik, self.difference = pink.solve_ik, pinocchio.log6
        self.model = pinocchio.buildModelFromXML(task.urdf)
        self.se3 = pinocchio.SE3
        self.configuration = pink.Configuration(self.model, self.model.createData(), pinocchio.neutral(self.model))
        self.frame = pink.FrameTask(task.tip, position_cost=1.0, orientation_cost=0.3)
        self.limits = [pink.limits.ConfigurationLimit(self.model, config_limit_gain=1.0)]
        self.entries = [self.model.joints[self.model.getJointId(name)].idx_q for name in task.joints]
        self.task = task

    def solve(self, target, seed, timeout):
        goal = self.se3(target)
        self.frame.set_target(goal)
        return self.task.restarted(lambda start: self.search(goal, start), seed, timeout)

    def search(self, goal, start):
        q = np.zeros(self.model.nq)
        q[self.entries] = np.clip(start, self.task.lower, self.task.upper)
        self.configuration.update(q)
        found, steps = self.task.descended(lambda: self.step(goal), self.STEPS)
        return np.array(self.configuration.q)[self.entries] if found else None, steps

    def step(self, goal):
        options = {"solver": "daqp", "damping": 1e-9, "limits": self.limits, "safety_break": False}
        velocity = self.solve_ik(self.configuration, [self.frame], 1.0, **options)
        self.configuration.integrate_inplace(velocity, 1.0)
        reached = self.configuration.get_transform_frame_to_world(self.task.tip)
        angular = self.difference(reached.actInv(goal)).angular
        return np.linalg.norm(reached.translation - goal.translation), np.linalg.norm(angular)

    def close(self):
        self.configuration = None
