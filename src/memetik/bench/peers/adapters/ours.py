"""memetik's own methods, in the words of the benchmark."""

import pickle

import numpy as np


class Ours:
    """Problem.solve with `method`, a name or a preset, and its `parameters`; the scene is part of the problem."""

    package = "memetik"
    whole = True
    collision = True

    def prepare(self, task):
        from memetik.bench.peers.registry import method_with

        with open(task.problem, "rb") as file:
            self.problem = pickle.load(file)
        if self.problem.collision_context is not None:
            # The exact model is made when it is first asked, which belongs to getting ready.
            self.problem.collision_context.in_collision(np.array(self.problem.robot.neutral))
        parameters = dict(task.parameters)
        method = parameters.pop("method", "memetic")
        self.evaluations = parameters.pop("evaluations", None)
        self.attempts = {"attempts": count} if (count := parameters.pop("attempts", None)) else {}
        self.method = method_with(method, parameters)
        self.task = task

    def solve(self, target, seed, timeout):
        bound = {"timeout": timeout} if self.evaluations is None else {"evaluations": self.evaluations}
        bound |= self.attempts
        solution = self.problem.solve(*target, seed=seed, rng=self.task.stream, method=self.method, **bound)
        counts, profile = solution.statistics, solution.profile
        return {
            "q": np.array(solution.q) if solution.success else None,
            "evaluations": solution.evaluations,
            "restarts": solution.restarts,
            "generations": counts.get("generations") or None,
            "candidates": counts.get("rejected", 0) + counts.get("blocked", 0) + int(solution.success),
            # Methods in Python do not tell it apart.
            "collision_time": profile.get("contacts"),
        }

    def close(self):
        pass
