"""Newton's method for inverse kinematics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memetik.solve.methods.method import Search
from memetik.solve.methods.task import Task


@dataclass(frozen=True)
class Jac(Search):
    """Pseudo-inverse Jacobian over all goals at once: q <- clip(q - J^+ r)."""

    iterations: int = 100

    def search(self, task: Task, start: np.ndarray) -> None:
        q = start
        for _ in range(self.iterations):
            _, residual, jacobian = task.linearized(q)
            if np.abs(residual).max() < 1e-5 and task.offer(q):
                return
            q = task.clip(q - np.linalg.pinv(jacobian, 1e-4) @ residual)
