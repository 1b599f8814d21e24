"""Which links always overlap and which never meet, by sampled configurations."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from memetik.collision.allowed_pairs import CollisionCounts, Pairs, adjacent_pairs, collision_table, srdf_pairs
from memetik.doctor.subject import Subject
from memetik.errors import GeometryError
from memetik.geometry.mesh_files import load_mesh
from memetik.geometry.shapes import Mesh
from memetik.robot.description import Description, Geometry, NamedState
from memetik.robot.findings import Place
from memetik.robot.robot import Robot
from memetik.robot.topology import Topology

_LISTED = 4
_GROUPED = 3


def check_contacts(subject: Subject, description: Description, samples: int) -> None:
    """Report links that overlap in all sampled configurations, links that never meet any, named states in collision.

    `description` is the subject's, checked and with its SRDF. Neighbours in the tree, links of one rigid body and
    disabled pairs are left out, and so are meshes that cannot be read.
    """
    robot = Robot(_with_readable_geometry(description))
    if robot.dof == 0:
        return
    allowed = srdf_pairs(robot) | adjacent_pairs(robot)
    q = robot.random(0, samples)
    q[0] = robot.neutral
    states = [_state_configuration(robot, state) for state in description.semantics.states]
    table = collision_table(robot, np.array([*q, *states]), allowed=allowed)
    counts = CollisionCounts({pair: int(collides[:samples].sum()) for pair, collides in table.items()}, samples)
    _report_always(subject, sorted(counts.always), samples)
    _report_never(subject, frozenset(counts.counts), sorted(counts.never), samples)
    topology = Topology(description)
    for number, state in enumerate(description.semantics.states, start=samples):
        colliding = {pair for pair, collides in table.items() if collides[number]}
        for first, second in sorted(colliding - counts.always):
            if _decides(state, topology, first, second):
                owner = f"state {state.name!r} of group {state.group!r}"
                message = f"links {first!r} and {second!r} overlap in {owner}."
                place = Place(subject.file, None, owner)
                remedy = "Correct the state or the collision geometry."
                subject.report.add("state-in-collision", place, message, remedy)


def _with_readable_geometry(description: Description) -> Description:
    links = [replace(link, collisions=tuple(filter(_is_readable, link.collisions))) for link in description.links]
    return replace(description, links=tuple(links))


def _is_readable(geometry: Geometry) -> bool:
    if isinstance(geometry.shape, Mesh):
        try:
            load_mesh(geometry.shape)
        except GeometryError:
            return False
    return True


def _report_always(subject: Subject, always: list[tuple[str, str]], count: int) -> None:
    """One finding a pair, but one for all pairs of a link that overlaps many."""
    remedy = "Shrink their collision geometry, or disable the pair in an SRDF if they may touch."
    left: list[tuple[str, str]] = list(always)
    own: list[tuple[str, str]]
    while left:
        occurrences = Counter(link for pair in left for link in pair)
        link, most = occurrences.most_common(1)[0]
        own = [pair for pair in left if link in pair] if most >= _GROUPED else left[:1]
        left = [pair for pair in left if pair not in own]
        if len(own) == 1:
            link, other = own[0]
            message = f"links {link!r} and {other!r} overlap in each of {count} sampled configurations."
        else:
            others = ", ".join(repr(b if a == link else a) for a, b in own)
            message = f"link {link!r} overlaps {len(own)} others in each of {count} sampled configurations: {others}."
        subject.add("always-collide", subject.links[link], message, remedy)


def _report_never(subject: Subject, pairs: Pairs, never: list[tuple[str, str]], count: int) -> None:
    if not never:
        return
    checked = Counter(link for pair in pairs for link in pair)
    apart = Counter(link for pair in never for link in pair)
    for name, link in subject.links.items():
        if 0 < checked[name] == apart[name]:
            message = f"link {name!r} met none of {checked[name]} other links in {count} sampled configurations."
            remedy = "Check that its collision geometry is where and as large as it should be; if so, nothing is wrong."
            subject.add("never-collides", link, message, remedy)
    listed = ", ".join(f"{first!r} and {second!r}" for first, second in never[:_LISTED])
    end = " and more." if len(never) > _LISTED else "."
    message = (
        f"{len(never)} of {len(pairs)} pairs of links met in none of {count} sampled configurations: {listed}{end}"
    )
    remedy = "Disable those that cannot meet in an SRDF; self-collision tests become faster."
    subject.add("never-pairs", subject.description, message, remedy)


def _decides(state: NamedState, topology: Topology, first: str, second: str) -> bool:
    """Whether the state sets every joint between two links, so that an overlap is the state's own."""
    up, down = topology.path(first, second)
    masters = (topology.master(joint)[0] for joint in (*up, *down) if joint.axes)
    return all(master.name in state.values for master in masters)


def _state_configuration(robot: Robot, state: NamedState) -> np.ndarray:
    q = robot.neutral.copy()
    for name, values in state.values.items():
        coupling = robot.couplings.get(name)
        if coupling is not None and robot.joint(name).mimic is None and robot.joint(name).axes == len(values):
            q[coupling.first : coupling.first + len(values)] = values
    return q
