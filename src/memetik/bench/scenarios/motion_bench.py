"""Scenes of MotionBenchMaker and MoveIt in YAML: collision objects of a planning scene, and targets from its requests.

A file sceneNNNN.yaml may have a requestNNNN.yaml beside it; its start and goal postures give the first targets, random
postures free of collision the others.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from memetik.bench.scenarios.draft import Draft, Order, free_postures, pose_goal
from memetik.bench.scenarios.recipe import Recipe
from memetik.errors import GeometryError, InvalidInputError, UnknownNameError
from memetik.robot.robot import Robot
from memetik.robot.transforms import transform
from memetik.scene.objects import TriangleMesh
from memetik.scene.scene import Scene

_PRIMITIVES = {1: "box", 2: "sphere", 3: "cylinder", 4: "cone"}
"""Numbers that moveit_msgs gives to primitives."""


def motion_bench_recipe(path: str) -> Recipe:
    """The recipe for a scene's YAML file."""
    return Recipe(f"the scene {path}", lambda order: _draft(order, Path(path)))


def load_yaml_scene(path: str | Path) -> Scene:
    """The collision objects of a planning scene in YAML."""
    data = _yaml(Path(path))
    world = data.get("world", data)
    objects = world.get("collision_objects", []) if isinstance(world, dict) else None
    if not isinstance(objects, list) or not objects:
        raise GeometryError(f"{str(path)!r} has no collision objects: 'world: collision_objects: [...]' is read.")
    scene = Scene()
    for entry in objects:
        _add(scene, entry, Path(path))
    return scene


def _draft(order: Order, path: Path) -> Draft:
    goal, scene = pose_goal(order), load_yaml_scene(path)
    asked = np.zeros((0, order.robot.dof))
    request = path.with_name(path.name.replace("scene", "request"))
    if order.part == 0 and request != path and request.is_file():
        asked = _postures(order.robot, _yaml(request), request)
    postures = np.concatenate([asked, free_postures(order, scene, max(order.count - len(asked), 0))])[: order.count]
    return Draft(
        order.robot, (goal,), (order.robot.pose(goal.link, postures),), scene, witnesses=postures,
        metadata={"file": str(path), "requests": len(asked)},
    )  # fmt: skip


def _postures(robot: Robot, request: dict[str, Any], path: Path) -> np.ndarray:
    """Goal and start of a motion plan request, (M, dof)."""
    found = []
    for goal in request.get("goal_constraints") or []:
        joints = {c["joint_name"]: float(c["position"]) for c in goal.get("joint_constraints") or []}
        if joints:
            found.append(joints)
    start = (request.get("start_state") or {}).get("joint_state") or {}
    if start.get("name"):
        found.append(dict(zip(start["name"], map(float, start["position"]), strict=True)))
    for joints in found:
        for name in joints:
            if name not in robot.joint_names:
                raise UnknownNameError(
                    "joint", name, f"robot {robot.name!r}, of which {path.name} speaks", robot.joint_names
                )
    return np.array([robot.q(joints) for joints in found]).reshape(-1, robot.dof)


def _add(scene: Scene, entry: dict[str, Any], path: Path) -> None:
    if not isinstance(entry, dict) or "id" not in entry:
        raise GeometryError(f"a collision object of {path.name} has no 'id'.")
    name = str(entry["id"])
    whole = _pose(entry.get("pose"))
    shapes = []
    for kind in ("primitives", "meshes", "planes"):
        things, poses = entry.get(kind) or [], entry.get(f"{kind[:-1] if kind != 'meshes' else 'mesh'}_poses") or []
        if things and kind == "planes":
            raise GeometryError(f"object {name!r} of {path.name} is a plane, which is not read.")
        poses = list(poses) + [None] * (len(things) - len(poses))
        shapes += [(kind, thing, whole @ _pose(pose)) for thing, pose in zip(things, poses, strict=False)]
    if not shapes:
        raise GeometryError(f"object {name!r} of {path.name} has neither primitives nor meshes.")
    for k, (kind, thing, pose) in enumerate(shapes):
        label = name if len(shapes) == 1 else f"{name}_{k + 1}"
        if kind == "primitives":
            _add_primitive(scene, label, thing, pose, path)
        else:
            _add_mesh(scene, label, thing, pose, path)


def _add_primitive(scene: Scene, name: str, thing: dict[str, Any], pose: np.ndarray, path: Path) -> None:
    kind = thing.get("type")
    kind = _PRIMITIVES.get(kind, kind) if isinstance(kind, int) else str(kind).lower()
    sizes = [float(value) for value in thing.get("dimensions") or []]
    needed = {"box": 3, "sphere": 1, "cylinder": 2, "cone": 2}
    if kind not in needed or len(sizes) != needed[kind]:
        raise GeometryError(
            f"object {name!r} of {path.name} is a {kind!r} with {len(sizes)} dimensions; {needed} are read."
        )
    if kind == "box":
        scene.add_box(name, sizes, pose)
    elif kind == "sphere":
        scene.add_sphere(name, sizes[0], pose)
    elif kind == "cylinder":
        scene.add_cylinder(name, sizes[1], sizes[0], pose)
    else:
        scene.add_cone(name, sizes[1], sizes[0], pose)


def _add_mesh(scene: Scene, name: str, thing: dict[str, Any], pose: np.ndarray, path: Path) -> None:
    if thing.get("resource"):
        source = str(thing["resource"]).removeprefix("file://")
        if source.startswith("package://"):
            raise GeometryError(
                f"object {name!r} of {path.name} is in a ROS package ({source}), which is not found here."
            )
        scene.add_mesh(name, path.parent / source, pose, scale=thing.get("dimensions") or 1.0)
        return
    try:
        vertices = np.array(thing["vertices"], dtype=float).reshape(-1, 3)
        corners = [t["vertex_indices"] if isinstance(t, dict) else t for t in thing["triangles"]]
        faces = np.array(corners, dtype=np.int64).reshape(-1, 3)
    except (KeyError, TypeError, ValueError):
        raise GeometryError(f"the mesh of object {name!r} of {path.name} needs vertices and triangles.") from None
    if not len(faces) or not np.isfinite(vertices).all() or faces.min() < 0 or faces.max() >= len(vertices):
        raise GeometryError(f"the mesh of object {name!r} of {path.name} has no sound triangles.")
    scene.add_mesh(name, TriangleMesh(vertices, faces, name), pose)


def _pose(entry: Any) -> np.ndarray:
    """position [x, y, z] or {x, y, z}, orientation [x, y, z, w] or {x, y, z, w}."""
    if not entry:
        return np.eye(4)
    position, orientation = (
        _listed(entry.get(key), names) for key, names in (("position", "xyz"), ("orientation", "xyzw"))
    )
    return transform(position or (0.0, 0.0, 0.0), quat_xyzw=orientation or (0.0, 0.0, 0.0, 1.0))


def _listed(value: Any, names: str) -> list[float]:
    if isinstance(value, dict):
        return [float(value.get(name, 0.0)) for name in names]
    return [float(v) for v in value or []]


def _yaml(path: Path) -> dict[str, Any]:
    import yaml

    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InvalidInputError(f"{str(path)!r} cannot be read: {str(error).splitlines()[0]}.") from None
    if not isinstance(data, dict):
        raise InvalidInputError(f"{str(path)!r} is no planning scene or request.")
    return data
