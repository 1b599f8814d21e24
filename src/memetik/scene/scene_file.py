"""Scenes as TOML files, with meshes, point clouds and grids as files beside them.

    schema = 1
    allowed = [["tip", "tank"]]

    [[object]]
    name = "wall"
    shape = "box"                       # box, sphere, cylinder, capsule, cone, plane, mesh, heightmap, points, voxels
    size = [0.6, 0.1, 0.2]
    position = [0.6, 0.2, 0.1]          # and one of rpy = [r, p, y], quat_xyzw = [x, y, z, w], rotation = [[...], ...]
    padding = 0.01

Other keys: radius, length (sphere, cylinder, capsule, cone); file, scale, solid, content (mesh); file or points, radius
(points); file or heights, size, base (heightmap); file or occupied, size, origin (voxels); link, touch (attached
objects); color. Files are named relative to the scene's folder and lie in it or below. `content` is the digest of a
mesh written by `save_scene`, which is read back exactly. A scene is written to a new file that then takes the old
one's place: there is never half a scene.
"""

from __future__ import annotations

import io
import os
from typing import Any

import numpy as np

from memetik.errors import GeometryError, InvalidInputError
from memetik.files.atomic import write_whole
from memetik.files.schema import Table, read_table
from memetik.files.toml_writer import to_toml
from memetik.geometry import shapes
from memetik.geometry.formats import ply
from memetik.geometry.formats.gltf import read_beside
from memetik.geometry.mesh_files import load_mesh, load_points
from memetik.geometry.shapes import Box, HeightMap, PointCloud, SceneShape, TriangleMesh, VoxelMap
from memetik.geometry.transforms import read_pose
from memetik.scene.scene import Scene
from memetik.scene.scene_object import SceneObject

SCHEMA = 1
MAX_BYTES = 16_000_000

_LENGTHS: dict[str, tuple[type, tuple[str, ...]]] = {
    "sphere": (shapes.Sphere, ("radius",)),
    "cylinder": (shapes.Cylinder, ("radius", "length")),
    "capsule": (shapes.Capsule, ("radius", "length")),
    "cone": (shapes.Cone, ("radius", "length")),
}
_OWN_KEYS: dict[str, tuple[str, ...]] = {
    "box": ("size",),
    "plane": (),
    "mesh": ("file", "scale", "solid", "content"),
    "points": ("file", "points", "radius"),
    "heightmap": ("file", "heights", "size", "base"),
    "voxels": ("file", "occupied", "size", "origin"),
    **{name: keys for name, (_, keys) in _LENGTHS.items()},
}
_COMMON_KEYS = ("name", "shape", "position", "rpy", "quat_xyzw", "rotation", "padding", "link", "touch", "color")


def save_scene(scene: Scene, path: str | os.PathLike[str]) -> None:
    """Write a scene as TOML; meshes, clouds and grids go to the folder <name>.files beside it."""
    path = os.path.abspath(os.fspath(path))
    if not path.endswith(".toml"):
        raise InvalidInputError(f"a scene is saved as a .toml file, not as {os.path.basename(path)!r}.")
    folder = os.path.dirname(path)
    files = os.path.basename(path)[: -len(".toml")] + ".files"
    snapshot = scene.snapshot()
    document = {
        "schema": SCHEMA,
        "allowed": [list(pair) for pair in sorted(snapshot.allowed)],
        "object": [_entry(item, folder, files) for item in snapshot.objects.values()],
    }
    kept = {key: value for key, value in document.items() if value}
    write_whole(path, "# A memetik scene: metres, radians.\n" + to_toml(kept))


def load_scene(path: str | os.PathLike[str]) -> Scene:
    """Read a scene from a TOML file, or from MoveIt's text format where the name ends in .scene."""
    path = os.fspath(path)
    if path.lower().endswith(".scene"):
        from memetik.scene.moveit_scene import load_moveit_scene

        return load_moveit_scene(path)
    table = read_table(path, "the scene file", "toml", error=GeometryError, most=MAX_BYTES)
    return scene_from_table(table.schema(SCHEMA).known("schema", "allowed", "object"), os.path.dirname(path))


def scene_from_table(table: Table, folder: str) -> Scene:
    """The scene of the entries `object` and `allowed` of a table; files are looked for in `folder`."""
    scene = Scene()
    for entry in table.tables("object"):
        name = entry.data.get("name")
        entry = entry.called(f"object {name!r:.60}") if isinstance(name, str) else entry
        with entry.naming_errors():
            _add(scene, entry, os.path.abspath(folder))
    for pair in table.listed("allowed"):
        match pair:
            case [str(first), str(second)] if first and second:
                if first == second:
                    raise table.error(f"an allowed pair is two different names, not {first!r:.60} twice.", "allowed")
                scene.allow(first, second)
            case _:
                raise table.error(f"an allowed pair is two names, not {pair!r:.60}.", "allowed")
    return scene


def _add(scene: Scene, entry: Table, folder: str) -> None:
    kind = entry.choice("shape", _OWN_KEYS)
    entry.known(*_COMMON_KEYS, *_OWN_KEYS[kind])
    name, link, touch = entry.data.get("name"), entry.data.get("link"), entry.texts("touch", ())
    options = {key: entry.data[key] for key in ("padding", "solid", "color") if key in entry}
    shape, pose = _shape(kind, entry, folder), read_pose(entry)
    if link is None:
        if touch:
            raise entry.error("touch is for objects attached to a link.", "touch")
        scene.add(name, shape, pose, **options)  # type: ignore[arg-type]
    else:
        scene.attach(name, shape, link=link, pose=pose, touch=touch, **options)  # type: ignore[arg-type]


