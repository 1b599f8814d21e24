"""MJCF's <connect> and <weld>: links held together beside the tree."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping

import numpy as np

from memetik.files.xml_tree import Element
from memetik.geometry.transforms import frozen, inverse, pose, rotation_from_quaternion
from memetik.robot.description import Loop
from memetik.robot.notes import Notes

WORLD = "world"


def read_loops(
    roots: list[Element],
    placed: Mapping[str, np.ndarray],
    sites: Mapping[str, tuple[str, np.ndarray]],
    driven: Collection[str],
    notes: Notes,
) -> Iterator[Loop]:
    """The loops of a file.

    placed: the pose of each body as the file draws it. sites: each site's body and its pose there.
    driven: bodies that a simulation's user moves (mocap): what is welded to them is dragged, not closed.
    """
    for element in (child for root in roots for holder in root.all("equality") for child in holder.children):
        if element.tag not in ("connect", "weld") or not element.flag("active", True):
            continue
        ends = _ends(element, placed, sites, notes)
        if ends is None:
            continue
        first, second, first_pose, second_pose = ends
        if first in driven or second in driven:
            notes.left_out(
                f"{element.label} ties {first!r} and {second!r}, one of which is a mocap body.",
                "Nothing is tied: a goal takes the mocap body's place.",
                line=element.line,
            )
            continue
        name = element.text("name", "") or f"{element.tag} {first} {second}"
        # Without torque a weld holds positions alone.
        point = element.tag == "connect" or element.number("torquescale", 1.0) == 0.0
        yield Loop(name, "point" if point else "frame", first, second, frozen(first_pose), frozen(second_pose))


def _ends(
    element: Element,
    placed: Mapping[str, np.ndarray],
    sites: Mapping[str, tuple[str, np.ndarray]],
    notes: Notes,
) -> tuple[str, str, np.ndarray, np.ndarray] | None:
    def unknown(what: str) -> None:
        notes.left_out(
            f"{element.label} names {what}.",
            "What it ties together moves freely.",
            line=element.line,
            code="lost-constraint",
        )

    if "site1" in element.attributes:
        names = element.text("site1"), element.text("site2")
        if not all(name in sites for name in names):
            return unknown("an unknown site")
        (first, first_pose), (second, second_pose) = (sites[name] for name in names)
        return first, second, first_pose, second_pose
    first, second = element.text("body1"), element.text("body2", WORLD)
    if first not in placed or second not in placed:
        return unknown("an unknown body")
    relative = inverse(placed[first]) @ placed[second]
    if element.tag == "connect":
        at = np.array(pose(None, element.numbers("anchor", 3)))
        return first, second, at, inverse(relative) @ at
    given = element.numbers("relpose", 7, (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    length = math.sqrt(sum(v * v for v in given[3:]))
    if length > 0.0:
        w, x, y, z = (v / length for v in given[3:])
        relative = np.array(pose(rotation_from_quaternion(w, x, y, z), given[:3]))
    # The point at which positions are held lies in the second body.
    anchor = np.array(pose(None, element.numbers("anchor", 3, (0.0, 0.0, 0.0))))
    return first, second, relative @ anchor, anchor
