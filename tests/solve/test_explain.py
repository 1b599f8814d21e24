"""Reasons are proved where they say so; explanations name what misses, why, and what would help."""

from __future__ import annotations

import math

import numpy as np
import pytest
from problem_generator import generate
from scipy.spatial.transform import Rotation

import memetik as mk
from memetik.goals import (
    AlignAxis,
    AvoidDirection,
    Cone,
    Distance,
    JointValue,
    MinDistance,
    Orientation,
    Plane,
    Pose,
    Position,
)
from memetik.robot.robot import Robot
from memetik.solve.chain_bounds import angle_bounds, chain_between, direction_nodes, distance_bounds, point_nodes
from memetik.solve.explain import reason_of
from memetik.solve.hard_terms import HardTerms
from memetik.solve.problem import Problem, solve

OUT_OF_REACH, LIMITS, TOO_FEW, NOT_FOUND = (
    "out of reach", "limits exclude it", "too few joints for the demands", "not found in time",
)  # fmt: skip


def planar(lengths: tuple[float, ...], limits: tuple[float, float] = (-3.2, 3.2)) -> Robot:
    """Links in a row that turn about z, as far as the limits allow."""
    parts = ['<link name="base"/>']
    for k in range(len(lengths)):
        parent = "base" if k == 0 else f"link{k}"
        offset = 0.0 if k == 0 else lengths[k - 1]
        parts.append(
            f'<link name="link{k + 1}"/><joint name="j{k + 1}" type="revolute"><parent link="{parent}"/>'
            f'<child link="link{k + 1}"/><origin xyz="{offset} 0 0"/><axis xyz="0 0 1"/>'
            f'<limit lower="{limits[0]}" upper="{limits[1]}" velocity="1" effort="1"/></joint>'
        )
    parts.append(
        f'<link name="tip"/><joint name="end" type="fixed"><parent link="link{len(lengths)}"/><child link="tip"/>'
        f'<origin xyz="{lengths[-1]} 0 0"/></joint>'
    )
    return mk.load_robot(f'<robot name="planar">{"".join(parts)}</robot>')


def failed(robot: Robot, *goals, **options):
    solution = solve(robot, goals, timeout=0.02, **options)
    assert not solution.success
    return solution


def test_success_has_the_reason_solved_at_once():
    robot = mk.load_robot("panda")
    solution = solve(robot, [Position("panda_hand", (0.4, 0.0, 0.5))])
    assert reason_of(solution) == "solved"
    assert solution.reason == "solved"
    assert solution.explain().startswith("Solved in ")


@pytest.mark.parametrize("distance", [1.01, 1.5, 50.0])
@pytest.mark.clock
def test_beyond_the_stretched_arm_is_out_of_reach(distance: float):
    robot = planar((0.5, 0.3, 0.2))
    assert failed(robot, Position("tip", (distance, 0, 0))).reason == OUT_OF_REACH
    assert solve(robot, [Plane("tip", (0, 0, 0), "z"), Position("tip", (0.99, 0, 0))], timeout=0.5).success


@pytest.mark.clock
def test_the_hole_in_the_middle_is_out_of_reach():
    robot = planar((0.7, 0.2))
    assert failed(robot, Position("tip", (0.3, 0, 0))).reason == OUT_OF_REACH
    assert failed(robot, Distance("tip", (0, 0, 0), 0.4)).reason == OUT_OF_REACH
    assert solve(robot, [Distance("tip", (0, 0, 0), 0.6)], timeout=0.5).success


@pytest.mark.clock
def test_limits_that_keep_the_arm_bent_exclude_far_targets():
    bent = planar((0.5, 0.5), limits=(-3.0, -1.5))
    reach = math.hypot(0.5 + 0.5 * math.cos(1.5), 0.5 * math.sin(1.5))
    assert failed(bent, Distance("tip", (0, 0, 0), reach + 0.01)).reason == LIMITS
    assert failed(bent, Distance("tip", (0, 0, 0), 1.01)).reason == OUT_OF_REACH
    assert solve(bent, [Distance("tip", (0, 0, 0), reach - 0.01)], timeout=0.5).success


