"""Scenarios from files: a mesh with a cloud of points and normals on it, or poses, stated in a TOML file.

    schema = "memetik.scenario/1"
    robot = "elise"              # where none is named on the command line
    mesh = "part.ply"            # a mesh file: what is inspected and must not be hit
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
from pathlib import Path
from typing import Any

import numpy as np

from memetik.bench.scenarios.target_draft import Order, Recipe, TargetDraft, pose_goal, surface_goals, tool_links
from memetik.errors import InvalidInputError, UnknownNameError
from memetik.files.schema import Table, read_table
from memetik.geometry.mesh_files import load_mesh, load_oriented_points
from memetik.geometry.surface_points import surface_frames
from memetik.geometry.transforms import read_pose
from memetik.scene.scene import Scene

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
    table = _read(path)
    return Recipe(
        f"targets of {path}",
        lambda order: _draft(order, table, Path(path)),
        default=table.optional(table.text, "robot"),
        options=("spin", "link"),
    )


def _read(path: str) -> Table:
    """The file's entries, their kinds checked before anything is drawn."""
    table = read_table(path, "the scenario", "toml").schema(SCHEMA).known(*_KEYS)
    if ("targets" in table) == ("poses" in table):
        raise table.error("either 'targets', a file of points, or 'poses' is needed.")
    for key in ("robot", "mesh", "targets", "scene", "spin", "link"):
        table.optional(table.text, key)
    table.optional(table.positive, "scale")
    if not math.isfinite(table.number("standoff", 0.0)):
        raise table.error("standoff must be finite.", "standoff")
    if not isinstance(table.data.get("touch", True), bool | list):
        raise table.error('touch is true, false or a list of links, such as ["tip"].', "touch")
    return table


def _draft(order: Order, table: Table, path: Path) -> TargetDraft:
    place = _pose(table.table("pose"))
    poses = _target_poses(table, path, place)
    # As many as are wanted, spread over the file; all of them in the file's own order.
    chosen = np.random.default_rng((order.seed, 5)).permutation(len(poses))[order.drawn : order.drawn + order.count]
    if order.drawn == 0 and order.count >= len(poses):
        chosen = np.sort(chosen)
    own = {key: table.text(key) for key in ("spin", "link") if key in table}
    order = order.with_options({**own, **order.options})
    goals, targets = surface_goals(order, np.ascontiguousarray(poses[chosen]))
    scene = Scene.load(path.parent / table.text("scene")) if "scene" in table else Scene()
    metadata: dict[str, Any] = {"surfaces": ("mesh",) if "mesh" in table else (), "file": str(path)}
    if "mesh" in table:
        mesh = load_mesh(path.parent / table.text("mesh"), scale=table.optional(table.number, "scale"))
        metadata["remarks"] = size_remarks(mesh.vertices, table.text("mesh"), f"scale = 0.001 in {path.name}")
        scene.add_mesh("mesh", mesh, place)
        for link in _touching(order, table, path):
            scene.allow(link, "mesh")
    return TargetDraft(order.robot, goals, targets, scene if len(scene.names) else None, metadata=metadata)


def size_remarks(vertices: np.ndarray, name: str, remedy: str) -> list[str]:
    """A remark where a mesh is so large that its unit is hardly the metre."""
    size = float(np.ptp(vertices, axis=0).max()) if len(vertices) else 0.0
    if size <= HUGE:
        return []
    return [f"the mesh {name!r} is {size:.4g} m large; if it is in millimetres, say {remedy}."]


def _target_poses(table: Table, path: Path, place: np.ndarray) -> np.ndarray:
    if "poses" in table:
        entries = table.tables("poses")
        if not entries:
            raise table.error("poses is a list of {position, rpy} or {position, quat_xyzw}.", "poses")
        return np.array([place @ _pose(entry) for entry in entries])
    points, normals = load_oriented_points(path.parent / table.text("targets"))
    points = table.number("scale", 1.0) * points @ place[:3, :3].T + place[:3, 3]
    normals = normals @ place[:3, :3].T
    return surface_frames(points + table.number("standoff", 0.0) * normals, normals)


def _pose(table: Table) -> np.ndarray:
    with table.naming_errors():
        return read_pose(table.known("position", "rpy", "quat_xyzw"))


def _touching(order: Order, table: Table, path: Path) -> tuple[str, ...]:
    if isinstance(table.data.get("touch", True), bool):
        return tool_links(order.robot, pose_goal(order).link) if table.flag("touch", True) else ()
    names = table.texts("touch")
    for name in names:
        if name not in order.robot.links:
            raise UnknownNameError(
                "link", name, f"robot {order.robot.name!r}, as 'touch' of {path.name} has it", order.robot.links
            )
    return names
