"""Closed forms of the primitives: signed distance, bounds, extent along a direction, points on the surface."""

from __future__ import annotations

import math

import numpy as np

from memetik.geometry.shapes import Box, Capsule, Cone, Cylinder, SceneShape, Shape, Sphere
from memetik.geometry.tessellate import as_mesh

Primitive = Box | Sphere | Cylinder | Capsule | Cone
PRIMITIVES = (Box, Sphere, Cylinder, Capsule, Cone)


def signed_distance(shape: Primitive, points: np.ndarray) -> np.ndarray:
    """Distance (N,) of points (N, 3) to a primitive in its own frame: negative inside, by how far the surface is."""
    if isinstance(shape, Sphere):
        return np.linalg.norm(points, axis=1) - shape.radius
    if isinstance(shape, Capsule):
        along = np.clip(points[:, 2], -0.5 * shape.length, 0.5 * shape.length)
        return np.sqrt(points[:, 0] ** 2 + points[:, 1] ** 2 + (points[:, 2] - along) ** 2) - shape.radius
    if isinstance(shape, Box):
        return _beyond(np.abs(points) - 0.5 * np.asarray(shape.size))
    radial = np.hypot(points[:, 0], points[:, 1])
    if isinstance(shape, Cylinder):
        return _beyond(np.stack([radial - shape.radius, np.abs(points[:, 2]) - 0.5 * shape.length], axis=1))
    return _cone_distance(shape, radial, points[:, 2])


def nearest_inside(shape: Primitive, points: np.ndarray) -> np.ndarray:
    """The points (N, 3) of a solid primitive nearest to the given ones."""
    if isinstance(shape, Sphere):
        length = np.linalg.norm(points, axis=1, keepdims=True)
        return points * np.minimum(1.0, shape.radius / np.maximum(length, 1e-300))
    if isinstance(shape, Box):
        half = 0.5 * np.asarray(shape.size)
        return np.clip(points, -half, half)
    half = 0.5 * shape.length
    if isinstance(shape, Capsule):
        axis = np.zeros_like(points)
        axis[:, 2] = np.clip(points[:, 2], -half, half)
        return axis + nearest_inside(Sphere(shape.radius), points - axis)
    radial = np.hypot(points[:, 0], points[:, 1])
    height = np.clip(points[:, 2], -half, half)
    # For a cone the clipping is radial instead of to the nearest point: inside, which is what matters here.
    most = shape.radius if isinstance(shape, Cylinder) else shape.radius * (half - height) / shape.length
    factor = np.minimum(1.0, most / np.maximum(radial, 1e-300))
    return np.stack([points[:, 0] * factor, points[:, 1] * factor, height], axis=1)


def half_extents(shape: Primitive) -> np.ndarray:
    """Half the edges of the box around a primitive, which is centred at its origin."""
    if isinstance(shape, Box):
        return 0.5 * np.asarray(shape.size)
    if isinstance(shape, Sphere):
        return np.full(3, shape.radius)
    end = shape.radius if isinstance(shape, Capsule) else 0.0
    return np.array([shape.radius, shape.radius, 0.5 * shape.length + end])


def lowest_point(shape: Primitive, direction: np.ndarray) -> np.ndarray:
    """The point (3,) of a primitive that lies least far along a unit direction."""
    if isinstance(shape, Sphere):
        return -shape.radius * direction
    if isinstance(shape, Box):
        return -0.5 * np.asarray(shape.size) * np.where(direction >= 0.0, 1.0, -1.0)
    half = 0.5 * shape.length
    end = np.array([0.0, 0.0, -half if direction[2] >= 0.0 else half])
    if isinstance(shape, Capsule):
        return end - shape.radius * direction
    across = math.hypot(direction[0], direction[1])
    rim = np.array([direction[0], direction[1], 0.0]) * (-shape.radius / across) if across > 1e-12 else np.zeros(3)
    if isinstance(shape, Cylinder):
        return rim + end
    base, apex = np.array([rim[0], rim[1], -half]), np.array([0.0, 0.0, half])
    return base if base @ direction <= apex @ direction else apex


def extreme_point(shape: Shape | SceneShape, direction: np.ndarray) -> np.ndarray:
    """The point (3,) of a primitive or of a mesh that lies farthest along a unit direction."""
    if isinstance(shape, PRIMITIVES):
        return lowest_point(shape, -direction)
    vertices = as_mesh(shape).vertices
    return vertices[int(np.argmax(vertices @ direction))]


def surface_points(shape: Primitive) -> np.ndarray:
    """Points (N, 3) spread over a primitive's surface and along its axis, its centre first."""
    angles = np.linspace(0.0, 2.0 * math.pi, 12, endpoint=False)
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    levels = np.linspace(-1.0, 1.0, 9)
    if isinstance(shape, Box):
        grid = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, 5)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
        return np.concatenate([np.zeros((1, 3)), grid * half_extents(shape)])
    polar = np.linspace(0.0, math.pi, 7)
    ball = np.concatenate([np.column_stack([ring * math.sin(a), np.full(len(ring), math.cos(a))]) for a in polar])
    if isinstance(shape, Sphere):
        return np.concatenate([np.zeros((1, 3)), shape.radius * ball])
    half = 0.5 * shape.length
    axis = np.column_stack([np.zeros((9, 2)), levels * half])
    if isinstance(shape, Capsule):
        side = [np.column_stack([ring * shape.radius, np.full(len(ring), level * half)]) for level in levels]
        caps = [shape.radius * ball + (0.0, 0.0, sign * half) for sign in (-1.0, 1.0)]
        return np.concatenate([np.zeros((1, 3)), axis, *side, *caps])
    side = list[np.ndarray]()
    for level in levels:
        taper = 1.0 if isinstance(shape, Cylinder) else 0.5 * (1.0 - level)
        rings = [ring * shape.radius * taper * share for share in (0.5, 1.0)]
        side += [np.column_stack([inner, np.full(len(ring), level * half)]) for inner in rings]
    return np.concatenate([np.zeros((1, 3)), axis, *side])


def _beyond(excess: np.ndarray) -> np.ndarray:
    """Signed distance from how far points are beyond each pair of faces: the rule for boxes of any dimension."""
    return np.linalg.norm(np.maximum(excess, 0.0), axis=1) + np.minimum(excess.max(axis=1), 0.0)


def _cone_distance(shape: Cone, radial: np.ndarray, height: np.ndarray) -> np.ndarray:
    """In the half plane of the cone's section: a triangle with corners (0, -h/2), (R, -h/2), (0, h/2)."""
    half = 0.5 * shape.length
    slant = np.array([-shape.radius, shape.length])
    share = np.clip(((radial - shape.radius) * slant[0] + (height + half) * slant[1]) / (slant @ slant), 0.0, 1.0)
    to_side = np.hypot(radial - shape.radius - share * slant[0], height + half - share * slant[1])
    to_base = np.hypot(np.maximum(radial - shape.radius, 0.0), height + half)
    inside = (height >= -half) & ((radial - shape.radius) * slant[1] - (height + half) * slant[0] <= 0.0)
    distance = np.minimum(to_side, to_base)
    return np.where(inside, -distance, distance)
