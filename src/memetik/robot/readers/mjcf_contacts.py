"""Which bodies MuJoCo lets touch each other: its rules for pairs, as pairs of links that are not checked.

Bodies without joints are welded to their parents. Geoms of one welded body never touch, nor those of a welded body and
its parent, unless the parent is welded to the world. Two geoms touch only where the bits of one's contype are among
the other's conaffinity. <exclude> takes a pair of bodies out; <pair> names two geoms that touch whatever else is said.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import combinations

from memetik.files.xml_tree import Element
from memetik.robot.notes import Notes
from memetik.robot.readers.mjcf_geoms import Geom

MAX_PAIRS = 500_000


@dataclass(slots=True)
class Body:
    """A body of the file: its parent, whether a joint moves it, and its geoms."""

    name: str
    parent: str
    moves: bool
    geoms: list[Geom] = field(default_factory=list)


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
    pairs: list[tuple[str, str, str]] = []
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
            matching = sum(_match(one, other) for one in first.geoms for other in second.geoms)
            if not matching:
                pairs.append((first.name, second.name, "Masked"))
            elif matching < sum(g.collides for g in first.geoms) * sum(g.collides for g in second.geoms):
                notes.filled_in(
                    f"Some geoms of bodies {first.name!r} and {second.name!r} may touch by contype and conaffinity.",
                    "All of their geoms are checked against each other.",
                )
    return tuple(pairs)


def _welds(bodies: list[Body]) -> tuple[dict[str, str], dict[str, str]]:
    """Per body the topmost body that it is welded to, and per such body the one that its parent is welded to."""
    welded: dict[str, str] = {}
    above: dict[str, str] = defaultdict(str)
    for body in bodies:  # parents come first
        moves = body.moves or not body.parent
        welded[body.name] = body.name if moves else welded[body.parent]
        if moves and body.parent:
            above[body.name] = welded[body.parent]
    return welded, above


def _match(one: Geom, other: Geom) -> bool:
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
