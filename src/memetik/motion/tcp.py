"""Drivers over TCP: `TcpDriver` speaks to a `DriverServer`, which serves any driver, such as a simulated one.

A message is one line of JSON in UTF-8, at most `MAX_BYTES` long:

    -> {"schema": "memetik.driver/1", "command": "send", "trajectory": {... as Trajectory.to_dict ...}}
    -> {"schema": "memetik.driver/1", "command": "state"}       also "hello", "stop", and "wait" with "seconds"
    <- {"schema": "memetik.driver/1", "ok": true, "state": {"q": [...], "velocity": [...], "time": 0.1, "moving": true}}
    <- {"schema": "memetik.driver/1", "ok": false, "error": "..."}

"hello" is answered with "joint_names" and "most_points" instead. The server listens on the loopback interface unless
told otherwise: the protocol has no authentication.

    python -m memetik.motion.tcp panda --port 5777          a test server: the arm under physics
"""

from __future__ import annotations

import contextlib
import json
import math
import socket
import threading
from typing import Any

import numpy as np

from memetik.errors import InvalidInputError, MemetikError
from memetik.motion.driver import Driver, DriverError, DriverState, most_points, wait
from memetik.motion.trajectory import Trajectory
from memetik.motion.trajectory_file import from_dict

SCHEMA = "memetik.driver/1"
MAX_BYTES = 8_000_000
LONGEST_WAIT = 1.0
"""Seconds that one "wait" may last."""


class TcpDriver:
    """A driver at the other end of a connection.

    address: (host, port), or "host:port", optionally with "tcp://" before it.
    timeout: seconds after which a server that does not answer is an error.
    """

    def __init__(self, address: Any, *, timeout: float = 5.0):
        self._lock = threading.Lock()
        where = _address(address)
        try:
            self._socket = socket.create_connection(where, timeout=timeout)
        except OSError as error:
            raise DriverError(f"no driver answers at {where[0]}:{where[1]}: {error}.") from None
        self._file = self._socket.makefile("rb")
        answer = self._ask("hello")
        names, most = answer.get("joint_names"), answer.get("most_points")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise DriverError("the server did not say which joints it drives.")
        self.joint_names: tuple[str, ...] = tuple(names)
        self.most_points: int | None = most if isinstance(most, int) else None

    def send(self, trajectory: Trajectory) -> None:
        self._ask("send", trajectory=trajectory.to_dict())

    def state(self) -> DriverState:
        return self._state(self._ask("state"))

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

    def __enter__(self) -> TcpDriver:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, command: str, **content: Any) -> dict[str, Any]:
        data = _encoded({"schema": SCHEMA, "command": command, **content})
        with self._lock:
            try:
                self._socket.sendall(data)
                line = self._file.readline(MAX_BYTES + 1)
            except (OSError, ValueError) as error:
                raise DriverError(f"the connection to the driver is lost: {error}.") from None
        answer = _decoded(line)
        if not answer.get("ok"):
            raise DriverError(str(answer.get("error", "the server gave no reason")))
        return answer

    def _state(self, answer: dict[str, Any]) -> DriverState:
        try:
            state = answer["state"]
            q, velocity = (np.array(state[key], dtype=float) for key in ("q", "velocity"))
            found = DriverState(q, velocity, float(state["time"]), bool(state["moving"]))
        except (KeyError, TypeError, ValueError) as error:
            raise DriverError(f"the server's state cannot be read: {error!r}.") from None
        shape = (len(self.joint_names),)
        if q.shape != shape or velocity.shape != shape or not (np.isfinite(q).all() and np.isfinite(velocity).all()):
            raise DriverError(f"the server's state does not hold {len(self.joint_names)} finite joint values.")
        return found


