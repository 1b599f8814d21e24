"""Largest difference between memetik and Pinocchio on public robots, 1000 random configurations each.

Run: python benchmarks/kinematics_truth.py [--configurations 1000] [NAME ...]
Compared: poses and Jacobians (world axes, at the link's origin) of every link, centre of mass, gravity torques and
inverse dynamics, in metres, newtons and newton metres. Robots marked "floating" stand on a floating joint, in Pinocchio
on a free flyer. Mimic joints are free joints in Pinocchio's model and get their master's value through the coupling.
The robots come with the packages example-robot-data and rtb-data.
"""

from __future__ import annotations

import argparse
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pinocchio as pin

import memetik as mk

BAR = 1e-10
EXAMPLES = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"
ROBOTS = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "ur10": "ur_description/urdf/ur10_robot.urdf",
    "iiwa14": "rtb:xacro/kuka_description/kuka_lbr_iiwa/urdf/lbr_iiwa_14_r820.urdf",
    "kr120": "rtb:xacro/kuka_description/kuka_kr120/urdf/kr120r2500pro.urdf",
    "puma560": "rtb:xacro/unimation_puma560_description/urdf/puma560_robot.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
    "xarm7": "xarm_description/urdf/xarm7.urdf",
    "z1": "z1_description/urdf/z1.urdf",
    "so101": "so_arm_description/urdf/so101.urdf",
    "double_pendulum": "double_pendulum_description/urdf/double_pendulum_continuous.urdf",
    "allegro": "allegro_hand_description/urdf/allegro_right_hand.urdf",
    "baxter": "baxter_description/urdf/baxter.urdf",
    "pr2": "pr2_description/urdf/pr2.urdf",
    "tiago": "tiago_description/robots/tiago.urdf",
    "tiago_dual": "tiago_description/robots/tiago_dual.urdf",
    "tiago_pro": "tiago_pro_description/robots/tiago_pro.urdf",
    "talos": "talos_data/robots/talos_full_v2.urdf",
    "talos floating": "talos_data/robots/talos_full_v2.urdf",
    "icub": "icub_description/robots/icub.urdf",
    "icub floating": "icub_description/robots/icub.urdf",
    "g1": "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf",
    "g1 floating": "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf",
    "romeo": "romeo_description/urdf/romeo.urdf",
    "centauro": "centauro_description/urdf/centauro.urdf",
    "anymal floating": "anymal_b_simple_description/robots/anymal.urdf",
    "go2 floating": "go2_description/urdf/go2.urdf",
    "hyq": "hyq_description/robots/hyq_no_sensors.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "human": "human_description/robots/human.urdf",
}
QUANTITIES = ("pose", "jacobian", "centre of mass", "gravity", "dynamics")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--configurations", type=int, default=1000)
    parser.add_argument("robots", nargs="*", metavar="NAME", help=f"some of: {', '.join(ROBOTS)}")
    arguments = parser.parse_args()
    print(f"{'robot':16} {'dof':>4} {'links':>5} {'mimic':>5} " + " ".join(f"{name:>14}" for name in QUANTITIES))
    worst = 0.0
    for name in arguments.robots or ROBOTS:
        start = time.perf_counter()
        robot, truth = load(name)
        differences = compare(robot, truth, arguments.configurations)
        worst = max(worst, *differences)
        mimics = sum(joint.mimic is not None for joint in robot.description.joints)
        columns = " ".join(f"{difference:14.1e}" for difference in differences)
        print(
            f"{name:16} {robot.dof:4} {len(robot.links):5} {mimics:5} {columns}  ({time.perf_counter() - start:.1f} s)"
        )
    print(f"largest difference {worst:.1e}, bar {BAR:.0e}: {'holds' if worst <= BAR else 'DOES NOT HOLD'}")
    return 0 if worst <= BAR else 1


def load(name: str) -> tuple[mk.Robot, Truth]:
    place = ROBOTS[name]
    if place.startswith("rtb:"):
        package = find_spec("rtbdata")
        assert package is not None
        assert package.submodule_search_locations is not None
        path = Path(package.submodule_search_locations[0]) / place.removeprefix("rtb:")
    else:
        path = EXAMPLES / place
    robot = mk.load_robot(path, srdf=False)
    truth = Truth(path, robot, floating="floating" in name)
    return (robot.with_floating_base() if "floating" in name else robot), truth


