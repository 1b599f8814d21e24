"""Which targets can be reached: a long search, its postures checked by separate code, its outcome kept on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from memetik.bench.scenarios.draft import Draft
from memetik.bench.scenarios.scenario import NOT_FOUND, REACHABLE, plain_goals, scene_parts
from memetik.bench.verification import Verifier
from memetik.scene import cache

STAGES = ((20_000, 0), (400_000, 1))
"""The search's (evaluations, random numbers): a short one finds most, a long one with other numbers follows."""

Progress = Callable[[bool], Any]
"""Told of each target that was searched whether it is reachable."""


def establish(draft: Draft, progress: Progress | None = None) -> tuple[np.ndarray, np.ndarray]:
    """For each target REACHABLE or NOT_FOUND, and a verified posture (NaN where none): (N,), (N, dof).

    The search is bounded by evaluations, so that the outcome is the same on any machine. A second call for the same
    draft reads the answer from the disk's cache, whose postures are verified again.
    """
    verifier = Verifier(draft.robot, draft.goals, draft.scene, self_collision=draft.self_collision)
    entry = _key(draft)
    kept = cache.load("reachability", entry)
    if kept is not None and _holds(draft, verifier, kept):
        for found in kept["reachable"] == REACHABLE if progress else ():
            progress(bool(found))  # type: ignore[misc]
        return kept["reachable"], kept["witnesses"]
    reachable, witnesses = _search(draft, verifier, progress)
    cache.store("reachability", entry, {"reachable": reachable, "witnesses": witnesses})
    return reachable, witnesses


def _key(draft: Draft) -> str:
    """All that decides what a search finds."""
    texts = [json.dumps(STAGES), json.dumps(plain_goals(draft.goals)), str(draft.self_collision)]
    known = [] if draft.witnesses is None else [draft.witnesses]
    return cache.digest(
        [*texts, draft.robot.content_digest.hex(), *scene_parts(draft.scene), "targets", *draft.targets, *known]
    )


def _holds(draft: Draft, verifier: Verifier, kept: Mapping[str, np.ndarray]) -> bool:
    """Whether what the cache says is of this draft's shape, and its postures reach their targets."""
    count = len(draft.targets[0])
    if kept["reachable"].shape != (count,) or kept["witnesses"].shape != (count, draft.robot.dof):
        return False
    return all(
        verifier.check(tuple(values[k] for values in draft.targets), kept["witnesses"][k]).holds
        for k in np.flatnonzero(kept["reachable"] == REACHABLE)
    )


def _search(draft: Draft, verifier: Verifier, progress: Progress | None) -> tuple[np.ndarray, np.ndarray]:
    from memetik.solve.problem import Problem

    problem = Problem(draft.robot, draft.goals, scene=draft.scene, self_collision=draft.self_collision)
    count = len(draft.targets[0])
    reachable = np.full(count, NOT_FOUND, dtype=np.int8)
    witnesses = np.full((count, draft.robot.dof), np.nan)
    for k in range(count):
        targets = tuple(values[k] for values in draft.targets)
        for q in _candidates(draft, problem, targets, k):
            if verifier.check(targets, q).holds:
                reachable[k], witnesses[k] = REACHABLE, q
                break
        if progress:
            progress(bool(reachable[k] == REACHABLE))
    return reachable, witnesses


def _candidates(draft: Draft, problem: Any, targets: tuple[np.ndarray, ...], k: int):
    if draft.witnesses is not None and np.isfinite(draft.witnesses[k]).all():
        yield draft.witnesses[k]
    for evaluations, rng in STAGES:
        solution = problem.solve(*targets, evaluations=evaluations, rng=(rng, k))
        if solution.success:
            yield solution.q
