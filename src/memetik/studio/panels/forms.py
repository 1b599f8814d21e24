"""Goals as forms: a text for each parameter, and back, with errors that say what is wrong."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from memetik.errors import GoalError, InvalidInputError
from memetik.files.named_values import named_values
from memetik.geometry.transforms import rpy_from_rotation, transform
from memetik.goals.base import Goal
from memetik.goals.losses import Loss
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
            what = f"{name} {part} of {type(goal).__name__}"
            poses.setdefault(name, {})[part] = numbers_of(text, what, 3)
        elif text.strip() and (label, text.strip()) != ("loss", "Square"):
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
        entry = "a number" if count == 1 else f"{count} numbers"
        raise InvalidInputError(f"{what} must be {entry}, not {text!r:.60}.")
    return numbers


def number_of(text: str, what: str, low: float = -math.inf, high: float = math.inf) -> float:
    """One number within bounds, from a text."""
    (number,) = numbers_of(text, what, 1)
    if not low <= number <= high:
        raise InvalidInputError(f"{what} must lie in {low:g} to {high:g}, not {number:g}.")
    return number


def short(values: ArrayLike) -> str:
    """Numbers as a short text."""
    return ", ".join(f"{round(float(v), 4) + 0.0:g}" for v in np.ravel(values))


def parameters_text(parameters: Mapping[str, Any]) -> str:
    """Parameters of a method as the page shows them: "population=4, islands=2"."""
    return ", ".join(
        f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in parameters.items()
    )


def parameters_from(text: str) -> dict[str, Any]:
    """Parameters of a method from such a text."""
    return {name: _value(value) for name, value in named_values(text.split(","), "a method").items()}


def _pose_lines(name: str, value: np.ndarray) -> list[Entry]:
    angles = short(np.degrees(rpy_from_rotation(value[:3, :3])))
    rotation = Entry(f"{name}.rotation", angles, hint="Roll, pitch, yaw in degrees.")
    if value.shape == (3, 3):
        return [rotation]
    return [Entry(f"{name}.position", short(value[:3, 3]), hint="x, y, z in metres."), rotation]


def _typed(name: str, text: str, goal: Goal) -> Any:
    """A parameter of a goal from a text, refused where its type cannot be right."""
    value, before = _value(text), getattr(goal, name, None)
    if name == "priority":
        if isinstance(value, bool) or not isinstance(value, int):
            raise GoalError(
                f"the priority of a goal is 0 for a hard goal or 1, 2, ... for a soft one, not {text!r:.40}."
            )
    elif isinstance(before, float) and not isinstance(value, int | float | list):
        if value not in ("inf", "-inf", "+inf"):
            raise GoalError(f"{name} of {type(goal).__name__} must be a number, not {text!r:.60}.")
    elif isinstance(before, np.ndarray) and isinstance(value, str) and len(value) > 2:
        raise GoalError(f"{name} of {type(goal).__name__} must be numbers, not {text!r:.60}.")
    return value


def _value(text: str) -> Any:
    """A text as JSON, as numbers with commas, or as it is."""
    text = text.strip()
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return json.loads(f"[{text}]") if "," in text else text
    except (ValueError, RecursionError):
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
        "priority": "0: a hard goal; 1, 2, ...: a soft goal.",
        "axis": "x, y, z, -x, -y, -z or a vector in the link's frame.",
        "relative_to": "A link in whose frame the target is stated.",
    }.get(name, "Metres or radians." if "tolerance" in name else "")
