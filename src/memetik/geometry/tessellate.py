"""Shapes as triangle meshes.

`as_mesh` gives meshes that are exact or contain their shape: what collision checks and goals work on.
`surface_mesh` gives facets on the surface of any shape: what is drawn, and what points are drawn on.
"""

from __future__ import annotations

import math

import numpy as np

from memetik.errors import GeometryError
from memetik.geometry import shapes
from memetik.geometry.shapes import MAX_ELEMENTS, Box, Capsule, Cone, Cylinder, SceneShape, Shape, Sphere, TriangleMesh

_BOX_CORNERS = np.stack(np.meshgrid(*[(-0.5, 0.5)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
_BOX_QUADS = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
_BOX_FACES = np.array(
    [
        *([1, 3, 0], [4, 1, 0], [0, 3, 2], [2, 4, 0], [1, 7, 3], [5, 1, 4]),
        *([5, 7, 1], [3, 7, 2], [6, 4, 2], [2, 7, 6], [6, 5, 4], [7, 5, 6]),
    ]
)
_A, _B = 0.5257311121191336, 0.85065080835204  # of a unit icosahedron: sides of a golden rectangle
_ICOSAHEDRON = (
    *((-_A, _B, 0.0), (_A, _B, 0.0), (-_A, -_B, 0.0), (_A, -_B, 0.0)),
    *((0.0, -_A, _B), (0.0, _A, _B), (0.0, -_A, -_B), (0.0, _A, -_B)),
    *((_B, 0.0, -_A), (_B, 0.0, _A), (-_B, 0.0, -_A), (-_B, 0.0, _A)),
)
_ICOSAHEDRON_FACES = (
    *((0, 11, 5), (0, 5, 1), (0, 1, 7), (0, 7, 10), (0, 10, 11), (1, 5, 9), (5, 11, 4), (11, 10, 2), (10, 7, 6)),
    *((7, 1, 8), (3, 9, 4), (3, 4, 2), (3, 2, 6), (3, 6, 8), (3, 8, 9), (4, 9, 5), (2, 4, 11), (6, 2, 10)),
    *((8, 6, 7), (9, 8, 1)),
)
_OCTAHEDRON = np.array([[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5]])


def as_mesh(shape: Shape | SceneShape) -> TriangleMesh:
    """A shape as triangles: itself, what its file holds, or a mesh that is it or contains it."""
    if isinstance(shape, TriangleMesh):
        return shape
    if isinstance(shape, shapes.Mesh):
        from memetik.geometry.mesh_files import load_mesh

        return load_mesh(shape)
    if isinstance(shape, shapes.HeightMap):
        return height_map_mesh(shape)
    if isinstance(shape, shapes.VoxelMap):
        return voxel_map_mesh(shape)
    if isinstance(shape, Cone):
        return cone_mesh(shape)
    if isinstance(shape, Box):
        return box_mesh(shape)
    raise GeometryError(f"a {type(shape).__name__} has no triangles that hold it exactly.")


def surface_mesh(shape: Shape | SceneShape, sections: int = 32) -> TriangleMesh:
    """The surface of a shape; round ones with about `sections` facets around.

    Points that are drawn on surfaces depend on the order of these triangles.
    """
    if isinstance(shape, Box):
        return TriangleMesh(_BOX_CORNERS * np.asarray(shape.size), _BOX_FACES, "box")
    if isinstance(shape, Sphere):
        return icosphere(shape.radius, max(1, int(math.log2(sections / 3))))
    if not isinstance(shape, Capsule | Cylinder | Cone):
        return as_mesh(shape)
    r, half = shape.radius, 0.5 * shape.length
    outline = [(0.0, -half), (r, -half), *([(r, half)] if isinstance(shape, Cylinder) else []), (0.0, half)]
    return revolve(_capsule_outline(r, half, sections) if isinstance(shape, Capsule) else np.array(outline), sections)


def revolve(outline: np.ndarray, sections: int) -> TriangleMesh:
    """The surface that an outline (K, 2) of radii and heights, from the bottom up, makes about z."""
    count = len(outline)
    angles = np.linspace(0.0, 2.0 * np.pi, sections + 1)[:-1]
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    heights = np.broadcast_to(outline[:, 1:], (sections, count, 1))
    vertices = np.concatenate([ring[:, None] * outline[None, :, :1], heights], axis=2).reshape(-1, 3)
    low = np.arange(count - 1)
    quads = np.stack([low, low + count, low + 1, low + 1, low + count, low + count + 1], axis=1).reshape(-1, 3)
    on_axis = outline[:, 0] <= 0.0
    quads = quads[~np.stack([on_axis[:-1], on_axis[1:]], axis=1).ravel()]
    faces = (quads[None] + count * np.arange(sections)[:, None, None]).reshape(-1, 3) % len(vertices)
    faces = np.where(on_axis[faces % count], faces % count, faces)  # what lies on the axis is one vertex
    used, numbers = np.unique(faces, return_inverse=True)
    return TriangleMesh(vertices[used], numbers.reshape(-1, 3).astype(np.int32), "surface of revolution")


def icosphere(radius: float, halvings: int) -> TriangleMesh:
    """A ball of 20 * 4^halvings triangles of nearly the same size, from one halving on."""
    vertices, faces = np.array(_ICOSAHEDRON, dtype=float), np.array(_ICOSAHEDRON_FACES)
    for _ in range(halvings):
        vertices, faces = _halved(vertices, faces, 0.0)
        length = np.sqrt(np.dot(vertices**2, [1.0, 1.0, 1.0]))[:, None]
        vertices = vertices + vertices / length * (radius - length)
    return TriangleMesh(vertices, faces.astype(np.int32), "sphere")


def box_mesh(shape: Box) -> TriangleMesh:
    """The twelve triangles of a box."""
    faces = np.concatenate([_BOX_QUADS[:, [0, 1, 2]], _BOX_QUADS[:, [0, 2, 3]]]).astype(np.int32)
    return TriangleMesh(_BOX_CORNERS * np.asarray(shape.size), faces, "box")


def cone_mesh(shape: Cone, sides: int = 48) -> TriangleMesh:
    """A pyramid of `sides` around a cone: it contains the cone."""
    angles = 2.0 * np.pi * np.arange(sides) / sides
    radius = shape.radius / math.cos(math.pi / sides)
    rim = np.stack([radius * np.cos(angles), radius * np.sin(angles), np.full(sides, -0.5 * shape.length)], axis=1)
    vertices = np.concatenate([rim, [[0.0, 0.0, 0.5 * shape.length], [0.0, 0.0, -0.5 * shape.length]]])
    here, following = np.arange(sides), np.roll(np.arange(sides), -1)
    sides_up = np.stack([here, following, np.full(sides, sides)], axis=1)
    base = np.stack([following, here, np.full(sides, sides + 1)], axis=1)
    return TriangleMesh(vertices, np.concatenate([sides_up, base]).astype(np.int32), "cone")


def height_map_mesh(shape: shapes.HeightMap) -> TriangleMesh:
    """The ground as a closed solid: its surface, four walls and a bottom at its base."""
    nx, ny = (int(count) for count in shape.heights.shape)
    x = np.linspace(-0.5, 0.5, nx) * shape.size[0]
    y = np.linspace(-0.5, 0.5, ny) * shape.size[1]
    top = np.stack([*np.meshgrid(x, y, indexing="ij"), shape.heights], axis=-1).reshape(-1, 3)
    number = np.arange(nx * ny).reshape(nx, ny)
    a, b, c, d = number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]
    surface = np.stack([np.stack([a, b, c], -1), np.stack([a, c, d], -1)], axis=-2).reshape(-1, 3)
    # The rim, counter-clockwise seen from above, and the same points at the base.
    rim = np.concatenate([number[:-1, 0], number[-1, :-1], number[:0:-1, -1], number[0, :0:-1]])
    bottom = top[rim].copy()
    bottom[:, 2] = shape.base
    low = nx * ny + np.arange(len(rim))
    after, low_after = np.roll(rim, -1), np.roll(low, -1)
    walls = np.concatenate([np.stack([rim, low, low_after], 1), np.stack([rim, low_after, after], 1)])
    centre = nx * ny + len(rim)
    floor = np.stack([low_after, low, np.full(len(low), centre)], axis=1)
    vertices = np.concatenate([top, bottom, [[0.0, 0.0, float(shape.base or 0.0)]]])
    return TriangleMesh(vertices, np.concatenate([surface, walls, floor]).astype(np.int32), "height map")


def voxel_map_mesh(shape: shapes.VoxelMap) -> TriangleMesh:
    """The faces between occupied cells and free ones, wound outwards."""
    padded = np.pad(shape.occupied, 1)
    quads: list[np.ndarray] = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for side in (0, 1):
            free_neighbour = ~np.roll(padded, 1 - 2 * side, axis=axis)
            cells = np.argwhere((padded & free_neighbour)[1:-1, 1:-1, 1:-1])
            corner = cells.copy()
            corner[:, axis] += side
            steps = np.eye(3, dtype=int)
            square = [corner, corner + steps[u], corner + steps[u] + steps[v], corner + steps[v]]
            quads.append(np.stack(square if side else square[::-1], axis=1))
    corners = np.concatenate(quads)
    if 2 * len(corners) > MAX_ELEMENTS:
        raise GeometryError(f"a VoxelMap has {len(corners)} open cell faces; at most {MAX_ELEMENTS // 2} are accepted.")
    points, numbers = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    faces = numbers.reshape(-1, 4)[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3)
    return TriangleMesh(points * shape.size + np.asarray(shape.origin), faces.astype(np.int32), "voxel map")


def cloud_mesh(cloud: shapes.PointCloud, most: int = 3000) -> TriangleMesh:
    """An octahedron for each point of a cloud; of more than `most` points, for some spread over all."""
    points = cloud.points[:: max(1, math.ceil(len(cloud.points) / most))]
    offsets = cloud.radius * np.concatenate([np.eye(3), -np.eye(3)])
    faces = (_OCTAHEDRON[None] + 6 * np.arange(len(points))[:, None, None]).reshape(-1, 3)
    return TriangleMesh((points[:, None] + offsets[None]).reshape(-1, 3), faces.astype(np.int32), "points")


def subdivide(vertices: np.ndarray, faces: np.ndarray, longest: float) -> tuple[np.ndarray, np.ndarray]:
    """Triangles cut at the middles of their edges until no edge is longer; neighbours stay neighbours."""
    count = 0
    while count != len(vertices):
        count = len(vertices)
        vertices, faces = _halved(vertices, faces, longest)
    return vertices, faces


def _halved(vertices: np.ndarray, faces: np.ndarray, longest: float) -> tuple[np.ndarray, np.ndarray]:
    """Triangles cut once at the middles of the edges that are longer."""
    edges = np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    unique, number = np.unique(edges, axis=0, return_inverse=True)
    ends = vertices[unique]
    cut = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) > longest
    middle = np.where(cut, len(vertices) + np.cumsum(cut) - 1, -1)[number.reshape(-1, 3)]
    vertices = np.concatenate([vertices, ends[cut].mean(axis=1)])
    return vertices, np.concatenate([_cut(faces, middle, count) for count in range(4)])


def _cut(faces: np.ndarray, middle: np.ndarray, count: int) -> np.ndarray:
    """Those faces that have `count` edges with a middle (F, 3), else -1, cut there."""
    chosen = (middle >= 0).sum(axis=1) == count
    faces, middle = faces[chosen], middle[chosen]
    if count in (1, 2):
        # Turned so that the first edge has a middle and, of two, the last has none.
        first = np.argmax(middle >= 0, axis=1) if count == 1 else (np.argmin(middle, axis=1) + 1) % 3
        order = (first[:, None] + np.arange(3)) % 3
        faces, middle = np.take_along_axis(faces, order, axis=1), np.take_along_axis(middle, order, axis=1)
    (a, b, c), (ab, bc, ca) = faces.T, middle.T
    parts = {
        0: (a, b, c),
        1: (a, ab, c, ab, b, c),
        2: (ab, b, bc, a, ab, bc, a, bc, c),
        3: (a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca),
    }
    return np.stack(parts[count], axis=1).reshape(-1, 3)


def _capsule_outline(radius: float, half: float, sections: int) -> np.ndarray:
    """Radius and height along a capsule, from the bottom up."""
    low = np.linspace(-0.5 * math.pi, 0.0, max(2, sections // 2) + 1)
    quarter = radius * np.stack([np.cos(low), np.sin(low)], axis=1)
    quarter[0, 0] = 0.0
    return np.concatenate([quarter - (0.0, half), quarter[::-1] * (1.0, -1.0) + (0.0, half)])
