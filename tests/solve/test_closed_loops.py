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


def test_plans_refuse_loops_that_move_and_take_robots_whose_loops_are_fixed():
    robot = mk.load_robot(FOUR_BAR.replace(
        '<body name="hip" pos="0 0 1">', '<body name="hip" pos="0 0 1"><joint name="yaw" axis="0 0 1" range="-90 90"/>'
    ))  # fmt: skip
    with pytest.raises(InvalidInputError, match=r"closed loops.*with_fixed"):
        mk.plan(robot, robot.random(0), start=robot.random(1))
    closed = robot.random(0)
    held = robot.with_fixed({name: closed[robot.joint_index(name)] for name in robot.joint_names if name != "yaw"})
    plan = mk.plan(held, [0.5], start=[-0.5], self_collision=False)
    assert plan.success
    assert held.loop_error(plan.trajectory.positions).max() < 1e-6


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
