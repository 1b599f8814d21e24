"""A server of a driver, such as a simulated one, for `TcpDriver` and others that speak the protocol of `tcp`."""

from __future__ import annotations

import atexit
import hmac
import secrets
import socket
import threading
import time
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field

import numpy as np

from memetik.errors import InvalidInputError, MemetikError
from memetik.files.schema import Table, Value
from memetik.motion.execution import tcp_protocol as protocol
from memetik.motion.execution.driver import Driver, DriverError, most_points, wait
from memetik.motion.execution.tcp_protocol import LineReader, Turns, checked_token, decoded, encoded
from memetik.motion.timing.trajectory import Trajectory
from memetik.motion.timing.trajectory_file import from_dict

HANDSHAKE_SECONDS = 5.0
"""Seconds in which the first line of a connection has to be there."""
MOST_STRANGERS = 32
"""Connections that have not shown the token yet; of more, the oldest are ended."""
MOST_CLIENTS = 16
"""Connections that have shown it."""


@dataclass(eq=False)
class _Connection:
    """One client."""

    socket: socket.socket
    where: str
    began: float = field(default_factory=time.monotonic)
    known: bool = False
    """Whether it has shown the token."""
    stopped_by: str = ""
    """Who stopped the arm while this connection was there: it does not move the arm any more."""

    def hang_up(self) -> None:
        with suppress(OSError):  # it may be closed already
            self.socket.shutdown(socket.SHUT_RDWR)


