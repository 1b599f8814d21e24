"""Going on after something went wrong: back to the path where that is free, else by a new plan, to the same end."""

from __future__ import annotations

import numpy as np
import pytest

import memetik as mk
from memetik.errors import InvalidInputError
from memetik.motion.execution.driver import DriverError, ExactDriver
from memetik.motion.execution.execute import execute
from memetik.motion.execution.faults import DropsPoints, StopsEarly, TakesFewPoints
from memetik.motion.execution.recovery import Recovery
from memetik.motion.timing.rest_segments import straight

pytest.importorskip("coal")
START = np.array([0.0, -1.4, 1.6, -1.77, -1.57, 0.0])


@pytest.fixture(scope="module")
def ur5() -> mk.Robot:
    return mk.load_robot("ur5")


@pytest.fixture(scope="module")
def motion(ur5) -> mk.Trajectory:
    goal = START + np.array([1.4, 0.2, -0.2, 0.0, 0.3, 0.5])
    return straight(ur5.joint_names, START, goal, (ur5.velocity, np.full(6, 5.0))).resampled(40)


def wall_between(robot: mk.Robot, motion: mk.Trajectory) -> mk.Scene:
    """A post where the tool is in the middle of the motion."""
    scene = mk.Scene()
    x, y, z = robot.pose(robot.tip, motion.at(0.5 * motion.duration))[:3, 3]
    scene.add_box("post", (0.05, 0.05, 0.6), mk.transform((x, y, z)))
    return scene


def test_an_arm_beside_its_path_goes_back_to_it_and_on_to_the_same_end(ur5, motion):
    recovery = Recovery(ur5, mk.Scene(), ur5.joint_names)
    behind = 0.4 * motion.duration
    q = motion.at(behind) + 0.02
    found = recovery.onwards(q, motion, behind)
    assert found.trajectory is not None
    assert "back to" in found.message
    np.testing.assert_allclose(found.trajectory.start, q, atol=1e-12)
    np.testing.assert_allclose(found.trajectory.end, motion.end, atol=1e-9)
    velocity, acceleration = recovery.limits(motion)
    t = np.arange(0.0, found.trajectory.duration, 1e-3)
    assert (np.abs(found.trajectory.velocity(t)) <= velocity * (1.0 + 1e-6)).all()
    assert (np.abs(found.trajectory.acceleration(t)) <= acceleration * (1.0 + 1e-6)).all()


def test_what_stands_on_the_path_is_planned_around_to_the_same_configuration(ur5, motion):
    scene = wall_between(ur5, motion)
    found = Recovery(ur5, scene, ur5.joint_names).onwards(START, motion, 0.0)
    assert found.trajectory is not None
    assert "new plan" in found.message
    np.testing.assert_allclose(found.trajectory.end, motion.end, atol=1e-9)
    model = mk.CollisionModel(ur5, scene)
    assert not model.collides(found.trajectory.at(np.linspace(0.0, found.trajectory.duration, 400))).any()


def test_a_blocked_end_and_a_blocked_start_are_told_apart(ur5, motion):
    for where, reason in ((motion.end, "goal blocked"), (motion.start, "obstacle")):
        scene = mk.Scene()
        scene.add_sphere("ball", 0.05, ur5.pose(ur5.tip, where))
        found = Recovery(ur5, scene, ur5.joint_names).onwards(motion.start, motion, 0.0)
        assert found.trajectory is None
        assert found.reason == reason
        assert "ball" in found.message


def test_the_first_contact_is_named_with_its_time(ur5, motion):
    recovery = Recovery(ur5, wall_between(ur5, motion), ur5.joint_names)
    seconds, pair = recovery.first_contact([motion])
    assert 0.0 < seconds < 0.6 * motion.duration
    assert "post" in pair
    assert not mk.CollisionModel(ur5, recovery.scene).collides(motion.at(max(seconds - 0.02, 0.0)))
    assert Recovery(ur5, mk.Scene(), ur5.joint_names).first_contact([motion]) is None


