"""Closed loops hold in every solution and tracker step, and passive joints are where MuJoCo has them."""

import sys
from pathlib import Path

import numpy as np
import pytest

import memetik as mk
from memetik.errors import InvalidInputError

sys.path.insert(0, str(Path(__file__).parents[1] / "robot"))
from mechanisms import FOUR_BAR, MECHANISMS, PARALLELOGRAM

mujoco = pytest.importorskip("mujoco")

WITH_YAW = FOUR_BAR.replace(
    '<body name="hip" pos="0 0 1">', '<body name="hip" pos="0 0 1"><joint name="yaw" axis="0 0 1" range="-90 90"/>'
)


@pytest.fixture(params=MECHANISMS)
def mechanism(request):
    text, tip, motions = MECHANISMS[request.param]
    return mk.load_robot(text), text, tip, motions


def test_mobility_is_counted_and_the_undriven_joints_follow(mechanism):
    robot, text, _, motions = mechanism
    model = mujoco.MjModel.from_xml_string(text)
    driven = {model.joint(model.actuator_trnid[k, 0]).name for k in range(model.nu)}
    assert robot.mobility.count == motions
    assert set(robot.mobility.driving) == driven
    assert not set(robot.mobility.passive) & driven


def test_random_configurations_are_closed_by_mujocos_own_measure(mechanism):
    robot, text, _, _ = mechanism
    for q in robot.random(0, 20):
        assert mujoco_loop_error(robot, text, q) < 1e-6
    assert robot.within_limits(robot.random(0, 20)).all()


def test_solutions_hold_the_loops(mechanism):
    robot, text, tip, _ = mechanism
    problem = mk.Problem(robot, [mk.Position(tip)])
    for k, known in enumerate(robot.random(1, 10)):
        solution = problem.solve(robot.pose(tip, known)[:3, 3], seed=robot.random(100 + k), rng=k, evaluations=50_000)
        assert solution.success
        assert mujoco_loop_error(robot, text, solution.q) < 1e-6
        assert robot.loop_error(solution.q) < 1e-6


def test_tracker_steps_hold_the_loops(mechanism):
    robot, _, tip, _ = mechanism
    start = robot.close(robot.neutral)
    tracker = mk.Tracker(mk.Problem(robot, [mk.Position(tip)]), seed=start, dt=0.01)
    goal = robot.pose(tip, robot.random(3))[:3, 3]
    begin = robot.pose(tip, start)[:3, 3]
    worst = 0.0
    for k in range(100):
        step = tracker.step(begin + (goal - begin) * min(1.0, k / 80) * 0.5)
        worst = max(worst, robot.loop_error(step.q))
    assert worst < 1e-6


def test_passive_joints_are_where_mujoco_settles(mechanism):
    robot, text, _, _ = mechanism
    q = robot.random(5)
    spec = mujoco.MjSpec.from_string(text)
    for joint in spec.joints:
        joint.damping[0] = 0.01
        joint.armature = 0.001
        if joint.name in robot.mobility.driving:  # held where it is
            held = spec.add_equality(type=mujoco.mjtEq.mjEQ_JOINT, name1=joint.name, objtype=mujoco.mjtObj.mjOBJ_JOINT)
            held.data[:] = 0.0
            held.data[0] = q[robot.joint_index(joint.name)]
    spec.option.gravity = (0, 0, 0)
    spec.option.timestep = 0.001
    disabled = mujoco.mjtDisableBit
    spec.option.disableflags |= int(disabled.mjDSBL_CONTACT) | int(disabled.mjDSBL_ACTUATION)
    model = spec.compile()
    data = mujoco.MjData(model)
    set_configuration(robot, model, data, q)
    rng = np.random.default_rng(0)
    data.qvel[:] = rng.normal(size=model.nv) * 0.05  # so that it has something to settle from
    for _ in range(30_000):
        mujoco.mj_step(model, data)
        if np.abs(data.qvel).max() < 1e-6:
            break
    for name in robot.mobility.passive:
        if "/" not in name:
            assert data.joint(name).qpos[0] == pytest.approx(q[robot.joint_index(name)], abs=1e-3), name


def test_a_mechanism_that_cannot_close_is_refused():
    robot = mk.load_robot(PARALLELOGRAM.replace('name="c" axis="0 1 0"', 'name="c" axis="0 1 0" range="150 170"'))
    with pytest.raises(InvalidInputError, match="cannot be closed"):
        robot.close(robot.neutral)
    with pytest.raises(InvalidInputError, match="hardly any configuration"):
        robot.random(0)


def test_loops_follow_renamed_and_restricted_robots():
    robot = mk.load_robot(FOUR_BAR)
    pair = mk.combine({"left": robot, "right": robot.at(mk.transform((1, 0, 0)))})
    assert pair.mobility.count == 2
    assert pair.loop_error(pair.random(0)) < 1e-6
    assert not robot.chain("world", "foot").description.loops


