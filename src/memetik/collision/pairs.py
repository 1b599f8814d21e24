"""Two bodies against each other: do they collide, how far apart or how deep.

The signed distance of a pair is the distance where they are apart and minus their depth where they are not. Depth is
- between convex solids: the shortest way that separates them (coal's EPA);
- with a plane or a point cloud: how far the deepest point lies in the other body;
- with a solid mesh: how far beneath the surface of one the deepest point of the other lies, found by probing points
  spread over each and climbing from the deepest (a lower bound);
- with a shell, which has no inside: the largest depth of a single triangle in the other body.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from memetik.collision.bodies import BodyGeometry, coal
from memetik.geometry import primitives
from memetik.geometry.shapes import Sphere

_TINY = 1e-9  # metres: the depth of bodies that collide by less than can be measured
_CLIMB_STEPS = 12


class Separation(NamedTuple):
    """Signed distance of two bodies, the points of each that attain it, and the unit direction from first to second."""

    distance: float
    point_first: np.ndarray
    point_second: np.ndarray
    normal: np.ndarray


@dataclass(slots=True)
class PosedBody:
    """A body at a pose: rotation (3, 3) and position (3,), and the same for coal."""

    geometry: BodyGeometry
    rotation: np.ndarray
    position: np.ndarray
    transform: Any

    def to_world(self, points: np.ndarray) -> np.ndarray:
        """Points of the body's frame in the world."""
        return points @ self.rotation.T + self.position

    def to_local(self, points: np.ndarray) -> np.ndarray:
        """Points of the world in the body's frame."""
        return (points - self.position) @ self.rotation


class PairTest:
    """One pair of geometries; holds coal's functors and scratch, so it belongs to one thread."""

    def __init__(self, first: BodyGeometry, second: BodyGeometry):
        module = coal()
        self.by_coal = first.kind in ("convex", "mesh") and second.kind in ("convex", "mesh")
        self.encloses = (first.inside is not None, second.inside is not None)
        self.both_convex = first.kind == "convex" and second.kind == "convex"
        self.sphere = _sphere_of(first, second)
        self._request, self._result = module.CollisionRequest(), module.CollisionResult()
        self._distance_request, self._distance_result = module.DistanceRequest(), module.DistanceResult()
        if self.by_coal:
            self._collide = module.ComputeCollision(first.coal_geometry, second.coal_geometry)
            self._distance = module.ComputeDistance(first.coal_geometry, second.coal_geometry)
        self._request.enable_contact = False

    def collides(self, first: PosedBody, second: PosedBody, margin: float) -> bool:
        """Whether the bodies come closer than `margin`."""
        if not self.by_coal:
            return _analytic(first, second).distance < margin
        self._request.security_margin = margin
        self._result.clear()
        if self._collide(first.transform, second.transform, self._request, self._result) > 0:
            return True
        return (self.encloses[1] and _is_within(first, second)) or (self.encloses[0] and _is_within(second, first))

    def separation(self, first: PosedBody, second: PosedBody) -> Separation:
        """Signed distance, witness points and direction."""
        if not self.by_coal:
            return _analytic(first, second)
        if self.sphere == 1:
            return _sphere(first, second)
        if self.sphere == 0:
            return _swapped(_sphere(second, first))
        if self.both_convex:
            return self._measured(first, second)
        if not self.collides(first, second, 0.0):
            found = self._measured(first, second)
            if found.distance > 0.0:
                return found
        return self._depth(first, second)

    def _measured(self, first: PosedBody, second: PosedBody) -> Separation:
        result = self._distance_result
        result.clear()
        distance = self._distance(first.transform, second.transform, self._distance_request, result)
        return _witnessed(distance, result)

    def _depth(self, first: PosedBody, second: PosedBody) -> Separation:
        """The deepest point of either in the other, where at least one is a mesh."""
        best = Separation(-_TINY, first.position, first.position, np.array([0.0, 0.0, 1.0]))
        for probed, holder, sign in ((first, second, 1.0), (second, first, -1.0)):
            found = _deepest(probed, holder)
            if found is not None and -found[0] < best.distance:
                depth, inner, outer = found
                normal = sign * (inner - outer) / max(depth, 1e-300)
                points = (inner, outer) if sign > 0.0 else (outer, inner)
                best = Separation(-depth, *points, normal)
        if best.distance < -_TINY:
            return best
        return self._triangle_depth(first, second, best)

    def _triangle_depth(self, first: PosedBody, second: PosedBody, otherwise: Separation) -> Separation:
        """The largest depth of a single triangle: for shells, and where only edges cross."""
        module = coal()
        request, result = module.CollisionRequest(), module.CollisionResult()
        request.num_max_contacts, request.enable_contact = 256, True
        bodies = [(body.geometry.coal_geometry, body.transform) for body in (first, second)]
        module.collide(*bodies[0], *bodies[1], request, result)
        best = otherwise
        for contact in result.getContacts():
            depth = -float(contact.penetration_depth) if contact.penetration_depth < 0.0 else 0.0
            if np.isfinite(depth) and depth < 1e6 and depth >= -best.distance:
                best = _witnessed(-max(depth, _TINY), contact)
        return best


