"""What a runner does with a scripted driver: when it goes on, when it gives up, and what its report holds."""

from __future__ import annotations

import threading
from itertools import pairwise

import numpy as np
import pytest

import memetik as mk
from memetik.errors import InvalidInputError
from memetik.motion.execution.driver import DriverState, ExactDriver
from memetik.motion.execution.execute import execute
from memetik.motion.execution.faults import FaultyDriver, StopsEarly, TakesFewPoints
from memetik.motion.execution.recovery import Recovery
from memetik.motion.planning.free_space import space_for
from memetik.motion.planning.plan import Plan
from memetik.motion.timing.rest_segments import straight
from memetik.motion.timing.timing import time_path
from memetik.motion.timing.trajectory import Trajectory

pytest.importorskip("coal")
LIMITS = (np.array([1.0, 1.0]), np.array([2.0, 2.0]))


@pytest.fixture
def way(gantry) -> Trajectory:
    return straight(gantry.joint_names, np.array([-0.8, 0.0]), np.array([0.8, 0.3]), LIMITS)


class Records(FaultyDriver):
    """Keeps what it was sent, and how often it was told to stop."""

    def __init__(self, driver):
        super().__init__(driver)
        self.sent, self.stops = [], 0

    def send(self, trajectory):
        self.sent.append(trajectory)
        super().send(trajectory)

    def stop(self):
        self.stops += 1
        super().stop()


class Off(FaultyDriver):
    """Measures the first joint off by an amount, from a time on."""

    def __init__(self, driver, by: float, after: float = 0.0):
        super().__init__(driver)
        self.by, self.after = by, after

    def state(self):
        state = self.driver.state()
        if state.time < self.after:
            return state
        return DriverState(state.q + np.array([self.by, 0.0]), state.velocity, state.time, state.moving)


def run(way, driver, **options):
    return execute(way, driver, background=False, **options).result()


def test_a_good_driver_is_sent_the_trajectory_once_and_never_stopped(gantry, way):
    driver = Records(ExactDriver(gantry, way.start))
    report = run(way, driver, robot=gantry)
    assert report.success
    assert (report.reason, report.recoveries, report.at_rest) == ("done", 0, True)
    assert driver.sent == [way]
    assert driver.stops == 0
    assert report.duration == pytest.approx(way.duration, abs=0.05)
    np.testing.assert_array_equal(report.goal, way.end)
    np.testing.assert_allclose(report.q, way.end, atol=1e-9)


def test_what_was_measured_is_kept_beside_what_was_due(gantry, way):
    report = run(way, ExactDriver(gantry, way.start), robot=gantry, period=0.05)
    np.testing.assert_allclose(np.diff(report.times), 0.05, atol=1e-9)
    np.testing.assert_allclose(report.references, way.at(report.times), atol=1e-6)
    np.testing.assert_allclose(report.positions[[0, -1]], [way.start, way.end], atol=1e-9)


@pytest.mark.parametrize(("off", "fails"), [(0.04, False), (-0.04, False), (0.06, True), (-0.06, True)])
def test_a_joint_beyond_the_tolerance_has_left_the_way_on_either_side(gantry, way, off, fails):
    driver = Off(ExactDriver(gantry, way.start), off, 0.3)
    report = run(way, driver, tolerance=0.05, goal_tolerance=1.0, recoveries=0)
    assert report.success is not fails
    assert report.deviation == pytest.approx(abs(off), abs=1e-6)
    if fails:
        assert report.reason == "left the way"
        assert "joint 'x' is 0.06" in report.message


@pytest.mark.parametrize(("off", "fails"), [(0.001, False), (0.003, True)])
def test_the_end_has_a_tolerance_of_its_own(gantry, way, off, fails):
    report = run(way, Off(ExactDriver(gantry, way.start), off), goal_tolerance=2e-3, recoveries=0)
    assert report.success is not fails
    if fails:
        assert "the end was not reached: joint 'x' is 0.003 off" in report.message


def test_a_driver_that_says_that_it_is_done_before_its_time_has_stopped_early(gantry, way):
    report = run(way, StopsEarly(ExactDriver(gantry, way.start), 0.5), recoveries=0)
    assert (report.success, report.reason) == (False, "stopped early")
    assert report.message.startswith("Given up: the driver stopped at ")
    assert report.at_rest


