"""ProjectOntoSurface: rays against surfaces, the poses that follow from them, fallbacks and derivatives."""

from __future__ import annotations

import math
import pickle
from pathlib import Path

import numpy as np
import pytest
import trimesh
from geometry_cases import assert_derivative_is_exact, bumpy_ball, carrier, core_errors, core_rows, random_pose, saved
from random_trees import random_description

import memetik as mk
from memetik.errors import GoalError
from memetik.geometry.shapes import HeightMap, Sphere, TriangleMesh
from memetik.robot.robot import Robot

SCALE = 0.3
"""Metres per radian: what rows of the axis are multiplied by."""


def cast(mesh: trimesh.Trimesh, x: np.ndarray, a: np.ndarray, least: float, most: float, closed: bool) -> tuple | None:
    """Point and normal of the crossing nearest to x, over all triangles."""
    corner, b, c = np.moveaxis(np.asarray(mesh.triangles), 1, 0)
    normals = np.cross(b - corner, c - corner)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    facing = normals @ a
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.einsum("ij,ij->i", corner - x, normals) / facing
    foot = x + t[:, None] * a
    inside = (t >= least) & (t <= most) & ((facing < 0.0) | (not closed))
    for p, q in ((corner, b), (b, c), (c, corner)):
        inside &= np.einsum("ij,ij->i", np.cross(q - p, foot - p), normals) >= 0.0
    if not inside.any():
        return None
    k = int(np.flatnonzero(inside)[np.abs(t[inside]).argmin()])
    return foot[k], normals[k] * -np.sign(facing[k])


def configuration_at(robot: Robot, pose: np.ndarray) -> np.ndarray:
    solution = mk.solve(robot, mk.Pose("body", pose), evaluations=20000)
    assert solution.success
    return solution.q


def sheet() -> TriangleMesh:
    """Open, uneven ground of 1 x 1 m around z = 0."""
    x, y = np.meshgrid(np.linspace(-0.5, 0.5, 15), np.linspace(-0.5, 0.5, 15), indexing="ij")
    vertices = np.column_stack([x.ravel(), y.ravel(), 0.05 * np.sin(5.0 * x.ravel()) * np.cos(4.0 * y.ravel())])
    at = np.arange(225).reshape(15, 15)
    a, b, c, d = at[:-1, :-1].ravel(), at[1:, :-1].ravel(), at[1:, 1:].ravel(), at[:-1, 1:].ravel()
    return TriangleMesh(vertices, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)]))


@pytest.mark.parametrize("closed", [True, False])
def test_residual_is_that_of_the_nearest_hit(closed: bool) -> None:
    rng = np.random.default_rng(1)
    mesh = bumpy_ball(rng, 2) if closed else trimesh.Trimesh(*_parts(sheet()), process=False)
    robot = carrier(Sphere(0.1))
    hits = 0
    for q in robot.random(rng, 300):
        q[:3] = rng.uniform(-0.15, 0.15, 3)
        goal = mk.ProjectOntoSurface("body", "x", mesh, 0.02, behind=0.2, reach=0.5, crease=0.0)
        pose = robot.pose("body", q)
        found = cast(mesh, pose[:3, 3], pose[:3, 0], -0.2, 0.5, closed)
        if found is None:
            continue
        hits += 1
        point, normal = found
        off, against = pose[:3, 3] - point - 0.02 * normal, pose[:3, 0] + normal
        rows = core_rows(robot, goal, q[None])[0]
        assert np.abs(rows[:3] - off).max() < 1e-9
        assert np.abs(rows[3:] - SCALE * against).max() < 1e-9
        errors = core_errors(robot, goal, q)
        turned = math.atan2(np.linalg.norm(np.cross(pose[:3, 0], -normal)), -float(pose[:3, 0] @ normal))
        assert np.abs(errors - [np.linalg.norm(off), turned]).max() < 1e-9
    assert hits > 60


def _parts(mesh: TriangleMesh) -> tuple[np.ndarray, np.ndarray]:
    return np.array(mesh.vertices), np.array(mesh.faces)


