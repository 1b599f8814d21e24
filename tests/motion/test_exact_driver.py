"""Drivers: the arm follows its trajectory sample by sample, brakes along it, and starts the next one afresh."""

from __future__ import annotations

import numpy as np
import pytest

from memetik.errors import InvalidInputError, UnknownNameError
from memetik.motion.execution.driver import (
    DriverError,
    DriverState,
    ExactDriver,
    SimulatedDriver,
    indices,
    most_points,
    wait,
)
from memetik.motion.execution.faults import DropsPoints, FaultyDriver, StopsEarly, TakesFewPoints
from memetik.motion.execution.simulation import Simulation
from memetik.motion.timing.trajectory import Trajectory

PERIOD = 0.01


def curve(robot, *rows, seconds: float = 1.0) -> Trajectory:
    """Through rows, not at rest between them."""
    points = np.array(rows, dtype=float)
    rates = np.gradient(points, axis=0) / seconds if len(points) > 1 else np.zeros_like(points)
    rates[[0, -1]] = 0.0
    return Trajectory.from_points(robot.joint_names, seconds * np.arange(float(len(rows))), points, rates)


@pytest.fixture
def motion(gantry) -> Trajectory:
    return curve(gantry, [0.0, 0.0], [0.3, -0.2], [0.5, 0.4])


def driven(gantry, trajectory: Trajectory) -> ExactDriver:
    driver = ExactDriver(gantry, trajectory.start, period=PERIOD)
    driver.send(trajectory)
    return driver


def test_the_arm_is_where_the_trajectory_is_at_every_moment(gantry, motion):
    driver = driven(gantry, motion)
    for k in range(1, 200):
        driver.wait(PERIOD)
        state = driver.state()
        assert state.time == pytest.approx(k * PERIOD)
        np.testing.assert_allclose(state.q, motion.at(state.time), atol=1e-9)
        np.testing.assert_allclose(state.velocity, motion.velocity(state.time), atol=1e-9)
        assert state.moving


def test_at_the_end_the_arm_rests_there_and_is_not_moving(gantry, motion):
    driver = driven(gantry, motion)
    driver.wait(motion.duration + 0.5)
    state = driver.state()
    np.testing.assert_allclose(state.q, motion.end, atol=1e-12)
    np.testing.assert_array_equal(state.velocity, 0.0)
    assert state.time == motion.duration
    assert not state.moving


def test_a_trajectory_that_ends_in_motion_ends_with_a_resting_arm(gantry):
    """Its last velocity must not linger in the state."""
    way = Trajectory.from_points(gantry.joint_names, [0.0, 1.0], [[0.0, 0.0], [1.0, 0.5]])
    driver = driven(gantry, way)
    driver.wait(0.5)
    np.testing.assert_allclose(driver.state().velocity, [1.0, 0.5])
    driver.wait(1.0)
    np.testing.assert_array_equal(driver.state().velocity, 0.0)


def test_a_new_trajectory_starts_its_own_time(gantry, motion):
    driver = driven(gantry, motion)
    driver.wait(motion.duration)
    back = curve(gantry, motion.end, [0.0, 0.0])
    driver.send(back)
    assert driver.state().time == 0.0
    assert driver.state().moving
    driver.wait(0.5)
    np.testing.assert_allclose(driver.state().q, back.at(0.5), atol=1e-9)


def test_a_trajectory_after_a_stop_runs_at_full_speed_again(gantry, motion):
    driver = driven(gantry, motion)
    driver.wait(0.6)
    driver.stop()
    while driver.state().moving:
        driver.wait(PERIOD)
    stopped = driver.state()
    assert stopped.time < motion.duration
    onwards = curve(gantry, stopped.q, motion.end)
    driver.send(onwards)
    driver.wait(0.5)
    assert driver.state().time == pytest.approx(0.5)
    driver.wait(0.5)
    np.testing.assert_allclose(driver.state().q, motion.end, atol=1e-9)


def test_a_stop_before_anything_was_sent_does_nothing(gantry):
    driver = ExactDriver(gantry, [0.1, 0.2])
    driver.stop()
    driver.wait(0.1)
    np.testing.assert_array_equal(driver.state().q, [0.1, 0.2])
    assert not driver.state().moving


def test_a_second_stop_does_not_brake_anew(gantry, motion):
    times = []
    for stops in (1, 3):
        driver = driven(gantry, motion)
        driver.wait(0.7)
        while driver.state().moving:
            for _ in range(stops):
                driver.stop()
            driver.wait(PERIOD)
        times.append(driver.state().time)
    assert times[0] == times[1]


