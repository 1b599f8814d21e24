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
        robot, task = self.robot, self.task
        state = np.array(robot.state.q)
        state[self.entries] = start
        robot.state.q = state
        robot.update_kinematics()
        last = np.inf
        for step in range(self.STEPS):
            self.solver.solve(True)
            robot.update_kinematics()
            position = float(np.linalg.norm(self.frame.position().error()))
            rotation = float(np.linalg.norm(self.frame.orientation().error()))
            if position < 0.9 * task.position_tolerance and rotation < 0.9 * task.rotation_tolerance:
                return np.array(robot.state.q)[self.entries], step + 1
            error = position + 0.3 * rotation
            if step > 3 and error > 0.98 * last:
                return None, step + 1
            last = error
        return None, self.STEPS

    def close(self):
        self.solver = self.robot = None
