"""Kinematics and dimensions of the bundled robots against public descriptions, published tables and closed forms."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import numpy as np
import pinocchio
import pytest
from bundled_truth import driven, moving, poses, random_values, signed_distance
from public_robots import robot_file

from memetik.errors import InvalidInputError
from memetik.geometry.shapes import Box, Cylinder
from memetik.robot import bundled
from memetik.robot.bundled.builder import pose
from memetik.robot.description import Description, Geometry
from memetik.robot.validate import structural_defects

PUBLIC = {
    "panda": ("panda.urdf", "panda_link0"),
    "ur3": ("ur3_robot.urdf", "base_link"),
    "ur5": ("ur5_robot.urdf", "base_link"),
    "ur10": ("ur10_robot.urdf", "base_link"),
    "iiwa14": ("lbr_iiwa_14_r820.urdf", "base_link"),
    "kr120": ("kr120r2500pro.urdf", "base_link"),
    "pr2": ("pr2.urdf", "base_footprint"),
    "baxter": ("baxter.urdf", "base"),
}


def public_model(file: str) -> tuple[pinocchio.Model, pinocchio.Data]:
    model = pinocchio.buildModelFromUrdf(str(robot_file(file)))
    return model, model.createData()


def pinocchio_q(model: pinocchio.Model, robot: Description, values: dict[str, float]) -> np.ndarray:
    q = pinocchio.neutral(model)
    for joint in moving(robot):
        value = values.get(joint.name, 0.0)
        if joint.mimic is not None:
            value = joint.mimic.multiplier * values[joint.mimic.joint] + joint.mimic.offset
        if model.existJointName(joint.name):
            entry = model.joints[model.getJointId(joint.name)]
            q[entry.idx_q : entry.idx_q + entry.nq] = (math.cos(value), math.sin(value)) if entry.nq == 2 else value
    return q


@pytest.mark.parametrize("name", PUBLIC)
def test_poses_of_all_links_equal_the_public_description(name: str) -> None:
    """To the rounding of pi in those files (twelve digits)."""
    file, root = PUBLIC[name]
    robot = bundled.description(name)
    model, data = public_model(file)
    rng = np.random.default_rng(3)
    shared = [link.name for link in robot.links if model.existFrame(link.name)]
    assert len(shared) == len(robot.links)
    assert {j.name for j in moving(robot)} <= set(model.names)
    for _ in range(20):
        values = random_values(robot, rng)
        ours = poses(robot, values)
        pinocchio.framesForwardKinematics(model, data, pinocchio_q(model, robot, values))
        base = data.oMf[model.getFrameId(root)].inverse()
        for link in shared:
            theirs = (base * data.oMf[model.getFrameId(link)]).homogeneous
            assert np.abs(ours[link] - theirs).max() < 2e-10, link


@pytest.mark.parametrize("name", PUBLIC)
def test_limits_and_speeds_equal_the_public_description(name: str) -> None:
    robot = bundled.description(name)
    model, _ = public_model(PUBLIC[name][0])
    # the file gives the UR3 the UR10's speeds; ours are the UR3's data sheet. Baxter's head has placeholders there.
    other_speed = {"ur3": {joint.name for joint in robot.joints}, "baxter": {"head_pan"}}.get(name, set())
    for joint in driven(robot):
        theirs = model.joints[model.getJointId(joint.name)]
        if theirs.nq == 1:
            assert joint.lower[0] == pytest.approx(model.lowerPositionLimit[theirs.idx_q], abs=1e-10)
            assert joint.upper[0] == pytest.approx(model.upperPositionLimit[theirs.idx_q], abs=1e-10)
        else:
            assert joint.kind == "continuous"
        if joint.name not in other_speed:
            assert joint.velocity[0] == pytest.approx(model.velocityLimit[theirs.idx_v], abs=1e-10)


def standard_dh(rows: list[tuple[float, float, float, float]]) -> np.ndarray:
    """Product of Rz(theta) Tz(d) Tx(a) Rx(alpha) over rows (theta, d, a, alpha)."""
    result = np.eye(4)
    for theta, d, a, alpha in rows:
        result = result @ pose((0, 0, d), (0, 0, theta)) @ pose((a, 0, 0), (alpha, 0, 0))
    return result


UR_DH = {
    "ur3": (0.1519, -0.24365, -0.21325, 0.11235, 0.08535, 0.0819),
    "ur5": (0.089159, -0.425, -0.39225, 0.10915, 0.09465, 0.0823),
    "ur10": (0.1273, -0.612, -0.5723, 0.163941, 0.1157, 0.0922),
    "ur3e": (0.15185, -0.24355, -0.2132, 0.13105, 0.08535, 0.0921),
    "ur5e": (0.1625, -0.425, -0.3922, 0.1333, 0.0997, 0.0996),
    "ur10e": (0.1807, -0.6127, -0.57155, 0.17415, 0.11985, 0.11655),
}


@pytest.mark.parametrize("name", UR_DH)
def test_flange_of_a_ur_in_its_controllers_base_equals_the_published_table(name: str) -> None:
    d1, a2, a3, d4, d5, d6 = UR_DH[name]
    robot = bundled.description(name)
    rng = np.random.default_rng(5)
    for _ in range(20):
        values = random_values(robot, rng)
        q = list(values.values())
        ours = poses(robot, values)
        half = math.pi / 2
        table = [
            (q[0], d1, 0, half), (q[1], 0, a2, 0), (q[2], 0, a3, 0),
            (q[3], d4, 0, half), (q[4], d5, 0, -half), (q[5], d6, 0, 0),
        ]  # fmt: skip
        assert np.allclose(np.linalg.inv(ours["base"]) @ ours["tool0"], standard_dh(table), atol=1e-12)


def test_powerball_equals_its_published_table() -> None:
    """The table counts joints 2, 3 and 5 the other way round and turns the flange's frame by pi."""
    robot = bundled.description("powerball")
    rng = np.random.default_rng(5)
    half = math.pi / 2
    for _ in range(20):
        values = random_values(robot, rng)
        q = list(values.values())
        table = [
            (q[0], 0.205, 0, -half), (-q[1] - half, 0, 0.35, math.pi), (-q[2] - half, 0, 0, -half),
            (q[3], 0.305, 0, half), (-q[4], 0, 0, -half), (q[5], 0.075, 0, 0),
        ]  # fmt: skip
        flange = standard_dh(table) @ pose(rpy=(0.0, 0.0, math.pi))
        assert np.allclose(poses(robot, values)["tool0"], flange, atol=1e-12)