def test_recoveries_are_counted_and_end(gantry, way):
    driver = Records(StopsEarly(ExactDriver(gantry, way.start), 0.2))
    report = run(way, driver, robot=gantry, recoveries=2)
    assert not report.success
    assert report.recoveries == 2
    assert len(driver.sent) == 3
    assert driver.stops == 3
    for trajectory in driver.sent:
        np.testing.assert_allclose(trajectory.end, way.end, atol=1e-9)


def test_a_driver_that_does_not_move_on_is_given_up(gantry, way):
    class Stuck(FaultyDriver):
        def state(self):
            state = super().state()
            return DriverState(state.q, np.zeros(2), 0.0, True)

        def wait(self, seconds):
            pass

    report = run(way, Stuck(ExactDriver(gantry, way.start)), recoveries=0)
    assert (report.success, report.reason) == (False, "timed out")
    assert "has not moved on for 2" in report.message


def test_a_driver_that_never_ends_its_trajectory_is_given_up(gantry, way):
    class Endless(FaultyDriver):
        def state(self):
            state = super().state()
            return DriverState(state.q, state.velocity, state.time, True)

    report = run(way, Endless(ExactDriver(gantry, way.start)), recoveries=0)
    assert (report.success, report.reason) == (False, "timed out")
    assert "does not end the trajectory" in report.message


def test_an_arm_that_is_at_its_goal_although_the_driver_complains_is_a_success(gantry, way):
    class LastMoment(FaultyDriver):
        """Says that it left the way once it is at the end."""

        told = False

        def state(self):
            state = super().state()
            if not state.moving and state.time > 0.0 and not self.told:
                self.told = True
                return DriverState(state.q + 1.0, state.velocity, state.time, False)
            return state

    report = run(way, LastMoment(ExactDriver(gantry, way.start)), robot=gantry)
    assert report.success
    assert report.message == "The arm is at the end of the trajectory."


def test_progress_is_the_share_of_the_time_and_one_only_at_the_end(gantry, way):
    seen = []

    class Watches(FaultyDriver):
        def wait(self, seconds):
            super().wait(seconds)
            seen.append((self.driver.state().time, handle[0].progress if handle else 0.0))

    handle = []
    driver = Watches(ExactDriver(gantry, way.start))
    started = execute(way, driver, robot=gantry)
    handle.append(started)
    assert started.result(60.0).success
    assert started.progress == 1.0
    assert all(share <= min(time / way.duration + 1e-9, 0.999) for time, share in seen)


def test_cancelling_brings_the_arm_to_rest_and_no_recovery_follows(gantry, way):
    driver = Records(ExactDriver(gantry, way.start))

    class Cancels(FaultyDriver):
        def wait(self, seconds):
            super().wait(seconds)
            if self.driver.state().time > 0.4 * way.duration:
                ready.wait(60.0)
                handle[0].cancel()

    ready, handle = threading.Event(), []
    handle.append(execute(way, Cancels(driver), robot=gantry))
    ready.set()
    report = handle[0].result(60.0)
    assert report.reason == "cancelled"
    assert handle[0].cancelled
    assert handle[0].done
    assert report.at_rest
    assert len(driver.sent) == 1
    assert 0.3 < handle[0].progress < 0.9


def test_waiting_for_a_result_has_an_end(gantry, way):
    go = threading.Event()

    class Waits(FaultyDriver):
        def send(self, trajectory):
            go.wait(60.0)
            super().send(trajectory)

    handle = execute(way, Waits(ExactDriver(gantry, way.start)), robot=gantry)
    with pytest.raises(TimeoutError, match=r"has not ended within 0\.01 s; it is at 0%"):
        handle.result(0.01)
    assert not handle.done
    go.set()
    assert handle.result(60.0).success


def test_an_explanation_tells_every_event_and_where_the_arm_is(gantry, way):
    report = run(way, StopsEarly(ExactDriver(gantry, way.start), 0.4, times=1), robot=gantry)
    lines = report.explain().splitlines()
    assert lines[0] == "The trajectory was followed to its end."
    assert len(lines) == 2 + len(report.events)
    assert "the driver stopped at" in lines[2]
    assert any("back to the way and on along it" in line for line in lines)
    assert lines[-1].startswith("The arm is at rest, ")


