"""Names with a meaning: groups, tips, postures."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from pinocchio_truth import FILES

import memetik as mk
from memetik.errors import InvalidInputError, UnknownNameError
from memetik.robot.description import Description, EndEffector, Group, Joint, Link, Mimic, NamedState, Semantics
from memetik.robot.groups import renamed, restricted
from memetik.robot.robot import Robot


def tree(*edges: tuple[str, str, str], semantics: Semantics | None = None) -> Robot:
    """Edges (parent, child, kind); a joint is named after its child."""
    links = dict.fromkeys(name for parent, child, _ in edges for name in (parent, child))
    joints = tuple(Joint(f"to_{child}", kind, parent, child) for parent, child, kind in edges)
    return Robot(Description("tree", tuple(Link(name) for name in links), joints, semantics or Semantics()))


def limb(start: str, name: str, length: int) -> list[tuple[str, str, str]]:
    names = [start, *(f"{name}{k}" for k in range(1, length + 1))]
    return [(a, b, "continuous") for a, b in pairwise(names)]


def test_the_tip_of_a_chain_is_its_last_link() -> None:
    assert tree(*limb("base", "arm", 6), ("arm6", "flange", "fixed"), ("flange", "tool0", "fixed")).tip == "tool0"


def test_the_tip_of_an_arm_with_fingers_is_the_palm() -> None:
    fingers = [("palm", "left", "prismatic"), ("palm", "right", "prismatic")]
    assert tree(*limb("base", "arm", 6), ("arm6", "palm", "fixed"), *fingers).tip == "palm"


def test_rigid_frames_beside_the_arm_do_not_end_it() -> None:
    robot = tree(("base", "camera", "fixed"), *limb("base", "arm", 3), ("arm2", "marker", "fixed"))
    assert robot.tip == "arm3"


def test_a_limb_that_ends_in_several_frames_has_its_tip_at_the_tool_else_where_they_part() -> None:
    ends = ("arm3", "one", "fixed"), ("arm3", "two", "fixed")
    assert tree(*limb("base", "arm", 3), *ends).tip == "arm3"
    assert tree(*limb("base", "arm", 3), ("arm3", "frame", "fixed"), ("arm3", "camera", "fixed")).tip == "frame"
    ordered = ("arm_hand_tcp", "tool0", "attachment_site", "eef", "flange")
    for k, tool in enumerate(ordered):
        frames = [("arm3", name, "fixed") for name in (*reversed(ordered[k:]), "one", "two")]
        assert tree(*limb("base", "arm", 3), *frames).tip == tool


def test_the_tool_frame_of_a_hand_with_fingers_is_its_tip() -> None:
    fingers = [("palm", "left", "prismatic"), ("palm", "right", "prismatic"), ("palm", "hand_tcp", "fixed")]
    assert tree(*limb("base", "arm", 6), ("arm6", "palm", "fixed"), *fingers).tip == "hand_tcp"


HUMANOIDS = {
    "g1": {"left_leg": 6, "right_leg": 6, "left_arm": 7, "right_arm": 7, "left_thumb": 3, "left_index": 2},
    "icub": {"left_leg": 6, "right_leg": 6, "left_arm": 7, "right_arm": 7, "head": 3},
    "talos": {"left_leg": 6, "right_leg": 6, "left_arm": 7, "right_arm": 7, "head": 2},
    "romeo": {"left_leg": 6, "right_leg": 6, "left_arm": 7, "right_arm": 7},
    "solo12": {"fl_leg": 3, "fr_leg": 3, "hl_leg": 3, "hr_leg": 3},
    "anymal": {"lf_leg": 3, "rf_leg": 3, "lh_leg": 3, "rh_leg": 3},
    "ur10": {"arm": 6},
    "panda": {"arm": 7},
    "xarm7": {"arm": 7},
}


@pytest.mark.parametrize("name", HUMANOIDS)
def test_limbs_of_public_robots_are_groups_without_an_srdf(name: str) -> None:
    robot = mk.load_robot(FILES[name], srdf=False)
    found = {group: robot.group(group).dof for group in HUMANOIDS[name]}
    assert found == HUMANOIDS[name]


def test_a_limb_is_solved_as_a_group() -> None:
    robot = mk.load_robot(FILES["g1"], srdf=False)
    arm = robot.group("left_arm")
    assert arm.tip == "left_hand_palm_link"
    problem = mk.Problem(arm, [mk.Pose(arm.tip)])
    assert problem.solve(arm.pose(arm.tip, 0.3 * arm.upper + 0.7 * arm.neutral), rng=0, timeout=1.0).success


def test_limbs_of_the_same_name_are_called_after_their_tips() -> None:
    robot = tree(*limb("base", "torso", 2), *limb("torso2", "one", 6), *limb("torso2", "two", 6))
    assert robot.groups == ("one6", "two6")
    assert robot.group("one6").dof == 6


def test_stated_groups_take_the_place_of_limbs() -> None:
    stated = Semantics(groups=(Group("mine", joints=("to_arm1",)),))
    assert tree(*limb("base", "arm", 6), semantics=stated).groups == ("mine",)


def test_two_arms_on_a_torso_are_two_tips_and_the_error_lists_them() -> None:
    robot = tree(*limb("base", "torso", 2), *limb("torso2", "left", 6), *limb("torso2", "right", 6))
    assert robot.tips == ("left6", "right6")
    with pytest.raises(InvalidInputError, match="several tips: 'left6', 'right6'"):
        _ = robot.tip
    assert "2 tips" in repr(robot)


def test_a_moving_base_does_not_count_as_part_of_the_limb() -> None:
    robot = tree(*limb("base", "left", 3), *limb("base", "right", 3)).with_floating_base()
    assert robot.tips == ("left3", "right3")


def test_the_end_effector_of_srdf_is_the_tip() -> None:
    effector = Semantics(end_effectors=(EndEffector("hand", "arm2"),))
    assert tree(*limb("base", "arm", 4), semantics=effector).tip == "arm2"


def test_a_group_given_by_joints_has_the_tip_of_its_limb() -> None:
    robot = tree(*limb("base", "torso", 2), *limb("torso2", "left", 6), *limb("torso2", "right", 6))
    assert robot.group([f"to_left{k}" for k in range(1, 7)]).tip == "left6"
    assert robot.group(["to_torso1", *(f"to_right{k}" for k in range(1, 7))]).tip == "right6"


@pytest.mark.parametrize(
    ("name", "tip"),
    [("ur10", "tool0"), ("panda", "panda_hand_tcp"), ("kinova", "j2s6s200_end_effector"), ("xarm7", "link_eef")],
)
def test_tips_of_public_arms_without_srdf(name: str, tip: str) -> None:
    assert mk.load_robot(FILES[name], srdf=False).tip == tip


def test_group_members_come_from_joints_links_chains_and_subgroups() -> None:
    semantics = Semantics(
        groups=(
            Group("joints", joints=("to_left1",)),
            Group("links", links=("left2",)),
            Group("chain", chains=(("base", "left3"),)),
            Group("across", chains=(("right2", "left1"),)),
            Group("both", subgroups=("joints", "links")),
            Group("circular", joints=("to_right1",), subgroups=("circular", "both")),
        )
    )
    robot = tree(*limb("base", "left", 3), *limb("base", "right", 3), semantics=semantics)
    assert robot.groups == ("joints", "links", "chain", "across", "both", "circular")
    assert robot.group_joints("joints") == ("to_left1",)
    assert robot.group_joints("links") == ("to_left2",)
    assert robot.group_joints("chain") == ("to_left1", "to_left2", "to_left3")
    assert robot.group_links("chain") == ("base", "left1", "left2", "left3")
    assert robot.group_joints("across") == ("to_left1", "to_right1", "to_right2")
    assert robot.group_joints("both") == ("to_left1", "to_left2")
    assert robot.group_joints("circular") == ("to_left1", "to_left2", "to_right1")
    assert robot.group("chain").tip == "left3"


def test_named_states_of_several_groups_are_taken_together() -> None:
    semantics = Semantics(
        groups=(Group("l", joints=("to_left1",)), Group("r", joints=("to_right1",))),
        states=(
            NamedState("home", "l", {"to_left1": (0.5,)}),
            NamedState("home", "r", {"to_right1": (-0.5,)}),
            NamedState("wave", "r", {"to_right1": (1.5,)}),
        ),
    )
    robot = tree(*limb("base", "left", 1), *limb("base", "right", 1), semantics=semantics)
    assert robot.named_states == ("home", "wave")
    assert robot.state("home").tolist() == [0.5, -0.5]
    assert robot.state("home", group="r").tolist() == [0.0, -0.5]
    assert robot.state("wave", default=[0.25, 0.0]).tolist() == [0.25, 1.5]
    with pytest.raises(UnknownNameError, match=r"state 'hme'.*did you mean 'home'"):
        robot.state("hme")
    with pytest.raises(UnknownNameError, match="group 'l'"):
        robot.state("wave", group="l")


def test_named_states_of_bundled_robots_are_within_limits() -> None:
    robot = mk.load_robot("panda")
    for name in robot.named_states:
        assert robot.within_limits(robot.state(name), 1e-9)


def test_unknown_names_in_given_semantics_are_errors() -> None:
    robot = tree(*limb("base", "arm", 2))
    for wrong in (
        Semantics(groups=(Group("g", joints=("to_arm9",)),)),
        Semantics(groups=(Group("g", links=("arm9",)),)),
        Semantics(groups=(Group("g", chains=(("base", "arm9"),)),)),
        Semantics(end_effectors=(EndEffector("e", "arm9"),)),
        Semantics(states=(NamedState("s", "g", {"to_arm9": (0.0,)}),)),
        Semantics(disabled_pairs=(("base", "arm9", ""),)),
    ):
        with pytest.raises(UnknownNameError, match="arm9"):
            robot.with_semantics(wrong)


def test_groups_left_empty_vanish_and_so_do_references_to_them() -> None:
    semantics = Semantics(
        groups=(
            Group("hand", links=("gone",)),
            Group("arm", joints=("kept",), subgroups=("hand",)),
            Group("all", subgroups=("arm",)),
        ),
        end_effectors=(EndEffector("e", "link", group="hand", parent_group="arm"),),
        passive_joints=("kept", "lost"),
    )
    rest = restricted(semantics, {"link"}, {"kept"})
    assert [group.name for group in rest.groups] == ["arm", "all"]
    assert rest.groups[0].subgroups == ()
    assert rest.end_effectors == (EndEffector("e", "link", group="", parent_group="arm"),)
    assert rest.passive_joints == ("kept",)


def test_renaming_reaches_every_name() -> None:
    robot = mk.load_robot("panda")
    meaning = renamed(robot.description.semantics, lambda name: f"x/{name}")
    back = renamed(meaning, lambda name: name.removeprefix("x/"))
    assert back == robot.description.semantics
    assert all(group.name.startswith("x/") for group in meaning.groups)


def test_replacing_the_end_effector_changes_equality() -> None:
    robot = mk.load_robot("panda")
    other = robot.with_semantics(replace(robot.description.semantics, end_effectors=(EndEffector("e", "panda_link7"),)))
    assert other != robot
    assert other.tip == "panda_link7"
    np.testing.assert_array_equal(other.lower, robot.lower)


def test_fingers_of_many_coupled_joints_do_not_hide_the_palm() -> None:
    robot = tree(*limb("base", "arm", 3), *limb("arm3", "thumb", 5), *limb("arm3", "index", 5))
    joints = tuple(
        replace(joint, mimic=Mimic(f"to_{joint.child[:-1]}1", 0.5))
        if joint.child[-1] in "2345" and "arm" not in joint.child
        else joint
        for joint in robot.description.joints
    )
    assert robot.tips == ("thumb5", "index5")
    assert Robot(replace(robot.description, joints=joints)).tip == "arm3"
