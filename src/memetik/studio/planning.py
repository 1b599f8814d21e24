"""Motions through way points, as tables of numbers and as files."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from memetik.robot.robot import Robot
from memetik.scene.scene import Scene
from memetik.studio.setup import State


@dataclass(frozen=True, slots=True, eq=False)
class WayPlan:
    """A motion through way points, or which stage failed and why."""

    success: bool
    stage: str
    reason: str
    trajectory: Any
    duration: float


def plan_way(state: State) -> WayPlan:
    """Plans through the way points of a set-up, one after another, at rest in each."""
    from memetik.motion.pipeline import plan

    scene = Scene(state.scene.objects.values(), allowed=state.scene.allowed) if state.scene.objects else None
    way = [state.postures[name] for name in state.way]
    whole: Any = None
    for (name, start), (after, goal) in pairwise(zip(state.way, way, strict=True)):
        found = plan(
            state.robot, goal, scene=scene, start=start, self_collision=state.self_collision, margin=state.margin
        )
        if not found.success or found.trajectory is None:
            said = found.reason + (f": {found.detail}" if found.detail else "")
            return WayPlan(False, f"from {name} to {after}, {found.stage}", said, None, 0.0)
        whole = found.trajectory if whole is None else whole.then(found.trajectory)
    return WayPlan(True, "done", "", whole, float(whole.duration))


def curves(
    trajectory: Any, robot: Robot, names: tuple[str, ...], samples: int
) -> tuple[np.ndarray, list[tuple[str, list[np.ndarray], list[float]]]]:
    """Times (S,), and for position, velocity and acceleration: a title, a curve for each joint, and bounds.

    One joint is shown in its own units; several as shares of their limits, so that they fit one plot.
    """
    times = np.linspace(0.0, float(trajectory.duration), samples)
    entries = [robot.joint_index(name) for name in names]
    position, velocity, acceleration = trajectory.at(times), trajectory.velocity(times), trajectory.acceleration(times)
    if len(names) == 1:
        k = entries[0]
        low, high = float(robot.lower[k]), float(robot.upper[k])
        limits = [
            [v for v in (low, high) if np.isfinite(v)],
            _both(float(robot.velocity[k])),
            _both(float(robot.acceleration[k])),
        ]
        titles = ("position (rad, m)", "velocity (rad/s, m/s)", "acceleration (rad/s², m/s²)")
        values = [[array[:, k]] for array in (position, velocity, acceleration)]
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


def export_motion(trajectory: Any, path: Path) -> None:
    """Writes a motion as a table of positions, velocities and accelerations (.csv), or as it is (.json)."""
    trajectory.save(path)


def _both(limit: float) -> list[float]:
    return [-limit, limit] if np.isfinite(limit) else []


def _limit(limits: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Limits; where a joint has none, the largest value that it takes."""
    largest = np.abs(values).max(axis=0)
    return np.where(np.isfinite(limits) & (limits > 0.0), limits, np.maximum(largest, 1e-9))
