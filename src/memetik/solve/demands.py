"""How many independent things the musts demand, and how many of them the joints can meet at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from memetik.goals.base import Kind
from memetik.solve.statement import StatedTerm, Statement

SAMPLES = 8
"""Random postures at which the rank of the musts' Jacobian is looked at; the largest counts."""

RANK_TOLERANCE = 1e-6
"""Singular values below this share of the largest one count as zero."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """The musts demand more than the joints can do in any but special postures."""

    joints: int
    position: int
    orientation: int
    values: int
    rank: int

    @property
    def sentence(self) -> str:
        demands = self.position + self.orientation + self.values
        missing = demands - self.rank
        able = f"can meet only {self.rank} of" if self.joints >= demands else "cannot meet"
        return f"{_count(self.joints, 'joint')} {able} {_count(demands, 'demand')}: {self._advice(missing)}"

    def _advice(self, missing: int) -> str:
        if self.orientation >= missing:
            if missing >= min(self.orientation, 3):
                return "free the orientation"
            return f"free {'one axis' if missing == 1 else f'{missing} axes'} of the orientation"
        if self.orientation:
            return "free the orientation and ask for less of the positions"
        return "ask for less, or give ranges instead of values"


def shortage_of(statement: Statement) -> Shortage | None:
    """Whether the musts demand more than the joints can do; None where the joints suffice, or nothing is known.

    Demands that one frame can meet together count once: three for its position, three for its orientation. What has
    room, such as a range, is no demand. The rank is that of the musts' Jacobian at random postures.
    """
    demanding = [(term, _demands(term, statement)) for term in statement.terms]
    demanding = [(term, count) for term, count in demanding if sum(count)]
    if not demanding:
        return None
    position, orientation, values = _totals(demanding)
    # Weights say what is more important, not what is possible.
    terms = tuple(replace(term, weight=1.0) for term, _ in demanding)
    problem = replace(statement, terms=terms, confinement=None).compiled()
    joints = len(problem.variables)
    rank = _rank(problem, statement)
    if rank >= position + orientation + values:
        return None
    return Shortage(joints, position, orientation, values, rank)


def _rank(problem: object, statement: Statement) -> int:
    entries = list(problem.variables)  # type: ignore[attr-defined]
    if not entries:
        return 0
    postures = statement.robot.random(0, SAMPLES)[:, entries]
    _, jacobians = problem.evaluate((), statement.q, np.ascontiguousarray(postures))  # type: ignore[attr-defined]
    values = np.linalg.svd(jacobians, compute_uv=False)
    return int((values > RANK_TOLERANCE * values.max(initial=1e-300)).sum(axis=1).max())


def _totals(demanding: list[tuple[StatedTerm, tuple[int, int, int]]]) -> tuple[int, int, int]:
    frames: dict[tuple[int, int], list[int]] = {}
    entries: set[int] = set()
    position = 0
    for term, (places, turns, values) in demanding:
        if values:
            entries.update(term.entries)
        elif term.frame < 0:
            position += places
        else:
            own = frames.setdefault((term.frame, term.reference), [0, 0])
            own[0], own[1] = min(3, own[0] + places), min(3, own[1] + turns)
    position += sum(own[0] for own in frames.values())
    return position, sum(own[1] for own in frames.values()), len(entries)


def _demands(term: StatedTerm, statement: Statement) -> tuple[int, int, int]:
    """Demands on position, orientation and joint values that leave no room."""
    count = _COUNTS.get(term.kind)
    if count is None:
        return 0, 0, 0
    places, turns = count(term.data)
    if term.kind != Kind.JOINTS:
        return places, turns, 0
    return 0, 0, sum(entry in statement.variables for entry in term.entries) if places else 0


def _tight(lower: np.ndarray, upper: np.ndarray) -> int:
    return int((upper - lower <= 1e-3).sum())


_COUNTS: dict[Kind, Callable[[np.ndarray], tuple[int, int]]] = {
    Kind.POINT: lambda d: (_tight(d[12:15], d[15:18]), 0),
    Kind.ROTATION: lambda d: (0, 3),
    Kind.ROTATION_RANGE: lambda d: (0, _tight(d[9:12], d[12:15])),
    Kind.SWING_RANGE: lambda d: (0, min(2, _tight(d[12:15], d[15:18]))),
    Kind.ALIGN: lambda d: (0, 2),
    Kind.TWIST: lambda d: (0, _tight(d[12:13], d[13:14])),
    Kind.CONE: lambda d: (0, _tight(d[6:7], d[7:8])),
    Kind.LOOK_AT: lambda d: (0, 2),
    Kind.LINE: lambda d: (2, 0),
    Kind.PLANE: lambda d: (_tight(d[6:7], d[7:8]), 0),
    Kind.DISTANCE: lambda d: (_tight(d[3:4], d[4:5]), 0),
    Kind.ROLL_PITCH_YAW: lambda d: (0, _tight(d[3:6], d[6:9])),
    Kind.PIVOT: lambda d: (2 if d[4] - d[3] > 1e-3 else 3, 0),
    Kind.PIVOT_CHAIN: lambda d: (2, 0),
    Kind.POINT_DISTANCE: lambda d: (_tight(d[4:5], d[5:6]), 0),
    Kind.TOUCH: lambda d: (1, 0),
    Kind.PROJECT_POINT: lambda d: (1, 0),
    Kind.PROJECT_AXIS: lambda d: (0, 2),
    Kind.BALANCE: lambda d: (1 if d[6:9].any() else 2, 0),
    Kind.JOINTS: lambda d: (_tight(d[2::4], d[3::4]), 0),
}


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
