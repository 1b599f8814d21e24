"""Scenes of MotionBenchMaker and MoveIt in YAML: collision objects of a planning scene, and targets from its requests.

A file sceneNNNN.yaml may have a requestNNNN.yaml beside it; its start and goal configurations give the first targets,
random collision-free configurations the others.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from memetik.bench.scenarios.target_draft import Order, Recipe, TargetDraft, free_configurations, pose_goal
from memetik.errors import GeometryError, UnknownNameError
from memetik.files.schema import Table, read_table
from memetik.geometry.shapes import TriangleMesh
from memetik.geometry.transforms import transform
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene

_PRIMITIVES = {1: "box", 2: "sphere", 3: "cylinder", 4: "cone"}
"""Numbers that moveit_msgs gives to primitives."""


def motion_bench_recipe(path: str) -> Recipe:
    """The recipe for a scene's YAML file."""
    return Recipe(f"the scene {path}", lambda order: _draft(order, Path(path)))


def load_yaml_scene(path: str | Path) -> Scene:
    """The collision objects of a planning scene in YAML."""
    data = read_table(path, "the planning scene", "yaml", error=GeometryError)
    objects = (data.table("world") if "world" in data else data).tables("collision_objects")
    if not objects:
        raise data.error("there are no collision objects: 'world: collision_objects: [...]' is read.")
    scene = Scene()
    for entry in objects:
        if "id" not in entry:
            raise entry.error("'id' is needed, a name.")
        name = str(entry.data["id"])
        _add(scene, name, entry.called(f"object {name!r}"), Path(path).parent)
    return scene


def _draft(order: Order, path: Path) -> TargetDraft:
    goal, scene = pose_goal(order), load_yaml_scene(path)
    asked = np.zeros((0, order.robot.dof))
    request = path.with_name(path.name.replace("scene", "request"))
    if order.part == 0 and request != path and request.is_file():
        asked = _configurations(order.robot, read_table(request, "the planning request", "yaml"), request.name)
    q = np.concatenate([asked, free_configurations(order, scene, max(order.count - len(asked), 0))])[: order.count]
    return TargetDraft(
        order.robot, (goal,), (order.robot.pose(goal.link, q),), scene, known_solutions=q,
        metadata={"file": str(path), "requests": len(asked)},
    )  # fmt: skip


def _configurations(robot: Robot, request: Table, file: str) -> np.ndarray:
    """Goal and start of a motion plan request, (M, dof)."""
    found = [
        {entry.text("joint_name"): entry.number("position") for entry in goal.tables("joint_constraints")}
        for goal in request.tables("goal_constraints")
    ]
    start = request.table("start_state").table("joint_state")
    names, values = start.texts("name", ()), start.numbers("position", default=())
    if len(names) != len(values) and names:
        raise start.error(f"there are {len(names)} names and {len(values)} positions.")
    found.append(dict(zip(names, values, strict=False)))
    for name in (name for joints in found for name in joints):
        if name not in robot.joint_names:
            raise UnknownNameError("joint", name, f"robot {robot.name!r}, of which {file} speaks", robot.joint_names)
    return np.array([robot.q(joints) for joints in found if joints]).reshape(-1, robot.dof)


def _add(scene: Scene, name: str, entry: Table, folder: Path) -> None:
    whole = _pose(entry.table("pose"))
    if entry.listed("planes"):
        raise entry.error("planes are not read.", "planes")
    shapes = []
    for kind, places, add in (("primitives", "primitive_poses", _add_primitive), ("meshes", "mesh_poses", _add_mesh)):
        things, poses = entry.tables(kind), [whole @ _pose(pose) for pose in entry.tables(places)]
        shapes += [(add, *pair) for pair in itertools.zip_longest(things, poses[: len(things)], fillvalue=whole)]
    if not shapes:
        raise entry.error("it has neither primitives nor meshes.")
    for k, (add, thing, pose) in enumerate(shapes):
        label = name if len(shapes) == 1 else f"{name}_{k + 1}"
        add(scene, label, thing.called(f"object {label!r}"), pose, folder)


def _add_primitive(scene: Scene, name: str, thing: Table, pose: np.ndarray, _folder: Path) -> None:
    kind = thing.data.get("type")
    kind = _PRIMITIVES.get(kind, kind) if isinstance(kind, int) else str(kind).lower()
    sizes = thing.numbers("dimensions", default=())
    needed = {"box": 3, "sphere": 1, "cylinder": 2, "cone": 2}
    if kind not in needed or len(sizes) != needed[kind]:
        raise thing.error(f"it is a {kind!r} with {len(sizes)} dimensions; {needed} are read.")
    with thing.naming_errors():
        if kind == "box":
            scene.add_box(name, sizes, pose)
        elif kind == "sphere":
            scene.add_sphere(name, sizes[0], pose)
        elif kind == "cylinder":
            scene.add_cylinder(name, sizes[1], sizes[0], pose)
        else:
            scene.add_cone(name, sizes[1], sizes[0], pose)


def _add_mesh(scene: Scene, name: str, thing: Table, pose: np.ndarray, folder: Path) -> None:
    if "resource" in thing:
        source = thing.text("resource").removeprefix("file://")
        if source.startswith("package://"):
            raise thing.error(f"it is in a ROS package ({source}), which is not found here.")
        scene.add_mesh(name, folder / source, pose, scale=thing.numbers("dimensions", default=()) or 1.0)
        return
    try:
        vertices = np.array(thing.data["vertices"], dtype=float).reshape(-1, 3)
        corners = [t["vertex_indices"] if isinstance(t, dict) else t for t in thing.data["triangles"]]
        faces = np.array(corners, dtype=np.int64).reshape(-1, 3)
    except (KeyError, TypeError, ValueError):
        raise thing.error("a mesh needs vertices and triangles.") from None
    if not len(faces) or not np.isfinite(vertices).all() or faces.min() < 0 or faces.max() >= len(vertices):
        raise thing.error("its mesh has no sound triangles.")
    scene.add_mesh(name, TriangleMesh(vertices, faces, name), pose)


def _pose(table: Table) -> np.ndarray:
    """position [x, y, z] or {x, y, z}, orientation [x, y, z, w] or {x, y, z, w}."""
    position, orientation = _components(table, "position", "xyz"), _components(table, "orientation", "xyzw")
    with table.naming_errors():
        return transform(position or (0.0, 0.0, 0.0), quat_xyzw=orientation or (0.0, 0.0, 0.0, 1.0))


def _components(table: Table, key: str, names: str) -> list[float]:
    if isinstance(table.data.get(key), Mapping):
        return [table.table(key).number(name, 0.0) for name in names]
    return table.numbers(key, default=())
