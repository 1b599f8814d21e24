"""What moves around an arm while it executes: seen in the scene, predicted, and kept at a margin.

Objects are watched from look to look; one that moves is taken to go on with the velocity that it had. The arm slows
down as a predicted contact comes nearer, and stops where it is as near as the arm needs to brake.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memetik.collision.mesh_checker import MeshChecker
from memetik.geometry.transforms import transform
from memetik.motion.timing.trajectory import Trajectory
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene
from memetik.scene.scene_object import SceneObject

MARGIN = 0.01
"""Metres that are kept from objects that move, beyond the plan's own margin."""

HORIZON = 2.0
"""Seconds for which motions are predicted."""

SLOW_DOWN = 1.0
"""Seconds before the time to brake at which the arm begins to slow down."""

_STEP = 0.02  # seconds between predictions
_FIRST_STEP = 0.1  # seconds in which an object that stood is taken to have made its first step, at most
_STANDS = 0.25  # seconds without a change of pose after which an object stands
_FASTEST = 5.0  # metres per second: what is faster was put elsewhere


@dataclass(slots=True)
class _Seen:
    record: SceneObject
    time: float
    velocity: np.ndarray


@dataclass(frozen=True, slots=True)
class Encounter:
    """Seconds until an object that moves comes within the margin, and the two names."""

    seconds: float
    pair: tuple[str, str]


class Surroundings:
    """The objects of a scene, with their velocities."""

    def __init__(self, robot: Robot, scene: Scene, margin: float):
        self.robot, self.scene, self.margin = robot, scene, margin + MARGIN
        self._seen = {item.name: _Seen(item, 0.0, np.zeros(3)) for item in scene}
        self._ahead = scene.copy()
        self._checker: MeshChecker | None = None

    def look(self, clock: float) -> bool:
        """Takes in the scene; whether something changed that is no motion: an object that appeared, changed, or came
        to stand."""
        settled = False
        for item in self.scene:
            seen = self._seen.get(item.name)
            if seen is None:
                self._seen[item.name], settled = _Seen(item, clock, np.zeros(3)), True
            elif seen.record is not item:
                step, passed = item.pose[:3, 3] - seen.record.pose[:3, 3], clock - seen.time
                if not seen.velocity.any():  # it may have stood for long before
                    passed = min(passed, _FIRST_STEP)
                speed = step / passed if passed > 0.0 and not item.attached else np.zeros(3)
                moved = 0.0 < float(np.linalg.norm(speed)) <= _FASTEST and item.shape is seen.record.shape
                self._seen[item.name] = _Seen(item, clock, speed if moved else np.zeros(3))
                settled |= not moved
            elif clock - seen.time > _STANDS and seen.velocity.any():
                seen.velocity, settled = np.zeros(3), True
        for name in [name for name in self._seen if name not in self.scene]:
            del self._seen[name]
        return settled

    @property
    def moving(self) -> tuple[str, ...]:
        """The objects that move."""
        return tuple(name for name, seen in self._seen.items() if seen.velocity.any())

    def encounter(self, parts: Sequence[Trajectory], pace: float, clock: float) -> Encounter | None:
        """The first time at which an object that moves comes too near, when the arm follows the trajectories at a share
        `pace` of their speed; None where none does within HORIZON."""
        names = self.moving
        if not names:
            return None
        self._ahead.restore(self.scene.snapshot())
        if self._checker is None:
            self._checker = MeshChecker(self.robot, self._ahead, self_collision=False, margin=self.margin)
        for seconds in np.arange(0.0, HORIZON + _STEP, _STEP).tolist():
            for name in names:
                seen = self._seen[name]
                age = clock - seen.time + seconds
                self._ahead.move(name, transform(age * seen.velocity) @ seen.record.pose)
            q = _at(parts, pace * seconds)
            pair = self._checker.first_contact(q)
            if pair is not None and pair[1] in names:
                return Encounter(seconds, pair)
        return None


def wanted_pace(encounter: Encounter | None, braking: float) -> float:
    """The share of its speed at which an arm goes that needs `braking` seconds to stop: 0 where it has to stop now."""
    if encounter is None:
        return 1.0
    slack = encounter.seconds - braking
    return 0.0 if slack <= 0.0 else max(0.05, min(1.0, slack / SLOW_DOWN))


def _at(parts: Sequence[Trajectory], time: float) -> np.ndarray:
    for part in parts:
        if time <= part.duration:
            return part.at(time)
        time -= part.duration
    return parts[-1].end
