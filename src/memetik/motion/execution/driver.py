"""What moves an arm: the interface of drivers, one in simulation, and one that is exact.

A driver is a small class of three methods. `send` begins a trajectory and returns at once, `state` says where the arm
really is, `stop` brings it to rest. A driver of real hardware needs no more.
"""

from __future__ import annotations

import time as clock
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from memetik.errors import InvalidInputError, MemetikError, UnknownNameError
from memetik.motion.execution.simulation import Simulation
from memetik.motion.timing.trajectory import Trajectory
from memetik.robot.robot import Robot

_GENTLE = 0.95  # of the accelerations of a trajectory: what a change of pace takes, as time comes in steps


class DriverError(MemetikError):
    """A driver refuses a trajectory or does not answer."""


@dataclass(frozen=True, slots=True)
class DriverState:
    """An arm at one moment: q and velocity (joints,) in the order of the driver's `joint_names`.

    `time` is how far the last trajectory that was sent has been followed, seconds; `moving` whether it still is.
    """

    q: np.ndarray
    velocity: np.ndarray
    time: float = 0.0
    moving: bool = False

    def of(self, names: Sequence[str], joint_names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """q and velocity of the joints `names`, when the driver's are `joint_names`."""
        index = indices(names, joint_names)
        return self.q[index], self.velocity[index]


@runtime_checkable
class Driver(Protocol):
    """Anything with these members drives an arm. A trajectory moves its own joints; the others stay as they are.

    Three further members are used where they are there: `most_points`, the largest number of points a trajectory may
    have (None for any); `wait(seconds)`, which lets time pass where it is not that of the wall clock; and
    `pace(share)`, which lets the trajectory's own time run at a share of its speed from now on, 0 to 1, changing over
    within the accelerations of the trajectory. Where there is no `pace` the arm is stopped and sent on at another one.
    """

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints it drives."""
        ...

    def send(self, trajectory: Trajectory) -> None:
        """Begin to follow a trajectory; raises DriverError where it is refused."""
        ...

    def state(self) -> DriverState:
        """Where the arm is now."""
        ...

    def stop(self) -> None:
        """Bring the arm to rest as fast as it safely goes."""
        ...


def most_points(driver: Driver) -> int | None:
    """How many points a driver takes at a time; None for any number."""
    return getattr(driver, "most_points", None)


def has_pace(driver: Driver) -> bool:
    """Whether a driver can change the speed of what it follows."""
    return getattr(driver, "pace", None) is not None


def set_pace(driver: Driver, share: float) -> None:
    """Let a driver that can go at a share of its trajectory's speed."""
    own = getattr(driver, "pace", None)
    if own is not None:
        own(share)


def wait(driver: Driver, seconds: float) -> None:
    """Let time pass: that of a simulation, or that of the wall clock."""
    own = getattr(driver, "wait", None)
    if own is None:
        clock.sleep(seconds)
    else:
        own(seconds)


def indices(names: Sequence[str], joint_names: Sequence[str]) -> np.ndarray:
    """Where joints are among those of a driver."""
    places = {name: k for k, name in enumerate(joint_names)}
    for name in names:
        if name not in places:
            raise UnknownNameError("joint", name, "the driver", joint_names)
    return np.array([places[name] for name in names], dtype=int)


class Follower:
    """A reference that follows a trajectory at a pace, and brakes along its way when it is stopped.

    The trajectory's own time s runs at a rate r: the arm stays on the way, which is free, at velocity r q'(s) and
    acceleration r^2 q''(s) + r' q'(s). A change of pace keeps the latter within the trajectory's own bounds; a stop is
    as fast as the arm's.
    """

    def __init__(self, joint_names: Sequence[str], q: np.ndarray, acceleration: np.ndarray):
        self.joint_names, self.q = tuple(joint_names), np.array(q, dtype=float)
        self.velocity, self.acceleration = np.zeros_like(self.q), np.zeros_like(self.q)
        self._most = np.where(np.isfinite(acceleration), acceleration, 10.0)
        self._trajectory: Trajectory | None = None
        self.time, self._rate, self._braking, self._pace = 0.0, 0.0, 0.0, 1.0

    def follow(self, trajectory: Trajectory) -> None:
        self._index = indices(trajectory.joint_names, self.joint_names)
        self._trajectory, self.time, self._rate, self._braking = trajectory, 0.0, self._pace, 0.0
        self._gentle = np.maximum(trajectory.peaks(2), 0.01 * self._most[self._index])

    def set_pace(self, share: float) -> None:
        if not 0.0 <= share <= 1.0:
            raise InvalidInputError(f"the pace is a share from 0 to 1, not {share!r}.")
        self._pace = float(share)

    def brake(self) -> None:
        if self._trajectory is None or self._braking:
            return
        speed = np.abs(self._trajectory.velocity(self.time))
        seconds = float((speed / self._most[self._index]).max()) if self.moving else 0.0
        self._braking = 1.0 / max(seconds, 1e-3)

    @property
    def moving(self) -> bool:
        trajectory = self._trajectory
        stopped = self._braking > 0.0 and self._rate == 0.0
        return trajectory is not None and not stopped and self.time < trajectory.duration

    def hold(self, q: np.ndarray, further: float) -> None:
        """After a stop, where the arm was held off its reference: let it be where it is instead of pushing on."""
        if self._trajectory is None or not self._braking or self.moving:
            return
        if np.abs(q - self.q)[self._index].max() > further:
            self.q[self._index] = q[self._index]

    def advance(self, seconds: float) -> None:
        trajectory = self._trajectory
        if trajectory is None:
            return
        if not self.moving:
            self.velocity[:], self.acceleration[:] = 0.0, 0.0
            return
        if self._braking:
            change = -min(self._braking, self._rate / seconds)
        elif self._rate == self._pace:
            change = 0.0
        else:
            change = self._change_of_pace(trajectory, seconds)
        self.time = min(self.time + seconds * (self._rate + 0.5 * seconds * change), trajectory.duration)
        self._rate = min(self._rate + seconds * change, 1.0)
        if self._rate < 1e-9:
            self._rate = 0.0
        if not self._braking and abs(self._rate - self._pace) < 1e-9:
            self._rate = self._pace
        moving = self._rate if self.time < trajectory.duration else 0.0
        self.q[self._index], speed, push = _sample(trajectory, self.time)
        self.velocity[self._index] = moving * speed
        self.acceleration[self._index] = (moving**2 * push + change * speed) if moving else 0.0

    def _change_of_pace(self, trajectory: Trajectory, seconds: float) -> float:
        """Of the rate, per second, towards the pace that is asked for."""
        low, high = -np.inf, np.inf
        for time in (self.time, min(self.time + seconds * self._rate, trajectory.duration)):
            _, speed, push = _sample(trajectory, time)
            fast = np.abs(speed) > 1e-9
            room, along = _GENTLE * self._gentle[fast], self._rate**2 * push[fast] / speed[fast]
            share = room / np.abs(speed[fast])
            low, high = max(low, (-share - along).max(initial=-np.inf)), min(high, (share - along).min(initial=np.inf))
        return float(np.clip((self._pace - self._rate) / seconds, min(low, 0.0), max(high, 0.0)))


def _sample(trajectory: Trajectory, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position, velocity and acceleration at one time within a trajectory: Horner's rule for all three at once."""
    pieces = trajectory.coefficients
    piece = min(max(int(np.searchsorted(trajectory.times, t, side="right")) - 1, 0), len(pieces) - 1)
    since = t - float(trajectory.times[piece])
    q = pieces[piece, -1]
    velocity = push = np.zeros_like(q)
    for row in pieces[piece, -2::-1]:
        push = push * since + velocity
        velocity = velocity * since + q
        q = q * since + row
    return q, velocity, 2.0 * push


class ExactDriver:
    """A driver whose arm is always exactly where it should be, without physics; for dry runs and tests.

    real_time: how fast its time runs beside that of the wall clock; None for as fast as possible.
    """

    most_points: int | None = None

    def __init__(
        self,
        robot: Robot,
        q: ArrayLike | Mapping[str, float] | None = None,
        *,
        real_time: float | None = None,
        period: float = 0.005,
    ):
        self.robot, self.real_time, self._period = robot, real_time, period
        self._follower = Follower(robot.joint_names, robot.q(q), robot.acceleration)

    @property
    def joint_names(self) -> tuple[str, ...]:
        return self._follower.joint_names

    def send(self, trajectory: Trajectory) -> None:
        check_start(self, trajectory)
        self._follower.follow(trajectory)

    def state(self) -> DriverState:
        follower = self._follower
        return DriverState(follower.q.copy(), follower.velocity.copy(), follower.time, follower.moving)

    def stop(self) -> None:
        self._follower.brake()

    def pace(self, share: float) -> None:
        """Follow at a share of the trajectory's speed, from now on."""
        self._follower.set_pace(share)

    def wait(self, seconds: float) -> None:
        """Let the arm's time pass."""
        for _ in range(max(1, round(seconds / self._period))):
            self._follower.advance(self._period)
        if self.real_time is not None:
            clock.sleep(seconds / self.real_time)


class SimulatedDriver:
    """A driver of an arm under physics: a `Simulation`, whose servos follow the trajectory.

    settle: how long after the end of a trajectory it counts as moving, seconds, so that the arm comes to rest.
    real_time: how fast its time runs beside that of the wall clock; None for as fast as possible.
    """

    most_points: int | None = None

    def __init__(self, simulation: Simulation, *, settle: float = 0.1, real_time: float | None = None):
        self.simulation, self.real_time, self._settle = simulation, real_time, settle
        robot = simulation.robot
        self._follower = Follower(robot.joint_names, simulation.q, robot.acceleration)
        self._resting = settle

    @property
    def joint_names(self) -> tuple[str, ...]:
        return self._follower.joint_names

    def send(self, trajectory: Trajectory) -> None:
        check_start(self, trajectory, 0.2)
        self._follower.follow(trajectory)
        self._resting = 0.0

    def state(self) -> DriverState:
        moving = self._follower.moving or self._resting < self._settle
        return DriverState(self.simulation.q, self.simulation.velocity, self._follower.time, moving)

    def stop(self) -> None:
        self._follower.brake()

    def pace(self, share: float) -> None:
        """Follow at a share of the trajectory's speed, from now on."""
        self._follower.set_pace(share)

    def wait(self, seconds: float) -> None:
        """Let the simulation's time pass."""
        step, follower = self.simulation.timestep, self._follower
        for _ in range(max(1, round(seconds / step))):
            self.simulation.command(follower.q, follower.velocity, follower.acceleration)
            self.simulation.step()
            follower.advance(step)
            self._resting = 0.0 if follower.moving else self._resting + step
        follower.hold(self.simulation.q, 0.01)
        if self.real_time is not None:
            clock.sleep(seconds / self.real_time)


def check_start(driver: Driver, trajectory: Trajectory, tolerance: float = 1e-3) -> None:
    """A jump at the start is refused, as every sane controller does."""
    if not isinstance(trajectory, Trajectory):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"a driver is sent a Trajectory, not {type(trajectory).__name__}.")
    q, _ = driver.state().of(trajectory.joint_names, driver.joint_names)
    gap = np.abs(trajectory.start - q)
    if gap.max(initial=0.0) > tolerance:
        worst = int(gap.argmax())
        raise DriverError(
            f"the trajectory starts with joint {trajectory.joint_names[worst]!r} at {trajectory.start[worst]:.4f}, "
            f"but it is at {q[worst]:.4f}."
        )
