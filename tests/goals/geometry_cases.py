"""Meshes for goals on geometry, robots that carry them, and plain formulas for what the goals measure."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import trimesh
from scipy.spatial.transform import Rotation

from memetik.geometry.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from memetik.goals.base import Goal
from memetik.robot.description import Description, Geometry, Joint, Link
from memetik.robot.robot import Robot
from memetik.solve.problem import Problem

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "robot"))


def carrier(*shapes: Shape, origins: list[np.ndarray] | None = None, arm: bool = False) -> Robot:
    """A floating link `body` with these shapes, or the same link at the end of an arm of three turns."""
    origins = [np.eye(4)] * len(shapes) if origins is None else origins
    body = Link("body", collisions=tuple(Geometry(s, o) for s, o in zip(shapes, origins, strict=True)))
    if not arm:
        joint = Joint("float", "floating", "base", "body", lower=(-10.0,) * 6, upper=(10.0,) * 6)
        return Robot(Description("carrier", (Link("base"), body), (joint,)))
    names = ["base", "upper", "lower", "body"]
    joints = []
    for k, axis in enumerate(((0, 0, 1), (0, 1, 0), (1, 0, 0))):
        origin = np.eye(4)
        origin[:3, 3] = (0.1, 0.05, 0.3)
        joints.append(Joint(f"turn{k}", "revolute", names[k], names[k + 1], origin, axis, lower=(-3.0,), upper=(3.0,)))
    return Robot(Description("arm", (*(Link(name) for name in names[:3]), body), tuple(joints)))


def random_pose(rng: np.random.Generator, reach: float = 0.3) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3] = Rotation.random(rng=rng).as_matrix()
    pose[:3, 3] = rng.uniform(-reach, reach, 3)
    return pose


def random_primitive(rng: np.random.Generator) -> Shape:
    size = rng.uniform(0.03, 0.3, 3)
    kind = rng.integers(4)
    if kind == 0:
        return Box(tuple(size))
    if kind == 1:
        return Sphere(float(size[0]))
    return Cylinder(float(size[0]), float(size[1])) if kind == 2 else Capsule(float(size[0]), float(size[1]))


def saved(mesh: trimesh.Trimesh, folder: Path, name: str = "mesh") -> Mesh:
    """The shape of a mesh in a file; PLY keeps all digits of its vertices."""
    path = folder / f"{name}.ply"
    vertices, faces = np.asarray(mesh.vertices), np.asarray(mesh.faces)
    lines = ["ply", "format ascii 1.0", f"element vertex {len(vertices)}"]
    lines += [f"property double {axis}" for axis in "xyz"]
    lines += [f"element face {len(faces)}", "property list uchar int vertex_indices", "end_header"]
    lines += [" ".join(repr(float(x)) for x in vertex) for vertex in vertices]
    lines += [f"3 {a} {b} {c}" for a, b, c in faces]
    path.write_text("\n".join(lines) + "\n")
    return Mesh(str(path), str(path))


def bent_tube(
    radius: float = 0.02, bend: float = 0.2, angle: float = 1.8, rings: int = 24, sides: int = 16
) -> trimesh.Trimesh:
    """A closed tube along an arc in the x-z plane that starts at the origin along z: a curved shaft."""
    turns, around = np.linspace(0.0, angle, rings), np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    vertices = []
    for turn in turns:
        centre = np.array([bend * (1.0 - np.cos(turn)), 0.0, bend * np.sin(turn)])
        inward = np.array([np.cos(turn), 0.0, -np.sin(turn)])
        vertices += [centre + radius * (np.cos(a) * inward + np.sin(a) * np.array([0.0, 1.0, 0.0])) for a in around]
    start, end = len(vertices), len(vertices) + 1
    last = np.array([bend * (1.0 - np.cos(angle)), 0.0, bend * np.sin(angle)])
    vertices += [np.zeros(3), last]
    faces = []
    for ring in range(rings - 1):
        for k in range(sides):
            a, b = ring * sides + k, ring * sides + (k + 1) % sides
            faces += [(a, b, b + sides), (a, b + sides, a + sides)]
    for k in range(sides):
        top = (rings - 1) * sides
        faces += [(start, (k + 1) % sides, k), (end, top + k, top + (k + 1) % sides)]
    mesh = trimesh.Trimesh(np.array(vertices), np.array(faces), process=False)
    if mesh.volume < 0.0:
        mesh.invert()
    return mesh


def arc_point(share: float, bend: float = 0.2, angle: float = 1.8) -> np.ndarray:
    """A point of the tube's middle line."""
    turn = share * angle
    return np.array([bend * (1.0 - np.cos(turn)), 0.0, bend * np.sin(turn)])


