"""Reaching into a hollow body through its opening, which nobody has to point out.

A target inside a body is reached through the body's opening (`memetik.geometry.openings`). The search for it is short
where the robot's thin end is asked to pass through that point: the same goals, and one more, a Pivot. Its solution is a
solution; where there is none, the search goes on without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from memetik import _core
from memetik.goals.base import HARD, Goal
from memetik.goals.compiler import OpenTarget
from memetik.goals.pivot import Pivot
from memetik.goals.pose import Pose, Position
from memetik.goals.viewpoint import Viewpoint
from memetik.solve.inputs import Array

if TYPE_CHECKING:
    from memetik.solve.problem import Problem

LEAST_TOLERANCE = 1e-3
"""Metres by which the robot may miss the middle of a narrow opening."""

CLASSES = 1.25
"""Openings whose radii differ by less than this factor share a compiled problem."""


class OpeningGuides:
    """Problems with one more goal, that the robot pass through an opening; compiled when first needed.

    compiled(goals) gives the core's problem of these goals. Its last open target is the opening's middle (3,).
    """

    def __init__(self, problem: Problem, compiled: Callable[[Sequence[Goal]], _core.Problem]):
        assert problem.collision_context is not None
        self._robot, self._goals, self._collision_context = problem.robot, problem.goals, problem.collision_context
        self._compiled, self._aim = compiled, _aim(problem.goals, problem.open_targets)
        self._made: dict[int, _core.Problem | None] = {}

    def find(self, targets: Sequence[Array]) -> tuple[_core.Problem, Array] | None:
        """The problem and the point to solve first for these open targets; None where no opening is in between."""
        if self._aim is None or not self._collision_context.has_openings:
            return None
        target = targets[self._aim] if isinstance(self._aim, int) else self._aim
        opening = self._collision_context.opening_behind(target[:3, 3] if target.shape == (4, 4) else target)
        if opening is None:
            return None
        size = int(np.floor(np.log(opening.radius) / np.log(CLASSES)))
        if size not in self._made:
            self._made[size] = self._guide(CLASSES**size)
        guide = self._made[size]
        return None if guide is None else (guide, np.ascontiguousarray(opening.point))

    def _guide(self, radius: float) -> _core.Problem | None:
        goal = next(goal for goal in self._goals if isinstance(goal, Pose | Position | Viewpoint))
        thickness = self._collision_context.tight.thickness()
        chain: list[str] = []
        for link in (goal.link, *self._robot.ancestors(goal.link)):
            if thickness.get(link, 0.0) >= radius:
                break
            chain.insert(0, link)
        if len(chain) < 2 or not self._robot.moves(chain[-1]).any():
            return None
        room = radius - max(thickness.get(link, 0.0) for link in chain)
        pivot = Pivot(chain, tolerance=max(LEAST_TOLERANCE, 0.5 * room), name="opening")
        return self._compiled((*self._goals, pivot))


def _aim(goals: Sequence[Goal], targets: Sequence[OpenTarget]) -> int | Array | None:
    """Where the robot is to reach: the number of an open target, or a fixed pose or point; None where nothing says."""
    for number, goal in enumerate(goals):
        if not isinstance(goal, Pose | Position | Viewpoint) or goal.priority > HARD or goal.relative_to is not None:
            continue
        place = goal.point if isinstance(goal, Viewpoint) else goal.target
        if place is not None:
            return np.asarray(place)
        return next(k for k, target in enumerate(targets) if target.goal == number)
    return None
