"""Robots of example-robot-data and rtb-data, and Pinocchio's model of each as the truth to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pinocchio
import rtbdata

from memetik.robot.robot import Robot

_EXAMPLES = Path(pinocchio.__file__).parents[4] / "share" / "example-robot-data" / "robots"
_TOOLBOX = Path(rtbdata.__file__).parent / "xacro"

_EXAMPLE_FILES = {
    "allegro": "allegro_hand_description/urdf/allegro_right_hand.urdf",
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",
    "baxter": "baxter_description/urdf/baxter.urdf",
    "bolt": "bolt_description/robots/bolt.urdf",
    "double_pendulum": "double_pendulum_description/urdf/double_pendulum_continuous.urdf",
    "g1": "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf",
    "go2": "go2_description/urdf/go2.urdf",
    "hyq": "hyq_description/robots/hyq_no_sensors.urdf",
    "icub": "icub_description/robots/icub.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
    "panda": "panda_description/urdf/panda.urdf",
    "pr2": "pr2_description/urdf/pr2.urdf",
    "romeo": "romeo_description/urdf/romeo.urdf",
    "so101": "so_arm_description/urdf/so101.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "talos": "talos_data/robots/talos_full_v2.urdf",
    "tiago_dual": "tiago_description/robots/tiago_dual.urdf",
    "ur10": "ur_description/urdf/ur10_robot.urdf",
    "xarm7": "xarm_description/urdf/xarm7.urdf",
    "z1": "z1_description/urdf/z1.urdf",
}
_TOOLBOX_FILES = {
    "iiwa14": "kuka_description/kuka_lbr_iiwa/urdf/lbr_iiwa_14_r820.urdf",
    "irb140": "abb_irb140_description/urdf/irb140.urdf",
    "kr210": "kuka_description/kuka_kr210/urdf/kr210l150.urdf",
    "puma560": "unimation_puma560_description/urdf/puma560_robot.urdf",
}
FILES = {name: _EXAMPLES / file for name, file in _EXAMPLE_FILES.items()} | {
    name: _TOOLBOX / file for name, file in _TOOLBOX_FILES.items()
}
"""Name to path."""


class Truth:
    """Pinocchio's model of the same URDF, every joint free; our q is spread over it, mimic joints by their coupling."""

    def __init__(self, path: Path, robot: Robot):
        self.robot = robot
        self.model = pinocchio.buildModelFromUrdf(str(path))
        self.data = self.model.createData()
        self.spread = np.zeros((self.model.nv, robot.dof))
        """d v_pinocchio / d v_ours"""
        self.offset = np.zeros(self.model.nv)
        for name, coupling in robot.couplings.items():
            row = self.model.joints[self.model.getJointId(name)].idx_v
            self.spread[row, coupling.first] = coupling.multiplier
            self.offset[row] = coupling.offset

    def q(self, q: np.ndarray) -> np.ndarray:
        return pinocchio.integrate(self.model, pinocchio.neutral(self.model), self.spread @ q + self.offset)

    def poses(self, links: Sequence[str], q: np.ndarray) -> np.ndarray:
        pinocchio.framesForwardKinematics(self.model, self.data, self.q(q))
        return np.array([self.data.oMf[self._frame(link)].homogeneous for link in links])

    def jacobian(self, link: str, q: np.ndarray) -> np.ndarray:
        frame, aligned = self._frame(link), pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return pinocchio.computeFrameJacobian(self.model, self.data, self.q(q), frame, aligned) @ self.spread

    def center_of_mass(self, q: np.ndarray) -> np.ndarray:
        """Pinocchio leaves what is fixed to the world out of the robot; we count it."""
        moving = pinocchio.centerOfMass(self.model, self.data, self.q(q)).copy()
        base = self.model.inertias[0]
        moving_mass = self.data.mass[0]
        return (moving_mass * moving + base.mass * base.lever) / (moving_mass + base.mass)

    def gravity_torques(self, q: np.ndarray) -> np.ndarray:
        return self.spread.T @ pinocchio.computeGeneralizedGravity(self.model, self.data, self.q(q))

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        return self.spread.T @ pinocchio.rnea(self.model, self.data, self.q(q), self.spread @ v, self.spread @ a)

    @cache  # noqa: B019 - the name lookup takes longer than the kinematics, and a Truth lives as long as its test
    def _frame(self, link: str) -> int:
        return self.model.getFrameId(link, pinocchio.FrameType.BODY)