def test_prismatic_ranges_count():
    robot = mk.load_robot("pr2")
    lift = float(robot.upper[robot.joint_index("torso_lift_joint")])
    link = "l_gripper_tool_frame"
    low = robot.with_fixed({"torso_lift_joint": 0.0})
    highest = max(robot.pose(link, robot.random(0, n=2000))[:, 2, 3])
    assert failed(robot, Plane(link, (0, 0, 0), "z", highest + 2.0)).reason == OUT_OF_REACH
    assert failed(low, Plane(link, (0, 0, 0), "z", highest + lift + 1.0)).reason == OUT_OF_REACH


def test_goals_between_links_are_out_of_reach_as_well():
    robot = mk.load_robot("pr2")
    goal = Position("l_gripper_tool_frame", (4.0, 0, 0), relative_to="r_gripper_tool_frame")
    assert failed(robot, goal).reason == OUT_OF_REACH
    rigid = Distance("l_gripper_tool_frame", "l_gripper_palm_link", 0.9)
    solution = failed(robot, rigid)
    assert solution.reason == OUT_OF_REACH


def test_a_known_orientation_tells_where_the_wrist_has_to_be():
    robot = mk.load_robot("iiwa14")
    reach = 0.42 + 0.4  # shoulder to elbow to wrist
    for outwards, expected in ((0.02, OUT_OF_REACH), (-0.02, None)):
        # The tool points back to the shoulder: the flange alone would still be within reach.
        shoulder = np.array([0.0, 0.0, 0.36])
        tool = robot.pose("tool0", np.zeros(7))
        beyond_wrist = tool[2, 3] - 0.36 - reach
        position = shoulder + np.array([reach + outwards - beyond_wrist, 0.0, 0.0])
        target = mk.transform(position, matrix=Rotation.from_euler("y", -90, degrees=True).as_matrix())
        solution = solve(robot, [Pose("tool0", target)], timeout=0.2)
        assert (solution.reason == OUT_OF_REACH) == (expected == OUT_OF_REACH), solution.explain()


def test_directions_that_the_axes_cannot_take_are_out_of_reach():
    robot = planar((0.5, 0.5))
    assert failed(robot, AlignAxis("tip", "x", "z")).reason == OUT_OF_REACH
    assert failed(robot, AlignAxis("tip", "z", "-z")).reason == OUT_OF_REACH
    assert failed(robot, Cone("tip", "z", "x", 0.5)).reason == OUT_OF_REACH
    assert failed(robot, AvoidDirection("tip", "z", "z")).reason == OUT_OF_REACH
    assert failed(robot, Orientation("tip", Rotation.from_euler("x", 1.0).as_matrix())).reason == OUT_OF_REACH
    narrow = planar((0.5,), limits=(-0.5, 0.5))
    assert failed(narrow, AlignAxis("tip", "x", "y")).reason == LIMITS
    assert failed(narrow, Orientation("tip", Rotation.from_euler("z", 0.6).as_matrix())).reason == LIMITS
    assert failed(narrow, Position("tip", (0.5 * math.cos(0.6), 0.5 * math.sin(0.6), 0.0))).reason == LIMITS


def test_joint_values_outside_limits_are_excluded_by_them():
    robot = mk.load_robot("ur5")
    solution = failed(robot, JointValue("elbow_joint", 4.0))
    assert solution.reason == LIMITS
    assert "'elbow_joint' is limited to" in solution.explain()


def test_too_few_joints_are_counted_and_the_orientation_named():
    arm = mk.load_robot("youbot_arm")
    solution = failed(arm, Pose(arm.tip, mk.transform((0.3, 0.1, 0.3), rpy=(0.3, 0.5, 1.0))))
    assert solution.reason == NOT_FOUND  # some poses are reached by five joints: nothing is proved
    assert "5 joints can meet 6 demands in special cases only: free one axis of the orientation." in solution.explain()
    assert "It would be solved without its orientation." in solution.explain()


