"""Spheres that stand for the links of a robot, from files of other programs.

- cuRobo: `collision_spheres: {link: [{center: [x, y, z], radius: r}, ...]}`, at the top or below
  `robot_cfg: kinematics:`. Where `collision_spheres` names another file, that one is the one to give.
- XRDF (Isaac): `geometry: {name: {spheres: {link: [...]}}}`; `collision: geometry:` chooses the name.
- A URDF whose links are spheres (foam, spherised descriptions).

Metres, in the frames of the links.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from memetik.errors import DescriptionError
from memetik.files.schema import Table, as_table, parse_table
from memetik.geometry.shapes import Sphere
from memetik.geometry.transforms import transform
from memetik.robot.description import Description, Geometry

MAX_BYTES = 20_000_000

Spheres = dict[str, tuple[Geometry, ...]]


def read_spheres(given: str | os.PathLike[str] | Mapping[str, Any]) -> Spheres:
    """The spheres of each link, from a file of cuRobo, an XRDF, or the mapping that such a file holds."""
    if isinstance(given, Mapping):
        return _spheres(as_table(given, "the spheres", error=DescriptionError, form="yaml"))
    path = os.fspath(given)
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(MAX_BYTES + 1)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise DescriptionError(f"the spheres {path!r} cannot be read: {error}.") from None
    if len(text) > MAX_BYTES:
        raise DescriptionError(f"the spheres {path!r} are longer than {MAX_BYTES} characters.")
    return _spheres(parse_table(text, "yaml", f"the spheres {path!r}", error=DescriptionError))


def spheres_of(description: Description) -> Spheres:
    """The spheres among the collision shapes of a description: those of a spherised URDF."""
    own = {link.name: tuple(g for g in link.collisions if isinstance(g.shape, Sphere)) for link in description.links}
    found = {name: spheres for name, spheres in own.items() if spheres}
    if not found:
        raise DescriptionError(f"no link of {description.name!r} has a sphere among its collision shapes.")
    return found


def _spheres(table: Table) -> Spheres:
    by_link = _by_link(table)
    found = {link: tuple(_sphere(entry) for entry in by_link.tables(link)) for link in by_link}
    found = {link: spheres for link, spheres in found.items() if spheres}
    if not found:
        raise table.error("states no spheres.")
    return found


def _by_link(table: Table) -> Table:
    if "robot_cfg" in table:
        table = table.table("robot_cfg")
    if "kinematics" in table:
        table = table.table("kinematics")
    if "collision_spheres" in table:
        return table.table("collision_spheres")
    if "geometry" not in table:
        raise table.error("has neither collision_spheres (cuRobo) nor geometry (XRDF).")
    geometry = table.table("geometry")
    chosen = table.table("collision").text("geometry", "") if "collision" in table else ""
    if not chosen:
        if len(geometry) != 1:
            raise table.error(f"has several geometries ({', '.join(geometry)}); collision: geometry: chooses one.")
        chosen = next(iter(geometry))
    return geometry.table(chosen).table("spheres")


def _sphere(entry: Table) -> Geometry:
    return Geometry(Sphere(entry.positive("radius")), transform(entry.numbers("center", 3)))
