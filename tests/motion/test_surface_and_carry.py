"""Pens on surfaces, boxes between two hands, and people's motion on a robot: checked against plain geometry."""

import sys
from pathlib import Path

import numpy as np
import pytest

import memetik as mk
from memetik.errors import InvalidInputError, UnknownNameError

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from story_files import walk


@pytest.fixture(scope="module")
def carried():
    robot = mk.load_robot("baxter").group("both_arms")
    scene = mk.Scene()
    scene.add_box("box", (0.25, 0.36, 0.20), mk.transform((0.70, 0.0, 0.16)))
    to = mk.transform((0.65, 0.15, 0.45), rpy=(0, 0, 0.3))
    return robot, to, mk.carry(robot, scene, "box", to, hands=["left_gripper", "right_gripper"])


def test_hands_keep_the_box_between_them(carried):
    robot, to, plan = carried
    assert plan.success, plan.explain()
    moments = np.linspace(plan.approach_time + 1e-6, plan.trajectory.duration, 200)
    left, right = (robot.pose(link, plan.trajectory.at(moments)) for link in ("left_gripper", "right_gripper"))
    between = np.linalg.inv(left) @ right
    assert np.abs(between - between[0]).max() < 4e-3
    middle = 0.5 * (left + right)[-1, :3, 3]
    assert np.linalg.norm(middle - to[:3, 3]) < 5e-3  # the hands hold the middles of two opposite faces
    assert abs(np.linalg.norm((left - right)[0, :3, 3]) - 0.36) < 2e-3


def test_only_boxes_are_held_without_given_grasps():
    robot, scene = mk.load_robot("baxter"), mk.Scene()
    scene.add_sphere("ball", 0.1, mk.transform((0.7, 0, 0.3)))
    with pytest.raises(InvalidInputError, match="two links hold a box"):
        mk.carry(robot, scene, "ball", mk.transform((0.7, 0, 0.5)), hands=["left_gripper", "right_gripper"])


def test_the_pen_stays_on_the_sphere_and_stands_on_it():
    robot, scene = mk.load_robot("ur5"), mk.Scene()
    centre, radius, pen = np.array((0.55, 0.0, 0.15)), 0.25, 0.12
    scene.add_sphere("globe", radius, mk.transform(centre))
    line = np.array([(0.50, -0.05, 0.5), (0.60, 0.05, 0.5)])
    plan = mk.draw(robot, scene, "globe", line, pen=pen, along=(0, 0, -1))
    assert plan.success, plan.explain()
    poses = robot.pose("tool0", plan.trajectory.at(np.linspace(0.0, plan.trajectory.duration, 300)))
    tips = poses[:, :3, 3] + pen * poses[:, :3, 2]
    away = np.linalg.norm(tips - centre, axis=1) - radius
    assert np.abs(away).max() < 1e-3  # facets of the sphere and what the path may deviate by
    inward = (centre - tips) / np.linalg.norm(centre - tips, axis=1, keepdims=True)
    assert np.arccos(np.clip((inward * poses[:, :3, 2]).sum(axis=1), -1, 1)).max() < 0.08


def test_paths_that_miss_the_surface_are_refused():
    scene = mk.Scene()
    scene.add_sphere("globe", 0.1)
    with pytest.raises(InvalidInputError, match="misses the surface"):
        mk.project_path(scene, "globe", [(1.0, 0, 1), (1.1, 0, 1)], along=(0, 0, -1))
    with pytest.raises(InvalidInputError, match="two or more"):
        mk.project_path(scene, "globe", [(1.0, 0, 1)])


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("walk") / "walk.bvh"
    path.write_text(walk())
    return mk.load_bvh(path, scale=0.01)


def test_a_walk_goes_over_without_jumps(recorded):
    robot = mk.load_robot("valkyrie").group("full_body")
    table = mk.propose_correspondences(recorded, robot)
    assert table["LeftFoot"] == "leftFoot"
    assert table["RightHand"] == "rightPalm"
    moved = mk.retarget(recorded, robot, table=table)
    rate = 1.0 / recorded.frame_time
    frames = moved.trajectory.at(np.arange(len(recorded.postures)) / rate)
    assert (np.abs(np.diff(frames, axis=0)) * rate <= robot.velocity * 1.001 + 1e-9).all()
    assert max(moved.errors[foot].max() for foot in ("LeftFoot", "RightFoot")) < 0.05
    forward = robot.pose("pelvis", frames)[:, :3, 3]
    assert np.linalg.norm((forward[-1] - forward[0])[:2]) > 0.4  # the person went 0.66 m


def test_a_table_with_unknown_joints_is_refused(recorded):
    robot = mk.load_robot("valkyrie")
    with pytest.raises(UnknownNameError):
        mk.retarget(recorded, robot, table={"LeftPaw": "leftFoot"})
    with pytest.raises(InvalidInputError, match="rate="):
        mk.retarget({"LeftHand": np.zeros((4, 3))}, robot, table={"LeftHand": "leftPalm"})