def test_braking_takes_the_time_of_the_slowest_joint(gantry):
    """At 1 m/s with 2 m/s^2: half a second, in which a quarter of a metre is left behind."""
    way = Trajectory.from_points(gantry.joint_names, [0.0, 2.0], [[-1.0, 0.0], [1.0, 0.2]])
    driver = driven(gantry, way)
    driver.wait(0.5)
    before = driver.state()
    driver.stop()
    seconds = 0.0
    while driver.state().moving:
        driver.wait(PERIOD)
        seconds += PERIOD
    assert seconds == pytest.approx(0.5, abs=2.0 * PERIOD)
    assert driver.state().q[0] - before.q[0] == pytest.approx(0.25, abs=0.01)
    along = driver.state().q - way.start
    assert along[1] == pytest.approx(0.1 * along[0], abs=1e-9)  # it stays on the way


def test_joints_that_a_trajectory_does_not_move_stay(gantry):
    driver = ExactDriver(gantry, [0.4, 0.3], period=PERIOD)
    driver.send(Trajectory.from_points(("y",), [0.0, 1.0], [[0.3], [0.8]], np.zeros((2, 1))))
    driver.wait(0.5)
    assert driver.state().q[0] == 0.4
    assert driver.state().velocity[0] == 0.0
    driver.wait(0.6)
    np.testing.assert_allclose(driver.state().q, [0.4, 0.8])


def test_joints_may_come_in_another_order(gantry):
    driver = ExactDriver(gantry, [0.1, 0.2], period=PERIOD)
    driver.send(Trajectory.from_points(("y", "x"), [0.0, 1.0], [[0.2, 0.1], [0.6, -0.5]], np.zeros((2, 2))))
    driver.wait(1.1)
    np.testing.assert_allclose(driver.state().q, [-0.5, 0.6])


def test_states_are_copies(gantry, motion):
    driver = driven(gantry, motion)
    driver.wait(0.3)
    state = driver.state()
    state.q[:] = 9.0
    state.velocity[:] = 9.0
    assert np.abs(driver.state().q).max() < 1.0
    assert np.abs(driver.state().velocity).max() < 1.0


@pytest.mark.parametrize(("gap", "refused"), [(5e-4, False), (2e-3, True), (-2e-3, True)])
def test_a_start_elsewhere_is_refused_with_joint_and_both_values(gantry, motion, gap, refused):
    driver = ExactDriver(gantry, motion.start + np.array([0.0, gap]))
    if not refused:
        driver.send(motion)
        return
    with pytest.raises(DriverError, match=rf"joint 'y' at 0\.0000, but it is at {gap:.4f}"):
        driver.send(motion)
    assert not driver.state().moving


def test_what_is_no_trajectory_or_of_other_joints_is_refused(gantry):
    driver = ExactDriver(gantry)
    with pytest.raises(InvalidInputError, match="not list"):
        driver.send([1.0, 2.0])
    with pytest.raises(UnknownNameError, match="z"):
        driver.send(Trajectory.resting(("z",), [0.0]))


def test_values_are_picked_by_name():
    state = DriverState(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]))
    q, velocity = state.of(("c", "a"), ("a", "b", "c"))
    np.testing.assert_array_equal(q, [3.0, 1.0])
    np.testing.assert_array_equal(velocity, [6.0, 4.0])
    assert indices((), ("a",)).shape == (0,)
    with pytest.raises(UnknownNameError, match="d"):
        indices(("a", "d"), ("a", "b"))


def test_a_driver_without_extras_takes_any_number_of_points_and_waits_by_the_clock(monkeypatch):
    class Plain:
        pass

    slept = []
    monkeypatch.setattr("memetik.motion.execution.driver.clock.sleep", slept.append)
    assert most_points(Plain()) is None
    wait(Plain(), 0.25)
    assert slept == [0.25]


@pytest.mark.parametrize(("speed", "expected"), [(None, []), (1.0, [0.5]), (4.0, [0.125])])
def test_its_time_runs_as_fast_beside_the_clock_as_it_is_told(gantry, motion, monkeypatch, speed, expected):
    slept = []
    monkeypatch.setattr("memetik.motion.execution.driver.clock.sleep", slept.append)
    driver = ExactDriver(gantry, motion.start, real_time=speed)
    driver.send(motion)
    driver.wait(0.5)
    assert slept == expected
    assert driver.state().time == pytest.approx(0.5)


def test_a_driver_in_simulation_follows_settles_and_says_when_it_is_done(turntable):
    pytest.importorskip("mujoco")
    driver = SimulatedDriver(Simulation(turntable, q=[0.0]), settle=0.1)
    assert not driver.state().moving
    zero = np.zeros((2, 1))
    way = Trajectory.from_points(turntable.joint_names, [0.0, 1.0], [[0.0], [1.0]], zero, zero)
    driver.send(way)
    driver.wait(0.5)
    assert driver.state().q[0] == pytest.approx(way.at(0.5)[0], abs=5e-3)
    assert driver.state().velocity[0] == pytest.approx(way.velocity(0.5)[0], rel=0.02)
    driver.wait(0.52)
    assert driver.state().time == pytest.approx(1.0)
    assert driver.state().moving  # it settles
    driver.wait(0.15)
    assert not driver.state().moving
    assert driver.state().q[0] == pytest.approx(1.0, abs=1e-3)


