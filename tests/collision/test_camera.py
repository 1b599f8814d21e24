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
