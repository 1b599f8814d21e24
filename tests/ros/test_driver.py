"""RosDriver against a controller in a process of its own, under physics, on loopback: the action and the topic."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from test_dds import DOMAIN, until

import memetik as mk
from memetik.ros.pieces import piece
from memetik.ros.transports.choice import open_transport

pytest.importorskip("mujoco")
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture(scope="module")
def robot() -> mk.Robot:
    return mk.load_robot("panda")


@pytest.fixture
def controller() -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def start(*options: str) -> subprocess.Popen[str]:
        script = str(Path(__file__).parent / "controller.py")
        words = [sys.executable, script, "panda", "--domain", str(DOMAIN), *options]
        started.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
        assert started[-1].stdout is not None
        assert started[-1].stdout.readline().strip() == "controlling"
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def goal_of(robot: mk.Robot, q: np.ndarray) -> np.ndarray:
    return robot.clip(q + np.array([0.6, 0.3, 0.0, 0.3, 0.0, 0.2, 0.0, 0.0]))


@pytest.mark.clock
@pytest.mark.parametrize("by", ["action", "topic"])
def test_a_plan_is_followed_and_a_cancelled_one_stops_on_its_way(by: str, robot: mk.Robot, controller: Start):
    controller()
    with (
        open_transport("driver", "dds", domain=DOMAIN) as transport,
        mk.RosDriver("arm_controller", robot=robot, by=by, transport=transport, stale=30.0) as driver,
    ):
        q = robot.clip(driver.state().q)
        plan = mk.plan(robot, goal_of(robot, q), start=q, velocity_scale=0.4)
        report = mk.execute(plan, driver, tolerance=0.3, goal_tolerance=0.02).result(120.0)
        assert report.success, report.explain()
        back = mk.plan(robot, q, start=robot.clip(driver.state().q), velocity_scale=0.4)
        handle = mk.execute(back, driver, tolerance=0.3, goal_tolerance=0.02)
        time.sleep(0.3 * back.duration)
        handle.cancel()
        stopped = handle.result(120.0)
        assert stopped.reason == "cancelled"
        assert stopped.at_rest
        assert np.abs(stopped.q - stopped.goal).max() > 0.02
        assert back.trajectory is not None
        way = back.trajectory.at(np.linspace(0.0, back.duration, 2000))
        assert np.abs(way - stopped.q).max(axis=1).min() < 0.05  # it braked along the way


@pytest.mark.clock
def test_an_abort_is_told_and_recovered_from(robot: mk.Robot, controller: Start):
    controller("--abort-at", "0.3")
    with (
        open_transport("driver", "dds", domain=DOMAIN) as transport,
        mk.RosDriver("arm_controller", robot=robot, by="action", transport=transport, stale=30.0) as driver,
    ):
        q = robot.clip(driver.state().q)
        plan = mk.plan(robot, goal_of(robot, q), start=q, velocity_scale=0.4)
        assert plan.trajectory is not None
        driver.send(plan.trajectory)
        assert until(lambda: driver.message)
        assert "path tolerance violated" in driver.message
        assert "told to" in driver.message
        time.sleep(0.5)
        rest = mk.plan(robot, goal_of(robot, q), start=robot.clip(driver.state().q), velocity_scale=0.4)
        assert mk.execute(rest, driver, tolerance=0.3, goal_tolerance=0.02).result(120.0).success


def test_what_must_not_be_sent_is_refused(robot: mk.Robot, controller: Start):
    controller()
    with (
        open_transport("driver", "dds", domain=DOMAIN) as transport,
        mk.RosDriver("arm_controller", robot=robot, transport=transport, stale=30.0) as driver,
    ):
        assert driver.by == "action"
        q = driver.state().q
        names = driver.joint_names
        with pytest.raises(mk.DriverError, match="starts with joint"):
            driver.send(mk.Trajectory.from_points(names, [0.0, 1.0], [q + 0.3, q]))
        with pytest.raises(mk.DriverError, match="velocity limit"):
            driver.send(mk.Trajectory.from_points(names, [0.0, 0.02], [q, robot.clip(q + 0.3)]))
        beyond = q.copy()
        beyond[0] = robot.upper[0] + 0.2
        with pytest.raises(mk.DriverError, match="beyond its limits"):
            driver.send(mk.Trajectory.from_points(names, [0.0, 9.0], [q, beyond]))
        with pytest.raises(mk.errors.UnknownNameError):
            driver.send(mk.Trajectory.from_points(["elbow"], [0.0, 1.0], [[0.0], [1.0]]))


def test_a_controller_that_dies_ends_the_execution_with_a_reason(robot: mk.Robot, controller: Start):
    process = controller()
    with (
        open_transport("driver", "dds", domain=DOMAIN) as transport,
        mk.RosDriver("arm_controller", robot=robot, transport=transport, stale=0.5) as driver,
    ):
        q = robot.clip(driver.state().q)
        plan = mk.plan(robot, goal_of(robot, q), start=q, velocity_scale=0.2)
        handle = mk.execute(plan, driver, tolerance=0.3, goal_tolerance=0.02)
        time.sleep(0.3 * plan.duration)
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(mk.DriverError, match=r"silent.*last heard of at panda_joint1"):
            handle.result(120.0)


def test_pieces_are_the_trajectory_and_end_at_rest_on_its_way(robot: mk.Robot):
    q = robot.state("ready")
    trajectory = mk.plan(robot, goal_of(robot, q), start=q, velocity_scale=0.4).trajectory
    assert trajectory is not None
    most = robot.acceleration
    for at in np.linspace(0.0, 0.9 * trajectory.duration, 7):
        part = piece(trajectory, at, 0.3, most)
        inside = np.linspace(0.0, min(0.3, trajectory.duration - at), 50)
        np.testing.assert_allclose(part.at(inside), trajectory.at(at + inside), atol=3e-4)
        np.testing.assert_allclose(part.velocity(part.duration), 0.0, atol=1e-9)
        assert part.peaks(1).max() <= 1.05 * trajectory.peaks(1).max()
        way = trajectory.at(np.linspace(at, trajectory.duration, 4000))
        off = np.abs(part.at(np.linspace(0.0, part.duration, 60))[:, None] - way[None]).max(axis=2).min(axis=1)
        assert off.max() < 2e-3


@pytest.mark.clock
def test_with_a_horizon_the_arm_stands_soon_after_its_driver_is_gone(robot: mk.Robot, controller: Start):
    controller()
    with open_transport("driver", "dds", domain=DOMAIN) as transport:
        driver = mk.RosDriver("arm_controller", robot=robot, transport=transport, horizon=0.4)
        assert driver.by == "topic"
        q = robot.clip(driver.state().q)
        plan = mk.plan(robot, goal_of(robot, q), start=q, velocity_scale=0.2)
        assert plan.trajectory is not None
        driver.send(plan.trajectory)
        assert until(lambda: float(np.abs(driver.state().q - q).max()) > 0.1)
        driver._horizon = None
        driver._trajectory = None  # nothing is renewed any more, as when the program has died
        gone = driver.state().q
        assert until(lambda: float(np.abs(driver.state().velocity).max()) < 1e-3)
        rest = driver.state().q
        assert np.abs(rest - plan.trajectory.end).max() > 0.05
        assert np.abs(rest - gone).max() < 0.3


def test_a_horizon_goes_with_the_topic(robot: mk.Robot):
    with pytest.raises(mk.errors.InvalidInputError, match="horizon"):
        mk.RosDriver("arm_controller", robot=robot, by="action", horizon=0.5)


def test_nobody_there_is_said(robot: mk.Robot):
    with (
        open_transport("driver", "dds", domain=DOMAIN) as transport,
        pytest.raises(mk.DriverError, match="/joint_states"),
    ):
        mk.RosDriver("arm_controller", robot=robot, transport=transport, timeout=0.3)