def _shape(kind: str, entry: Table, folder: str) -> SceneShape:
    if kind in _LENGTHS:
        make, keys = _LENGTHS[kind]
        return make(*(entry.number(key) for key in keys))
    if kind == "box":
        x, y, z = entry.numbers("size", 3)
        return Box((x, y, z))
    if kind == "plane":
        return shapes.Plane()
    if kind == "mesh":
        return _mesh(entry, folder)
    if kind == "points":
        return PointCloud(_grid(entry, "points", folder), entry.number("radius"))
    if kind == "heightmap":
        width, depth = entry.numbers("size", 2)
        return HeightMap(_grid(entry, "heights", folder), (width, depth), entry.optional(entry.number, "base"))
    x, y, z = entry.numbers("origin", 3, (0.0, 0.0, 0.0))
    return VoxelMap(_grid(entry, "occupied", folder), entry.number("size"), (x, y, z))


def _mesh(entry: Table, folder: str) -> TriangleMesh:
    name = entry.text("file", meaning="a path relative to the scene's folder")
    content = entry.data.get("content")
    data = read_beside(folder, name, entry.place)  # refuses files outside the folder
    if content is None:
        return load_mesh(os.path.join(folder, name), scale=entry.data.get("scale", 1.0))
    raw = ply.read_mesh(data, entry.place)
    faces = np.concatenate(raw.polygons) if raw.polygons else np.zeros((0, 3))
    mesh = TriangleMesh(raw.vertices, faces, os.path.basename(name))
    if mesh.key != content:
        raise entry.error(f"the file {name!r} is not the mesh that was saved; without `content` it is read.", "content")
    return mesh


def _grid(entry: Table, key: str, folder: str) -> np.ndarray:
    """An array written in the entry itself, or in a file."""
    if key in entry:
        return np.array(entry.data[key])
    name = entry.text("file", meaning=f"unless {key} are given")
    data = read_beside(folder, name, entry.place)
    if key != "points":
        return _read_array(data, entry.place)
    if name.lower().endswith(".ply"):
        return ply.read_points(data, entry.place)
    return load_points(os.path.join(folder, name))


def _read_array(data: bytes, label: str) -> np.ndarray:
    """A numpy array file, its size checked before it is believed."""
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(stream, max_header_size=4096)
    except (ValueError, EOFError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise GeometryError(f"{label}: the grid file cannot be read: {str(error)[:80]}.") from None
    size = int(np.prod([int(n) for n in shape], dtype=object)) if shape else 1
    if dtype.kind not in "biuf" or min(shape, default=0) < 0 or size * dtype.itemsize != len(data) - stream.tell():
        raise GeometryError(f"{label}: the grid file is cut short, damaged or no array of numbers.")
    array = np.frombuffer(data, dtype=dtype, count=size, offset=stream.tell())
    return array.reshape(shape, order="F" if fortran else "C")


def _entry(item: SceneObject, folder: str, files: str) -> dict[str, Any]:
    """The keys and values of one object; what is large goes to a file."""
    entry: dict[str, Any] = {"name": item.name, **_shape_entry(item.shape, folder, files)}
    if item.pose[:3, 3].any():
        entry["position"] = item.pose[:3, 3].tolist()
    if not np.array_equal(item.pose[:3, :3], np.eye(3)):
        entry["rotation"] = item.pose[:3, :3].tolist()
    stated = {key: getattr(item, key) for key in ("padding", "solid", "link", "touch", "color")}
    return entry | {key: value for key, value in stated.items() if value not in (None, 0.0, ()) or value is False}


def _shape_entry(shape: SceneShape, folder: str, files: str) -> dict[str, Any]:
    if isinstance(shape, Box):
        return {"shape": "box", "size": list(shape.size)}
    for name, (kind, keys) in _LENGTHS.items():
        if isinstance(shape, kind):
            return {"shape": name, **{key: getattr(shape, key) for key in keys}}
    if isinstance(shape, TriangleMesh):
        file = _beside(folder, files, f"mesh-{shape.key[:12]}.ply", ply.write_ply(shape.vertices, shape.faces))
        return {"shape": "mesh", "file": file, "content": shape.key}
    if isinstance(shape, PointCloud):
        file = _beside(folder, files, f"points-{shape.key[:12]}.ply", ply.write_ply(shape.points))
        return {"shape": "points", "file": file, "radius": shape.radius}
    if isinstance(shape, HeightMap):
        file = _beside(folder, files, f"heights-{shape.key[:12]}.npy", _array_bytes(shape.heights))
        return {"shape": "heightmap", "file": file, "size": list(shape.size), "base": shape.base}
    if isinstance(shape, VoxelMap):
        file = _beside(folder, files, f"voxels-{shape.key[:12]}.npy", _array_bytes(shape.occupied))
        return {"shape": "voxels", "file": file, "size": shape.size, "origin": list(shape.origin)}
    return {"shape": "plane"}


def _array_bytes(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def _beside(folder: str, files: str, name: str, data: bytes) -> str:
    """Write a file that is named by its content, unless it is there."""
    os.makedirs(os.path.join(folder, files), exist_ok=True)
    path = os.path.join(folder, files, name)
    if not os.path.exists(path) or os.path.getsize(path) != len(data):
        write_whole(path, data)
    return f"{files}/{name}"
