"""Every kind of the table is read, written, compiled and verified: a kind that one of its places forgets fails here."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from memetik.bench.run import verification
from memetik.errors import GoalError
from memetik.robot.description import Description, Joint, Link
from memetik.robot.joint_kinds import JOINT_KINDS, MJCF_KINDS, WORLD_KINDS, JointKind, joint_kind
from memetik.robot.load import load_description
from memetik.robot.readers.urdf import read_urdf
from memetik.robot.robot import Robot
from memetik.robot.tree import joint_pose
from memetik.robot.urdf_writer import write_urdf

LINKS = (Link("base"), Link("tip"))
UNVERIFIED = {"planar"}
"""Kinds that the benchmark refuses to verify, by name."""


def robot_with(kind: JointKind) -> Description:
    origin = np.eye(4)
    origin[:3, 3] = 0.1, 0.2, 0.3
    return Description("one", LINKS, (Joint("j", kind, "base", "tip", origin, axis=(0.0, 0.6, 0.8)),))


def test_the_table_and_the_type_name_the_same_kinds():
    assert set(get_args(JointKind)) == set(JOINT_KINDS)
    assert joint_kind("hinge") is None


@pytest.mark.parametrize("kind", JOINT_KINDS)
def test_every_kind_is_written_and_read_back(kind):
    (joint,) = read_urdf(write_urdf(robot_with(kind))).joints
    assert joint_kind(kind) == joint.kind == kind
    assert len(joint.axis_names) == len(set(joint.axis_names)) == joint.axes


@pytest.mark.parametrize("kind", JOINT_KINDS)
def test_every_kind_is_read_from_its_name_alone(kind):
    joint = f'<joint name="j" type="{kind}"><parent link="a"/><child link="b"/></joint>'
    text = f'<robot name="r"><link name="a"/><link name="b"/>{joint}</robot>'
    (read,) = load_description(text).joints
    assert read.kind == kind


@pytest.mark.parametrize(("word", "kind"), MJCF_KINDS.items())
def test_every_kind_that_mjcf_has_is_read_from_it(word, kind):
    holder = f'<body name="b"><joint name="j" type="{word}" range="-1 1"/><geom size="1"/></body>'
    text = f'<mujoco><compiler angle="radian"/><worldbody>{holder}</worldbody></mujoco>'
    (joint,) = [joint for joint in load_description(text).joints if joint.axes]
    assert joint.kind == kind


@pytest.mark.parametrize("kind", JOINT_KINDS)
def test_compiled_motions_agree_with_the_benchmarks_own_formulas(kind):
    robot = Robot(robot_with(kind))
    assert robot.turning.tolist() == list(JOINT_KINDS[kind].angular)
    values = np.random.default_rng(1).uniform(-1.0, 1.0, robot.dof)
    (joint,) = robot.description.joints
    np.testing.assert_allclose(joint_pose(joint, values), robot.pose("tip", values), atol=1e-14)
    if kind in UNVERIFIED:
        with pytest.raises(GoalError, match=kind):
            verification.joint_motion(joint, tuple(values))
    else:
        np.testing.assert_allclose(
            verification.joint_motion(joint, tuple(values)), joint_pose(joint, values), atol=1e-14
        )


def test_kinds_that_join_the_world_are_those_of_srdf():
    assert set(WORLD_KINDS) == {"fixed", "planar", "floating"}