class DriverServer(AbstractContextManager["DriverServer"]):
    """Serves a driver, each connection in a thread of its own; close it, or use it with `with`.

    host: where it listens; others can reach it unless that is the loopback interface. Nothing is encrypted.
    port: 0 for any that is free; see `address`.
    token: what clients have to show; one is made where it is None, see `token` and `url`.
    idle: seconds after which a connection that says nothing is ended.

    One client moves the arm, the first that asks for it, until it is gone. All see its state, and all may stop it;
    whoever was there then has to connect again to move it. The arm is stopped when its client is gone, when the server
    is closed, and when the interpreter ends.
    """

    def __init__(
        self, driver: Driver, host: str = "127.0.0.1", port: int = 0, *, token: str | None = None, idle: float = 30.0
    ):
        if not idle > 0.0:
            raise InvalidInputError(f"idle must be seconds above zero, not {idle!r}.")
        self.driver, self.idle = driver, idle
        self.token = secrets.token_urlsafe(16) if token is None else checked_token(token)
        self._listener = socket.create_server((host, port))
        self._listener.settimeout(0.2)
        self._closing = threading.Event()
        self._turns = Turns()  # of calls of the driver
        self._lock = threading.Lock()  # of the two below
        self._connections: list[_Connection] = []
        self._mover: _Connection | None = None
        self._thread = threading.Thread(target=self._serve, name="memetik driver server", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    @property
    def address(self) -> tuple[str, int]:
        """(host, port)."""
        host, port = self._listener.getsockname()[:2]
        return host, port

    @property
    def url(self) -> str:
        """The address with the token in it, as `TcpDriver` takes it."""
        return "tcp://{}@{}:{}".format(self.token, *self.address)

    def close(self) -> None:
        """Stop the arm and the server."""
        atexit.unregister(self.close)
        self._closing.set()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            connection.hang_up()
        self._thread.join(timeout=5.0)
        self._listener.close()

    def join(self) -> None:
        """Wait until the server is closed."""
        while self._thread.is_alive():
            self._thread.join(0.5)

    def __exit__(self, *_: object) -> None:
        self.close()

    # connections

    def _serve(self) -> None:
        try:
            while not self._closing.is_set():
                try:
                    accepted, where = self._listener.accept()
                except TimeoutError:
                    continue
                self._welcome(_Connection(accepted, f"{where[0]}:{where[1]}"))
        finally:
            self._stop()

    def _welcome(self, connection: _Connection) -> None:
        with self._lock:
            self._connections.append(connection)
            strangers = [one for one in self._connections if not one.known]
        for one in strangers[:-MOST_STRANGERS]:
            one.hang_up()
        try:
            threading.Thread(target=self._attend, args=(connection,), name=connection.where, daemon=True).start()
        except RuntimeError:  # no more threads to be had
            self._forget(connection)

    def _attend(self, connection: _Connection) -> None:
        try:
            lines = LineReader(connection.socket)
            if self._greet(connection, lines):
                self._talk(connection, lines)
        except OSError:  # gone, or deaf
            pass
        finally:
            self._forget(connection)

    def _forget(self, connection: _Connection) -> None:
        """Ends a connection; the arm stops if it was this one that moved it."""
        with self._lock:
            moved = self._mover is connection
            self._mover = None if moved else self._mover
            if connection in self._connections:
                self._connections.remove(connection)
        if moved:
            self._stop()
        connection.socket.close()

    def _greet(self, connection: _Connection, lines: LineReader) -> bool:
        """Whether the first line is a hello with the token. Whoever says anything else is told so, and is gone."""
        try:
            line = lines.line(protocol.FIRST_BYTES, min(HANDSHAKE_SECONDS, self.idle))
        except TimeoutError:
            return False
        try:
            message = decoded(line)
            if message.choice("command", protocol.COMMANDS) != "hello":
                raise DriverError("the first message of a connection is 'hello' with the token.")
            if not hmac.compare_digest(message.text("token", "").encode(), self.token.encode()):
                raise DriverError("the token is not that of this server.")
            self._accept(connection)
            answer = {"joint_names": list(self.driver.joint_names), "most_points": most_points(self.driver)}
        except Exception as error:
            self._say(connection, _failure(error))
            return False
        self._say(connection, {"ok": True, **answer})
        return True

    def _accept(self, connection: _Connection) -> None:
        with self._lock:
            if sum(one.known for one in self._connections) >= MOST_CLIENTS:
                raise DriverError(f"{MOST_CLIENTS} clients are connected already.")
            connection.known = True

    def _talk(self, connection: _Connection, lines: LineReader) -> None:
        while not self._closing.is_set():
            try:
                line = lines.line(protocol.MAX_BYTES + 1, self.idle)
            except TimeoutError:
                self._say(connection, {"ok": False, "error": f"nothing was said for {self.idle:g} seconds."})
                return
            if not line:
                return
            self._say(connection, self._answer(connection, line))
            if not line.endswith(b"\n"):
                return

    def _say(self, connection: _Connection, content: dict[str, Value]) -> None:
        connection.socket.settimeout(min(HANDSHAKE_SECONDS, self.idle))  # for one that does not listen
        connection.socket.sendall(encoded(content))

    # the driver

    def _answer(self, connection: _Connection, line: bytes) -> dict[str, Value]:
        try:
            answer: dict[str, Value] = {"ok": True, **self._obey(connection, decoded(line))}
            encoded(answer)
        except Exception as error:
            return _failure(error)
        return answer

    def _obey(self, connection: _Connection, message: Table) -> dict[str, Value]:
        command = message.choice("command", protocol.COMMANDS)
        if command == "hello":
            return {"joint_names": list(self.driver.joint_names), "most_points": most_points(self.driver)}
        if command == "stop":
            self._stop_for(connection)
        elif command == "send":
            trajectory = _trajectory(message)
            self._take_control(connection)
            with self._turns.turn():
                self._take_control(connection)  # a stop may have come between
                self.driver.send(trajectory)
        elif command == "wait":
            seconds = message.number("seconds")
            if not 0.0 <= seconds <= protocol.LONGEST_WAIT:
                raise InvalidInputError(f"seconds must be from 0 to {protocol.LONGEST_WAIT:g}, not {seconds!r}.")
            self._take_control(connection)
            self._wait(seconds)
        with self._turns.turn():
            state = self.driver.state()
        described = {"q": state.q.tolist(), "velocity": state.velocity.tolist(), "time": float(state.time)}
        return {"state": {**described, "moving": bool(state.moving)}}

    def _take_control(self, connection: _Connection) -> None:
        with self._lock:
            if connection.stopped_by:
                raise DriverError(f"{connection.stopped_by} stopped the arm; connect again to move it.")
            if self._mover not in (None, connection):
                raise DriverError(f"the arm is moved by {self._mover.where}; it may be watched and stopped.")
            self._mover = connection

    def _wait(self, seconds: float) -> None:
        if getattr(self.driver, "wait", None) is None:
            wait(self.driver, seconds)  # by the wall clock: the driver is not needed for it
            return
        with self._turns.turn():
            wait(self.driver, seconds)

    def _stop_for(self, connection: _Connection) -> None:
        with self._lock:
            if self._mover is not connection:
                for one in self._connections:
                    one.stopped_by = one.stopped_by if one is connection else connection.where
                self._mover = None
        with self._turns.urgent_turn(protocol.STOP_SECONDS):
            self.driver.stop()

    def _stop(self) -> None:
        """Where nobody is there to be told of a failure; a second attempt is made."""
        for _ in range(2):
            try:
                with self._turns.urgent_turn(protocol.STOP_SECONDS):
                    self.driver.stop()
                return
            except Exception:
                time.sleep(0.02)


def _trajectory(message: Table) -> Trajectory:
    """The trajectory of a message. Its coefficients may be finite and what they make of time not."""
    with np.errstate(all="ignore"):
        trajectory = from_dict(message.data.get("trajectory"), "the message's trajectory")
        values = (trajectory.positions, trajectory.velocities, trajectory.accelerations)
    if not all(np.isfinite(value).all() for value in values):
        raise InvalidInputError("the message's trajectory: positions, velocities and accelerations must be finite.")
    return trajectory


def _failure(error: Exception) -> dict[str, Value]:
    text = str(error) if isinstance(error, MemetikError) else f"the driver failed: {error!r}."
    return {"ok": False, "error": text[:2000]}
