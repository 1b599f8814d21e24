"""Targets on the surfaces of built surroundings: tables, shelf, barrel, tanks; and the corridor between two walls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from memetik.bench.scenarios.draft import Draft, Order, pose_goal, surface_goals, tool_links
from memetik.scene.surroundings import Surroundings, allow_touch, make_surroundings


def on_surfaces(name: str) -> Callable[[Order], Draft]:
    """The recipe of the surroundings of that name; the tool may touch the inspected surface."""

    def recipe(order: Order) -> Draft:
        options = {key: value for key, value in order.options.items() if key not in ("spin", "link")}
        found = make_surroundings(name, count=order.count, rng=order.rng, **options)
        return surface_draft(order, found)

    recipe.__doc__ = f"The surroundings {name!r}."
    return recipe


def surface_draft(order: Order, found: Surroundings) -> Draft:
    """Targets of surroundings, for the robot's tool; `straight` is a posture with the tool's own joints at zero."""
    poses = found.targets[: order.count]
    goals, targets = surface_goals(order, poses)
    link = pose_goal(order).link
    scene = allow_touch(found, tool_links(order.robot, link))
    metadata: dict[str, Any] = {key: value for key, value in found.metadata.items() if key not in ("points", "normals")}
    return Draft(order.robot, goals, targets, scene, metadata=metadata)


def corridor(order: Order) -> Draft:
    """Between two walls, the tool reaching in from above with a random yaw."""
    options = {key: value for key, value in order.options.items() if key not in ("spin", "link")}
    found = make_surroundings("Corridor", count=order.count, rng=order.rng, **options)
    # The first target is always the same one; it belongs to the first part only.
    poses = found.targets[: order.count] if order.part == 0 else found.targets[1:]
    goals, targets = surface_goals(order, np.ascontiguousarray(poses))
    metadata = {key: value for key, value in found.metadata.items() if key != "points"}
    return Draft(order.robot, goals, targets, found.scene, metadata=metadata)