def _witnessed(distance: float, found: Any) -> Separation:
    """A distance with the points and the direction that coal found for it."""
    return Separation(distance, found.getNearestPoint1().copy(), found.getNearestPoint2().copy(), found.normal.copy())


def _is_within(body: PosedBody, holder: PosedBody) -> bool:
    """Whether a body that does not cross the holder's surface lies inside it, wholly or with one of its parts."""
    inside = holder.geometry.inside
    assert inside is not None
    points = holder.to_local(body.to_world(body.geometry.part_points))
    near = (np.abs(points - holder.geometry.centre) <= holder.geometry.half).all(axis=1)
    return any(inside.contains(point) for point in points[near])


def _analytic(first: PosedBody, second: PosedBody) -> Separation:
    if first.geometry.kind == "plane" or second.geometry.kind == "plane":
        return _plane(first, second) if second.geometry.kind == "plane" else _swapped(_plane(second, first))
    return _cloud(first, second) if second.geometry.kind == "points" else _swapped(_cloud(second, first))


def _swapped(found: Separation) -> Separation:
    return Separation(found.distance, found.point_second, found.point_first, -found.normal)


def _plane(body: PosedBody, plane: PosedBody) -> Separation:
    """A body against the half-space below a plane."""
    normal = plane.rotation[:, 2]
    lowest = body.to_world(body.geometry.lowest_point(normal @ body.rotation))
    height = float(normal @ (lowest - plane.position))
    return Separation(height, lowest, lowest - height * normal, -normal)


def _sphere_of(first: BodyGeometry, second: BodyGeometry) -> int | None:
    """Which of two primitives is a sphere: 0, 1, or None.

    coal 3.0.3 takes the wrong face of a cylinder for a sphere whose centre is inside it; the closed form is as quick.
    """
    if first.primitive is None or second.primitive is None:
        return None
    return 1 if isinstance(second.primitive, Sphere) else 0 if isinstance(first.primitive, Sphere) else None


def _sphere(body: PosedBody, ball: PosedBody) -> Separation:
    """A primitive against a sphere."""
    shape, sphere = body.geometry.primitive, ball.geometry.primitive
    assert shape is not None
    assert isinstance(sphere, Sphere)
    centre = body.to_local(ball.position)
    distance = float(primitives.signed_distance(shape, centre[None])[0])
    outward = _gradient(shape, centre)
    foot, normal = body.to_world(centre - distance * outward), body.rotation @ outward
    return Separation(distance - sphere.radius, foot, ball.position - sphere.radius * normal, normal)


def _cloud(body: PosedBody, cloud: PosedBody) -> Separation:
    """A body against balls around points."""
    geometry, points, radius = cloud.geometry, cloud.geometry.cloud.points, cloud.geometry.cloud.radius
    if body.geometry.kind == "points":
        distances, nearest = geometry.tree.query(cloud.to_local(body.to_world(body.geometry.cloud.points)))
        index = int(np.argmin(distances))
        first = body.to_world(body.geometry.cloud.points[index])
        second = cloud.to_world(points[nearest[index]])
        normal = _unit(second - first)
        own = body.geometry.cloud.radius
        distance = float(distances[index]) - own - radius
        return Separation(distance, first + own * normal, second - radius * normal, normal)
    candidates = points[_near(body, cloud)]
    local = body.to_local(cloud.to_world(candidates))
    distances = _point_distances(body.geometry, local)
    index = int(np.argmin(distances))
    point = cloud.to_world(candidates[index])
    surface = body.to_world(_foot(body.geometry, local[index], float(distances[index])))
    away = point - surface if distances[index] > 0.0 else surface - point
    normal = _unit(away) if np.linalg.norm(away) > 1e-12 else _unit(point - body.position)
    return Separation(float(distances[index]) - radius, surface, point - radius * normal, normal)


def _near(body: PosedBody, cloud: PosedBody) -> np.ndarray:
    """Indices of the points that can be the nearest to a body, or inside it."""
    centre = cloud.to_local(body.to_world(body.geometry.centre))
    reach = float(np.linalg.norm(body.geometry.half))
    nearest, _ = cloud.geometry.tree.query(centre)
    # The point nearest to the centre is within `nearest` of a body that holds its centre, `nearest + reach` of any.
    slack = reach if body.geometry.primitive is None else 0.0
    return np.asarray(cloud.geometry.tree.query_ball_point(centre, nearest + reach + slack + 1e-9))