class Truth:
    """Pinocchio's model of the same file. Its velocities follow from ours by v_pinocchio = rates(q) v."""

    def __init__(self, path: Path, robot: mk.Robot, floating: bool):
        self.floating = floating
        base = (pin.JointModelFreeFlyer(),) if floating else ()
        self.model = pin.buildModelFromUrdf(str(path), *base)
        self.data = self.model.createData()
        self.links = robot.links
        self.frames = [self.model.getFrameId(link, pin.FrameType.BODY) for link in robot.links]
        shift = 6 if floating else 0
        self.spread = np.zeros((self.model.nv, robot.dof + shift))
        self.offsets = np.zeros(self.model.nv)
        for name, coupling in robot.couplings.items():
            row = self.model.joints[self.model.getJointId(name)].idx_v
            self.spread[row, coupling.first + shift] = coupling.multiplier
            self.offsets[row] = coupling.offset

    def q(self, q: np.ndarray) -> np.ndarray:
        full = pin.integrate(self.model, pin.neutral(self.model), self.spread @ q + self.offsets)
        if self.floating:
            full[:3] = q[:3]
            full[3:7] = pin.Quaternion(turns(q[3:6])[0]).coeffs()
        return full

    def rates(self, q: np.ndarray) -> np.ndarray:
        """The free flyer's velocity is that of its own frame, ours the rates of x, y, z and of three angles."""
        if not self.floating:
            return self.spread
        rates = self.spread.copy()
        rotation, after_x, after_y = turns(q[3:6])
        rates[:3, :3] = rotation.T
        rates[3:6, 3] = after_x.T[:, 0]
        rates[3:6, 4] = after_y.T[:, 1]
        rates[5, 5] = 1.0
        return rates


def turns(angles: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rx Ry Rz, Ry Rz and Rz for three angles."""
    x, y, z = (pin.utils.rotate(axis, float(angle)) for axis, angle in zip("xyz", angles, strict=True))
    return x @ y @ z, y @ z, z


def compare(robot: mk.Robot, truth: Truth, count: int) -> list[float]:
    """Largest difference of each quantity."""
    rng = np.random.default_rng(0)
    q = robot.random(rng, count)
    velocities = rng.normal(size=q.shape)
    poses = robot.pose(truth.links, q)
    jacobians = np.stack([robot.jacobian(link, q) for link in truth.links], axis=1)
    gravity = robot.gravity_torques(q)
    torques = robot.inverse_dynamics(q, velocities, -velocities) if not truth.floating else gravity
    centers = robot.center_of_mass(q) if robot.mass > 0.0 else np.zeros((count, 3))
    worst = np.zeros(len(QUANTITIES))
    for k in range(count):
        found = (poses[k], jacobians[k], centers[k], gravity[k], torques[k])
        wanted = expected(robot, truth, q[k], velocities[k])
        worst = np.maximum(worst, [difference(*pair) for pair in zip(found, wanted, strict=True)])
    return worst.tolist()


def expected(robot: mk.Robot, truth: Truth, q: np.ndarray, velocities: np.ndarray) -> tuple[np.ndarray, ...]:
    model, data = truth.model, truth.data
    full, rates = truth.q(q), truth.rates(q)
    pin.computeJointJacobians(model, data, full)
    pin.updateFramePlacements(model, data)
    poses = np.array([data.oMf[frame].homogeneous for frame in truth.frames])
    aligned = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    jacobians = np.array([pin.getFrameJacobian(model, data, frame, aligned) for frame in truth.frames])
    gravity = rates.T @ pin.computeGeneralizedGravity(model, data, full)
    # With a free flyer the rates themselves change with q: inverse dynamics are compared on fixed bases only.
    torques = (
        gravity if truth.floating else rates.T @ pin.rnea(model, data, full, rates @ velocities, -rates @ velocities)
    )
    return poses, jacobians.reshape(len(poses), 6, -1) @ rates, center_of_mass(robot, truth, full), gravity, torques


def center_of_mass(robot: mk.Robot, truth: Truth, full: np.ndarray) -> np.ndarray:
    """Of everything: Pinocchio leaves out what is fixed to the world."""
    if not robot.mass > 0.0:
        return np.zeros(3)
    moving = pin.centerOfMass(truth.model, truth.data, full)
    base, mass = truth.model.inertias[0], truth.data.mass[0]
    return (mass * moving + base.mass * base.lever) / (mass + base.mass)


def difference(found: np.ndarray, wanted: np.ndarray) -> float:
    """The largest one; infinite where there is a NaN."""
    largest = np.abs(found - wanted).max(initial=0.0)
    return float(largest) if np.isfinite(largest) else np.inf


if __name__ == "__main__":
    sys.exit(main())
