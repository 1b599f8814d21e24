"""Any method of inverse kinematics as the first stage of planning."""

from __future__ import annotations

import numpy as np
import pytest

import memetik as mk


@pytest.mark.parametrize("method", ["memetic", "bio2", "pick"])
def test_configurations_come_from_the_method_that_was_asked_for(ur5, method):
    start = np.array([0.0, -1.2, 1.4, -1.0, -1.5, 0.0])
    goal = ur5.pose(ur5.tip, start + 0.2)
    plan = mk.plan(ur5, [mk.Pose(ur5.tip, goal)], start=start, method=method, ik_timeout=2.0, candidates=2)
    assert plan.success, plan.explain()
    np.testing.assert_allclose(ur5.pose(ur5.tip, plan.goal), goal, atol=1e-3)


def test_a_method_that_does_not_exist_is_refused(ur5):
    with pytest.raises(mk.MemetikError, match="bio3"):
        mk.plan(ur5, [mk.Pose(ur5.tip, ur5.pose(ur5.tip, ur5.neutral))], method="bio3")
