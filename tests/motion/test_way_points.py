"""Motions through waypoints, in one call."""

from __future__ import annotations

import numpy as np
import pytest

import memetik as mk
from memetik.motion.planning.free_space import space_for
from memetik.motion.planning.proofs import certify

START = np.array([0.0, -1.4, 1.6, -1.77, -1.57, 0.0])
GOAL = START + np.array([1.5, 0.0, 0.0, 0.0, 0.0, 0.0])
POINT = START + np.array([0.7, -0.3, -0.5, 0.2, 0.0, 0.4])


@pytest.fixture(scope="module")
def ur5() -> mk.Robot:
    return mk.load_robot("ur5")


@pytest.fixture
def scene() -> mk.Scene:
    scene = mk.Scene()
    scene.add_box("table", (1.0, 1.0, 0.02), mk.transform((0.6, 0.0, -0.05)))
    return scene


def motion(plan: mk.Plan) -> mk.Trajectory:
    assert plan.trajectory is not None
    return plan.trajectory


def nearest(plan: mk.Plan, q: np.ndarray) -> tuple[float, float]:
    """By how much the joints miss q at best, and when."""
    t = np.linspace(0.0, plan.duration, 20_000)
    off = np.abs(motion(plan).at(t) - q).max(axis=1)
    return float(off.min()), float(t[off.argmin()])


@pytest.mark.parametrize("timing", ["smooth", "blends", "spline", "ruckig"])
def test_way_points_are_passed_in_their_order(ur5, scene, timing):
    place = mk.Position(ur5.tip, (0.3, 0.45, 0.4))
    plan = mk.plan(
        ur5, GOAL, scene, START, via=[POINT, [place], ur5.q({"elbow_joint": 0.9}, default=POINT)], timing=timing
    )
    assert plan.success
    assert plan.via is not None
    assert plan.via.shape == (3, 6)
    missed, times = zip(*(nearest(plan, q) for q in plan.via), strict=True)
    assert max(missed) <= 0.02 * 1.01
    assert list(times) == sorted(times)
    assert np.linalg.norm(ur5.pose(ur5.tip, plan.via[1])[:3, 3] - place.target) < 1e-4
    np.testing.assert_allclose(motion(plan).end, GOAL, atol=1e-9)
    assert certify(motion(plan), space_for(ur5, scene)).free


def test_the_tolerance_is_kept_and_the_arm_does_not_stop(ur5, scene):
    wide, narrow = (mk.plan(ur5, GOAL, scene, START, via=[POINT], via_tolerance=off) for off in (0.05, 0.002))
    assert nearest(wide, POINT)[0] <= 0.0505
    assert nearest(narrow, POINT)[0] <= 0.00202
    assert wide.duration < narrow.duration
    around = nearest(wide, POINT)[1] + np.linspace(-0.1, 0.1, 50)
    assert np.linalg.norm(motion(wide).velocity(around), axis=1).min() > 0.1


def test_a_way_there_and_back_is_a_motion(ur5, scene):
    plan = mk.plan(ur5, START, scene, START, via=[POINT])
    assert plan.success
    assert plan.duration > 0.5
    assert nearest(plan, POINT)[0] < 0.0202
    assert motion(mk.plan(ur5, START, scene, START, via=[START])).peaks(1).max() < 1e-9


def test_a_way_point_that_collides_is_named(ur5, scene):
    scene.add_sphere("ball", 0.1, ur5.pose(ur5.tip, POINT))
    plan = mk.plan(ur5, GOAL, scene, START, via=[START + 0.01, POINT])
    assert (plan.success, plan.stage, plan.reason) == (False, "configurations", "goal in collision")
    assert plan.detail.startswith("Waypoint 2:")
    assert "'ball'" in plan.detail
