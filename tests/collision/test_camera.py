"""Points of a depth camera, against the geometry that the image was made of."""

import sys
from pathlib import Path

import numpy as np
import pytest

import memetik as mk
from memetik.errors import InvalidInputError

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from story_files import depth_image

CAMERA = mk.transform((1.4, 0.0, 1.1), rpy=(-2.3, 0.0, 1.5708))
INTRINSICS = (525, 525, 319.5, 239.5)


def test_points_lie_on_what_was_seen():
    points = mk.camera_points(depth_image(), INTRINSICS, CAMERA)
    on_floor = np.abs(points[:, 2] + 0.02) < 1e-5
    low, high = np.array((0.40, -0.10, 0.0)), np.array((0.55, 0.10, 0.30))
    on_box = np.max(np.abs(points - 0.5 * (low + high)) - 0.5 * (high - low), axis=1)
    in_column = np.max(np.abs(points - (0, 0, 0.15)) - (0.07, 0.07, 0.15), axis=1)
    assert (on_floor | (np.abs(on_box) < 1e-5) | (np.abs(in_column) < 1e-5)).all()
    assert (np.abs(on_box) < 1e-5).sum() > 500


def test_the_robot_is_left_out():
    robot = mk.load_robot("panda")
    seen = mk.camera_points(depth_image(), INTRINSICS, CAMERA)
    left = mk.camera_points(depth_image(), INTRINSICS, CAMERA, robot=robot, q=robot.neutral, padding=0.05)
    assert len(left) < len(seen)
    scene = mk.Scene()
    scene.add_points("seen", left, radius=0.01)
    pytest.importorskip("coal")
    assert not mk.CollisionModel(robot, scene).collides(robot.neutral)


@pytest.mark.parametrize(
    ("depth", "intrinsics", "options"),
    [
        (np.zeros(5), INTRINSICS, {}),
        (np.zeros((4, 4)), (0, 1, 2, 2), {}),
        (np.zeros((4, 4)), (1, 1, 2), {}),
        (np.zeros((4, 4)), INTRINSICS, {"stride": 0}),
    ],
)
def test_bad_images_are_refused(depth, intrinsics, options):
    with pytest.raises(InvalidInputError):
        mk.camera_points(depth, intrinsics, np.eye(4), **options)


def test_pixels_without_depth_give_no_points():
    depth = np.array([[0.0, np.nan], [np.inf, 9.0]])
    assert len(mk.camera_points(depth, (1, 1, 0, 0), np.eye(4), stride=1)) == 0


def test_points_on_what_is_attached_are_left_out():
    robot, scene = mk.load_robot("panda"), mk.Scene()
    at = robot.pose(robot.tip, robot.neutral)[:3, 3] + (0.3, 0.0, 0.0)
    cloud = at + np.random.default_rng(0).uniform(-0.2, 0.2, (2000, 3))
    scene.attach("ball", mk.Sphere(0.1), link=robot.tip, pose=mk.transform((0.0, 0.0, 0.0)))
    pose = np.linalg.inv(robot.pose(robot.tip, robot.neutral)) @ mk.transform(at)
    scene.move("ball", pose)
    alone = mk.points_off_robot(cloud, robot, robot.neutral, padding=0.01)
    left = mk.points_off_robot(cloud, robot, robot.neutral, scene=scene, padding=0.01)
    away = np.linalg.norm(cloud - at, axis=1) > 0.11
    assert len(left) < len(alone)
    kept = {tuple(row) for row in left.tolist()}
    assert kept == {tuple(row) for row in alone.tolist()} & {tuple(row) for row in cloud[away].tolist()}


def test_points_off_the_robot_are_those_farther_than_the_padding():
    robot = mk.load_robot("ur5")
    q = robot.random(3)
    rng = np.random.default_rng(1)
    cloud = rng.uniform((-1.0, -1.0, -0.2), (1.0, 1.0, 1.2), (4000, 3))
    cloud[7] = np.nan
    left = mk.points_off_robot(cloud, robot, q, padding=0.05)
    scene = mk.Scene()
    scene.add_points("one", cloud[:1], 0.05)
    model = mk.CollisionModel(robot, scene, self_collision=False)
    kept = {tuple(row) for row in left.tolist()}
    for row in cloud[:120]:
        if not np.isfinite(row).all():
            assert tuple(row) not in kept
            continue
        scene.replace("one", mk.Sphere(0.05))
        scene.move("one", mk.transform(row))
        fixed = row[2] < 0.12 and np.hypot(*row[:2]) < 0.15  # the base, which the model does not check
        if not fixed and model.collides(q):
            assert tuple(row) not in kept
    assert 0.5 * len(cloud) < len(left) < len(cloud)


@pytest.mark.parametrize(("points", "padding"), [(np.zeros((3, 2)), 0.1), (np.zeros((3, 3)), -1.0)])
def test_wrong_points_are_refused(points, padding):
    with pytest.raises(InvalidInputError):
        mk.points_off_robot(points, mk.load_robot("panda"), padding=padding)
