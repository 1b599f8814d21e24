"""Motion capture in BVH files: the skeleton becomes a robot, its frames postures; edited postures go back to a file.

Each channel is a joint of one axis, in the order of the file: with offset o and channels c1 c2 ..., a node's frame in
its parent's is T(o) C1 C2 ..., where Ck slides along or turns about an axis. Positions are multiplied by `scale` (many
files are in centimetres), angles are degrees in the file and radians here. Nodes without channels and end sites are
fixed links.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import ArrayLike

from memetik.errors import DescriptionError, InvalidInputError
from memetik.files.atomic import write_whole
from memetik.robot.robot import Robot, load_robot

CHANNELS = {f"{axis}{kind}": (kind, k) for kind in ("position", "rotation") for k, axis in enumerate("XYZ")}
MOST_BYTES = 256 * 2**20
ROOT = "world"


@dataclass
class BvhNode:
    """A joint of the skeleton: where it is in its parent, what moves it, and its children."""

    name: str
    offset: tuple[float, float, float]
    channels: list[str] = field(default_factory=list[str])
    children: list[BvhNode] = field(default_factory=lambda: list[BvhNode]())
    end: bool = False

    def walk(self) -> Iterator[BvhNode]:
        """This node and all below it, in the order of the file."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class Animation:
    """A skeleton with postures (frames, dof), `frame_time` seconds apart."""

    robot: Robot
    postures: np.ndarray
    frame_time: float
    skeleton: BvhNode
    scale: float

    def save(self, path: str | os.PathLike[str], postures: ArrayLike | None = None) -> None:
        """Writes the skeleton with these postures, by default its own, as a BVH file."""
        values = np.asarray(self.postures if postures is None else postures, dtype=float)
        if values.ndim != 2 or values.shape[1] != self.robot.dof or not np.isfinite(values).all():
            raise InvalidInputError(
                f"postures of this skeleton have shape (N, {self.robot.dof}) and are finite, not {values.shape}."
            )
        lines = ["HIERARCHY", *_hierarchy(self.skeleton, 0, self.scale), "MOTION", f"Frames: {len(values)}"]
        lines.append(f"Frame Time: {self.frame_time:.8g}")
        factors = np.array([_factor(channel, self.scale) for _, channel in _columns(self.skeleton)])
        lines += [" ".join(f"{value:.6f}" for value in row) for row in values / factors]
        write_whole(path, "\n".join(lines) + "\n")


def load_bvh(path: str | os.PathLike[str], scale: float = 0.01) -> Animation:
    """Reads a BVH file. `scale`: metres of its unit of length."""
    path = Path(path)
    if not (math.isfinite(scale) and scale > 0.0):
        raise InvalidInputError(
            f"scale is the length of the file's unit in metres and must be positive, not {scale!r}."
        )
    try:
        if path.stat().st_size > MOST_BYTES:
            raise DescriptionError(f"{path} has more than {MOST_BYTES // 2**20} MB.")
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise DescriptionError(f"{path} cannot be read: {error.strerror}.") from None
    reader = _Reader(text.split(), path.name)
    skeleton = reader.hierarchy(scale)
    frame_time, values = reader.motion(len(_columns(skeleton)))
    factors = np.array([_factor(channel, scale) for _, channel in _columns(skeleton)])
    return Animation(load_robot(_urdf(skeleton, path.stem)), values * factors, frame_time, skeleton, scale)


