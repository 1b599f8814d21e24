"""Mink: weighted quadratic programs on MuJoCo, restarted at random."""

import numpy as np


class Mink:
    """A frame task within the joints' limits, whole steps (dt = 1); a search ends where it converged, made little
    progress, or after 40 steps."""

    package = "mink"
    STEPS = 40

    def prepare(self, task):
        import mink
        import mujoco

        compiler = '<mujoco><compiler fusestatic="false" boundmass="0.01" boundinertia="0.0001"/></mujoco>'
        self.model = mujoco.MjModel.from_xml_string(task.urdf.replace("</robot>", compiler + "</robot>"))
        self.mink = mink
        self.configuration = mink.Configuration(self.model)
        body = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, task.tip)
        if body < 0:
            raise NotImplementedError(f"MuJoCo has no body for the link {task.tip!r}")
        self.frame = mink.FrameTask(task.tip, "body", position_cost=1.0, orientation_cost=0.3)
        self.limits = [mink.ConfigurationLimit(self.model, gain=1.0)]
        self.entries = [self.model.joint(name).qposadr[0] for name in task.joints]
        self.task = task

    def solve(self, target, seed, timeout):
        goal = self.mink.SE3.from_matrix(target)
        self.frame.set_target(goal)
        return self.task.restarted(self.search, seed, timeout)

    def search(self, start):
        q = np.zeros(self.model.nq)
        q[self.entries] = np.clip(start, self.task.lower, self.task.upper)
        self.configuration.update(q)
        found, steps = self.task.descended(self.step, self.STEPS)
        return self.configuration.q[self.entries].copy() if found else None, steps

    def step(self):
        velocity = self.mink.solve_ik(self.configuration, [self.frame], 1.0, "daqp", damping=1e-9, limits=self.limits)
        self.configuration.integrate_inplace(velocity, 1.0)
        error = self.frame.compute_error(self.configuration)
        return np.linalg.norm(error[:3]), np.linalg.norm(error[3:])

    def close(self):
        self.configuration = None
