"""Height maps and voxel maps as closed triangle meshes, which is what they are exactly."""

from __future__ import annotations

import numpy as np

from memetik.errors import GeometryError
from memetik.scene.objects import MAX_ELEMENTS, HeightMap, TriangleMesh, VoxelMap


def height_map_mesh(shape: HeightMap) -> TriangleMesh:
    """The ground as a closed solid: its surface, four walls and a bottom at its base."""
    nx, ny = shape.heights.shape
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


def voxel_map_mesh(shape: VoxelMap) -> TriangleMesh:
    """The faces between occupied cells and free ones, wound outwards."""
    padded = np.pad(shape.occupied, 1)
    quads = []
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
