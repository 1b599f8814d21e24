"""Timed trajectories: joint positions as polynomials in time, piece by piece.

In piece k, from times[k] to times[k + 1], the positions are  q(t) = sum over p of  c[k, p] (t - times[k])^p .
Velocities and accelerations follow exactly; so do bounds on them, which hold at all times and not only at samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from memetik.errors import InvalidInputError
from memetik.motion.timing import trajectory_file
from memetik.motion.timing.polynomials import bound, evaluate, shifted


class Trajectory:
    """Joint positions over time, from t = 0 to `duration`. Immutable. Seconds; radians or metres.

    times (N,) starts at 0 and rises; positions, velocities and accelerations (N, dof) are those at these times, where
    an acceleration jumps the one that follows.
    """

    __slots__ = ("_bounds", "_coefficients", "joint_names", "times")

    joint_names: tuple[str, ...]
    times: np.ndarray

    def __init__(self, joint_names: Sequence[str], times: ArrayLike, coefficients: ArrayLike):
        """coefficients: (N - 1, degree + 1, dof) of the polynomials of each piece, the constant ones first."""
        times, coefficients = np.array(times, dtype=float), np.array(coefficients, dtype=float)
        if times.ndim != 1 or not len(times) or times[0] != 0.0 or (np.diff(times) <= 0.0).any():
            raise InvalidInputError("the times of a trajectory must start at 0 and rise.")
        if coefficients.ndim != 3 or coefficients.shape[::2] != (max(len(times) - 1, 1), len(joint_names)):
            raise InvalidInputError(
                f"coefficients have shape {coefficients.shape}; {len(times)} times and {len(joint_names)} joints need "
                f"({max(len(times) - 1, 1)}, degree + 1, {len(joint_names)})."
            )
        if not (np.isfinite(times).all() and np.isfinite(coefficients).all()):
            raise InvalidInputError("the times and coefficients of a trajectory must be finite.")
        times.setflags(write=False)
        coefficients.setflags(write=False)
        self.joint_names, self.times, self._coefficients = tuple(joint_names), times, coefficients
        self._bounds: dict[int, np.ndarray] = {}

    @classmethod
    def from_points(
        cls,
        joint_names: Sequence[str],
        times: ArrayLike,
        positions: ArrayLike,
        velocities: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
    ) -> Trajectory:
        """The trajectory through points (N, dof): straight between them, cubic where velocities are given, and of the
        fifth degree where accelerations are given too."""
        times, positions = np.array(times, dtype=float), np.array(positions, dtype=float)
        if positions.ndim != 2 or len(positions) != len(times):
            raise InvalidInputError(f"positions have shape {positions.shape}; {len(times)} times need one row each.")
        given = [positions]
        for name, values in (("velocities", velocities), ("accelerations", accelerations)):
            if values is None:
                break
            values = np.array(values, dtype=float)
            if values.shape != positions.shape:
                raise InvalidInputError(f"{name} have shape {values.shape}, but positions {positions.shape}.")
            given.append(values)
        if len(times) == 1:
            return cls(joint_names, times - times[:1], positions[None])
        if (np.diff(times) <= 0.0).any():
            raise InvalidInputError("the times of a trajectory must rise.")
        return cls(joint_names, times - times[0], _through(np.diff(times), given))

    @classmethod
    def resting(cls, joint_names: Sequence[str], q: ArrayLike, duration: float = 0.0) -> Trajectory:
        """Standing still at q (dof,)."""
        coefficients = np.asarray(q, dtype=float)[None, None]
        return cls(joint_names, [0.0, duration] if duration > 0.0 else [0.0], coefficients)

    @property
    def duration(self) -> float:
        """Seconds."""
        return float(self.times[-1])

    @property
    def dof(self) -> int:
        """The number of joint values."""
        return len(self.joint_names)

    @property
    def positions(self) -> np.ndarray:
        """(N, dof) at `times`."""
        return self.at(self.times)

    @property
    def velocities(self) -> np.ndarray:
        """(N, dof) at `times`."""
        return self.velocity(self.times)

    @property
    def accelerations(self) -> np.ndarray:
        """(N, dof) at `times`."""
        return self.acceleration(self.times)

    @property
    def coefficients(self) -> np.ndarray:
        """(N - 1, degree + 1, dof) of the polynomials in time since the start of each piece, constant ones first."""
        return self._coefficients

    @property
    def start(self) -> np.ndarray:
        """The first configuration (dof,)."""
        return self.at(0.0)

    @property
    def end(self) -> np.ndarray:
        """The last configuration (dof,)."""
        return self.at(self.duration)

    def at(self, t: ArrayLike) -> np.ndarray:
        """The configuration (dof,) at time t, or (M, dof) at times (M,); outside 0 to `duration` it stands still."""
        return self._evaluated(t, 0)

    def velocity(self, t: ArrayLike) -> np.ndarray:
        """Joint velocities (dof,) or (M, dof); those of the ends before and after."""
        return self._evaluated(t, 1)

    def acceleration(self, t: ArrayLike) -> np.ndarray:
        """Joint accelerations (dof,) or (M, dof)."""
        return self._evaluated(t, 2)

    def jerk(self, t: ArrayLike) -> np.ndarray:
        """Joint jerks (dof,) or (M, dof); jumps of the acceleration are not in it."""
        return self._evaluated(t, 3)

    def peaks(self, order: int = 1) -> np.ndarray:
        """(dof,) what the absolute value of a derivative never exceeds: order 1 velocity, 2 acceleration, 3 jerk.

        A proved bound, not more than a few per mille above what is attained.
        """
        if order not in self._bounds:
            spans = np.diff(self.times) if len(self.times) > 1 else np.ones(1)
            self._bounds[order] = bound(self._coefficients, spans, order=order)
        return self._bounds[order]

    @property
    def length(self) -> float:
        """The length of the way in joint space, the Euclidean norm of its changes."""
        dense = self.at(np.linspace(0.0, self.duration, max(200, 4 * len(self.times))))
        return float(np.linalg.norm(np.diff(dense, axis=0), axis=1).sum())

    def resampled(self, rate: float) -> Trajectory:
        """The trajectory by points at a fixed rate, in hertz, that readers of velocities or of accelerations too
        interpolate alike, and whose velocities and accelerations are never above those of the trajectory.

        From rest to rest it is the cubic B-spline over samples q_k of the way, 1 / rate apart,
            q(t_k) = (q_k-1 + 4 q_k + q_k+1) / 6 ,
        which is at most acceleration / (6 rate^2) off the way, and up to three intervals longer. Otherwise it is cubic
        between samples, and the last interval is shorter.
        """
        if not 0.0 < rate < math.inf:
            raise InvalidInputError(f"the rate is in hertz and must be positive, not {rate!r}.")
        if self.duration == 0.0:
            return self
        count = math.ceil(self.duration * rate - 1e-9)
        ends = np.array([0.0, self.duration])
        if np.abs(self.velocity(ends)).max() >= 1e-6:
            times = np.append(np.arange(count) / rate, self.duration)
            return Trajectory.from_points(self.joint_names, times, self.at(times), self.velocity(times))
        samples = self.at(np.arange(-2, count + 3) / rate)
        before, here, after = samples[:-2], samples[1:-1], samples[2:]
        positions, velocities = (before + 4.0 * here + after) / 6.0, 0.5 * rate * (after - before)
        times = np.arange(count + 3) / rate
        return Trajectory.from_points(self.joint_names, times, positions, velocities)

    def stretched(self, factor: float) -> Trajectory:
        """The same way in `factor` times the time: velocities shrink by it, accelerations by its square."""
        if not 0.0 < factor < math.inf:
            raise InvalidInputError(f"the factor must be positive, not {factor!r}.")
        powers = factor ** -np.arange(self._coefficients.shape[1], dtype=float)
        return Trajectory(self.joint_names, self.times * factor, self._coefficients * powers[:, None])

    def between(self, begin: float, end: float) -> Trajectory:
        """The part from time `begin` to `end`, its own time starting at 0."""
        if not 0.0 <= begin <= end <= self.duration * (1.0 + 1e-12):
            raise InvalidInputError(f"a part from {begin} s to {end} s is not within 0 to {self.duration:g} s.")
        if end - begin <= 0.0:
            return Trajectory.resting(self.joint_names, self.at(begin))
        inner = self.times[(self.times > begin + 1e-12) & (self.times < end - 1e-12)]
        times = np.concatenate([[begin], inner, [end]])
        pieces = self._pieces(times[:-1])
        moved = shifted(self._coefficients[pieces], times[:-1] - self.times[pieces])
        return Trajectory(self.joint_names, times - begin, moved)

    def then(self, *others: Trajectory) -> Trajectory:
        """This one and the others one after the other; each must begin where the one before ends."""
        return join((self, *others))

    def save(self, path: str | PathLike[str]) -> None:
        """Write a file in the format of the name's ending.

        .json       all pieces; what `load` reads back exactly
        .csv        a header, then one row per point: time, positions, velocities, accelerations
        .ros.json, .ros.yaml   a JointTrajectory of ROS, as `ros2 topic pub` takes it
        .script     a program of Universal Robots' controllers (URScript)
        .mcap       messages of ROS 2

        `resampled(rate)` first gives points at a fixed rate.
        """
        trajectory_file.save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Trajectory:
        """Read a file that `save` wrote, or a bag of ROS."""
        return trajectory_file.load(path)

    def to_dict(self) -> dict[str, Any]:
        """What the JSON file holds."""
        return trajectory_file.to_dict(self)

    def to_ros(self, frame: str = "") -> dict[str, Any]:
        """The fields of ROS's trajectory_msgs/JointTrajectory, as nested dictionaries and lists.

        Accelerations are left out where they jump: joint_trajectory_controller would bend the motion to meet them.
        """
        return trajectory_file.to_ros(self, frame)

    @classmethod
    def from_ros(cls, message: Mapping[str, Any]) -> Trajectory:
        """From the fields of a JointTrajectory message, as `to_ros` gives them."""
        return trajectory_file.from_ros(message)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trajectory):
            return NotImplemented
        return (
            self.joint_names == other.joint_names
            and np.array_equal(self.times, other.times)
            and np.array_equal(self._coefficients, other._coefficients)
        )

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        return f"<Trajectory: {self.dof} joints, {len(self.times)} points, {self.duration:.3f} s>"

    def _pieces(self, t: np.ndarray) -> np.ndarray:
        last = max(len(self.times) - 2, 0)
        return np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, last)

    def _evaluated(self, t: ArrayLike, order: int) -> np.ndarray:
        t = np.asarray(t, dtype=float)
        if t.ndim > 1 or not np.isfinite(t).all():
            raise InvalidInputError(f"t must be one time or a list of finite times in seconds, not {t!r:.80}.")
        clipped = np.clip(np.atleast_1d(t), 0.0, self.duration)
        pieces = self._pieces(clipped)
        values = evaluate(self._coefficients, pieces, clipped - self.times[pieces], order)
        return values if t.ndim else values[0]


def join(parts: Iterable[Trajectory], tolerance: float = 1e-6) -> Trajectory:
    """Trajectories one after the other; each must begin where the one before ends, to within `tolerance`."""
    parts = list(parts)
    if not parts:
        raise InvalidInputError("there is no trajectory to join.")
    names = parts[0].joint_names
    for index, (first, second) in enumerate(pairwise(parts)):
        if second.joint_names != names:
            raise InvalidInputError(f"trajectory {index + 2} is of other joints: {', '.join(second.joint_names)}.")
        gap = np.abs(first.end - second.start)
        if gap.max() > tolerance:
            joint = names[int(gap.argmax())]
            raise InvalidInputError(
                f"trajectory {index + 2} does not begin where the one before ends: joint {joint!r} jumps by "
                f"{gap.max():g}."
            )
    moving = [part for part in parts if part.duration > 0.0]
    if not moving:
        return parts[0]
    degree = max(part.coefficients.shape[1] for part in moving)
    begins = np.cumsum([0.0, *(part.duration for part in moving)])
    times = np.concatenate([[0.0], *(begin + part.times[1:] for begin, part in zip(begins, moving, strict=False))])
    padded = [np.pad(part.coefficients, ((0, 0), (0, degree - part.coefficients.shape[1]), (0, 0))) for part in moving]
    return Trajectory(names, times, np.concatenate(padded))


def _through(spans: np.ndarray, given: list[np.ndarray]) -> np.ndarray:
    """Coefficients (N - 1, 2 * len(given), dof) of the polynomials with these values and derivatives at their ends."""
    h = spans[:, None]
    start, end = [values[:-1] for values in given], [values[1:] for values in given]
    rise = end[0] - start[0]
    if len(given) == 1:
        return np.stack([start[0], rise / h], axis=1)
    if len(given) == 2:
        second = (3.0 * rise / h - 2.0 * start[1] - end[1]) / h
        third = (start[1] + end[1] - 2.0 * rise / h) / h**2
        return np.stack([start[0], start[1], second, third], axis=1)
    p = rise - h * (start[1] + 0.5 * h * start[2])
    v = end[1] - start[1] - h * start[2]
    a = end[2] - start[2]
    third = (10.0 * p - 4.0 * h * v + 0.5 * h**2 * a) / h**3
    fourth = (-15.0 * p + 7.0 * h * v - h**2 * a) / h**4
    fifth = (6.0 * p - 3.0 * h * v + 0.5 * h**2 * a) / h**5
    return np.stack([start[0], start[1], 0.5 * start[2], third, fourth, fifth], axis=1)
