"""PlaCo: steps of a quadratic program on Pinocchio, restarted at random."""

import numpy as np


class Placo:
    """A frame task with joint limits; a search ends where it converged, made little progress, or after 40 steps."""

    package = "placo"
    STEPS = 40

    def prepare(self, task):
        import placo

        self.robot = placo.RobotWrapper("", placo.Flags.ignore_collisions, task.urdf)
        self.solver = self.robot.make_solver()
        self.solver.mask_fbase(True)
        self.solver.enable_joint_limits(True)
        self.frame = self.solver.add_frame_task(task.tip, np.eye(4))
        self.frame.configure("pose", "soft", 1.0, 1.0)
        self.solver.add_regularization_task(1e-9)
        self.entries = [self.robot.get_joint_offset(name) for name in task.joints]
        self.task = task

    def solve(self, target, seed, timeout):
        self.frame.T_world_frame = target
        return self.task.restarted(self.search, seed, timeout)

    def search(self, start):
        robot = self.robot
        state = np.array(robot.state.q)
        state[self.entries] = start
        robot.state.q = state
        robot.update_kinematics()
        found, steps = self.task.descended(self.step, self.STEPS)
        return np.array(robot.state.q)[self.entries] if found else None, steps

    def step(self):
        self.solver.solve(True)
        self.robot.update_kinematics()
        return np.linalg.norm(self.frame.position().error()), np.linalg.norm(self.frame.orientation().error())

    def close(self):
        self.solver = self.robot = None
