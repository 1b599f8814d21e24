"""Every SDF file below some folders, read by memetik and by Drake: frames, limits, masses.

    python benchmarks/sdf_truth.py FOLDER ...

Folders are those of unpacked packages such as drake and pybullet. Needs pydrake (the package drake). Prints a line for
each file: the largest differences of the poses of all links and frames at random configurations (metres, entries of the
rotation), of position limits and of masses with their centres, or what either says of a file it does not read. Drake
gives a link of mass 0 the mass 1. Exit code 1 where poses or limits differ by more than 1e-9.
"""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path
from typing import Any

import numpy as np

import memetik as mk
from memetik.errors import MemetikError

BAR = 1e-9


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    missed = 0
    for path in sorted(path for folder in given.folders for path in folder.rglob("*.sdf")):
        try:
            robot = mk.load_robot(path)
        except MemetikError as error:
            print(f"refused: {path}: {error}")
            continue
        try:
            plant = drake_plant(robot, path)
        except RuntimeError as error:
            print(f"read, and refused by Drake: {path}: {str(error).splitlines()[0]}")
            continue
        found = {"frames": frames(robot, plant), "limits": limits(robot, plant), "masses": masses(robot, plant)}
        missed += max(found["frames"], found["limits"]) > BAR
        print(f"read by both: {path}: " + " ".join(f"{name}={value:.1e}" for name, value in found.items()))
    print("every bar holds" if not missed else f"{missed} files miss a bar")
    return 1 if missed else 0


def drake_plant(robot: mk.Robot, path: Path) -> Any:
    from pydrake.math import RigidTransform
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(str(path))
    if robot.base != "world":
        plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(robot.base), RigidTransform(robot.base_pose))
    plant.Finalize()
    return plant


def frames(robot: mk.Robot, plant: Any) -> float:
    context, worst = plant.CreateDefaultContext(), 0.0
    for q in robot.random(0, 20):
        for name, value in zip(robot.joint_names, q, strict=True):
            joint = plant.GetJointByName(name)
            (joint.set_angle if joint.type_name() == "revolute" else joint.set_translation)(context, value)
        for link in robot.links:
            expected = plant.GetFrameByName(link).CalcPoseInWorld(context).GetAsMatrix4()
            worst = max(worst, float(np.abs(expected - robot.pose(link, q)).max()))
    return worst


def limits(robot: mk.Robot, plant: Any) -> float:
    worst = 0.0
    for name, lower, upper in zip(robot.joint_names, robot.lower, robot.upper, strict=True):
        joint = plant.GetJointByName(name)
        expected = (joint.position_lower_limits()[0], joint.position_upper_limits()[0])
        worst = max(worst, *(0.0 if a == b else abs(a - b) for a, b in zip(expected, (lower, upper), strict=True)))
    return worst


def masses(robot: mk.Robot, plant: Any) -> float:
    worst = 0.0
    for link in robot.description.links:
        if link.inertial is not None and plant.HasBodyNamed(link.name):
            body = plant.GetBodyByName(link.name)
            off = np.abs(np.array(link.inertial.com) - body.default_com()).max()
            worst = max(worst, abs(body.default_mass() - link.inertial.mass), float(off))
    return worst


if __name__ == "__main__":
    sys.exit(main())