def test_changes_of_the_scene_are_seen_once(ur5):
    scene = mk.Scene()
    recovery = Recovery(ur5, scene, ur5.joint_names)
    assert not recovery.changed()
    scene.add_sphere("ball", 0.05, mk.transform((1.0, 1.0, 1.0)))
    assert recovery.changed()
    assert not recovery.changed()


def test_a_robot_of_other_joints_is_refused(ur5):
    with pytest.raises(InvalidInputError, match="the trajectory is of joints a, b"):
        Recovery(ur5, None, ("a", "b"))


def test_without_a_robot_the_limits_are_those_of_the_motion(motion):
    velocity, acceleration = Recovery(None, None, motion.joint_names).limits(motion)
    assert (velocity >= motion.peaks(1)).all()
    assert (acceleration >= motion.peaks(2)).all()


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_driver_that_stops_early_is_where_its_share_is(ur5, motion, share):
    driver = StopsEarly(ExactDriver(ur5, START), share, times=1)
    driver.send(motion)
    while driver.state().moving:
        driver.wait(0.005)
    state = driver.state()
    assert share * motion.duration <= state.time < motion.duration
    np.testing.assert_allclose(state.q, motion.at(state.time), atol=1e-9)
    np.testing.assert_allclose(state.velocity, 0.0, atol=1e-9)


def test_a_stop_brakes_along_the_path_no_harder_than_the_acceleration_limits(ur5, motion):
    limited = ur5.with_limits({name: {"acceleration": 4.0} for name in ur5.joint_names})
    driver = ExactDriver(limited, START, period=1e-3)
    driver.send(motion)
    driver.wait(0.5 * motion.duration)
    driver.stop()
    speeds = [driver.state().velocity]
    while driver.state().moving:
        driver.wait(1e-3)
        speeds.append(driver.state().velocity)
    slowing = -np.diff(np.linalg.norm(speeds, axis=1)) / 1e-3
    assert slowing.max() > 1.0  # it does brake
    own = np.linalg.norm(motion.peaks(2))
    assert np.abs(np.diff(speeds, axis=0)).max() / 1e-3 <= 4.0 + own
    assert len(speeds) > 0.5 * np.abs(speeds[0]).max() / 4.0 / 1e-3


def test_a_driver_of_few_points_refuses_more_and_a_silent_one_thins_them(ur5, motion):
    loud, silent = (TakesFewPoints(ExactDriver(ur5, START), 5, silent=silent) for silent in (False, True))
    assert (loud.most_points, silent.most_points) == (5, None)
    with pytest.raises(DriverError, match="takes 5"):
        loud.send(motion)
    silent.send(motion)
    while silent.state().moving:
        silent.wait(0.05)
    np.testing.assert_allclose(silent.state().q, motion.end, atol=1e-9)


def test_dropped_points_never_include_the_ends(ur5, motion):
    driver = DropsPoints(ExactDriver(ur5, START), 1.0)
    driver.send(motion)
    while driver.state().moving:
        driver.wait(0.05)
    np.testing.assert_allclose(driver.state().q, motion.end, atol=1e-9)


@pytest.mark.parametrize(
    "fault",
    [lambda d: StopsEarly(d, 0.5, times=2), lambda d: TakesFewPoints(d, 6), lambda d: DropsPoints(d, 0.3)],
    ids=["stops early", "takes six points", "drops points"],
)
def test_a_faulty_driver_ends_at_the_goal_at_rest(ur5, motion, fault):
    report = execute(motion, fault(ExactDriver(ur5, START)), robot=ur5, background=False).result()
    assert report.success
    assert report.at_rest
    np.testing.assert_allclose(report.q, motion.end, atol=2e-3)
    assert [event.time for event in report.events] == sorted(event.time for event in report.events)


def test_a_refused_trajectory_is_given_up_after_its_recoveries(ur5, motion):
    class Refuses(TakesFewPoints):
        def send(self, trajectory: mk.Trajectory) -> None:
            raise DriverError("not today")

    report = execute(motion, Refuses(ExactDriver(ur5, START)), robot=ur5, recoveries=2, background=False).result()
    assert not report.success
    assert report.reason == "refused"
    assert report.recoveries == 2
    assert "not today" in report.explain()


