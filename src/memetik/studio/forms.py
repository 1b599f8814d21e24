"""Goals as forms: a text for each parameter, and back, with errors that say what is wrong."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from memetik.errors import GoalError, InvalidInputError
from memetik.goals.base import Goal
from memetik.goals.losses import Loss
from memetik.robot.rotations import rpy_from_rotation
from memetik.robot.transforms import transform
from memetik.solve.problem_file import goal_from_dict

LAST = ("weight", "priority", "name", "loss")
"""Parameters that every goal has, which come last in a form."""

_UNSHOWN = ("surface",)
_CHOICES = {"part": ("all", "translation", "rotation"), "form": ("pairs", "least")}


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a form: what it is called, its text, and the texts to choose from where there are only some.

    A pose takes two lines, `target.position` and `target.rotation`.
    """

    name: str
    text: str
    choices: tuple[str, ...] = ()
    hint: str = ""

    @property
    def label(self) -> str:
        """The name as people read it."""
        return self.name.replace("_", " ").replace(".", " ")


def form_of(goal: Goal) -> list[Entry]:
    """The parameters of a goal as lines."""
    lines: list[Entry] = []
    own = [f for f in fields(goal) if f.init and f.name not in LAST and f.name not in _UNSHOWN]
    shared = [f for name in LAST for f in fields(goal) if f.name == name]
    for f in [*sorted(own, key=lambda f: f.name != "link"), *shared]:
        value = getattr(goal, f.name)
        if isinstance(value, np.ndarray) and value.shape in ((4, 4), (3, 3)):
            lines += _pose_lines(f.name, value)
        elif f.name == "loss":
            lines.append(Entry("loss", _loss_text(goal.loss), hint='A name, or {"type": "Huber", "delta": 0.01}.'))
        else:
            lines.append(Entry(f.name, _text(_plain(value)), _CHOICES.get(f.name, ()), _hint(f.name)))
    return lines


def goal_of(goal: Goal, texts: dict[str, str]) -> Goal:
    """The goal with the parameters that a form holds."""
    data: dict[str, Any] = {"type": type(goal).__name__}
    poses: dict[str, dict[str, Any]] = {}
    for label, text in texts.items():
        name, _, part = label.partition(".")
        if part:
            poses.setdefault(name, {})[part] = numbers_of(
                text, f"{label.replace('.', ' ')} of {type(goal).__name__}", 3
            )
        elif label == "loss":
            if text.strip() and text.strip() != "Square":
                data["loss"] = _value(text)
        elif text.strip():
            data[label] = _typed(label, text, goal)
    for name, parts in poses.items():
        pose = transform(parts.get("position", (0.0, 0.0, 0.0)), rpy=np.radians(parts.get("rotation", (0.0, 0.0, 0.0))))
        data[name] = (pose if "position" in parts else pose[:3, :3]).tolist()
    if getattr(goal, "surface", None) is not None:
        data["surface"] = goal.surface  # type: ignore[attr-defined]
    return goal_from_dict(data)


def numbers_of(text: str, what: str, count: int) -> list[float]:
    """Numbers from a text such as "0.4, 0, 0.5"."""
    words = text.replace(",", " ").replace("[", " ").replace("]", " ").split()
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        numbers = []
    if len(numbers) != count or not all(math.isfinite(number) for number in numbers):
        wanted = "a number" if count == 1 else f"{count} numbers"
        raise InvalidInputError(f"{what} must be {wanted}, not {text!r:.60}.")
    return numbers


def number_of(text: str, what: str, low: float = -math.inf, high: float = math.inf) -> float:
    """One number within bounds, from a text."""
    (number,) = numbers_of(text, what, 1)
    if not low <= number <= high:
        raise InvalidInputError(f"{what} must lie in {low:g} to {high:g}, not {number:g}.")
    return number


def short(values: Any) -> str:
    """Numbers as a short text."""
    return ", ".join(f"{round(float(v), 4) + 0.0:g}" for v in np.ravel(values))


def _pose_lines(name: str, value: np.ndarray) -> list[Entry]:
    turn = Entry(
        f"{name}.rotation", short(np.degrees(rpy_from_rotation(value[:3, :3]))), hint="Roll, pitch, yaw in degrees."
    )
    if value.shape == (3, 3):
        return [turn]
    return [Entry(f"{name}.position", short(value[:3, 3]), hint="x, y, z in metres."), turn]


def _typed(name: str, text: str, goal: Goal) -> Any:
    value = _value(text)
    if name == "priority":
        if isinstance(value, bool) or not isinstance(value, int):
            raise GoalError(f"the priority of a goal is 0 for a must or 1, 2, ... for preferences, not {text!r:.40}.")
    elif isinstance(getattr(goal, name, None), float) and not isinstance(value, int | float | list):
        infinite = isinstance(value, str) and value in ("inf", "-inf", "+inf")
        if not infinite:
            raise GoalError(f"{name} of {type(goal).__name__} must be a number, not {text!r:.60}.")
    elif isinstance(getattr(goal, name, None), np.ndarray) and isinstance(value, str) and len(value) > 2:
        raise GoalError(f"{name} of {type(goal).__name__} must be numbers, not {text!r:.60}.")
    return value


def _value(text: str) -> Any:
    """A text as JSON, as numbers with commas, or as it is."""
    text = text.strip()
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return json.loads(f"[{text}]") if "," in text else text
    except ValueError:
        return text


def _text(plain: Any) -> str:
    if plain is None:
        return ""
    if isinstance(plain, str):
        return plain
    if isinstance(plain, list) and all(isinstance(v, int | float) for v in plain):
        return ", ".join(f"{round(v, 6) + 0.0:g}" if isinstance(v, float) else str(v) for v in plain)
    return json.dumps(plain)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _loss_text(loss: Loss) -> str:
    parameters = {f.name: getattr(loss, f.name) for f in fields(loss)}  # type: ignore[arg-type]
    name = type(loss).__name__
    return json.dumps({"type": name, **parameters}) if parameters else name


def _hint(name: str) -> str:
    return {
        "weight": "Multiplies the residual: orders goals of one priority.",
        "priority": "0: must hold; 1, 2, ...: preferences.",
        "axis": "x, y, z, -x, -y, -z or a vector in the link's frame.",
        "relative_to": "A link in whose frame the target is stated.",
    }.get(name, "Metres or radians." if "tolerance" in name else "")
