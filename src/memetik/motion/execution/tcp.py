"""Drivers over TCP: `TcpDriver` speaks to a `DriverServer`, which serves any driver, such as a simulated one.

A message is one line of JSON in UTF-8, at most `MAX_BYTES` long; the first of a connection is a "hello" with the token,
at most `FIRST_BYTES` long. A connection that begins with anything else is ended.

    -> {"schema": "memetik.driver/2", "command": "hello", "token": "..."}
    <- {"schema": "memetik.driver/2", "ok": true, "joint_names": [...], "most_points": null}
    -> {"schema": "memetik.driver/2", "command": "send", "trajectory": {... as Trajectory.to_dict ...}}
    -> {"schema": "memetik.driver/2", "command": "state"}       also "stop", and "wait" with "seconds"
    <- {"schema": "memetik.driver/2", "ok": true, "state": {"q": [...], "velocity": [...], "time": 0.1, "moving": true}}
    <- {"schema": "memetik.driver/2", "ok": false, "error": "..."}

One client moves the arm; others may look on ("state") and "stop" it at any time. A connection that says nothing for
some time is ended. Tokens and messages are not encrypted: between machines, lay a tunnel.

    python -m memetik.motion.execution.tcp panda --port 5777          a test server: the arm under physics
"""

from __future__ import annotations

import os
import select
import signal
import socket
from contextlib import AbstractContextManager, suppress
from types import FrameType

import numpy as np

from memetik.errors import InvalidInputError
from memetik.files.schema import Table, Value
from memetik.motion.execution import tcp_protocol as protocol
from memetik.motion.execution.driver import DriverError, DriverState
from memetik.motion.execution.tcp_protocol import LineReader, Turns, checked_token, decoded, encoded
from memetik.motion.timing.trajectory import Trajectory

TOKEN_VARIABLE = "MEMETIK_DRIVER_TOKEN"
"""The environment variable that a token is taken from where an address has none: a command line is seen by others."""


class TcpDriver(AbstractContextManager["TcpDriver"]):
    """A driver at the other end of a connection.

    address: (host, port), or "host:port", optionally with "tcp://" or "tcp://TOKEN@" before it.
    token: that of the server; else what the address has, else the environment variable MEMETIK_DRIVER_TOKEN.
    timeout: seconds after which a server that does not answer is an error.

    A connection that the server ended because nothing was said is made anew when something is.
    """

    def __init__(self, address: str | tuple[str, int], *, token: str | None = None, timeout: float = 5.0):
        self._turns = Turns()
        self._where, in_address = _address(address)
        self._token, self._timeout = token or in_address or os.environ.get(TOKEN_VARIABLE, ""), timeout
        self._socket: socket.socket | None = None
        answer = self._connect()
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
        """Bring the arm to rest: by a connection of its own where this one is held up."""
        with self._turns.urgent_turn(protocol.STOP_SECONDS) as came:
            if came:
                self._exchange("stop")
                return
        with TcpDriver(self._where, token=self._token, timeout=self._timeout) as another:
            another.stop()

    def wait(self, seconds: float) -> None:
        """Let the server's time pass."""
        while seconds > 1e-9:  # what is left of whole ones may be a rounding error
            self._ask("wait", seconds=min(seconds, protocol.LONGEST_WAIT))
            seconds -= protocol.LONGEST_WAIT

    def close(self) -> None:
        """End the connection; the arm comes to rest."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _connect(self) -> Table:
        try:
            self._socket = socket.create_connection(self._where, timeout=self._timeout)
        except OSError as error:
            raise DriverError(f"no driver answers at {self._where[0]}:{self._where[1]}: {error}.") from None
        self._lines = LineReader(self._socket)
        try:
            return self._talk(self._socket, {"command": "hello", "token": self._token})
        except BaseException:
            self.close()
            raise

    def _ask(self, command: str, **content: Value) -> Table:
        with self._turns.turn():
            return self._exchange(command, **content)

    def _exchange(self, command: str, **content: Value) -> Table:
        assert self._socket is not None
        if self._socket.fileno() >= 0 and select.select([self._socket], [], [], 0.0)[0]:
            # Nothing was asked, so this is the end of a connection on which nothing was said.
            self.close()
            self._connect()
        return self._talk(self._socket, {"command": command, **content})

    def _talk(self, connection: socket.socket, message: dict[str, Value]) -> Table:
        data = encoded(message)
        try:
            connection.settimeout(self._timeout)
            connection.sendall(data)
            line = self._lines.line(protocol.MAX_BYTES + 1, self._timeout)
        except TimeoutError:
            self.close()  # an answer that comes late would be taken for that to the next question
            raise DriverError(f"the driver did not answer within {self._timeout:g} seconds.") from None
        except OSError as error:
            raise DriverError(f"the connection to the driver is lost: {error}.") from None
        answer = decoded(line)
        if not answer.flag("ok", False):
            raise DriverError(answer.text("error", "the server gave no reason"))
        return answer


def _address(address: str | tuple[str, int]) -> tuple[tuple[str, int], str]:
    """((host, port), token), the token empty where there is none."""
    try:
        if not isinstance(address, str):
            host, port = address
            return (str(host), int(port)), ""
        token, _, place = address.removeprefix("tcp://").rpartition("@")
        host, _, port = place.rpartition(":")
        return (host or "127.0.0.1", int(port)), checked_token(token) if token else ""
    except (TypeError, ValueError) as error:
        if isinstance(error, InvalidInputError):
            raise
        shown = address.rpartition("@")[2] if isinstance(address, str) else address  # without the token
        raise InvalidInputError(f"an address is host:port, such as 127.0.0.1:5777, not {shown!r}.") from None


def main() -> None:
    """A test server: a robot under physics."""
    import argparse

    from memetik.motion.execution.driver import SimulatedDriver
    from memetik.motion.execution.driver_server import DriverServer
    from memetik.motion.execution.simulation import Simulation
    from memetik.robot.robot import load_robot

    parser = argparse.ArgumentParser(description="Serve a simulated arm to TcpDriver, on the loopback interface.")
    parser.add_argument("robot", help="bundled name, or path of a description")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--token", default=os.environ.get(TOKEN_VARIABLE), help="made where it is left out")
    parser.add_argument("--real-time", type=float, default=None, help="relative to the wall clock; as fast as possible")
    given = parser.parse_args()
    robot = load_robot(given.robot)
    start = robot.state("ready") if "ready" in robot.named_states else robot.neutral
    driver = SimulatedDriver(Simulation(robot, q=start), real_time=given.real_time)
    signal.signal(signal.SIGTERM, _interrupt)
    with suppress(KeyboardInterrupt), DriverServer(driver, port=given.port, token=given.token) as server:
        print(f"serving {robot.name} at {server.url}", flush=True)
        server.join()


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """A server that is told to end stops the arm first."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