def test_plans_hold_the_loops_at_all_times(mechanism):
    robot, text, _, _ = mechanism
    start = robot.close(robot.neutral)
    rng = np.random.default_rng(2)
    for _ in range(3):
        driving = [robot.joint_index(name) for name in robot.mobility.driving]
        values = rng.uniform(np.maximum(robot.lower[driving], -1.0), np.minimum(robot.upper[driving], 1.0))
        goal = dict(zip(robot.mobility.driving, start[driving] + 0.15 * (values - start[driving]), strict=True))
        plan = mk.plan(robot, goal, start=start, self_collision=False)
        assert plan.success, plan.explain()
        samples = plan.trajectory.at(np.linspace(0.0, plan.duration, 997))
        assert robot.loop_error(samples).max() <= 1e-6
        assert max(mujoco_loop_error(robot, text, q) for q in samples[::100]) <= 1e-6
        assert robot.within_limits(samples, 1e-7).all()
        assert np.abs(np.diff(samples, axis=0)).max() < 0.1  # one branch, no jump
        for name, value in goal.items():
            assert samples[-1, robot.joint_index(name)] == pytest.approx(value, abs=1e-9)


def test_plans_with_loops_go_round_obstacles_and_keep_passive_joints_free_of_them():
    robot = mk.load_robot(WITH_YAW)
    start = robot.close(robot.q({"yaw": -0.8, "drive": 0.6}))
    goal = {"yaw": 0.8, "drive": 0.6}
    scene = mk.Scene()
    scene.add("post", mk.Sphere(0.05), robot.pose("foot", robot.close(robot.q({"yaw": 0.0, "drive": 0.6}))))
    plan = mk.plan(robot, goal, scene=scene, start=start, self_collision=False, path_timeout=5.0)
    assert plan.success, plan.explain()
    samples = plan.trajectory.at(np.linspace(0.0, plan.duration, 500))
    assert robot.loop_error(samples).max() <= 1e-6
    model = mk.CollisionModel(robot, scene, self_collision=False)
    assert not any(model.contacts(q) for q in samples)


def test_plans_that_leave_loops_alone_keep_them():
    robot = mk.load_robot(WITH_YAW)
    start = robot.close(robot.q({"yaw": -0.5}))
    plan = mk.plan(robot, {"yaw": 0.5}, start=start, self_collision=False)
    assert plan.success
    assert robot.loop_error(plan.trajectory.positions).max() < 1e-6


def test_a_plan_from_where_loops_cannot_close_says_so():
    robot = mk.load_robot(PARALLELOGRAM.replace('name="c" axis="0 1 0"', 'name="c" axis="0 1 0" range="150 170"'))
    plan = mk.plan(robot, {"a": 0.1}, start=robot.neutral, self_collision=False)
    assert (plan.stage, plan.reason) == ("start", "start opens loops")


def test_cartesian_paths_hold_the_loops():
    robot = mk.load_robot(MECHANISMS["delta"][0])
    start = robot.close(robot.neutral)
    begin = robot.pose("tool", start)
    poses = np.repeat(begin[None], 3, axis=0)
    poses[1:, 0, 3] += [0.01, 0.02]
    plan = mk.follow(robot, poses, goals=[mk.Position("tool")], start=start, self_collision=False)
    assert plan.success, plan.explain()
    samples = plan.trajectory.at(np.linspace(0.0, plan.duration, 500))
    assert robot.loop_error(samples).max() <= 1e-6
    assert np.abs(robot.pose("tool", samples)[:, 1, 3] - begin[1, 3]).max() < 4e-4


def mujoco_loop_error(robot, text, q):
    """The largest violation of MuJoCo's <connect> and <weld> constraints, metres."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    set_configuration(robot, model, data, q)
    mujoco.mj_forward(model, data)
    rows = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
    assert rows.any()
    return float(np.abs(data.efc_pos[rows]).max())


def set_configuration(robot, model, data, q):
    """MuJoCo's qpos for a q of ours."""
    from memetik.geometry.transforms import quaternion_from_matrix

    mujoco.mj_resetData(model, data)
    for index in range(model.njnt):
        name, address = model.joint(index).name, model.jnt_qposadr[index]
        if model.jnt_type[index] == mujoco.mjtJoint.mjJNT_FREE:
            placed = robot.pose(model.body(model.jnt_bodyid[index]).name, q)
            x, y, z, w = quaternion_from_matrix(placed[:3, :3])
            data.qpos[address : address + 7] = (*placed[:3, 3], w, x, y, z)
        else:
            coupling = robot.couplings[name]
            data.qpos[address] = coupling.multiplier * q[coupling.first] + coupling.offset
