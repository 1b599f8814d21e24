"""Changes to a problem that was not solved, each tried for a moment: which would help?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from memetik._core import TargetPart, TermAspect, term_traits
from memetik.goals.base import HARD
from memetik.solve.hard_terms import BoundTerm, HardTerms
from memetik.solve.problem import Problem
from memetik.solve.reach_proofs import proof_of

ONE = 0.05
"""Seconds for one relaxed problem."""

ALL = 0.4
"""Seconds for all of them."""


def helpful(problem: Problem, hard: HardTerms) -> list[str]:
    """The changes with which the problem is solved, as ends of a sentence that starts with 'it would be solved'."""
    tries = [(change, relaxed) for change, relaxed in _relaxed(problem, hard) if relaxed.terms]
    tries = [(change, relaxed) for change, relaxed in tries if proof_of(relaxed) is None]
    budget = min(ONE, ALL / max(len(tries), 1))
    return [change for change, relaxed in tries if relaxed.solvable(budget)]


def _relaxed(problem: Problem, hard: HardTerms) -> Iterator[tuple[str, HardTerms]]:
    stated = {term.spec.goal for term in hard.terms}
    unstated = [k for k, goal in enumerate(problem.goals) if goal.priority == HARD and k not in stated]
    if unstated:
        # Goals that the user's Python code evaluates are not among the terms: only their absence can be tried.
        listed = ", ".join(repr(problem.goal_names[k]) for k in unstated)
        yield f"without {listed}", hard
        return
    if hard.collision_context is not None or hard.external_checker is not None:
        yield "if it might touch what is in its way", replace(hard, collision_context=None, external_checker=None)
    if any(is_orientation(term) for term in hard.terms):
        yield "without its orientation", hard.without(is_orientation)
    yield from _turned(hard)
    bounded = [k for k in hard.variables if np.isfinite(hard.lower[k]) or np.isfinite(hard.upper[k])]
    if bounded:
        lower, upper = hard.lower.copy(), hard.upper.copy()
        lower[bounded], upper[bounded] = -np.inf, np.inf
        yield "without the limits of its joints", replace(hard, lower=lower, upper=upper)
    if hard.held:
        free = tuple(sorted({*hard.variables, *hard.held}))
        yield "if no joint were held fixed", replace(hard, held=frozenset(), variables=free)
    if len(stated) > 1:
        for goal in sorted(stated):
            others = hard.without(lambda term, goal=goal: term.spec.goal == goal)
            yield f"without {problem.goal_names[goal]!r}", others


def _turned(hard: HardTerms) -> Iterator[tuple[str, HardTerms]]:
    """Tools mounted the other way round, and axes that were meant to point the other way."""
    parts = {term_traits(term.spec.kind).target for term in hard.terms}
    if TargetPart.rotation in parts:
        # Half a turn about an axis of the target's own changes the signs of the other two columns.
        for axis, signs in (("x", (1, -1, -1)), ("y", (-1, 1, -1)), ("z", (-1, -1, 1))):
            turned = tuple(_scaled(term, TargetPart.rotation, 3 * signs) for term in hard.terms)
            yield f"with the tool turned by 180 degrees about its {axis} axis", replace(hard, terms=turned)
    if TargetPart.direction in parts:
        flipped = tuple(_scaled(term, TargetPart.direction, (-1, -1, -1)) for term in hard.terms)
        yield "with its axis pointing the other way", replace(hard, terms=flipped)


def _scaled(term: BoundTerm, part: TargetPart, signs: tuple[int, ...]) -> BoundTerm:
    """A term with the numbers of its target's rotation or direction times these."""
    traits = term_traits(term.spec.kind)
    if traits.target != part:
        return term
    data = term.data
    data[traits.target_at : traits.target_at + len(signs)] *= signs
    return replace(term, spec=term.spec.replace(data=data))


def is_orientation(term: BoundTerm) -> bool:
    """Whether a term is on how a link is turned."""
    return term_traits(term.spec.kind).aspect == TermAspect.orientation
