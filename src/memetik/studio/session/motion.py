"""Motions through waypoints: planned, played on a timeline, and as curves."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from memetik.motion.planning.pipeline import plan
from memetik.motion.timing.trajectory import Trajectory
from memetik.robot.robot import Robot
from memetik.studio.session.session import State, scene_of


class Player:
    """A trajectory on a timeline: playing, paused or put away. `trajectory.at(t)` gives the configuration at a time."""

    def __init__(self) -> None:
        self.trajectory: Trajectory | None = None
        self.duration = 0.0
        self.time = 0.0
        self.speed = 1.0
        self.repeats = False
        self.is_playing = False
        self.is_active = False
        """Whether the timeline, not the goals, says where the robot is."""
        self._last = 0.0

    def load(self, trajectory: Trajectory) -> None:
        """Another trajectory, at its beginning."""
        self.trajectory, self.duration, self.time = trajectory, float(trajectory.duration), 0.0
        self.is_playing = self.is_active = False

    def play(self) -> None:
        """Goes on from where the timeline is, from the beginning if it is at the end."""
        if self.trajectory is None:
            return
        if self.time >= self.duration:
            self.time = 0.0
        self.is_playing = self.is_active = True
        self._last = time.perf_counter()

    def pause(self) -> None:
        self.is_playing = False

    def stop(self) -> None:
        """Lets the robot follow its goals again."""
        self.is_playing = self.is_active = False

    def seek(self, moment: float) -> None:
        """Shows one moment of the timeline."""
        if self.trajectory is not None:
            self.time = float(np.clip(moment, 0.0, self.duration))
            self.is_active, self.is_playing = True, False

    def configuration(self) -> np.ndarray | None:
        """The configuration to show now; None where there is nothing to play."""
        if self.trajectory is None or not self.is_active:
            return None
        if self.is_playing:
            now = time.perf_counter()
            self.time += self.speed * (now - self._last)
            self._last = now
            if self.time >= self.duration and self.repeats:
                self.time %= max(self.duration, 1e-9)
            elif self.time >= self.duration:
                self.time, self.is_playing = self.duration, False
        return np.asarray(self.trajectory.at(self.time), dtype=float)


@dataclass(frozen=True, slots=True, eq=False)
class WaypointPlan:
    """A motion through waypoints, or None with the stage that failed and why."""

    trajectory: Trajectory | None
    stage: str = "done"
    reason: str = ""
    times: tuple[float, ...] = ()
    """When each waypoint is passed, seconds."""


def plan_waypoints(state: State) -> WaypointPlan:
    """Plans through the waypoints of a session, one after another, at rest in each."""
    scene = scene_of(state) if state.scene.objects else None
    passed = [state.configurations[name] for name in state.waypoints]
    whole: Trajectory | None = None
    times = [0.0]
    for (name, start), (after, goal) in pairwise(zip(state.waypoints, passed, strict=True)):
        found = plan(
            state.robot, goal, scene=scene, start=start, self_collision=state.self_collision, margin=state.margin
        )
        if not found.success or found.trajectory is None:
            said = found.reason + (f": {found.detail}" if found.detail else "")
            return WaypointPlan(None, f"from {name} to {after}, {found.stage}", said)
        whole = found.trajectory if whole is None else whole.then(found.trajectory)
        times.append(float(whole.duration))
    return WaypointPlan(whole, times=tuple(times))


def curves(
    trajectory: Trajectory, robot: Robot, names: tuple[str, ...], samples: int
) -> tuple[np.ndarray, list[tuple[str, list[np.ndarray], list[float]]]]:
    """Times (S,), and for position, velocity and acceleration: a title, a curve for each joint, and bounds.

    One joint is shown in its own units; several as shares of their limits, so that they fit one plot.
    """
    times = np.linspace(0.0, float(trajectory.duration), samples)
    entries = [robot.joint_index(name) for name in names]
    position, velocity, acceleration = trajectory.at(times), trajectory.velocity(times), trajectory.acceleration(times)
    if len(names) == 1:
        k = entries[0]
        lower = (robot.lower[k], -robot.velocity[k], -robot.acceleration[k])
        upper = (robot.upper[k], robot.velocity[k], robot.acceleration[k])
        limits = [[float(v) for v in pair if np.isfinite(v)] for pair in zip(lower, upper, strict=True)]
        unit, factor = ("°", 180.0 / np.pi) if robot.turning[k] else ("m", 1.0)
        limits = [[factor * bound for bound in pair] for pair in limits]
        titles = (f"position ({unit})", f"velocity ({unit}/s)", f"acceleration ({unit}/s²)")
        values = [[factor * array[:, k]] for array in (position, velocity, acceleration)]
    else:
        titles = ("position / range", "velocity / limit", "acceleration / limit")
        middle = np.where(np.isfinite(robot.lower + robot.upper), 0.5 * (robot.lower + robot.upper), 0.0)
        half = np.where(np.isfinite(robot.upper - robot.lower), 0.5 * (robot.upper - robot.lower), np.pi)
        scaled = (
            (position - middle) / np.maximum(half, 1e-9),
            velocity / _limit(robot.velocity, velocity),
            acceleration / _limit(robot.acceleration, acceleration),
        )
        values = [[array[:, k] for k in entries] for array in scaled]
        limits = [[-1.0, 1.0]] * 3
    return times, list(zip(titles, values, limits, strict=True))


def _limit(limits: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Limits; where a joint has none, the largest value that it takes."""
    largest = np.abs(values).max(axis=0)
    return np.where(np.isfinite(limits) & (limits > 0.0), limits, np.maximum(largest, 1e-9))
