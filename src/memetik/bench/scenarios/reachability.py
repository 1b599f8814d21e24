"""Which targets can be reached: by long searches of several methods, whose answers separate code checks.

A target is called out of reach only where methods of three families found nothing, so that none of them is judged by
its own word. What they found is cached.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from memetik.bench.run.verification import Verifier
from memetik.bench.scenarios.scenario import NOT_FOUND, REACHABLE, plain_goals, scene_parts
from memetik.bench.scenarios.target_draft import TargetDraft
from memetik.errors import MemetikError
from memetik.geometry import cache
from memetik.solve.problem import Problem

STAGES = (("memetic", 20_000, 0), ("memetic", 400_000, 1), ("bio2_memetic", 200_000, 2), ("kdl", 30_000, 3))
"""The searches' (method, evaluations, random numbers): a short one finds most; long ones follow, a memetic one, an
evolution and Newton steps from random starts, each with other numbers."""

Progress = Callable[[bool], Any]
"""Told of each target that was searched whether it is reachable."""


@dataclass(frozen=True)
class Reached:
    """Of N targets: REACHABLE or NOT_FOUND (N,), verified configurations (N, dof; NaN where none), the number of the
    stage that found each (N,; -1: nobody, or known before), and why the last search failed (N,)."""

    reachable: np.ndarray
    known_solutions: np.ndarray
    stages: np.ndarray
    reasons: np.ndarray

    @classmethod
    def empty(cls, count: int, dof: int) -> Reached:
        solutions, stages = np.full((count, dof), np.nan), np.full(count, -1, dtype=np.int8)
        return cls(np.full(count, NOT_FOUND, dtype=np.int8), solutions, stages, np.zeros(count, dtype="U120"))


def establish(draft: TargetDraft, progress: Progress | None = None) -> Reached:
    """Searches for each target.

    The search is bounded by evaluations, so that the outcome is the same on any machine. A second call for the same
    draft reads the answer from the disk's cache, whose configurations are verified again.
    """
    verifier = Verifier(draft.robot, draft.goals, draft.scene, self_collision=draft.self_collision)
    entry = _key(draft)
    kept = cache.load("reachability", entry)
    if kept is not None and _holds(draft, verifier, kept):
        for found in kept["reachable"] == REACHABLE if progress else ():
            progress(bool(found))  # type: ignore[misc]
        return Reached(*(kept[name] for name in ("reachable", "witnesses", "stages", "reasons")))
    found = _search(draft, verifier, progress)
    arrays = {"reachable": found.reachable, "witnesses": found.known_solutions}
    cache.store("reachability", entry, {**arrays, "stages": found.stages, "reasons": found.reasons})
    return found


def remark(found: Sequence[Reached]) -> str:
    """A sentence on targets that nobody reached; "" where all were reached."""
    missed = [part.reachable == NOT_FOUND for part in found]
    count, all_of_them = sum(int(m.sum()) for m in missed), sum(map(len, missed))
    if not count:
        return ""
    why = Counter(str(r) for part, m in zip(found, missed, strict=True) for r in part.reasons[m])
    reasons = ", ".join(f"{number} {text}" for text, number in why.most_common(3))
    methods = ", ".join(dict.fromkeys(method for method, _, _ in STAGES))
    return f"{count} of {all_of_them} targets were reached by none of {methods} ({reasons})."


def _key(draft: TargetDraft) -> str:
    """All that decides what a search finds."""
    texts = [json.dumps(STAGES), json.dumps(plain_goals(draft.goals)), str(draft.self_collision)]
    known = [] if draft.known_solutions is None else [draft.known_solutions]
    return cache.digest(
        [*texts, draft.robot.content_digest.hex(), *scene_parts(draft.scene), "targets", *draft.targets, *known]
    )


def _holds(draft: TargetDraft, verifier: Verifier, kept: Mapping[str, np.ndarray]) -> bool:
    """Whether what the cache says is of this draft's shape, and its configurations reach their targets."""
    count = len(draft.targets[0])
    if any(name not in kept or kept[name].shape != (count,) for name in ("reachable", "stages", "reasons")):
        return False
    if kept["witnesses"].shape != (count, draft.robot.dof):
        return False
    return all(
        verifier.check(tuple(values[k] for values in draft.targets), kept["witnesses"][k]).holds
        for k in np.flatnonzero(kept["reachable"] == REACHABLE)
    )


def _search(draft: TargetDraft, verifier: Verifier, progress: Progress | None) -> Reached:
    problem = Problem(draft.robot, draft.goals, scene=draft.scene, self_collision=draft.self_collision)
    count = len(draft.targets[0])
    found = Reached.empty(count, draft.robot.dof)
    for k in range(count):
        targets = tuple(values[k] for values in draft.targets)
        known = None if draft.known_solutions is None else draft.known_solutions[k]
        if known is not None and np.isfinite(known).all() and verifier.check(targets, known).holds:
            found.reachable[k], found.known_solutions[k] = REACHABLE, known
        else:
            _search_target(problem, verifier, targets, k, found)
        if progress:
            progress(bool(found.reachable[k] == REACHABLE))
    return found


def _search_target(
    problem: Problem, verifier: Verifier, targets: tuple[np.ndarray, ...], k: int, found: Reached
) -> None:
    for stage, (method, evaluations, rng) in enumerate(STAGES):
        try:
            solution = problem.solve(*targets, evaluations=evaluations, rng=(rng, k), method=method)
        except MemetikError:  # a method that does not serve these goals
            continue
        if solution.success and verifier.check(targets, solution.q).holds:
            found.reachable[k], found.known_solutions[k], found.stages[k] = REACHABLE, solution.q, stage
            return
        if method == STAGES[0][0]:  # the one that says most about it
            found.reasons[k] = solution.reason.replace("not found in time", "not found")