def _point_distances(geometry: BodyGeometry, points: np.ndarray) -> np.ndarray:
    """Signed distances (N,) of points in the body's frame."""
    if geometry.primitive is not None:
        return primitives.signed_distance(geometry.primitive, points)
    return np.array([_point_to_mesh(geometry, point)[0] for point in points])


def _point_to_mesh(geometry: BodyGeometry, point: np.ndarray) -> tuple[float, np.ndarray]:
    """Signed distance of a point to a mesh or hull, and the nearest point of its surface, all in its frame."""
    if geometry.kind == "convex":
        normals, offsets = geometry.planes
        heights = normals @ point - offsets
        face = int(np.argmax(heights))
        if heights[face] <= 0.0:
            return float(heights[face]), point - heights[face] * normals[face]
    module = coal()
    result, request = module.DistanceResult(), module.DistanceRequest()
    place, own = module.Transform3s(np.eye(3), point), module.Transform3s()
    distance = module.distance(_speck(), place, geometry.coal_geometry, own, request, result) + _SPECK
    inside = geometry.inside is not None and geometry.inside.contains(point)
    return (-distance if inside else distance), result.getNearestPoint2().copy()


_SPECK = 1e-9


@cache
def _speck() -> Any:
    return coal().Sphere(_SPECK)


def _foot(geometry: BodyGeometry, point: np.ndarray, distance: float) -> np.ndarray:
    """The point of a body's surface nearest to a point; by the gradient of the distance where there is one."""
    if geometry.primitive is None:
        return _point_to_mesh(geometry, point)[1]
    return point - distance * _gradient(geometry.primitive, point)


def _gradient(shape: primitives.Primitive, point: np.ndarray) -> np.ndarray:
    step = 1e-6
    around = point + step * np.concatenate([np.eye(3), -np.eye(3)])
    values = primitives.signed_distance(shape, around)
    return _unit(values[:3] - values[3:])


def _deepest(probed: PosedBody, holder: PosedBody) -> tuple[float, np.ndarray, np.ndarray] | None:
    """(depth, deepest point, the holder's surface there) of a body in another; None where it does not reach in."""
    geometry = holder.geometry
    primitive = geometry.primitive
    local = holder.to_local(probed.to_world(probed.geometry.probes))
    if primitive is not None:
        local = holder.to_local(probed.to_world(probed.geometry.corners))
        distances = primitives.signed_distance(primitive, local)
        index = int(np.argmin(distances))
        if distances[index] >= 0.0:
            return None
        foot = _foot(geometry, local[index], float(distances[index]))
        return -float(distances[index]), holder.to_world(local[index]), holder.to_world(foot)
    if geometry.kind == "mesh" and geometry.inside is None:
        return None
    within = (np.abs(local - geometry.centre) <= geometry.half + 1e-12).all(axis=1)
    found = [(_point_to_solid(geometry, point), point) for point in local[within]]
    found = [((depth, foot), point) for (depth, foot), point in found if depth > 0.0]
    if not found:
        return None
    (depth, foot), point = max(found, key=lambda entry: entry[0][0])
    if probed.geometry.primitive is not None:
        depth, point, foot = _climb(probed, holder, depth, point, foot)
    return depth, holder.to_world(point), holder.to_world(foot)


def _point_to_solid(geometry: BodyGeometry, point: np.ndarray) -> tuple[float, np.ndarray]:
    """Depth of a point in a solid, negative outside, and the nearest point of the surface."""
    if geometry.inside is not None and not geometry.inside.contains(point):
        return -1.0, point
    distance, foot = _point_to_mesh(geometry, point)
    return -distance, foot


def _climb(
    probed: PosedBody, holder: PosedBody, depth: float, point: np.ndarray, foot: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """Move the deepest probe deeper, away from the surface, within its own primitive."""
    shape = probed.geometry.primitive
    assert shape is not None
    step = float(np.linalg.norm(probed.geometry.half)) * 0.25
    for _ in range(_CLIMB_STEPS):
        tried = point + step * _unit(point - foot)
        inner = primitives.nearest_inside(shape, probed.to_local(holder.to_world(tried))[None])[0]
        tried = holder.to_local(probed.to_world(inner))
        deeper, surface = _point_to_solid(holder.geometry, tried)
        if deeper > depth * (1.0 + 1e-9):
            depth, point, foot = deeper, tried, surface
        else:
            step *= 0.5
    return depth, point, foot


def _unit(vector: np.ndarray) -> np.ndarray:
    length = float(np.linalg.norm(vector))
    return vector / length if length > 1e-300 else np.array([0.0, 0.0, 1.0])
