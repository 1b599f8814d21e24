"""What a solve returns: a verified configuration, or the best found and why it is not one."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memetik import _core
from memetik.errors import InvalidInputError, counted

if TYPE_CHECKING:
    from memetik.solve.problem import Problem
    from memetik.solve.self_motion import SelfMotion
    from memetik.studio.views.show import Picture

Array: TypeAlias = NDArray[np.float64]


class Solution:
    """The outcome of one solve.

    success is True only for a configuration that was checked again: exact kinematics, limits, every hard goal within
    its tolerance, and whatever `valid` or the scene demands.
    """

    __slots__ = ("_reason", "base", "outcome", "problem", "seed", "targets")

    def __init__(
        self,
        problem: Problem,
        targets: tuple[np.ndarray, ...],
        outcome: _core.Outcome,
        reason: str | None = None,
        seed: np.ndarray | None = None,
        base: np.ndarray | None = None,
    ):
        if not outcome.success:
            # What was asked is read again to find out why: it must not change with the caller's arrays.
            targets = tuple(np.array(target, dtype=float) for target in targets)
            seed, base = (None if array is None else np.array(array) for array in (seed, base))
        self.problem = problem
        self.targets = targets
        self.seed = seed
        self.base = base
        self.outcome = outcome
        self._reason = reason

    @property
    def success(self) -> bool:
        return bool(self.outcome.success)

    @property
    def q(self) -> np.ndarray:
        """The configuration, (dof,): every joint; those no goal touches keep the seed."""
        return self.outcome.q

    @property
    def joints(self) -> dict[str, float]:
        """The configuration by joint name."""
        return dict(zip(self.problem.robot.joint_names, self.q.tolist(), strict=True))

    @property
    def errors(self) -> dict[str, dict[str, float]]:
        """How far each goal is from what it asks for: {goal: {"position": metres, "rotation": radians, ...}}."""
        return self.problem.named_errors(np.asarray(self.outcome.errors).tolist())

    @property
    def cost(self) -> float:
        """Weighted cost of the hard goals: the sum of their squared residuals."""
        return float(self.outcome.cost)

    @property
    def preference_cost(self) -> float:
        """Weighted cost of the soft goals, where they were refined."""
        return float(self.outcome.soft_cost)

    @property
    def refinement(self) -> str:
        """What ended the refinement of the soft goals.

        "none" was done; "met": their cost is zero; "optimum": the best of the branch is reached; "no_gain": further
        optima brought next to nothing; "bound": the time or the evaluations were used up, and more may bring more;
        "continuity": they lead farther from the seed than a step of a sequence may go (`explore` of `Problem.solve`).
        """
        return self.outcome.refinement.name

    @property
    def time(self) -> float:
        """Seconds inside the search."""
        return float(self.outcome.seconds)

    @property
    def evaluations(self) -> int:
        """How many configurations were evaluated."""
        return int(self.outcome.evaluations)

    @property
    def restarts(self) -> int:
        """How many local searches were started after the first."""
        return max(int(self.outcome.starts) - 1, 0)

    @property
    def clipped(self) -> list[str]:
        """Joints whose seed was outside its limits and was moved to the nearer one."""
        names = self.problem.robot.joint_names
        return [names[k] for k in self.outcome.clipped]

    @property
    def reason(self) -> str:
        """One of: solved, approximate, out of reach, limits exclude it, too few joints for the demands, in collision,
        not found in time. Those that say that it cannot be done (the second three) are proved."""
        if self._reason is None:
            from memetik.solve.explain import reason_of

            self._reason = reason_of(self)
        return self._reason

    @property
    def statistics(self) -> dict[str, int]:
        """Counts of what the search did."""
        names = ("evaluations", "starts", "random_starts", "bred_starts", "wipeouts", "rejected", "blocked", "refined",
                 "generations")  # fmt: skip
        return {name: int(getattr(self.outcome, name)) for name in names}

    @property
    def profile(self) -> dict[str, float]:
        """Seconds by what was done in them: setup, search, verify, predicates, refine.

        And "contacts", part of the others: questions about contacts to the fast model and to exact geometry. With
        several threads verify, predicates and contacts are not told apart.
        """
        return dict(self.outcome.profile)

    @property
    def trace(self) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """With trace=True, every iteration: (island, variables (8, n) of its individuals, their costs (8,))."""
        return [(g.island, g.variables.reshape(-1, 8).T, g.cost) for g in self.outcome.trace]

    def explain(self) -> str:
        """Which goals miss by how much, joints at limits, what rejected candidates, and what would help."""
        from memetik.solve.explain import explain

        return explain(self)

    def sensitivity(self) -> dict[str, np.ndarray]:
        """How the configuration changes with the targets: {goal: dq/dt}, exact to first order.

        dq/dt has shape (dof, k): k is 6 for a pose (metres of translation, then radians of a rotation vector, in the
        axes that the target is stated in), 3 for a rotation, and the target's own numbers otherwise. Open targets
        where there are some, else those that the goals state.

        The hard goals stay satisfied, joints at limits stay there as long as the others can follow, and soft goals
        stay at their minimum; what all these leave free moves as little as possible. Contacts count for nothing.
        """
        from memetik.solve.sensitivity import sensitivity

        self._needs_success()
        seed, base = self.problem.neutral if self.seed is None else np.asarray(self.seed), self.base
        own = sensitivity(
            self.problem, self.targets, self.q[None], np.atleast_2d(seed), None if base is None else base[None]
        )
        return {goal: derivative[0] for goal, derivative in own.items()}

    def self_motion(self, *, step: float = 0.02) -> SelfMotion:
        """All configurations that satisfy the hard goals and are joined to this one, where one freedom is left.

        The curve is followed to both sides until a joint is at its limit or it comes back. Its free parts, by exact
        geometry in the scene as it is now, are marked. `step`: how far neighbours on the curve are apart at most,
        radians or metres; free parts shorter than this may be missed.
        """
        from memetik.solve.self_motion import trace_self_motion

        self._needs_success("self-motion")
        return trace_self_motion(self, step)

    def _needs_success(self, what: str = "sensitivity") -> None:
        if not self.success:
            raise InvalidInputError(f"only a solution has a {what}, and this search found none; explain() says why.")

    def show(self, *, height: int = 480) -> Picture:
        """The configuration and its targets to look at: shown by itself in a notebook; `.open()` opens a browser."""
        return import_module("memetik.studio.views.show").show_solution(self, height=height)

    def save_html(self, path: str | PathLike[str]) -> None:
        """Write the configuration in its scene as one page that any browser shows, without a network or a server."""
        self.show().save(path)

    def __bool__(self) -> bool:
        return self.success

    def __repr__(self) -> str:
        worst = ", ".join(
            f"{goal}: " + " ".join(f"{label} {value:.2g}" for label, value in parts.items())
            for goal, parts in self.errors.items()
        )
        state = "solved" if self.success else "not solved"
        return f"<Solution {state} in {self.time * 1e3:.3g} ms, {counted(self.evaluations, 'evaluation')}; {worst}>"

    def __reduce__(self) -> tuple[object, ...]:
        return Solution, (self.problem, self.targets, self.outcome, self.reason, self.seed, self.base)


def refined_outcome(outcome: _core.Outcome, better: _core.Outcome, seconds: float) -> _core.Outcome:
    """An outcome with what refinement made better of it."""
    return outcome.replace(  # pyright: ignore[reportUnknownMemberType]
        q=better.q, errors=better.errors, soft_cost=better.soft_cost, seconds=seconds, refined=better.refined,
        refinement=better.refinement,
        evaluations=outcome.evaluations + better.evaluations,
    )  # fmt: skip


class Record:
    """The outcome of a solution that release 0.1 pickled."""

    def __setstate__(self, values: dict[str, object]) -> None:
        self.__dict__.update({"trace": (), "clipped": (), "soft_cost": values.get("preference", 0.0), **values})


class BatchSolution:
    """The outcomes of many solves as arrays: element k is `batch[k]`, a Solution.

    success (N,), q (N, dof), cost, time (N,), evaluations (N,), restarts (N,).
    """

    def __init__(
        self,
        problem: Problem,
        targets: tuple[np.ndarray, ...],
        outcome: _core.BatchOutcome,
        seeds: np.ndarray,
        bases: np.ndarray | None = None,
    ):
        self.problem = problem
        self.targets = targets
        self.outcome = outcome
        self._seeds, self._bases = seeds, bases
        self.success: np.ndarray = outcome.success
        self.q: np.ndarray = outcome.q
        self.cost: np.ndarray = outcome.cost
        self.preference_cost: np.ndarray = outcome.soft_cost
        self.time: np.ndarray = outcome.seconds
        self.evaluations: np.ndarray = outcome.evaluations
        self.restarts: np.ndarray = outcome.starts - 1

    @property
    def errors(self) -> dict[str, dict[str, np.ndarray]]:
        """As in Solution, with an array (N,) for each entry."""
        return self.problem.named_errors(self.outcome.errors.T)

    def sensitivity(self, *, threads: int = 1) -> dict[str, np.ndarray]:
        """As in Solution, with arrays (N, dof, k); zero for elements that are not solved."""
        from memetik.solve.sensitivity import sensitivity

        own = sensitivity(self.problem, self.targets, self.q, self._seeds, self._bases, threads)
        for derivative in own.values():
            derivative[~self.success] = 0.0
        return own

    def __reduce__(self) -> tuple[object, ...]:
        return BatchSolution, (self.problem, self.targets, self.outcome, self._seeds, self._bases)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Reads what release 0.1 pickled."""
        arrays = state["_arrays"]
        outcome = _core.BatchOutcome.__new__(_core.BatchOutcome)
        own = {**arrays, "soft_cost": arrays["preference"], "success": arrays["success"].astype(bool)}
        outcome.__setstate__(own)  # pyright: ignore[reportUnknownMemberType]
        BatchSolution.__init__(self, state["problem"], state["targets"], outcome, state["_seeds"], state["_bases"])

    def __len__(self) -> int:
        return len(self.success)

    def __getitem__(self, k: int) -> Solution:
        if not -len(self) <= k < len(self):
            raise IndexError(f"element {k} is not in a batch of {len(self)}.")
        k %= len(self)
        targets = tuple(
            target[k] if target.ndim > len(declared.shape) else target
            for target, declared in zip(self.targets, self.problem.open_targets, strict=True)
        )
        seed, base = self._seeds[k if len(self._seeds) > 1 else 0], None if self._bases is None else self._bases[k]
        return Solution(self.problem, targets, self.outcome[k], None, seed, base)

    def __iter__(self) -> Iterator[Solution]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        return (
            f"<BatchSolution: {int(self.success.sum())} of {len(self)} solved, "
            f"{self.time.mean() * 1e6 if len(self) else 0.0:.1f} us each>"
        )