def test_hits_agree_with_trimesh() -> None:
    rng = np.random.default_rng(2)
    mesh = bumpy_ball(rng)
    robot = carrier(Sphere(0.1))
    for _ in range(60):
        x = 0.3 * _unit(rng.normal(size=3))
        a = _unit(rng.uniform(-0.05, 0.05, 3) - x)
        points, _, faces = mesh.ray.intersects_location([x], [a])
        nearest = np.linalg.norm(points - x, axis=1).argmin()
        pose = np.eye(4)
        pose[:3, 2] = a
        pose[:3, 0] = _unit(np.cross(a, [0.3, -0.5, 0.7]))
        pose[:3, 1] = np.cross(a, pose[:3, 0])
        pose[:3, 3] = x
        goal = mk.ProjectOntoSurface("body", "z", mesh, behind=0.0, crease=0.0)
        errors = core_errors(robot, goal, configuration_at(robot, pose))
        assert errors[0] == pytest.approx(np.linalg.norm(points[nearest] - x), abs=1e-4)
        angle = math.acos(np.clip(-mesh.face_normals[faces[nearest]] @ a, -1.0, 1.0))
        assert errors[1] == pytest.approx(angle, abs=1e-4)


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize(("fallback", "crease"), [(True, 0.5), (False, 0.5), (False, 0.0)])
def test_jacobian_equals_finite_differences_on_random_trees(fallback: bool, crease: float) -> None:
    told = hits = 0
    ball = trimesh.creation.icosphere(subdivisions=2, radius=0.5)
    for number in range(25):
        rng = np.random.default_rng(400 + number)
        robot = Robot(random_description(rng, 8))
        links = [name for name in robot.links if robot.moves(name).any()]
        link = str(rng.choice(links))
        others = [name for name in robot.links if name != link]
        reference = str(rng.choice(others)) if rng.random() < 0.5 else None
        for q in robot.random(rng, 4):
            pose = robot.pose(link, q)
            if reference is not None:
                pose = np.linalg.inv(robot.pose(reference, q)) @ pose
            surface_pose = np.eye(4)
            surface_pose[:3, 3] = pose[:3, 3] + pose[:3, 1] * rng.uniform(0.6, 1.0) + rng.uniform(-0.2, 0.2, 3)
            if fallback:
                surface_pose[:3, 3] += 50.0 * pose[:3, 0]  # out of the ray's way
            goal = mk.ProjectOntoSurface(
                link, "y", ball, 0.05, random_pose(rng) if fallback else None, surface_pose=surface_pose, reach=3.0,
                crease=crease, relative_to=reference,
            )  # fmt: skip
            mesh = ball.copy()
            mesh.apply_transform(surface_pose)
            if not fallback and cast(mesh, pose[:3, 3], pose[:3, 1], -0.1, 3.0, True) is None:
                continue
            hits += 1
            told += assert_derivative_is_exact(robot, goal, q)
    assert hits > 50
    assert told > 0.8 * hits


@pytest.mark.parametrize("surface", [trimesh.creation.icosphere(1, 0.3), trimesh.creation.box((0.4, 0.3, 0.2))])
def test_jacobian_is_exact_where_the_ray_misses(surface: trimesh.Trimesh) -> None:
    """The nearest point lies on a face, an edge or a corner; the direction from it turns as the link moves."""
    robot, told, missed = carrier(Sphere(0.05)), 0, 0
    rng = np.random.default_rng(9)
    for stand_off in (0.0, 0.1):
        for _ in range(30):
            q = robot.random(rng)
            q[:3] = rng.uniform(0.3, 0.8) * _unit(rng.normal(size=3))
            outwards = robot.pose("body", q)[:3, :3].T @ _unit(q[:3] + rng.uniform(-0.1, 0.1, 3))
            goal = mk.ProjectOntoSurface("body", outwards, surface, stand_off, reach=3.0)
            missed += 1
            told += assert_derivative_is_exact(robot, goal, q)
    assert told > 0.8 * missed


