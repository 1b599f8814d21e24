"""The driver of Universal Robots' arms, against a controller of our own that runs the programs it is sent."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from ur_controller import STEP, Controller

import memetik as mk
from memetik.motion.execution.rtde import PORT

START = np.array([0.0, -1.2, 1.5, -1.8, -1.57, 0.0])
GOAL = START + np.array([0.4, 0.3, -0.4, 0.2, 0.3, -0.5])


@pytest.fixture
def controller() -> Iterator[Controller]:
    with Controller(START) as served:
        yield served


@pytest.fixture(scope="module")
def arm() -> mk.Robot:
    return mk.load_robot("ur5")


@pytest.fixture(scope="module")
def motion(arm: mk.Robot) -> mk.Plan:
    plan = mk.plan(arm, GOAL, start=START)
    assert plan.success
    return plan


def opened(controller: Controller, arm: mk.Robot, **options: float) -> mk.UniversalRobotsDriver:
    return mk.UniversalRobotsDriver("127.0.0.1", robot=arm, ports=controller.ports, **{"silence": 0.6, **options})


def test_a_plan_is_executed_and_the_arm_stays_on_its_path(
    controller: Controller, arm: mk.Robot, motion: mk.Plan
) -> None:
    with opened(controller, arm) as driver:
        report = mk.execute(motion, driver).result()
        assert report.success, report.message
        np.testing.assert_allclose(driver.state().q, GOAL, atol=1e-3)
        assert controller.is_running
    assert not controller.is_running  # the program ends with the driver
    path = motion.trajectory.at(np.linspace(0.0, motion.trajectory.duration, 2000))
    asked = np.array(controller.targets)[::7]
    off = np.abs(asked[:, None] - path[None]).max(axis=2).min(axis=1)
    assert off.max() < 2e-3


def test_the_arm_brakes_along_its_path_when_it_is_stopped(
    controller: Controller, arm: mk.Robot, motion: mk.Plan
) -> None:
    with opened(controller, arm) as driver:
        driver.send(motion.trajectory)
        _until(lambda: driver.state().time > 0.4 * motion.trajectory.duration)
        driver.stop()
        _until(lambda: not driver.state().moving)
        followed = driver.state().time
        assert followed < 0.95 * motion.trajectory.duration
        np.testing.assert_allclose(driver.state().q, motion.trajectory.at(followed), atol=2e-3)


def test_the_program_brakes_by_itself_when_setpoints_fail_to_come(
    controller: Controller, arm: mk.Robot, motion: mk.Plan
) -> None:
    with opened(controller, arm) as driver:
        driver.send(motion.trajectory)
        _until(lambda: driver.state().time > 0.4 * motion.trajectory.duration)
        controller.is_answering = False  # then nothing is answered with a setpoint either
        _until(lambda: not controller.is_running)
        stopped = controller.q.copy()
        assert np.abs(stopped - GOAL).max() > 0.02
        steps = np.abs(np.diff(np.array(controller.seen), 2, axis=0)).max() / STEP**2
        assert steps < 60.0  # it brakes, and does not jump
        controller.is_answering = True
        with pytest.raises(mk.DriverError, match=r"ended|says nothing"):
            _until(lambda: driver.state() is None)


def test_a_lower_speed_slider_slows_the_motion(controller: Controller, arm: mk.Robot, motion: mk.Plan) -> None:
    controller.values["target_speed_fraction"] = (0.5,)
    with opened(controller, arm) as driver:
        driver.send(motion.trajectory)
        begin = controller.time
        _until(lambda: not driver.state().moving)
        assert controller.time - begin > 1.8 * motion.trajectory.duration


def test_an_arm_that_cannot_move_says_why(controller: Controller, arm: mk.Robot, motion: mk.Plan) -> None:
    with opened(controller, arm) as driver:
        controller.values["safety_mode"] = (3,)
        with pytest.raises(mk.DriverError, match=r"protective stop; clear it on the pendant"):
            _until(lambda: driver.state() is None)
        controller.values["safety_mode"] = (1,)
        controller.values["robot_mode"] = (5,)
        time.sleep(0.1)
        with pytest.raises(mk.DriverError, match=r"brakes on"):
            _until(lambda: driver.state() is None)


def test_a_program_that_does_not_begin_is_told(controller: Controller, arm: mk.Robot, motion: mk.Plan) -> None:
    controller.takes_programs = False
    with opened(controller, arm) as driver, pytest.raises(mk.DriverError, match=r"must be in remote control"):
        driver.send(motion.trajectory)


def test_a_program_stopped_at_the_pendant_is_an_error(controller: Controller, arm: mk.Robot, motion: mk.Plan) -> None:
    with opened(controller, arm) as driver:
        driver.send(motion.trajectory)
        _until(lambda: driver.state().time > 0.1)
        controller.stop_program()
        controller.values["output_int_register_24"] = (0,)
        with pytest.raises(mk.DriverError, match=r"program on the controller ended"):
            _until(lambda: driver.state() is None)


def test_a_start_elsewhere_and_an_arm_of_seven_joints_are_refused(
    controller: Controller, arm: mk.Robot, motion: mk.Plan
) -> None:
    with opened(controller, arm) as driver, pytest.raises(mk.DriverError, match=r"starts with joint"):
        driver.send(mk.Trajectory.resting(arm.joint_names, GOAL))
    with pytest.raises(mk.InvalidInputError, match=r"6 joints"):
        mk.UniversalRobotsDriver("127.0.0.1", robot=mk.load_robot("panda").group("panda_arm"))


def test_nobody_there_is_a_sentence() -> None:
    with pytest.raises(mk.DriverError, match=r"no controller answers by RTDE at 127.0.0.1:9"):
        mk.UniversalRobotsDriver("127.0.0.1", ports=(9, 9))


def test_an_exported_program_runs_along_the_trajectory(controller: Controller, motion: mk.Plan, tmp_path: Path) -> None:
    motion.trajectory.save(tmp_path / "motion.script")
    controller.start((tmp_path / "motion.script").read_text())
    _until(lambda: not controller.is_running, motion.trajectory.duration + 10.0)
    np.testing.assert_allclose(controller.q, GOAL, atol=5e-3)
    expected = motion.trajectory.at(0.008 * np.arange(1, 1 + len(controller.targets) // 4))
    np.testing.assert_allclose(controller.targets[3::4][: len(expected)], expected, atol=1e-6)


@pytest.mark.unsanitized
def test_another_client_of_rtde_reads_our_controller() -> None:
    pytest.importorskip("rtde_receive", reason="ur_rtde, of the University of Southern Denmark, is not installed")
    read = (
        "import rtde_receive; r = rtde_receive.RTDEReceiveInterface('127.0.0.1', 125.0);"
        "print(r.getActualQ(), r.getRobotMode(), r.getSafetyMode())"
    )
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", PORT)) == 0:
            pytest.skip(f"port {PORT}, the only one that ur_rtde connects to, is in use")
    with Controller(START, PORT):
        done = subprocess.run([sys.executable, "-c", read], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == f"{START.tolist()} 7 1", done.stderr


def _until(condition, seconds: float = 20.0) -> None:  # type: ignore[no-untyped-def]
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.01)
