"""Drivers over TCP: `TcpDriver` speaks to a `DriverServer`, which serves any driver, such as a simulated one.

A message is one line of JSON in UTF-8, at most `MAX_BYTES` long:

    -> {"schema": "memetik.driver/1", "command": "send", "trajectory": {... as Trajectory.to_dict ...}}
    -> {"schema": "memetik.driver/1", "command": "state"}       also "hello", "stop", and "wait" with "seconds"
    <- {"schema": "memetik.driver/1", "ok": true, "state": {"q": [...], "velocity": [...], "time": 0.1, "moving": true}}
    <- {"schema": "memetik.driver/1", "ok": false, "error": "..."}

"hello" is answered with "joint_names" and "most_points" instead. The server listens on the loopback interface unless
told otherwise: the protocol has no authentication.

    python -m memetik.motion.execution.tcp panda --port 5777          a test server: the arm under physics
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from io import BufferedIOBase

import numpy as np

from memetik.errors import InvalidInputError, MemetikError
from memetik.files.schema import Table, Value, parse_table
from memetik.motion.execution.driver import Driver, DriverError, DriverState, SimulatedDriver, most_points, wait
from memetik.motion.execution.simulation import Simulation
from memetik.motion.timing.trajectory import Trajectory
from memetik.motion.timing.trajectory_file import from_dict
from memetik.robot.robot import load_robot

SCHEMA = "memetik.driver/1"
MAX_BYTES = 8_000_000
LONGEST_WAIT = 1.0
"""Seconds that one "wait" may last."""
_COMMANDS = ("hello", "send", "state", "stop", "wait")


class TcpDriver(AbstractContextManager["TcpDriver"]):
    """A driver at the other end of a connection.

    address: (host, port), or "host:port", optionally with "tcp://" before it.
    timeout: seconds after which a server that does not answer is an error.
    """

    def __init__(self, address: str | tuple[str, int], *, timeout: float = 5.0):
        self._lock = threading.Lock()
        where = _address(address)
        try:
            self._socket = socket.create_connection(where, timeout=timeout)
        except OSError as error:
            raise DriverError(f"no driver answers at {where[0]}:{where[1]}: {error}.") from None
        self._file = self._socket.makefile("rb")
        answer = self._ask("hello")
        self.joint_names: tuple[str, ...] = answer.texts("joint_names")
        self.most_points: int | None = answer.optional(answer.whole, "most_points")

    def send(self, trajectory: Trajectory) -> None:
        self._ask("send", trajectory=trajectory.to_dict())

    def state(self) -> DriverState:
        answer = self._ask("state").table("state")
        q, velocity = (np.array(answer.numbers(key, len(self.joint_names))) for key in ("q", "velocity"))
        if not (np.isfinite(q).all() and np.isfinite(velocity).all()):
            raise answer.error("joint values must be finite.")
        return DriverState(q, velocity, answer.number("time"), answer.flag("moving"))

    def stop(self) -> None:
        self._ask("stop")

    def wait(self, seconds: float) -> None:
        """Let the server's time pass."""
        while seconds > 0.0:
            self._ask("wait", seconds=min(seconds, LONGEST_WAIT))
            seconds -= LONGEST_WAIT

    def close(self) -> None:
        """End the connection."""
        self._file.close()
        self._socket.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, command: str, **content: Value) -> Table:
        data = _encoded({"command": command, **content})
        with self._lock:
            try:
                self._socket.sendall(data)
                line = self._file.readline(MAX_BYTES + 1)
            except (OSError, ValueError) as error:
                raise DriverError(f"the connection to the driver is lost: {error}.") from None
        answer = _decoded(line)
        if not answer.flag("ok", False):
            raise DriverError(answer.text("error", "the server gave no reason"))
        return answer


