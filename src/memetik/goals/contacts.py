"""How near a robot is to its scene and to itself: Clearance, Penetration, CollisionDistance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal

import numpy as np

from memetik.errors import GoalError, UnknownNameError
from memetik.goals.base import PREFER, Goal, Kind, put
from memetik.goals.checks import as_positive
from memetik.goals.compiler import Compiler
from memetik.goals.losses import Groove, Loss
from memetik.goals.pose import DEFAULT_TOLERANCE

_OBJECT_KEYS = 1e6  # kObjectKeys in native/problem.h


class _Form(IntEnum):
    """What is made of the clearances, in the order of ContactForm in native/problem.h."""

    MARGIN = 0
    DEPTH = 1
    PAIRS = 2
    LEAST = 3


@dataclass(frozen=True, eq=False, repr=False)
class ContactGoal(Goal):
    """A goal on the clearances c between the robot's links, and between them and the objects of the problem's scene.

    Clearances are those of the fast collision model in its conservative setting: never larger than the real ones, and
    less by a few millimetres at most where links are covered by spheres. A problem with such a goal needs a scene, or
    self_collision=True.

    links  names of links: only contacts that one of them takes part in count. By default all.
    pairs  pairs of names, a link and another link or an object of the scene: only contacts between these count, or also
           these, where links are given.
    """

    links: Any = field(default=(), kw_only=True)
    pairs: Any = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        put(self, links=_names(self.links, self), pairs=_pairs(self.pairs, self))

    def default_name(self) -> str:
        return type(self).__name__.lower()

    def _add(self, compiler: Compiler, form: _Form, scale: float, reach: float, **options: Any) -> None:
        if compiler.confinement is None:
            raise GoalError(
                f"{type(self).__name__} speaks of contacts with a scene: give the problem an mk.Scene as scene=, or "
                "self_collision=True."
            )
        robot = compiler.robot
        wanted = [(_link(compiler, name), -1.0) for name in self.links]
        for first, second in self.pairs:
            if first not in robot.links:
                first, second = second, first
            wanted.append((_link(compiler, first), _partner(compiler, second)))
        moving = {robot.links[int(number)] for pair in wanted for number in pair if 0.0 <= number < _OBJECT_KEYS}
        moved = np.any([robot.moves(link) for link in moving or robot.links], axis=0)
        data = [float(form), scale, reach, len(wanted), *(number for pair in wanted for number in pair)]
        compiler.term(Kind.CONTACTS, data, rows=1, entries=[int(k) for k in np.flatnonzero(moved)], **options)


@dataclass(frozen=True, eq=False, repr=False)
class Clearance(ContactGoal):
    """The robot keeps a clearance from its scene and from itself.

    r = sqrt(sum of max(0, margin - c)^2 over all contacts); the error is margin - c of the nearest. A preference unless
    priority=0 is given.

    margin     metres.
    tolerance  metres.
    """

    margin: float
    priority: int = field(default=PREFER, kw_only=True)
    tolerance: float = field(default=DEFAULT_TOLERANCE, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        put(self, margin=as_positive(self.margin, "the margin of Clearance"))
        put(self, tolerance=as_positive(self.tolerance, "the tolerance of Clearance"))

    def compile(self, compiler: Compiler) -> None:
        scale = self.margin + self.tolerance
        self._add(compiler, _Form.MARGIN, scale, scale, label="clearance", unit="m", tolerance=self.tolerance)


@dataclass(frozen=True, eq=False, repr=False)
class Penetration(ContactGoal):
    """No link is inside anything: neither an object of the scene nor another link.

    r = max(0, -c) of the deepest contact: with weight = 1 / eps it costs 1 at a depth of eps.

    tolerance  metres: contacts nearer than it count, so that within it nothing overlaps.
    """

    tolerance: float = field(default=DEFAULT_TOLERANCE, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        put(self, tolerance=as_positive(self.tolerance, "the tolerance of Penetration"))

    def compile(self, compiler: Compiler) -> None:
        self._add(
            compiler, _Form.DEPTH, self.tolerance, self.tolerance, label="depth", unit="m", tolerance=self.tolerance
        )


@dataclass(frozen=True, eq=False, repr=False)
class CollisionDistance(ContactGoal):
    """The robot is pushed away from what it is near to, the more the nearer it is. A preference by default.

    form="pairs": r = sum over pairs of (scale / c)^2, c the least clearance between a group of neighbouring bodies of a
    link and an object or another group; below a tenth of the scale 1 / c goes on as a straight line.
    form="least": r = (2 scale / (scale + c))^2 of the nearest, 1 at c = scale.
    Both count what is nearer than `reach`, less their value there, so that r rises from zero; r has no unit.

    scale      metres.
    reach      metres; by default ten times the scale.
    tolerance  of r.
    loss       by default a Groove.
    """

    scale: float = 0.02
    reach: float | None = None
    form: Literal["pairs", "least"] = field(default="pairs", kw_only=True)
    priority: int = field(default=PREFER, kw_only=True)
    tolerance: float = field(default=1e-3, kw_only=True)
    loss: Loss = field(default=Groove(), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        put(self, scale=as_positive(self.scale, "the scale of CollisionDistance"))
        put(self, tolerance=as_positive(self.tolerance, "the tolerance of CollisionDistance"))
        if self.reach is not None:
            put(self, reach=as_positive(self.reach, "the reach of CollisionDistance"))
        if self.form not in ("pairs", "least"):
            raise GoalError(f"the form of CollisionDistance is 'pairs' or 'least', not {self.form!r}.")

    def compile(self, compiler: Compiler) -> None:
        form = _Form.PAIRS if self.form == "pairs" else _Form.LEAST
        reach = 10.0 * self.scale if self.reach is None else self.reach
        self._add(compiler, form, self.scale, reach, label="nearness", unit="", tolerance=self.tolerance)


def _link(compiler: Compiler, name: str) -> float:
    links = compiler.robot.links
    if name not in links:
        raise UnknownNameError("link", name, f"robot {compiler.robot.name!r}", links)
    return float(links.index(name))


def _partner(compiler: Compiler, name: str) -> float:
    """A link's number, or what the core knows an object by."""
    from memetik.scene.fast import object_key

    links, scene = compiler.robot.links, compiler.confinement.scene
    if name in links:
        return float(links.index(name))
    objects = [] if scene is None else list(scene.snapshot().objects)
    if name not in objects:
        raise UnknownNameError(
            "link or object", name, f"robot {compiler.robot.name!r} or its scene", [*links, *objects]
        )
    return _OBJECT_KEYS + object_key(name)


def _names(given: Any, goal: Goal) -> tuple[str, ...]:
    if given is None:
        return ()
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(name, str) for name in names):
        raise GoalError(f"the links of {type(goal).__name__} are names of links, not {given!r}.")
    return names


def _pairs(given: Any, goal: Goal) -> tuple[tuple[str, str], ...]:
    pairs = () if given is None else tuple(given)
    for pair in pairs:
        if (
            isinstance(pair, str)
            or not isinstance(pair, Sequence)
            or len(pair) != 2
            or not all(isinstance(n, str) for n in pair)
        ):
            raise GoalError(f"the pairs of {type(goal).__name__} are pairs of two names, not {pair!r}.")
    return tuple((pair[0], pair[1]) for pair in pairs)
