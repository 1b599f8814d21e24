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
from memetik.robot.tree import CompiledTree, compile_tree

if TYPE_CHECKING:
    from memetik.scene.exact import CollisionModel

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
    layout, tree = model.layout, compile_tree(model.robot.description)
    terms = np.zeros((len(layout.bodies), len(tree.parents)))
    slides = _largest_slides(tree, q0, q1)
    rates = np.abs(tree.multipliers * (q1 - q0)[tree.variables]) if len(tree.parents) else np.zeros(0)
    for index, body in enumerate(layout.bodies[: layout.moving]):
        reach = body.geometry.radius + float(np.linalg.norm(body.origin[:3, 3]))
        reach += float(np.linalg.norm(tree.link_placements[body.link][:, 3]))
        axis = int(tree.link_axes[body.link])
        while axis >= 0:
            reach += slides[axis]
            terms[index, axis] = rates[axis] * (1.0 if tree.prismatic[axis] else reach)
            reach += float(np.linalg.norm(tree.placements[axis][:, 3]))
            axis = int(tree.parents[axis])
    first, second = terms[layout.first], terms[layout.second]
    # An axis that carries both moves them as one: seen from it, neither approaches the other.
    common = (_carried(layout, tree)[layout.first]) & (_carried(layout, tree)[layout.second])
    return np.where(common, 0.0, first + second).sum(axis=1)


def _largest_slides(tree: CompiledTree, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """(axes,) how far each sliding axis is out at most on the way; zero for turning ones."""
    if not len(tree.parents):
        return np.zeros(0)
    ends = [np.abs(tree.multipliers * q[tree.variables] + tree.offsets) for q in (q0, q1)]
    return np.where(tree.prismatic.astype(bool), np.maximum(*ends), 0.0)


def _carried(layout: Any, tree: CompiledTree) -> np.ndarray:
    """(bodies, axes) whether an axis carries a body."""
    carried = np.zeros((len(layout.bodies), len(tree.parents)), dtype=bool)
    for index, body in enumerate(layout.bodies[: layout.moving]):
        axis = int(tree.link_axes[body.link])
        while axis >= 0:
            carried[index, axis] = True
            axis = int(tree.parents[axis])
    return carried
