"""Trajectories as programs of Universal Robots' controllers.

The program moves to the first configuration, then streams positions with `servoj`, one for each cycle, and stops. It
was not run on a real arm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from memetik.errors import InvalidInputError

if TYPE_CHECKING:
    from memetik.motion.timing.trajectory import Trajectory

JOINTS = 6
CYCLE = 0.008
"""Seconds between two positions: two cycles of an e-Series controller, one of the older ones."""

_LOOK_AHEAD, _GAIN = 0.05, 500
_TO_START = (0.6, 0.5)
"""Radians per second squared and per second of the motion to the first configuration."""


def to_urscript(trajectory: Trajectory, name: str = "memetik_motion") -> str:
    """The program: a function of this name, which a controller calls when it is sent."""
    if trajectory.dof != JOINTS:
        raise InvalidInputError(
            f"URScript moves {JOINTS} joints; the trajectory has {trajectory.dof}: {', '.join(trajectory.joint_names)}."
        )
    count = max(int(np.ceil(trajectory.duration / CYCLE)), 1)
    positions = trajectory.at(np.arange(1, count + 1) * CYCLE)
    acceleration, velocity = _TO_START
    lines = [
        f"def {name}():",
        f"  # {trajectory.duration:.3f} s; joints: {', '.join(trajectory.joint_names)}",
        f"  movej({_row(trajectory.start)}, a={acceleration}, v={velocity})",
        *(
            f"  servoj({_row(q)}, t={CYCLE}, lookahead_time={_LOOK_AHEAD}, gain={_GAIN})"
            for q in positions
        ),
        "  stopj(2.0)",
        "end",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _row(q: np.ndarray) -> str:
    return "[" + ", ".join(f"{value:.6f}" for value in q) + "]"
