"""Executions: progress, cancel, faults, obstacles that appear."""

from __future__ import annotations

import numpy as np
import pytest

import memetik as mk
from memetik.motion.execution.driver import ExactDriver, SimulatedDriver
from memetik.motion.execution.execute import execute
from memetik.motion.execution.faults import DropsPoints, FaultyDriver, StopsEarly, TakesFewPoints
from memetik.motion.execution.simulation import Simulation
from memetik.motion.timing.rest_segments import straight

pytest.importorskip("mujoco")


@pytest.fixture(scope="module")
def robot():
    return mk.load_robot("ur10")


@pytest.fixture(scope="module")
def way(robot):
    start = robot.state("ready")
    goal = start + np.array([1.5, 0.3, -0.4, 0.2, 0.5, 1.0])
    return straight(robot.joint_names, start, goal, (robot.velocity, robot.acceleration)).resampled(50)


def simulated(robot, way, scene=None):
    return SimulatedDriver(Simulation(robot, scene, q=way.start))


FAULTS = {
    "stops at a share": lambda driver: StopsEarly(driver, 0.5),
    "stops anywhere": lambda driver: StopsEarly(driver, None, chance=0.7, rng=1),
    "drops points": lambda driver: DropsPoints(driver, 0.7),
    "takes 16 points": lambda driver: TakesFewPoints(driver, 16),
    "thins out silently": lambda driver: TakesFewPoints(driver, 3, silent=True),
    "stops early and takes 16": lambda driver: StopsEarly(TakesFewPoints(driver, 16), 0.5, times=3),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_ends_at_the_goal_or_in_a_report_with_the_arm_at_rest(robot, way, fault):
    driver = FAULTS[fault](simulated(robot, way))
    report = execute(way, driver, robot=robot, background=False).result()
    assert report.at_rest
    assert report.explain()
    if report.success:
        np.testing.assert_allclose(report.q, way.end, atol=2e-3)
    else:
        assert report.reason in ("stopped early", "left the way")


def test_early_stops_are_made_up_for_on_the_same_branch(robot, way):
    driver = StopsEarly(simulated(robot, way), 0.6, times=2)
    report = execute(way, driver, robot=robot, background=False).result()
    assert report.success
    assert report.recoveries == 2
    dense = way.at(np.linspace(0, way.duration, 2000))
    for q in report.positions:  # never far from the way, so on no other branch
        assert np.abs(dense - q).max(axis=1).min() < 0.02


def test_a_driver_that_never_finishes_is_given_up_at_rest(robot, way):
    class Lame(FaultyDriver):
        def send(self, trajectory):
            pass

    report = execute(way, Lame(simulated(robot, way)), robot=robot, background=False, recoveries=2).result()
    assert not report.success
    assert report.at_rest
    assert "stopped" in report.message


def test_progress_rises_and_cancel_stops(robot, way):
    driver = ExactDriver(robot, way.start, real_time=5.0)
    handle = execute(way, driver, robot=robot)
    seen = []
    while handle.progress < 0.3 and not handle.done:
        seen.append(handle.progress)
    handle.cancel()
    report = handle.result(timeout=600)
    assert seen == sorted(seen)
    assert report.reason == "cancelled"
    assert report.at_rest
    assert handle.done
    assert not report.success


def test_errors_of_a_driver_come_through_and_the_arm_is_told_to_stop(robot, way):
    class Broken(FaultyDriver):
        stopped = False

        def state(self):
            if self.driver.state().time > 0.5:
                raise OSError("cable")
            return self.driver.state()

        def stop(self):
            self.stopped = True

    driver = Broken(ExactDriver(robot, way.start))
    with pytest.raises(OSError, match="cable"):
        execute(way, driver, background=False).result()
    assert driver.stopped


class Surprise(FaultyDriver):
    """Puts something into the scene once the arm has gone a while."""

    def __init__(self, driver, scene, place, after):
        super().__init__(driver)
        self.scene, self.place, self.after = scene, place, after

    def wait(self, seconds):
        super().wait(seconds)
        if "crate" not in self.scene and self.driver.state().time > self.after:
            self.scene.add_box("crate", (0.15, 0.15, 0.15), self.place)


def test_an_obstacle_on_the_way_stops_the_arm_before_it_touches(robot, way):
    scene = mk.Scene()
    place = mk.transform(robot.pose("tool0", way.at(0.75 * way.duration))[:3, 3])
    driver = Surprise(simulated(robot, way, scene), scene, place, 0.2 * way.duration)
    report = execute(way, driver, robot=robot, scene=scene, recoveries=0, background=False).result()
    assert report.reason == "obstacle"
    assert report.at_rest
    assert not driver.driver.simulation.touches
    assert not mk.CollisionModel(robot, scene).collides(report.q)


def test_an_obstacle_on_the_way_is_driven_around_to_the_same_posture(robot, way):
    scene = mk.Scene()
    place = mk.transform(robot.pose("tool0", way.at(0.6 * way.duration))[:3, 3])
    driver = Surprise(simulated(robot, way, scene), scene, place, 0.2 * way.duration)
    report = execute(way, driver, robot=robot, scene=scene, background=False).result()
    assert report.success, report.explain()
    assert any("new plan" in event.what for event in report.events)
    np.testing.assert_allclose(report.q, way.end, atol=2e-3)
    assert not driver.driver.simulation.touches
    assert not mk.CollisionModel(robot, scene).collides(report.positions).any()


def test_an_obstacle_at_the_goal_is_reported(robot, way):
    scene = mk.Scene()
    place = mk.transform(robot.pose("tool0", way.end)[:3, 3])
    driver = Surprise(simulated(robot, way, scene), scene, place, 0.2 * way.duration)
    report = execute(way, driver, robot=robot, scene=scene, background=False).result()
    assert report.reason == "goal blocked"
    assert "crate" in report.message
    assert report.at_rest
    assert not driver.driver.simulation.touches


def test_an_obstacle_off_the_way_changes_nothing(robot, way):
    scene = mk.Scene()
    driver = Surprise(simulated(robot, way, scene), scene, mk.transform((5, 5, 5)), 0.2 * way.duration)
    report = execute(way, driver, robot=robot, scene=scene, background=False).result()
    assert report.success
    assert any("still free" in event.what for event in report.events)


def test_what_cannot_be_executed_is_said(robot, way):
    with pytest.raises(mk.InvalidInputError, match="Plan or a Trajectory"):
        execute("way", ExactDriver(robot))
    with pytest.raises(mk.InvalidInputError, match="joints"):
        execute(way, ExactDriver(robot), robot=mk.load_robot("panda"))
    with pytest.raises(mk.InvalidInputError, match="tolerance"):
        execute(way, ExactDriver(robot), tolerance=0.0)
