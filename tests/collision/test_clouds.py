"""Point clouds in the fast models and the exact check, against distances that are computed point by point."""

import pickle

import numpy as np
import pytest

import memetik as mk
from memetik.collision.exact import CollisionModel
from memetik.collision.fast import FastModel
from memetik.collision.mesh_checker import MeshChecker
from memetik.geometry.shapes import PointCloud
from memetik.scene.scene import Scene

RADIUS = 0.01


def ball() -> mk.Robot:
    """A sphere of 5 cm that three slides move."""
    links = "".join(f'<link name="{name}"/>' for name in ("base", "x", "y"))
    links += '<link name="ball"><collision><geometry><sphere radius="0.05"/></geometry></collision></link>'
    joints = "".join(
        f'<joint name="j{child}" type="prismatic"><parent link="{parent}"/><child link="{child}"/><axis xyz="{axis}"/>'
        '<limit lower="-3" upper="3" effort="1" velocity="1"/></joint>'
        for parent, child, axis in (("base", "x", "1 0 0"), ("x", "y", "0 1 0"), ("y", "ball", "0 0 1"))
    )
    return mk.load_robot(f'<robot name="ball">{links}{joints}</robot>')


def surface(count: int, seed: int) -> np.ndarray:
    """Points on a sphere of half a metre, a plane, and a thin stick."""
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=(count, 3))
    points = 0.5 * direction / np.linalg.norm(direction, axis=1, keepdims=True) + (0.3, 0.2, 0.1)
    third = count // 3
    points[:third] = rng.uniform((-2.0, -2.0, -0.5), (2.0, 2.0, -0.5), (third, 3))
    points[third : 2 * third, :2] = (0.9, -0.4)
    return points


@pytest.mark.parametrize("count", [1, 4, 5, 32, 33, 1000, 20_000])
def test_clearance_is_that_of_the_nearest_point(count):
    robot, points = ball(), surface(count, count)
    scene = Scene()
    scene.add_points("cloud", points, RADIUS, mk.transform((0.1, -0.2, 0.3), rpy=(0.4, -0.7, 1.9)))
    placed = points @ scene["cloud"].pose[:3, :3].T + scene["cloud"].pose[:3, 3]
    q = np.random.default_rng(1).uniform(-1.5, 1.5, (200, 3))
    truth = np.linalg.norm(q[:, None] - placed, axis=2).min(axis=1) - RADIUS - 0.05
    for setting in ("tight", "conservative"):
        model = FastModel(robot, scene, setting)
        assert model.clearance(q, 10.0) == pytest.approx(truth, abs=2e-5)
        assert (model.collides(q, 0.1) == (model.clearance(q, 10.0) < 0.1)).all()
        near = model.clearance(q, 0.2)
        assert near == pytest.approx(np.minimum(truth, 0.2), abs=2e-5)
    far = np.abs(truth) > 1e-4
    assert (MeshChecker(robot, scene).collides(q) == (truth < 0.0))[far].all()


def test_gradients_point_away_from_the_nearest_point():
    robot, scene = ball(), Scene()
    scene.add_points("cloud", surface(3000, 2), RADIUS)
    model = FastModel(robot, scene)
    q = np.random.default_rng(3).uniform(-1.0, 1.0, (50, 3))
    step = 1e-6
    slopes = [(model.clearance(q + d) - model.clearance(q - d)) / (2 * step) for d in step * np.eye(3)]
    assert model.gradient(q) == pytest.approx(np.array(slopes).T, abs=1e-4)


def test_capsules_among_points_are_exact():
    robot = mk.load_robot("panda")
    scene = Scene()
    scene.add_points("cloud", surface(5000, 4) * (0.5, 0.5, 0.5) + (0.45, -0.1, 0.2), RADIUS)
    exact = CollisionModel(robot, scene, self_collision=False)
    tight, conservative = (FastModel(robot, scene, kind, self_collision=False) for kind in ("tight", "conservative"))
    native = MeshChecker(robot, scene, self_collision=False)
    q = robot.random(5, 300)
    truth = np.array([exact.collides(row) for row in q])
    assert 30 < truth.sum() < 295
    assert (native.collides(q) == truth).all()
    assert not (truth & ~conservative.collides(q)).any()
    assert not (tight.collides(q) & ~truth).any()


def test_a_new_cloud_is_seen_by_the_next_solve_and_the_robot_is_kept():
    robot, scene = mk.load_robot("panda"), Scene()
    scene.add("cloud", PointCloud([[3.0, 0.0, 0.0]], RADIUS))
    problem = mk.Problem(robot, mk.Pose(robot.tip), scene=scene, self_collision=True)
    target = robot.pose(robot.tip, robot.neutral)
    assert problem.solve(target).success
    context = problem.collision_context
    assert context is not None
    kept = context.native.core.robot
    scene.replace("cloud", PointCloud(target[:3, 3] + np.zeros((1, 3)), 0.15))
    blocked = problem.solve(target)
    assert not blocked.success
    assert context.native.core.robot is kept
    scene.replace("cloud", PointCloud([[3.0, 0.0, 0.0]], RADIUS))
    assert problem.solve(target).success


def test_a_cloud_pickles_without_what_is_derived_from_it():
    cloud = PointCloud(surface(100, 6), RADIUS)
    assert cloud.core is cloud.core
    again = pickle.loads(pickle.dumps(cloud))
    assert again == cloud
    assert "core" not in vars(again)


def test_equal_points_and_extreme_coordinates_are_taken():
    robot = ball()
    for points in (np.zeros((50, 3)), np.array([[1e6, -1e6, 0.0], [0.4, 0.0, 0.0]])):
        scene = Scene()
        scene.add_points("cloud", points, RADIUS)
        model = FastModel(robot, scene)
        q = np.array([[0.5, 0.0, 0.0]])
        truth = np.linalg.norm(points - q, axis=1).min() - RADIUS - 0.05
        assert model.clearance(q)[0] == pytest.approx(truth, abs=1e-4)
