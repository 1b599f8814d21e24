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
    for goal in _listed(request.get("goal_constraints"), path, "'goal_constraints'"):
        goal = _mapping(goal, path, "an entry of 'goal_constraints'")
        joints = {}
        for constraint in _listed(goal.get("joint_constraints"), path, "'joint_constraints'"):
            constraint = _mapping(constraint, path, "an entry of 'joint_constraints'")
            for key in ("joint_name", "position"):
                if key not in constraint:
                    raise InvalidInputError(f"{path.name} has an entry of 'joint_constraints' without {key!r}.")
            (joints[str(constraint["joint_name"])],) = _numbers([constraint["position"]], path, "'position' of a joint")
        if joints:
            found.append(joints)
    state = _mapping(request.get("start_state") or {}, path, "'start_state'")
    start = _mapping(state.get("joint_state") or {}, path, "'joint_state'")
    names = [str(name) for name in _listed(start.get("name"), path, "'name' of 'joint_state'")]
    values = _numbers(start.get("position"), path, "'position' of 'joint_state'")
    if names:
        if len(names) != len(values):
            raise InvalidInputError(f"'joint_state' of {path.name} has {len(names)} names and {len(values)} positions.")
        found.append(dict(zip(names, values, strict=True)))
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
    what = f"object {name!r}"
    whole = _pose(entry.get("pose"), path, what)
    shapes = []
    for kind, places in (("primitives", "primitive_poses"), ("meshes", "mesh_poses"), ("planes", "plane_poses")):
        things, poses = (_listed(entry.get(key), path, f"{key!r} of {what}") for key in (kind, places))
        if things and kind == "planes":
            raise GeometryError(f"object {name!r} of {path.name} is a plane, which is not read.")
        poses = list(poses) + [None] * (len(things) - len(poses))
        for thing, pose in zip(things, poses, strict=False):
            shapes.append(
                (kind, _mapping(thing, path, f"an entry of {kind!r} of {what}"), whole @ _pose(pose, path, what))
            )
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
    sizes = _numbers(thing.get("dimensions"), path, f"'dimensions' of object {name!r}")
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
        scale = _numbers(thing.get("dimensions"), path, f"'dimensions' of object {name!r}")
        scene.add_mesh(name, path.parent / source, pose, scale=scale or 1.0)
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


def _pose(entry: Any, path: Path, what: str) -> np.ndarray:
    """position [x, y, z] or {x, y, z}, orientation [x, y, z, w] or {x, y, z, w}."""
    if not entry:
        return np.eye(4)
    entry = _mapping(entry, path, f"a pose of {what}")
    position, orientation = (
        _components(entry.get(key), names, path, f"{key!r} of {what}")
        for key, names in (("position", "xyz"), ("orientation", "xyzw"))
    )
    try:
        return transform(position or (0.0, 0.0, 0.0), quat_xyzw=orientation or (0.0, 0.0, 0.0, 1.0))
    except InvalidInputError as error:
        raise InvalidInputError(f"{what} of {path.name} has no sound pose: {error}") from None


def _components(value: Any, names: str, path: Path, what: str) -> list[float]:
    if isinstance(value, dict):
        value = [value.get(name, 0.0) for name in names]
    return _numbers(value, path, what)


def _numbers(value: Any, path: Path, what: str) -> list[float]:
    """A list of finite numbers; an empty one where there is nothing."""
    values = _listed(value, path, what)
    for one in values:
        if isinstance(one, bool) or not isinstance(one, int | float) or not abs(one) < 1e300:
            raise InvalidInputError(f"{what} of {path.name} is made of numbers, not {one!r:.60}.")
    return [float(one) for one in values]


def _listed(value: Any, path: Path, what: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise InvalidInputError(f"{what} of {path.name} is a list, not {value!r:.60}.")
    return value


def _mapping(value: Any, path: Path, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInputError(f"{what} of {path.name} has named entries; it is {value!r:.60}.")
    return value


def _yaml(path: Path) -> dict[str, Any]:
    import yaml

    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InvalidInputError(f"{str(path)!r} cannot be read: {str(error).splitlines()[0]}.") from None
    if not isinstance(data, dict):
        raise InvalidInputError(f"{str(path)!r} is no planning scene or request.")
    return data
