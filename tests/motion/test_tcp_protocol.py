"""Drivers over TCP: every message is answered, whatever it is; the server outlives its clients and its driver."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memetik.errors import InvalidInputError
from memetik.motion.execution.driver import DriverError, DriverState, ExactDriver
from memetik.motion.execution.faults import FaultyDriver, TakesFewPoints
from memetik.motion.execution.tcp import LONGEST_WAIT, SCHEMA, DriverServer, TcpDriver
from memetik.motion.timing.trajectory import Trajectory

PATIENCE = 60.0


def motion(gantry) -> Trajectory:
    zero = np.zeros((2, 2))
    return Trajectory.from_points(gantry.joint_names, [0.0, 2.0], [[0.0, 0.0], [1.0, -0.5]], zero, zero)


class Raw:
    """A client that says what it likes."""

    def __init__(self, address: tuple[str, int]):
        self.socket = socket.create_connection(address, timeout=PATIENCE)
        self.file = self.socket.makefile("rb")

    def ask(self, message: Any) -> dict[str, Any]:
        self.socket.sendall(json.dumps(message).encode() + b"\n")
        return self.answer()

    def answer(self) -> dict[str, Any]:
        line = self.file.readline()
        assert line, "the server hung up"
        return json.loads(line)

    def close(self) -> None:
        self.file.close()
        self.socket.close()


@contextmanager
def client(server: DriverServer) -> Iterator[Raw]:
    raw = Raw(server.address)
    try:
        yield raw
    finally:
        raw.close()


@contextmanager
def answering(*lines: bytes) -> Iterator[tuple[str, int]]:
    """A server that answers with these lines, whatever it is asked, and then hangs up."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as file:
            for line in lines:
                if not file.readline():
                    return
                connection.sendall(line)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[:2]
    finally:
        listener.close()
        thread.join(PATIENCE)


def line(**content: Any) -> bytes:
    return json.dumps({"schema": SCHEMA, "ok": True, **content}).encode() + b"\n"


HELLO = line(joint_names=["x", "y"], most_points=None)


def test_the_server_says_what_it_drives(gantry):
    with DriverServer(TakesFewPoints(ExactDriver(gantry), 9)) as server, client(server) as raw:
        assert raw.ask({"schema": SCHEMA, "command": "hello"}) == {
            "schema": SCHEMA,
            "ok": True,
            "joint_names": ["x", "y"],
            "most_points": 9,
        }


def test_a_client_sees_the_state_of_the_driver(gantry):
    own = ExactDriver(gantry, [0.0, 0.0])
    way = motion(gantry)
    with DriverServer(own) as server, TcpDriver(server.address) as driver:
        driver.send(way)
        driver.wait(0.7)
        state, truth = driver.state(), own.state()
        np.testing.assert_array_equal(state.q, truth.q)
        np.testing.assert_array_equal(state.velocity, truth.velocity)
        assert (state.time, state.moving) == (truth.time, truth.moving)
        np.testing.assert_allclose(state.q, way.at(0.7), atol=1e-9)


def test_a_stop_reaches_the_driver(gantry):
    own = ExactDriver(gantry, [0.0, 0.0])
    with DriverServer(own) as server, TcpDriver(server.address) as driver:
        driver.send(motion(gantry))
        driver.wait(0.5)
        driver.stop()
        driver.wait(1.0)
        assert not driver.state().moving
        assert own.state().time < 2.0


def test_a_trajectory_arrives_as_it_was_sent(gantry):
    class Records(FaultyDriver):
        sent: Trajectory | None = None

        def send(self, trajectory):
            self.sent = trajectory

    own = Records(ExactDriver(gantry, [0.0, 0.0]))
    with DriverServer(own) as server, TcpDriver(server.address) as driver:
        driver.send(motion(gantry))
    assert own.sent == motion(gantry)


def test_a_long_wait_is_cut_into_short_ones_of_the_same_sum(gantry):
    class Counts(FaultyDriver):
        waits: tuple[float, ...] = ()

        def wait(self, seconds):
            self.waits += (seconds,)

    own = Counts(ExactDriver(gantry))
    with DriverServer(own) as server, TcpDriver(server.address) as driver:
        driver.wait(2.5)
        driver.wait(0.0)
    assert max(own.waits) <= LONGEST_WAIT
    assert sum(own.waits) == pytest.approx(2.5)


