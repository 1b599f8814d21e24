"""Curves through a path's points stay within the position limits that the points keep."""

from __future__ import annotations

import numpy as np
import pytest

import memetik as mk
from memetik.motion.timing.timing import time_path


@pytest.mark.parametrize("method", ["blends", "spline", "toppra"])
def test_curves_do_not_swing_beyond_the_position_limits(method):
    robot = mk.load_robot("ur5")
    near = robot.upper[2] - 0.002  # a corner close to a limit, approached and left fast
    points = np.tile(robot.state("ready"), (4, 1))
    points[:, 2] = near - 0.4, near, near - 0.05, near - 0.5
    points[:, 0] += (0.0, 0.05, 0.1, 0.2)
    trajectory = time_path(robot, points, method=method, timeout=20.0)
    rows = trajectory.at(np.linspace(0.0, trajectory.duration, 5000))
    assert (rows[:, 2] <= robot.upper[2] + 1e-6).all()
    assert np.abs(rows[:, 2] - near).min() < 0.2  # it still goes there
