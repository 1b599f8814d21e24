"""Planning: every failure has its stage and reason, every success is free and within limits by independent checks."""

from itertools import pairwise

import numpy as np
import pytest

import memetik as mk
from memetik.bench.scenarios.surroundings import make_surroundings
from memetik.motion.planning.pipeline import Planner
from memetik.motion.timing.limits import MotionLimits
from memetik.motion.timing.timing import METHODS

pytest.importorskip("coal")


@pytest.fixture(scope="module")
def panda() -> mk.Robot:
    return mk.load_robot("panda")


@pytest.fixture(scope="module")
def shelf() -> mk.Scene:
    return make_surroundings("Shelf", front=0.45).scene


@pytest.fixture(scope="module")
def free(panda, shelf) -> np.ndarray:
    rows = panda.random(1, 80)
    rows[:, 7] = 0.02
    return rows[~mk.CollisionModel(panda, shelf).collides(rows)]


def assert_sound(plan: mk.Plan, scene: mk.Scene | None, limits: MotionLimits | None = None) -> None:
    assert plan.success, plan.explain()
    robot, trajectory = plan.robot, plan.trajectory
    assert trajectory is not None
    limits = MotionLimits.of(robot) if limits is None else limits
    t = np.arange(0.0, trajectory.duration, 1e-3)
    q = trajectory.at(t)
    assert (q >= robot.lower - 2e-7).all()
    assert (q <= robot.upper + 2e-7).all()
    assert (np.abs(trajectory.velocity(t)) <= limits.velocity * (1.0 + 1e-6) + 1e-9).all()
    assert (np.abs(trajectory.acceleration(t)) <= limits.acceleration * (1.0 + 1e-6) + 1e-9).all()
    np.testing.assert_allclose(trajectory.start, plan.start, atol=1e-9)
    np.testing.assert_allclose(trajectory.end, plan.goal, atol=1e-9)
    # Finite differences, not the trajectory's own derivatives.
    assert np.abs(np.diff(q, axis=0)).max(initial=0.0) <= 1.001e-3 * limits.velocity.max()
    assert not mk.CollisionModel(robot, scene).collides(q[::5]).any()


@pytest.mark.unsanitized  # it takes a planner's time
def test_poses_in_a_shelf_are_reached(panda, shelf, free):
    planner = Planner(panda, [mk.Pose(panda.tip)], scene=shelf)
    bent = 0
    for start, end in pairwise(free[:13]):
        plan = planner.plan(panda.pose(panda.tip, end), start=start)
        assert_sound(plan, shelf)
        np.testing.assert_allclose(panda.pose(panda.tip, plan.goal), panda.pose(panda.tip, end), atol=1e-4)
        bent += len(plan.path) > 2
    assert bent > 0


@pytest.mark.unsanitized
def test_one_call_equals_a_planner(panda, shelf, free):
    pose = panda.pose(panda.tip, free[3])
    once = mk.plan(panda, [mk.Pose(panda.tip, pose)], scene=shelf, start=free[2])
    again = Planner(panda, [mk.Pose(panda.tip, pose)], scene=shelf).plan(start=free[2])
    assert once.trajectory == again.trajectory
    assert once.stage == "done"
    assert once.reason == "solved"


@pytest.mark.parametrize("method", METHODS)
def test_every_timing_is_sound(panda, shelf, free, method):
    for index in (4, 5, 8):
        assert_sound(
            mk.plan(panda, free[index + 1], scene=shelf, start=free[index], timing=method, path_timeout=20.0), shelf
        )


@pytest.mark.parametrize(
    "planner", ["rrtconnect", "sbl", "ompl:RRTConnect", "ompl:LBKPIECE1", "ompl:BITstar", "ompl:PRM"]
)
def test_every_planner_is_sound(panda, shelf, free, planner):
    blocked = [k for k in range(12) if len(mk.plan(panda, free[k + 1], scene=shelf, start=free[k]).path) > 2]
    k = blocked[0]
    plan = mk.plan(panda, free[k + 1], scene=shelf, start=free[k], planner=planner, path_timeout=10.0)
    assert_sound(plan, shelf)
    assert any(planner in line for line in plan.tried)


def test_planners_take_turns_until_one_succeeds(panda, shelf, free):
    blocked = [k for k in range(12) if len(mk.plan(panda, free[k + 1], scene=shelf, start=free[k]).path) > 2]
    k = blocked[0]
    plan = mk.plan(panda, free[k + 1], scene=shelf, start=free[k], planner=["ompl:FMT", "rrtconnect"], path_timeout=5.0)
    assert_sound(plan, shelf)


@pytest.mark.unsanitized  # as long as there is time to smooth it
def test_the_same_numbers_give_the_same_motion(panda, shelf, free):
    first, second = (mk.plan(panda, free[6], scene=shelf, start=free[5], rng=7) for _ in range(2))
    assert first.trajectory == second.trajectory


def test_start_outside_limits_names_the_joint(panda):
    start = panda.neutral.copy()
    start[1] = 3.0
    plan = mk.plan(panda, panda.neutral, start=start)
    assert (plan.success, plan.stage, plan.reason) == (False, "start", "start outside limits")
    assert "panda_joint2" in plan.detail


def test_start_in_collision_names_the_pair(panda):
    scene = mk.Scene()
    scene.add_box("block", (0.2, 0.2, 0.2), mk.transform(panda.pose("panda_hand", panda.neutral)[:3, 3]))
    plan = mk.plan(panda, panda.neutral + 0.1, scene=scene, start=panda.neutral)
    assert (plan.stage, plan.reason) == ("start", "start in collision")
    assert "block" in plan.detail


