"""Plans as results: what they tell, and how the stages pass on what they found."""

from __future__ import annotations

import json

import numpy as np
import pytest

import memetik as mk
from memetik.errors import InvalidInputError
from memetik.motion.planning.pipeline import Planner
from memetik.motion.planning.plan import REASONS, STAGES, Plan
from memetik.motion.timing.limits import MotionLimits

pytest.importorskip("coal")


@pytest.fixture
def walled() -> mk.Scene:
    """A wall at x = 0 with a gap above y = 0.5."""
    scene = mk.Scene()
    scene.add_box("wall", (0.1, 3.0, 0.2), mk.transform((0.0, -1.0, 0.0)))
    return scene


A, B = np.array([-1.0, 0.0]), np.array([1.0, 0.0])


def test_a_motion_around_a_wall_is_planned_and_told(gantry, walled):
    plan = mk.plan(gantry, B, scene=walled, start=A, path_timeout=30.0)
    assert plan
    assert (plan.stage, plan.reason) == ("done", "solved")
    np.testing.assert_array_equal(plan.path[[0, -1]], [A, B])
    np.testing.assert_array_equal(plan.goal, B)
    assert plan.length >= 2.0 * np.hypot(0.95, 0.55) - 0.01
    assert plan.length == pytest.approx(np.linalg.norm(np.diff(plan.path, axis=0), axis=1).sum())
    assert plan.duration == plan.trajectory.duration
    q = plan.trajectory.at(np.linspace(0.0, plan.duration, 2000))
    crossing = q[np.abs(q[:, 0]) < 0.05]
    assert len(crossing)
    assert crossing[:, 1].min() > 0.55 - 1e-6  # the ball's 0.05 above the wall's end
    assert list(plan.times) == ["start", "configurations", "path", "timing"]
    assert plan.time == pytest.approx(sum(plan.times.values()))
    text = plan.explain()
    assert text.startswith(f"planned: {plan.duration:.3f} s of motion (solved).")
    assert "straight motion: blocked" in text
    assert repr(plan).startswith("<Plan: ")


def test_a_margin_is_kept_along_the_whole_motion(gantry, walled):
    plan = mk.plan(gantry, B, scene=walled, start=A, margin=0.1, path_timeout=30.0)
    assert plan.success, plan.explain()
    q = plan.trajectory.at(np.linspace(0.0, plan.duration, 1000))
    distance = [mk.CollisionModel(gantry, walled).distance(row) for row in q[::5]]
    assert min(distance) >= 0.1 - 1e-6


def test_a_plan_is_plain_data(gantry):
    plan = mk.plan(gantry, B, start=A)
    data = json.loads(json.dumps(plan.to_dict()))
    assert data["robot"] == "gantry"
    assert data["success"] is True
    assert data["joint_names"] == ["x", "y"]
    assert data["start"] == A.tolist()
    assert data["goal"] == B.tolist()
    assert data["duration"] == plan.duration
    assert data["path"] == plan.path.tolist()
    assert data["trajectory"]["schema"] == "memetik.trajectory/1"
    assert data["fraction"] == 1.0


def test_a_failed_plan_has_nothing_to_save_and_says_why(gantry, tmp_path):
    plan = Plan(gantry, A, stage="path", reason="no path found in time", detail="From here to there.")
    assert not plan
    assert plan.duration == plan.length == float("inf")
    assert plan.explain() == "not planned, stage 'path' (no path found in time). From here to there."
    assert repr(plan) == "<Plan: failed in stage 'path': no path found in time>"
    data = plan.to_dict()
    assert (data["trajectory"], data["path"], data["goal"], data["duration"]) == (None, None, None, None)
    with pytest.raises(InvalidInputError, match="no trajectory to save: no path found in time"):
        plan.save(tmp_path / "plan.json")


def test_a_plan_is_saved_as_its_trajectory(gantry, tmp_path):
    plan = mk.plan(gantry, B, start=A)
    plan.save(tmp_path / "plan.json")
    assert mk.Trajectory.load(tmp_path / "plan.json") == plan.trajectory


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_start_a_hair_outside_its_limits_is_taken_and_one_farther_out_is_not(gantry, sign):
    start = np.array([sign * (2.0 + 5e-7), 0.0])
    plan = mk.plan(gantry, np.zeros(2), start=start)
    assert plan.success
    assert abs(plan.start[0]) == 2.0
    refused = mk.plan(gantry, np.zeros(2), start=np.array([sign * 2.001, 0.0]))
    assert refused.reason == "start outside limits"
    assert "joint 'x' is at" in refused.detail
    assert "limits are -2 to 2" in refused.detail
    goal = mk.plan(gantry, np.array([0.0, sign * 2.001]), start=np.zeros(2))
    assert (goal.stage, goal.reason) == ("configurations", "goal outside limits")
    assert "joint 'y'" in goal.detail


def test_goals_that_cannot_be_are_left_out_and_told(gantry, walled):
    goals = np.array([[0.0, 0.0], [9.0, 0.0], [-0.5, 0.5]])
    plan = mk.plan(gantry, goals, scene=walled, start=A)
    assert plan.success
    np.testing.assert_array_equal(plan.goal, goals[2])
    assert len(plan.candidates) == 1
    assert any("goal 1: At the goal 'ball' and 'wall' are in collision" in line for line in plan.tried)
    assert any("goal 2: At the goal joint 'x'" in line for line in plan.tried)