def test_an_arm_that_was_held_off_its_way_is_let_be_where_it_is_after_a_stop(turntable):
    """Its motor is far too weak to follow; after the stop the reference must not go on pulling."""
    pytest.importorskip("mujoco")
    simulation = Simulation(turntable, q=[0.0])
    simulation.physics.model.actuator_forcerange[:] = (-1e-3, 1e-3)
    driver = SimulatedDriver(simulation)
    zero = np.zeros((2, 1))
    driver.send(Trajectory.from_points(turntable.joint_names, [0.0, 1.0], [[0.0], [1.0]], zero, zero))
    driver.wait(0.6)
    assert driver.state().q[0] < 0.1
    driver.stop()
    for _ in range(60):
        driver.wait(0.02)
    simulation.physics.model.actuator_forcerange[:] = (-1000.0, 1000.0)
    driver.wait(0.5)
    assert abs(driver.state().q[0]) < 0.15


def test_a_driver_in_simulation_refuses_a_start_far_away(turntable):
    pytest.importorskip("mujoco")
    driver = SimulatedDriver(Simulation(turntable, q=[0.0]))
    driver.send(Trajectory.resting(turntable.joint_names, [0.15], 0.1))
    with pytest.raises(DriverError, match="starts with joint 'turn'"):
        driver.send(Trajectory.resting(turntable.joint_names, [0.5], 0.1))


class Records(FaultyDriver):
    """Keeps what it was sent."""

    def __init__(self, driver):
        super().__init__(driver)
        self.sent: list[Trajectory] = []

    def send(self, trajectory):
        self.sent.append(trajectory)
        super().send(trajectory)


def fine(gantry) -> Trajectory:
    return curve(gantry, [0.0, 0.0], [0.3, -0.2], [0.5, 0.4]).resampled(50)


def test_a_fault_passes_on_what_it_does_not_change(gantry, motion):
    own = ExactDriver(gantry, motion.start)
    outer = FaultyDriver(own)
    outer.send(motion)
    outer.wait(0.5)
    assert outer.joint_names == own.joint_names
    assert outer.state().time == own.state().time > 0.0
    outer.stop()
    outer.wait(2.0)
    assert own.state().time < motion.duration


def test_an_early_stop_happens_as_often_as_it_is_told(gantry):
    way = fine(gantry)
    driver = StopsEarly(ExactDriver(gantry, way.start), 0.3, times=1)
    driver.send(way)
    driver.wait(0.31 * way.duration)
    while driver.state().moving:
        driver.wait(PERIOD)
    assert driver.state().time < 0.7 * way.duration
    assert driver.left == 0
    rest = curve(gantry, driver.state().q, way.end)
    driver.send(rest)
    driver.wait(rest.duration + 0.1)
    np.testing.assert_allclose(driver.state().q, way.end, atol=1e-9)


def test_no_chance_means_no_early_stop(gantry):
    way = fine(gantry)
    driver = StopsEarly(ExactDriver(gantry, way.start), 0.3, chance=0.0)
    driver.send(way)
    driver.wait(way.duration + 0.1)
    np.testing.assert_allclose(driver.state().q, way.end, atol=1e-9)


def test_random_places_of_stops_follow_from_the_seed(gantry):
    way = fine(gantry)

    def places(rng: int) -> list[float]:
        driver = StopsEarly(ExactDriver(gantry, [0.0, 0.0]), None, rng=rng)
        found = []
        for _ in range(3):
            driver.driver = ExactDriver(gantry, [0.0, 0.0])
            driver.send(way)
            while driver.state().moving:
                driver.wait(PERIOD)
            found.append(driver.state().time)
        return found

    first, again, other = places(0), places(0), places(2)
    assert first == again
    assert first != other
    assert len(set(first)) == 3


def test_dropped_points_are_gone_and_the_others_as_they_were(gantry):
    way = fine(gantry)
    inner = Records(ExactDriver(gantry, way.start))
    DropsPoints(inner, 0.5, rng=3).send(way)
    (sent,) = inner.sent
    assert 0.3 * len(way) < len(sent) < 0.7 * len(way)
    assert set(sent.times) <= set(way.times)
    np.testing.assert_allclose(sent.positions, way.at(sent.times), atol=1e-12)
    np.testing.assert_allclose(sent.velocities, way.velocity(sent.times), atol=1e-12)


def test_a_silent_driver_thins_out_evenly_to_as_many_as_it_takes(gantry):
    way = fine(gantry)
    inner = Records(ExactDriver(gantry, way.start))
    TakesFewPoints(inner, 7, silent=True).send(way)
    (sent,) = inner.sent
    assert len(sent) == 7
    assert (sent.times[0], sent.duration) == (0.0, way.duration)
    assert np.diff(sent.times).max() < 1.5 * np.diff(sent.times).min()
    short = curve(gantry, [0.0, 0.0], [0.1, 0.1])
    inner.driver = ExactDriver(gantry, [0.0, 0.0])
    TakesFewPoints(inner, 7).send(short)
    assert inner.sent[-1] is short
