"""Whether masses and inertias can belong to real bodies."""

from __future__ import annotations

import math

import numpy as np

from memetik.doctor.subject import Subject
from memetik.robot.description import Inertial, Link

ROUNDING = 0.02
"""Relative slack of the triangle inequality, for moments written with few digits."""

POINT_RADIUS = 1e-5
"""A body whose radius of gyration is below this many metres is a point: its inertia is zero or rounding noise."""


Size = tuple[np.ndarray, float]
"""Centre and diameter of the geometry of a link."""


def check_bodies(subject: Subject, sizes: dict[str, Size]) -> None:
    """Inertials of all links. `sizes` has the links that have geometry."""
    for link in subject.description.links:
        if link.inertial is not None:
            _check_inertial(subject, link, link.inertial, sizes.get(link.name))
    _check_missing(subject)


def _check_inertial(subject: Subject, link: Link, inertial: Inertial, size: Size | None) -> None:
    name = f"link {link.name!r}"

    def add(code: str, message: str, remedy: str) -> None:
        subject.add(code, inertial, message, remedy, f"inertial of {name}")

    mass = inertial.mass
    if mass < 0.0:
        add("negative-mass", f"{name} has the mass {mass:g} kg.", "A mass is positive.")
    elif mass == 0.0:
        remedy = "Remove the inertial of a mere frame, or give the body its mass."
        add("zero-mass", f"{name} has an inertial with mass 0.", remedy)
    else:
        found = _inertia_defect(name, inertial, size)
        if found is not None:
            add(*found)
    if mass and size is not None:
        centre, diameter = size
        away = float(np.linalg.norm(np.asarray(inertial.com) - centre))
        if away > 2.0 * diameter + 0.01:
            message = f"the centre of mass of {name} is {away:.3g} m from the middle of its geometry, which measures"
            remedy = "Give the centre in metres in the link's own frame."
            add("com-far-away", f"{message} {diameter:.3g} m.", remedy)


def _inertia_defect(name: str, inertial: Inertial, size: Size | None) -> tuple[str, str, str] | None:
    """Code, message and remedy of what is wrong with the inertia of a body with mass."""
    smallest, middle, largest = (float(v) for v in np.linalg.eigvalsh(inertial.inertia))
    written = f"principal moments {smallest:.3g}, {middle:.3g}, {largest:.3g} kg m^2"
    scale = float(np.abs(inertial.inertia).max())
    if scale < inertial.mass * POINT_RADIUS**2:
        message = f"{name} has the mass {inertial.mass:g} kg and no inertia to speak of."
        return "zero-inertia", message, "Compute its inertia, for instance as that of a box of its size."
    if smallest < -1e-9 * scale:
        message = f"the inertia of {name} has the {written}; a negative one means energy from nothing."
        return "indefinite-inertia", message, "Check signs and order of ixx, ixy, ixz, iyy, iyz, izz."
    if smallest + middle < (1.0 - ROUNDING) * largest:
        message = f"the inertia of {name} has the {written}; the sum of two is never below the third."
        return "inertia-triangle", message, "Compute the inertia again, about the centre of mass."
    if size is None:
        return None
    # The radius of gyration, sqrt(moment / mass), of a body is at most half its diameter or little more.
    radius, diameter = math.sqrt(largest / inertial.mass), size[1]
    written = f"the inertia of {name} is that of its mass at {radius:.3g} m from the axis, but the link measures"
    if radius > 2.0 * diameter:
        return (
            "inertia-too-large",
            f"{written} only {diameter:.3g} m.",
            "Check the units: kg m^2, not kg mm^2 or g mm^2.",
        )
    if radius < 0.01 * diameter:
        return "inertia-too-small", f"{written} {diameter:.3g} m.", "Check the units: kg m^2."
    return None


def _check_missing(subject: Subject) -> None:
    """Every body that moves needs a mass; links that fixed joints hold together are one body."""
    links, joints = subject.description.links, subject.description.joints
    if not any(joint.axes for joint in joints):
        return
    if all(link.inertial is None for link in links):
        message = "no link has an inertial: forces and balance cannot be computed."
        remedy = "Give each moving link mass, centre and inertia."
        subject.add("missing-inertial", subject.description, message, remedy)
        return
    body_of = _bodies(subject)
    massive = {body_of[link.name] for link in links if link.inertial is not None and link.inertial.mass > 0.0}
    moved = {joint.child for joint in joints if joint.axes}
    for link in links:
        if link.inertial is None and link.name in moved and body_of[link.name] not in massive:
            message = f"link {link.name!r} moves and neither it nor a link fixed to it has a mass."
            subject.add("missing-inertial", link, message, "Give it mass, centre and inertia.")


def _bodies(subject: Subject) -> dict[str, str]:
    """For each link the link at the top of the rigid body it belongs to."""
    parents = subject.parents
    bodies: dict[str, str] = {}
    for link in subject.description.links:
        name, path = link.name, list[str]()
        while name not in bodies and name in parents and not parents[name].axes and name not in path:
            path.append(name)
            name = parents[name].parent or name
        top = bodies.get(name, name)
        bodies.update(dict.fromkeys([*path, link.name], top))
    return bodies
