"""Schunk Powerball Lightweight Arm LWA 4P: six joints in three ball modules.

Kinematics: the data sheet's Denavit-Hartenberg lengths (205, 350, 305 and 75 mm, axes of each ball crossing in its
centre), its ranges and speed (72 degrees a second); torques and names of the public schunk_lwa4p description.
Approximations: collision balls and capsules (ball diameters 145 and 115 mm of the data sheet), masses (the data sheet's
15 kg shared out), inertias (of those shapes).
"""

from __future__ import annotations

import math

from memetik.robot.bundled.builder import ZERO, Hinge, Z, arm, ball, body, capsule, cylinder, degrees, fixed, hinges
from memetik.robot.description import Description

SOURCE = (
    "Schunk Powerball LWA 4P, published dimensions and limits (data sheet); "
    "masses, collision primitives and inertias are approximations"
)

HALF = math.pi / 2
BASE, UPPER, FORE, FLANGE = 0.205, 0.35, 0.305, 0.075

SPEED = math.radians(72.0)

#   offset, axis, limits, velocity, effort, orientation of the frame
_JOINTS = (
    Hinge((0.0, 0.0, BASE), Z, degrees(-170, 170), SPEED, 370.0),
    Hinge(ZERO, Z, degrees(-170, 170), SPEED, 370.0, (HALF, 0.0, 0.0)),
    Hinge((0.0, UPPER, 0.0), Z, degrees(-155.5, 155.5), SPEED, 176.0, (0.0, math.pi, 0.0)),
    Hinge(ZERO, Z, degrees(-170, 170), SPEED, 176.0, (-HALF, math.pi, 0.0)),
    Hinge((0.0, 0.0, FORE), Z, degrees(-170, 170), SPEED, 41.6, (HALF, 0.0, math.pi)),
    Hinge(ZERO, Z, degrees(-170, 170), SPEED, 20.1, (-HALF, 0.0, 0.0)),
)


def describe() -> Description:
    """The arm with its bare flange."""
    chain = ["arm_base_link", *(f"arm_{i}_link" for i in range(1, 7))]
    links = [
        body(chain[0], cylinder((0, 0, 0), (0, 0, 0.13), 0.06), mass=3.0),
        body(chain[1], ball((0, 0, 0), 0.075), mass=2.5),
        body(chain[2], capsule((0, 0.11, 0), (0, UPPER - 0.13, 0), 0.05), mass=2.7),
        body(chain[3], ball((0, 0, 0), 0.075), mass=2.4),
        body(chain[4], capsule((0, 0, 0.11), (0, 0, FORE - 0.1), 0.048), mass=2.0),
        body(chain[5], ball((0, 0, 0), 0.06), mass=1.6),
        body(chain[6], cylinder((0, 0, 0.055), (0, 0, FLANGE), 0.04), mass=0.8),
        body("tool0"),
    ]
    joints = hinges([f"arm_{i}_joint" for i in range(1, 7)], chain, _JOINTS)
    joints.append(fixed("arm_6_link-tool0", chain[6], "tool0", (0.0, 0.0, FLANGE)))
    ready = (0.0, 0.6, 1.2, 0.0, 0.9, 0.0)
    return arm(links, joints, group="arm", upright=[0.0] * 6, ready=ready).description("powerball", SOURCE)
