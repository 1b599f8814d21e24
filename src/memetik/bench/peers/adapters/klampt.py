"""Klamp't: Newton's method on residuals, restarted at random."""

import numpy as np


class Klampt:
    """Its IKSolver with joint limits, 100 iterations a search."""

    package = "klampt"
    ITERATIONS = 100

    def prepare(self, task):
        from klampt import IKSolver, WorldModel
        from klampt.model import ik

        self.world = WorldModel()
        with task.urdf_file() as path:
            self.robot = self.world.loadRobot(path)
        if self.robot.getName() == "" or self.robot.numLinks() == 0:
            raise NotImplementedError("it cannot read this robot")
        self.link = self.robot.link(task.tip)
        # Its configuration has an entry for each link, moved by the joint before it.
        self.entries = [self.robot.link(name).getIndex() for name in task.children]
        self.objective, self.solver = ik.objective, IKSolver
        self.tolerance = 0.5 * min(task.position_tolerance, task.rotation_tolerance)
        self.task = task

    def solve(self, target, seed, timeout):
        goal = self.objective(self.link, R=target[:3, :3].T.ravel().tolist(), t=target[:3, 3].tolist())
        solver = self.solver(self.robot)
        solver.add(goal)
        solver.setMaxIters(self.ITERATIONS)
        solver.setTolerance(self.tolerance)
        solver.setActiveDofs(self.entries)
        return self.task.restarted(lambda start: self.search(solver, start), seed, timeout)

    def search(self, solver, start):
        whole = self.robot.getConfig()
        for entry, value in zip(self.entries, start, strict=True):
            whole[entry] = float(value)
        self.robot.setConfig(whole)
        found = solver.solve()
        return np.array(self.robot.getConfig())[self.entries] if found else None, solver.lastSolveIters()

    def close(self):
        self.solver = self.robot = self.world = None