def test_a_refusal_of_the_driver_comes_back_in_its_words(gantry):
    with DriverServer(ExactDriver(gantry, [0.5, 0.5])) as server, TcpDriver(server.address) as driver:
        with pytest.raises(DriverError, match="the trajectory starts with joint 'x' at 0"):
            driver.send(motion(gantry))
        assert not driver.state().moving


def test_the_next_client_is_served_when_the_first_is_gone(gantry):
    with DriverServer(ExactDriver(gantry)) as server:
        for _ in range(3):
            with TcpDriver(server.address) as driver:
                assert driver.joint_names == gantry.joint_names


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def served(gantry):
    with DriverServer(ExactDriver(gantry)) as server, client(server) as raw:
        yield raw


@settings(
    derandomize=True, max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(message=JSON)
def test_whatever_a_message_is_it_is_answered(served, message):
    found = served.ask(message)
    assert found["schema"] == SCHEMA
    assert found["ok"] is False
    assert found["error"]


@settings(derandomize=True, max_examples=60, deadline=None)
@given(
    names=st.just(["x", "y"]) | JSON,
    times=st.just([0.0, 1.0]) | JSON,
    rows=st.just([[0.0, 0.0], [1.0, 1.0]]) | JSON,
    pieces=st.none() | JSON,
    seconds=JSON,
)
def test_whatever_a_trajectory_is_it_is_answered(served, names, times, rows, pieces, seconds):
    content = {"schema": "memetik.trajectory/1", "joint_names": names, "times": times, "positions": rows}
    if pieces is not None:
        content["coefficients"] = pieces
    found = served.ask({"schema": SCHEMA, "command": "send", "trajectory": content})
    assert found["ok"] in (True, False)
    found = served.ask({"schema": SCHEMA, "command": "wait", "seconds": seconds})
    assert found["ok"] in (True, False)
    assert served.ask({"schema": SCHEMA, "command": "state"})["ok"]


@pytest.mark.parametrize(
    "data", [b"\xff\xfe\n", b"[" * 100_000 + b"\n", b"\n", b'{"schema": "memetik.driver/1", "command": "st\n']
)
def test_lines_that_are_no_messages_are_answered_and_the_next_one_is_served(served, data):
    served.socket.sendall(data)
    assert served.answer()["ok"] is False
    assert served.ask({"schema": SCHEMA, "command": "state"})["ok"] is True


def test_messages_that_arrive_in_pieces_or_together_are_each_answered(served):
    whole = json.dumps({"schema": SCHEMA, "command": "state"}).encode() + b"\n"
    served.socket.sendall(whole[:10])
    time.sleep(0.05)
    served.socket.sendall(whole[10:] + whole + whole[:5])
    assert served.answer()["ok"] is True
    assert served.answer()["ok"] is True
    served.socket.sendall(whole[5:])
    assert served.answer()["ok"] is True


@pytest.mark.parametrize("seconds", [-0.1, 1.0001, "1", None, [1.0]])
def test_only_short_waits_are_taken(served, seconds):
    found = served.ask({"schema": SCHEMA, "command": "wait", "seconds": seconds})
    assert found["ok"] is False
    assert "seconds" in found["error"]


class Fails(FaultyDriver):
    """Its cable comes loose."""

    def __init__(self, driver, method: str):
        super().__init__(driver)
        self.method, self.stopped = method, 0

    def state(self):
        if self.method == "state":
            raise OSError("the cable is loose")
        return super().state()

    def stop(self):
        self.stopped += 1
        if self.method == "stop":
            raise OSError("the cable is loose")
        super().stop()


@pytest.mark.parametrize("method", ["state", "stop"])
def test_a_failing_driver_is_reported_and_the_server_goes_on(gantry, method):
    own = Fails(ExactDriver(gantry), method)
    with DriverServer(own) as server:
        with client(server) as raw:
            found = raw.ask({"schema": SCHEMA, "command": method})
            assert found["ok"] is False
            assert "the cable is loose" in found["error"]
            assert raw.ask({"schema": SCHEMA, "command": "hello"})["ok"] is True
        with client(server) as raw:
            assert raw.ask({"schema": SCHEMA, "command": "hello"})["ok"] is True
    assert own.stopped >= 1


def test_a_message_without_end_from_a_client_that_is_gone_does_not_end_the_server(gantry, monkeypatch):
    monkeypatch.setattr("memetik.motion.execution.tcp.MAX_BYTES", 1000)

    with DriverServer(ExactDriver(gantry)) as server:
        with socket.create_connection(server.address, timeout=PATIENCE) as raw:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
            raw.sendall(b"x" * 200_000)
        with client(server) as raw:
            assert raw.ask({"schema": SCHEMA, "command": "hello"})["ok"] is True


def test_closing_the_server_ends_its_thread_and_stops_the_arm(gantry):
    own = Fails(ExactDriver(gantry), "")
    server = DriverServer(own)
    driver = TcpDriver(server.address)
    server.close()
    server.join()
    assert own.stopped == 1
    with pytest.raises(DriverError, match=r"closed|lost"):
        driver.state()
    driver.close()


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ((b"",), "closed"),
        ((b"{\n",), "not JSON"),
        ((b"17\n",), "an object of names and values"),
        ((line(schema="memetik.driver/9"),), "this version reads 'memetik.driver/1'"),
        ((line(ok=False, error="out of order"),), "out of order"),
        ((json.dumps({"schema": SCHEMA}).encode() + b"\n",), "gave no reason"),
        ((line(),), "joint_names"),
        ((line(joint_names="xy"),), "joint_names"),
        ((line(joint_names=["x", 1]),), "joint_names"),
    ],
)
def test_a_client_refuses_a_server_that_does_not_speak_the_protocol(answers, message):
    with answering(*answers) as address, pytest.raises(DriverError, match=message):
        TcpDriver(address, timeout=PATIENCE)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (None, "'q' is needed"),
        ({"q": [0.0, 0.0]}, "'velocity' is needed"),
        ({"q": [0.0], "velocity": [0.0, 0.0], "time": 0.0, "moving": False}, "q must be 2 numbers"),
        ({"q": [0.0, 0.0], "velocity": [0.0], "time": 0.0, "moving": False}, "velocity must be 2 numbers"),
        ({"q": [0.0, "far"], "velocity": [0.0, 0.0], "time": 0.0, "moving": False}, "q must be 2 numbers"),
        ({"q": [0.0, None], "velocity": [0.0, 0.0], "time": 0.0, "moving": False}, "q must be 2 numbers"),
        ({"q": [0.0, 0.0], "velocity": [0.0, 0.0], "time": "now", "moving": False}, "time must be a number"),
    ],
)
def test_a_state_that_is_none_is_refused(state, message):
    with answering(HELLO, line(state=state)) as address, TcpDriver(address, timeout=PATIENCE) as driver:
        assert driver.most_points is None
        with pytest.raises(DriverError, match=message):
            driver.state()