def test_three_joints_for_six_demands():
    robot = mk.load_robot("panda").with_fixed(
        {f"panda_joint{k}": v for k, v in ((1, 0.0), (3, 0.0), (5, 0.3), (7, 0.2))}
    )
    reachable = robot.pose("panda_hand", robot.random(3))
    turned = reachable @ mk.transform(rpy=(0.4, 0.0, 0.3))
    solution = failed(robot, Pose("panda_hand", turned))
    assert solution.reason in (NOT_FOUND, OUT_OF_REACH, LIMITS)
    assert "3 joints can meet 6 demands in special cases only: free the orientation." in solution.explain()


def test_no_reachable_target_is_called_impossible():
    """An arm of five joints reaches some poses: what is said where the search gives up must hold for these too."""
    arm = mk.load_robot("youbot_arm")
    problem = Problem(arm, [Pose(arm.tip)])
    for k in range(30):
        solution = problem.solve(arm.pose(arm.tip, arm.random(k)), evaluations=3, method="ccd")
        assert solution.success or solution.reason == NOT_FOUND


def test_no_joint_to_move_is_a_proof():
    robot = mk.load_robot("ur5")
    goal = Pose("tool0", robot.pose("tool0", robot.random(1)))
    solution = solve(robot, [goal], fixed=robot.joint_names, seed=robot.random(2))
    assert solution.reason in (TOO_FEW, OUT_OF_REACH)
    assert "No joint is free to move, and 6 demands must be met: free joints." in solution.explain()


def test_a_redundant_statement_is_no_shortage():
    robot = mk.load_robot("ur5")
    pose = robot.pose("tool0", robot.random(1))
    away = pose.copy()
    away[:3, 3] += (0.0, 0.0, 0.01)
    goals = [Pose("tool0", pose), AlignAxis("tool0", "z", pose[:3, 2]), Position("tool0", away[:3, 3])]
    assert failed(robot, *goals).reason == NOT_FOUND


def test_contradictions_are_not_called_proofs():
    robot = mk.load_robot("panda")
    goals = [Position("panda_hand", (0.4, 0, 0.5)), MinDistance("panda_hand", (0.4, 0, 0.5), 0.1)]
    solution = failed(robot, *goals)
    assert solution.reason == NOT_FOUND
    text = solution.explain()
    assert "It would be solved without 'position_panda_hand'." in text
    assert "It would be solved without 'mindistance_panda_hand'." in text


def test_explanations_tell_limits_that_matter_and_turned_tools():
    robot = mk.load_robot("iiwa14").with_limits({"joint_a7": (-0.5, 0.5)})
    q = robot.random(4)
    pose = robot.pose("tool0", q)
    spun = pose @ mk.transform(rpy=(0.0, 0.0, math.pi))
    tight = robot.with_limits({name: (value - 0.01, value + 0.01) for name, value in robot.joints(q).items()})
    text = failed(tight, Pose("tool0", spun)).explain()
    assert "It would be solved with the tool turned by 180 degrees about its z axis." in text
    assert "It would be solved without the limits of its joints." in text
    upside_down = failed(tight, AlignAxis("tool0", "z", -pose[:3, 2])).explain()
    assert "with its axis pointing the other way" in upside_down


def test_explanations_tell_that_a_fixed_joint_is_in_the_way():
    robot = mk.load_robot("ur5")
    target = robot.pose("tool0", robot.q({"shoulder_pan_joint": 1.0, "elbow_joint": 1.0}))
    solution = failed(robot, Pose("tool0", target), fixed={"shoulder_pan_joint": -1.0})
    assert "It would be solved if no joint were held fixed." in solution.explain()


def test_errors_are_told_in_physical_units():
    robot = mk.load_robot("panda")
    text = failed(robot, Position("panda_hand", (3.0, 0, 0.333), tolerance=0.002)).explain()
    assert text.splitlines()[0] == "Not solved: out of reach."
    assert "misses 'position_panda_hand': position by 2.1" in text
    assert "m (2 mm allowed)" in text


