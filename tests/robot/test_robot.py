"""The Robot: kinematics against Pinocchio and the definition of joints, names, limits, errors, identity."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pinocchio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pinocchio_truth import FILES, Truth
from random_trees import random_description, reference_poses
from scipy.spatial.transform import Rotation

import memetik as mk
from memetik.errors import InvalidInputError, UnknownNameError
from memetik.robot.description import Description, Joint, Link, Mimic
from memetik.robot.joint_kinds import JOINT_KINDS
from memetik.robot.robot import Robot

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def panda() -> Robot:
    return mk.load_robot("panda")


@pytest.mark.parametrize("name", FILES)
def test_kinematics_and_dynamics_equal_pinocchio(name: str) -> None:
    path = FILES[name]
    robot = mk.load_robot(path, srdf=False)
    truth = Truth(path, robot)
    rng = np.random.default_rng(0)
    q = robot.random(rng, 1000)
    v, a = rng.normal(size=(2, *q.shape))
    link = [str(name) for name in rng.choice(robot.links, 1000)]
    jacobians = {name: robot.jacobian(name, q) for name in set(link)}
    found = [
        robot.pose(robot.links, q),
        np.array([jacobians[name][k] for k, name in enumerate(link)]),
        robot.gravity_torques(q),
        robot.inverse_dynamics(q, v, a),
        *([robot.center_of_mass(q)] if robot.mass > 0.0 else []),
    ]
    for k in range(1000):
        expected = [
            truth.poses(robot.links, q[k]),
            truth.jacobian(link[k], q[k]),
            truth.gravity_torques(q[k]),
            truth.inverse_dynamics(q[k], v[k], a[k]),
            *([truth.center_of_mass(q[k])] if robot.mass > 0.0 else []),
        ]
        for ours, pinocchios in zip(found, expected, strict=True):
            difference = np.abs(ours[k] - pinocchios).max()
            assert difference <= 1e-10 * max(1.0, np.abs(pinocchios).max())


@pytest.mark.parametrize("name", ["talos", "g1", "anymal", "panda"])
def test_a_floating_base_equals_pinocchios_free_flyer(name: str) -> None:
    path = FILES[name]
    grounded = mk.load_robot(path, srdf=False)
    robot = grounded.with_floating_base()
    model = pinocchio.buildModelFromUrdf(str(path), pinocchio.JointModelFreeFlyer())
    data = model.createData()
    truth = Truth(path, grounded)
    aligned = pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED
    for q in robot.random(0, 100):
        turns = [Rotation.from_euler(axis, angle) for axis, angle in zip("xyz", q[3:6], strict=True)]
        rotation = turns[0] * turns[1] * turns[2]
        full = np.concatenate([q[:3], rotation.as_quat(), truth.q(q[6:])])
        # The free flyer's velocities are those of its own frame; ours are the rates of x, y, z and the three angles.
        rates = np.zeros((6, 6))
        rates[:3, :3] = rotation.as_matrix().T
        rates[3:, 3] = (turns[1] * turns[2]).inv().apply([1.0, 0.0, 0.0])
        rates[3:, 4] = turns[2].inv().apply([0.0, 1.0, 0.0])
        rates[3:, 5] = (0.0, 0.0, 1.0)
        spread = np.zeros((model.nv, robot.dof))
        spread[:6, :6], spread[6:, 6:] = rates, truth.spread
        link = grounded.links[-1]
        frame = model.getFrameId(link, pinocchio.FrameType.BODY)
        jacobian = pinocchio.computeFrameJacobian(model, data, full, frame, aligned) @ spread
        pinocchio.framesForwardKinematics(model, data, full)
        gravity = spread.T @ pinocchio.computeGeneralizedGravity(model, data, full)
        np.testing.assert_allclose(robot.pose(link, q), data.oMf[frame].homogeneous, atol=1e-10)
        np.testing.assert_allclose(robot.jacobian(link, q), jacobian, atol=1e-10)
        np.testing.assert_allclose(robot.gravity_torques(q), gravity, atol=1e-10 * np.abs(gravity).max())
        np.testing.assert_allclose(robot.center_of_mass(q), pinocchio.centerOfMass(model, data, full), atol=1e-10)


@given(seed=seeds, joints=st.integers(1, 14))
@settings(max_examples=150, deadline=None)
def test_poses_follow_the_definition_of_every_joint_kind(seed: int, joints: int) -> None:
    description = random_description(seed, joints)
    robot = Robot(description)
    q = robot.random(seed)
    expected = reference_poses(description, robot.joints(q))
    for link, pose in zip(robot.links, robot.pose(robot.links, q), strict=True):
        np.testing.assert_allclose(pose, expected[link], atol=1e-12)


@pytest.mark.parametrize("block", range(10))
def test_jacobians_of_points_and_between_links_are_derivatives_on_500_trees(block: int) -> None:
    for seed in range(50 * block, 50 * block + 50):
        rng = np.random.default_rng(seed)
        robot = Robot(random_description(rng, int(rng.integers(1, 13))))
        q = robot.random(rng)
        link, other = (str(name) for name in rng.choice(robot.links, 2))
        point = rng.uniform(-0.3, 0.3, 3)
        for reference in (None, other):
            jacobian = robot.jacobian(link, q, point, reference)
            numeric = _numeric_jacobian(robot, link, q, point, reference)
            assert np.abs(jacobian - numeric).max() <= 1e-6 * max(1.0, np.abs(numeric).max()), seed


def _numeric_jacobian(robot: Robot, link: str, q: np.ndarray, point: np.ndarray, reference: str | None) -> np.ndarray:
    step = 1e-5 * np.eye(robot.dof)
    forward, back = (robot.pose(link, q + sign * step, relative_to=reference) for sign in (1, -1))
    change = (forward - back) / 2e-5
    linear = change[:, :3, :3] @ point + change[:, :3, 3]
    turning = change[:, :3, :3] @ robot.pose(link, q, relative_to=reference)[:3, :3].T
    angular = np.stack([turning[:, 2, 1], turning[:, 0, 2], turning[:, 1, 0]], axis=1)
    return np.concatenate([linear, angular], axis=1).T


def test_random_trees_have_every_kind_of_joint_and_coupling() -> None:
    joints = [joint for seed in range(60) for joint in random_description(seed, 12).joints]
    by_name = [{joint.name: joint for joint in random_description(seed, 12).joints} for seed in range(60)]
    assert {joint.kind for joint in joints} == set(JOINT_KINDS)
    assert any(joint.reversed for joint in joints)
    assert any(joint.swing_twist for joint in joints)
    assert any(any(joint.anchor) for joint in joints)
    followed = [tree[j.mimic.joint] for tree in by_name for j in tree.values() if j.mimic is not None]
    assert any(master.mimic is not None for master in followed)


@given(seed=seeds)
@settings(max_examples=40, deadline=None)
def test_batches_equal_single_configurations(seed: int) -> None:
    robot = Robot(random_description(seed, 6))
    configurations = robot.random(seed, 5)
    link = robot.links[-1]
    velocity = robot.random(seed + 1, 5)
    calls = [
        lambda q, v: robot.pose(link, q),
        lambda q, v: robot.pose(robot.links, q),
        lambda q, v: robot.jacobian(link, q),
        lambda q, v: robot.pose_and_jacobian(link, q)[1],
        lambda q, v: robot.gravity_torques(q, (1.0, 2.0, 3.0)),
        lambda q, v: robot.inverse_dynamics(q, v, v),
        lambda q, v: robot.mass_matrix(q),
    ]
    for call in calls:
        many = call(configurations, velocity)
        each = [call(q, v) for q, v in zip(configurations, velocity, strict=True)]
        np.testing.assert_allclose(many, each, rtol=1e-12, atol=1e-12)


def test_the_center_of_mass_jacobian_is_the_derivative_of_the_center_of_mass(panda: Robot) -> None:
    q, step = panda.random(3), 1e-6
    numeric = [
        (panda.center_of_mass(q + step * unit) - panda.center_of_mass(q - step * unit)) / (2 * step)
        for unit in np.eye(panda.dof)
    ]
    np.testing.assert_allclose(panda.center_of_mass_jacobian(q), np.transpose(numeric), atol=1e-8)


def test_results_are_written_into_out_and_out_is_returned(panda: Robot) -> None:
    q = panda.random(0, 4)
    poses, jacobians = np.empty((4, 4, 4)), np.empty((4, 6, panda.dof))
    assert panda.pose("panda_hand", q, out=poses) is poses
    np.testing.assert_array_equal(poses, panda.pose("panda_hand", q))
    assert panda.pose_and_jacobian("panda_hand", q, out=(poses, jacobians))[1] is jacobians
    np.testing.assert_array_equal(jacobians, panda.jacobian("panda_hand", q))


@pytest.mark.parametrize(
    "out",
    [np.empty((4, 4), dtype=np.float32), np.empty((3, 4)), np.empty((4, 8))[:, ::2], [[0.0] * 4] * 4],
    ids=["float32", "shape", "strided", "list"],
)
def test_an_out_that_does_not_fit_is_an_error(panda: Robot, out: np.ndarray) -> None:
    with pytest.raises(InvalidInputError, match=r"float64 array of shape \(4, 4\)"):
        panda.pose("panda_hand", panda.neutral, out=out)


def test_a_q_that_shares_memory_with_out_is_an_error() -> None:
    robot = Robot(
        Description("one", (Link("a"), Link("b")), (Joint("j", "revolute", "a", "b", lower=(-1,), upper=(1,)),))
    )
    memory = np.zeros(16)
    with pytest.raises(InvalidInputError, match="share memory"):
        robot.pose("b", memory[:1], out=memory.reshape(4, 4))


def test_the_wrong_shape_of_q_is_named_with_the_joints(panda: Robot) -> None:
    with pytest.raises(InvalidInputError, match=r"shape \(3,\).*\(8,\) or \(N, 8\).*panda_joint1, panda_joint2"):
        panda.pose("panda_hand", [0.0, 0.0, 0.0])
    with pytest.raises(InvalidInputError, match=r"robot\.q"):
        panda.pose("panda_hand", {"panda_joint1": 0.0})


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_named_with_their_joint(panda: Robot, value: float) -> None:
    q = panda.random(0, 3)
    q[1, 2] = value
    with pytest.raises(InvalidInputError, match="'panda_joint3' in configuration 1"):
        panda.jacobian("panda_hand", q)


def test_huge_finite_values_pass_the_check_of_q(panda: Robot) -> None:
    assert panda.check_q(np.full(panda.dof, 1e200)).shape == (panda.dof,)


def test_an_unknown_link_suggests_the_right_one(panda: Robot) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'panda_hand"):
        panda.pose("pand_hand", panda.neutral)


def test_q_from_names_fills_the_rest_with_neutral_or_default_values(panda: Robot) -> None:
    q = panda.q({"panda_joint1": 0.3})
    assert q[0] == 0.3
    np.testing.assert_array_equal(q[1:], panda.neutral[1:])
    default = panda.random(0)
    np.testing.assert_array_equal(panda.q({"panda_joint2": 0.1}, default)[[0, 2, 3]], default[[0, 2, 3]])
    np.testing.assert_array_equal(panda.q(panda.joints(default)), default)


def test_mimic_values_are_reported_and_must_agree_when_given(panda: Robot) -> None:
    q = panda.q({"panda_finger_joint1": 0.03})
    assert panda.joints(q, mimic=True)["panda_finger_joint2"] == pytest.approx(0.03)
    np.testing.assert_array_equal(panda.q(panda.joints(q, mimic=True)), q)
    with pytest.raises(InvalidInputError, match="mimics 'panda_finger_joint1'"):
        panda.q({"panda_finger_joint2": 0.01, "panda_finger_joint1": 0.03})


def test_a_joint_with_several_axes_is_set_by_its_own_name_or_by_axis(panda: Robot) -> None:
    robot = panda.with_planar_base()
    q = robot.q({"base": (1.0, 2.0, 0.5)})
    np.testing.assert_array_equal(q[:3], [1.0, 2.0, 0.5])
    assert robot.q({"base/yaw": 0.25})[2] == 0.25
    with pytest.raises(InvalidInputError, match="3 numbers"):
        robot.q({"base": 1.0})


def test_names_that_do_not_exist_and_fixed_joints_are_errors(panda: Robot) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'panda_joint1'"):
        panda.q({"panda_joint_1": 0.0})
    fixed = panda.with_fixed({"panda_joint1": 0.0})
    with pytest.raises(InvalidInputError, match="is fixed"):
        fixed.q({"panda_joint1": 0.0})


def test_random_configurations_are_within_limits_and_turns_and_repeat_with_the_seed() -> None:
    robot = Robot(random_description(5, 12))
    q = robot.random(0, 2000)
    assert robot.within_limits(q).all()
    angles = q[:, robot.turning & np.isinf(robot.lower) & np.isinf(robot.upper)]
    assert angles.size
    assert np.abs(angles).max() <= np.pi
    assert np.ptp(angles, axis=0).min() > 6.0
    np.testing.assert_array_equal(q, robot.random(np.random.default_rng(0), 2000))


def test_neutral_is_the_middle_of_limits_and_zero_without() -> None:
    limits = {"a": (-1.0, 3.0), "b": (-np.inf, np.inf), "c": (0.5, np.inf), "d": (-np.inf, -0.25)}
    joints = [
        Joint(name, "prismatic", f"l{k}", f"l{k + 1}", lower=(low,), upper=(high,))
        for k, (name, (low, high)) in enumerate(limits.items())
    ]
    robot = Robot(Description("slides", tuple(Link(f"l{k}") for k in range(5)), tuple(joints)))
    np.testing.assert_array_equal(robot.neutral, [1.0, 0.0, 0.5, -0.25])
    samples = robot.random(0, 500)
    assert robot.within_limits(samples).all()
    assert np.abs(samples).max() <= 3.0


def test_clip_and_within_limits(panda: Robot) -> None:
    q = panda.upper + 0.1
    assert not panda.within_limits(q)
    assert panda.within_limits(q, tolerance=0.11)
    np.testing.assert_array_equal(panda.clip(q), panda.upper)
    assert panda.within_limits(np.stack([q, panda.neutral])).tolist() == [False, True]


def test_structure_queries_agree_with_the_description(panda: Robot) -> None:
    assert panda.base == "panda_link0"
    assert panda.parent("panda_link0") is None
    assert panda.parent("panda_link1") == "panda_link0"
    assert panda.children("panda_link0") == ("panda_link1",)
    assert panda.ancestors("panda_link2") == ("panda_link1", "panda_link0")
    assert set(panda.descendants("panda_link0")) == set(panda.links) - {"panda_link0"}
    assert panda.moves("panda_link2").tolist() == [True, True] + [False] * (panda.dof - 2)
    assert panda.joint("panda_joint1").child == "panda_link1"
    assert panda.mass == pytest.approx(sum(link.inertial.mass for link in panda.description.links if link.inertial))


def test_continuous_marks_entries_whose_full_turn_moves_nothing() -> None:
    base, tip = Link("base"), Link("tip")
    turning = Joint("turn", "continuous", "base", "middle")

    def robot(multiplier: float) -> Robot:
        follower = Joint("follow", "continuous", "middle", "tip", mimic=Mimic("turn", multiplier))
        return Robot(Description("two", (base, Link("middle"), tip), (turning, follower)))

    assert robot(2.0).continuous.tolist() == [True]
    assert robot(0.5).continuous.tolist() == [False]
    for whole in (2.0, -1.0):
        one = robot(whole)
        np.testing.assert_allclose(one.pose("tip", [0.3]), one.pose("tip", [0.3 + 2 * np.pi]), atol=1e-14)


def test_margins_and_soft_limits_narrow_the_position_limits(panda: Robot) -> None:
    arm = panda.turning
    narrow = Robot(panda.description, limit_margin=0.1)
    np.testing.assert_allclose(narrow.lower[arm], panda.lower[arm] + 0.1)
    np.testing.assert_array_equal(narrow.lower[~arm], panda.lower[~arm])
    with pytest.raises(InvalidInputError, match="no range"):
        panda.with_limit_margin({"panda_finger_joint1": 0.1})
    soft = panda.with_limits({"panda_joint1": {"soft_lower": -1.0, "soft_upper": 2.0}})
    assert (soft.lower[0], soft.soft_lower[0]) == (panda.lower[0], -1.0)
    assert (soft.with_soft_limits().lower[0], soft.with_soft_limits().upper[0]) == (-1.0, 2.0)
    np.testing.assert_array_equal(soft.with_soft_limits().lower[1:], panda.lower[1:])


@given(seed=seeds)
@settings(max_examples=25, deadline=None)
def test_equal_content_gives_equal_robots_hashes_and_pickles(seed: int) -> None:
    robot = Robot(random_description(seed, 5))
    again = Robot(random_description(seed, 5))
    loaded = pickle.loads(pickle.dumps(robot))
    assert robot == again == loaded
    assert hash(robot) == hash(again) == hash(loaded)
    assert {robot: "found"}[loaded] == "found"
    moved = robot.at(robot.base_pose @ mk.transform((0.0, 0.0, 1e-9)))
    assert moved != robot
    assert copy.deepcopy(robot) is robot
    q = robot.random(seed)
    np.testing.assert_array_equal(loaded.pose(loaded.links, q), robot.pose(robot.links, q))


def test_the_hash_is_the_same_in_another_process(panda: Robot) -> None:
    code = "import memetik as mk; print(mk.load_robot('panda').content_digest.hex())"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert found == panda.content_digest.hex()


def test_robots_cannot_be_changed(panda: Robot) -> None:
    with pytest.raises(AttributeError, match="cannot be changed"):
        panda.dof = 3  # type: ignore[misc]
    for array in (panda.lower, panda.upper, panda.velocity, panda.acceleration, panda.effort, panda.neutral):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0
    for array in (panda.turning, panda.continuous, panda.moves("panda_hand"), panda.base_pose):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


def test_a_description_changed_after_the_fact_does_not_change_its_robot() -> None:
    description = random_description(2, 3)
    robot = Robot(description)
    q = robot.random(0)
    before, digest = robot.pose(robot.links, q), robot.content_digest
    description.joints[0].origin[:3, 3] += 1.0
    np.testing.assert_array_equal(robot.pose(robot.links, q), before)
    assert pickle.loads(pickle.dumps(robot)).content_digest == digest


def test_repr_tells_size_base_and_tip(panda: Robot) -> None:
    text = repr(panda)
    for part in ("panda", "8 joints and 1 mimic", "panda_joint1", "13 links", "base 'panda_link0'", panda.tip):
        assert part in text


def test_a_robot_without_joints_has_empty_configurations() -> None:
    robot = Robot(Description("stone", (Link("stone"),), base=mk.transform((1.0, 2.0, 3.0))))
    assert robot.dof == 0
    assert robot.tip == "stone"
    np.testing.assert_array_equal(robot.pose("stone", [])[:3, 3], [1.0, 2.0, 3.0])
    assert robot.pose("stone", np.empty((3, 0))).shape == (3, 4, 4)
    assert robot.jacobian("stone", []).shape == (6, 0)
    with pytest.raises(InvalidInputError, match="no mass"):
        robot.center_of_mass([])


def test_manipulability_of_a_planar_arm_equals_its_closed_form() -> None:
    first, second = 0.7, 0.4
    arm = mk.robot_from_dh([(0.0, 0.0, first, 0.0), (0.0, 0.0, second, 0.0)], limits=[(-3.0, 3.0)] * 2)
    q = arm.random(0, 50)
    expected = first * second * np.abs(np.sin(q[:, 1]))
    # Two joints have two singular values; the third row of translation is zero and adds none.
    np.testing.assert_allclose(arm.manipulability(arm.tip, q, part="translation"), expected, atol=1e-12)
    assert arm.manipulability(arm.tip, [0.3, 0.0], part="translation") == pytest.approx(0.0, abs=1e-12)
    ratio = arm.manipulability(arm.tip, q, "ratio", "translation")
    np.testing.assert_allclose(arm.manipulability(arm.tip, q, "condition", "translation"), 1.0 / ratio)


def test_manipulability_of_a_redundant_arm_is_yoshikawas(panda: Robot) -> None:
    q = panda.random(1, 20)
    jacobians = panda.jacobian("panda_hand", q)
    expected = np.sqrt(np.linalg.det(jacobians @ np.swapaxes(jacobians, 1, 2)))
    np.testing.assert_allclose(panda.manipulability("panda_hand", q), expected, rtol=1e-9)
    with pytest.raises(InvalidInputError, match="did you mean 'product'"):
        panda.manipulability("panda_hand", q, "produkt")  # type: ignore[arg-type]


def test_loading_a_bundled_robot_imports_nothing_heavy() -> None:
    code = (
        "import sys, memetik as mk; robot = mk.load_robot('panda'); robot.pose(robot.tip, robot.neutral); hash(robot);"
        "print(*sorted({m.split('.')[0] for m in sys.modules} - set(sys.stdlib_module_names)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {
        "scipy",
        "trimesh",
        "yourdfpy",
        "xacrodoc",
        "lxml",
        "yaml",
        "plyfile",
        "rich",
        "typer",
        "pinocchio",
        "coal",
    }
    assert "numpy" in found
    assert not heavy & set(found)
