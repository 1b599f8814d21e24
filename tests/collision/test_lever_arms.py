"""Lever arms bound how far points of bodies move."""

import numpy as np
import pytest

import memetik as mk
from memetik.collision.lever_arms import LeverArms
from memetik.motion.planning.free_space import motion_levers


@pytest.mark.parametrize("name", ["panda", "ur10", "elise"])
def test_no_link_origin_moves_farther_than_the_levers_say(name):
    robot = mk.load_robot(name)
    links = list(robot.links)
    arms = LeverArms(robot.tree, range(len(links)), [0.0] * len(links))
    levers = arms.by_variable(np.maximum(np.abs(robot.lower), np.abs(robot.upper)))
    a, b = robot.random(1, 300), robot.random(2, 300)
    b = a + 0.01 * (b - a)
    moved = np.linalg.norm(robot.pose(links, b)[..., :3, 3] - robot.pose(links, a)[..., :3, 3], axis=-1)
    bound = np.abs(b - a) @ levers
    assert (moved.reshape(len(a), -1).max(axis=1) <= bound + 1e-12).all()
    assert (levers <= motion_levers(robot) + 1e-12).all()  # with the links' geometry they are longer


def test_a_slide_between_axis_and_body_lengthens_the_lever():
    robot = mk.load_robot(
        """<robot name="r"><link name="base"/><link name="arm"/><link name="tool"/>
        <joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
        <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
        <joint name="slide" type="prismatic"><parent link="arm"/><child link="tool"/><axis xyz="1 0 0"/>
        <origin xyz="0.5 0 0"/><limit lower="0" upper="0.25" velocity="1" effort="1"/></joint></robot>"""
    )
    arms = LeverArms(robot.tree, [robot.link_index("tool")], [0.1])
    assert np.allclose(arms.by_variable(np.array([1.0, 0.25])), (0.85, 1.0))
    assert np.allclose(LeverArms(robot.tree, [-1], [0.1]).by_variable(np.array([1.0, 0.25])), 0.0)
