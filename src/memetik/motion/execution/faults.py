"""Drivers with faults, to see what becomes of a task: each wraps another driver and spoils what it is sent."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from memetik.motion.execution.driver import Driver, DriverError, DriverState, most_points, wait
from memetik.motion.timing.trajectory import Trajectory


class FaultyDriver:
    """A driver that passes everything on. The faults below change some of it."""

    def __init__(self, driver: Driver):
        self.driver = driver

    @property
    def joint_names(self) -> tuple[str, ...]:
        return self.driver.joint_names

    @property
    def most_points(self) -> int | None:
        return most_points(self.driver)

    @property
    def pace(self) -> Callable[[float], None] | None:
        return getattr(self.driver, "pace", None)

    def send(self, trajectory: Trajectory) -> None:
        self.driver.send(trajectory)

    def state(self) -> DriverState:
        return self.driver.state()

    def stop(self) -> None:
        self.driver.stop()

    def wait(self, seconds: float) -> None:
        wait(self.driver, seconds)


class StopsEarly(FaultyDriver):
    """Stops somewhere on the way and says that it is done, as the youBot's driver did.

    share: where, as a share of the trajectory's time; None for a random place each time.
    chance: how often, 0 to 1. times: how often at most.
    """

    def __init__(
        self,
        driver: Driver,
        share: float | None = 0.6,
        *,
        chance: float = 1.0,
        times: int | None = None,
        rng: int | np.random.Generator = 0,
    ):
        super().__init__(driver)
        self.share, self.chance, self.left = share, chance, times
        self._rng, self._until = np.random.default_rng(rng), np.inf

    def send(self, trajectory: Trajectory) -> None:
        self._until = np.inf
        if self.left != 0 and self._rng.random() < self.chance:
            share = self.share if self.share is not None else float(self._rng.uniform(0.1, 0.95))
            self._until = share * trajectory.duration
            self.left = None if self.left is None else self.left - 1
        super().send(trajectory)

    def wait(self, seconds: float) -> None:
        super().wait(seconds)
        if self.driver.state().time >= self._until:
            self.driver.stop()


class DropsPoints(FaultyDriver):
    """Loses points between the first and the last on their way to the arm, each with a chance of `share`."""

    def __init__(self, driver: Driver, share: float = 0.5, *, rng: int | np.random.Generator = 0):
        super().__init__(driver)
        self.share, self._rng = share, np.random.default_rng(rng)

    def send(self, trajectory: Trajectory) -> None:
        kept = self._rng.random(len(trajectory)) >= self.share
        kept[[0, -1]] = True
        super().send(_through(trajectory, np.flatnonzero(kept)))


class TakesFewPoints(FaultyDriver):
    """Takes trajectories of few points only, as the Katana's driver did.

    silent: instead of refusing longer ones it thins them out, and does not say so; nobody checks what is left.
    """

    def __init__(self, driver: Driver, most: int = 16, *, silent: bool = False):
        super().__init__(driver)
        self.most, self.silent = most, silent

    @property
    def most_points(self) -> int | None:
        return None if self.silent else self.most

    def send(self, trajectory: Trajectory) -> None:
        if len(trajectory) > self.most:
            if not self.silent:
                raise DriverError(f"the trajectory has {len(trajectory)} points; this driver takes {self.most}.")
            trajectory = _through(trajectory, np.unique(np.linspace(0, len(trajectory) - 1, self.most).astype(int)))
        super().send(trajectory)


def _through(trajectory: Trajectory, points: np.ndarray) -> Trajectory:
    """What a controller makes of some of the points: cubic pieces."""
    rows = (trajectory.positions[points], trajectory.velocities[points])
    return Trajectory.from_points(trajectory.joint_names, trajectory.times[points], *rows)
