"""Playing a motion: a clock that gives the posture of now."""

from __future__ import annotations

import time
from typing import Any

import numpy as np


class Player:
    """A trajectory on a timeline: playing, paused or put away. `trajectory.at(t)` gives the posture at a time."""

    def __init__(self) -> None:
        self.trajectory: Any = None
        self.duration = 0.0
        self.time = 0.0
        self.speed = 1.0
        self.repeats = False
        self.is_playing = False
        self.is_active = False
        """Whether the timeline, not the goals, says where the robot is."""
        self._last = 0.0

    def load(self, trajectory: Any, duration: float) -> None:
        """Another trajectory, at its beginning."""
        self.trajectory, self.duration, self.time = trajectory, float(duration), 0.0
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

    def posture(self) -> np.ndarray | None:
        """The posture to show now; None where there is nothing to play."""
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
