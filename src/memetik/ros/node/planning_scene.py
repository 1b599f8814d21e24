"""Planning scenes of MoveIt as scenes of memetik: collision objects, attached objects, allowed pairs, point clouds.

An object of several shapes becomes several objects, "name/1", "name/2", ..., as when a .scene file is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from memetik.errors import InvalidInputError
from memetik.geometry import shapes
from memetik.geometry.formats.raw import RawMesh, check_indices
from memetik.geometry.mesh_files import clean_mesh
from memetik.geometry.transforms import inverse
from memetik.ros.conversions import pose_matrix, pose_message
from memetik.ros.messages import Message, message_class
from memetik.scene.scene import Scene
from memetik.scene.scene_object import SceneObject, plane_pose

FrameOf = Callable[[str], np.ndarray]
"""The pose of a frame in the planning frame."""

CollisionObject: Any = message_class("moveit_msgs/msg/CollisionObject")
Primitive: Any = message_class("shape_msgs/msg/SolidPrimitive")
_FIELD_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 8: "f8"}
_MOST_POINTS = 2_000_000


def apply_scene(scene: Scene, message: Message, frame_of: FrameOf) -> None:
    """A moveit_msgs/PlanningScene: the whole scene, or what has changed of it."""
    if not message.is_diff:
        scene.clear()
    for each in message.world.collision_objects:
        apply_object(scene, each, frame_of)
    for each in message.robot_state.attached_collision_objects:
        attach(scene, each, frame_of)
    _apply_allowed(scene, message.allowed_collision_matrix)


def apply_object(scene: Scene, message: Message, frame_of: FrameOf) -> None:
    """A moveit_msgs/CollisionObject: add, remove, append to or move an object."""
    if message.operation == CollisionObject.REMOVE:
        for name in _parts_of(scene, message.id) if message.id else scene.names:
            scene.remove(name)
        return
    base = frame_of(message.header.frame_id) @ pose_matrix(message.pose)
    if message.operation == CollisionObject.MOVE:
        _move(scene, message, base)
        return
    made = [(shape, base @ own) for shape, own in _shapes_of(message)]
    if not message.id or not made:
        raise InvalidInputError("a collision object needs an id and at least one shape.")
    old = _parts_of(scene, message.id)
    if message.operation == CollisionObject.APPEND and old:
        made = [(scene[name].shape, scene[name].pose) for name in old] + made
    for name in old:
        scene.remove(name)
    for name, (shape, pose) in zip(_names(message.id, len(made)), made, strict=True):
        scene.add(name, shape, pose)


def attach(scene: Scene, message: Message, frame_of: FrameOf) -> None:
    """A moveit_msgs/AttachedCollisionObject: fix an object to a link, or release it."""
    item, link = message.object, message.link_name
    if item.operation == CollisionObject.REMOVE:
        for name in _parts_of(scene, item.id) if item.id else [each.name for each in scene.attached_objects]:
            record = scene[name]
            if record.link is not None:
                scene.detach(name, frame_of(record.link) @ record.pose)
        return
    to_link = inverse(frame_of(link))
    made = [
        (shape, to_link @ frame_of(item.header.frame_id) @ pose_matrix(item.pose) @ own)
        for shape, own in _shapes_of(item)
    ]
    old = _parts_of(scene, item.id)
    if not made:  # an object of the world
        if not old:
            raise InvalidInputError(f"there is no object {item.id!r} to attach.")
        made = [(scene[name].shape, to_link @ scene[name].pose) for name in old if scene[name].link is None]
    for name in old:
        scene.remove(name)
    for name, (shape, pose) in zip(_names(item.id, len(made)), made, strict=True):
        scene.attach(name, shape, link=link, pose=pose, touch=list(message.touch_links))


def cloud_points(message: Message) -> np.ndarray:
    """(N, 3) the finite points of a sensor_msgs/PointCloud2."""
    count = message.width * message.height
    if count > _MOST_POINTS:
        raise InvalidInputError(f"a point cloud of {count} points is larger than {_MOST_POINTS}.")
    if message.point_step * count > len(message.data) or message.point_step < 1:
        raise InvalidInputError(f"a point cloud of {count} points has only {len(message.data)} bytes.")
    fields = {field.name: field for field in message.fields}
    columns: list[np.ndarray] = []
    order = ">" if message.is_bigendian else "<"
    for axis in "xyz":
        field = fields.get(axis)
        if field is None or field.datatype not in _FIELD_TYPES:
            raise InvalidInputError(f"a point cloud needs a field {axis!r} of numbers.")
        kind = np.dtype(order + _FIELD_TYPES[field.datatype])
        if field.offset + kind.itemsize > message.point_step:
            raise InvalidInputError(f"field {axis!r} of a point cloud is outside its points.")
        layout = np.dtype(
            {"names": [axis], "formats": [kind], "offsets": [field.offset], "itemsize": message.point_step}
        )
        with np.errstate(invalid="ignore"):  # signalling NaNs, as drivers send for points that were not measured
            columns.append(np.frombuffer(message.data, layout, count)[axis].astype(float))
    points = np.stack(columns, axis=1)
    return points[np.isfinite(points).all(axis=1)]


def scene_message(scene: Scene, frame: str, name: str) -> Any:
    """A moveit_msgs/PlanningScene with the primitives and meshes of a scene."""
    message = message_class("moveit_msgs/msg/PlanningScene")(name="memetik", robot_model_name=name)
    message.world.collision_objects = [_object_message(each, frame) for each in scene.world_objects]
    attached = message_class("moveit_msgs/msg/AttachedCollisionObject")
    message.robot_state.attached_collision_objects = [
        attached(link_name=each.link, object=_object_message(each, each.link or ""), touch_links=list(each.touch))
        for each in scene.attached_objects
    ]
    return message


def _object_message(record: SceneObject, frame: str) -> Any:
    message = CollisionObject(id=record.name, pose=pose_message(record.pose))
    message.header.frame_id = frame
    shape, own = record.shape, pose_message(np.eye(4))
    if isinstance(shape, shapes.Plane):
        message.planes = [message_class("shape_msgs/msg/Plane")(coef=[0.0, 0.0, 1.0, 0.0])]
        message.plane_poses = [own]
    elif isinstance(shape, shapes.Box):
        message.primitives, message.primitive_poses = [_primitive(Primitive.BOX, shape.size)], [own]
    elif isinstance(shape, shapes.Sphere):
        message.primitives, message.primitive_poses = [_primitive(Primitive.SPHERE, [shape.radius])], [own]
    elif isinstance(shape, shapes.Cylinder):
        message.primitives, message.primitive_poses = (
            [_primitive(Primitive.CYLINDER, [shape.length, shape.radius])],
            [own],
        )
    elif isinstance(shape, shapes.Cone):
        message.primitives, message.primitive_poses = [_primitive(Primitive.CONE, [shape.length, shape.radius])], [own]
    return message


def _primitive(kind: int, dimensions: Any) -> Any:
    return Primitive(type=kind, dimensions=[float(value) for value in dimensions])


def _shapes_of(message: Message) -> Iterator[tuple[Any, np.ndarray]]:
    for kind, poses, make in (
        (message.primitives, message.primitive_poses, _shape),
        (message.meshes, message.mesh_poses, _mesh),
    ):
        # A single shape may go without a pose of its own.
        if len(poses) != len(kind) and not (len(kind) == 1 and not poses):
            raise InvalidInputError(
                f"the object {message.id!r} has {len(kind)} shapes and {len(poses)} poses for them."
            )
        for k, each in enumerate(kind):
            yield make(each, message.id), pose_matrix(poses[k]) if poses else np.eye(4)
    for k, plane in enumerate(message.planes):
        own = pose_matrix(message.plane_poses[k]) if k < len(message.plane_poses) else np.eye(4)
        if not np.isfinite(plane.coef).all() or not np.any(plane.coef[:3]):
            raise InvalidInputError(f"the object {message.id!r} has a plane without a normal.")
        yield shapes.Plane(), own @ plane_pose(plane.coef[:3], -plane.coef[3])


def _shape(primitive: Message, name: str) -> Any:
    sizes = list(primitive.dimensions)
    counts = {Primitive.BOX: 3, Primitive.SPHERE: 1, Primitive.CYLINDER: 2, Primitive.CONE: 2}
    if primitive.type not in counts or len(sizes) < counts[primitive.type]:
        raise InvalidInputError(f"the object {name!r} has a primitive of type {primitive.type} with sizes {sizes}.")
    if primitive.type == Primitive.BOX:
        return shapes.Box((sizes[0], sizes[1], sizes[2]))
    if primitive.type == Primitive.SPHERE:
        return shapes.Sphere(sizes[0])
    return (shapes.Cylinder if primitive.type == Primitive.CYLINDER else shapes.Cone)(sizes[1], sizes[0])


def _mesh(mesh: Message, name: str) -> Any:
    vertices = np.array([(v.x, v.y, v.z) for v in mesh.vertices], dtype=float).reshape(-1, 3)
    faces = np.array([list(t.vertex_indices) for t in mesh.triangles], dtype=np.int64).reshape(-1, 3)
    what = f"the mesh of object {name!r}"
    if not np.isfinite(vertices).all():
        raise InvalidInputError(f"{what} has a vertex that is not finite.")
    check_indices(what, faces, len(vertices))
    return clean_mesh(RawMesh(vertices, [faces]), what)[0]


def _move(scene: Scene, message: Message, base: np.ndarray) -> None:
    parts = _parts_of(scene, message.id)
    if not parts:
        raise InvalidInputError(f"there is no object {message.id!r} to move.")
    poses = [*message.primitive_poses, *message.mesh_poses, *message.plane_poses]
    first = scene[parts[0]].pose
    for k, name in enumerate(parts):
        if k < len(poses):
            scene.move(name, base @ pose_matrix(poses[k]))
        else:  # the object moves as a whole, by its first part
            scene.move(name, base @ inverse(first) @ scene[name].pose)


def _apply_allowed(scene: Scene, matrix: Any) -> None:
    names = list(matrix.entry_names)
    for k, row in enumerate(matrix.entry_values[: len(names)]):
        for j, allowed in enumerate(row.enabled[: len(names)]):
            if j <= k:
                continue
            if allowed:
                scene.allow(names[k], names[j])
            else:
                with suppress(InvalidInputError):  # it was not allowed before
                    scene.forbid(names[k], names[j])


def _parts_of(scene: Scene, name: str) -> list[str]:
    return [each for each in scene.names if each == name or each.startswith(f"{name}/")]


def _names(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}/{k + 1}" for k in range(count)]
