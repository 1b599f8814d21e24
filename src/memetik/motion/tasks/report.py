"""What becomes of a task, step by step."""

from __future__ import annotations

from dataclasses import dataclass

from memetik.errors import MemetikError


class TaskError(MemetikError):
    """A step of a task cannot be done: `label` says which, the message why."""

    def __init__(self, label: str, why: str):
        super().__init__(f"{label}: {why}")
        self.label = label


@dataclass(frozen=True, slots=True, eq=False)
class StepReport:
    """One step that was tried: what, whether it went well, seconds to plan and to run, and what there is to say."""

    label: str
    success: bool
    planning: float = 0.0
    running: float = 0.0
    recoveries: int = 0
    message: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class TaskReport:
    """What became of a task. `placed` tells of each placed object how far it lies from its target, metres."""

    success: bool
    steps: tuple[StepReport, ...]
    placed: dict[str, float]
    message: str
    notes: tuple[str, ...] = ()
    duration: float = 0.0
    """Seconds of the driver's time."""

    @property
    def failed(self) -> StepReport | None:
        """The step that failed, None if none did."""
        return next((step for step in self.steps if not step.success), None)
