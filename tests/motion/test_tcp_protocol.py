"""Drivers over TCP: every message is answered, whatever it is; the server outlives its clients and its driver."""

from __future__ import annotations

import importlib
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memetik.errors import InvalidInputError
from memetik.motion.execution.driver import DriverError, DriverState, ExactDriver
from memetik.motion.execution.driver_server import DriverServer
from memetik.motion.execution.faults import FaultyDriver, TakesFewPoints
from memetik.motion.execution.tcp import TcpDriver
from memetik.motion.execution.tcp_protocol import LONGEST_WAIT, SCHEMA
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

    def greet(self, token: str) -> dict[str, Any]:
        return self.ask({"schema": SCHEMA, "command": "hello", "token": token})

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
        assert raw.greet(server.token)["ok"] is True
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
    with DriverServer(own) as server, TcpDriver(server.url) as driver:
        driver.send(way)
        driver.wait(0.7)
        state, truth = driver.state(), own.state()
        np.testing.assert_array_equal(state.q, truth.q)
        np.testing.assert_array_equal(state.velocity, truth.velocity)
        assert (state.time, state.moving) == (truth.time, truth.moving)
        np.testing.assert_allclose(state.q, way.at(0.7), atol=1e-9)


def test_a_stop_reaches_the_driver(gantry):
    own = ExactDriver(gantry, [0.0, 0.0])
    with DriverServer(own) as server, TcpDriver(server.url) as driver:
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
    with DriverServer(own) as server, TcpDriver(server.url) as driver:
        driver.send(motion(gantry))
    assert own.sent == motion(gantry)


def test_a_long_wait_is_cut_into_short_ones_of_the_same_sum(gantry):
    class Counts(FaultyDriver):
        waits: tuple[float, ...] = ()

        def wait(self, seconds):
            self.waits += (seconds,)

    own = Counts(ExactDriver(gantry))
    with DriverServer(own) as server, TcpDriver(server.url) as driver:
        driver.wait(2.5)
        driver.wait(0.0)
    assert max(own.waits) <= LONGEST_WAIT
    assert sum(own.waits) == pytest.approx(2.5)


def test_a_refusal_of_the_driver_comes_back_in_its_words(gantry):
    with DriverServer(ExactDriver(gantry, [0.5, 0.5])) as server, TcpDriver(server.url) as driver:
        with pytest.raises(DriverError, match="the trajectory starts with joint 'x' at 0"):
            driver.send(motion(gantry))
        assert not driver.state().moving


def test_the_next_client_is_served_when_the_first_is_gone(gantry):
    with DriverServer(ExactDriver(gantry)) as server:
        for _ in range(3):
            with TcpDriver(server.url) as driver:
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
    "data", [b"\xff\xfe\n", b"[" * 100_000 + b"\n", b"\n", b'{"schema": "memetik.driver/2", "command": "st\n']
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


@pytest.mark.parametrize("seconds", [-0.1, 0.1001, "1", None, [1.0]])
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
    monkeypatch.setattr("memetik.motion.execution.tcp_protocol.MAX_BYTES", 1000)

    with DriverServer(ExactDriver(gantry)) as server:
        with socket.create_connection(server.address, timeout=PATIENCE) as raw:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
            raw.sendall(b"x" * 200_000)
        with client(server) as raw:
            assert raw.ask({"schema": SCHEMA, "command": "hello"})["ok"] is True


def test_closing_the_server_ends_its_thread_and_stops_the_arm(gantry):
    own = Fails(ExactDriver(gantry), "")
    server = DriverServer(own)
    driver = TcpDriver(server.url)
    server.close()
    server.join()
    assert own.stopped == 1
    with pytest.raises(DriverError, match=r"closed|lost|no driver answers"):
        driver.state()
    driver.close()


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ((b"",), "closed"),
        ((b"{\n",), "not JSON"),
        ((b"17\n",), "an object of names and values"),
        ((line(schema="memetik.driver/9"),), "this version reads 'memetik.driver/2'"),
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
        with TcpDriver(form.format(*server.address), token=server.token) as driver:
            assert isinstance(driver.state(), DriverState)
        with TcpDriver(f"{server.token}@:{server.address[1]}") as driver:
            assert driver.joint_names == ("x", "y")


