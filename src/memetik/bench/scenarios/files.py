"""Scenarios from files: a mesh with a cloud of points and normals on it, or poses, stated in a TOML file.

    schema = "memetik.scenario/1"
    robot = "elise"              # where none is named on the command line
    mesh = "part.ply"            # PLY, STL, OBJ, GLB, DAE: what is inspected and must not be hit
    pose = {position = [0.6, 0.0, 0.3], rpy = [0.0, 0.0, 0.0]}   # of the mesh and the targets in the world
    targets = "part.pcd"         # points with normals: PCD (ascii, binary) or PLY; the tool's z axis against the normal
    scene = "cell.toml"          # further obstacles
    scale = 0.001                # of mesh and targets: their unit in metres
    spin = "fixed"               # or "free": the turn about the tool's z axis is left open
    standoff = 0.0               # metres before the surface
    link = "tip"                 # instead of the robot's tip
    touch = true                 # whether the tool may touch the mesh, or the names of links that may

Instead of points, `poses` may list targets as {position, rpy} or {position, quat_xyzw}. All but targets or poses may be
left out. Paths are relative to the file.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from memetik.bench.scenarios.draft import Draft, Order, pose_goal, surface_goals, tool_links
from memetik.bench.scenarios.recipe import Recipe
from memetik.errors import InvalidInputError, UnknownNameError, suggest
from memetik.robot.transforms import transform
from memetik.scene.mesh_files import load_mesh, load_oriented_points
from memetik.scene.scene import Scene
from memetik.scene.surroundings import surface_frames

SCHEMA = "memetik.scenario/1"

HUGE = 50.0
"""Metres from which on a mesh is taken to be in another unit, and a remark made."""

_KEYS = ("schema", "robot", "mesh", "pose", "targets", "poses", "scene", "scale", "spin", "standoff", "link", "touch")


def file_recipe(path: str) -> Recipe:
    """The recipe in a scenario's file (.toml), or for a scene of MotionBenchMaker (.yaml)."""
    if not Path(path).is_file():
        raise InvalidInputError(f"there is no scenario file {path!r}.")
    if Path(path).suffix.lower() != ".toml":
        from memetik.bench.scenarios.motion_bench import motion_bench_recipe

        return motion_bench_recipe(path)
    data = _read(path)
    return Recipe(
        f"targets of {path}",
        lambda order: _draft(order, data, Path(path)),
        default=data.get("robot"),
        options=("spin", "link"),
    )


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
    for key in ("robot", "mesh", "targets", "scene", "spin", "link"):
        if not isinstance(data.get(key, ""), str):
            raise InvalidInputError(f"{key!r} of the scenario {path!r} is a text, not {data[key]!r}.")
    for key, least in (("scale", 0.0), ("standoff", -math.inf)):
        value = data.get(key, 1.0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not least < value < math.inf:
            above = " above zero" if least == 0.0 else ""
            raise InvalidInputError(f"{key!r} of the scenario {path!r} is a number{above}, not {value!r}.")
    touch = data.get("touch", True)
    if not isinstance(touch, bool) and not (isinstance(touch, list) and all(isinstance(name, str) for name in touch)):
        raise InvalidInputError(
            f"'touch' of the scenario {path!r} is true, false or a list of links, such as [\"tip\"], not {touch!r}."
        )
    return data


def _draft(order: Order, data: Mapping[str, Any], path: Path) -> Draft:
    place = _pose(data.get("pose", {}), "'pose'", path)
    poses = _target_poses(data, path, place)
    # As many as are wanted, spread over the file; all of them in the file's own order.
    chosen = np.random.default_rng((order.seed, 5)).permutation(len(poses))[order.drawn : order.drawn + order.count]
    if order.drawn == 0 and order.count >= len(poses):
        chosen = np.sort(chosen)
    own = {key: data[key] for key in ("spin", "link") if key in data}
    order = order.with_options({**own, **order.options})
    goals, targets = surface_goals(order, np.ascontiguousarray(poses[chosen]))
    scene = Scene.load(path.parent / data["scene"]) if "scene" in data else Scene()
    metadata: dict[str, Any] = {"surfaces": ("mesh",) if "mesh" in data else (), "file": str(path)}
    if "mesh" in data:
        mesh = load_mesh(path.parent / data["mesh"], scale=data.get("scale"))
        metadata["remarks"] = size_remarks(mesh.vertices, data["mesh"], f"scale = 0.001 in {path.name}")
        scene.add_mesh("mesh", mesh, place)
        for link in _touching(order, data.get("touch", True), path):
            scene.allow(link, "mesh")
    return Draft(order.robot, goals, targets, scene if len(scene.names) else None, metadata=metadata)


def size_remarks(vertices: np.ndarray, name: str, remedy: str) -> list[str]:
    """A remark where a mesh is so large that its unit is hardly the metre."""
    size = float(np.ptp(vertices, axis=0).max()) if len(vertices) else 0.0
    if size <= HUGE:
        return []
    return [f"the mesh {name!r} is {size:.4g} m large; if it is in millimetres, say {remedy}."]


def _target_poses(data: Mapping[str, Any], path: Path, place: np.ndarray) -> np.ndarray:
    if "poses" in data:
        if not isinstance(data["poses"], list) or not data["poses"]:
            raise InvalidInputError(
                f"'poses' of the scenario {str(path)!r} is a list of {{position, rpy}} or {{position, quat_xyzw}}."
            )
        return np.array([place @ _pose(entry, "an entry of 'poses'", path) for entry in data["poses"]])
    points, normals = load_oriented_points(path.parent / data["targets"])
    points = float(data.get("scale", 1.0)) * points @ place[:3, :3].T + place[:3, 3]
    normals = normals @ place[:3, :3].T
    return surface_frames(points + float(data.get("standoff", 0.0)) * normals, normals)


def _pose(entry: Any, what: str, path: Path) -> np.ndarray:
    known = ("position", "rpy", "quat_xyzw")
    if not isinstance(entry, Mapping) or any(key not in known for key in entry):
        raise InvalidInputError(f"{what} of the scenario {str(path)!r} has {', '.join(known)}, not {entry!r:.80}.")
    turn = {key: entry[key] for key in ("rpy", "quat_xyzw") if key in entry}
    try:
        return transform(entry.get("position", (0.0, 0.0, 0.0)), **turn)
    except InvalidInputError as error:
        raise InvalidInputError(f"{what} of the scenario {str(path)!r} is no pose: {error}") from None


def _touching(order: Order, touch: Any, path: Path) -> tuple[str, ...]:
    if isinstance(touch, bool):
        return tool_links(order.robot, pose_goal(order).link) if touch else ()
    for name in touch:
        if name not in order.robot.links:
            raise UnknownNameError(
                "link", name, f"robot {order.robot.name!r}, as 'touch' of {path.name} has it", order.robot.links
            )
    return tuple(touch)
