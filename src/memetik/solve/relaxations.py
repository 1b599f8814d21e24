"""Changes to a problem that was not solved, each tried for a moment: which would help?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from memetik.goals.base import MUST, Kind
from memetik.solve.reach import proof_of
from memetik.solve.statement import StatedTerm, Statement, replaced

if TYPE_CHECKING:
    from memetik.solve.problem import Problem

ONE = 0.05
"""Seconds for one relaxed problem."""

ALL = 0.4
"""Seconds for all of them."""

ORIENTATION = frozenset(
    (Kind.ROTATION, Kind.ROTATION_RANGE, Kind.SWING_RANGE, Kind.ALIGN, Kind.TWIST, Kind.CONE, Kind.SIDE, Kind.LOOK_AT,
     Kind.ROLL_PITCH_YAW, Kind.VIEW)
)  # fmt: skip
"""Terms on how a link is turned."""

_TURNED = frozenset((Kind.ROTATION, Kind.ROTATION_RANGE, Kind.SWING_RANGE, Kind.TWIST))
_POINTED = frozenset((Kind.ALIGN, Kind.CONE))


def helpful(problem: Problem, statement: Statement) -> list[str]:
    """The changes with which the problem is solved, as ends of a sentence that starts with 'it would be solved'."""
    tries = [(change, relaxed) for change, relaxed in _relaxed(problem, statement) if relaxed.terms]
    tries = [(change, relaxed) for change, relaxed in tries if proof_of(relaxed) is None]
    budget = min(ONE, ALL / max(len(tries), 1))
    return [change for change, relaxed in tries if relaxed.solvable(budget)]


def _relaxed(problem: Problem, statement: Statement) -> Iterator[tuple[str, Statement]]:
    musts = {k for k, goal in enumerate(problem.goals) if goal.priority == MUST}
    stated = {term.goal for term in statement.terms}
    if musts - stated:
        # Goals that the user's Python code evaluates are not in the statement: only their absence can be tried.
        listed = ", ".join(repr(problem.goal_names[k]) for k in sorted(musts - stated))
        yield f"without {listed}", statement
        return
    if statement.confinement is not None or statement.stand_in is not None:
        yield "if it might touch what is in its way", replace(statement, confinement=None, stand_in=None)
    if any(term.kind in ORIENTATION for term in statement.terms):
        yield "without its orientation", statement.without(lambda term: term.kind in ORIENTATION)
    yield from _turned(statement)
    bounded = [k for k in statement.variables if np.isfinite(statement.lower[k]) or np.isfinite(statement.upper[k])]
    if bounded:
        lower, upper = statement.lower.copy(), statement.upper.copy()
        lower[bounded], upper[bounded] = -np.inf, np.inf
        yield "without the limits of its joints", replace(statement, lower=lower, upper=upper)
    if statement.held:
        free = tuple(sorted({*statement.variables, *statement.held}))
        yield "if no joint were held fixed", replace(statement, held=frozenset(), variables=free)
    if len(stated) > 1:
        for goal in sorted(stated):
            yield f"without {problem.goal_names[goal]!r}", statement.without(lambda term, goal=goal: term.goal == goal)


def _turned(statement: Statement) -> Iterator[tuple[str, Statement]]:
    """Tools mounted the other way round, and axes that were meant to point the other way."""
    if any(term.kind in _TURNED for term in statement.terms):
        for axis, signs in (("x", (1, -1, -1)), ("y", (-1, 1, -1)), ("z", (-1, -1, 1))):
            turned = tuple(_half_turn(term, signs) for term in statement.terms)
            yield f"with the tool turned by 180 degrees about its {axis} axis", replace(statement, terms=turned)
    if any(term.kind in _POINTED for term in statement.terms):
        flipped = tuple(
            replaced(term, range(3, 6), -term.data[3:6]) if term.kind in _POINTED else term for term in statement.terms
        )
        yield "with its axis pointing the other way", replace(statement, terms=flipped)


def _half_turn(term: StatedTerm, signs: tuple[int, int, int]) -> StatedTerm:
    """The target's rotation, turned by half a turn about one of its own axes."""
    if term.kind not in _TURNED:
        return term
    return replaced(term, range(9), (term.data[:9].reshape(3, 3) * signs).ravel())
