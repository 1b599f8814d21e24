"""Whether masses and inertias can belong to real bodies."""

from __future__ import annotations

import math

import numpy as np

from memetik.robot.doctor.facts import InertialFacts, LinkFacts, RobotFacts
from memetik.robot.doctor.finding import Report

ROUNDING = 0.02
"""Relative slack of the triangle inequality, for moments written with few digits."""

POINT_RADIUS = 1e-5
"""A body whose radius of gyration is below this many metres is a point: its inertia is zero or rounding noise."""


def check_bodies(facts: RobotFacts, sizes: dict[str, tuple[np.ndarray, float]], report: Report) -> None:
    """Inertials of all links. `sizes` gives centre and diameter of the geometry of the links that have any."""
    for link in facts.links:
        if link.inertial is not None:
            _check_mass(link, link.inertial, report)
            _check_inertia(link, link.inertial, sizes.get(link.name), report)
            _check_centre(link, link.inertial, sizes.get(link.name), report)
    _check_missing(facts, report)


def _check_mass(link: LinkFacts, inertial: InertialFacts, report: Report) -> None:
    if inertial.mass is None:
        return
    if inertial.mass < 0.0:
        message = f"link {link.name!r} has the mass {inertial.mass:g} kg."
        report.add("negative-mass", inertial.place, message, "A mass is positive.")
    elif inertial.mass == 0.0:
        message = f"link {link.name!r} has an inertial with mass 0."
        report.add(
            "zero-mass", inertial.place, message, "Remove the inertial of a mere frame, or give the body its mass."
        )


def _check_inertia(
    link: LinkFacts, inertial: InertialFacts, size: tuple[np.ndarray, float] | None, report: Report
) -> None:
    if inertial.inertia is None or not inertial.mass or inertial.mass < 0.0:
        return
    moments = np.linalg.eigvalsh(inertial.inertia)
    smallest, middle, largest = (float(v) for v in moments)
    written = f"principal moments {smallest:.3g}, {middle:.3g}, {largest:.3g} kg m^2"
    place = inertial.place
    scale = float(np.abs(inertial.inertia).max())
    if scale < inertial.mass * POINT_RADIUS**2:
        message = f"link {link.name!r} has the mass {inertial.mass:g} kg and no inertia to speak of."
        report.add("zero-inertia", place, message, "Compute its inertia, for instance as that of a box of its size.")
    elif smallest < -1e-9 * scale:
        message = f"the inertia of link {link.name!r} has the {written}; a negative one means energy from nothing."
        report.add("indefinite-inertia", place, message, "Check signs and order of ixx, ixy, ixz, iyy, iyz, izz.")
    elif smallest + middle < (1.0 - ROUNDING) * largest:
        message = f"the inertia of link {link.name!r} has the {written}; the sum of two is never below the third."
        report.add("inertia-triangle", place, message, "Compute the inertia again, about the centre of mass.")
    elif size is not None:
        _check_gyration(link, inertial, math.sqrt(largest / inertial.mass), size[1], report)


def _check_gyration(link: LinkFacts, inertial: InertialFacts, radius: float, diameter: float, report: Report) -> None:
    """The radius of gyration, sqrt(moment / mass), of a body is at most half its diameter or little more."""
    written = f"the inertia of link {link.name!r} is that of its mass at {radius:.3g} m from the axis, but the link"
    if radius > 2.0 * diameter:
        message = f"{written} measures only {diameter:.3g} m."
        report.add("inertia-too-large", inertial.place, message, "Check the units: kg m^2, not kg mm^2 or g mm^2.")
    elif radius < 0.01 * diameter:
        message = f"{written} measures {diameter:.3g} m."
        report.add("inertia-too-small", inertial.place, message, "Check the units: kg m^2.")


def _check_centre(
    link: LinkFacts, inertial: InertialFacts, size: tuple[np.ndarray, float] | None, report: Report
) -> None:
    if size is None or not inertial.mass:
        return
    centre, diameter = size
    away = float(np.linalg.norm(inertial.com - centre))
    if away > 2.0 * diameter + 0.01:
        report.add(
            "com-far-away",
            inertial.place,
            f"the centre of mass of link {link.name!r} is {away:.3g} m from the middle of its geometry, which measures "
            f"{diameter:.3g} m.",
            "Give the centre in metres in the link's own frame.",
        )


def _check_missing(facts: RobotFacts, report: Report) -> None:
    """Every body that moves needs a mass; links that fixed joints hold together are one body."""
    if not any(joint.moves for joint in facts.joints):
        return
    if all(link.inertial is None for link in facts.links):
        message = "no link has an inertial: forces and balance cannot be computed."
        report.add("missing-inertial", facts.place, message, "Give each moving link mass, centre and inertia.")
        return
    body_of = _bodies(facts)
    massive = {
        body_of[link.name] for link in facts.links if link.inertial is not None and (link.inertial.mass or 0.0) > 0.0
    }
    moved = {joint.child for joint in facts.joints if joint.moves}
    stated_zero = {link.name for link in facts.links if link.inertial is not None}
    for link in facts.links:
        if link.name in moved and body_of[link.name] not in massive and link.name not in stated_zero:
            message = f"link {link.name!r} moves and neither it nor a link fixed to it has a mass."
            report.add("missing-inertial", link.place, message, "Give it mass, centre and inertia.")


def _bodies(facts: RobotFacts) -> dict[str, str]:
    """For each link the link at the top of the rigid body it belongs to."""
    parents = facts.parent_joints()
    bodies: dict[str, str] = {}
    for link in facts.links:
        name, path = link.name, []
        while name not in bodies and name in parents and not parents[name].moves and name not in path:
            path.append(name)
            name = parents[name].parent or name
        top = bodies.get(name, name)
        bodies.update(dict.fromkeys([*path, link.name], top))
    return bodies
