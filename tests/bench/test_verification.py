"""Verification: its kinematics against Pinocchio, and each reason to turn a configuration away."""

import numpy as np
import pinocchio
import pytest

from memetik.bench.peers.task import bare
from memetik.bench.run.verification import Verifier
from memetik.bench.scenarios import scenario
from memetik.goals.pose import Pose
from memetik.robot.robot import load_robot


@pytest.mark.parametrize("name", ["ur10", "elise", "panda", "katana300", "pr2", "valkyrie"])
def test_its_kinematics_agree_with_pinocchio(name):
    robot = load_robot(name)
    model = pinocchio.buildModelFromXML(bare(robot).to_urdf())
    data, neutral = model.createData(), pinocchio.neutral(model)
    spread, offset = np.zeros((model.nv, robot.dof)), np.zeros(model.nv)
    for joint, coupling in robot.couplings.items():
        row = model.joints[model.getJointId(joint)].idx_v
        spread[row, coupling.first], offset[row] = coupling.multiplier, coupling.offset
    if any(joint.axes > 1 for joint in robot.description.joints):
        # Pinocchio's floating joint has other coordinates: the part below it is compared.
        robot = robot.group("torso_right_arm")
        model = pinocchio.buildModelFromXML(bare(robot).to_urdf())
        data, neutral = model.createData(), pinocchio.neutral(model)
        rows = [model.joints[model.getJointId(joint)].idx_v for joint in robot.joint_names]
        spread, offset = np.zeros((model.nv, robot.dof)), np.zeros(model.nv)
        spread[rows, np.arange(robot.dof)] = 1.0
    for link in robot.tips:
        verifier = Verifier(robot, [Pose(link)], None, self_collision=False)
        for q in robot.random(3, 5):
            pinocchio.forwardKinematics(model, data, pinocchio.integrate(model, neutral, spread @ q + offset))
            frame = model.getFrameId(link, pinocchio.FrameType.BODY)
            target = pinocchio.updateFramePlacement(model, data, frame).homogeneous
            verdict = verifier.check((target,), q)
            assert verdict.position_error < 1e-9
            assert verdict.rotation_error < 1e-7


def test_each_fault_of_a_configuration_is_named():
    found = scenario("Shelf", "ur10", targets=1)
    check = Verifier(found.robot, found.goals, found.scene, self_collision=True)
    target, q = found.of(0), found.known_solutions[0]
    assert check.check(target, q).holds
    off = q + np.array([0, 0, 0, 0, 0, 3e-5])
    assert "misses by" in check.check(target, off).reason
    assert check.check(target, off).rotation_error == pytest.approx(3e-5, rel=1e-3)
    assert "not finite" in check.check(target, np.full(6, np.nan)).reason
    assert "shape" in check.check(target, q[:3]).reason
    narrow = found.robot.with_limits({found.robot.joint_names[0]: (q[0] + 0.1, q[0] + 0.2)})
    assert "out of limits" in Verifier(narrow, found.goals, None, self_collision=False).check(target, q).reason
    scene = found.scene.copy()
    scene.add_sphere("ball", 0.05, found.robot.pose("forearm_link", q))
    assert check.check(target, q, collision=False).holds
    assert Verifier(found.robot, found.goals, scene, self_collision=True).check(target, q).reason == "it collides"