@pytest.mark.parametrize(("name", "reach"), [("racer5", 0.809), ("racer3", 0.630)])
def test_racer_reaches_as_far_as_its_data_sheet_says(name: str, reach: float) -> None:
    """Distance of the wrist's centre from the first axis, arm level and stretched."""
    robot = bundled.description(name)
    straight = math.atan2(0.05, poses(robot, {})["link_5"][2, 3] - poses(robot, {})["link_3"][2, 3])
    wrist = poses(robot, {"joint_2": -math.pi / 2, "joint_3": -straight})["link_5"]
    assert wrist[0, 3] == pytest.approx(reach, abs=5e-4)


def test_fanuc_at_zero_holds_its_flange_where_the_data_sheet_has_it() -> None:
    flange = poses(bundled.description("fanuc_m10ia"), {})["tool0"]
    assert np.allclose(flange[:3, 3], (0.15 + 0.1805 + 0.4595 + 0.1, 0.0, 0.45 + 0.6 + 0.2), atol=1e-12)
    assert np.allclose(flange[:3, 2], (1, 0, 0), atol=1e-12)


@pytest.mark.parametrize("name", ["katana300", "katana400"])
def test_katana_equals_the_closed_form_of_its_planar_arm(name: str) -> None:
    robot = bundled.description(name)
    rng = np.random.default_rng(5)
    for _ in range(20):
        values = random_values(robot, rng)
        pan, lift, elbow, wrist, _, _ = values.values()
        angles = (lift, lift + elbow, lift + elbow - wrist)
        lengths = (0.19, 0.139, 0.1523 + 0.1505)
        radius = sum(length * math.cos(angle) for length, angle in zip(lengths, angles, strict=True))
        height = 0.2015 + sum(length * math.sin(angle) for length, angle in zip(lengths, angles, strict=True))
        tip = poses(robot, values)["katana_gripper_tool_frame"][:3, 3]
        assert np.allclose(tip, (radius * math.cos(pan), radius * math.sin(pan), height), atol=1e-12)