def test_a_reason_does_not_change_with_the_callers_arrays():
    robot = mk.load_robot("panda")
    problem = Problem(robot, [Position("panda_hand")])
    target = np.array([9.0, 0.0, 0.0])
    solution = problem.solve(target, timeout=0.01)
    target[:] = (0.4, 0.0, 0.5)
    assert solution.reason == OUT_OF_REACH


@pytest.mark.parametrize(
    "name", ["panda", "ur5", "pr2", "youbot_arm", "elise", "katana300", "chain2", "mannequin", "baxter"]
)
def test_no_configuration_leaves_the_bounds_of_its_chain(name: str):
    """The bounds are proofs: thousands of configurations within the limits, and none outside."""
    robot = mk.load_robot(name)
    rng = np.random.default_rng(1)
    moving = [link for link in robot.links if robot.moves(link).any()]
    for _ in range(6):
        link, other = (moving[int(k)] for k in rng.integers(len(moving), size=2))
        reference = None if rng.uniform() < 0.5 else other
        problem = Problem(robot, [Pose(link, np.eye(4), relative_to=reference)])
        hard = HardTerms.of_solution(problem.solve(timeout=0.0))
        chain = chain_between(hard, hard.terms[0].spec.frame, hard.terms[0].spec.reference)
        if not chain.joints:
            continue
        poses = robot.pose(link, robot.random(rng, n=3000), relative_to=reference)
        nodes = point_nodes(chain)
        bounds = distance_bounds(chain, nodes)
        vectors = list(np.eye(3))
        turned = direction_nodes(chain, vectors)
        angles = angle_bounds(chain, turned)
        for start, node in enumerate(nodes):
            if 0 in node:
                distances = np.linalg.norm(poses[:, :3, 3] - node[0], axis=1)
                assert distances.max() <= bounds.upper[start, -1] + 1e-7
                assert distances.min() >= bounds.lower[start, -1] - 1e-7
        for start, node in enumerate(turned):
            if 0 in node:
                for k in range(3):
                    between = np.arccos(np.clip(poses[:, :3, k] @ node[0], -1.0, 1.0))
                    assert between.max() <= angles.upper[start, k - 3] + 1e-6
                    assert between.min() >= angles.lower[start, k - 3] - 1e-6


def test_what_is_in_the_way_is_named():
    robot = mk.load_robot("ur5")
    scene = mk.Scene()
    scene.add_box("wall", size=(0.6, 0.1, 0.6), pose=mk.transform((0.4, 0.1, 0.4)))
    problem = Problem(robot, [Position("tool0")], scene=scene)
    inside = problem.solve((0.4, 0.1, 0.4), timeout=0.05)
    assert inside.reason == "in collision"
    text = inside.explain()
    assert "'wrist_3_link' and 'wall'" in text
    assert "It would be solved if it might touch what is in its way." in text
    beyond = problem.solve((4.0, 0.1, 0.4), timeout=0.05)
    assert beyond.reason == OUT_OF_REACH


def test_a_stand_in_for_a_scene_is_asked_as_well():
    class LowCeiling:
        def __init__(self, robot: Robot):
            self.robot = robot

        def collides(self, q: np.ndarray) -> bool:
            return bool(self.robot.pose("forearm_link", q)[2, 3] > -1.0)

    robot = mk.load_robot("ur5")
    solution = solve(robot, [Position("tool0", (0.4, 0.1, 0.4))], scene=LowCeiling(robot), timeout=0.05)
    assert solution.reason == "in collision"
    assert "It would be solved if it might touch what is in its way." in solution.explain()


def test_the_nearest_configuration_is_called_approximate():
    robot = mk.load_robot("ur5")
    solution = solve(robot, [Position("tool0", (3.0, 0.0, 0.1))], approximate=True, timeout=0.05)
    assert solution.reason == "approximate"
    text = solution.explain()
    assert text.startswith("Not solved: this is the nearest configuration that was found.")
    assert "Proved for 'position_tool0'" in text


