"""Distance fields against exact distances, on good and on broken meshes.

Run: python benchmarks/distance_field.py [--points 20000] [--cells 60]
The bar: on random points the error is within the bound that the field states, near the surface and far from it, on
meshes with flipped faces, holes, slivers, doubled vertices and polygons; a mesh that cannot be signed is said to be a
shell. Truth is trimesh's nearest point on the triangles, with the sign of the sound mesh that the broken one was made
from, and closed forms for the ball and the box.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import trimesh

from memetik.bench.scenarios.surroundings import make_surroundings
from memetik.geometry.distance_field import DistanceField
from memetik.geometry.polygons import triangulate_polygons


@dataclass
class Case:
    """A mesh as it is given to the field, and where its inside is; None: it has none."""

    name: str
    vertices: np.ndarray
    faces: Any
    inside: Callable[[np.ndarray], np.ndarray] | None
    triangles: np.ndarray | None = None
    form: Callable[[np.ndarray], np.ndarray] | None = None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--cells", type=int, default=60, help="fine cells along the longest edge")
    arguments = parser.parse_args()
    print("errors as shares of the stated bounds; positive: the value is too large")
    columns = (("build s", 8), ("kind", 6), ("band low", 9), ("high", 6), ("grid low", 9), ("high", 6), ("outside", 8))
    print(f"{'mesh':34} {'faces':>6} " + " ".join(f"{name:>{width}}" for name, width in columns))
    failures = [case.name for case in cases() if not check(case, arguments.points, arguments.cells)]
    print("bar: every share between -1 and 1, outside at most 1:", "held" if not failures else f"MISSED by {failures}")
    return bool(failures)


def check(case: Case, count: int, cells: int) -> bool:
    """Print one row; whether all bounds hold and the kind is right."""
    extent = np.ptp(case.vertices, axis=0).max()
    begin = time.perf_counter()
    field = DistanceField(case.vertices, case.faces, extent / cells)
    spent = time.perf_counter() - begin
    points = random_points(case.vertices, count, 0.6 * extent)
    truth = exact(case, points)
    low, high = field.box
    inside = ((points >= low) & (points <= high)).all(axis=1)
    near = inside & (np.abs(truth) < field.band)
    error = field.value(points) - truth
    band, grid = error[near] / field.bound, error[inside] / field.far_bound
    outside = float((error[~inside] / field.far_bound).max(initial=-math.inf))
    triangles = len(case.faces) if case.triangles is None else len(case.triangles)
    kind = "shell" if field.is_shell else "solid"
    print(
        f"{case.name:34} {triangles:6d} {spent:8.2f} {kind:>6} {band.min():9.2f} {band.max():6.2f} {grid.min():9.2f} "
        f"{grid.max():6.2f} {outside:8.2f}"
    )
    right = field.is_shell == (case.inside is None)
    return bool(right and np.abs(band).max() <= 1.0 and np.abs(grid).max() <= 1.0 and outside <= 1.0)


def random_points(vertices: np.ndarray, count: int, reach: float) -> np.ndarray:
    """Half of them anywhere around the mesh, half near its vertices."""
    rng = np.random.default_rng(0)
    spread = rng.uniform(vertices.min(axis=0) - reach, vertices.max(axis=0) + reach, (count // 2, 3))
    near = vertices[rng.integers(len(vertices), size=count - len(spread))]
    return np.concatenate([spread, near + rng.normal(scale=0.05 * reach, size=near.shape)])


def exact(case: Case, points: np.ndarray) -> np.ndarray:
    if case.form is not None:
        return case.form(points)
    faces = case.faces if case.triangles is None else case.triangles
    mesh = trimesh.Trimesh(case.vertices, faces, process=False)
    distance = np.concatenate([trimesh.proximity.closest_point(mesh, part)[1] for part in np.array_split(points, 20)])
    return distance if case.inside is None else np.where(case.inside(points), -distance, distance)


def cases() -> list[Case]:
    rng = np.random.default_rng(1)
    ball = trimesh.creation.icosphere(subdivisions=5, radius=0.1)
    torus = trimesh.creation.torus(0.1, 0.035, major_sections=48, minor_sections=24)
    half = np.array([0.1, 0.06, 0.15])
    box = trimesh.creation.box(2.0 * half)
    flips = rng.uniform(size=len(torus.faces)) < 0.4
    flipped = np.where(flips[:, None], torus.faces[:, ::-1], torus.faces)
    soup = torus.vertices[flipped].reshape(-1, 3)
    numbers = np.arange(len(soup)).reshape(-1, 3)
    sliver_vertices, sliver_faces = with_slivers(torus)
    window = torus.faces[np.linalg.norm(torus.triangles_center - torus.vertices[0], axis=1) > 0.05]
    pinhole = torus.faces[1:]
    cup = make_surroundings("Barrel", count=1).scene["barrel"].shape
    tank = make_surroundings("HydrogenTankSmall", count=1).scene["tank"].shape
    ring_vertices, ring_faces = ring()
    ring_triangles = triangulate(ring_vertices, ring_faces)
    return [
        Case("ball, closed form", ball.vertices, ball.faces, inside_of(ball), form=ball_form),
        Case("box, closed form", box.vertices, box.faces, inside_of(box), form=box_form(half)),
        Case("torus", torus.vertices, torus.faces, inside_of(torus)),
        Case("torus, 40 % of the faces flipped", torus.vertices, flipped, inside_of(torus)),
        Case("torus, flipped, vertices doubled", soup, numbers, inside_of(torus)),
        Case("torus, slivers and empty faces", sliver_vertices, sliver_faces, inside_of(torus)),
        Case("torus, one face missing", torus.vertices, pinhole, inside_of(torus)),
        Case("torus, a window cut out", torus.vertices, window, None),
        Case("sheet", *sheet(), None),
        Case("ring of polygons, concave caps", ring_vertices, ring_faces, inside_ring, triangles=ring_triangles),
        Case("barrel", cup.vertices, cup.faces, inside_of(trimesh.Trimesh(cup.vertices, cup.faces))),
        Case(
            "tank with a neck of 35 mm",
            tank.vertices,
            tank.faces,
            inside_of(trimesh.Trimesh(tank.vertices, tank.faces)),
        ),
    ]


def ball_form(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points, axis=1) - 0.1


def box_form(half: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    def form(points: np.ndarray) -> np.ndarray:
        beyond = np.abs(points) - half
        return np.linalg.norm(np.maximum(beyond, 0.0), axis=1) + np.minimum(beyond.max(axis=1), 0.0)

    return form


def inside_of(mesh: trimesh.Trimesh) -> Callable[[np.ndarray], np.ndarray]:
    return mesh.contains


def with_slivers(mesh: trimesh.Trimesh) -> tuple[np.ndarray, np.ndarray]:
    """Every tenth face split at a point a hair from its edge, and faces without area added."""
    vertices, faces = list(mesh.vertices), []
    for number, (a, b, c) in enumerate(mesh.faces.tolist()):
        if number % 10:
            faces.append((a, b, c))
            continue
        middle = 0.5 * (mesh.vertices[a] + mesh.vertices[b])
        vertices.append(middle + 1e-7 * (mesh.vertices[c] - middle))
        new = len(vertices) - 1
        faces += [(a, b, new), (b, c, new), (c, a, new), (a, a, b), (a, new, a)]
    return np.array(vertices), np.array(faces)


def sheet() -> tuple[np.ndarray, np.ndarray]:
    x, y = np.meshgrid(np.linspace(0.0, 0.3, 13), np.linspace(0.0, 0.2, 9), indexing="ij")
    vertices = np.stack([x, y, 0.03 * np.sin(20.0 * x)], axis=-1).reshape(-1, 3)
    number = np.arange(13 * 9).reshape(13, 9)
    a, b, c, d = number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]
    return vertices, np.stack([np.stack([a, b, c], -1), np.stack([a, c, d], -1)], axis=-2).reshape(-1, 3)


def ring() -> tuple[np.ndarray, list[list[int]]]:
    """A ring of square section: its two caps are polygons with a slit, its walls quads."""
    sides = 12
    angles = 2.0 * np.pi * np.arange(sides) / sides
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rows = [np.c_[radius * circle, np.full(sides, z)] for z in (0.0, 0.05) for radius in (0.1, 0.06)]
    vertices = np.concatenate(rows)  # outer low, inner low, outer high, inner high
    loop = [*range(sides), 0]
    inner = [sides, *range(2 * sides - 1, sides - 1, -1)]
    high = [k + 2 * sides for k in (*loop, *inner)]
    low = [*loop, *inner][::-1]
    walls = []
    for k in range(sides):
        after = (k + 1) % sides
        walls.append([k, after, 2 * sides + after, 2 * sides + k])
        walls.append([sides + after, sides + k, 3 * sides + k, 3 * sides + after])
    return vertices, [low, high, *walls]


def inside_ring(points: np.ndarray) -> np.ndarray:
    """Between two regular prisms of twelve sides."""
    angle = np.mod(np.arctan2(points[:, 1], points[:, 0]), np.pi / 6.0) - np.pi / 12.0
    across = np.hypot(points[:, 0], points[:, 1]) * np.cos(angle) / math.cos(np.pi / 12.0)
    return (across < 0.1) & (across > 0.06) & (points[:, 2] > 0.0) & (points[:, 2] < 0.05)


def triangulate(vertices: np.ndarray, faces: list[list[int]]) -> np.ndarray:
    groups: dict[int, list[list[int]]] = {}
    for face in faces:
        groups.setdefault(len(face), []).append(face)
    return triangulate_polygons(vertices, [np.array(group) for group in groups.values()])[0]


if __name__ == "__main__":
    sys.exit(main())
