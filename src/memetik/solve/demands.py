"""How many independent things the hard goals demand, and how many of them the joints can meet at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from memetik import _core
from memetik.solve.hard_terms import BoundTerm, HardTerms

SAMPLES = 8
"""Random configurations at which the rank of the hard goals' Jacobian is looked at; the largest counts."""

RANK_TOLERANCE = 1e-6
"""Singular values below this share of the largest one count as zero."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """The hard goals demand more than the joints can do in any but special cases. Where there is no joint at all there
    are no such cases."""

    joints: int
    position: int
    orientation: int
    values: int
    rank: int

    @property
    def sentence(self) -> str:
        demands = self.position + self.orientation + self.values
        missing = demands - self.rank
        if self.joints == 0:
            return f"No joint is free to move, and {_count(demands, 'demand')} must be met: free joints"
        in_general = f", and {self.rank} of them in general" if self.joints >= demands else ""
        return (
            f"{_count(self.joints, 'joint')} can meet {_count(demands, 'demand')} in special cases only{in_general}: "
            f"{self._advice(missing)}"
        )

    def _advice(self, missing: int) -> str:
        if self.orientation >= missing:
            if missing >= min(self.orientation, 3):
                return "free the orientation"
            return f"free {'one axis' if missing == 1 else f'{missing} axes'} of the orientation"
        if self.orientation:
            return "free the orientation and ask for less of the positions"
        return "ask for less, or give ranges instead of values"


def shortage_of(hard: HardTerms) -> Shortage | None:
    """Whether the hard goals demand more than the joints can do; None where the joints suffice, or nothing is known.

    Demands that one frame can meet at once count once: three for its position, three for its orientation. What has
    room, such as a range, is no demand. The rank is that of the hard goals' Jacobian at random configurations.
    """
    demanding = [(term, _demands(term, hard)) for term in hard.terms]
    demanding = [(term, count) for term, count in demanding if sum(count)]
    if not demanding:
        return None
    position, orientation, values = _totals(demanding)
    # Weights say what is more important, not what is possible.
    terms = tuple(replace(term, spec=term.spec.replace(weight=1.0)) for term, _ in demanding)
    problem = replace(hard, terms=terms, collision_context=None).compiled()
    joints = len(problem.variables)
    rank = _rank(problem, hard)
    if rank >= position + orientation + values:
        return None
    return Shortage(joints, position, orientation, values, rank)


def _rank(problem: _core.Problem, hard: HardTerms) -> int:
    entries = problem.variables
    if not entries:
        return 0
    drawn = hard.robot.random(0, SAMPLES)[:, entries]
    _, jacobians = problem.evaluate((), hard.q, np.ascontiguousarray(drawn))
    values = np.linalg.svd(jacobians, compute_uv=False)
    return int((values > RANK_TOLERANCE * values.max(initial=1e-300)).sum(axis=1).max())


def _totals(demanding: list[tuple[BoundTerm, tuple[int, int, int]]]) -> tuple[int, int, int]:
    frames: dict[tuple[int, int], list[int]] = {}
    entries: set[int] = set()
    position = 0
    for term, (places, turns, values) in demanding:
        if values:
            entries.update(term.spec.entries)
        elif term.spec.frame < 0:
            position += places
        else:
            own = frames.setdefault((term.spec.frame, term.spec.reference), [0, 0])
            own[0], own[1] = min(3, own[0] + places), min(3, own[1] + turns)
    position += sum(own[0] for own in frames.values())
    return position, sum(own[1] for own in frames.values()), len(entries)


def _demands(term: BoundTerm, hard: HardTerms) -> tuple[int, int, int]:
    """Demands on position, orientation and joint values that leave no room."""
    count, aspect = term.spec.demands, _core.term_traits(term.spec.kind).aspect
    if aspect == _core.TermAspect.joints:
        return 0, 0, sum(entry in hard.variables for entry in term.spec.entries) if count else 0
    return (0, count, 0) if aspect == _core.TermAspect.orientation else (count, 0, 0)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
