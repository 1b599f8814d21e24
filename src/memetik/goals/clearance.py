"""How near a robot is to its scene and to itself: Clearance, NoPenetration, CollisionDistance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from memetik._core import OBJECT_KEYS, ContactForm, TermKind
from memetik.errors import GoalError, UnknownNameError
from memetik.goals.arguments import as_positive
from memetik.goals.base import SOFT, FieldChecks, Goal
from memetik.goals.compiler import GoalCompiler
from memetik.goals.losses import Groove, Loss
from memetik.goals.pose import DEFAULT_TOLERANCE


def _names(given: str | Iterable[str] | None, name: str) -> tuple[str, ...]:
    if given is None:
        return ()
    names = (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not all(isinstance(each, str) for each in names):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GoalError(f"{name} are names of links, not {given!r}.")
    return names


def _pairs(given: Iterable[Sequence[str]] | None, name: str) -> tuple[tuple[str, str], ...]:
    pairs = () if given is None else tuple(given)
    for pair in pairs:
        is_pair = isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2  # pyright: ignore[reportUnnecessaryIsInstance]
        if not is_pair or not all(isinstance(each, str) for each in pair):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GoalError(f"{name} are pairs of two names, not {pair!r}.")
    return tuple((pair[0], pair[1]) for pair in pairs)


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

    links: str | Sequence[str] = field(default=(), kw_only=True)  # pyright: ignore[reportIncompatibleMethodOverride]
    pairs: Sequence[tuple[str, str]] = field(default=(), kw_only=True)
    tolerance: float = field(default=DEFAULT_TOLERANCE, kw_only=True)
    field_checks: ClassVar[FieldChecks] = {"links": _names, "pairs": _pairs, "tolerance": as_positive}

    def default_name(self) -> str:
        return self.stored_name.lower()

    def _add(
        self, compiler: GoalCompiler, form: ContactForm, scale: float, reach: float, measure: tuple[str, str]
    ) -> None:
        if compiler.collision_context is None:
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
        moving = {robot.links[int(number)] for pair in wanted for number in pair if 0.0 <= number < OBJECT_KEYS}
        moved = np.any([robot.moves(link) for link in moving or robot.links], axis=0)
        data = [float(form), scale, reach, len(wanted), *(number for pair in wanted for number in pair)]
        entries = np.flatnonzero(moved).tolist()
        compiler.term(TermKind.contacts, data, measure=measure, tolerance=self.tolerance, entries=entries)


@dataclass(frozen=True, eq=False, repr=False)
class Clearance(ContactGoal):
    """The robot keeps a clearance from its scene and from itself.

    r = sqrt(sum of max(0, margin - c)^2 over all contacts); the error is margin - c of the nearest. A soft goal unless
    priority=0 is given.

    margin     metres.
    tolerance  metres.
    """

    margin: float
    priority: int = field(default=SOFT, kw_only=True)
    field_checks: ClassVar[FieldChecks] = {"margin": as_positive}

    def compile(self, compiler: GoalCompiler) -> None:
        scale = self.margin + self.tolerance
        self._add(compiler, ContactForm.margin, scale, scale, ("clearance", "m"))


@dataclass(frozen=True, eq=False, repr=False)
class NoPenetration(ContactGoal):
    """No link is inside anything: neither an object of the scene nor another link.

    r = max(0, -c) of the deepest contact: with weight = 1 / eps it costs 1 at a depth of eps.

    tolerance  metres: contacts nearer than it count, so that within it nothing overlaps.
    """

    stored_name: ClassVar[str] = "Penetration"

    def compile(self, compiler: GoalCompiler) -> None:
        self._add(compiler, ContactForm.depth, self.tolerance, self.tolerance, ("depth", "m"))


@dataclass(frozen=True, eq=False, repr=False)
class CollisionDistance(ContactGoal):
    """The robot is pushed away from what it is near to, the more the nearer it is. A soft goal by default.

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
    priority: int = field(default=SOFT, kw_only=True)
    tolerance: float = field(default=1e-3, kw_only=True)
    loss: Loss = field(default=Groove(), kw_only=True)
    field_checks: ClassVar[FieldChecks] = {"scale": as_positive, "reach": as_positive}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.form not in ("pairs", "least"):
            raise GoalError(f"the form of CollisionDistance is 'pairs' or 'least', not {self.form!r}.")

    def compile(self, compiler: GoalCompiler) -> None:
        form = ContactForm[self.form]
        reach = 10.0 * self.scale if self.reach is None else self.reach
        self._add(compiler, form, self.scale, reach, ("nearness", ""))


def _link(compiler: GoalCompiler, name: str) -> float:
    links = compiler.robot.links
    if name not in links:
        raise UnknownNameError("link", name, f"robot {compiler.robot.name!r}", links)
    return float(links.index(name))


def _partner(compiler: GoalCompiler, name: str) -> float:
    """A link's number, or what the core knows an object by."""
    from memetik.collision.fast import object_key

    links, context = compiler.robot.links, compiler.collision_context
    scene = None if context is None else context.scene
    if name in links:
        return float(links.index(name))
    objects = [] if scene is None else list(scene.snapshot().objects)
    if name not in objects:
        raise UnknownNameError(
            "link or object", name, f"robot {compiler.robot.name!r} or its scene", [*links, *objects]
        )
    return OBJECT_KEYS + object_key(name)
