"""The compiled tree: axes, their order, couplings and exactness."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import random_description, reference_joint_pose

from memetik.errors import DescriptionError
from memetik.robot.description import Description, Joint, Link, Mimic
from memetik.robot.tree import compile_tree, joint_pose, rotation_to_axis

seeds = st.integers(0, 2**32 - 1)


def chain(*joints: Joint) -> Description:
    return Description("chain", tuple(Link(f"l{k}") for k in range(len(joints) + 1)), joints)


def revolute(name: str, number: int, **options) -> Joint:
    return Joint(name, "revolute", f"l{number}", f"l{number + 1}", lower=(-1.0,), upper=(1.0,), **options)


@pytest.mark.parametrize("axis", [sign * np.eye(3)[k] for k in range(3) for sign in (1, -1)], ids=str)
def test_rotations_to_axes_along_x_y_z_are_exact(axis: np.ndarray) -> None:
    rotation = rotation_to_axis(axis)
    assert set(np.abs(rotation).ravel()) == {0.0, 1.0}
    np.testing.assert_array_equal(rotation[:, 2], axis)
    assert np.linalg.det(rotation) == 1.0


@given(seed=seeds)
@settings(deadline=None)
def test_rotations_to_any_axis_are_orthonormal_and_take_z_there(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for axis in (*rng.normal(size=(5, 3)), [1e-9, 0.0, -1.0], [1e-9, 1e-9, 1.0], [1.0, 0.0, -1e-18]):
        unit = np.array(axis) / np.linalg.norm(axis)
        rotation = rotation_to_axis(unit)
        np.testing.assert_allclose(rotation.T @ rotation, np.eye(3), atol=1e-15)
        np.testing.assert_array_equal(rotation[:, 2], unit)
        assert np.linalg.det(rotation) > 0.0


@given(seed=seeds)
@settings(max_examples=60, deadline=None)
def test_joint_pose_follows_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for joint in random_description(rng, 5).joints:
        values = rng.uniform(-3.0, 3.0, joint.axes)
        np.testing.assert_allclose(joint_pose(joint, values), reference_joint_pose(joint, values), atol=1e-13)


@given(seed=seeds, joints=st.integers(0, 15))
@settings(max_examples=60, deadline=None)
def test_compiled_arrays_are_what_the_core_requires(seed: int, joints: int) -> None:
    description = random_description(seed, joints)
    tree = compile_tree(description)
    count = len(tree.parents)
    assert (tree.parents < np.arange(count)).all()
    assert tree.parents.min(initial=0) >= -1
    assert len(tree.joint_names) == tree.dof == len(tree.turning) == len(tree.limits["lower"])
    assert set(tree.variables.tolist()) == set(range(tree.dof))
    for placements in (tree.placements, tree.link_placements):
        rotation = placements[:, :, :3]
        np.testing.assert_allclose(
            rotation @ np.swapaxes(rotation, 1, 2), np.tile(np.eye(3), (len(rotation), 1, 1)), atol=1e-12
        )


def test_entries_of_q_follow_the_order_of_the_description_not_of_the_tree() -> None:
    far, near = revolute("far", 1), revolute("near", 0)
    tree = compile_tree(chain(far, near))
    assert tree.joint_names == ("far", "near")
    assert tree.variables.tolist() == [1, 0]


def test_a_spherical_joint_with_swing_and_twist_has_four_axes_of_three_entries() -> None:
    tree = compile_tree(chain(Joint("ball", "spherical", "l0", "l1", swing_twist=True)))
    assert tree.joint_names == ("ball/r1", "ball/r2", "ball/r3")
    assert tree.variables.tolist() == [0, 1, 0, 2]
    assert tree.multipliers.tolist() == [1.0, 1.0, -1.0, 1.0]


def test_chains_of_mimic_joints_lead_to_the_first_master() -> None:
    description = chain(
        revolute("follower", 0, mimic=Mimic("middle", 2.0, 0.5)),
        revolute("middle", 1, mimic=Mimic("master", -3.0, 0.25)),
        revolute("master", 2),
    )
    tree = compile_tree(description)
    assert tree.joint_names == ("master",)
    assert tree.couplings["follower"].multiplier == -6.0
    assert tree.couplings["follower"].offset == 1.0
    assert tree.multipliers.tolist() == [-6.0, -3.0, 1.0]


def test_fixed_joints_leave_no_axis() -> None:
    shift = np.eye(4)
    shift[:3, 3] = (0.1, 0.2, 0.3)
    tree = compile_tree(chain(Joint("mount", "fixed", "l0", "l1", origin=shift), revolute("turn", 1)))
    assert len(tree.parents) == 1
    assert tree.link_axes.tolist() == [-1, -1, 0]
    np.testing.assert_array_equal(tree.link_placements[1], shift[:3])


def test_quarter_turns_compile_to_exact_zeros_and_ones() -> None:
    c, s = math.cos(math.pi / 2), math.sin(math.pi / 2)
    origin = np.array([[1, 0, 0, 0.0], [0, c, -s, 0.5], [0, s, c, 0.0], [0, 0, 0, 1]])
    tree = compile_tree(chain(revolute("a", 0, origin=origin, axis=(0.0, 1.0, 0.0))))
    assert set(np.abs(tree.placements[0][:, :3]).ravel()) == {0.0, 1.0}


def test_a_continuous_joint_has_no_limits_whatever_its_description_says() -> None:
    joint = Joint("spin", "continuous", "l0", "l1", lower=(-1.0,), upper=(1.0,), soft_lower=(-0.5,), soft_upper=(0.5,))
    limits = compile_tree(chain(joint)).limits
    assert (limits["lower"][0], limits["upper"][0]) == (-math.inf, math.inf)
    assert (limits["soft_lower"][0], limits["soft_upper"][0]) == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("own", "expected"),
    [((-0.5, 0.7), (-0.3, 0.3)), ((0.0, 0.0), (-1.0, 1.0)), ((5.0, 6.0), (-1.0, 1.0))],
    ids=["narrower", "none", "beyond"],
)
def test_a_follower_keeps_its_own_limits_where_its_master_can(own, expected) -> None:
    follower = Joint("b", "revolute", "l1", "l2", lower=own[:1], upper=own[1:], mimic=Mimic("a", -2.0, 0.1))
    limits = compile_tree(chain(revolute("a", 0), follower)).limits
    np.testing.assert_allclose((limits["lower"][0], limits["upper"][0]), expected)


@pytest.mark.parametrize(
    ("joints", "message"),
    [
        ((revolute("a", 0), revolute("a", 1)), "'a'"),
        ((revolute("a", 0, axis=(0.0, 0.0, 0.0)),), "axis"),
        ((revolute("a", 0, mimic=Mimic("b")),), "mimics 'b'"),
        ((revolute("a", 0, mimic=Mimic("a")),), "mimic"),
        ((Joint("a", "revolute", "l0", "l1", lower=(1.0,), upper=(-1.0,)),), "limit"),
        ((Joint("a", "revolute", "l1", "l0"), Joint("b", "fixed", "l0", "l1")), "root"),
        ((revolute("a", 0, origin=np.full((4, 4), np.nan)),), "finite"),
        ((Joint("a", "spherical", "l0", "l1", rotation_order="xxy"),), "order"),
    ],
)
def test_what_is_not_a_robot_is_refused(joints: tuple[Joint, ...], message: str) -> None:
    links = tuple(Link(f"l{k}") for k in range(1 + max(int(j.child[1:]) for j in joints)))
    with pytest.raises(DescriptionError, match=message):
        compile_tree(Description("broken", links, joints))


def test_a_chain_of_two_thousand_joints_compiles() -> None:
    tree = compile_tree(chain(*(revolute(f"j{k}", k) for k in range(2000))))
    assert tree.dof == 2000
    assert tree.parents.tolist() == list(range(-1, 1999))
