"""What a tracker did in one step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memetik.solve.inputs import Array
from memetik.solve.problem import Problem

_BOUNDS = ((1, "velocity"), (2, "acceleration"), (4, "position"))


class TrackerStep:
    """What a tracker did in one step. It unpacks as q, error, saturated.

    q          the configuration (dof,).
    error      the largest error of a hard goal, in metres or radians.
    saturated  names of joints that are at a bound of velocity, acceleration or position; `bounds` says which.
    """

    __slots__ = ("_bits", "_errors", "_problem", "error", "obstacle", "q", "recovering", "velocity", "within")

    def __init__(self, problem: Problem, core: Any, dt: float, obstacle: tuple[str, str] | None = None):
        self._problem = problem
        self.q: Array = core.q
        self.error: float = core.error
        self.within: bool = core.within
        """Whether every hard goal is within its tolerance."""
        self.recovering: bool = core.steering
        """Whether the robot is on its way to another configuration because it was stuck in this one."""
        self.velocity: Array = core.last_change / dt
        """Of the step, (dof,), radians or metres per second."""
        self.obstacle: tuple[str, str] | None = obstacle
        """The two that would have come too near, where that changed the step; else None."""
        self._errors: Array = core.errors
        self._bits: bytes = core.saturation

    @property
    def errors(self) -> dict[str, dict[str, float]]:
        """How far each goal is from what it asks for, as in a Solution."""
        return self._problem.named_errors(self._errors)

    @property
    def bounds(self) -> dict[str, tuple[str, ...]]:
        """Joints at a bound and which: "velocity", "acceleration", "position"."""
        at = zip(self._problem.robot.joint_names, self._bits, strict=True)
        return {name: tuple(text for bit, text in _BOUNDS if bits & bit) for name, bits in at if bits}

    @property
    def saturated(self) -> tuple[str, ...]:
        return tuple(self.bounds) if any(self._bits) else ()

    def __iter__(self) -> Iterator[Any]:
        return iter((self.q, self.error, self.saturated))

    def __repr__(self) -> str:
        at = f", at bounds: {', '.join(self.saturated)}" if any(self._bits) else ""
        return f"<TrackerStep error {self.error:.2g}{at}>"
