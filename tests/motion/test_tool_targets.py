"""Grasps and places: where a tool may be, by the spin of its gripper."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import memetik as mk
from memetik.motion.planning.tool_target import ToolTarget, grasp_targets, place_targets, rotation_between, tool_axis

AXES = ("x", "y", "z", "-x", "-y", "-z")
COUNTS = {"fixed": 1, "half": 2, "quarter": 4}
ITEM = mk.transform((0.4, -0.2, 0.3), rpy=(0.0, 0.0, 0.7))


@pytest.mark.parametrize("name", AXES)
def test_an_axis_is_a_unit_vector_of_its_sign(name):
    axis = tool_axis(name)
    assert np.linalg.norm(axis) == 1.0
    assert axis["xyz".index(name[-1])] == (-1.0 if name.startswith("-") else 1.0)


@pytest.mark.parametrize("name", AXES)
@pytest.mark.parametrize("spin", [*COUNTS, "free"])
def test_a_grasp_from_above_points_the_approach_axis_down_at_the_centre(name, spin):
    axis = tool_axis(name)
    targets = grasp_targets(ITEM, None, axis, spin)
    assert len(targets) == COUNTS.get(spin, 1)
    for target in targets:
        np.testing.assert_allclose(target.pose[:3, :3] @ axis, (0.0, 0.0, -1.0), atol=1e-12)
        np.testing.assert_allclose(target.pose[:3, 3], ITEM[:3, 3])
        np.testing.assert_allclose(target.pose[:3, :3] @ target.pose[:3, :3].T, np.eye(3), atol=1e-12)
        assert target.free == (spin == "free")


def test_the_spins_of_a_grasp_are_evenly_spread_about_the_approach_axis():
    axis = tool_axis("z")
    grasp = mk.transform((0.0, 0.0, 0.05), rpy=(np.pi, 0.0, 0.2))
    rotations = [target.pose[:3, :3] for target in grasp_targets(ITEM, grasp, axis, "quarter")]
    np.testing.assert_allclose(rotations[0], (ITEM @ grasp)[:3, :3], atol=1e-12)
    for first, second in pairwise(rotations):
        relative = first.T @ second
        np.testing.assert_allclose(relative @ axis, axis, atol=1e-12)
        np.testing.assert_allclose(np.trace(relative), 1.0, atol=1e-12)  # a quarter turn


@pytest.mark.parametrize("spin", COUNTS)
def test_a_placed_object_ends_at_its_target_whatever_the_spin(spin):
    in_tool = mk.transform((0.01, -0.02, 0.1), rpy=(np.pi, 0.1, 0.4))
    targets = place_targets(ITEM, in_tool, tool_axis("z"), spin)
    assert len(targets) == COUNTS[spin]
    for target in targets:
        placed = target.pose @ in_tool
        np.testing.assert_allclose(placed[:3, 3], ITEM[:3, 3], atol=1e-12)
        np.testing.assert_allclose(placed[:3, 2], ITEM[:3, 2], atol=1e-12)  # it stands as it should
    yaws = [np.arctan2(*(target.pose @ in_tool)[1::-1, 0]) - 0.7 for target in targets]
    expected = 2.0 * np.pi * np.arange(COUNTS[spin]) / COUNTS[spin]
    np.testing.assert_allclose(np.cos(yaws), np.cos(expected), atol=1e-12)
    np.testing.assert_allclose(np.sin(yaws), np.sin(expected), atol=1e-12)


def test_a_place_with_free_spin_asks_for_the_point_of_the_held_object():
    in_tool = mk.transform((0.01, -0.02, 0.1))
    (target,) = place_targets(ITEM, in_tool, tool_axis("z"), "free")
    assert target.free
    held = target.pose[:3, 3] + target.pose[:3, :3] @ target.point
    np.testing.assert_allclose(held, ITEM[:3, 3], atol=1e-12)
    position, direction = target.goals("tool")
    assert type(position).__name__ == "Position"
    assert type(direction).__name__ == "AlignAxis"


def test_raising_a_target_moves_it_up_and_nothing_else():
    target = ToolTarget(ITEM, tool_axis("z"))
    raised = target.raised(0.12)
    np.testing.assert_allclose(raised.pose - ITEM, mk.transform((0.0, 0.0, 0.12)) - np.eye(4), atol=1e-15)
    assert [type(goal).__name__ for goal in raised.goals("tool")] == ["Pose"]


@pytest.mark.parametrize("rng", range(5))
def test_a_rotation_between_two_directions_takes_one_to_the_other(rng):
    first, second = np.random.default_rng(rng).normal(size=(2, 3))
    first, second = first / np.linalg.norm(first), second / np.linalg.norm(second)
    rotation = rotation_between(first, second)
    np.testing.assert_allclose(rotation @ first, second, atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(rotation), 1.0)
    np.testing.assert_array_equal(rotation_between(first, first), np.eye(3))


@pytest.mark.parametrize("name", AXES)
def test_a_rotation_to_the_opposite_direction_is_half_a_turn(name):
    axis = tool_axis(name)
    rotation = rotation_between(axis, -axis)
    np.testing.assert_allclose(rotation @ axis, -axis, atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(rotation), 1.0)
    np.testing.assert_allclose(np.trace(rotation), -1.0, atol=1e-12)
