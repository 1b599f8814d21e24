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

import os
import tomllib
from typing import Any

import numpy as np

from memetik.errors import GeometryError, InvalidInputError, MemetikError, suggest
from memetik.files import write_whole
from memetik.robot.shapes import Box, Capsule, Cylinder, Sphere
from memetik.robot.transforms import transform
from memetik.scene.formats.gltf import read_beside
from memetik.scene.formats.ply import read_ply, read_ply_points, write_ply
from memetik.scene.mesh_files import load_mesh, load_points
from memetik.scene.objects import (
    Cone,
    HeightMap,
    Plane,
    PointCloud,
    SceneObject,
    SceneShape,
    TriangleMesh,
    VoxelMap,
)
from memetik.scene.scene import Scene

SCHEMA = 1
MAX_BYTES = 16_000_000

_LENGTHS: dict[str, tuple[type, tuple[str, ...]]] = {
    "sphere": (Sphere, ("radius",)),
    "cylinder": (Cylinder, ("radius", "length")),
    "capsule": (Capsule, ("radius", "length")),
    "cone": (Cone, ("radius", "length")),
}
_OWN_KEYS = {
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
    lines = ["# A memetik scene: metres, radians.", f"schema = {SCHEMA}"]
    if snapshot.allowed:
        lines.append("allowed = [" + ", ".join(_toml(list(pair)) for pair in sorted(snapshot.allowed)) + "]")
    for item in snapshot.objects.values():
        lines += ["", "[[object]]", *(f"{key} = {_toml(value)}" for key, value in _entry(item, folder, files).items())]
    write_whole(path, ("\n".join(lines) + "\n").encode())


def load_scene(path: str | os.PathLike[str]) -> Scene:
    """Read a scene from a TOML file, or from MoveIt's text format where the name ends in .scene."""
    path = os.fspath(path)
    if path.lower().endswith(".scene"):
        from memetik.scene.moveit_scene import load_moveit_scene

        return load_moveit_scene(path)
    what = f"the scene file {os.path.basename(path)!r}"
    try:
        if os.path.getsize(path) > MAX_BYTES:
            raise GeometryError(f"{what} is larger than the {MAX_BYTES} bytes that are read.")
        with open(path, "rb") as file:
            document = tomllib.loads(file.read(MAX_BYTES).decode("utf-8"))
    except OSError as error:
        raise GeometryError(f"{what} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise GeometryError(f"{what} is not valid TOML: {str(error)[:120]}.") from None
    return scene_from_document(document, what, os.path.dirname(os.path.abspath(path)))


def scene_from_document(document: dict[str, Any], what: str, folder: str) -> Scene:
    """The scene that a parsed file describes; `what` names it in errors, files are looked for in `folder`."""
    schema = document.get("schema")
    if schema != SCHEMA or isinstance(schema, bool):
        raise GeometryError(f"{what} has schema {schema!r}; this version reads schema {SCHEMA}.")
    _check_keys(document, ("schema", "allowed", "object"), what)
    entries = document.get("object", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise GeometryError(f"{what}: objects are tables [[object]].")
    scene = Scene()
    for index, entry in enumerate(entries):
        name = entry.get("name")
        label = f"{what}, object {name!r:.60}" if isinstance(name, str) else f"{what}, object {index + 1}"
        try:
            _add(scene, entry, label, folder)
        except GeometryError as error:
            raise error if str(error).startswith(what) else GeometryError(f"{label}: {error}") from None
        except (MemetikError, TypeError, ValueError, OverflowError) as error:
            raise GeometryError(f"{label}: {error}") from None
    pairs = document.get("allowed", [])
    if not isinstance(pairs, list):
        raise GeometryError(f"{what}: allowed is a list of pairs of names.")
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(name, str) and name for name in pair):
            raise GeometryError(f"{what}: an allowed pair is two names, not {pair!r:.60}.")
        if pair[0] == pair[1]:
            raise GeometryError(f"{what}: an allowed pair is two different names, not {pair[0]!r:.60} twice.")
        scene.allow(*pair)
    return scene


def _add(scene: Scene, entry: dict[str, Any], label: str, folder: str) -> None:
    kind = entry.get("shape")
    if kind not in _OWN_KEYS:
        raise GeometryError(f"{label}: shape is {kind!r:.60}; {suggest(kind, _OWN_KEYS)}")
    _check_keys(entry, (*_COMMON_KEYS, *_OWN_KEYS[kind]), label)
    name, link, touch = entry.get("name"), entry.get("link"), entry.get("touch", [])
    if not isinstance(touch, list):
        raise GeometryError(f"{label}: touch is a list of names of links.")
    options = {"padding": entry.get("padding", 0.0), "solid": entry.get("solid"), "color": entry.get("color")}
    shape, pose = _shape(kind, entry, label, folder), _pose(entry, label)
    if link is None:
        if touch:
            raise GeometryError(f"{label}: touch is for objects attached to a link.")
        scene.add(name, shape, pose, **options)  # type: ignore[arg-type]
    else:
        scene.attach(name, shape, link=link, pose=pose, touch=touch, **options)  # type: ignore[arg-type]


def _shape(kind: str, entry: dict[str, Any], label: str, folder: str) -> SceneShape:
    if kind in _LENGTHS:
        make, keys = _LENGTHS[kind]
        return make(*(_number(entry, key, label) for key in keys))
    if kind == "box":
        return Box(tuple(_numbers(entry, "size", label, 3)))  # type: ignore[arg-type]
    if kind == "plane":
        return Plane()
    if kind == "mesh":
        return _mesh(entry, label, folder)
    if kind == "points":
        points = _grid(entry, "points", label, folder)
        return PointCloud(points, _number(entry, "radius", label))
    if kind == "heightmap":
        base = _number(entry, "base", label) if "base" in entry else None
        size = _numbers(entry, "size", label, 2)
        return HeightMap(_grid(entry, "heights", label, folder), (size[0], size[1]), base)
    origin = tuple(_numbers(entry, "origin", label, 3)) if "origin" in entry else (0.0, 0.0, 0.0)
    return VoxelMap(_grid(entry, "occupied", label, folder), _number(entry, "size", label), origin)  # type: ignore[arg-type]


def _mesh(entry: dict[str, Any], label: str, folder: str) -> TriangleMesh:
    name = entry.get("file")
    if not isinstance(name, str):
        raise GeometryError(f"{label}: a mesh needs file, a path relative to the scene's folder.")
    scale = entry.get("scale", 1.0)
    content = entry.get("content")
    data = read_beside(folder, name, label)  # refuses files outside the folder
    if content is None:
        return load_mesh(os.path.join(folder, name), scale=scale)
    raw = read_ply(data, label)
    mesh = TriangleMesh(
        raw.vertices, np.concatenate(raw.polygons) if raw.polygons else np.zeros((0, 3)), os.path.basename(name)
    )
    if mesh.key != content:
        raise GeometryError(
            f"{label}: the file {name!r} is not the mesh that was saved; remove `content` to read it all the same."
        )
    return mesh


def _grid(entry: dict[str, Any], key: str, label: str, folder: str) -> np.ndarray:
    """An array written in the entry itself, or in a file."""
    if key in entry:
        return np.array(entry[key])
    name = entry.get("file")
    if not isinstance(name, str):
        raise GeometryError(f"{label}: either {key} or file is needed.")
    data = read_beside(folder, name, label)
    if key == "points":
        return (
            read_ply_points(data, label) if name.lower().endswith(".ply") else load_points(os.path.join(folder, name))
        )
    return _read_array(data, label)


def _read_array(data: bytes, label: str) -> np.ndarray:
    """A numpy array file, its size checked before it is believed."""
    import io

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


def _pose(entry: dict[str, Any], label: str) -> np.ndarray:
    position = _numbers(entry, "position", label, 3) if "position" in entry else np.zeros(3)
    ways = {}
    if "rpy" in entry:
        ways["rpy"] = _numbers(entry, "rpy", label, 3)
    if "quat_xyzw" in entry:
        ways["quat_xyzw"] = _numbers(entry, "quat_xyzw", label, 4)
    if "rotation" in entry:
        ways["matrix"] = np.array(entry["rotation"], dtype=float)
    return transform(position, **ways)


def _number(entry: dict[str, Any], key: str, label: str) -> float:
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise GeometryError(f"{label}: {key} must be a number, not {value!r:.60}.")
    return float(value)


def _numbers(entry: dict[str, Any], key: str, label: str, count: int) -> np.ndarray:
    values = entry.get(key)
    if not (
        isinstance(values, list)
        and len(values) == count
        and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    ):
        raise GeometryError(f"{label}: {key} must be {count} numbers, not {values!r:.60}.")
    return np.array(values, dtype=float)


def _check_keys(table: dict[str, Any], known: tuple[str, ...], label: str) -> None:
    for key in table:
        if key not in known:
            raise GeometryError(f"{label} has the key {key!r:.60}, which is not known; {suggest(key, known)}")


def _entry(item: SceneObject, folder: str, files: str) -> dict[str, Any]:
    """The keys and values of one object; what is large goes to a file."""
    entry: dict[str, Any] = {"name": item.name, **_shape_entry(item.shape, folder, files)}
    if item.pose[:3, 3].any():
        entry["position"] = item.pose[:3, 3].tolist()
    if not np.array_equal(item.pose[:3, :3], np.eye(3)):
        entry["rotation"] = item.pose[:3, :3].tolist()
    if item.padding:
        entry["padding"] = item.padding
    if item.solid is not None:
        entry["solid"] = item.solid
    if item.link is not None:
        entry["link"] = item.link
    if item.touch:
        entry["touch"] = list(item.touch)
    if item.color is not None:
        entry["color"] = list(item.color)
    return entry


def _shape_entry(shape: SceneShape, folder: str, files: str) -> dict[str, Any]:
    if isinstance(shape, Box):
        return {"shape": "box", "size": list(shape.size)}
    for name, (kind, keys) in _LENGTHS.items():
        if isinstance(shape, kind):
            return {"shape": name, **{key: getattr(shape, key) for key in keys}}
    if isinstance(shape, TriangleMesh):
        file = _beside(folder, files, f"mesh-{shape.key[:12]}.ply", write_ply(shape.vertices, shape.faces))
        return {"shape": "mesh", "file": file, "content": shape.key}
    if isinstance(shape, PointCloud):
        file = _beside(folder, files, f"points-{shape.key[:12]}.ply", write_ply(shape.points))
        return {"shape": "points", "file": file, "radius": shape.radius}
    if isinstance(shape, HeightMap):
        file = _beside(folder, files, f"heights-{shape.key[:12]}.npy", _array_bytes(shape.heights))
        return {"shape": "heightmap", "file": file, "size": list(shape.size), "base": shape.base}
    if isinstance(shape, VoxelMap):
        file = _beside(folder, files, f"voxels-{shape.key[:12]}.npy", _array_bytes(shape.occupied))
        return {"shape": "voxels", "file": file, "size": shape.size, "origin": list(shape.origin)}
    return {"shape": "plane"}


def _array_bytes(array: np.ndarray) -> bytes:
    import io

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


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return '"' + "".join(_escaped(letter) for letter in value) + '"'
    return "[" + ", ".join(_toml(part) for part in value) + "]"


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    return letter if letter >= " " and letter != "\x7f" else f"\\u{ord(letter):04x}"
