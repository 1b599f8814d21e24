"""All built-in scenarios by name."""

from __future__ import annotations

from dataclasses import fields

from memetik.bench.scenarios import bodies, configurations
from memetik.bench.scenarios.surroundings import SURROUNDINGS, allow_touch, make_surroundings
from memetik.bench.scenarios.target_draft import Order, Recipe, TargetDraft, pose_goal, surface_goals, tool_links
from memetik.errors import InvalidInputError, MemetikError


def _surfaces(name: str, summary: str) -> Recipe:
    """Targets on the surfaces of the surroundings of that name, which the tool may touch."""

    def draft(order: Order) -> TargetDraft:
        options = {key: value for key, value in order.options.items() if key not in ("spin", "link", "goals")}
        try:
            found = make_surroundings(name, count=order.count, rng=order.rng, **options)
        except MemetikError:
            raise
        except (TypeError, ValueError, IndexError) as error:
            raise InvalidInputError(f"scenario {name!r} cannot be made with the options {options}: {error}.") from None
        # The corridor's first target is always the same one; it belongs to the first part only.
        first = 1 if name == "Corridor" and order.part else 0
        goals, targets = surface_goals(order, found.targets[first : first + order.count])
        scene = allow_touch(found, tool_links(order.robot, pose_goal(order).link))
        metadata = {key: value for key, value in found.metadata.items() if key not in ("points", "normals")}
        return TargetDraft(order.robot, goals, targets, scene, metadata=metadata)

    own = [f.name for f in fields(SURROUNDINGS[name]) if f.name not in ("count", "rng")]
    return Recipe(summary, draft, options=("spin", "link", *own))


SCENARIOS: dict[str, Recipe] = {
    "Random": Recipe("random configurations' poses, no objects", configurations.random),
    "RandomFar": Recipe("configurations near limits, and poses at the end of the reach", configurations.random_far),
    "Singular": Recipe("poses of singular configurations", configurations.singular),
    "Grid": Recipe("a Cartesian grid over the workspace, tool down, outwards or oblique", configurations.grid),
    "Table": _surfaces("Table", "on a table's top"),
    "SmallTable": _surfaces("SmallTable", "on a small table's top"),
    "TableObjects": _surfaces("TableObjects", "on six cylinders on a small table"),
    "Shelf": _surfaces("Shelf", "on all sides of a shelf's compartments"),
    "Barrel": _surfaces("Barrel", "on the inner walls and bottom of a hexagonal barrel"),
    "HydrogenTank": _surfaces("HydrogenTank", "on the inner wall of a tank, through a mouth of 7 cm"),
    "HydrogenTankSmall": _surfaces("HydrogenTankSmall", "the same through a mouth of 3.5 cm"),
    "Corridor": _surfaces("Corridor", "between two walls, from above"),
    "Clutter": Recipe("random configurations among obstacles, level 0 to 10", configurations.clutter, "level"),
    "Track": Recipe("streams of poses, each from the solver's own answer before", configurations.track),
    "FullBody": Recipe("a humanoid's goals, setup 1 to 8", bodies.full_body, "setup", bodies.body_robot, options=()),
    "Chain": Recipe("random configurations of a chain of 6 to 200 joints", bodies.chain, "joints", bodies.chain_robot),
}
