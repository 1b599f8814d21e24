"""Masses and inertias of bodies from those of their geoms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from memetik.files.xml_tree import Element
from memetik.geometry.inertia import Solid
from memetik.robot.description import Inertial, Link
from memetik.robot.readers.mjcf_settings import Settings


def inertial_of(solid: Solid, mass: float, origin: np.ndarray) -> Inertial:
    """The inertial of a solid of that mass at a pose in its body."""
    rotation = origin[:3, :3]
    x, y, z = (float(v) for v in rotation @ solid.centroid + origin[:3, 3])
    return Inertial(mass, (x, y, z), mass * rotation @ solid.inertia @ rotation.T)


def combined(inertials: list[Inertial]) -> Inertial | None:
    """The inertial of several bodies joined rigidly."""
    mass = sum(inertial.mass for inertial in inertials)
    if mass <= 0.0:
        return None
    centre = sum((inertial.mass * np.array(inertial.com) for inertial in inertials), np.zeros(3)) / mass
    total = np.zeros((3, 3))
    for inertial in inertials:
        offset = np.array(inertial.com) - centre
        total += inertial.inertia + inertial.mass * (offset @ offset * np.eye(3) - np.outer(offset, offset))
    total.setflags(write=False)
    x, y, z = (float(v) for v in centre)
    return Inertial(mass, (x, y, z), total)


def stated_inertial(element: Element, settings: Settings) -> Inertial:
    """What an <inertial> states."""
    placement = settings.placement(element)
    rotation = placement[:3, :3]
    if "fullinertia" in element.attributes:
        xx, yy, zz, xy, xz, yz = element.numbers("fullinertia", 6)
        inertia = rotation @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ rotation.T
    else:
        inertia = rotation @ np.diag(element.numbers("diaginertia", 3, (0.0, 0.0, 0.0))) @ rotation.T
    inertia.setflags(write=False)
    x, y, z = (float(v) for v in placement[:3, 3])
    return Inertial(element.number("mass"), (x, y, z), inertia)


def body_inertial(inertial: Inertial | None, settings: Settings) -> Inertial | None:
    """A body's inertial after the compiler's corrections: least mass and inertia, and balance of the moments."""
    if inertial is None:
        if settings.smallest_mass <= 0.0:
            return None
        inertial = Inertial(0.0)
    mass, inertia = max(inertial.mass, settings.smallest_mass), inertial.inertia
    if settings.smallest_inertia > 0.0 or settings.balance_inertia:
        values, vectors = np.linalg.eigh(inertia)
        values = np.maximum(values, settings.smallest_inertia)
        if settings.balance_inertia and values[0] + values[1] < values[2]:
            values = np.full(3, values.mean())
        inertia = vectors @ np.diag(values) @ vectors.T
    return Inertial(mass, inertial.com, inertia)


def with_total_mass(links: list[Link], total: float) -> list[Link]:
    """The links scaled so that their masses sum up to `total`, where that is positive (settotalmass)."""
    present = sum(link.inertial.mass for link in links if link.inertial is not None)
    if total <= 0.0 or present <= 0.0:
        return links
    scale = total / present
    return [
        replace(link, inertial=Inertial(link.inertial.mass * scale, link.inertial.com, link.inertial.inertia * scale))
        if link.inertial is not None
        else link
        for link in links
    ]
