"""A controller of Universal Robots as far as its protocols go: RTDE, the port for programs, and URScript that moves.

Written from the manufacturer's description of RTDE and of URScript; tests hold it against another client of RTDE. The
arm follows `servoj` as a first-order lag. Programs are turned into Python line by line, which a test may do and no
product should.
"""

from __future__ import annotations

import contextlib
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from memetik.motion.execution.rtde import DATA, FORMATS, HEADER, REQUEST_VERSION, SETUP_INPUTS, SETUP_OUTPUTS, START

STEP = 0.002
CONTROLLER_VERSION = ord("v")
KINDS = {
    "timestamp": "DOUBLE", "actual_q": "VECTOR6D", "actual_qd": "VECTOR6D", "target_q": "VECTOR6D",
    "robot_mode": "INT32", "safety_mode": "INT32", "speed_scaling": "DOUBLE", "target_speed_fraction": "DOUBLE",
    "runtime_state": "UINT32",
}  # fmt: skip
# What ur_rtde asks for besides, and this controller does not compute.
KINDS |= dict.fromkeys(
    ("target_qd", "target_qdd", "target_current", "target_moment", "actual_current", "joint_control_output",
     "actual_TCP_pose", "actual_TCP_speed", "actual_TCP_force", "target_TCP_pose", "target_TCP_speed",
     "joint_temperatures", "actual_joint_voltage", "ft_raw_wrench", "payload_inertia"), "VECTOR6D",
)  # fmt: skip
KINDS |= dict.fromkeys(
    ("actual_execution_time", "actual_momentum", "actual_main_voltage", "actual_robot_voltage", "actual_robot_current",
     "standard_analog_input0", "standard_analog_input1", "standard_analog_output0", "standard_analog_output1",
     "payload"), "DOUBLE",
)  # fmt: skip
KINDS |= dict.fromkeys(("actual_digital_input_bits", "actual_digital_output_bits"), "UINT64")
KINDS |= dict.fromkeys(("robot_status_bits", "safety_status_bits"), "UINT32")
KINDS |= {"joint_mode": "VECTOR6INT32", "actual_tool_accelerometer": "VECTOR3D", "payload_cog": "VECTOR3D"}
KINDS |= {f"{side}_int_register_{k}": "INT32" for side in ("input", "output") for k in range(48)}
KINDS |= {f"{side}_double_register_{k}": "DOUBLE" for side in ("input", "output") for k in range(48)}


def as_python(program: str) -> str:
    """URScript as Python: blocks by indentation instead of `end`; what takes time is waited for."""
    lines, depth = [], 0
    for number, raw in enumerate(program.splitlines()):
        text = raw.split("#")[0].strip()
        if not text:
            continue
        # What the script manual asks of a program that is sent: it starts with def; all else is indented, but its end.
        assert raw.startswith(("def ", " ", "end")), f"line {number + 1} starts in the first column: {raw}"
        if text == "end":
            depth -= 1
            continue
        depth -= text.startswith(("else:", "elif "))
        lines.append(" " * depth + re.sub(r"^(servoj|movej|stopj|sync)\(", r"yield from \1(", text))
        depth += text.endswith(":")
    assert depth == 0, "a block of the program does not end"
    return "\n".join(lines)