def test_pieces_for_a_driver_of_few_points_are_sent_in_order_and_meet(gantry):
    way = time_path(gantry, [[-0.5, 0.0], [0.0, 0.5], [0.5, 0.0]])
    driver = Records(TakesFewPoints(ExactDriver(gantry, way.start), 5))
    report = run(way, driver, robot=gantry)
    assert report.success
    assert len(driver.sent) > 1
    assert all(len(piece) <= 5 for piece in driver.sent)
    for before, after in pairwise(driver.sent):
        np.testing.assert_allclose(before.end, after.start, atol=1e-9)
    assert f"sent in {len(driver.sent)} pieces" in report.explain()


def test_pieces_that_would_collide_are_not_sent(gantry):
    """A post stands inside the corner: by few points the corner would be cut through it."""
    scene = mk.Scene()
    scene.add_sphere("post", 0.07, mk.transform((0.86, 0.14, 0.0)))
    way = time_path(gantry, [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], space=space_for(gantry, scene))
    driver = Records(TakesFewPoints(ExactDriver(gantry, way.start), 4))
    report = run(way, driver, robot=gantry, scene=scene, point_tolerance=0.2)
    assert report.success
    model = mk.CollisionModel(gantry, scene)
    for piece in driver.sent:
        assert not model.collides(piece.at(np.linspace(0.0, piece.duration, 400))).any()
    blind = Records(TakesFewPoints(ExactDriver(gantry, way.start), 4))
    run(way, blind, point_tolerance=0.2)
    cut = [model.collides(piece.at(np.linspace(0.0, piece.duration, 400))).any() for piece in blind.sent]
    assert any(cut)  # without the scene they would have


class Appears(FaultyDriver):
    """Something appears in the scene when the arm has gone a while."""

    def __init__(self, driver, scene, place, after):
        super().__init__(driver)
        self.scene, self.place, self.after = scene, place, after

    def wait(self, seconds):
        super().wait(seconds)
        if "crate" not in self.scene and self.driver.state().time > self.after:
            self.scene.add_sphere("crate", 0.1, mk.transform((*self.place, 0.0)))


def test_what_appears_behind_the_arm_does_not_stop_it(gantry, way):
    scene = mk.Scene()
    driver = Records(ExactDriver(gantry, way.start))
    report = run(way, Appears(driver, scene, way.start, 0.7 * way.duration), robot=gantry, scene=scene)
    assert report.success
    assert len(driver.sent) == 1
    assert any("still free" in event.what for event in report.events)


def test_what_appears_ahead_is_seen_with_its_time_and_gone_around_without_touching(gantry, way):
    scene = mk.Scene()
    driver = Records(ExactDriver(gantry, way.start))
    place = way.at(0.7 * way.duration)
    report = run(way, Appears(driver, scene, place, 0.2 * way.duration), robot=gantry, scene=scene)
    assert report.success, report.explain()
    assert any("'ball' and 'crate' would touch in" in event.what for event in report.events)
    assert len(driver.sent) == 2
    model = mk.CollisionModel(gantry, scene)
    assert not model.collides(report.positions).any()
    np.testing.assert_allclose(report.q, way.end, atol=2e-3)


def test_what_appears_ahead_in_a_later_piece_is_seen_at_once(gantry):
    way = time_path(gantry, [[-0.5, 0.0], [0.0, 0.5], [0.5, 0.0]])
    scene = mk.Scene()
    driver = Records(TakesFewPoints(ExactDriver(gantry, way.start), 5))
    report = run(way, Appears(driver, scene, way.at(0.9 * way.duration), 0.05), robot=gantry, scene=scene, recoveries=0)
    assert report.reason == "obstacle"
    assert len(driver.sent) == 1


def test_recovery_sees_the_scene_as_it_is_now(gantry, way):
    """What was added after the recovery was made must not be driven through."""
    scene = mk.Scene()
    recovery = Recovery(gantry, scene, gantry.joint_names)
    assert recovery.first_contact([way]) is None
    scene.add_sphere("late", 0.1, mk.transform((0.0, 0.15, 0.0)))
    seconds, pair = recovery.first_contact([way])
    assert set(pair) == {"ball", "late"}
    assert 0.3 * way.duration < seconds < 0.5 * way.duration
    found = recovery.onwards(way.start, way, 0.0)
    assert found.trajectory is not None
    assert "a new plan" in found.message
    dense = found.trajectory.at(np.linspace(0.0, found.trajectory.duration, 400))
    assert np.linalg.norm(dense - [0.0, 0.15], axis=1).min() > 0.15