class DriverServer:
    """Serves a driver, one connection at a time, in a thread of its own; close it, or use it with `with`.

    port: 0 for any that is free; see `address`.
    """

    def __init__(self, driver: Driver, host: str = "127.0.0.1", port: int = 0):
        self.driver = driver
        self._listener = socket.create_server((host, port))
        self._listener.settimeout(0.2)
        self._closing = threading.Event()
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
        self._thread.join(timeout=5.0)
        self._listener.close()

    def join(self) -> None:
        """Wait until the server is closed."""
        while self._thread.is_alive():
            self._thread.join(0.5)

    def __enter__(self) -> DriverServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _serve(self) -> None:
        while not self._closing.is_set():
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            with connection:
                connection.settimeout(0.2)
                self._talk(connection)
            self.driver.stop()  # whoever moved the arm is gone

    def _talk(self, connection: socket.socket) -> None:
        buffer = b""
        while not self._closing.is_set():
            try:
                chunk = connection.recv(65536)
            except TimeoutError:
                continue
            except OSError:
                return
            if not chunk:
                return
            buffer += chunk
            while b"\n" in buffer:
                line, buffer = buffer.split(b"\n", 1)
                try:
                    connection.sendall(_encoded(self._answer(line + b"\n")))
                except OSError:
                    return
            if len(buffer) > MAX_BYTES:
                refusal = {"ok": False, "error": f"a message is longer than {MAX_BYTES} bytes."}
                connection.sendall(_encoded({"schema": SCHEMA, **refusal}))
                return

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            return {"schema": SCHEMA, "ok": True, **self._obey(_decoded(line))}
        except MemetikError as error:
            return {"schema": SCHEMA, "ok": False, "error": str(error)}

    def _obey(self, message: dict[str, Any]) -> dict[str, Any]:
        command = message.get("command")
        if command == "hello":
            return {"joint_names": list(self.driver.joint_names), "most_points": most_points(self.driver)}
        if command == "send":
            self.driver.send(from_dict(message.get("trajectory"), "the message"))
        elif command == "stop":
            self.driver.stop()
        elif command == "wait":
            seconds = message.get("seconds")
            if not isinstance(seconds, int | float) or not 0.0 <= seconds <= LONGEST_WAIT:
                raise InvalidInputError(f"seconds must be from 0 to {LONGEST_WAIT:g}, not {seconds!r}.")
            wait(self.driver, float(seconds))
        elif command != "state":
            raise InvalidInputError(f"there is no command {command!r:.40}; choose hello, send, state, stop or wait.")
        state = self.driver.state()
        described = {"q": state.q.tolist(), "velocity": state.velocity.tolist(), "time": state.time}
        return {"state": {**described, "moving": bool(state.moving)}}


def _address(address: Any) -> tuple[str, int]:
    if isinstance(address, str):
        host, _, port = address.removeprefix("tcp://").rpartition(":")
        address = (host or "127.0.0.1", port)
    try:
        host, port = address
        return str(host), int(port)
    except (TypeError, ValueError):
        raise InvalidInputError(f"an address is host:port, such as 127.0.0.1:5777, not {address!r}.") from None


def _encoded(message: dict[str, Any]) -> bytes:
    data = json.dumps(message, allow_nan=False).encode() + b"\n"
    if len(data) > MAX_BYTES:
        raise DriverError(f"a message of {len(data)} bytes is longer than the {MAX_BYTES} that are allowed.")
    return data


def _decoded(line: bytes) -> dict[str, Any]:
    if not line:
        raise DriverError("the connection was closed.")
    if not line.endswith(b"\n"):
        raise DriverError(f"a message is longer than {MAX_BYTES} bytes or was cut short.")
    try:
        message = json.loads(line.decode("utf-8"), parse_constant=lambda _: math.nan)
    except (ValueError, RecursionError) as error:
        raise DriverError(f"a message is not JSON: {str(error)[:80]}.") from None
    if not isinstance(message, dict) or message.get("schema") != SCHEMA:
        found = message.get("schema") if isinstance(message, dict) else type(message).__name__
        raise DriverError(f"a message has schema {found!r:.40}; this end speaks {SCHEMA}.")
    return message


def main() -> None:
    """A test server: a robot under physics."""
    import argparse

    from memetik.motion.driver import SimulatedDriver
    from memetik.motion.simulation import Simulation
    from memetik.robot.robot import load_robot

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
        with contextlib.suppress(KeyboardInterrupt):
            server.join()


if __name__ == "__main__":
    main()
