"""Which bodies MuJoCo lets touch each other: its rules for pairs, as pairs of links that are not checked.

Bodies without joints are welded to their parents. Geoms of one welded body never touch, nor those of a welded body and
its parent, unless the parent is welded to the world. Two geoms touch only where the bits of one's contype are among
the other's conaffinity. <exclude> takes a pair of bodies out; <pair> names two geoms that touch whatever else is said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from memetik.files.xml_tree import Element
from memetik.robot.notes import Notes
from memetik.robot.readers.mjcf_geoms import Geom

MAX_PAIRS = 500_000


@dataclass(frozen=True, slots=True)
class PlaneGeom:
    """A plane, which no link can be: its element with defaults filled in, and its pose in the body's frame."""

    element: Element
    origin: np.ndarray


@dataclass(slots=True)
class Body:
    """A body of the file: its parent, whether a joint moves it, and its geoms."""

    name: str
    parent: str
    moves: bool
    geoms: list[Geom] = field(default_factory=list[Geom])
    planes: list[PlaneGeom] = field(default_factory=list[PlaneGeom])

    @property
    def masks(self) -> list[tuple[int, int]]:
        """contype and conaffinity of each geom."""
        return [(geom.type_bits, geom.affinity_bits) for geom in self.geoms]


def disabled_pairs(bodies: list[Body], roots: list[Element], notes: Notes) -> tuple[tuple[str, str, str], ...]:
    """(link, link, reason) of the pairs of bodies with colliding geoms that MuJoCo does not check."""
    welded, above = _welds(bodies)
    excluded, stated = _stated_pairs(bodies, roots, notes)
    colliding = [body for body in bodies if any(geom.collides for geom in body.geoms)]
    if len(colliding) ** 2 > 2 * MAX_PAIRS:
        notes.left_out(
            f"The file has {len(colliding)} colliding bodies, too many for MuJoCo's rules of pairs to be listed.",
            "Pairs that MuJoCo leaves unchecked are checked.",
        )
        return ()
    if _flag(roots[0], "contact") == "disable":
        notes.filled_in("The file disables contacts.", "No pair of its links is checked for collision.")
        return tuple((first.name, second.name, "Disabled") for first, second in combinations(colliding, 2))
    if _flag(roots[0], "filterparent") == "disable":
        above = dict.fromkeys(above, "")
    pairs: list[tuple[str, str, str]] = []
    shares: dict[tuple[tuple[tuple[int, int], ...], ...], float] = {}  # by the bits of both: most bodies have the same
    for first, second in combinations(colliding, 2):
        a, b = welded[first.name], welded[second.name]
        key = frozenset((first.name, second.name))
        if key in stated:
            continue
        if key in excluded:
            pairs.append((first.name, second.name, "Excluded"))
        elif a == b or (above[a] == b and b != bodies[0].name) or (above[b] == a and a != bodies[0].name):
            pairs.append((first.name, second.name, "Adjacent"))
        else:
            bits = tuple(first.masks), tuple(second.masks)
            if bits not in shares:
                shares[bits] = _share_that_touches(first, second)
            if not shares[bits]:
                pairs.append((first.name, second.name, "Masked"))
            elif shares[bits] < 1.0:
                notes.filled_in(
                    f"Some geoms of bodies {first.name!r} and {second.name!r} may touch by contype and conaffinity.",
                    "All of their geoms are checked against each other.",
                )
    return tuple(pairs)


def _share_that_touches(first: Body, second: Body) -> float:
    """Of the pairs of colliding geoms of two bodies, the share whose bits let them touch."""
    matching = sum(may_touch(one, other) for one in first.geoms for other in second.geoms)
    return matching / (sum(g.collides for g in first.geoms) * sum(g.collides for g in second.geoms))


def _welds(bodies: list[Body]) -> tuple[dict[str, str], dict[str, str]]:
    """Per body the topmost body that it is welded to, and per such body the one that its parent is welded to."""
    welded: dict[str, str] = {}
    above: dict[str, str] = {}
    for body in bodies:  # parents come first
        moves = body.moves or not body.parent
        welded[body.name] = body.name if moves else welded[body.parent]
        above[body.name] = welded[body.parent] if moves and body.parent else ""
    return welded, above


def _flag(root: Element, name: str) -> str:
    """The last that the options say of a flag."""
    flags = [flag for option in root.all("option") for flag in option.all("flag") if name in flag.attributes]
    return flags[-1].text(name).lower() if flags else "enable"


def may_touch(one: Geom, other: Geom) -> bool:
    """Whether the bits of two geoms let them touch."""
    return bool(one.type_bits & other.affinity_bits or other.type_bits & one.affinity_bits)


def _stated_pairs(
    bodies: list[Body], roots: list[Element], notes: Notes
) -> tuple[set[frozenset[str]], set[frozenset[str]]]:
    """The pairs of bodies that <exclude> and <pair> name."""
    names = {body.name for body in bodies}
    owner = {geom.geometry.name: body.name for body in bodies for geom in body.geoms if geom.geometry.name}
    excluded: set[frozenset[str]] = set()
    stated: set[frozenset[str]] = set()
    for element in (child for root in roots for holder in root.all("contact") for child in holder.children):
        if element.tag == "exclude":
            pair = {element.text("body1"), element.text("body2")}
            if pair <= names:
                excluded.add(frozenset(pair))
            else:
                notes.left_out(f"{element.label} names an unknown body.", "No pair is left unchecked by it.",
                               line=element.line)  # fmt: skip
        elif element.tag == "pair":
            geoms = (element.text("geom1", ""), element.text("geom2", ""))
            stated.add(frozenset(owner[name] for name in geoms if name in owner))
    return excluded, stated
