"""Reaching into a hollow body through its opening, which nobody has to point out.

A target inside a body is reached through the body's opening (`memetik.scene.openings`). The search for it is short
where the robot's thin end is asked to pass through that point: the same goals, and one more, a Pivot. Its answer is an
answer; where there is none, the search goes on without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from memetik.goals.base import MUST, Goal
from memetik.goals.compiler import OpenTarget
from memetik.goals.pivot import Pivot
from memetik.goals.pose import Pose, Position
from memetik.goals.scan import Scan
from memetik.robot.robot import Robot
from memetik.solve.confinement import Confinement

LEAST_TOLERANCE = 1e-3
"""Metres by which the robot may miss the middle of a narrow opening."""

CLASSES = 1.25
"""Openings whose radii differ by less than this factor share a compiled problem."""


class Guides:
    """Problems with one more goal, that the robot pass through an opening; compiled when first needed.

    compiled(goals) gives the core's problem of these goals. Its last open target is the opening's middle (3,).
    """

    def __init__(
        self,
        robot: Robot,
        goals: Sequence[Goal],
        targets: Sequence[OpenTarget],
        confinement: Confinement,
        compiled: Callable[[Sequence[Goal]], Any],
    ):
        self._robot, self._goals, self._confinement, self._compiled = robot, goals, confinement, compiled
        self._aim = _aim(goals, targets)
        self._made: dict[int, Any] = {}

    def find(self, targets: Sequence[np.ndarray]) -> tuple[Any, np.ndarray] | None:
        """The problem and the point to solve first for these open targets; None where no opening is in the way."""
        if self._aim is None or not self._confinement.has_openings:
            return None
        index, target = self._aim
        if index is not None:
            target = targets[index] if index < len(targets) else None
            if not isinstance(target, np.ndarray) or target.dtype != float or target.shape not in ((4, 4), (3,)):
                return None  # it has to be mended first
        opening = self._confinement.opening_behind(target[:3, 3] if target.shape == (4, 4) else target)
        if opening is None:
            return None
        size = int(np.floor(np.log(opening.radius) / np.log(CLASSES)))
        if size not in self._made:
            self._made[size] = self._guide(CLASSES**size)
        guide = self._made[size]
        return None if guide is None else (guide, np.ascontiguousarray(opening.point))

    def _guide(self, radius: float) -> Any:
        goal = next(goal for goal in self._goals if isinstance(goal, Pose | Position | Scan))
        thickness = self._confinement.tight.thickness()
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


def _aim(goals: Sequence[Goal], targets: Sequence[OpenTarget]) -> tuple[int | None, np.ndarray] | None:
    """Where the robot is to reach: the number of an open target, or a fixed pose or point; None where nothing says."""
    for number, goal in enumerate(goals):
        if not isinstance(goal, Pose | Position | Scan) or goal.priority > MUST or goal.relative_to is not None:
            continue
        place = goal.point if isinstance(goal, Scan) else goal.target
        if place is not None:
            return None, np.asarray(place)
        return next(k for k, target in enumerate(targets) if target.goal == number), np.zeros(3)
    return None
