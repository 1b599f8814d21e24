"""Collision along a straight motion in joint space, with a guarantee.

While q goes from q0 to q1 at constant speed (t from 0 to 1), no point of a body moves faster than

    v = sum over the axes k that carry it of  |dq_k| r_k   (turning axes),   |dq_k|   (sliding axes)

with r_k an upper bound, for all postures on the way, of the distance of the body's points from axis k: the lengths of
the placements between the axis and the body, the largest slides on the way, and the radius of the body.
Two bodies at distance d at time t thus stay apart for all times within d / v of t, with v over the axes that carry
only one of them. Intervals are proved free in this way, the middle of the largest unproved one first, until all of
[0, 1] is proved or a posture collides. Bodies that come closer than `tolerance` count as colliding: closer than that
nothing could be proved.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.errors import InvalidInputError
from memetik.robot.tree import CompiledTree

if TYPE_CHECKING:
    from memetik.scene.exact import CollisionModel
    from memetik.scene.layout import Layout

DEFAULT_TOLERANCE = 1e-4


@dataclass(frozen=True, slots=True)
class MotionCheck:
    """What is known about a motion.

    `free`: proved that at no time any checked pair comes closer than zero. Otherwise `collision` is a time in [0, 1]
    at which a pair comes closer than the tolerance, and `pair` its names. `checks` counts the postures looked at.
    """

    free: bool
    collision: float | None
    pair: tuple[str, str] | None
    checks: int

    def __bool__(self) -> bool:
        return self.free


def check_motion(
    model: CollisionModel, q0: Any, q1: Any, *, tolerance: float = DEFAULT_TOLERANCE, most_checks: int = 100_000
) -> MotionCheck:
    """Whether the straight motion from q0 to q1 is free of collision, proved for all postures on the way.

    tolerance: metres; bodies that come closer than this may count as colliding.
    most_checks: more postures are not looked at; the motion then counts as colliding, at the time that could not be
    proved.
    """
    if not 0.0 < tolerance < np.inf:
        raise InvalidInputError(
            f"tolerance= must be positive, not {tolerance!r}: at distance zero nothing can be proved."
        )
    robot = model.robot
    start, end = np.asarray(robot.check_q(q0), dtype=float), np.asarray(robot.check_q(q1), dtype=float)
    if start.shape != (robot.dof,) or end.shape != (robot.dof,):
        raise InvalidInputError(f"a motion goes from one posture of shape ({robot.dof},) to another.")
    speeds = pair_speeds(model, start, end)
    fastest = float(speeds.max(initial=0.0))
    unproved = [(-1.0, 0.0, 1.0)]
    checks = 0
    # The ends first: they are the likeliest to touch something, and cheap to ask.
    for time in (0.0, 1.0):
        checks += 1
        pair = model.colliding_pair(start + time * (end - start))
        if pair is not None:
            return MotionCheck(False, time, pair, checks)
    while unproved:
        _, low, high = heapq.heappop(unproved)
        time = 0.5 * (low + high)
        posture = start + time * (end - start)
        proved = model.least_time(posture, speeds)
        checks += 1
        if proved * fastest < tolerance or checks > most_checks:
            close = proved * fastest
            pair = model.colliding_pair(posture) or (model.closest(posture)[1] if close < tolerance else None)
            return MotionCheck(False, time, pair, checks)
        for left, right in ((low, time - proved), (time + proved, high)):
            if right > left:
                heapq.heappush(unproved, (left - right, left, right))
    return MotionCheck(True, None, None, checks)


def pair_speeds(model: CollisionModel, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """(pairs,) upper bounds of the speed at which the points of each checked pair approach, metres per unit of time."""
    tree, layout = model.tree, model.layout
    if not len(tree.parents) or not len(layout.first):
        return np.zeros(len(layout.first))
    if layout.levers is None:
        layout.levers = Levers(layout, tree)
    return layout.levers.speeds(q0, q1)


class Levers:
    """How far bodies reach from the axes that carry them: the part of the bounds that no posture changes."""

    def __init__(self, layout: Layout, tree: CompiledTree):
        count = len(tree.parents)
        self._tree = tree
        self._sliding = tree.prismatic.astype(bool)
        self._lengths = np.zeros((len(layout.bodies), count))
        # (bodies, axes, axes): whether the slide of the last axis lies between the first one and the body.
        self._between = np.zeros((len(layout.bodies), count, count))
        carried = np.zeros((len(layout.bodies), count), dtype=bool)
        for index, body in enumerate(layout.bodies[: layout.moving]):
            length = body.geometry.radius + float(np.linalg.norm(body.origin[:3, 3]))
            length += float(np.linalg.norm(tree.link_placements[body.link][:, 3]))
            axis, passed = int(tree.link_axes[body.link]), []
            while axis >= 0:
                passed.append(axis)
                carried[index, axis] = True
                self._lengths[index, axis] = length
                self._between[index, axis, passed] = self._sliding[passed]
                length += float(np.linalg.norm(tree.placements[axis][:, 3]))
                axis = int(tree.parents[axis])
        self._first, self._second = layout.first, layout.second
        # An axis that carries both bodies moves them as one: seen from it, neither approaches the other.
        self._parts = carried[self._first] != carried[self._second]
        self._carried = carried

    def speeds(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """(pairs,) the bounds for a motion from q0 to q1."""
        tree = self._tree
        rates = np.abs(tree.multipliers * (q1 - q0)[tree.variables])
        ends = [np.abs(tree.multipliers * q[tree.variables] + tree.offsets) for q in (q0, q1)]
        reach = self._lengths + self._between @ np.maximum(*ends)
        terms = np.where(self._carried, rates * np.where(self._sliding, 1.0, reach), 0.0)
        return np.where(self._parts, terms[self._first] + terms[self._second], 0.0).sum(axis=1)