def test_the_time_of_a_contact_in_a_later_part_counts_the_parts_before(gantry):
    first = straight(gantry.joint_names, np.array([-1.0, 0.0]), np.array([0.0, 0.0]), LIMITS)
    second = straight(gantry.joint_names, np.array([0.0, 0.0]), np.array([1.0, 0.0]), LIMITS)
    scene = mk.Scene()
    scene.add_sphere("post", 0.1, mk.transform((0.9, 0.0, 0.0)))
    seconds, _ = Recovery(gantry, scene, gantry.joint_names).first_contact([first, second])
    assert first.duration + 0.5 * second.duration < seconds < first.duration + second.duration
    along = second.at(seconds - first.duration)
    assert along[0] == pytest.approx(0.75, abs=0.02)


def test_a_motion_back_to_the_way_must_be_free_between_samples_too(gantry, way):
    """A thin post stands between the arm and its way."""
    scene = mk.Scene()
    recovery = Recovery(gantry, scene, gantry.joint_names)
    behind = 0.5 * way.duration
    beside = way.at(behind) + np.array([0.0, 0.4])
    back = recovery.onwards(beside, way, behind)
    assert "back to the way" in back.message
    pin = way.at(behind) + np.array([0.0, 0.2])
    scene.add_sphere("pin", 0.002, mk.transform((*pin, 0.0)))
    around = recovery.onwards(beside, way, behind)
    assert around.trajectory is not None
    dense = around.trajectory.at(np.linspace(0.0, around.trajectory.duration, 2000))
    assert np.linalg.norm(dense - pin, axis=1).min() > 0.052


def test_after_the_whole_way_only_the_last_step_is_left(gantry, way):
    found = Recovery(gantry, None, gantry.joint_names).onwards(way.end + 0.05, way, way.duration)
    assert found.trajectory is not None
    assert len(found.trajectory) == 2
    np.testing.assert_allclose(found.trajectory.end, way.end)


def test_limits_of_a_recovery_are_the_robots_at_the_speed_of_the_way_and_have_a_default(gantry, turntable, way):
    velocity, acceleration = Recovery(gantry, None, gantry.joint_names).limits(way)
    share = (way.peaks(1) / gantry.velocity).max()
    np.testing.assert_allclose(velocity, share * gantry.velocity)
    np.testing.assert_allclose(acceleration, (way.peaks(2) / gantry.acceleration).max() * gantry.acceleration)
    resting = Trajectory.resting(way.joint_names, way.start)
    velocity, acceleration = Recovery(None, None, way.joint_names).limits(resting)
    assert (velocity > 0.0).all()
    assert (acceleration > 0.0).all()


def test_without_a_robot_nothing_is_known_to_touch(way):
    recovery = Recovery(None, None, way.joint_names)
    assert recovery.free(way.positions)
    assert recovery.first_contact([way]) is None
    assert not recovery.changed()


def test_configurations_are_free_only_if_all_are(gantry):
    scene = mk.Scene()
    scene.add_sphere("post", 0.1, mk.transform((0.5, 0.0, 0.0)))
    recovery = Recovery(gantry, scene, gantry.joint_names)
    assert recovery.free(np.array([[0.0, 0.0], [1.0, 0.0]]))
    assert not recovery.free(np.array([[0.0, 0.0], [0.5, 0.0], [1.0, 0.0]]))


def test_a_plan_brings_its_robot_and_a_failed_one_is_refused(gantry):
    plan = mk.plan(gantry, np.array([0.5, 0.5]), start=np.zeros(2))
    report = run(plan, StopsEarly(ExactDriver(gantry, np.zeros(2)), 0.5, times=1))
    assert report.success
    failed = Plan(gantry, np.zeros(2), reason="no path found in time")
    with pytest.raises(InvalidInputError, match="nothing to run: no path found in time"):
        execute(failed, ExactDriver(gantry))


@pytest.mark.parametrize("name", ["tolerance", "goal_tolerance", "period"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan])
def test_tolerances_that_are_none_are_refused(gantry, way, name, value):
    with pytest.raises(InvalidInputError, match=f"{name}= must be positive"):
        execute(way, ExactDriver(gantry), **{name: value})
