"""COLLADA (.dae): the triangles, polylists and polygons of the scene's nodes, in metres.

The file's unit is applied. Its up axis is not: robots' meshes are drawn in their link's own axes, and the field's
viewers and planners read them so. References to other files are refused, document types and entities too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from xml.parsers import expat

import numpy as np

from memetik.errors import GeometryError
from memetik.scene.formats.raw import RawMesh, check_count, check_indices, check_text_size, numbers

_MAX_ELEMENTS = 1_000_000
_MAX_DEPTH = 200
_MAX_INSTANCES = 10_000


class _Node:
    """An XML element with its text."""

    __slots__ = ("attributes", "children", "parts", "tag")

    def __init__(self, tag: str, attributes: dict[str, str]):
        self.tag, self.attributes = tag.rpartition(":")[2], attributes
        self.children: list[_Node] = []
        self.parts: list[str] = []

    def all(self, *tags: str) -> Iterator[_Node]:
        return (child for child in self.children if child.tag in tags)

    def first(self, tag: str) -> _Node | None:
        return next(self.all(tag), None)

    def everywhere(self) -> Iterator[_Node]:
        stack: list[_Node] = [self]
        while stack:
            node = stack.pop()
            yield node
            stack += reversed(node.children)

    def get(self, attribute: str) -> str:
        return self.attributes.get(attribute, "")

    def values(self, what: str, dtype: type = float) -> np.ndarray:
        return numbers(what, "".join(self.parts).split(), dtype)


def read_dae(data: bytes, what: str) -> RawMesh:
    """A mesh from the bytes of a COLLADA file: all geometry its scene shows, or all there is where it has no scene."""
    root = _parse(data, what)
    by_id = {node.get("id"): node for node in root.everywhere() if node.get("id")}
    placed = _placed(root, by_id, what)
    unit = _unit(root, what)
    parts: dict[int, RawMesh] = {}
    vertices: list[np.ndarray] = [np.zeros((0, 3))]
    polygons: list[np.ndarray] = []
    total = faces = 0
    for geometry, pose in placed:
        if id(geometry) not in parts:
            parts[id(geometry)] = _geometry(geometry, by_id, what)
        part = parts[id(geometry)]
        faces += sum(len(group) for group in part.polygons)
        check_count(what, "vertices", total + len(part.vertices))
        check_count(what, "faces", faces)
        vertices.append(unit * (part.vertices @ pose[:3, :3].T + pose[:3, 3]))
        mirrored = np.linalg.det(pose[:3, :3]) < 0.0
        polygons += [(group[:, ::-1] if mirrored else group) + total for group in part.polygons]
        total += len(part.vertices)
    return RawMesh(np.concatenate(vertices), polygons)


def _parse(data: bytes, what: str) -> _Node:
    check_text_size(what, data)
    root = _Node("", {})
    open_nodes, count = [root], 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > _MAX_ELEMENTS or len(open_nodes) > _MAX_DEPTH:
            raise GeometryError(
                f"{what} has more than {_MAX_ELEMENTS} XML elements or nests them deeper than {_MAX_DEPTH}."
            )
        node = _Node(tag, attributes)
        open_nodes[-1].children.append(node)
        open_nodes.append(node)

    def refuse(*_arguments: object) -> None:
        raise GeometryError(f"{what} declares a document type or entities; these are refused for safety.")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _tag: open_nodes.pop()
    parser.CharacterDataHandler = lambda text: open_nodes[-1].parts.append(text)
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data.lstrip(), True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise GeometryError(f"{what} is not well-formed XML: {error}.") from None
    document = root.first("COLLADA")
    if document is None:
        raise GeometryError(f"{what} is no COLLADA file: its XML does not begin with <COLLADA>.")
    return document


def _unit(root: _Node, what: str) -> float:
    asset = root.first("asset")
    unit = asset.first("unit") if asset else None
    if unit is None or not unit.get("meter"):
        return 1.0
    metres = float(numbers(what, [unit.get("meter")])[0])
    if not 0.0 < metres < math.inf:
        raise GeometryError(f"{what} states the unit {metres!r} m; it must be positive.")
    return metres


def _target(reference: str, by_id: dict[str, _Node], what: str) -> _Node:
    if not reference.startswith("#"):
        raise GeometryError(
            f"{what} refers to {reference[:80]!r}, which is not in the file itself; other files are not opened."
        )
    if reference[1:] not in by_id:
        raise GeometryError(f"{what} refers to {reference[:80]!r}, which it does not have.")
    return by_id[reference[1:]]


def _placed(root: _Node, by_id: dict[str, _Node], what: str) -> list[tuple[_Node, np.ndarray]]:
    """The geometries of the scene with their poses."""
    scene = root.first("scene")
    instance = scene.first("instance_visual_scene") if scene else None
    if instance is None:
        return [(node, np.eye(4)) for node in root.everywhere() if node.tag == "geometry"]
    placed: list[tuple[_Node, np.ndarray]] = []
    stack = [(node, np.eye(4), 0) for node in _target(instance.get("url"), by_id, what).all("node")]
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
                stack.append((_target(child.get("url"), by_id, what), pose, depth + 1))
            elif child.tag == "instance_geometry":
                placed.append((_target(child.get("url"), by_id, what), pose))
            elif child.tag == "instance_controller":
                placed.append((_skinned(_target(child.get("url"), by_id, what), by_id, what), pose))
    return placed


def _skinned(controller: _Node, by_id: dict[str, _Node], what: str) -> _Node:
    """The geometry that a controller bends, as it is before bending."""
    for kind in controller.all("skin", "morph"):
        node = _target(kind.get("source"), by_id, what)
        if node.tag == "geometry":
            return node
    raise GeometryError(f"{what} has a controller without geometry.")


def _node_pose(node: _Node, what: str) -> np.ndarray:
    pose = np.eye(4)
    lengths = {"matrix": 16, "translate": 3, "rotate": 4, "scale": 3, "lookat": 9, "skew": 7}
    for child in node.all(*lengths):
        values = child.values(what)
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
            step[:3, :3] = _turn(values[:3], math.radians(values[3]))
        else:
            raise GeometryError(
                f"{what} places a node with <{child.tag}>, which is not read; apply it in the mesh first."
            )
        pose = pose @ step
    return pose


def _turn(axis: np.ndarray, angle: float) -> np.ndarray:
    from memetik.robot.transforms import rotation_exp

    length = float(np.linalg.norm(axis))
    return rotation_exp(axis / length * angle) if length > 0.0 else np.eye(3)


def _geometry(geometry: _Node, by_id: dict[str, _Node], what: str) -> RawMesh:
    mesh = geometry.first("mesh") or geometry.first("convex_mesh")
    if mesh is None:
        return RawMesh(np.zeros((0, 3)))
    vertices: list[np.ndarray] = [np.zeros((0, 3))]
    polygons: list[np.ndarray] = []
    offsets: dict[str, int] = {}
    total = 0
    for primitive in mesh.all("triangles", "polylist", "polygons", "tristrips", "trifans"):
        inputs = [
            (entry.get("semantic"), entry.get("offset") or "0", entry.get("source")) for entry in primitive.all("input")
        ]
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


def _positions(node: _Node, by_id: dict[str, _Node], what: str) -> np.ndarray:
    for entry in node.all("input"):
        if entry.get("semantic") == "POSITION":
            source = _target(entry.get("source"), by_id, what)
            array = source.first("float_array")
            technique = source.first("technique_common")
            accessor = technique.first("accessor") if technique else None
            stride = accessor.get("stride") if accessor else "3"
            if array is None or not (stride or "3").isdecimal() or not 3 <= int(stride or "3") <= 64:
                break
            values = array.values(what)
            step = int(stride or "3")
            return values[: len(values) // step * step].reshape(-1, step)[:, :3]
    raise GeometryError(f"{what} has vertices without positions of three coordinates.")


def _polygons(primitive: _Node, stride: int, column: int, what: str) -> list[np.ndarray]:
    """Groups (M, K) of vertex indices of one primitive."""
    lists = [node.values(what, np.int64) for node in primitive.all("p")]
    holes = [node.first("p") for node in primitive.all("ph")]  # holes in polygons are not cut out
    lists += [node.values(what, np.int64) for node in holes if node is not None]
    corners = [values[: len(values) // stride * stride].reshape(-1, stride)[:, column] for values in lists]
    if primitive.tag == "triangles":
        return [_rows(part, 3) for part in corners]
    if primitive.tag == "polygons":
        return [part[None] for part in corners if len(part) >= 3]
    if primitive.tag == "trifans":
        return [np.stack([np.full(len(c) - 2, c[0]), c[1:-1], c[2:]], axis=1) for c in corners if len(c) >= 3]
    if primitive.tag == "tristrips":
        return [_strip(part) for part in corners if len(part) >= 3]
    counts_node = primitive.first("vcount")
    counts = counts_node.values(what, np.int64) if counts_node else np.zeros(0, dtype=np.int64)
    every = np.concatenate(corners) if corners else np.zeros(0, dtype=np.int64)
    if (counts < 0).any() or int(counts.sum()) > len(every):
        raise GeometryError(f"{what} is damaged: the polygons of a <polylist> have more corners than it lists.")
    starts = np.cumsum(counts) - counts
    return [every[starts[counts == size][:, None] + np.arange(size)] for size in np.unique(counts) if size >= 3]


def _rows(part: np.ndarray, width: int) -> np.ndarray:
    return part[: len(part) // width * width].reshape(-1, width)


def _strip(part: np.ndarray) -> np.ndarray:
    window = np.lib.stride_tricks.sliding_window_view(part, 3).copy()
    window[1::2] = window[1::2, ::-1]
    return window
