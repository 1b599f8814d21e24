"""All built-in scenarios by name."""

from __future__ import annotations

from memetik.bench.scenarios import bodies, clutter, postures, streams, surfaces
from memetik.bench.scenarios.recipe import Recipe


def _surfaces(name: str, summary: str) -> Recipe:
    return Recipe(summary, surfaces.on_surfaces(name), options=surfaces.options_of(name))


SCENARIOS: dict[str, Recipe] = {
    "Random": Recipe("random postures' poses, no objects", postures.random),
    "RandomFar": Recipe("postures near limits, and poses at the end of the reach", postures.random_far),
    "Singular": Recipe("poses of singular postures", postures.singular),
    "Grid": Recipe("a Cartesian grid over the workspace, tool down, outwards or oblique", postures.grid),
    "Table": _surfaces("Table", "on a table's top"),
    "SmallTable": _surfaces("SmallTable", "on a small table's top"),
    "TableObjects": _surfaces("TableObjects", "on six cylinders on a small table"),
    "Shelf": _surfaces("Shelf", "on all sides of a shelf's compartments"),
    "Barrel": _surfaces("Barrel", "on the inner walls and bottom of a hexagonal barrel"),
    "HydrogenTank": _surfaces("HydrogenTank", "on the inner wall of a tank, through a mouth of 7 cm"),
    "HydrogenTankSmall": _surfaces("HydrogenTankSmall", "the same through a mouth of 3.5 cm"),
    "Corridor": Recipe("between two walls, from above", surfaces.corridor, options=surfaces.options_of("Corridor")),
    "Clutter": Recipe("random postures among obstacles, level 0 to 10", clutter.clutter, "level"),
    "Track": Recipe("streams of poses, each from the solver's own answer before", streams.track),
    "FullBody": Recipe("a humanoid's goals, setup 1 to 8", bodies.full_body, "setup", bodies.body_robot, options=()),
    "Chain": Recipe("random postures of a chain of 6 to 200 joints", bodies.chain, "joints", bodies.chain_robot),
}
