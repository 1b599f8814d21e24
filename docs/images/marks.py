"""Marks for pictures of the documentation: balls, rods, arrows, frames, cones, planes."""

from __future__ import annotations

from typing import Any

import numpy as np

import memetik as mk
from memetik.bench.report.viewer import Part
from memetik.geometry.tessellate import surface_mesh

RED, GREEN, BLUE = (0.86, 0.20, 0.18, 1.0), (0.20, 0.62, 0.28, 1.0), (0.18, 0.36, 0.80, 1.0)
ORANGE, GREY, GLASS = (0.95, 0.55, 0.15, 1.0), (0.45, 0.45, 0.48, 1.0), (0.30, 0.50, 0.85, 0.3)


def ball(center: Any, radius: float = 0.02, color: Any = RED) -> Part:
    mesh = surface_mesh(mk.Sphere(radius), 18)
    return Part("mark", mesh.vertices + np.asarray(center), mesh.faces, np.asarray(color))


def rod(a: Any, b: Any, radius: float = 0.006, color: Any = RED) -> Part:
    """A capsule from a to b."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    length = float(np.linalg.norm(b - a))
    mesh = surface_mesh(mk.Capsule(radius, max(length, 1e-6)), 16)
    return Part("mark", mesh.vertices @ _along(b - a).T + 0.5 * (a + b), mesh.faces, np.asarray(color))


def arrow(start: Any, direction: Any, length: float = 0.2, color: Any = RED, radius: float = 0.007) -> list[Part]:
    """A rod with a point."""
    way = np.asarray(direction, dtype=float)
    way = way / np.linalg.norm(way)
    start = np.asarray(start, dtype=float)
    end = start + length * way
    return [rod(start, end - 0.05 * way, radius, color), cone(end, -way, 0.35, 0.06, color)]


def frame(pose: np.ndarray, length: float = 0.16) -> list[Part]:
    """Three arrows: x red, y green, z blue."""
    return [
        part
        for k, color in enumerate((RED, GREEN, BLUE))
        for part in arrow(pose[:3, 3], pose[:3, k], length, color, 0.006)
    ]


def cone(apex: Any, direction: Any, angle: float, length: float, color: Any = GLASS) -> Part:
    """A cone that opens from its apex in a direction, half its opening being `angle`."""
    turn = np.linspace(0.0, 2.0 * np.pi, 41)[:-1]
    rim = np.stack([np.sin(angle) * np.cos(turn), np.sin(angle) * np.sin(turn), np.full(40, np.cos(angle))], axis=1)
    vertices = np.vstack([np.zeros(3), length * rim, (0.0, 0.0, length * np.cos(angle))])
    ring = np.arange(40)
    faces = np.vstack([
        np.stack([np.zeros(40, int), 1 + ring, 1 + (ring + 1) % 40], axis=1),
        np.stack([np.full(40, 41), 1 + ring, 1 + (ring + 1) % 40], axis=1),
    ])  # fmt: skip
    way = np.asarray(direction, dtype=float)
    return Part("mark", vertices @ _along(way).T + np.asarray(apex), faces, np.asarray(color))


def plane(point: Any, normal: Any, edge: float = 0.9, color: Any = GLASS) -> Part:
    """A square around a point."""
    h = 0.5 * edge
    corners = np.array([(-h, -h, 0.0), (h, -h, 0.0), (h, h, 0.0), (-h, h, 0.0)])
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    return Part(
        "mark", corners @ _along(np.asarray(normal, dtype=float)).T + np.asarray(point), faces, np.asarray(color)
    )


def _along(direction: np.ndarray) -> np.ndarray:
    """A rotation whose z points in a direction."""
    length = float(np.linalg.norm(direction))
    z = direction / length if length > 1e-9 else np.array((0.0, 0.0, 1.0))
    x = np.cross(z, (1.0, 0.0, 0.0) if abs(z[0]) < 0.9 else (0.0, 1.0, 0.0))
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)