@pytest.mark.parametrize("address", ["host:", "host:port", 5, (1, 2, 3), None])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(InvalidInputError, match="host:port"):
        TcpDriver(address)


def test_a_trajectory_that_is_too_long_for_a_message_is_not_sent(gantry, monkeypatch):
    monkeypatch.setattr("memetik.motion.execution.tcp_protocol.MAX_BYTES", 300)
    with DriverServer(ExactDriver(gantry)) as server, TcpDriver(server.url) as driver:
        with pytest.raises(DriverError, match=r"longer than the 300"):
            driver.send(motion(gantry))
        assert not driver.state().moving


# who may speak, and who is heard


@pytest.mark.parametrize(
    "first",
    [
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\n",
        json.dumps({"schema": SCHEMA, "command": "stop"}).encode() + b"\n",
        json.dumps({"schema": SCHEMA, "command": "hello"}).encode() + b"\n",
        json.dumps({"schema": SCHEMA, "command": "hello", "token": "not the token"}).encode() + b"\n",
        json.dumps({"schema": SCHEMA, "command": "hello", "token": 17}).encode() + b"\n",
        b"x" * 5000,
    ],
)
def test_whoever_does_not_begin_with_the_token_is_refused_at_the_first_line(gantry, first):
    own = Fails(ExactDriver(gantry, [0.0, 0.0]), "")
    command = json.dumps({"schema": SCHEMA, "command": "stop"}).encode() + b"\n"
    with DriverServer(own) as server:
        with socket.create_connection(server.address, timeout=PATIENCE) as raw, raw.makefile("rb") as lines:
            raw.sendall(first + command)
            assert json.loads(lines.readline())["ok"] is False
            with suppress(ConnectionResetError):  # as what it said is not read to its end
                assert lines.readline() == b""
        assert own.stopped == 0


def test_a_wrong_token_is_named_and_never_shown(gantry):
    with DriverServer(ExactDriver(gantry), token="correct-horse") as server:
        with pytest.raises(DriverError, match="the token is not that of this server") as caught:
            TcpDriver(server.address, token="battery-staple")
        assert "correct-horse" not in str(caught.value)
        with TcpDriver(server.address, token="correct-horse") as driver:
            assert driver.joint_names == gantry.joint_names


def test_the_token_may_come_from_the_environment(gantry, monkeypatch):
    monkeypatch.setenv("MEMETIK_DRIVER_TOKEN", "correct-horse")
    with DriverServer(ExactDriver(gantry), token="correct-horse") as server, TcpDriver(server.address) as driver:
        assert driver.joint_names == gantry.joint_names


@pytest.mark.parametrize("token", ["short", "with blanks in it", "a@b:c/d/e/f", "x" * 300])
def test_a_token_that_does_not_fit_an_address_is_refused(gantry, token):
    with pytest.raises(InvalidInputError, match="8 to 256 letters"):
        DriverServer(ExactDriver(gantry), token=token)


def test_a_second_connection_watches_and_stops_and_does_not_move(gantry):
    own = ExactDriver(gantry, [0.0, 0.0])
    with DriverServer(own) as server, TcpDriver(server.url) as first, TcpDriver(server.url) as second:
        first.send(motion(gantry))
        first.wait(0.5)
        assert second.state().moving
        with pytest.raises(DriverError, match="the arm is moved by"):
            second.send(motion(gantry))
        second.stop()
        with pytest.raises(DriverError, match="stopped the arm; connect again"):
            first.wait(0.1)
        own.wait(1.0)
        assert not first.state().moving
        assert own.state().time < 2.0
        second.wait(0.1)  # whoever stopped it may move it


