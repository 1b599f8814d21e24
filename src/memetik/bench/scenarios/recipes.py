"""All built-in scenarios by name."""

from __future__ import annotations

from memetik.bench.scenarios import bodies, clutter, postures, streams, surfaces
from memetik.bench.scenarios.recipe import Recipe

SCENARIOS: dict[str, Recipe] = {
    "Random": Recipe("random postures' poses, no objects", postures.random),
    "RandomFar": Recipe("postures near limits, and poses at the end of the reach", postures.random_far),
    "Singular": Recipe("poses of singular postures", postures.singular),
    "Grid": Recipe("a Cartesian grid over the workspace, tool down, outwards or oblique", postures.grid),
    "Table": Recipe("on a table's top", surfaces.on_surfaces("Table")),
    "SmallTable": Recipe("on a small table's top", surfaces.on_surfaces("SmallTable")),
    "TableObjects": Recipe("on six cylinders on a small table", surfaces.on_surfaces("TableObjects")),
    "Shelf": Recipe("on all sides of a shelf's compartments", surfaces.on_surfaces("Shelf")),
    "Barrel": Recipe("on the inner walls and bottom of a hexagonal barrel", surfaces.on_surfaces("Barrel")),
    "HydrogenTank": Recipe(
        "on the inner wall of a tank, through a mouth of 7 cm", surfaces.on_surfaces("HydrogenTank")
    ),
    "HydrogenTankSmall": Recipe("the same through a mouth of 3.5 cm", surfaces.on_surfaces("HydrogenTankSmall")),
    "Corridor": Recipe("between two walls, from above", surfaces.corridor),
    "Clutter": Recipe("random postures among obstacles, level 0 to 10", clutter.clutter, "level"),
    "Track": Recipe("streams of poses, each from the posture before", streams.track),
    "FullBody": Recipe("a humanoid's goals, setup 1 to 8", bodies.full_body, "setup", bodies.body_robot),
    "Chain": Recipe("random postures of a chain of 6 to 200 joints", bodies.chain, "joints", bodies.chain_robot),
}
