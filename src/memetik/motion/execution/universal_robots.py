"""A driver of Universal Robots' arms, by RTDE and a small program on the controller. Untested on hardware.

with mk.UniversalRobotsDriver("192.168.0.10", robot=robot) as driver:
    report = mk.execute(plan, driver).result()

The program is sent when the first trajectory is. Each package of the controller's state is answered with a setpoint,
position and velocity, so that time is the controller's own; between two setpoints the program goes on at their
velocity. Where they fail to come, as this program died or the network broke, it brakes and ends.
"""

from __future__ import annotations

import logging
import secrets
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress

import numpy as np

from memetik.errors import InvalidInputError
from memetik.motion.execution.driver import DriverError, DriverState, Follower, check_start
from memetik.motion.execution.rtde import PORT, RtdeConnection, Values
from memetik.motion.timing.trajectory import Trajectory
from memetik.robot.robot import Robot

SCRIPT_PORT = 30002
JOINTS = (
    "shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", "wrist_1_joint", "wrist_2_joint", "wrist_3_joint",
)  # fmt: skip
ROBOT_MODES = {-1: "no controller", 0: "disconnected", 1: "confirm safety", 2: "booting", 3: "power off", 4: "power on",
               5: "brakes on", 6: "backdrive", 7: "running", 8: "updating firmware"}  # fmt: skip
SAFETY_MODES = {1: "normal", 2: "reduced", 3: "protective stop", 4: "recovery", 5: "safeguard stop",
                6: "system emergency stop", 7: "emergency stop", 8: "violation", 9: "fault"}  # fmt: skip
_RUNNING, _SAFE = 7, (1, 2)
_FIRST = 24
"""Registers from here on are free for clients of RTDE; those before belong to fieldbuses."""
_SESSION = f"output_int_register_{_FIRST}"
_OUTPUTS = (
    "timestamp", "actual_q", "actual_qd", "robot_mode", "safety_mode", "speed_scaling", "target_speed_fraction",
    _SESSION,
)  # fmt: skip
_COUNTER, _ALLOWED = f"input_int_register_{_FIRST}", f"input_int_register_{_FIRST + 1}"
_SETPOINT = tuple(f"input_double_register_{_FIRST + k}" for k in range(12))
_SETTLE = 0.2
"""Seconds after the end of a trajectory in which the arm comes to rest."""
_DEFAULT_ACCELERATION = 5.0

logger = logging.getLogger(__name__)


def following_program(session: int, silence: float, look_ahead: float, gain: float, deceleration: float) -> str:
    """The program that follows the registers: it marks itself with the number of the session, and ends where that is
    taken back, or where no setpoint came for so many seconds."""
    q = ", ".join(f"q{k} + age * v{k}" for k in range(6))
    reads = [
        f"    {name}{k} = read_input_float_register({_FIRST + at + k})"
        for name, at in (("q", 0), ("v", 6))
        for k in range(6)
    ]
    lines = [
        "def memetik_follow():",
        "  step = get_steptime()",
        "  waited = 0.0",
        f"  while (waited < 1.0) and (read_input_integer_register({_FIRST + 1}) != {session}):",
        "    waited = waited + step",
        "    sync()",
        "  end",
        "  age = 0.0",
        f"  last = read_input_integer_register({_FIRST})",
        f"  write_output_integer_register({_FIRST}, {session})",
        f"  while (age < {silence}) and (read_input_integer_register({_FIRST + 1}) == {session}):",
        f"    now = read_input_integer_register({_FIRST})",
        "    if now == last:",
        "      age = age + step",
        "    else:",
        "      age = 0.0",
        "      last = now",
        "    end",
        *reads,
        f"    servoj([{q}], t=step, lookahead_time={look_ahead}, gain={gain:g})",
        "  end",
        f"  stopj({deceleration})",
        f"  write_output_integer_register({_FIRST}, 0)",
        "end",
    ]
    return "\n".join(lines) + "\n"