class DriverServer(AbstractContextManager["DriverServer"]):
    """Serves a driver, one connection at a time, in a thread of its own; close it, or use it with `with`.

    port: 0 for any that is free; see `address`.
    """

    def __init__(self, driver: Driver, host: str = "127.0.0.1", port: int = 0):
        self.driver = driver
        self._listener = socket.create_server((host, port))
        self._listener.settimeout(0.2)
        self._closing = threading.Event()
        self._connection: socket.socket | None = None
        self._thread = threading.Thread(target=self._serve, name="memetik driver server", daemon=True)
        self._thread.start()

    @property
    def address(self) -> tuple[str, int]:
        """(host, port)."""
        host, port = self._listener.getsockname()[:2]
        return host, port

    def close(self) -> None:
        """Stop the arm and the server."""
        self._closing.set()
        if (connection := self._connection) is not None:
            with suppress(OSError):  # it may have been closed just now
                connection.shutdown(socket.SHUT_RDWR)
        self._thread.join(timeout=5.0)
        self._listener.close()

    def join(self) -> None:
        """Wait until the server is closed."""
        while self._thread.is_alive():
            self._thread.join(0.5)

    def __exit__(self, *_: object) -> None:
        self.close()

    def _serve(self) -> None:
        while not self._closing.is_set():
            try:
                self._connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            with self._connection, self._connection.makefile("rb") as lines, suppress(OSError):
                self._connection.settimeout(None)
                self._talk(self._connection, lines)
            self._connection = None
            with suppress(Exception):  # a driver that fails here too must not end the server
                self.driver.stop()  # whoever moved the arm is gone

    def _talk(self, connection: socket.socket, lines: BufferedIOBase) -> None:
        while not self._closing.is_set() and (line := lines.readline(MAX_BYTES + 1)):
            connection.sendall(_encoded(self._answer(line)))
            if not line.endswith(b"\n"):
                return

    def _answer(self, line: bytes) -> dict[str, Value]:
        try:
            return {"ok": True, **self._obey(_decoded(line))}
        except MemetikError as error:
            return {"ok": False, "error": str(error)}
        except Exception as error:  # a driver of hardware may fail in any way
            return {"ok": False, "error": f"the driver failed: {error!r}."}

    def _obey(self, message: Table) -> dict[str, Value]:
        command = message.choice("command", _COMMANDS)
        if command == "hello":
            return {"joint_names": self.driver.joint_names, "most_points": most_points(self.driver)}
        if command == "send":
            self.driver.send(from_dict(message.data.get("trajectory"), "the message's trajectory"))
        elif command == "stop":
            self.driver.stop()
        elif command == "wait":
            seconds = message.number("seconds")
            if not 0.0 <= seconds <= LONGEST_WAIT:
                raise InvalidInputError(f"seconds must be from 0 to {LONGEST_WAIT:g}, not {seconds!r}.")
            wait(self.driver, seconds)
        state = self.driver.state()
        described = {"q": state.q.tolist(), "velocity": state.velocity.tolist(), "time": state.time}
        return {"state": {**described, "moving": bool(state.moving)}}


def _address(address: str | tuple[str, int]) -> tuple[str, int]:
    try:
        if not isinstance(address, str):
            host, port = address
            return str(host), int(port)
        host, _, port = address.removeprefix("tcp://").rpartition(":")
        return host or "127.0.0.1", int(port)
    except (TypeError, ValueError):
        raise InvalidInputError(f"an address is host:port, such as 127.0.0.1:5777, not {address!r}.") from None


def _encoded(content: Mapping[str, Value]) -> bytes:
    data = json.dumps({"schema": SCHEMA, **content}, allow_nan=False).encode() + b"\n"
    if len(data) > MAX_BYTES:
        raise DriverError(f"a message of {len(data)} bytes is longer than the {MAX_BYTES} that are allowed.")
    return data


def _decoded(line: bytes) -> Table:
    if not line:
        raise DriverError("the connection was closed.")
    if not line.endswith(b"\n"):
        raise DriverError(f"a message is longer than {MAX_BYTES} bytes or was cut short.")
    return parse_table(line, "json", f"a message of schema {SCHEMA}", error=DriverError).schema(SCHEMA)


def main() -> None:
    """A test server: a robot under physics."""
    import argparse

    parser = argparse.ArgumentParser(description="Serve a simulated arm to TcpDriver, on the loopback interface.")
    parser.add_argument("robot", help="bundled name, or path of a description")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--real-time", type=float, default=None, help="speed beside the wall clock; as fast as it can")
    given = parser.parse_args()
    robot = load_robot(given.robot)
    start = robot.state("ready") if "ready" in robot.named_states else robot.neutral
    driver = SimulatedDriver(Simulation(robot, q=start), real_time=given.real_time)
    with DriverServer(driver, port=given.port) as server:
        print("serving {} at tcp://{}:{}".format(robot.name, *server.address), flush=True)
        with suppress(KeyboardInterrupt):
            server.join()


if __name__ == "__main__":
    main()
