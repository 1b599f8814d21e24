"""Edits: what a changed robot must have in common with the one it was made from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_trees import random_description

import memetik as mk
from memetik.errors import InvalidInputError, UnknownNameError
from memetik.geometry.transforms import inverse
from memetik.robot.description import Description, Joint, Link, Mimic, NamedState, Semantics, VirtualJoint
from memetik.robot.robot import Robot

seeds = st.integers(0, 2**32 - 1)
trees = settings(max_examples=60, deadline=None)


@pytest.fixture(scope="module")
def panda() -> Robot:
    return mk.load_robot("panda")


def relative(robot: Robot, q: np.ndarray) -> dict[tuple[str, str], np.ndarray]:
    """Pose of every link in the first link."""
    first = robot.links[0]
    return {(first, link): robot.pose(link, q, relative_to=first) for link in robot.links}


def assert_same_relative_poses(a: Robot, qa: np.ndarray, b: Robot, qb: np.ndarray, links: tuple[str, ...]) -> None:
    reference = links[0]
    for link in links:
        np.testing.assert_allclose(
            a.pose(link, qa, relative_to=reference), b.pose(link, qb, relative_to=reference), atol=1e-11
        )


@given(seed=seeds, joints=st.integers(1, 10))
@trees
def test_inverting_keeps_all_relative_poses_and_the_meaning_of_q(seed: int, joints: int) -> None:
    rng = np.random.default_rng(seed)
    robot = Robot(random_description(rng, joints))
    base = str(rng.choice(robot.links))
    inverted = robot.inverted(base)
    q = robot.random(rng)
    assert inverted.base == base
    assert inverted.joint_names == robot.joint_names
    assert inverted.links == robot.links
    np.testing.assert_array_equal(inverted.lower, robot.lower)
    np.testing.assert_allclose(inverted.pose(base, q), np.eye(4), atol=1e-12)
    assert_same_relative_poses(robot, q, inverted, q, robot.links)
    assert inverted.mass == pytest.approx(robot.mass)


@given(seed=seeds)
@trees
def test_inverting_twice_and_back_to_its_place_gives_the_same_robot(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robot = Robot(replace(random_description(rng, 6), semantics=Semantics()))
    there = robot.inverted(str(rng.choice(robot.links)))
    assert there.inverted(robot.base, robot.base_pose) == robot


@given(seed=seeds)
@trees
def test_fixing_joints_keeps_all_poses_at_those_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robot = Robot(random_description(rng, 8, mimic=0.4))
    q = robot.random(rng)
    masters = [j for j in robot.description.joints if j.axes and j.mimic is None]
    chosen = [joint for joint in masters if rng.random() < 0.5]
    values = {joint.name: [robot.joints(q)[axis] for axis in joint.axis_names] for joint in chosen}
    fixed = robot.with_fixed(values)
    assert fixed.links == robot.links
    assert not {axis for joint in chosen for axis in joint.axis_names} & set(fixed.joint_names)
    rest = fixed.q({name: value for name, value in robot.joints(q).items() if name in fixed.joint_names})
    np.testing.assert_allclose(fixed.pose(robot.links, rest), robot.pose(robot.links, q), atol=1e-11)
    np.testing.assert_allclose(
        fixed.gravity_torques(rest),
        robot.gravity_torques(q)[[n in fixed.joint_names for n in robot.joint_names]],
        atol=1e-9,
    )


def test_followers_of_a_fixed_joint_are_fixed_where_it_puts_them(panda: Robot) -> None:
    fixed = panda.with_fixed({"panda_finger_joint1": 0.02})
    assert fixed.joint("panda_finger_joint2").kind == "fixed"
    q = panda.q({"panda_finger_joint1": 0.02})
    np.testing.assert_allclose(fixed.pose("panda_rightfinger", q[:7]), panda.pose("panda_rightfinger", q), atol=1e-14)
    with pytest.raises(InvalidInputError, match="mimics"):
        panda.with_fixed({"panda_finger_joint2": 0.02})


def test_part_of_a_joint_cannot_be_fixed(panda: Robot) -> None:
    planar = panda.with_planar_base()
    with pytest.raises(InvalidInputError, match="only as a whole: base/y, base/yaw"):
        planar.with_fixed({"base/x": 0.0})
    assert planar.with_fixed({"base": (0.1, 0.2, 0.3)}).joint_names == panda.joint_names


@given(seed=seeds)
@trees
def test_a_group_moves_its_joints_and_holds_the_others_where_they_are(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robot = Robot(random_description(rng, 8, mimic=0.4))
    moving = [j.name for j in robot.description.joints if j.axes]
    names = [name for name in moving if rng.random() < 0.5]
    assume(names)
    q = robot.random(rng)
    part = robot.group(names, values=q)
    assert part.links == robot.links
    expected = {axis for name in names for axis in robot.tree.topology.master(robot.joint(name))[0].axis_names}
    assert set(part.joint_names) == expected
    within = part.q({name: robot.joints(q)[name] for name in part.joint_names})
    np.testing.assert_allclose(part.pose(robot.links, within), robot.pose(robot.links, q), atol=1e-11)


def test_a_named_group_has_its_own_tip(panda: Robot) -> None:
    arm = panda.group("panda_arm")
    assert arm.joint_names == tuple(f"panda_joint{k}" for k in range(1, 8))
    assert arm.tip == panda.tip
    assert arm.links == panda.links
    opened = panda.group("panda_arm", {"panda_finger_joint1": 0.01})
    expected = panda.pose("panda_leftfinger", panda.q({"panda_finger_joint1": 0.01}))
    np.testing.assert_allclose(opened.pose("panda_leftfinger", opened.neutral), expected, atol=1e-14)


def test_unknown_and_rigid_groups_are_errors(panda: Robot) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'panda_arm'"):
        panda.group("panda_arms")
    with pytest.raises(UnknownNameError, match="panda_joint1"):
        panda.group(["panda_joint_1"])
    with pytest.raises(InvalidInputError, match="no joint that moves"):
        panda.group(["panda_joint8"])


@given(seed=seeds)
@trees
def test_a_chain_has_only_the_links_between_and_their_relative_poses(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robot = Robot(random_description(rng, 9, mimic=0.4))
    base, tip = (str(name) for name in rng.choice(robot.links, 2))
    part = robot.chain(base, tip)
    ways = [[link, *robot.ancestors(link)] for link in (base, tip)]
    meeting = next(link for link in ways[0] if link in ways[1])
    between = {meeting, *(link for way in ways for link in way[: way.index(meeting)])}
    assert set(part.links) == between
    assert part.base == base
    assert part.tip == tip
    q = robot.random(rng)
    everything = robot.joints(q, mimic=True)
    within = part.q({name: everything[name] for name in part.joint_names})
    assert_same_relative_poses(robot, q, part, within, part.links)


def test_a_chain_through_a_follower_frees_it_within_its_limits(panda: Robot) -> None:
    finger = panda.chain("panda_link0", "panda_rightfinger")
    assert finger.joint_names[-1] == "panda_finger_joint2"
    assert (finger.lower[-1], finger.upper[-1]) == (panda.lower[-1], panda.upper[-1])


def test_several_followers_of_an_outside_master_follow_the_first_of_them() -> None:
    def turn(name: str, parent: str, child: str, **options) -> Joint:
        return Joint(name, "revolute", parent, child, lower=(-2.0,), upper=(2.0,), **options)

    description = Description(
        "hand",
        (Link("palm"), Link("a"), Link("b"), Link("c")),
        (
            turn("master", "palm", "a"),
            turn("first", "palm", "b", mimic=Mimic("master", 0.5, 0.1)),
            turn("second", "b", "c", mimic=Mimic("master", -2.0, 0.3)),
        ),
    )
    robot = Robot(description)
    finger = robot.chain("palm", "c")
    assert finger.joint_names == ("first",)
    # What lets the second stay between -2 and 2 as well.
    assert (finger.lower[0], finger.upper[0]) == (pytest.approx(-0.325), pytest.approx(0.675))
    np.testing.assert_allclose(finger.pose("c", [0.5 * 0.4 + 0.1]), robot.pose("c", [0.4]), atol=1e-14)


def test_a_robot_stands_where_it_is_put(panda: Robot) -> None:
    place = mk.transform((1.0, -2.0, 0.5), rpy=(0.1, 0.2, 0.3))
    q = panda.random(0)
    np.testing.assert_allclose(panda.at(place).pose("panda_hand", q), place @ panda.pose("panda_hand", q), atol=1e-14)
    with pytest.raises(InvalidInputError, match=r"\(4, 4\)"):
        panda.at(np.stack([place, place]))


def test_a_tool_is_a_tip_with_pose_shape_and_mass(panda: Robot) -> None:
    offset = mk.transform((0.0, 0.01, 0.2), rpy=(0.0, 0.5, 0.0))
    shapes = [mk.Box((0.1, 0.1, 0.1)), (mk.Sphere(0.05), mk.transform((0.0, 0.0, 0.1)))]
    tooled = panda.with_tool(offset, name="gun", link="panda_hand", collisions=shapes, mass=0.7, com=(0.0, 0.0, 0.05))
    q = panda.random(0)
    np.testing.assert_allclose(tooled.pose("gun", q), panda.pose("panda_hand", q) @ offset, atol=1e-14)
    assert tooled.parent("gun") == "panda_hand"
    assert tooled.mass == pytest.approx(panda.mass + 0.7)
    assert [geometry.shape for geometry in tooled.link("gun").collisions] == [shapes[0], shapes[1][0]]
    assert tooled.joint_names == panda.joint_names
    torque = panda.jacobian("gun" if "gun" in panda.links else "panda_hand", q, (offset @ [0, 0, 0.05, 1])[:3])[:3].T
    expected = panda.gravity_torques(q) + torque @ [0.0, 0.0, 0.7 * 9.81]
    np.testing.assert_allclose(tooled.gravity_torques(q), expected, atol=1e-9)


def test_a_tool_on_the_tip_takes_its_place_and_may_be_an_offset(panda: Robot) -> None:
    tooled = panda.with_tool((0.0, 0.0, 0.1))
    assert tooled.tip == "tool"
    assert tooled.parent("tool") == panda.tip
    with pytest.raises(InvalidInputError, match="has a link 'tool' already"):
        tooled.with_tool((0.0, 0.0, 0.1), link="panda_hand")
    assert tooled.with_tool((0.0, 0.0, 0.1), name="bit").tip == "bit"


def test_combined_robots_move_as_each_alone(panda: Robot) -> None:
    place = mk.transform((0.8, 0.0, 0.1), rpy=(0.0, 0.0, 3.0))
    other = mk.load_robot("ur5").at(place)
    cell = mk.combine({"left": panda, "right": other}, name="pair")
    assert cell.name == "pair"
    assert cell.joint_names == tuple(f"left/{n}" for n in panda.joint_names) + tuple(
        f"right/{n}" for n in other.joint_names
    )
    q = cell.random(0)
    mine, its = q[: panda.dof], q[panda.dof :]
    for link in panda.links:
        np.testing.assert_allclose(cell.pose(f"left/{link}", q), panda.pose(link, mine), atol=1e-14)
    for link in other.links:
        np.testing.assert_allclose(cell.pose(f"right/{link}", q), other.pose(link, its), atol=1e-14)
    assert cell.mass == pytest.approx(panda.mass + other.mass)
    assert set(cell.tips) == {f"left/{panda.tip}", f"right/{other.tip}"}
    assert cell.group("left").joint_names == tuple(f"left/{n}" for n in panda.joint_names)
    assert cell.group("left/panda_arm").tip == f"left/{panda.tip}"
    np.testing.assert_array_equal(cell.state("left/ready")[: panda.dof], panda.state("ready"))


def test_cells_can_be_combined_again(panda: Robot) -> None:
    pair = mk.combine({"a": panda, "b": panda.at(mk.transform((1.0, 0.0, 0.0)))})
    plant = mk.combine({"cell": pair.at(mk.transform((0.0, 5.0, 0.0)))})
    q = plant.random(0)
    np.testing.assert_allclose(
        plant.pose("cell/b/panda_hand", q), mk.transform((0.0, 5.0, 0.0)) @ pair.pose("b/panda_hand", q), atol=1e-13
    )
    with pytest.raises(InvalidInputError, match="at least one"):
        mk.combine({})
    with pytest.raises(InvalidInputError, match="'a' is a str"):
        mk.combine({"a": "panda"})  # type: ignore[dict-item]


def test_a_floating_base_moves_the_robot_from_where_it_stands(panda: Robot) -> None:
    place = mk.transform((1.0, 0.0, 0.0), rpy=(0.0, 0.0, 1.0))
    floating = panda.at(place).with_floating_base({"z": (0.0, 2.0), "r1": (-0.5, 0.5)})
    assert floating.joint_names[:6] == ("base/x", "base/y", "base/z", "base/r1", "base/r2", "base/r3")
    np.testing.assert_array_equal(floating.lower[:6], [-np.inf, -np.inf, 0.0, -0.5, -np.inf, -np.inf])
    assert floating.continuous[:6].tolist() == [False, False, False, False, True, True]
    arm = panda.random(0)
    q = np.concatenate([[0.1, 0.2, 0.3, 0.0, 0.0, 0.4], arm])
    expected = place @ mk.transform((0.1, 0.2, 0.3), rpy=(0.0, 0.0, 0.4)) @ panda.pose("panda_hand", arm)
    np.testing.assert_allclose(floating.pose("panda_hand", q), expected, atol=1e-14)
    assert floating.base == "world"
    assert floating.tip == panda.tip


def test_a_planar_base_slides_and_turns_in_its_plane(panda: Robot) -> None:
    planar = panda.with_planar_base([(-1, 1), (-2, 2), (-np.inf, np.inf)])
    np.testing.assert_array_equal(planar.upper[:3], [1.0, 2.0, np.inf])
    arm = panda.random(0)
    q = np.concatenate([[0.5, -0.4, 0.7], arm])
    expected = mk.transform((0.5, -0.4, 0.0), rpy=(0.0, 0.0, 0.7)) @ panda.pose("panda_hand", arm)
    np.testing.assert_allclose(planar.pose("panda_hand", q), expected, atol=1e-14)
    with pytest.raises(InvalidInputError, match="no axis 'z'"):
        panda.with_planar_base({"z": (0, 1)})


def test_a_virtual_joint_names_the_base_it_becomes(panda: Robot) -> None:
    virtual = VirtualJoint("world_joint", "floating", "odom", "panda_link0")
    robot = panda.with_semantics(replace(panda.description.semantics, virtual_joints=(virtual,)))
    floating = robot.with_floating_base()
    assert floating.base == "odom"
    assert floating.joint_names[0] == "world_joint/x"
    assert not floating.description.semantics.virtual_joints


def test_limits_are_set_by_joint_and_by_axis(panda: Robot) -> None:
    robot = panda.with_floating_base().with_limits(
        {"panda_joint1": (-0.5, 0.6), "panda_joint2": {"velocity": 0.3}, "base/x": (-1.0, 1.0), "base": {"effort": 5.0}}
    )
    limits = dict(zip(robot.joint_names, zip(robot.lower, robot.upper, strict=True), strict=True))
    assert limits["panda_joint1"] == (-0.5, 0.6)
    assert limits["base/x"] == (-1.0, 1.0)
    assert limits["base/y"] == (-np.inf, np.inf)
    assert robot.velocity[robot.joint_index("panda_joint2")] == 0.3
    np.testing.assert_array_equal(robot.effort[:6], 5.0)


@pytest.mark.parametrize(
    ("given_limits", "message"),
    [
        ({"panda_joint1": (1.0, -1.0)}, "exceeds"),
        ({"panda_joint1": (np.nan, 1.0)}, "must be a number"),
        ({"panda_joint1": 3.0}, "pair"),
        ({"panda_joint1": {"speed": 1.0}}, "'speed'"),
        ({"panda_joint1": {"velocity": -1.0}}, "negative"),
        ({"panda_finger_joint2": (0.0, 0.1)}, "mimics"),
        ({"panda_joint8": (0.0, 0.1)}, "fixed"),
    ],
)
def test_limits_that_make_no_sense_are_refused(panda: Robot, given_limits: dict, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        panda.with_limits(given_limits)
    with pytest.raises(UnknownNameError, match="did you mean 'panda_joint1'"):
        panda.with_limits({"pandajoint1": (0, 1)})


def test_a_continuous_joint_given_limits_becomes_revolute() -> None:
    joint = Joint("spin", "continuous", "a", "b", axis=(0.0, 0.0, 1.0))
    robot = Robot(Description("spinner", (Link("a"), Link("b")), (joint,)))
    limited = robot.with_limits({"spin": (-1.0, 1.0)})
    assert limited.joint("spin").kind == "revolute"
    assert (limited.lower[0], limited.upper[0]) == (-1.0, 1.0)
    assert not limited.continuous[0]


def test_disabled_pairs_are_added_once(panda: Robot) -> None:
    pairs = [("panda_link0", "panda_link7"), ("panda_link7", "panda_link0")]
    robot = panda.with_disabled_pairs(pairs)
    before = len(panda.description.semantics.disabled_pairs)
    known = {frozenset(p[:2]) for p in panda.description.semantics.disabled_pairs}
    added = 0 if frozenset(pairs[0]) in known else 1
    assert len(robot.description.semantics.disabled_pairs) == before + added
    with pytest.raises(UnknownNameError):
        panda.with_disabled_pairs([("panda_link0", "elbow")])


@given(seed=seeds)
@trees
def test_semantics_keep_what_stays_and_drop_what_vanished(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robot = Robot(random_description(rng, 7))
    part = robot.chain(robot.base, str(rng.choice(robot.links)))
    meaning = part.description.semantics
    links, joints = set(part.links), {joint.name for joint in part.description.joints}
    for group in meaning.groups:
        assert set(group.joints) <= joints
        assert all(set(chain) <= links for chain in group.chains)
    for state in meaning.states:
        assert set(state.values) <= joints
        part.state(state.name)
    assert all({a, b} <= links for a, b, _ in meaning.disabled_pairs)


def test_named_states_lose_joints_that_are_fixed(panda: Robot) -> None:
    state = NamedState("pose", "panda_arm", {"panda_joint1": (0.5,), "panda_joint2": (0.25,)})
    robot = panda.with_semantics(replace(panda.description.semantics, states=(state,)))
    fixed = robot.with_fixed({"panda_joint1": 0.0})
    assert fixed.state("pose")[0] == 0.25
    assert fixed.with_fixed({"panda_joint2": 0.0}).named_states == ()


@given(seed=seeds)
@settings(max_examples=30, deadline=None)
def test_a_robot_written_to_urdf_and_read_again_has_the_same_kinematics(seed: int) -> None:
    robot = Robot(random_description(seed, 6))
    again = mk.load_robot(robot.to_urdf(), srdf=False)
    q = robot.random(seed)
    np.testing.assert_allclose(again.pose(robot.links, again.q(robot.joints(q))), robot.pose(robot.links, q), atol=1e-9)


def test_inverse_of_the_tip_pose_is_the_base_seen_from_the_tip(panda: Robot) -> None:
    q = panda.random(0)
    seen = panda.inverted("panda_hand")
    np.testing.assert_allclose(seen.pose("panda_link0", q), inverse(panda.pose("panda_hand", q)), atol=1e-14)