class UniversalRobotsDriver(AbstractContextManager["UniversalRobotsDriver"]):
    """Drives a CB3 (software 3.9 or later) or e-Series arm, the latter in remote control. Untested on hardware.

    host          name or address of the controller.
    robot         whose six joints they are, and whose accelerations a stop keeps within.
    joints        names of the six joints, in the controller's order, where no robot is given.
    silence       seconds without a setpoint after which the arm brakes by itself.
    look_ahead, gain  how `servoj` follows: seconds from 0.03 to 0.2, and 100 to 2000.
    start_tolerance   how far the arm may be from where a trajectory starts, radians.
    """

    most_points: int | None = None

    def __init__(
        self,
        host: str,
        *,
        robot: Robot | None = None,
        joints: Sequence[str] | None = None,
        silence: float = 0.2,
        look_ahead: float = 0.05,
        gain: float = 500.0,
        start_tolerance: float = 0.02,
        ports: tuple[int, int] = (PORT, SCRIPT_PORT),
    ):
        names = tuple(joints) if joints is not None else robot.joint_names if robot is not None else JOINTS
        if len(names) != len(JOINTS):
            raise InvalidInputError(f"an arm of Universal Robots has {len(JOINTS)} joints, not {len(names)}.")
        if not (0.03 <= look_ahead <= 0.2 and 100.0 <= gain <= 2000.0 and 0.02 <= silence <= 1.0):
            raise InvalidInputError(
                "look_ahead= is from 0.03 to 0.2 s, gain= from 100 to 2000, silence= from 0.02 to 1 s."
            )
        self._names, self._host, self._script_port = names, host, ports[1]
        self._following, self._start_tolerance = (silence, look_ahead, gain), start_tolerance
        self._acceleration = np.full(len(names), _DEFAULT_ACCELERATION)
        if robot is not None:
            own = robot.acceleration[[robot.joint_index(name) for name in names]]
            self._acceleration = np.where(np.isfinite(own), own, _DEFAULT_ACCELERATION)
        self._lock, self._arrived = threading.RLock(), threading.Event()
        self._failure: DriverError | None = None
        self._state: dict[str, Values] = {}
        self._session, self._counter, self._resting = 0, 0, _SETTLE
        self._connection = RtdeConnection(host, _OUTPUTS, (_COUNTER, _ALLOWED, *_SETPOINT), port=ports[0])
        self._open = True
        threading.Thread(target=self._exchange, name="memetik-rtde", daemon=True).start()
        try:
            if not self._arrived.wait(5.0):
                raise self._failure or DriverError(f"the controller at {host} does not send its state.")
        except BaseException:
            self.close()
            raise

    @property
    def joint_names(self) -> tuple[str, ...]:
        return self._names

    @property
    def is_following(self) -> bool:
        """Whether the program on the controller follows this driver."""
        return self._session != 0 and self._said(_SESSION) == self._session

    def send(self, trajectory: Trajectory) -> None:
        """Begin to follow a trajectory; the program is sent to the controller where it does not run."""
        self._check()
        check_start(self, trajectory, self._start_tolerance)
        if not self.is_following:
            self._start_program()
        with self._lock:
            self._follower.follow(trajectory)
            self._resting = 0.0

    def state(self) -> DriverState:
        """Where the arm is; an error where it cannot move, with what the controller says of it."""
        self._check()
        with self._lock:
            q, velocity = (np.array(self._state[name]) for name in ("actual_q", "actual_qd"))
            moving = self._follower.moving or self._resting < _SETTLE
            return DriverState(q, velocity, self._follower.time, moving)

    def stop(self) -> None:
        """Brake along the path."""
        with self._lock:
            self._follower.brake()

    def pace(self, share: float) -> None:
        """Follow at a share of the trajectory's speed, from now on."""
        with self._lock:
            self._follower.set_pace(share)

    def close(self) -> None:
        """Let the program on the controller brake and end; end the connection."""
        with self._lock:
            self._session = 0
        limit = time.monotonic() + 1.0
        while self._failure is None and self._said(_SESSION) and time.monotonic() < limit:
            time.sleep(0.01)
        self._open = False
        self._connection.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    # inside

    def _said(self, name: str) -> float:
        return self._state[name][0] if name in self._state else 0.0

    def _check(self) -> None:
        """An error where the arm cannot move."""
        if self._failure is not None:
            raise self._failure
        if not self._open:
            raise DriverError("the driver is closed.")
        mode, safety = int(self._said("robot_mode")), int(self._said("safety_mode"))
        if safety not in _SAFE:
            raise DriverError(
                f"the arm is in {SAFETY_MODES.get(safety, f'safety mode {safety}')}; clear it on the pendant."
            )
        if mode != _RUNNING:
            found = ROBOT_MODES.get(mode, f"mode {mode}")
            raise DriverError(f"the arm is not ready ({found}): switch it on and release its brakes on the pendant.")
        if self._session and not self.is_following and self._follower.moving:
            raise DriverError("the program on the controller ended: by the pendant, or as no setpoint came in time.")

    def _exchange(self) -> None:
        """Answers each package with a setpoint, until the connection ends."""
        try:
            while self._open:
                came = self._connection.receive()
                with self._lock:
                    self._take(came)
                    self._connection.send(self._setpoint())
                self._arrived.set()
        except DriverError as error:
            if self._open:
                self._failure = error
                logger.warning("%s", error)

    def _take(self, came: dict[str, Values]) -> None:
        """A state of the controller: the reference goes on by as much as its clock did, at the speed of its slider."""
        if not self._state:
            self._follower = Follower(self._names, np.array(came["actual_q"]), self._acceleration)
            self._state = came
        seconds = came["timestamp"][0] - self._state["timestamp"][0]
        self._state = came
        if not self.is_following:
            if not self._follower.moving:
                self._follower.q[:] = came["actual_q"]
            return
        scaled = seconds * came["speed_scaling"][0] * came["target_speed_fraction"][0]
        if scaled > 0.0:
            self._follower.advance(scaled)
        self._resting = 0.0 if self._follower.moving else self._resting + seconds

    def _setpoint(self) -> dict[str, Values]:
        self._counter = self._counter % 1_000_000 + 1
        numbers = (*self._follower.q.tolist(), *self._follower.velocity.tolist())
        registers = {name: (value,) for name, value in zip(_SETPOINT, numbers, strict=True)}
        return {_COUNTER: (self._counter,), _ALLOWED: (self._session,), **registers}

    def _start_program(self) -> None:
        with self._lock:
            self._session = secrets.randbelow(1_000_000) + 1
            self._follower = Follower(self._names, np.array(self._state["actual_q"]), self._acceleration)
        text = following_program(self._session, *self._following, round(float(self._acceleration.min()), 3))
        try:
            with socket.create_connection((self._host, self._script_port), timeout=2.0) as connection:
                connection.sendall(text.encode())
                with suppress(TimeoutError):
                    connection.recv(4096)  # a socket that is closed before anything was read loses the program
        except OSError as error:
            raise DriverError(
                f"the controller at {self._host}:{self._script_port} takes no program: {error}."
            ) from None
        limit = time.monotonic() + 3.0
        while not self.is_following:
            self._check()
            if time.monotonic() > limit:
                said = f" It says: {self._connection.message}" if self._connection.message else ""
                raise DriverError(f"the program did not begin; an e-Series must be in remote control.{said}")
            time.sleep(0.005)
