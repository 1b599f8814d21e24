"""The frames of an SDF model: links, joints, frames and nested models by name, each at a pose in the model.

A <pose> is x y z and roll pitch yaw (or a quaternion), relative to the frame that `relative_to` names. Without it,
links, frames and nested models are relative to the model, joints to their child, attached frames to what they are
attached to.
"""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass, field

import numpy as np

from memetik.errors import DescriptionError, suggest
from memetik.files.xml_tree import MAX_MAGNITUDE, Element
from memetik.geometry.transforms import inverse, pose, rotation_from_quaternion, rotation_from_rpy

MODEL, WORLD = "__model__", "world"
MAX_FRAMES = 20_000


def text_of(element: Element | None, default: str = "") -> str:
    """The text inside an element."""
    return "".join(element.content).strip() if element is not None else default


def child_text(element: Element, tag: str, default: str = "") -> str:
    """The text of a child."""
    return text_of(element.first(tag)) or default


def numbers_of(
    element: Element | None, count: int | None, default: tuple[float, ...] | None = None
) -> tuple[float, ...]:
    """The finite numbers inside an element."""
    words = text_of(element).split()
    if not words and default is not None:
        return default
    if element is None:
        raise DescriptionError("the SDF lacks numbers that are needed.")
    try:
        values = tuple(float(word) for word in words)
    except ValueError:
        raise element.error(f"{element.label} holds {' '.join(words)[:60]!r}; numbers are needed.") from None
    if (count is not None and len(values) != count) or not all(abs(value) <= MAX_MAGNITUDE for value in values):
        needed = f"{count} finite numbers" if count is not None else "finite numbers"
        raise element.error(f"{element.label} holds {' '.join(words)[:60]!r}; {needed} are needed.")
    return values


def number_of(element: Element, tag: str, default: float) -> float:
    """The number inside a child."""
    return numbers_of(element.first(tag), 1, (default,))[0]


def limit_of(element: Element, tag: str, default: float) -> float:
    """The number inside a child; infinite where it is as large as files write for none."""
    text = child_text(element, tag)
    if not text:
        return default
    if text.lower().lstrip("+-") in ("inf", "infinity"):
        return -math.inf if text.startswith("-") else math.inf
    try:
        value = float(text)
    except ValueError:
        raise element.error(f"<{tag}> (line {element.line}) holds {text[:60]!r}; a number is needed.") from None
    if math.isnan(value):
        raise element.error(f"<{tag}> (line {element.line}) is not a number.")
    return math.copysign(math.inf, value) if abs(value) >= 1e9 else value


def raw_pose(element: Element | None) -> np.ndarray:
    """The pose that a <pose> states, whatever it is relative to."""
    if element is None:
        return np.eye(4)
    if element.text("rotation_format", "euler_rpy") == "quat_xyzw":
        x, y, z, *quaternion = numbers_of(element, 7, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0))
        length = math.sqrt(sum(v * v for v in quaternion))
        if length < 1e-9:
            raise element.error(f"{element.label} has a quaternion of length zero.")
        a, b, c, w = (v / length for v in quaternion)
        return np.array(pose(rotation_from_quaternion(w, a, b, c), (x, y, z)))
    x, y, z, roll, pitch, yaw = numbers_of(element, 6, (0.0,) * 6)
    if element.flag("degrees"):
        roll, pitch, yaw = math.radians(roll), math.radians(pitch), math.radians(yaw)
    return np.array(pose(rotation_from_rpy(roll, pitch, yaw), (x, y, z)))


@dataclass
class FrameGraph:
    """The frames of one model, nested ones included with names such as "gripper::palm"."""

    raw: dict[str, tuple[str, np.ndarray]] = field(default_factory=dict[str, tuple[str, np.ndarray]])
    """Per frame: what it is relative to, and its pose there."""
    attached: dict[str, str] = field(default_factory=dict[str, str])
    """Per frame that is no link: what it moves with."""
    _poses: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])

    def add(self, element: Element, name: str, relative_to: str, *, prefix: str = "") -> None:
        """A frame at the element's <pose>, relative to `relative_to` unless the pose says otherwise."""
        if name in self.raw:
            raise element.error(
                f"{element.label}: the SDF has two frames named {name!r} in one model.", "duplicate-link"
            )
        if len(self.raw) >= MAX_FRAMES:
            raise element.error(f"the SDF has more than {MAX_FRAMES} frames.")
        stated = element.first("pose")
        base = stated.text("relative_to", "") if stated is not None else ""
        self.raw[name] = (prefix + base if base else relative_to, raw_pose(stated))

    def pose(self, name: str) -> np.ndarray:
        """The pose of a frame in the outermost model."""
        chain: list[str] = []
        while name not in self._poses:
            if name == MODEL:
                self._poses[MODEL] = np.eye(4)
                break
            if name in chain:
                raise DescriptionError(f"the frames of the SDF are relative to each other in a cycle: {name!r}.")
            if name not in self.raw:
                raise DescriptionError(f"a pose of the SDF is relative to {name!r}; {suggest(name, list(self.raw))}")
            chain.append(name)
            name = self.raw[name][0]
        for own in reversed(chain):
            base, local = self.raw[own]
            self._poses[own] = self._poses[base] @ local
        return self._poses[chain[0] if chain else name]

    def place(self, element: Element | None, default: str, *, prefix: str = "") -> np.ndarray:
        """The pose of a <pose> in the outermost model, relative to `default` unless it says otherwise."""
        base = element.text("relative_to", "") if element is not None else ""
        return self.pose(prefix + base if base else default) @ raw_pose(element)

    def body(self, name: str, links: Container[str]) -> str | None:
        """The link that a frame moves with, whatever its pose is relative to; None where it moves with none."""
        seen: set[str] = set()
        while name not in links:
            if name in seen or name not in self.attached:
                return None
            seen.add(name)
            name = self.attached[name]
        return name

    def shift(self, prefix: str, offset: np.ndarray) -> None:
        """Moves a nested model, so that another of its frames is where its pose says."""
        base, local = self.raw[prefix]
        self.raw[prefix] = (base, local @ inverse(offset))
        self._poses.clear()
