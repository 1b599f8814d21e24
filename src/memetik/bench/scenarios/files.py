"""Scenarios from files: a mesh with a cloud of points and normals on it, or poses, stated in a TOML file.

    schema = "memetik.scenario/1"
    robot = "elise"              # where none is named on the command line
    mesh = "part.ply"            # PLY, STL, OBJ, GLB, DAE: what is inspected and must not be hit
    pose = {position = [0.6, 0.0, 0.3], rpy = [0.0, 0.0, 0.0]}   # of the mesh and the targets in the world
    targets = "part.pcd"         # points with normals: PCD (ascii, binary) or PLY; the tool's z axis against the normal
    scene = "cell.toml"          # further obstacles
    spin = "fixed"               # or "free": the turn about the tool's z axis is left open
    standoff = 0.0               # metres before the surface
    link = "tip"                 # instead of the robot's tip
    touch = true                 # whether the tool may touch the mesh, or the names of links that may

Instead of points, `poses` may list targets as {position, rpy} or {position, quat_xyzw}. All but targets or poses may be
left out. Paths are relative to the file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from memetik.bench.scenarios.draft import Draft, Order, pose_goal, surface_goals, tool_links
from memetik.bench.scenarios.recipe import Recipe
from memetik.errors import InvalidInputError, suggest
from memetik.robot.transforms import transform
from memetik.scene.mesh_files import load_mesh, load_oriented_points
from memetik.scene.scene import Scene
from memetik.scene.surroundings import surface_frames

SCHEMA = "memetik.scenario/1"

_KEYS = ("schema", "robot", "mesh", "pose", "targets", "poses", "scene", "spin", "standoff", "link", "touch")


def file_recipe(path: str) -> Recipe:
    """The recipe in a scenario's file (.toml), or for a scene of MotionBenchMaker (.yaml)."""
    if not Path(path).is_file():
        raise InvalidInputError(f"there is no scenario file {path!r}.")
    if Path(path).suffix.lower() != ".toml":
        from memetik.bench.scenarios.motion_bench import motion_bench_recipe

        return motion_bench_recipe(path)
    data = _read(path)
    return Recipe(f"targets of {path}", lambda order: _draft(order, data, Path(path)), default=data.get("robot"))


def _read(path: str) -> dict[str, Any]:
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInputError(f"the scenario {path!r} cannot be read: {error}.") from None
    if data.get("schema") != SCHEMA:
        raise InvalidInputError(f"the scenario {path!r} must have schema = {SCHEMA!r}, not {data.get('schema')!r}.")
    for key in data:
        if key not in _KEYS:
            raise InvalidInputError(
                f"the scenario {path!r} has an entry {key!r} that is unknown; {suggest(key, _KEYS)}"
            )
    if ("targets" in data) == ("poses" in data):
        raise InvalidInputError(f"the scenario {path!r} needs either 'targets', a file of points, or 'poses'.")
    return data


def _draft(order: Order, data: Mapping[str, Any], path: Path) -> Draft:
    place = _pose(data.get("pose", {}), "pose")
    poses = _target_poses(data, path.parent, place, float(data.get("standoff", 0.0)))
    # As many as are wanted, spread over the file; all of them in the file's own order.
    chosen = np.random.default_rng((order.seed, 5)).permutation(len(poses))[order.drawn : order.drawn + order.count]
    if order.drawn == 0 and order.count >= len(poses):
        chosen = np.sort(chosen)
    own = {key: data[key] for key in ("spin", "link") if key in data}
    order = order.with_options({**own, **order.options})
    goals, targets = surface_goals(order, np.ascontiguousarray(poses[chosen]))
    scene = Scene.load(path.parent / data["scene"]) if "scene" in data else Scene()
    if "mesh" in data:
        mesh = load_mesh(path.parent / data["mesh"])
        scene.add_mesh("mesh", mesh, place)
        for link in _touching(order, data.get("touch", True)):
            scene.allow(link, "mesh")
    metadata = {"surfaces": ("mesh",) if "mesh" in data else (), "file": str(path)}
    return Draft(order.robot, goals, targets, scene if len(scene.names) else None, metadata=metadata)


def _target_poses(data: Mapping[str, Any], folder: Path, place: np.ndarray, standoff: float) -> np.ndarray:
    if "poses" in data:
        if not isinstance(data["poses"], list) or not data["poses"]:
            raise InvalidInputError("'poses' of a scenario is a list of {position, rpy} or {position, quat_xyzw}.")
        return np.array([place @ _pose(entry, "an entry of 'poses'") for entry in data["poses"]])
    points, normals = load_oriented_points(folder / str(data["targets"]))
    points = points @ place[:3, :3].T + place[:3, 3]
    normals = normals @ place[:3, :3].T
    return surface_frames(points + standoff * normals, normals)


def _pose(entry: Any, what: str) -> np.ndarray:
    known = ("position", "rpy", "quat_xyzw")
    if not isinstance(entry, Mapping) or any(key not in known for key in entry):
        raise InvalidInputError(f"{what} of a scenario has {', '.join(known)}, not {entry!r:.80}.")
    turn = {key: entry[key] for key in ("rpy", "quat_xyzw") if key in entry}
    return transform(entry.get("position", (0.0, 0.0, 0.0)), **turn)


def _touching(order: Order, touch: Any) -> tuple[str, ...]:
    if touch is True:
        return tool_links(order.robot, pose_goal(order).link)
    return () if touch is False else tuple(touch)