def test_progress_ends_at_one_and_measurements_are_kept(ur5, motion):
    handle = execute(motion, ExactDriver(ur5, START), robot=ur5, background=False)
    report = handle.result()
    assert handle.done
    assert handle.progress == 1.0
    assert len(report.times) == len(report.positions) == len(report.references)
    np.testing.assert_allclose(report.positions, report.references, atol=1e-9)
    assert report.deviation < 1e-9


def slow_plan(robot: mk.Robot, scene: mk.Scene | None, **options) -> mk.Plan:
    goal = START + np.array([1.4, 0.2, -0.2, 0.0, 0.3, 0.5])
    plan = mk.plan(robot, goal, scene=scene, start=START, velocity_scale=0.05, acceleration_scale=0.05, **options)
    assert plan.success
    return plan


def fastest(report) -> np.ndarray:
    steps, seconds = np.diff(report.positions, axis=0), np.diff(report.times)
    return np.abs(steps[seconds > 0.0] / seconds[seconds > 0.0, None]).max(axis=0)


def test_a_plan_carries_what_it_was_made_under(ur5):
    scene = mk.Scene()
    plan = slow_plan(ur5, scene, margin=0.01, rng=3)
    made = plan.conditions
    assert (made.scene, made.margin, made.self_collision, made.rng) == (scene, 0.01, True, 3)
    np.testing.assert_allclose(made.limits.velocity, 0.05 * ur5.velocity)


@pytest.mark.parametrize("as_plan", [True, False])
def test_recovery_is_no_faster_than_the_plan(ur5, as_plan):
    plan = slow_plan(ur5, mk.Scene())
    driver = StopsEarly(ExactDriver(ur5, START), 0.4, times=1)
    given = plan if as_plan else plan.trajectory
    report = execute(given, driver, robot=ur5, background=False, tolerance=0.02).result()
    assert report.success, report.explain()
    assert (fastest(report) <= 0.05 * ur5.velocity * 1.01).all()


def test_a_new_plan_on_the_way_is_no_faster_than_the_first_and_keeps_its_margin(ur5):
    plan = slow_plan(ur5, mk.Scene(), margin=0.02)
    scene = wall_between(ur5, plan.trajectory)
    found = Recovery(ur5, scene, ur5.joint_names, plan.conditions).onwards(START, plan.trajectory, 0.0)
    assert found.trajectory is not None, found.message
    assert (found.trajectory.peaks(1) <= 0.05 * ur5.velocity * (1.0 + 1e-6)).all()
    way = found.trajectory.at(np.linspace(0.0, found.trajectory.duration, 200))
    alone = mk.CollisionModel(ur5, scene, self_collision=False)
    assert alone.distance(way).min() >= 0.02 - 1e-6


def test_the_scene_of_a_plan_is_watched_without_being_given_again(ur5):
    scene = mk.Scene()
    plan = slow_plan(ur5, scene)

    class Appearing(ExactDriver):
        def wait(self, seconds: float) -> None:
            super().wait(seconds)
            if self.state().time > 0.1 * plan.duration and "post" not in scene.snapshot().objects:
                post = wall_between(ur5, plan.trajectory).snapshot().objects["post"]
                scene.add_box("post", post.shape.size, post.pose)

    driver = Appearing(ur5, START)
    report = execute(plan, driver, background=False, tolerance=0.02).result()
    assert report.success, report.explain()
    assert report.recoveries == 1
    assert not mk.CollisionModel(ur5, scene).collides(report.positions).any()


def test_what_an_external_checker_knows_holds_for_recovery_too(ur5):
    class Above:
        def collides(self, q: np.ndarray) -> np.ndarray:
            return np.asarray(q)[..., 2] > 1.7

    plan = slow_plan(ur5, Above())
    recovery = Recovery(ur5, plan.conditions.scene, ur5.joint_names, plan.conditions)
    assert recovery.free(START[None])
    high = START.copy()
    high[2] = 1.8
    assert not recovery.free(high[None])
    assert recovery.onwards(high, plan.trajectory, 0.0).reason == "obstacle"
