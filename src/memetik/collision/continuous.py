"""Collision along a straight motion in joint space, with a guarantee.

While q goes from q0 to q1 at constant speed (t from 0 to 1), no point of a body moves faster than

    v = sum over the axes k that carry it of  |dq_k| r_k   (revolute axes),   |dq_k|   (prismatic axes)

with r_k an upper bound, for all configurations on the path, of the distance of the body's points from axis k: the
lengths of the placements between the axis and the body, the largest slides on the path, and the body's radius.
Two bodies at distance d at time t thus stay apart for all times within d / v of t, with v over the axes that carry
only one of them. Intervals are proved free in this way, the middle of the largest unproved one first, until all of
[0, 1] is proved or a configuration collides. Clearances below `tolerance` cannot be certified and count as collision.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from memetik.collision.lever_arms import LeverArms
from memetik.errors import InvalidInputError

if TYPE_CHECKING:
    from memetik.collision.exact import CollisionModel

DEFAULT_TOLERANCE = 1e-4


@dataclass(frozen=True, slots=True)
class MotionCheck:
    """What is known about a motion.

    `free`: proved that at no time any checked pair comes closer than zero. Otherwise `collision` is a time in [0, 1]
    at which a pair comes closer than the tolerance, and `pair` its names. `checks` counts the configurations that
    were checked.
    """

    free: bool
    collision: float | None
    pair: tuple[str, str] | None
    checks: int

    def __bool__(self) -> bool:
        return self.free


def check_motion(
    model: CollisionModel,
    q0: ArrayLike,
    q1: ArrayLike,
    *,
    tolerance: float = DEFAULT_TOLERANCE,
    most_checks: int = 100_000,
) -> MotionCheck:
    """Whether the straight motion from q0 to q1 is free of collision, proved for all configurations on the path.

    tolerance: metres; clearances below it cannot be certified and may count as collision.
    most_checks: more configurations are not checked; the motion then counts as colliding, at the time that could not
    be certified.
    """
    if not 0.0 < tolerance < np.inf:
        raise InvalidInputError(f"tolerance= must be positive, not {tolerance!r}: a contact cannot be certified.")
    robot = model.robot
    start, end = np.asarray(robot.check_q(q0), dtype=float), np.asarray(robot.check_q(q1), dtype=float)
    if start.shape != (robot.dof,) or end.shape != (robot.dof,):
        raise InvalidInputError(f"a motion goes from one configuration of shape ({robot.dof},) to another.")
    speeds = pair_speeds(model, start, end)
    fastest = float(speeds.max(initial=0.0))
    unproved = [(-1.0, 0.0, 1.0)]
    checks = 0
    # The ends first: they are the likeliest to collide, and cheap to check.
    for time in (0.0, 1.0):
        checks += 1
        pair = model.colliding_pair(start + time * (end - start))
        if pair is not None:
            return MotionCheck(False, time, pair, checks)
    while unproved:
        _, low, high = heapq.heappop(unproved)
        time = 0.5 * (low + high)
        q = start + time * (end - start)
        proved = model.least_time(q, speeds)
        checks += 1
        if proved * fastest < tolerance or checks > most_checks:
            pair = model.colliding_pair(q) or (model.closest(q)[1] if proved * fastest < tolerance else None)
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
    if layout.lever_arms is None:
        links = [body.link for body in layout.bodies]  # -1 in the world
        radii = [body.geometry.radius + float(np.linalg.norm(body.origin[:3, 3])) for body in layout.bodies]
        layout.lever_arms = LeverArms(tree, links, radii)
    arms = layout.lever_arms
    ends = [np.abs(tree.multipliers * q[tree.variables] + tree.offsets) for q in (q0, q1)]
    speeds = np.abs(tree.multipliers * (q1 - q0)[tree.variables]) * arms.reach(np.maximum(*ends))
    # An axis that carries both bodies moves them as one: seen from it, neither approaches the other.
    parts = arms.carried[layout.first] != arms.carried[layout.second]
    return np.where(parts, speeds[layout.first] + speeds[layout.second], 0.0).sum(axis=1)