def test_goal_in_collision_and_outside_limits_are_told_apart(panda):
    scene = mk.Scene()
    goal = panda.neutral.copy()
    goal[0] = 1.5
    scene.add_box("block", (0.2, 0.2, 0.2), mk.transform(panda.pose("panda_hand", goal)[:3, 3]))
    plan = mk.plan(panda, goal, scene=scene, start=panda.neutral)
    assert (plan.stage, plan.reason) == ("configurations", "goal in collision")
    goal[0] = 4.0
    assert mk.plan(panda, goal, scene=scene, start=panda.neutral).reason == "goal outside limits"


def test_a_goal_that_is_the_start_is_a_success_of_its_own(panda):
    plan = mk.plan(panda, panda.neutral, start=panda.neutral)
    assert plan.success
    assert plan.reason == "goal equals start"
    assert plan.trajectory.duration == 0.0


def test_out_of_reach_is_the_reason_of_inverse_kinematics(panda):
    plan = mk.plan(panda, [mk.Position(panda.tip, (3.0, 0.0, 0.5))], start=panda.neutral)
    assert (plan.stage, plan.reason) == ("configurations", "out of reach")


def test_no_path_is_told_with_what_was_tried(panda):
    scene = mk.Scene()
    start, goal = panda.q({"panda_joint1": -1.5}, panda.neutral), panda.q({"panda_joint1": 1.5}, panda.neutral)
    # Two crossing walls that reach beyond the arm part the world around it into four chambers.
    scene.add_box("wall_x", (4.0, 0.02, 3.0), mk.transform((2.2, 0.0, 0.6)))
    scene.add_box("wall_back", (4.0, 0.02, 3.0), mk.transform((-2.2, 0.0, 0.6)))
    scene.add_box("roof", (0.6, 0.02, 3.0), mk.transform((0.0, 0.0, 2.2)))
    plan = mk.plan(panda, goal, scene=scene, start=start, path_timeout=0.3)
    assert (plan.stage, plan.reason) == ("path", "no path found in time")
    assert any("rrtconnect, try 1: none" in line for line in plan.tried)


def test_the_candidate_with_the_quickest_motion_is_taken(panda):
    start = panda.neutral
    near, far = start.copy(), start.copy()
    near[0], far[0] = 0.3, 2.0
    plan = mk.plan(panda, np.stack([far, near]), start=start)
    np.testing.assert_allclose(plan.goal, near)


def test_a_checker_of_the_users_stands_for_a_scene(panda):
    class Slab:
        """Forbids a slab of joint space, but for a gap."""

        def collides(self, q):
            q = np.atleast_2d(q)
            inside = (np.abs(q[:, 0]) < 0.05) & (q[:, 1] > -1.0)
            return inside if len(inside) > 1 else bool(inside[0])

    start, goal = panda.q({"panda_joint1": -1.0}, panda.neutral), panda.q({"panda_joint1": 1.0}, panda.neutral)
    plan = mk.plan(panda, goal, scene=Slab(), start=start, path_timeout=10.0)
    assert plan.success, plan.explain()
    q = plan.trajectory.at(np.arange(0.0, plan.duration, 1e-3))
    assert not Slab().collides(q).any()
    assert q[:, 1].min() < -1.0


def test_a_checker_is_asked_about_joints_that_hardly_move_a_point(panda):
    class Window:
        """Forbids a few milliradians of the last joint's turn."""

        def collides(self, q):
            return np.abs(np.asarray(q)[..., 6] - 0.3) < 0.003

    start, goal = panda.q({"panda_joint7": 0.0}, panda.neutral), panda.q({"panda_joint7": 1.0}, panda.neutral)
    plan = mk.plan(panda, goal, scene=Window(), start=start, path_timeout=0.2)
    assert not plan.success
    assert plan.reason == "no path found in time"


def test_a_wall_thinner_than_any_sampling_is_not_jumped(panda):
    scene = mk.Scene()
    start, goal = panda.q({"panda_joint1": -1.2}, panda.neutral), panda.q({"panda_joint1": 1.2}, panda.neutral)
    scene.add_box("foil", (0.4, 0.0005, 0.5), mk.transform((0.5, 0.0, 0.6)))
    plan = mk.plan(panda, goal, scene=scene, start=start)
    assert plan.success
    assert len(plan.path) > 2
    model = mk.CollisionModel(panda, scene)
    assert not model.collides(plan.trajectory.at(np.arange(0.0, plan.duration, 2e-4))).any()


def test_slower_limits_are_kept(panda):
    limits = MotionLimits.of(panda, velocity_scale=0.3, acceleration_scale=0.2)
    plan = mk.plan(panda, panda.neutral + 0.5 * (panda.upper - panda.neutral), start=panda.neutral, limits=limits)
    assert_sound(plan, None, limits)


def test_bad_input_is_refused(panda):
    with pytest.raises(mk.InvalidInputError, match="planner"):
        mk.plan(panda, panda.neutral + 0.01, start=panda.neutral, planner="rrt-connct")
    with pytest.raises(mk.InvalidInputError, match="timing"):
        mk.plan(panda, panda.neutral + 0.01, start=panda.neutral, timing="topra")
    with pytest.raises(mk.InvalidInputError, match="velocity_scale"):
        mk.plan(panda, panda.neutral, start=panda.neutral, velocity_scale=0.0)