def test_a_stop_is_served_while_another_client_says_nothing(gantry):
    own = ExactDriver(gantry, [0.0, 0.0])
    with DriverServer(own) as server, socket.create_connection(server.address), client(server) as mover:
        send = {"schema": SCHEMA, "command": "send", "trajectory": motion(gantry).to_dict()}
        assert mover.ask(send)["ok"] is True
        mover.socket.sendall(b'{"schema": "memetik.driver/2", "comm')  # and no more
        with TcpDriver(server.url) as another:
            another.stop()
        own.wait(0.5)
        assert not own.state().moving


class Hangs(FaultyDriver):
    """Never comes back from `send`."""

    def __init__(self, driver):
        super().__init__(driver)
        self.entered, self.stopped = threading.Event(), threading.Event()

    def send(self, trajectory):
        self.entered.set()
        assert self.stopped.wait(PATIENCE)

    def stop(self):
        self.stopped.set()


def test_a_stop_reaches_a_driver_that_hangs(gantry):
    own = Hangs(ExactDriver(gantry, [0.0, 0.0]))
    with DriverServer(own) as server, TcpDriver(server.url, timeout=PATIENCE) as driver:
        thread = threading.Thread(target=driver.send, args=(motion(gantry),))
        thread.start()
        assert own.entered.wait(PATIENCE)
        driver.stop()  # its own connection is held up: it takes another
        assert own.stopped.is_set()
        thread.join(PATIENCE)


def test_a_connection_that_says_nothing_is_ended_and_the_arm_stops(gantry):
    own = Fails(ExactDriver(gantry, [0.0, 0.0]), "")
    with DriverServer(own, idle=0.3) as server:
        with client(server) as raw:
            assert raw.ask({"schema": SCHEMA, "command": "send", "trajectory": motion(gantry).to_dict()})["ok"] is True
            assert "nothing was said" in raw.answer()["error"]
            assert raw.file.readline() == b""
            assert own.stopped >= 1
        with TcpDriver(server.url) as driver:
            time.sleep(0.6)
            assert isinstance(driver.state(), DriverState)  # by a new connection


def test_a_number_that_is_not_finite_is_an_answer_and_the_server_goes_on(gantry):
    class Broken(Fails):
        def state(self):
            return DriverState(np.array([np.nan, 0.0]), np.zeros(2))

    with DriverServer(Broken(ExactDriver(gantry), "")) as server, client(server) as raw:
        found = raw.ask({"schema": SCHEMA, "command": "state"})
        assert found["ok"] is False
        assert "not finite" in found["error"]
        assert raw.ask({"schema": SCHEMA, "command": "hello"})["ok"] is True


def test_a_trajectory_that_leaves_the_numbers_is_refused(gantry):
    content = motion(gantry).to_dict()
    content["coefficients"][0][-1][0] = 1e308
    own = ExactDriver(gantry, [0.0, 0.0])
    with DriverServer(own) as server, client(server) as raw:
        found = raw.ask({"schema": SCHEMA, "command": "send", "trajectory": content})
        assert found["ok"] is False
        assert "finite" in found["error"]
        assert not own.state().moving


def test_the_end_of_the_interpreter_stops_the_arm(tmp_path):
    script = tmp_path / "leaves.py"
    script.write_text(
        "import numpy as np, memetik as mk\n"
        "class Told(mk.ExactDriver):\n"
        "    def stop(self):\n"
        "        print('stopped', flush=True)\n"
        "robot = mk.load_robot('ur5')\n"
        "server = mk.DriverServer(Told(robot))\n"
        "driver = mk.TcpDriver(server.url)\n"
        "print('ready', flush=True)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert done.stdout.split() == ["ready", "stopped"]


@pytest.mark.unsanitized
def test_mutants_slow_flooding_and_half_open_clients_do_not_hold_up_a_stop(monkeypatch):
    """A thousand of what `benchmarks/driver_attack.py` sends by the hundred thousand."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    counts, slowest = importlib.import_module("driver_attack").attack(1000)
    assert sum(counts.values()) == 1000
    assert counts["refused"] > 300
    assert slowest < PATIENCE
