"""Which targets can be reached: by a long search whose answers separate code checks, and whose outcome is cached."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from memetik.bench.run.verification import Verifier
from memetik.bench.scenarios.scenario import NOT_FOUND, REACHABLE, plain_goals, scene_parts
from memetik.bench.scenarios.target_draft import TargetDraft
from memetik.geometry import cache
from memetik.solve.problem import Problem

STAGES = ((20_000, 0), (400_000, 1))
"""The search's (evaluations, random numbers): a short one finds most, a long one with other numbers follows."""

Progress = Callable[[bool], Any]
"""Told of each target that was searched whether it is reachable."""


def establish(draft: TargetDraft, progress: Progress | None = None) -> tuple[np.ndarray, np.ndarray]:
    """For each target REACHABLE or NOT_FOUND, and a verified configuration (NaN where none): (N,), (N, dof).

    The search is bounded by evaluations, so that the outcome is the same on any machine. A second call for the same
    draft reads the answer from the disk's cache, whose configurations are verified again.
    """
    verifier = Verifier(draft.robot, draft.goals, draft.scene, self_collision=draft.self_collision)
    entry = _key(draft)
    kept = cache.load("reachability", entry)
    if kept is not None and _holds(draft, verifier, kept):
        for found in kept["reachable"] == REACHABLE if progress else ():
            progress(bool(found))  # type: ignore[misc]
        return kept["reachable"], kept["witnesses"]
    reachable, known_solutions = _search(draft, verifier, progress)
    cache.store("reachability", entry, {"reachable": reachable, "witnesses": known_solutions})
    return reachable, known_solutions


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
    if kept["reachable"].shape != (count,) or kept["witnesses"].shape != (count, draft.robot.dof):
        return False
    return all(
        verifier.check(tuple(values[k] for values in draft.targets), kept["witnesses"][k]).holds
        for k in np.flatnonzero(kept["reachable"] == REACHABLE)
    )


def _search(draft: TargetDraft, verifier: Verifier, progress: Progress | None) -> tuple[np.ndarray, np.ndarray]:
    problem = Problem(draft.robot, draft.goals, scene=draft.scene, self_collision=draft.self_collision)
    count = len(draft.targets[0])
    reachable = np.full(count, NOT_FOUND, dtype=np.int8)
    known_solutions = np.full((count, draft.robot.dof), np.nan)
    for k in range(count):
        targets = tuple(values[k] for values in draft.targets)
        for q in _candidates(draft, problem, targets, k):
            if verifier.check(targets, q).holds:
                reachable[k], known_solutions[k] = REACHABLE, q
                break
        if progress:
            progress(bool(reachable[k] == REACHABLE))
    return reachable, known_solutions


def _candidates(draft: TargetDraft, problem: Problem, targets: tuple[np.ndarray, ...], k: int):
    if draft.known_solutions is not None and np.isfinite(draft.known_solutions[k]).all():
        yield draft.known_solutions[k]
    for evaluations, rng in STAGES:
        solution = problem.solve(*targets, evaluations=evaluations, rng=(rng, k))
        if solution.success:
            yield solution.q