def test_a_foot_stands_on_uneven_ground() -> None:
    """Six joints: where it stands is given, how high and how it is turned follow from the ground."""
    rng = np.random.default_rng(3)
    ground = sheet()
    mesh = trimesh.Trimesh(*_parts(ground), process=False)
    robot = carrier(Sphere(0.05))
    problem = mk.Problem(
        robot, [mk.ProjectOntoSurface("body", "-z", ground, 0.01, crease=0.0), mk.Line("body", None, "z")]
    )
    for number in range(25):
        place = np.append(rng.uniform(-0.4, 0.4, 2), 0.0)
        seed = np.concatenate([place + rng.uniform(-0.1, 0.1, 3) + (0, 0, 0.3), rng.uniform(-0.5, 0.5, 3)])
        solution = problem.solve(place, seed=seed, rng=number, timeout=1.0)
        assert solution.success
        pose = robot.pose("body", solution.q)
        found = cast(mesh, pose[:3, 3], -pose[:3, 2], -0.1, 10.0, False)
        assert found is not None
        point, normal = found
        assert np.linalg.norm(pose[:3, 3] - point - 0.01 * normal) < 1.1e-5
        assert np.linalg.norm(np.cross(pose[:3, 2], normal)) < 1.1e-5
        assert np.linalg.norm(pose[:2, 3] - place[:2]) < 1.1e-5


def test_normals_of_a_curved_surface_turn_gradually_across_its_faces() -> None:
    """On a ball of 1280 faces, 7 degrees apart, they point away from its middle to a quarter of a degree."""
    ball = trimesh.creation.icosphere(subdivisions=3, radius=0.2)
    robot = carrier(Sphere(0.05))
    rng = np.random.default_rng(6)
    for q in robot.random(rng, 40):
        q[:3] = 0.3 * _unit(rng.normal(size=3))
        pose = robot.pose("body", q)
        axis = pose[:3, :3].T @ _unit(rng.uniform(-0.1, 0.1, 3) - q[:3])
        goal = mk.ProjectOntoSurface("body", axis, ball)
        rows = core_rows(robot, goal, q[None])[0]
        a = pose[:3, :3] @ goal.axis
        point, face = cast(ball, q[:3], a, 0.0, 1.0, True)
        normal = rows[3:] / SCALE - a
        assert np.linalg.norm(normal) == pytest.approx(1.0, abs=1e-12)
        assert np.linalg.norm(np.cross(normal, _unit(point))) < 0.005
        assert np.abs(rows[:3] - (q[:3] - point)).max() < 1e-9
        assert normal @ face < 1.0


def test_edges_sharper_than_the_crease_stay_edges() -> None:
    robot = carrier(Sphere(0.05))
    rng, tops = np.random.default_rng(7), 0
    for _ in range(20):
        q = np.concatenate([rng.uniform(-0.09, 0.09, 2), [0.3], rng.uniform(-0.1, 0.1, 3)])
        goal = mk.ProjectOntoSurface("body", "-z", mk.Box((0.2, 0.2, 0.2)))
        down = -robot.pose("body", q)[:3, 2]
        found = cast(trimesh.creation.box((0.2, 0.2, 0.2)), q[:3], down, 0.0, 1.0, True)
        if found is None or found[1][2] < 0.9:
            continue
        tops += 1
        assert np.abs(core_rows(robot, goal, q[None])[0, 3:] / SCALE - down - (0.0, 0.0, 1.0)).max() < 1e-12
    assert tops > 10


def test_curved_surfaces_are_reached_at_any_stand_off() -> None:
    """Farther from a ball than its radius, where taking it for flat would turn the axis too far at each step."""
    robot, ball = carrier(Sphere(0.05)), trimesh.creation.icosphere(subdivisions=3, radius=0.1)
    rng = np.random.default_rng(8)
    for stand_off in (0.0, 0.1, 0.3):
        problem = mk.Problem(robot, mk.ProjectOntoSurface("body", "z", ball, stand_off, behind=0.05))
        for number in range(20):
            solution = problem.solve(seed=robot.random(rng), rng=number, timeout=1.0)
            assert solution.success
            pose = robot.pose("body", solution.q)
            assert np.linalg.norm(pose[:3, 3]) == pytest.approx(0.1 + stand_off, abs=1.5e-3)
            assert np.linalg.norm(np.cross(pose[:3, 2], _unit(pose[:3, 3]))) < 0.01


def test_a_link_beyond_the_surface_finds_back() -> None:
    robot = carrier(Sphere(0.05))
    box = mk.Box((1.0, 1.0, 0.2))
    goal = mk.ProjectOntoSurface("body", "-z", box)
    seed = np.array([0.1, 0.1, 0.05, 0.0, 0.0, 0.0])  # 5 cm below its top
    solution = mk.solve(robot, goal, seed=seed, evaluations=8 * 40)
    assert solution.success
    assert solution.q[2] == pytest.approx(0.1, abs=1.1e-5)


