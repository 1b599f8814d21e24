"""Targets on the surfaces of built surroundings: tables, shelf, barrel, tanks; and the corridor between two walls."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from memetik.bench.scenarios.draft import Draft, Order, pose_goal, surface_goals, tool_links
from memetik.errors import InvalidInputError, MemetikError
from memetik.scene.surroundings import SURROUNDINGS, Surroundings, allow_touch, make_surroundings


def on_surfaces(name: str) -> Callable[[Order], Draft]:
    """The recipe of the surroundings of that name; the tool may touch the inspected surface."""

    def recipe(order: Order) -> Draft:
        return surface_draft(order, _made(order, name))

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
    found = _made(order, "Corridor")
    # The first target is always the same one; it belongs to the first part only.
    poses = found.targets[: order.count] if order.part == 0 else found.targets[1:]
    goals, targets = surface_goals(order, np.ascontiguousarray(poses))
    metadata = {key: value for key, value in found.metadata.items() if key != "points"}
    return Draft(order.robot, goals, targets, found.scene, metadata=metadata)


def options_of(name: str) -> tuple[str, ...]:
    """What may be said of the surroundings of that name and of the tool in them."""
    # The small ones take what the large ones take.
    parameters = inspect.signature(
        SURROUNDINGS[{"SmallTable": "Table"}.get(name, name.removesuffix("Small"))]
    ).parameters
    return ("spin", "link", *(key for key in parameters if key not in ("count", "rng", "name")))


def _made(order: Order, name: str) -> Surroundings:
    options = {key: value for key, value in order.options.items() if key not in ("spin", "link")}
    try:
        return make_surroundings(name, count=order.count, rng=order.rng, **options)
    except MemetikError:
        raise
    except (TypeError, ValueError, IndexError) as error:
        raise InvalidInputError(f"scenario {name!r} cannot be made with the options {options}: {error}.") from None