def test_a_state_that_is_not_a_number_is_refused():
    state = '{"q": [NaN, 0], "velocity": [0, 0], "time": 0, "moving": 0}'
    broken = f'{{"schema": "{SCHEMA}", "ok": true, "state": {state}}}\n'.encode()
    with (
        answering(HELLO, broken) as address,
        TcpDriver(address, timeout=PATIENCE) as driver,
        pytest.raises(DriverError, match="finite"),
    ):
        driver.state()


@pytest.mark.parametrize("form", ["{}:{}", "tcp://{}:{}"])
def test_an_address_may_be_a_text(gantry, form):
    with DriverServer(ExactDriver(gantry)) as server:
        with TcpDriver(form.format(*server.address)) as driver:
            assert isinstance(driver.state(), DriverState)
        with TcpDriver(f":{server.address[1]}") as driver:
            assert driver.joint_names == ("x", "y")


@pytest.mark.parametrize("address", ["host:", "host:port", 5, (1, 2, 3), None])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(InvalidInputError, match="host:port"):
        TcpDriver(address)


def test_a_trajectory_that_is_too_long_for_a_message_is_not_sent(gantry, monkeypatch):
    monkeypatch.setattr("memetik.motion.execution.tcp.MAX_BYTES", 300)
    with DriverServer(ExactDriver(gantry)) as server, TcpDriver(server.address) as driver:
        with pytest.raises(DriverError, match=r"longer than the 300"):
            driver.send(motion(gantry))
        assert not driver.state().moving
