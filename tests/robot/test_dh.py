"""Denavit-Hartenberg tables against the closed-form products of both conventions."""

import logging
import math

import numpy as np
import pytest

import memetik as mk
from memetik.errors import DescriptionError, InvalidInputError


def turn_x(a):
    c, s = math.cos(a), math.sin(a)
    return np.array([[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1.0]])


def turn_z(a):
    c, s = math.cos(a), math.sin(a)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def shift(x=0.0, z=0.0):
    matrix = np.eye(4)
    matrix[0, 3], matrix[2, 3] = x, z
    return matrix


def product(rows, kinds, convention, q):
    poses, pose = [], np.eye(4)
    for (theta, d, a, alpha), kind, value in zip(rows, kinds, q, strict=True):
        if kind == "P":
            d = d + value
        else:
            theta = theta + value
        if convention == "standard":
            pose = pose @ turn_z(theta) @ shift(z=d) @ shift(x=a) @ turn_x(alpha)
        else:
            pose = pose @ turn_x(alpha) @ shift(x=a) @ turn_z(theta) @ shift(z=d)
        poses.append(pose)
    return poses


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_every_frame_equals_the_closed_form(convention):
    rng = np.random.default_rng(3)
    for _ in range(20):
        count = int(rng.integers(1, 9))
        rows = rng.uniform(-2, 2, (count, 4))
        kinds = "".join(rng.choice(["R", "P"], count))
        robot = mk.robot_from_dh(rows, convention, kinds=kinds)
        q = rng.uniform(-3, 3, count)
        for k, expected in enumerate(product(rows, kinds, convention, q)):
            np.testing.assert_allclose(robot.pose(f"link{k + 1}", q), expected, atol=1e-12)


def test_puma_560_reaches_where_its_table_says():
    half = math.pi / 2
    table = [
        (0, 0, 0, half),
        (0, 0, 0.4318, 0),
        (0, 0.15005, 0.0203, -half),
        (0, 0.4318, 0, half),
        (0, 0, 0, -half),
        (0, 0, 0, 0),
    ]
    robot = mk.robot_from_dh(table, "standard", limits=[(-2, 2)] * 6, name="puma")
    assert robot.dof == 6
    np.testing.assert_allclose(robot.pose("link6", np.zeros(6))[:3, 3], [0.4521, -0.15005, 0.4318], atol=1e-12)
    np.testing.assert_allclose(robot.upper, 2.0)


def test_base_tool_names_and_columns():
    base, tool = mk.transform((1, 2, 3)), mk.transform((0, 0, 0.1), rpy=(0.1, 0.2, 0.3))
    rows = [{"a": 1.0}, {"d": 2.0, "alpha": 0.5}]
    robot = mk.robot_from_dh(
        rows, base=base, tool=tool, joint_names=["one", "two"], link_names=["root", "x", "y"], velocity=2.0
    )
    expected = base @ product([(0, 0, 1, 0), (0, 2, 0, 0.5)], "RR", "standard", [0.3, 0.4])[1] @ tool
    np.testing.assert_allclose(robot.pose("tool", [0.3, 0.4]), expected, atol=1e-12)
    assert robot.joint_names == ("one", "two")
    same = mk.robot_from_dh([(1.0, 0, 0, 0), (0, 0.5, 2.0, 0)], columns=("a", "alpha", "d", "theta"))
    np.testing.assert_allclose(same.joint("joint2").origin, robot.joint("two").origin)


def test_joints_without_limits_are_continuous_and_accelerations_follow_the_rule(caplog):
    robot = mk.robot_from_dh([(0, 0, 1, 0)] * 3, limits=[None, (-1, 1), (0, 1)], kinds="RRP", velocity=[1, 2, 3])
    assert [joint.kind for joint in robot.description.joints] == ["continuous", "revolute", "prismatic"]
    assert [joint.acceleration for joint in robot.description.joints] == [(2.0,), (4.0,), (6.0,)]
    assert not [record for record in caplog.records if record.levelno > logging.INFO]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"table": []}, "no rows"),
        ({"table": [(1, 2, 3)]}, "3 numbers"),
        ({"table": [(1, 2, 3, "x")]}, "four numbers"),
        ({"table": [(1, 2, 3, math.nan)]}, "finite"),
        ({"table": [{"r": 1}]}, "'r'"),
        ({"convention": "craig"}, "standard"),
        ({"kinds": "Q"}, "kinds"),
        ({"kinds": "RR"}, "2 entries"),
        ({"limits": [(2, 1)]}, "lower"),
        ({"limits": [3]}, "pair"),
        ({"columns": ("a", "b", "c", "d")}, "theta"),
        ({"joint_names": ["a", "b"]}, "2 entries"),
        ({"tool": np.zeros((4, 4))}, "tool|bottom"),
    ],
)
def test_wrong_tables_are_told_what_is_wrong(arguments, word):
    with pytest.raises(InvalidInputError, match=word):
        mk.robot_from_dh(**{"table": [(0, 0, 1, 0)], **arguments})


def test_names_must_differ():
    with pytest.raises(DescriptionError, match="occurs 2 times"):
        mk.robot_from_dh([(0, 0, 1, 0)] * 2, joint_names=["a", "a"])
