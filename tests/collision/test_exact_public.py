"""Exact checks of public robots with meshes, against Pinocchio's own geometry and coal."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "robot"))

from public_robots import EXAMPLES, robot_file

from memetik.collision.exact import CollisionModel
from memetik.robot.robot import load_robot

pin = pytest.importorskip("pinocchio")
pytest.importorskip("coal")


@pytest.mark.parametrize("name", ["panda.urdf", "ur10_robot.urdf"])
def test_distances_between_links_are_pinocchios(name):
    """Where links are apart: there the inside of meshes, which Pinocchio takes for shells, does not matter."""
    path = robot_file(name)
    robot = load_robot(str(path))
    model = CollisionModel(robot)
    truth = pin.buildModelFromUrdf(str(path))
    geometry = pin.buildGeomFromUrdf(
        truth, str(path), pin.GeometryType.COLLISION, package_dirs=[str(EXAMPLES.parents[1])]
    )
    link_of = [truth.frames[item.parentFrame].name for item in geometry.geometryObjects]
    for first in range(len(link_of)):
        for second in range(first + 1, len(link_of)):
            if tuple(sorted((link_of[first], link_of[second]))) in model.pairs:
                geometry.addCollisionPair(pin.CollisionPair(first, second))
    assert len(geometry.collisionPairs) == len(model.layout.first)
    data, geometry_data = truth.createData(), geometry.createData()
    apart = 0
    for q in robot.random(1, 25):
        full = pin.neutral(truth)
        for index, joint in enumerate(robot.joint_names):
            full[truth.joints[truth.getJointId(joint)].idx_q] = q[index]
        for follower, coupling in robot.couplings.items():
            full[truth.joints[truth.getJointId(follower)].idx_q] = (
                coupling.multiplier * q[coupling.first] + coupling.offset
            )
        pin.computeDistances(truth, data, geometry, geometry_data, full)
        expected = min(result.min_distance for result in geometry_data.distanceResults)
        if expected > 1e-6:
            apart += 1
            assert model.distance(q) == pytest.approx(expected, abs=1e-6)
            assert not model.collides(q)
        else:
            assert model.collides(q)
    assert apart > 5