class _Reader:
    """The words of a file, one after the other."""

    def __init__(self, words: list[str], name: str):
        self.words, self.name, self.at = words, name, 0
        self.names: set[str] = {ROOT}

    def next(self, expected: str = "") -> str:
        if self.at >= len(self.words):
            raise DescriptionError(f"{self.name} ends where {expected or 'more'} is expected.")
        word = self.words[self.at]
        if expected and word.upper() != expected.upper():
            raise DescriptionError(f"{self.name} has {word!r} where {expected!r} is expected (word {self.at + 1}).")
        self.at += 1
        return word

    def number(self) -> float:
        word = self.next()
        try:
            value = float(word)
        except ValueError:
            raise DescriptionError(f"{self.name} has {word!r} where a number is expected (word {self.at}).") from None
        if not math.isfinite(value):
            raise DescriptionError(f"{self.name} has the number {word}, which is not finite.")
        return value

    def hierarchy(self, scale: float) -> BvhNode:
        self.next("HIERARCHY")
        self.next("ROOT")
        return self.node(self.next(), scale, 0)

    def node(self, name: str, scale: float, depth: int) -> BvhNode:
        if depth > 200:
            raise DescriptionError(f"{self.name} has a skeleton of more than 200 joints in a row.")
        if name in self.names:
            raise DescriptionError(f"{self.name} has two nodes named {name!r}.")
        self.names.add(name)
        self.next("{")
        self.next("OFFSET")
        node = BvhNode(name, (scale * self.number(), scale * self.number(), scale * self.number()))
        while (word := self.next()) != "}":
            match word.upper():
                case "CHANNELS":
                    for _ in range(int(self.number())):
                        channel = self.next()
                        if channel not in CHANNELS or channel in node.channels:
                            raise DescriptionError(
                                f"{self.name}: node {name!r} has a channel {channel!r}; each of "
                                f"{', '.join(CHANNELS)} may stand there once."
                            )
                        node.channels.append(channel)
                case "JOINT":
                    node.children.append(self.node(self.next(), scale, depth + 1))
                case "END":
                    self.next("Site")
                    child = self.node(f"{name}_end{len(node.children) or ''}", scale, depth + 1)
                    child.end = True
                    node.children.append(child)
                case _:
                    raise DescriptionError(f"{self.name}: {word!r} is not known inside node {name!r}.")
        return node

    def motion(self, columns: int) -> tuple[float, np.ndarray]:
        self.next("MOTION")
        self.next("Frames:")
        count = self.number()
        self.next("Frame")
        self.next("Time:")
        frame_time = self.number()
        if not frame_time > 0.0:
            raise DescriptionError(f"{self.name} has the frame time {frame_time:g}; it must be positive.")
        rest = self.words[self.at :]
        if count != int(count) or len(rest) != count * columns:
            raise DescriptionError(
                f"{self.name} says {count:g} frames of {columns} numbers, but {len(rest)} numbers follow."
            )
        try:
            values = np.array(rest, dtype=float).reshape(int(count), columns)
        except ValueError:
            raise DescriptionError(f"{self.name} has a word among the frames that is not a number.") from None
        if not np.isfinite(values).all():
            raise DescriptionError(f"{self.name} has a number among the frames that is not finite.")
        return frame_time, values


def _columns(skeleton: BvhNode) -> list[tuple[BvhNode, str]]:
    """The numbers of a frame: node and channel of each."""
    return [(node, channel) for node in skeleton.walk() for channel in node.channels]


def _factor(channel: str, scale: float) -> float:
    return scale if CHANNELS[channel][0] == "position" else math.pi / 180.0


def _urdf(skeleton: BvhNode, name: str) -> str:
    lines = [f"<robot name={quoteattr(name)}>", f'<link name="{ROOT}"/>']
    bones = {node.name: "".join(_bone(child.offset) for child in node.children) for node in skeleton.walk()}

    def add(
        kind: str, joint: str, parent: str, child: str, offset: tuple[float, float, float], axis: int | None
    ) -> None:
        place = " ".join(repr(float(x)) for x in offset)
        lines.append(f"<link name={quoteattr(child)}>{bones.get(child, '')}</link>")
        lines.append(f"<joint name={quoteattr(joint)} type='{kind}'><parent link={quoteattr(parent)}/>")
        lines.append(f"<child link={quoteattr(child)}/><origin xyz='{place}'/>")
        if axis is not None:
            lines.append(f"<axis xyz='{' '.join('1' if k == axis else '0' for k in range(3))}'/>")
            if kind == "prismatic":
                lines.append("<limit lower='-1000' upper='1000' velocity='10' effort='0'/>")
        lines.append("</joint>")

    def grow(node: BvhNode, parent: str) -> None:
        offset: tuple[float, float, float] = node.offset
        if not node.channels:
            add("fixed", f"{node.name}_fixed", parent, node.name, offset, None)
        for k, channel in enumerate(node.channels):
            kind, axis = CHANNELS[channel]
            child = node.name if k == len(node.channels) - 1 else f"{node.name}_{channel}_link"
            add(
                "prismatic" if kind == "position" else "continuous",
                f"{node.name}_{channel}",
                parent,
                child,
                offset,
                axis,
            )
            parent, offset = child, (0.0, 0.0, 0.0)
        for child in node.children:
            grow(child, node.name)

    grow(skeleton, ROOT)
    return "\n".join([*lines, "</robot>"])


def _bone(offset: tuple[float, float, float]) -> str:
    """What is seen of a node: a thin rod to a child."""
    x, y, z = offset
    length = math.sqrt(x * x + y * y + z * z)
    if length < 1e-6:
        return ""
    rpy = f"0 {math.acos(z / length)!r} {math.atan2(y, x)!r}"
    shape = f"<capsule radius='{0.1 * length!r}' length='{0.8 * length!r}'/>"
    return f"<visual><origin xyz='{x / 2!r} {y / 2!r} {z / 2!r}' rpy='{rpy}'/><geometry>{shape}</geometry></visual>"


def _hierarchy(node: BvhNode, depth: int, scale: float) -> Iterator[str]:
    indent = "  " * depth
    yield indent + ("End Site" if node.end else f"{'ROOT' if depth == 0 else 'JOINT'} {node.name}")
    yield indent + "{"
    yield f"{indent}  OFFSET " + " ".join(f"{x / scale:.6f}" for x in node.offset)
    if not node.end:
        yield f"{indent}  CHANNELS {len(node.channels)} {' '.join(node.channels)}".rstrip()
    for child in node.children:
        yield from _hierarchy(child, depth + 1, scale)
    yield indent + "}"
