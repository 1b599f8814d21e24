"""COLLADA (.dae): the triangles, polylists and polygons of the scene's nodes, in metres.

The file's unit is applied. Its up axis is not: robots' meshes are drawn in their link's own axes, and the field's
viewers and planners read them so. References to other files are refused, document types and entities too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from memetik.errors import DescriptionError, GeometryError
from memetik.files.xml_tree import Element, XmlLimits, parse_xml
from memetik.geometry.formats import raw
from memetik.geometry.formats.raw import MAX_TEXT_BYTES, RawMesh, check_indices, check_text_size, numbers
from memetik.geometry.transforms import rotation_exp

_MAX_DEPTH = 200
_LIMITS = XmlLimits(MAX_TEXT_BYTES, 1_000_000, _MAX_DEPTH)
_MAX_INSTANCES = 10_000


def read_mesh(data: bytes, what: str, _folder: str | None = None) -> RawMesh:
    """A mesh from the bytes of a COLLADA file: all geometry its scene shows, or all there is where it has no scene."""
    root = _parse(data, what)
    by_id = {node.attributes.get("id", ""): node for node in root.everywhere() if node.attributes.get("id", "")}
    placed, unit = _placed(root, by_id, what), _unit(root, what)
    parts = {geometry: _geometry(geometry, by_id, what) for geometry in dict.fromkeys(node for node, _ in placed)}
    return raw.put_together([(parts[geometry], pose) for geometry, pose in placed], what, unit)


def _parse(data: bytes, what: str) -> Element:
    check_text_size(what, data)
    try:
        root = parse_xml(data, what, limits=_LIMITS, keep_text=True)
    except DescriptionError as error:
        raise GeometryError(str(error)) from None
    for element in root.everywhere():
        element.tag = element.tag.rpartition(":")[2]
    if root.tag != "COLLADA":
        raise GeometryError(f"{what} is no COLLADA file: its XML does not begin with <COLLADA>.")
    return root


def _values(element: Element, what: str, dtype: type[float | np.integer[Any]] = float) -> np.ndarray:
    return numbers(what, "".join(element.content).split(), dtype)


def _unit(root: Element, what: str) -> float:
    asset = root.first("asset")
    unit = asset.first("unit") if asset else None
    if unit is None or not unit.attributes.get("meter", ""):
        return 1.0
    metres = float(numbers(what, [unit.attributes.get("meter", "")])[0])
    if not 0.0 < metres < math.inf:
        raise GeometryError(f"{what} states the unit {metres!r} m; it must be positive.")
    return metres


def _target(reference: str, by_id: dict[str, Element], what: str) -> Element:
    if not reference.startswith("#"):
        raise GeometryError(f"{what} refers to {reference[:80]!r} outside of it; other files are not opened.")
    if reference[1:] not in by_id:
        raise GeometryError(f"{what} refers to {reference[:80]!r}, which it does not have.")
    return by_id[reference[1:]]


def _placed(root: Element, by_id: dict[str, Element], what: str) -> list[tuple[Element, np.ndarray]]:
    """The geometries of the scene with their poses."""
    scene = root.first("scene")
    instance = scene.first("instance_visual_scene") if scene else None
    if instance is None:
        return [(node, np.eye(4)) for node in root.everywhere() if node.tag == "geometry"]
    placed: list[tuple[Element, np.ndarray]] = []
    stack = [(node, np.eye(4), 0) for node in _target(instance.attributes.get("url", ""), by_id, what).all("node")]
    visits = 0
    while stack:
        node, above, depth = stack.pop()
        visits += 1
        if visits > _MAX_INSTANCES or depth > _MAX_DEPTH:
            raise GeometryError(f"{what} places more than {_MAX_INSTANCES} nodes, or nodes within themselves.")
        pose = above @ _node_pose(node, what)
        for child in node.children:
            if child.tag == "node":
                stack.append((child, pose, depth + 1))
            elif child.tag == "instance_node":
                stack.append((_target(child.attributes.get("url", ""), by_id, what), pose, depth + 1))
            elif child.tag == "instance_geometry":
                placed.append((_target(child.attributes.get("url", ""), by_id, what), pose))
            elif child.tag == "instance_controller":
                placed.append((_skinned(_target(child.attributes.get("url", ""), by_id, what), by_id, what), pose))
    return placed


def _skinned(controller: Element, by_id: dict[str, Element], what: str) -> Element:
    """The geometry that a controller bends, as it is before bending."""
    for kind in controller.all("skin", "morph"):
        node = _target(kind.attributes.get("source", ""), by_id, what)
        if node.tag == "geometry":
            return node
    raise GeometryError(f"{what} has a controller without geometry.")


def _node_pose(node: Element, what: str) -> np.ndarray:
    pose = np.eye(4)
    lengths = {"matrix": 16, "translate": 3, "rotate": 4, "scale": 3, "lookat": 9, "skew": 7}
    for child in node.all(*lengths):
        values = _values(child, what)
        if len(values) != lengths[child.tag] or not np.isfinite(values).all():
            raise GeometryError(f"{what} has a <{child.tag}> that is not {lengths[child.tag]} finite numbers.")
        step = np.eye(4)
        if child.tag == "matrix":
            step = values.reshape(4, 4)
        elif child.tag == "translate":
            step[:3, 3] = values
        elif child.tag == "scale":
            step[:3, :3] = np.diag(values)
        elif child.tag == "rotate":
            length = float(np.linalg.norm(values[:3]))
            angle = math.radians(values[3])
            step[:3, :3] = rotation_exp(values[:3] / length * angle) if length > 0.0 else np.eye(3)
        else:
            raise GeometryError(f"{what} places a node with <{child.tag}>, which is not read; apply it to the mesh.")
        pose = pose @ step
    return pose


def _geometry(geometry: Element, by_id: dict[str, Element], what: str) -> RawMesh:
    mesh = geometry.first("mesh") or geometry.first("convex_mesh")
    if mesh is None:
        return RawMesh(np.zeros((0, 3)))
    vertices: list[np.ndarray] = [np.zeros((0, 3))]
    polygons: list[np.ndarray] = []
    offsets: dict[str, int] = {}
    total = 0
    for primitive in mesh.all("triangles", "polylist", "polygons", "tristrips", "trifans"):
        found = [entry.attributes for entry in primitive.all("input")]
        inputs = [(own.get("semantic"), own.get("offset", "") or "0", own.get("source", "")) for own in found]
        if any(not offset.isdecimal() or int(offset) > 64 for _, offset, _ in inputs):
            raise GeometryError(f"{what} has an <input> whose offset is no small number.")
        sources = [(int(offset), source) for semantic, offset, source in inputs if semantic == "VERTEX"]
        if not sources:
            continue
        column, source = sources[0]
        if source not in offsets:
            points = _positions(_target(source, by_id, what), by_id, what)
            offsets[source] = total
            vertices.append(points)
            total += len(points)
        first, count = offsets[source], len(vertices[list(offsets).index(source) + 1])
        stride = 1 + max(int(offset) for _, offset, _ in inputs)
        for group in _polygons(primitive, stride, column, what):
            check_indices(what, group, count)
            polygons.append(group + first)
    return RawMesh(np.concatenate(vertices), polygons)


def _positions(node: Element, by_id: dict[str, Element], what: str) -> np.ndarray:
    for entry in node.all("input"):
        if entry.attributes.get("semantic", "") == "POSITION":
            source = _target(entry.attributes.get("source", ""), by_id, what)
            array = source.first("float_array")
            technique = source.first("technique_common")
            accessor = technique.first("accessor") if technique else None
            stride = (accessor.attributes.get("stride", "") if accessor else "") or "3"
            if array is None or not stride.isdecimal() or not 3 <= int(stride) <= 64:
                break
            values, step = _values(array, what), int(stride)
            return values[: len(values) // step * step].reshape(-1, step)[:, :3]
    raise GeometryError(f"{what} has vertices without positions of three coordinates.")


def _polygons(primitive: Element, stride: int, column: int, what: str) -> list[np.ndarray]:
    """Groups (M, K) of vertex indices of one primitive."""
    lists = [_values(node, what, np.int64) for node in primitive.all("p")]
    holes = [node.first("p") for node in primitive.all("ph")]  # holes in polygons are not cut out
    lists += [_values(node, what, np.int64) for node in holes if node is not None]
    corners = [values[: len(values) // stride * stride].reshape(-1, stride)[:, column] for values in lists]
    if primitive.tag == "triangles":
        return [part[: len(part) // 3 * 3].reshape(-1, 3) for part in corners]
    if primitive.tag == "polygons":
        return [part[None] for part in corners if len(part) >= 3]
    if primitive.tag == "trifans":
        return [raw.fan_triangles(part) for part in corners]
    if primitive.tag == "tristrips":
        return [raw.strip_triangles(part) for part in corners]
    counts_node = primitive.first("vcount")
    counts = _values(counts_node, what, np.int64) if counts_node else np.zeros(0, dtype=np.int64)
    every = np.concatenate(corners) if corners else np.zeros(0, dtype=np.int64)
    if (counts < 0).any() or int(counts.sum()) > len(every):
        raise GeometryError(f"{what} is damaged: the polygons of a <polylist> have more corners than it lists.")
    starts = np.cumsum(counts) - counts
    return [every[starts[counts == size][:, None] + np.arange(size)] for size in np.unique(counts) if size >= 3]