def bumpy_ball(rng: np.random.Generator, subdivisions: int = 3) -> trimesh.Trimesh:
    """A star-shaped body that is not convex."""
    ball = trimesh.creation.icosphere(subdivisions=subdivisions, radius=0.1)
    ball.vertices *= rng.uniform(0.8, 1.2, (len(ball.vertices), 1))
    return ball


def unsigned_distance(triangles: np.ndarray, point: np.ndarray) -> float:
    """From a point to triangles (T, 3, 3): to the plane where the foot is inside, else to the edges."""
    a, b, c = np.moveaxis(triangles, 1, 0)
    best = np.inf
    for p, q in ((a, b), (b, c), (c, a)):
        side = q - p
        t = np.clip(np.einsum("ij,ij->i", point - p, side) / np.einsum("ij,ij->i", side, side), 0.0, 1.0)
        best = min(best, float(np.linalg.norm(p + t[:, None] * side - point, axis=1).min()))
    normal = np.cross(b - a, c - a)
    area = np.einsum("ij,ij->i", normal, normal)
    inside = np.ones(len(a), bool)
    for p, q in ((a, b), (b, c), (c, a)):
        inside &= np.einsum("ij,ij->i", np.cross(q - p, point - p), normal) >= 0.0
    if inside.any():
        best = min(best, float((np.abs(np.einsum("ij,ij->i", point - a, normal)) / np.sqrt(area))[inside].min()))
    return best


def winding(triangles: np.ndarray, point: np.ndarray) -> float:
    """How often triangles go around a point, by their solid angles."""
    a, b, c = np.moveaxis(triangles - point, 1, 0)
    la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
    dots = [np.einsum("ij,ij->i", u, v) for u, v in ((a, b), (b, c), (c, a))]
    height = np.einsum("ij,ij->i", a, np.cross(b, c))
    return float(np.arctan2(height, la * lb * lc + dots[0] * lc + dots[1] * la + dots[2] * lb).sum() / (2.0 * np.pi))


def signed_distance(mesh: trimesh.Trimesh, point: np.ndarray) -> float:
    triangles = np.asarray(mesh.triangles)
    distance = unsigned_distance(triangles, point)
    return -distance if winding(triangles, point) > 0.5 else distance


def primitive_distance(shape: Shape, x: np.ndarray) -> float:
    """Signed, in the shape's frame, from the definitions."""
    if isinstance(shape, Sphere):
        return float(np.linalg.norm(x)) - shape.radius
    if isinstance(shape, Capsule):
        nearest = np.array([0.0, 0.0, np.clip(x[2], -0.5 * shape.length, 0.5 * shape.length)])
        return float(np.linalg.norm(x - nearest)) - shape.radius
    if isinstance(shape, Box):
        beyond = np.abs(x) - 0.5 * np.array(shape.size)
    else:
        beyond = np.array([np.hypot(x[0], x[1]) - shape.radius, abs(x[2]) - 0.5 * shape.length])
    return float(np.linalg.norm(np.maximum(beyond, 0.0)) + min(beyond.max(), 0.0))


def core_errors(robot: Robot, goal: Goal, q: np.ndarray) -> np.ndarray:
    """The core's scalar errors of a goal at a configuration: with all joints held, a solve only checks it."""
    solution = Problem(robot, goal, fixed=robot.joint_names).solve(seed=q)
    return np.array([error for terms in solution.errors.values() for error in terms.values()])


def core_rows(robot: Robot, goal: Goal, configurations: np.ndarray) -> np.ndarray:
    """The search's residuals (N, rows) of a goal, weighted."""
    core = Problem(robot, goal).core
    return core.evaluate((), configurations[0], np.ascontiguousarray(configurations[:, core.variables]))[0]


def assert_derivative_is_exact(
    robot: Robot, goal: Goal, q: np.ndarray, *, step: float = 1e-6, smooth_share: float = 0.8, **options: Any
) -> bool:
    """Compares with central differences away from kinks; False where there are too many of these to tell."""
    core = Problem(robot, goal, **options).core
    world = {} if not options else {"collision": Problem(robot, goal, **options).collision_context.conservative.core}
    x = q[core.variables]
    steps = step * np.eye(len(x))
    r, jacobian = core.evaluate((), q, np.concatenate([x[None], x + steps, x - steps]), **world)
    ahead, behind = r[1 : 1 + len(x)], r[1 + len(x) :]
    kink = np.abs((ahead - r[0]) - (r[0] - behind)).T / step
    scale = max(1.0, np.abs(jacobian[0]).max(initial=0.0))
    smooth = kink <= 1e-3 * scale
    difference = np.abs(jacobian[0] - (ahead - behind).T / (2.0 * step))
    assert difference[smooth].max(initial=0.0) <= 1e-6 * scale
    return bool(smooth.mean() >= smooth_share)