def test_youbot_arm_stands_as_high_as_its_manual_says() -> None:
    robot = bundled.description("youbot_arm")
    upright = {name: values[0] for name, values in robot.semantics.states[0].values.items()}
    tip = poses(robot, upright)["gripper_tool_frame"]
    assert np.allclose(tip[:3, 3], (0.024 + 0.033, 0.0, 0.115 + 0.155 + 0.135 + 0.2175), atol=1e-9)
    assert np.allclose(tip[:3, 2], (0, 0, 1), atol=1e-9)


def test_elise_is_a_ur10_with_the_rods_of_the_benchmark() -> None:
    robot = bundled.description("elise")
    rng = np.random.default_rng(5)
    for _ in range(10):
        values = random_values(robot, rng)
        ours = poses(robot, values)
        one, two, three = (values[f"endoscope_joint_{i}"] for i in (1, 2, 3))
        rods = (
            pose((0, 0, 0.6), (0, one, 0)) @ pose((0, 0, 0.08), (0, two, 0)) @ pose((0, 0, 0), (three, 0, 0))
        ) @ pose((0, 0, 0.035))
        assert np.allclose(ours["tip"], ours["tool0"] @ rods, atol=1e-12)
        arm = poses(bundled.description("ur10"), values)
        assert np.allclose(ours["tool0"], arm["tool0"], atol=1e-15)
    for joint in robot.joints:
        if joint.name.startswith("endoscope_joint"):
            assert joint.upper[0] == -joint.lower[0] == pytest.approx(math.radians(100))
    shapes = {link.name: link.collisions[0] for link in robot.links if link.collisions}
    assert {shapes[f"endoscope_rod_{i}"].shape.radius for i in (1, 2, 3)} == {0.006}
    assert shapes["tip"].shape == Cylinder(0.006, 0.0075)
    assert shapes["endoscope_rod_3"].shape.length == pytest.approx(0.0275)


def test_elise_takes_other_dimensions_and_refuses_impossible_ones() -> None:
    robot = bundled.description(
        "elise", lengths=(0.5, 0.12, 0.03), radius=0.004, limits=(1.0, 1.1, 1.2), axes=("x", "y", "x"), tip_length=0.01
    )
    ours = poses(robot, {})
    assert np.allclose((np.linalg.inv(ours["tool0"]) @ ours["tip"])[:3, 3], (0, 0, 0.65), atol=1e-12)
    assert [j.upper[0] for j in robot.joints if j.name.startswith("endoscope_joint")] == [1.0, 1.1, 1.2]
    for wrong in ({"lengths": (0.6, 0.08)}, {"radius": 0.0}, {"tip_length": 0.04}, {"axes": ("y", "y", "z")}):
        with pytest.raises(InvalidInputError):
            bundled.description("elise", **wrong)


def test_curved_shaft_of_the_endoscope_follows_its_arc() -> None:
    robot = bundled.description("ur10_curved_endoscope", straight=0.3, bend_radius=0.2, bend=math.pi / 2, end=0.1)
    ours = poses(robot, {})
    tip = np.linalg.inv(ours["tool0"]) @ ours["tip"]
    assert np.allclose(tip[:3, 3], (0.2 + 0.1, 0, 0.3 + 0.2), atol=1e-12)
    assert np.allclose(tip[:3, 2], (1, 0, 0), atol=1e-12)
    shaft = next(link for link in robot.links if link.name == "endoscope_shaft")
    assert len(shaft.collisions) == 8
    for angle in np.linspace(0, math.pi / 2, 30):
        on_arc = np.array([0.2 * (1 - math.cos(angle)), 0.0, 0.3 + 0.2 * math.sin(angle)])
        assert min(distance_to_axis(g, on_arc) for g in shaft.collisions) < 0.2 * (1 - math.cos(math.pi / 24)) + 1e-9