def test_candidates_are_ordered_by_the_time_to_them(gantry):
    goals = np.array([[1.5, 0.0], [0.2, 0.1], [1.0, 1.0]])
    plan = mk.plan(gantry, goals, start=np.zeros(2))
    np.testing.assert_array_equal(plan.candidates, goals[[1, 2, 0]])


def test_a_goal_by_names_leaves_the_other_joints_where_they_are(gantry):
    plan = mk.plan(gantry, {"y": 0.5}, start=np.array([0.3, 0.0]))
    np.testing.assert_array_equal(plan.goal, [0.3, 0.5])
    named = mk.plan(gantry, B, start={"x": -1.0})
    assert named.start[0] == -1.0


def test_the_scales_of_a_plan_are_those_of_its_limits(gantry):
    slow = mk.plan(gantry, B, start=A, velocity_scale=0.5, acceleration_scale=0.25)
    assert slow.trajectory.peaks(1).max() <= 0.5 * (1.0 + 1e-6)
    assert slow.trajectory.peaks(2).max() <= 0.5 * (1.0 + 1e-6)
    given = mk.plan(gantry, B, start=A, limits=MotionLimits.of(gantry, velocity=0.2))
    assert given.trajectory.peaks(1).max() == pytest.approx(0.2, rel=1e-3)


def test_a_scene_that_changes_between_two_plans_is_seen(gantry):
    scene = mk.Scene()
    planner = Planner(gantry, scene=scene)
    assert len(planner.plan(start=A, goal=B).path) == 2
    assert len(mk.plan(gantry, B, scene=scene, start=A).path) == 2
    scene.add_sphere("post", 0.2, mk.transform((0.0, 0.0, 0.0)))
    for plan in (planner.plan(start=A, goal=B), mk.plan(gantry, B, scene=scene, start=A)):
        assert plan.success
        assert len(plan.path) > 2


def test_two_scenes_are_not_taken_for_each_other(gantry):
    free, blocked = mk.Scene(), mk.Scene()
    blocked.add_sphere("post", 0.2, mk.transform((0.0, 0.0, 0.0)))
    for _ in range(2):
        assert len(mk.plan(gantry, B, scene=free, start=A).path) == 2
        assert len(mk.plan(gantry, B, scene=blocked, start=A).path) > 2
    for _ in range(12):  # more than are kept
        mk.plan(gantry, B, scene=mk.Scene(), start=A)
    assert len(mk.plan(gantry, B, scene=blocked, start=A).path) > 2


def test_a_planner_without_goals_needs_a_configuration(gantry):
    with pytest.raises(InvalidInputError, match="this planner has no goals"):
        Planner(gantry).plan(start=A)
    assert repr(Planner(gantry)) == "<Planner of 'gantry' to configurations>"
    with pytest.raises(InvalidInputError, match="one start"):
        Planner(gantry).plan(start=np.stack([A, B]), goal=B)


def test_a_pose_goal_takes_the_elbow_that_is_nearer(elbow):
    """Elbow up and elbow down reach the same place; the start decides."""
    for sign in (-1.0, 1.0):
        start = np.array([0.5 * sign, 1.2 * sign])
        place = elbow.pose("hand", np.array([0.4, 1.0]) * sign)[:3, 3]
        plan = mk.plan(elbow, [mk.Position("hand", place)], start=start)
        assert plan.success, plan.explain()
        np.testing.assert_allclose(plan.goal, np.array([0.4, 1.0]) * sign, atol=1e-3)
        assert len(plan.candidates) == 2


def test_fixed_joints_stay(elbow):
    start = np.array([0.3, 0.8])
    place = elbow.pose("hand", np.array([1.0, 0.8]))[:3, 3]
    plan = mk.plan(elbow, [mk.Position("hand", place)], start=start, fixed={"elbow": 0.8})
    assert plan.success, plan.explain()
    q = plan.trajectory.at(np.linspace(0.0, plan.duration, 100))
    np.testing.assert_allclose(q[:, 1], 0.8, atol=1e-9)


def test_the_words_of_stages_and_reasons_are_those_that_are_listed(gantry, walled):
    plans = [
        mk.plan(gantry, B, start=A),
        mk.plan(gantry, A, start=A),
        mk.plan(gantry, B, start=np.array([3.0, 0.0])),
        mk.plan(gantry, np.array([0.0, 0.0]), scene=walled, start=A),
        mk.plan(gantry, A, scene=walled, start=np.zeros(2)),
    ]
    for plan in plans:
        assert plan.stage in STAGES
        assert plan.reason in REASONS
    assert [plan.success for plan in plans] == [True, True, False, False, False]


def test_a_checker_in_the_way_is_told_without_names(gantry):
    class Everywhere:
        def collides(self, q):
            return np.ones(np.shape(q)[:-1], dtype=bool) if np.ndim(q) > 1 else True

    plan = mk.plan(gantry, B, scene=Everywhere(), start=A)
    assert plan.detail == "At the start the checker says collision."
