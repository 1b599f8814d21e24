"""Executions that are paused, slowed down, and that give way to what moves."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import memetik as mk
from memetik.motion.execution.driver import ExactDriver
from memetik.motion.execution.execute import execute
from memetik.motion.execution.faults import FaultyDriver
from memetik.motion.timing.rest_segments import straight

pytest.importorskip("coal")
LIMITS = (np.array([1.0, 1.0]), np.array([2.0, 2.0]))


class Deaf(FaultyDriver):
    """A driver that cannot change its pace."""

    pace = None  # pyright: ignore[reportAssignmentType]


class Calls(FaultyDriver):
    """Calls something once its own time has come, and keeps what it measured."""

    def __init__(self, driver, calls):
        super().__init__(driver)
        self.calls, self.clock, self.log = list(calls), 0.0, []

    def wait(self, seconds):
        for _ in range(round(seconds / 0.005)):
            super().wait(0.005)
            self.clock += 0.005
            state = self.state()
            self.log.append((self.clock, state.q.copy(), state.velocity.copy()))
            while self.calls and self.clock >= self.calls[0][0]:
                self.calls.pop(0)[1]()


@pytest.fixture
def way(gantry):
    return straight(gantry.joint_names, np.array([-0.8, 0.0]), np.array([0.8, 0.3]), LIMITS)


def run(gantry, way, calls, wrap=lambda driver: driver, **options):
    handles = []
    driver = Calls(wrap(ExactDriver(gantry, way.start)), [(at, lambda f=f: f(handles[0])) for at, f in calls])
    ready = threading.Event()
    inner = driver.wait
    driver.wait = lambda seconds: (ready.wait(10.0), inner(seconds))[1]
    handles.append(execute(way, driver, robot=gantry, **options))
    ready.set()
    return handles[0].result(60.0), driver


def accelerations(driver):
    return np.abs(np.diff([velocity for _, _, velocity in driver.log], axis=0)) / 0.005


@pytest.mark.parametrize("wrap", [lambda d: d, Deaf], ids=["a driver with a pace", "one without"])
def test_a_pause_is_a_rest_on_the_way_and_resuming_ends_at_the_goal(gantry, way, wrap):
    report, driver = run(gantry, way, [(0.8, lambda h: h.pause()), (4.0, lambda h: h.resume())], wrap)
    assert report.success, report.explain()
    assert report.recoveries == 0
    times = np.array([t for t, *_ in driver.log])
    speeds = np.abs([v for *_, v in driver.log]).max(axis=1)
    assert speeds[(times > 2.0) & (times < 3.95)].max() == 0.0
    assert speeds.max() <= 1.0 + 1e-9
    dense = way.at(np.linspace(0.0, way.duration, 4000))
    assert max(np.abs(dense - q).max(axis=1).min() for _, q, _ in driver.log) < 1e-3
    np.testing.assert_allclose(report.q, way.end, atol=2e-3)


@pytest.mark.parametrize("wrap", [lambda d: d, Deaf], ids=["a driver with a pace", "one without"])
def test_a_share_of_the_speed_is_kept_and_given_back(gantry, way, wrap):
    report, driver = run(gantry, way, [(0.6, lambda h: h.speed(0.2)), (6.0, lambda h: h.speed(1.0))], wrap)
    assert report.success, report.explain()
    times = np.array([t for t, *_ in driver.log])
    speeds = np.abs([v for *_, v in driver.log]).max(axis=1)
    assert speeds[(times > 1.8) & (times < 5.9)].max() <= 0.2 * 1.001
    assert speeds[(times > 1.8) & (times < 5.9)].max() > 0.05
    assert speeds[times > 6.1].max() > 0.25
    assert report.duration > way.duration + 2.0


def test_changes_of_pace_keep_within_the_accelerations_of_the_way(gantry, way):
    changes = [(0.3, lambda h: h.speed(0.5)), (0.9, lambda h: h.pause()), (1.5, lambda h: h.resume()),
               (2.0, lambda h: h.speed(1.0))]  # fmt: skip
    report, driver = run(gantry, way, changes)
    assert report.success, report.explain()
    assert (accelerations(driver).max(axis=0) <= way.peaks(2) * 1.02 + 1e-6).all()


def test_a_paused_execution_can_be_cancelled_and_shares_are_checked(gantry, way):
    report, _ = run(gantry, way, [(0.5, lambda h: h.pause()), (3.0, lambda h: h.cancel())])
    assert report.reason == "cancelled"
    assert report.at_rest
    handle = execute(way, ExactDriver(gantry, way.start), robot=gantry, background=False)
    for wrong in (0.0, -0.1, 1.5, np.nan):
        with pytest.raises(mk.InvalidInputError, match="share of the plan's"):
            handle.speed(wrong)


class Crosses(FaultyDriver):
    """A ball crosses the way at a velocity, in the driver's time."""

    def __init__(self, driver, scene, start, velocity):
        super().__init__(driver)
        self.scene, self.start, self.velocity, self.clock, self.log = (
            scene,
            np.array(start),
            np.array(velocity),
            0.0,
            [],
        )
        scene.add_sphere("ball", 0.1, mk.transform((*start, 0.0)))

    def wait(self, seconds):
        super().wait(seconds)
        self.clock += seconds
        at = self.start + self.velocity * self.clock
        self.scene.move("ball", mk.transform((*at, 0.0)))
        state = self.state()
        self.log.append((np.linalg.norm(state.q - at) - 0.15, np.abs(state.velocity).max()))


@pytest.mark.parametrize(("share", "velocity"), [(0.5, (0.0, -0.5)), (0.7, (0.0, -0.6)), (0.6, (0.1, 0.3))])
def test_what_crosses_the_way_is_let_pass_without_contact(gantry, share, velocity):
    scene = mk.Scene()
    plan = mk.plan(gantry, [0.8, 0.3], scene=scene, start=[-0.8, 0.0])
    time = share * plan.duration
    start = plan.trajectory.at(time) - time * np.array(velocity)  # the two would meet
    driver = Crosses(ExactDriver(gantry, plan.start), scene, start, velocity)
    report = execute(plan, driver, background=False).result()
    assert report.success, report.explain()
    assert all(clearance > 0.0 for clearance, speed in driver.log if speed > 1e-3)
    blind = Crosses(ExactDriver(gantry, plan.start), mk.Scene(), start, velocity)
    execute(plan.trajectory, blind, background=False).result()
    assert min(clearance for clearance, speed in blind.log if speed > 1e-3) < 0.0  # it would have been hit


def test_the_arm_slows_down_before_it_stops(gantry):
    scene = mk.Scene()
    plan = mk.plan(gantry, [0.8, 0.0], scene=scene, start=[-0.8, 0.0])
    driver = Crosses(ExactDriver(gantry, plan.start), scene, (1.4, 0.0), (-0.3, 0.0))  # comes head on
    report = execute(plan, driver, background=False, recoveries=0).result()
    assert not report.success
    assert report.at_rest
    assert any("comes near: slower" in event.what for event in report.events)
    stop = next(k for k, (_, speed) in enumerate(driver.log) if k > 20 and speed < 1e-3)
    before = [speed for _, speed in driver.log[max(stop - 25, 0) : stop - 10]]
    assert max(before) < 0.9 * plan.trajectory.peaks(1).max()
    assert all(clearance > 0.0 for clearance, speed in driver.log if speed > 1e-3)
