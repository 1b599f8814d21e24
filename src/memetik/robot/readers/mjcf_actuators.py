"""What MJCF's actuators say of the joints they drive: efforts, the range that position control commands, keyframes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from memetik.files.xml_tree import Element
from memetik.robot.readers.mjcf_settings import Settings

_KP = 1.0
"""The gain that MuJoCo gives a position actuator that states none."""


@dataclass(frozen=True, slots=True)
class Actuator:
    """An actuator on a joint.

    A position actuator rests where the joint's value is  slope * control + offset; `slope` is 0 for other kinds.
    `control` is the range of its control, None where it has none.
    """

    joint: str
    effort: float
    slope: float
    offset: float
    control: tuple[float, float] | None

    def value(self, control: float) -> float:
        """The joint's value that a control commands."""
        return self.slope * control + self.offset

    @property
    def commanded(self) -> tuple[float, float] | None:
        """The lowest and highest value of the joint that position control commands; None where it does not."""
        if not self.slope or self.control is None:
            return None
        low, high = sorted(self.value(control) for control in self.control)
        return low, high


def read_actuators(root: Element, settings: Settings, ranges: dict[str, tuple[float, float]]) -> list[Actuator]:
    """The actuators of a file in order, those that drive no joint with an empty name. `ranges` are joint limits."""
    return [
        _actuator(settings.complete(element, "main"), settings, ranges)
        for holder in root.all("actuator")
        for element in holder.children
    ]


def _actuator(element: Element, settings: Settings, ranges: dict[str, tuple[float, float]]) -> Actuator:
    joint = element.text("joint", element.text("jointinparent", ""))
    gear = element.numbers("gear", None, (1.0,))[0]
    control = _limited(element, "ctrl", settings)
    inherit = element.number("inheritrange", 0.0)
    if inherit > 0.0 and joint in ranges:
        low, high = ranges[joint]
        middle, half = 0.5 * (low + high), 0.5 * (high - low) * inherit
        control = (middle - half, middle + half)
    force = _limited(element, "force", settings)
    if force is None and element.tag == "motor":
        force = control
    effort = max(abs(v) for v in force) * abs(gear) if force is not None else math.inf
    slope, offset = _rest(element, gear)
    return Actuator(joint, effort, slope, offset, control)


def _limited(element: Element, key: str, settings: Settings) -> tuple[float, float] | None:
    low, high = element.numbers(f"{key}range", 2, (0.0, 0.0))
    limited = element.text(f"{key}limited", "auto")
    if limited == "auto":
        limited = "true" if settings.automatic_limits and low < high else "false"
    return (low, high) if limited == "true" else None


def _rest(element: Element, gear: float) -> tuple[float, float]:
    """Slope and offset of the joint's value over the control, where the actuator's force is zero.

    The force is  gain * control + b0 + b1 * length,  and the length  gear * value.
    """
    if gear == 0.0:
        return 0.0, 0.0
    if element.tag in ("position", "intvelocity"):
        return 1.0 / gear, 0.0
    if element.tag != "general" or element.text("biastype", "none") != "affine":
        return 0.0, 0.0
    gain = element.numbers("gainprm", None, (_KP,))[0]
    bias = (*element.numbers("biasprm", None, (0.0,)), 0.0, 0.0)
    if not bias[1] < 0.0 or gain == 0.0:
        return 0.0, 0.0
    return gain / -bias[1] / gear, bias[0] / -bias[1] / gear