def test_without_a_hit_the_nearest_point_leads_to_the_surface() -> None:
    """The axis points away from the ball at first."""
    robot = carrier(Sphere(0.05))
    ball = trimesh.creation.icosphere(subdivisions=3, radius=0.2)
    rng = np.random.default_rng(4)
    for number in range(10):
        solution = mk.solve(
            robot, mk.ProjectOntoSurface("body", "z", ball, 0.1), seed=robot.random(rng), rng=number, timeout=1.0
        )
        assert solution.success
        pose = robot.pose("body", solution.q)
        assert np.linalg.norm(pose[:3, 3]) == pytest.approx(0.3, abs=2e-3)
        assert cast(ball, pose[:3, 3], pose[:3, 2], 0.0, 1.0, True) is not None


def test_without_a_hit_the_fallback_is_the_target() -> None:
    """As over the edge of a step: the pose that an animation gives, given at each solve."""
    robot = carrier(Sphere(0.05))
    ground = HeightMap(np.zeros((5, 5)), (1.0, 1.0))
    rng = np.random.default_rng(5)
    problem = mk.Problem(robot, mk.ProjectOntoSurface("body", "-z", ground, fallback="open", name="foot"))
    for number in range(5):
        target = random_pose(rng)
        target[:3, 3] += (3.0, 0.0, 0.0)  # beside the ground, whatever the ray
        target[:3, 2] = (0.0, 0.0, 1.0)
        target[:3, 0] = _unit(np.array([target[0, 0], target[1, 0], 0.0]))
        target[:3, 1] = np.cross(target[:3, 2], target[:3, 0])
        seed = np.array([3.0, 0.1, 0.5, 0.1, 0.0, 0.2])
        solution = problem.solve({"foot": target}, seed=seed, rng=number, timeout=1.0)
        assert solution.success
        pose = robot.pose("body", solution.q)
        on_ground = abs(pose[2, 3]) < 1.1e-5 and np.abs(pose[:2, 3]).max() <= 0.5
        assert on_ground or np.abs(pose - target).max() < 2e-5


def test_surfaces_may_be_files_shapes_and_meshes(tmp_path: Path) -> None:
    robot = carrier(Sphere(0.05))
    mesh = trimesh.creation.box((0.2, 0.2, 0.2))
    seed = np.array([0.01, 0.02, 0.3, 0.1, 0.1, 0.0])
    lift = np.eye(4)
    lift[2, 3] = 0.05
    shape = saved(mesh, tmp_path)
    for surface in (mesh, shape, str(shape.path), mk.Box((0.2, 0.2, 0.2)), TriangleMesh(mesh.vertices, mesh.faces)):
        solution = mk.solve(robot, mk.ProjectOntoSurface("body", "-z", surface, 0.1, surface_pose=lift), seed=seed)
        assert solution.success
        assert solution.q[2] == pytest.approx(0.25, abs=1.1e-5)


def test_errors_say_what_is_wrong() -> None:
    ball = trimesh.creation.icosphere(subdivisions=1)
    with pytest.raises(GoalError, match="ProjectOntoSurface needs a surface"):
        mk.ProjectOntoSurface("body", "z")
    with pytest.raises(GoalError, match="a surface is a mesh, the path of one"):
        mk.ProjectOntoSurface("body", "z", Sphere(0.1))
    with pytest.raises(GoalError, match="a pose, None or 'open'"):
        mk.ProjectOntoSurface("body", "z", ball, fallback="rest")
    with pytest.raises(GoalError, match="`behind` >= 0 m behind the link"):
        mk.ProjectOntoSurface("body", "z", ball, behind=-1.0)
    with pytest.raises(GoalError, match="the stand_off of ProjectOntoSurface must be a finite number"):
        mk.ProjectOntoSurface("body", "z", ball, math.nan)
    goal = mk.ProjectOntoSurface("foot", "-z", mk.Box((1.0, 1.0, 0.1)), 0.01)
    assert repr(goal).startswith(
        "ProjectOntoSurface('foot', axis=[ 0., 0., -1.], surface=TriangleMesh(8 vertices, 12 faces"
    )
    assert repr(pickle.loads(pickle.dumps(goal))) == repr(goal)
