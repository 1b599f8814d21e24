"""How a robot starts in the studio: in a configuration that reads like a rest, with goals on hands, feet and head."""

from __future__ import annotations

import re
from contextlib import suppress

import numpy as np

from memetik.collision.exact import CollisionModel
from memetik.errors import MemetikError
from memetik.robot.limbs import find_limbs
from memetik.robot.robot import Robot
from memetik.robot.topology import Topology

RESTS = ("ready", "home", "stand", "standing", "half_sitting", "rest", "untucked", "neutral", "down", "open")
"""Names of configurations that read like a rest, the best first; of arms that hang, and of hands."""

MOST_GOALS = 6

_DRAWN = 2000
"""Random configurations among which one without self-collision is looked for."""

_NO_LIMB = re.compile(r"wheel|caster|roller|laser|lidar|velodyne", re.IGNORECASE)
_HAND = 0.25
"""Metres: tips that are nearer to the link where they branch off are fingers of one hand."""


def first_configuration(robot: Robot) -> np.ndarray:
    """Zero for bodies of several limbs, as they are drawn so, and the middle of the limits for arms, which zero often
    stretches out; then what named configurations that read like a rest say of some or all of the joints."""
    several = len(goal_links(robot)) > 1
    q = robot.clip(np.zeros(robot.dof)) if several else robot.neutral.copy()
    for name in reversed(RESTS):  # the best has the last word
        if name in robot.named_states:
            with suppress(MemetikError):
                q = robot.clip(robot.state(name, default=q))
    return q


def apart(robot: Robot, q: np.ndarray) -> np.ndarray:
    """The configuration, or where links of it overlap, one without that in which few joints are elsewhere: a random
    one, whose joints go back as far as they can, one after another. As it is where none is found."""
    model = CollisionModel(robot)
    if not model.collides(q):
        return q
    drawn = robot.random(np.random.default_rng(0), _DRAWN)
    free = drawn[~np.asarray(model.collides(drawn))]
    if not len(free):
        return q
    low, high = robot.sampling_range
    found = free[np.argmin((np.abs(free - q) / np.maximum(high - low, 1e-9)).sum(axis=1))]
    for entry in range(robot.dof):
        for share in (0.0, 0.25, 0.5, 0.75):
            nearer = found.copy()
            nearer[entry] = q[entry] + share * (found[entry] - q[entry])
            if not model.collides(nearer):
                found = nearer
                break
    return found


def goal_links(robot: Robot) -> tuple[str, ...]:
    """The links to propose goals on: the robot's tips and the ends of its other limbs, hands instead of their fingers,
    no wheels and scanners; the last link where nothing is left."""
    topology = Topology(robot.description)
    limbs = {limb.tip: limb for limb in find_limbs(robot.description, topology) if not limb.finger_of}
    dropped = {tip for tip, limb in limbs.items() if any(_NO_LIMB.search(joint.name) for joint in limb.joints)}
    moved = {tuple(np.flatnonzero(robot.moves(tip))) for tip in robot.tips}
    others = [tip for tip in limbs if tuple(np.flatnonzero(robot.moves(tip))) not in moved]
    links = dict.fromkeys(tip for tip in (*robot.tips, *others) if tip not in dropped and not _NO_LIMB.search(tip))
    if len(links) > MOST_GOALS:
        links = dict.fromkeys(_hands(robot, tuple(links)))
    return tuple(links)[:MOST_GOALS] or (robot.tips[0] if robot.tips else robot.links[-1],)


def _hands(robot: Robot, tips: tuple[str, ...]) -> list[str]:
    """Tips, but where three or more branch off one link close by, that link."""
    q = robot.clip(np.zeros(robot.dof))
    places = {link: robot.pose(link, q)[:3, 3] for link in robot.links}

    def is_palm(link: str) -> bool:
        near = (tip for tip in tips if np.linalg.norm(places[tip] - places[link]) < _HAND)
        return bool(robot.moves(link).any()) and sum(link in robot.ancestors(tip) for tip in near) >= 3

    def palm(tip: str) -> str:
        return next((link for link in (tip, *robot.ancestors(tip)) if is_palm(link)), tip)

    return [palm(tip) for tip in tips]
