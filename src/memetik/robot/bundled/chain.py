"""Serial chains of any length up to 200 joints, for studies of scale.

The chain stands along z; every joint is followed by a rod of equal length, and the joints turn about the given axes in
rotation. All dimensions and limits are chosen here; the whole chain reaches `reach` metres whatever its length.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from memetik.errors import InvalidInputError
from memetik.robot.bundled.builder import AXES, arm, body, capsule, fixed, joint
from memetik.robot.description import Description

MOST = 200


def describe(
    joints: int = 15, reach: float = 1.5, limit: float = math.pi / 2, axes: Sequence[str] = ("z", "y", "x")
) -> Description:
    """A chain of `joints` joints that turn by up to `limit` to both sides about `axes` in rotation."""
    if isinstance(joints, bool) or not isinstance(joints, int) or not 1 <= joints <= MOST:
        raise InvalidInputError(f"a chain has a whole number of joints from 1 to {MOST}, not {joints!r}.")
    if not 0.0 < reach < math.inf or not 0.0 < limit < math.inf:
        raise InvalidInputError(f"reach and limit of a chain are positive numbers, not {reach!r} and {limit!r}.")
    if not axes or any(axis not in AXES for axis in axes):
        raise InvalidInputError(f"axes of a chain are some of 'x', 'y' and 'z', not {axes!r}.")
    length = reach / joints
    radius = min(0.25 * length, 0.03)
    # the rods end short of the joints, so that only neighbours come near each other in a bend
    rod = capsule((0, 0, radius), (0, 0, length - radius), radius)
    links = [body("base")]
    links += [body(f"link_{i}", rod, mass=1200.0 * math.pi * radius**2 * length) for i in range(1, joints + 1)]
    links.append(body("tip"))
    moving = [
        joint("revolute", f"joint_{i}", links[i - 1].name, links[i].name, (0.0, 0.0, length if i > 1 else 0.0),
              axis=AXES[axis], limits=(-limit, limit), velocity=math.pi)
        for i, axis in zip(range(1, joints + 1), itertools.cycle(axes))
    ]  # fmt: skip
    moving.append(fixed("tip_joint", f"link_{joints}", "tip", (0.0, 0.0, length)))
    parts = arm(links, moving, group="chain", tip="tip", effector="tip", straight=[0.0] * joints)
    if limit <= math.pi / 2:
        # bent by two right angles to one side, rods next but one lie parallel, a rod's length apart
        parts.never = [(f"link_{i}", f"link_{i + 2}") for i in range(1, joints - 1)]
    return parts.description(f"chain{joints}", f"a chain of {joints} joints, all dimensions chosen here")
