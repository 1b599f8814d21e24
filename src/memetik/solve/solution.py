"""What a solve returns: a verified posture, or the best found and why it is not one."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from memetik.solve.problem import Problem


class Solution:
    """The outcome of one solve.

    success is True only for a posture that was checked again: exact kinematics, limits, every must within its
    tolerance, and whatever `valid` or the scene demands.
    """

    __slots__ = ("_data", "_reason", "base", "problem", "seed", "targets")

    def __init__(
        self,
        problem: Problem,
        targets: tuple[np.ndarray, ...],
        data: Any,
        reason: str | None = None,
        seed: np.ndarray | None = None,
        base: np.ndarray | None = None,
    ):
        if not data.success:
            # What was asked is read again to find out why: it must not change with the caller's arrays.
            targets = tuple(np.array(target, dtype=float) for target in targets)
            seed, base = (None if array is None else np.array(array) for array in (seed, base))
        self.problem = problem
        self.targets = targets
        self.seed = seed
        self.base = base
        self._data = data
        self._reason = reason

    @property
    def success(self) -> bool:
        return bool(self._data.success)

    @property
    def q(self) -> np.ndarray:
        """The posture, (dof,): every joint; those no goal touches keep the seed."""
        return self._data.q

    @property
    def joints(self) -> dict[str, float]:
        """The posture by joint name."""
        return dict(zip(self.problem.robot.joint_names, self.q.tolist(), strict=True))

    @property
    def errors(self) -> dict[str, dict[str, float]]:
        """How far each goal is from what it asks for: {goal: {"position": metres, "rotation": radians, ...}}."""
        return self.problem.named_errors(self._data.errors)

    @property
    def cost(self) -> float:
        """Weighted cost of the musts: the sum of their squared residuals."""
        return float(self._data.cost)

    @property
    def preference_cost(self) -> float:
        """Weighted cost of the preferences, where they were refined."""
        return float(self._data.preference)

    @property
    def time(self) -> float:
        """Seconds inside the search."""
        return float(self._data.seconds)

    @property
    def evaluations(self) -> int:
        """How many postures were evaluated."""
        return int(self._data.evaluations)

    @property
    def restarts(self) -> int:
        """How many local searches were started after the first."""
        return max(int(self._data.starts) - 1, 0)

    @property
    def clipped(self) -> list[str]:
        """Joints whose seed was outside its limits and was moved to the nearer one."""
        names = self.problem.robot.joint_names
        return [names[k] for k in getattr(self._data, "clipped", ())]

    @property
    def reason(self) -> str:
        """One of: solved, approximate, out of reach, limits exclude it, too few joints for the demands, in collision,
        not found in time."""
        if self._reason is None:
            from memetik.solve.explain import reason_of

            self._reason = reason_of(self)
        return self._reason

    @property
    def statistics(self) -> dict[str, int]:
        """Counts of what the search did."""
        names = ("evaluations", "starts", "random_starts", "bred_starts", "wipeouts", "rejected", "blocked", "refined",
                 "generations")  # fmt: skip
        return {name: int(getattr(self._data, name)) for name in names if hasattr(self._data, name)}

    @property
    def profile(self) -> dict[str, float]:
        """Seconds by what was done in them: setup, search, verify, predicates, refine.

        And "contacts", part of the others: questions about contacts to the fast model and to exact geometry. With
        several threads verify, predicates and contacts are not told apart.
        """
        return dict(self._data.profile)

    @property
    def trace(self) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """With trace=True, every iteration: (island, variables (8, n) of its individuals, their costs (8,))."""
        return [(island, q.reshape(-1, 8).T, cost) for island, q, cost in self._data.trace]

    def explain(self) -> str:
        """Which goals miss by how much, joints at limits, what rejected candidates, and what would help."""
        from memetik.solve.explain import explain

        return explain(self)

    def show(self, *, height: int = 480) -> Any:
        """The posture and its targets to look at: shown by itself in a notebook; `.open()` opens a browser."""
        return import_module("memetik.studio.show").show_solution(self, height=height)

    def __bool__(self) -> bool:
        return self.success

    def __repr__(self) -> str:
        worst = ", ".join(
            f"{goal}: " + " ".join(f"{label} {value:.2g}" for label, value in parts.items())
            for goal, parts in self.errors.items()
        )
        state = "solved" if self.success else "not solved"
        return f"<Solution {state} in {self.time * 1e3:.3g} ms, {self.evaluations} evaluations; {worst}>"

    def __reduce__(self) -> Any:
        data = Record.of(self._data)
        return Solution, (self.problem, self.targets, data, self.reason, self.seed, self.base)


class Record:
    """Plain values of an outcome: what stays when a solution is pickled or taken from a batch."""

    FIELDS = (
        "success", "q", "errors", "cost", "preference", "seconds", "evaluations", "starts", "random_starts",
        "bred_starts", "wipeouts", "rejected", "blocked", "refined", "generations", "clipped", "profile",
    )  # fmt: skip

    def __init__(self, values: dict[str, Any]):
        self.__dict__.update(values)

    @classmethod
    def of(cls, data: Any) -> Record:
        return cls({name: getattr(data, name) for name in cls.FIELDS if hasattr(data, name)})


class BatchSolution:
    """The outcomes of many solves as arrays: element k is `batch[k]`, a Solution.

    success (N,), q (N, dof), cost, time (N,), evaluations (N,), restarts (N,).
    """

    def __init__(
        self,
        problem: Problem,
        targets: tuple[np.ndarray, ...],
        arrays: dict[str, np.ndarray],
        seeds: np.ndarray,
        bases: np.ndarray | None = None,
    ):
        self.problem = problem
        self.targets = targets
        self._arrays = arrays
        self._seeds, self._bases = seeds, bases
        self.success: np.ndarray = arrays["success"].astype(bool)
        self.q: np.ndarray = arrays["q"]
        self.cost: np.ndarray = arrays["cost"]
        self.preference_cost: np.ndarray = arrays["preference"]
        self.time: np.ndarray = arrays["seconds"]
        self.evaluations: np.ndarray = arrays["evaluations"]
        self.restarts: np.ndarray = arrays["starts"] - 1

    @property
    def errors(self) -> dict[str, dict[str, np.ndarray]]:
        """As in Solution, with an array (N,) for each entry."""
        return self.problem.named_errors(self._arrays["errors"].T)

    def replace(self, k: int, solution: Solution) -> None:
        """Puts another outcome in the place of element k."""
        for name, array in self._arrays.items():
            array[k] = getattr(solution._data, name)
        self.success[k] = solution.success
        self.restarts[k] = solution.restarts

    def __len__(self) -> int:
        return len(self.success)

    def __getitem__(self, k: int) -> Solution:
        if not -len(self) <= k < len(self):
            raise IndexError(f"element {k} is not in a batch of {len(self)}.")
        k %= len(self)
        values = {name: array[k] for name, array in self._arrays.items()}
        targets = tuple(
            target[k] if target.ndim > len(declared.shape) else target
            for target, declared in zip(self.targets, self.problem.open_targets, strict=True)
        )
        seed = self._seeds[k if len(self._seeds) > 1 else 0]
        return Solution(
            self.problem, targets, Record(values), None, seed, None if self._bases is None else self._bases[k]
        )

    def __iter__(self) -> Iterator[Solution]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        return (
            f"<BatchSolution: {int(self.success.sum())} of {len(self)} solved, "
            f"{self.time.mean() * 1e6 if len(self) else 0.0:.1f} us each>"
        )
