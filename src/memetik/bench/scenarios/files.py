"""Scenarios from files: a mesh with points and normals on it, poses, or a built-in scenario with other goals, in TOML.

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
    opening = {centre = [0.6, 0.0, 0.3], axis = [0.0, 1.0, 0.0]}   # where the tool enters: in the mesh's frame, scaled
    goals = [{type = "Pose"}, {type = "AvoidLimits"}]              # instead of the pose alone; see goal_entries.py

Instead of points, `poses` may list targets as {position, rpy} or {position, quat_xyzw}. Or `scenario` names a built-in
scenario that gives targets and surroundings, with its own `options`; then only robot, goals, spin and link may be
said beside it. All else may be left out. Paths are relative to the file.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from memetik.bench.run.shape_distance import is_inside
from memetik.bench.scenarios.goal_entries import GOALS
from memetik.bench.scenarios.target_draft import Order, Recipe, TargetDraft, pose_goal, surface_goals, tool_links
from memetik.errors import InvalidInputError, UnknownNameError
from memetik.files.schema import Table, read_table
from memetik.geometry.mesh_files import load_mesh, load_oriented_points
from memetik.geometry.shapes import TriangleMesh
from memetik.geometry.surface_points import surface_frames
from memetik.geometry.transforms import read_pose
from memetik.scene.scene import Scene

SCHEMA = "memetik.scenario/1"

HUGE = 50.0
"""Metres from which on a mesh is taken to be in another unit, and a remark made."""

MOST_FACING, FACING_STEP = 200, 1e-3
"""Targets whose normals are looked at, and how far from the surface, as a share of the mesh's size."""

_KEYS = ("schema", "robot", "mesh", "pose", "targets", "poses", "scene", "scale", "spin", "standoff", "link", "touch",
         "opening", "goals", "scenario", "options")  # fmt: skip

_KEYS_OVER = ("schema", "robot", "scenario", "options", "goals", "spin", "link")
"""What may be said beside the name of a built-in scenario."""


def file_recipe(path: str) -> Recipe:
    """The recipe in a scenario's file (.toml), for a scene of MotionBenchMaker (.yaml) or a motion (.csv)."""
    if not Path(path).is_file():
        raise InvalidInputError(f"there is no scenario file {path!r}.")
    if Path(path).suffix.lower() == ".csv":
        from memetik.bench.scenarios.motion_file import motion_recipe

        return motion_recipe(path)
    if Path(path).suffix.lower() != ".toml":
        from memetik.bench.scenarios.motion_bench import motion_bench_recipe

        return motion_bench_recipe(path)
    table = _read(path)
    if "scenario" in table:
        return _restated(path, table)
    return Recipe(
        f"targets of {path}",
        lambda order: _draft(order, table, Path(path)),
        default=table.optional(table.text, "robot"),
        options=("spin", "link"),
        preset=_own_options(table),
    )


def _restated(path: str, table: Table) -> Recipe:
    """A built-in scenario with other goals."""
    from memetik.bench.scenarios.build import find_recipe

    name = table.text("scenario")
    own = {**_own_options(table), **table.table("options").data}
    with table.naming_errors():
        recipe, options = find_recipe(name, own)
    robot = recipe.robot and recipe.robot(options.get(recipe.argument or ""))
    return Recipe(
        f"{name} with the goals of {path}", recipe.make, robot=(lambda _: robot) if robot else None,
        default=table.optional(table.text, "robot") or recipe.default, options=recipe.options, drawn_as=name,
        preset=options,
    )  # fmt: skip


def _own_options(table: Table) -> dict[str, Any]:
    """What a file says that an option may say otherwise."""
    own: dict[str, Any] = {key: table.text(key) for key in ("spin", "link") if key in table}
    return own | ({GOALS: [dict(entry.data) for entry in table.tables(GOALS)]} if GOALS in table else {})


def _read(path: str) -> Table:
    """The file's entries, their kinds checked before anything is drawn."""
    table = read_table(path, "the scenario", "toml").schema(SCHEMA).known(*_KEYS)
    if "scenario" in table:
        return table.known(*_KEYS_OVER)
    if ("targets" in table) == ("poses" in table):
        raise table.error("either 'targets', a file of points, or 'poses' is needed, or 'scenario', a built-in one.")
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
    goals, targets = surface_goals(order, np.ascontiguousarray(poses[chosen]))
    scene = Scene.load(path.parent / table.text("scene")) if "scene" in table else Scene()
    metadata: dict[str, Any] = {"surfaces": ("mesh",) if "mesh" in table else (), "file": str(path)}
    if "mesh" in table:
        mesh = load_mesh(path.parent / table.text("mesh"), scale=table.optional(table.number, "scale"))
        metadata["remarks"] = size_remarks(mesh.vertices, table.text("mesh"), f"scale = 0.001 in {path.name}")
        metadata["remarks"] += _facing_remarks(mesh, table, path)
        scene.add_mesh("mesh", mesh, place)
        for link in _touching(order, table, path):
            scene.allow(link, "mesh")
    if "opening" in table:
        metadata["opening"] = _opening(table.table("opening"), table.number("scale", 1.0), place)
    return TargetDraft(order.robot, goals, targets, scene if len(scene.names) else None, metadata=metadata)


def _opening(table: Table, scale: float, place: np.ndarray) -> dict[str, np.ndarray]:
    """Middle and axis of an opening in the world."""
    table.known("centre", "axis")
    axis = np.array(table.numbers("axis", 3))
    if not np.linalg.norm(axis) > 0.0:
        raise table.error("axis is the direction in which the tool enters, not zero.", "axis")
    centre = scale * place[:3, :3] @ table.numbers("centre", 3) + place[:3, 3]
    return {"centre": centre, "axis": place[:3, :3] @ (axis / np.linalg.norm(axis))}


def size_remarks(vertices: np.ndarray, name: str, remedy: str) -> list[str]:
    """A remark where a mesh is so large that its unit is hardly the metre."""
    size = float(np.ptp(vertices, axis=0).max()) if len(vertices) else 0.0
    if size <= HUGE:
        return []
    return [f"the mesh {name!r} is {size:.4g} m large; if it is in millimetres, say {remedy}."]


def _facing_remarks(mesh: TriangleMesh, table: Table, path: Path) -> list[str]:
    """A remark where normals of targets point into the solid: a tool cannot come from there."""
    if "targets" not in table:
        return []
    scale = table.number("scale", 1.0)
    points, normals = load_oriented_points(path.parent / table.text("targets"))
    looked = np.linspace(0, len(points) - 1, min(len(points), MOST_FACING)).astype(int)
    triangles = mesh.vertices[mesh.faces]
    step = FACING_STEP * float(np.ptp(mesh.vertices, axis=0).max())
    inwards = sum(is_inside(triangles, scale * points[k] + step * normals[k]) for k in looked)
    if not inwards:
        return []
    return [
        f"the normals of {inwards} of {len(looked)} targets point into the solid of {table.text('mesh')!r}, from where "
        "no tool comes; turn them around, or draw targets anew with memetik bench sample --side."
    ]


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