def distance_to_axis(geometry: Geometry, point: np.ndarray) -> float:
    local = geometry.origin[:3, :3].T @ (point - geometry.origin[:3, 3])
    local[2] -= np.clip(local[2], -geometry.shape.length / 2, geometry.shape.length / 2)
    return float(np.linalg.norm(local))


def test_valkyrie_has_the_eight_full_body_setups_with_their_joint_counts() -> None:
    robot = bundled.description("valkyrie")
    groups = {group.name: group for group in robot.semantics.groups}

    def joints(name: str) -> set[str]:
        return set(groups[name].joints).union(*(joints(part) for part in groups[name].subgroups))

    setups = {
        "torso_right_arm": 10, "right_leg": 6, "torso_both_arms": 17, "torso_right_arm_head": 13,
        "torso_both_arms_head": 20, "torso_right_hand": 23, "body_without_head": 32, "full_body": 35,
    }  # fmt: skip
    assert {name: len(joints(name)) for name in setups} == setups
    assert len(joints("left_hand")) == len(joints("right_hand")) == 13
    assert len(driven(bundled.description("valkyrie", pelvis="fixed", hands=False))) == 32


@pytest.mark.parametrize("name", ["valkyrie", "mannequin", "character", "wolf"])
def test_right_side_is_the_mirror_image_of_the_left(name: str) -> None:
    """Mirroring a configuration at the x-z plane mirrors the poses and keeps the limits."""
    robot = bundled.description(name)
    joints = {joint.name: joint for joint in robot.joints}

    def other(text: str) -> str:
        swap = {"left": "right", "right": "left"}
        return next((swap[s] + text[len(s) :] for s in swap if text.startswith(s)), text)

    values = random_values(robot, np.random.default_rng(11))
    mirror = {}
    for text, value in values.items():
        joint = joints[text]
        sideways = abs(joint.axis[1]) > 0.5
        keep = sideways if joint.kind == "revolute" else not sideways
        mirror[other(text)] = value if keep else -value
        if other(text) != text:
            lower, upper = joints[other(text)].lower[0], joints[other(text)].upper[0]
            assert (lower, upper) == ((joint.lower[0], joint.upper[0]) if keep else (-joint.upper[0], -joint.lower[0]))
    here, there = poses(robot, values), poses(robot, mirror)
    flip = np.diag([1.0, -1.0, 1.0, 1.0])
    for link in here:
        assert np.allclose(there[other(link)], flip @ here[link] @ flip, atol=1e-12), link


@pytest.mark.parametrize(("name", "soles"), [("valkyrie", "Foot"), ("mannequin", "_sole"), ("character", "_sole"),
                                             ("wolf", "_sole")])  # fmt: skip
def test_bodies_stand_on_the_floor_in_the_zero_configuration(name: str, soles: str) -> None:
    robot = bundled.description(name)
    ours = poses(robot, {})
    heights = [ours[link][2, 3] - (0.09 if soles == "Foot" else 0.0) for link in ours if link.endswith(soles)]
    assert len(heights) >= 2
    assert np.abs(heights).max() < 0.01


