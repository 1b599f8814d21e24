"""Targets on chosen surfaces of a mesh: points with normals, in the files that reach studies and benchmarks read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from memetik.bench.scenarios.files import size_remarks
from memetik.errors import GeometryError, InvalidInputError
from memetik.files.atomic import write_whole
from memetik.geometry.formats.ply import write_ply
from memetik.geometry.mesh_files import load_mesh
from memetik.geometry.surface_points import sample_triangles

_AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


@dataclass(frozen=True)
class Choice:
    """Which surfaces of a mesh.

    facing  a direction such as "+z" or "0 0 1", near which a face's normal must be; None: all.
    angle   degrees that is near.
    within  a box "x0 y0 z0 x1 y1 z1" in which a face's middle must be; None: everywhere.
    side    "out": along the faces' normals, "in": against them.
    """

    facing: str | None = None
    angle: float = 45.0
    within: str | None = None
    side: str = "out"


def sample_mesh(
    mesh: str | os.PathLike[str],
    output: str | os.PathLike[str],
    count: int = 1000,
    choice: Choice | None = None,
    *,
    even: bool = False,
    seed: int = 0,
    robot: str | None = None,
    scale: float = 1.0,
) -> dict[str, Any]:
    """Writes `count` points with normals on the chosen surfaces to a .pcd or .ply file; what was done.

    even   spread as far apart as they can be, instead of at random.
    robot  also writes a scenario's file (.toml) beside it, for that robot.
    scale  the mesh's unit in metres. The choice and the areas are in metres; the points are in the mesh's unit, so that
           one scale is right for both.
    """
    output, choice = Path(output), choice or Choice()
    if output.suffix.lower() not in (".pcd", ".ply"):
        raise InvalidInputError(f"targets are written as .pcd or .ply, not {output.suffix or 'without a suffix'}.")
    if not output.parent.is_dir():
        raise InvalidInputError(f"the folder {str(output.parent)!r} does not exist.")
    if count < 1:
        raise InvalidInputError(f"at least one target is to be made, not {count}.")
    if seed < 0:
        raise InvalidInputError(f"seed is a whole number from 0 on, not {seed}.")
    if not 0.0 < scale < np.inf:
        raise InvalidInputError(f"scale is the mesh's unit in metres, such as 0.001, not {scale}.")
    surface = load_mesh(mesh, scale=scale)
    triangles = surface.triangles
    chosen = triangles[chosen_faces(triangles, choice)]
    if not len(chosen):
        raise GeometryError(f"none of the {len(triangles)} faces of {Path(mesh).name!r} is on the chosen surfaces.")
    drawn = 8 * count if even else count
    points, normals = sample_triangles(chosen, drawn, np.random.default_rng(seed))
    if choice.side == "in":
        normals = -normals
    if even:
        spread = _spread(points, count)
        points, normals = points[spread], normals[spread]
    points = points / scale
    write_whole(
        output, write_pcd(points, normals) if output.suffix.lower() == ".pcd" else write_ply(points, None, normals)
    )
    scenario = output.with_suffix(".toml") if robot else None
    if scenario is not None:
        where = os.path.relpath(Path(mesh).resolve(), output.parent.resolve())
        lines = ['schema = "memetik.scenario/1"', f'robot = "{robot}"', f'mesh = "{Path(where).as_posix()}"',
                 f'targets = "{output.name}"', f"scale = {scale!r}", 'spin = "fixed"']  # fmt: skip
        write_whole(scenario, ("\n".join(lines) + "\n").encode())
    return {
        "count": len(points), "area": _area(chosen), "whole_area": _area(triangles), "output": str(output),
        "scenario": None if scenario is None else str(scenario),
        "remarks": size_remarks(surface.vertices, Path(mesh).name, "--scale 0.001"),
    }  # fmt: skip


def chosen_faces(triangles: np.ndarray, choice: Choice) -> np.ndarray:
    """Which of the triangles (T, 3, 3) are chosen, (T,) booleans."""
    if choice.side not in ("out", "in"):
        raise InvalidInputError(f"side is 'out' or 'in', not {choice.side!r}.")
    cross = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    keep = np.linalg.norm(cross, axis=1) > 0.0
    if choice.facing is not None:
        way = _direction(choice.facing) * (1.0 if choice.side == "out" else -1.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            cosine = cross @ way / np.linalg.norm(cross, axis=1)
        keep &= cosine >= np.cos(np.radians(choice.angle)) - 1e-12
    if choice.within is not None:
        box = _numbers(choice.within, 6, "within")
        middle = triangles.mean(axis=1)
        keep &= ((middle >= box[:3]) & (middle <= box[3:])).all(axis=1)
    return keep


def write_pcd(points: np.ndarray, normals: np.ndarray) -> bytes:
    """The bytes of a binary PCD file with single precision, as the Point Cloud Library writes points with normals."""
    fields = ("x", "y", "z", "normal_x", "normal_y", "normal_z")
    header = [
        "# .PCD v0.7 - Point Cloud Data file format", "VERSION 0.7", f"FIELDS {' '.join(fields)}", "SIZE 4 4 4 4 4 4",
        "TYPE F F F F F F", "COUNT 1 1 1 1 1 1", f"WIDTH {len(points)}", "HEIGHT 1", "VIEWPOINT 0 0 0 1 0 0 0",
        f"POINTS {len(points)}", "DATA binary",
    ]  # fmt: skip
    return ("\n".join(header) + "\n").encode() + np.hstack([points, normals]).astype("<f4").tobytes()


def _spread(points: np.ndarray, count: int) -> np.ndarray:
    """Numbers of `count` points, each the farthest from those before it."""
    chosen, nearest = [0], np.full(len(points), np.inf)
    while len(chosen) < count:
        nearest = np.minimum(nearest, np.sum((points - points[chosen[-1]]) ** 2, axis=1))
        chosen.append(int(np.argmax(nearest)))
    return np.array(chosen)


def _direction(text: str) -> np.ndarray:
    letter = text.strip().lstrip("+-").lower()
    if letter in _AXES:
        return np.array(_AXES[letter], dtype=float) * (-1.0 if text.strip().startswith("-") else 1.0)
    vector = _numbers(text, 3, "facing")
    if not np.linalg.norm(vector) > 1e-9:
        raise InvalidInputError(f"facing is a direction such as '+z' or '0 0 1', not {text!r}.")
    return vector / np.linalg.norm(vector)


def _numbers(text: str, count: int, what: str) -> np.ndarray:
    try:
        numbers = np.array([float(word) for word in text.replace(",", " ").split()])
    except ValueError:
        numbers = np.zeros(0)
    if len(numbers) != count or not np.isfinite(numbers).all():
        raise InvalidInputError(f"{what} takes {count} numbers, not {text!r}.")
    return numbers


def _area(triangles: np.ndarray) -> float:
    cross = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    return float(0.5 * np.linalg.norm(cross, axis=1).sum())