def test_nothing_that_is_possible_is_proved_impossible():
    """Problems that a hidden configuration solves, given no time: whatever the reason is, it is not a proof."""
    reasons = set()
    for k in range(400):
        case = generate(k)
        if case.flaw is None:
            problem = Problem(case.robot, case.goals, fixed=case.fixed)
            solution = problem.solve(*([case.targets] if case.targets else []), seed=case.seed, evaluations=1)
            if not solution.success:
                reasons.add(solution.reason)
                assert solution.reason not in (OUT_OF_REACH, LIMITS), f"{case!r}\n{solution.explain()}"
    assert NOT_FOUND in reasons


def test_most_of_what_is_too_far_away_or_beyond_limits_is_proved():
    proved = total = 0
    for k in range(600):
        case = generate(k)
        if case.flaw in ("too_far", "beyond_limits", "held_elsewhere", "rigid_length"):
            problem = Problem(case.robot, case.goals, fixed=case.fixed)
            solution = problem.solve(*([case.targets] if case.targets else []), seed=case.seed, evaluations=1)
            assert not solution.success
            total += 1
            proved += solution.reason in (OUT_OF_REACH, LIMITS)
    assert total > 30
    assert proved == total


def test_an_explanation_speaks_of_the_point_that_the_goal_is_on():
    robot = mk.load_robot("panda")
    for x in (2.0, 4.0):
        text = failed(robot, Position("panda_hand", (x, 0.0, 0.333))).explain()
        assert f"at least {x:.3f} m from (0.000, 0.000, 0.333) on the axis of joint 'panda_joint1'" in text


def test_a_collision_is_explained_with_its_pair():
    robot, scene = mk.load_robot("panda"), mk.Scene()
    scene.add_box("wall", (1.0, 1.0, 1.0), mk.transform((0.4, 0.0, 0.5)))
    goal = Pose("panda_hand", mk.transform((0.4, 0.0, 0.5), rpy=(3.1, 0.0, 0.0)))
    solution = solve(robot, [goal], scene=scene, timeout=0.2)
    assert solution.reason == "in collision"
    assert "and 'wall')." in solution.explain().splitlines()[0]


@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_what_blocks_the_configurations_is_named_and_moving_it_helps(name):
    robot, scene = mk.load_robot(name), mk.Scene()
    target = robot.pose(robot.tip, robot.random(4))
    scene.add_box("crate", (0.1, 0.1, 0.1), mk.transform(target[:3, 3]))
    scene.add_box("shelf", (0.3, 0.3, 0.3), mk.transform((0.4, 0.4, 0.4)))
    problem = mk.Problem(robot, Pose(robot.tip), scene=scene)
    solution = problem.solve(target, timeout=0.1)
    text = solution.explain()
    assert solution.reason == "in collision"
    assert ("Proved: every configuration" in text) == (name == "ur5")
    assert "In the way: 'crate' (" in text
    assert "To move out of the way: 'crate', which frees configuration" in text
    scene.move("crate", mk.transform((0.0, 0.0, 3.0)))
    assert problem.solve(target).success


def test_objects_that_block_together_are_named_together():
    robot, scene = mk.load_robot("ur5"), mk.Scene()
    target = robot.pose(robot.tip, robot.random(4))
    for name, away in (("first", 0.0), ("second", 0.02)):
        scene.add_box(name, (0.1, 0.1, 0.1), mk.transform(target[:3, 3] + (0.0, 0.0, away)))
    text = solve(robot, [Pose(robot.tip, target)], scene=scene, timeout=0.1).explain()
    assert "To move out of the way: 'first' and 'second', which frees" in text


def test_soft_goals_are_part_of_an_explanation():
    robot = mk.load_robot("panda")
    solution = solve(robot, [Position("panda_hand", (0.4, 0.0, 0.5)), mk.AvoidLimits()])
    assert "Soft goals are left with 'avoidlimits' at " in solution.explain()