PARTS = {
    "mannequin": {"pelvis": 3, "spine": 6, "head": 5, "left_leg": 7, "right_leg": 7, "left_arm": 7, "right_arm": 7},
    "character": {
        "pelvis": 3, "spine": 3, "head": 6, "left_leg": 7, "right_leg": 7, "left_arm": 7, "right_arm": 7,
        "left_fingers": 19, "right_fingers": 19,
    },
    "wolf": {
        "pelvis": 3, "spine": 9, "head": 6, "tail": 12, "left_front_leg": 8, "right_front_leg": 8, "left_back_leg": 6,
        "right_back_leg": 6,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", PARTS)
def test_bodies_have_the_thesis_count_of_joints_per_part(name: str) -> None:
    groups = {group.name: len(group.joints) for group in bundled.description(name).semantics.groups}
    assert {part: groups[part] for part in PARTS[name]} == PARTS[name]
    assert sum(PARTS[name].values()) == len(driven(bundled.description(name)))


def test_shadow_hand_has_the_thesis_count_of_joints_per_finger() -> None:
    robot = bundled.description("shadow_hand")
    count = {d: sum(j.name.startswith(f"rh_{d}") for j in driven(robot)) for d in ("WR", "FF", "MF", "RF", "LF", "TH")}
    assert count == {"WR": 2, "FF": 3, "MF": 3, "RF": 3, "LF": 4, "TH": 4}
    on_ur = bundled.description("shadow_hand_arm", arm="ur10")
    assert len(driven(on_ur)) == 25
    with pytest.raises(InvalidInputError, match="'iiwa14' or 'ur10'"):
        bundled.description("shadow_hand_arm", arm="panda")


@pytest.mark.parametrize("count", [1, 2, 7, 30, 200])
def test_chain_has_its_length_in_joints_and_its_reach_in_metres(count: int) -> None:
    robot = bundled.description(f"chain{count}")
    assert robot.name == f"chain{count}"
    assert len(driven(robot)) == count
    assert poses(robot, {})["tip"][2, 3] == pytest.approx(1.5)
    assert repr(robot) == repr(bundled.description("chain", joints=count))


def test_pr2_rolls_on_the_floor_when_asked() -> None:
    robot = bundled.description("pr2", base="planar")
    assert robot.joints[0].kind == "planar"
    assert structural_defects(robot) == []
    with pytest.raises(InvalidInputError, match="'fixed' or 'planar'"):
        bundled.description("pr2", base="floating")


@pytest.mark.parametrize("name", ["racer5", "racer3"])
def test_the_two_box_tool_is_cube_and_plate_with_the_tip_on_the_plate(name: str) -> None:
    robot = bundled.description(name, tool="plate") if name == "racer5" else bundled.description("racer3_plate")
    ours = poses(robot, {})
    assert np.allclose(np.linalg.inv(ours["tool0"]) @ ours["tool_tip"], pose((0, 0, 0.09)), atol=1e-12)
    sizes = [link.collisions[0].shape for link in robot.links if link.name in ("tool_cube", "tool_plate")]
    assert sizes == [Box((0.05, 0.05, 0.05)), Box((0.35, 0.1, 0.04))]


MESHES = {
    "ur3": "ur3_robot.urdf",
    "ur5": "ur5_robot.urdf",
    "ur10": "ur10_robot.urdf",
    "iiwa14": "lbr_iiwa_14_r820.urdf",
}


@pytest.mark.parametrize("name", MESHES)
def test_primitives_wrap_the_real_arm_but_for_centimetres(name: str) -> None:
    """At least 90 % of each moving link's mesh surface lies within 1 cm outside its primitives."""
    trimesh = pytest.importorskip("trimesh")
    robot = bundled.description(name)
    file = robot_file(MESHES[name])
    ours = {link.name: link for link in robot.links}
    checked = 0
    for element in ElementTree.parse(file).getroot().iterfind("link"):
        link = ours.get(element.get("name", ""))
        reference = element.find("collision/geometry/mesh")
        if link is None or not link.collisions or reference is None or link.name == "base_link":
            continue
        path = file.parents[1] / "meshes" / reference.get("filename", "").split("/meshes/")[1]
        mesh = trimesh.load(path, force="mesh")
        points, _ = trimesh.sample.sample_surface(mesh, 2000, seed=1)
        outside = np.min([signed_distance(g, points) for g in link.collisions], axis=0)
        assert np.mean(outside > 0.01) < 0.1, link.name
        checked += 1
    assert checked >= 6
