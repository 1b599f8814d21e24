"""Drivers: the protocol, the one over TCP, pieces for drivers that take few points."""

from __future__ import annotations

import json
import socket
import time

import numpy as np
import pytest

import memetik as mk
from memetik.motion.execution import tcp_protocol
from memetik.motion.execution.driver import Driver, DriverError, ExactDriver
from memetik.motion.execution.driver_server import DriverServer
from memetik.motion.execution.execute import execute
from memetik.motion.execution.faults import TakesFewPoints
from memetik.motion.execution.tcp import TcpDriver
from memetik.motion.timing.rest_segments import at_rest, split, straight
from memetik.motion.timing.trajectory import Trajectory


@pytest.fixture(scope="module")
def robot():
    return mk.load_robot("ur5")


@pytest.fixture(scope="module")
def way(robot):
    """Through five postures, not at rest between them."""
    rng = np.random.default_rng(0)
    points = robot.state("ready") + rng.uniform(-0.5, 0.5, (5, 6))
    times = np.arange(5.0)
    rates = np.gradient(points, axis=0)
    rates[[0, -1]] = 0.0
    return Trajectory.from_points(robot.joint_names, times, points, rates).resampled(50)


def test_the_drivers_are_drivers(robot):
    driver = ExactDriver(robot)
    assert isinstance(driver, Driver)
    assert isinstance(TakesFewPoints(driver), Driver)


def test_a_jump_at_the_start_is_refused(robot, way):
    driver = ExactDriver(robot, way.start + 0.1)
    with pytest.raises(DriverError, match="starts with joint"):
        driver.send(way)


def test_braking_stays_on_the_way_and_within_the_acceleration_limits(robot, way):
    driver = ExactDriver(robot, way.start)
    driver.send(way)
    driver.wait(1.0)
    driver.stop()
    postures, rates = [], []
    while driver.state().moving:
        driver.wait(0.005)
        postures.append(driver.state().q)
        rates.append(driver.state().velocity)
    dense = way.at(np.linspace(0, way.duration, 20000))
    for q in postures:
        assert np.abs(dense - q).max(axis=1).min() < 1e-3
    braking = np.abs(np.diff(rates, axis=0)).max(axis=0) / 0.005
    assert (braking < 1.2 * robot.acceleration).all()
    assert np.abs(driver.state().velocity).max() == 0.0


@pytest.mark.parametrize("points", [4, 16])
def test_pieces_keep_to_the_way_the_limits_and_the_number_of_points(robot, way, points):
    limits = (robot.velocity, robot.acceleration)
    pieces = split(way, points, tolerance=2e-3, limits=limits)
    dense = way.at(np.linspace(0, way.duration, 20000))
    assert np.allclose(pieces[0].start, way.start, atol=1e-9)
    assert np.allclose(pieces[-1].end, way.end, atol=1e-9)
    for piece in pieces:
        assert len(piece) <= points
        assert np.abs(piece.velocity(np.array([0.0, piece.duration]))).max() < 1e-9
        assert (piece.peaks(1) <= robot.velocity * 1.001).all()
        assert (piece.peaks(2) <= robot.acceleration * 1.001).all()
        for q in piece.at(np.linspace(0, piece.duration, 100)):
            assert np.abs(dense - q).max(axis=1).min() < 3e-3


def test_a_part_from_rest_to_rest_is_as_fast_as_the_limits_allow(robot, way):
    limits = (robot.velocity, robot.acceleration)
    part = at_rest(way, 0.7, 2.9, limits=limits)
    used = max((part.peaks(1) / limits[0]).max(), np.sqrt((part.peaks(2) / limits[1]).max()))
    assert 0.9 < used <= 1.001
    np.testing.assert_allclose(part.start, way.at(0.7), atol=1e-9)
    np.testing.assert_allclose(part.end, way.at(2.9), atol=1e-9)


def test_a_trajectory_runs_over_tcp(robot, way):
    with DriverServer(TakesFewPoints(ExactDriver(robot, way.start))) as server, TcpDriver(server.url) as driver:
        assert server.address[0] == "127.0.0.1"
        assert driver.joint_names == robot.joint_names
        assert driver.most_points == 16
        report = execute(way, driver, robot=robot, background=False).result()
        assert report.success
        np.testing.assert_allclose(driver.state().q, way.end, atol=1e-6)
        with pytest.raises(DriverError, match="16"):
            driver.send(way)


def test_the_server_stops_the_arm_when_the_connection_is_lost(robot, way):
    own = ExactDriver(robot, way.start)
    with DriverServer(own) as server:
        with TcpDriver(server.url) as driver:
            driver.send(way)
            driver.wait(0.5)
            assert driver.state().moving
        for _ in range(1000):
            time.sleep(0.01)  # until the server notices; the arm's own clock goes on by less
            own.wait(0.001)
            if not own.state().moving:
                break
    assert not own.state().moving
    assert own.state().time < way.duration - 0.5


def test_messages_that_are_wrong_are_answered_with_what_is_wrong(robot, monkeypatch):
    with DriverServer(ExactDriver(robot)) as server:
        hello = json.dumps({"schema": tcp_protocol.SCHEMA, "command": "hello", "token": server.token}).encode() + b"\n"
        with socket.create_connection(server.address, timeout=600) as raw, raw.makefile("rb") as file:
            raw.sendall(hello)
            assert json.loads(file.readline())["ok"] is True
            for message, answer in (
                (b"nonsense", "not JSON"),
                (b"[1]", "schema"),
                (b'{"schema": "memetik.driver/1", "command": "state"}', "memetik.driver/2"),
                (b'{"schema": "memetik.driver/2", "command": "dance"}', "choose from 'hello'"),
                (b'{"schema": "memetik.driver/2", "command": "send"}', "trajectory"),
                (b'{"schema": "memetik.driver/2", "command": "wait", "seconds": 1e9}', "seconds"),
                (b'{"schema": "memetik.driver/2", "command": "wait", "seconds": NaN}', "seconds"),
            ):
                raw.sendall(message + b"\n")
                found = json.loads(file.readline())
                assert found["ok"] is False
                assert answer in found["error"]
        monkeypatch.setattr(tcp_protocol, "MAX_BYTES", 1000)
        with socket.create_connection(server.address, timeout=600) as raw, raw.makefile("rb") as file:
            raw.sendall(hello)
            assert json.loads(file.readline())["ok"] is True
            raw.sendall(b"x" * 5000)
            assert "longer than" in json.loads(file.readline())["error"]


def test_a_server_that_is_not_there_is_named():
    with pytest.raises(DriverError, match="no driver answers"):
        TcpDriver("127.0.0.1:1")
    with pytest.raises(mk.InvalidInputError, match="host:port"):
        TcpDriver("somewhere")


def test_a_straight_motion_is_within_the_limits(robot):
    start, goal = robot.random(0), robot.random(1)
    way = straight(robot.joint_names, start, goal, (robot.velocity, robot.acceleration))
    assert (way.peaks(1) <= robot.velocity * 1.001).all()
    assert (way.peaks(2) <= robot.acceleration * 1.001).all()