class Controller:
    """Serves RTDE and programs until it is closed. Its time goes in steps of 2 ms, the wall clock's or slower."""

    def __init__(self, q: np.ndarray, port: int = 0):
        self.q, self.qd, self.time = np.array(q, dtype=float), np.zeros(6), 0.0
        self.values: dict[str, Any] = {name: (0,) * int(FORMATS[kind][:-1] or 1) for name, kind in KINDS.items()}
        self.values |= {
            "actual_q": self.q,
            "actual_qd": self.qd,
            "target_q": self.q,
            "robot_mode": (7,),
            "safety_mode": (1,),
            "speed_scaling": (1.0,),
            "target_speed_fraction": (1.0,),
        }
        self.seen: list[np.ndarray] = []
        """The arm at each step."""
        self.targets: list[np.ndarray] = []
        """What `servoj` was asked for."""
        self.takes_programs = self.is_answering = True
        self._program: Iterator[None] | None = None
        self._lock, self._open, self.threads = threading.RLock(), True, []
        self._sockets: list[socket.socket] = []
        self.ports = (self._listen(self._serve_rtde, port), self._listen(self._serve_program))
        self._begin(self._run)

    def __enter__(self) -> Controller:
        return self

    def __exit__(self, *_: object) -> None:
        self._open = False
        for one in self._sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in self.threads:
            thread.join(2.0)

    @property
    def is_running(self) -> bool:
        return self._program is not None

    def stop_program(self) -> None:
        """As somebody does at the pendant."""
        with self._lock:
            self._program = None

    def start(self, program: str) -> None:
        """Runs a program, instead of the one that runs."""
        names = {name: getattr(self, f"_{name}") for name in ("servoj", "movej", "stopj", "sync")}
        names |= {
            "get_steptime": lambda: STEP,
            "textmsg": lambda *_: None,
            "read_input_integer_register": lambda k: self.values[f"input_int_register_{k}"][0],
            "read_input_float_register": lambda k: self.values[f"input_double_register_{k}"][0],
            "write_output_integer_register": lambda k, v: self.values.update({f"output_int_register_{k}": (v,)}),
            "__builtins__": {},
        }
        code = as_python(program)
        exec(code, names)
        name = re.match(r"def (\w+)\(", code)
        assert name is not None
        with self._lock:
            self._program = names[name[1]]()

    # the arm

    def _run(self) -> None:
        while self._open:
            time.sleep(STEP)  # on a busy machine its time is slower, never in bursts
            with self._lock:
                before = self.q.copy()
                if self._program is not None and next(self._program, self) is self:
                    self._program = None
                self.time += STEP
                self.qd = (self.q - before) / STEP
                self.seen.append(self.q.copy())
                self.values |= {"timestamp": (self.time,), "actual_q": self.q, "actual_qd": self.qd, "target_q": self.q}

    def _servoj(self, q: list[float], t: float, lookahead_time: float, gain: float) -> Iterator[None]:
        assert 0.03 <= lookahead_time <= 0.2
        assert 100 <= gain <= 2000
        for _ in range(max(1, round(t / STEP))):
            self.targets.append(np.array(q))
            self.q += (np.array(q) - self.q) * (1.0 - np.exp(-STEP / (0.5 * lookahead_time)))
            yield

    def _movej(self, q: list[float], a: float, v: float) -> Iterator[None]:
        start, far = self.q.copy(), np.array(q) - self.q
        count = max(1, int(np.abs(far).max() / v / STEP))
        for k in range(count):
            self.q = start + far * (k + 1) / count
            yield

    def _stopj(self, a: float) -> Iterator[None]:
        speed = self.qd.copy()
        while np.abs(speed).max() > 1e-9:
            speed = np.sign(speed) * np.maximum(np.abs(speed) - a * STEP, 0.0)
            self.q = self.q + speed * STEP
            yield

    def _sync(self) -> Iterator[None]:
        yield

    # the network

    def _listen(self, serve: Callable[[socket.socket], None], port: int = 0) -> int:
        listener = socket.create_server(("127.0.0.1", port))
        self._sockets.append(listener)

        def accept() -> None:
            while self._open:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                self._sockets.append(connection)
                self._begin(lambda connection=connection: self._served(serve, connection))

        self._begin(accept)
        return listener.getsockname()[1]

    @staticmethod
    def _served(serve: Callable[[socket.socket], None], connection: socket.socket) -> None:
        try:
            serve(connection)
        except OSError:
            connection.close()

    def _begin(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        self.threads.append(thread)
        thread.start()

    def _serve_program(self, connection: socket.socket) -> None:
        connection.sendall(bytes(100))  # states of the robot, which a client of this port is sent all the time
        text = b""
        while not text.endswith(b"\nend\n"):
            more = connection.recv(65536)
            if not more:
                return
            text += more
        if self.takes_programs:
            self.start(text.decode("ascii"))
        connection.recv(1)

    def _serve_rtde(self, connection: socket.socket) -> None:
        outputs: list[str] = []
        inputs: list[str] = []
        while True:
            size, kind = HEADER.unpack(_exactly(connection, HEADER.size))
            payload = _exactly(connection, size - HEADER.size)
            if kind == REQUEST_VERSION:
                _answer(connection, kind, struct.pack("?", struct.unpack(">H", payload)[0] == 2))
            elif kind == CONTROLLER_VERSION:
                _answer(connection, kind, struct.pack(">4I", 5, 11, 1, 0))
            elif kind == SETUP_OUTPUTS:
                frequency, outputs = (
                    struct.unpack(">d", payload[:8])[0],
                    [name for name in payload[8:].decode().split(",") if name],
                )
                _answer(connection, kind, b"\x01" + _kinds(outputs))
            elif kind == SETUP_INPUTS:
                inputs = payload.decode().split(",")
                _answer(connection, kind, b"\x02" + _kinds(inputs))
            elif kind == START:
                _answer(connection, kind, b"\x01")
                send = partial(self._send_states, outputs=outputs, frequency=frequency)
                self._begin(partial(self._served, send, connection))
            elif kind == DATA:
                self._take(payload, inputs)

    def _take(self, payload: bytes, inputs: list[str]) -> None:
        numbers = struct.unpack(">B" + "".join(FORMATS[KINDS[name]] for name in inputs), payload)
        with self._lock:
            self.values.update({name: (number,) for name, number in zip(inputs, numbers[1:], strict=True)})

    def _send_states(self, connection: socket.socket, outputs: list[str], frequency: float) -> None:
        form = struct.Struct(">B" + "".join(FORMATS[KINDS[name]] for name in outputs))
        sent = -1.0
        while self._open:
            with self._lock:
                values = [number for name in outputs for number in self.values[name]]
                now = self.time
            if now - sent >= 1.0 / frequency - 0.5 * STEP and self.is_answering:
                sent = now
                data = form.pack(1, *values)
                connection.sendall(HEADER.pack(HEADER.size + len(data), DATA) + data)
            time.sleep(STEP / 2)


def _kinds(names: list[str]) -> bytes:
    return ",".join(KINDS.get(name, "NOT_FOUND") for name in names).encode()


def _answer(connection: socket.socket, kind: int, payload: bytes) -> None:
    connection.sendall(HEADER.pack(HEADER.size + len(payload), kind) + payload)


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise OSError("the connection ended")
        data += more
    return data
