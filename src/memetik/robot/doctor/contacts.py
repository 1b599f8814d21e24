"""Which links always overlap and which never meet, by sampled postures.

"Always" is said of links whose real shapes overlap in every posture looked at, "never" of those whose hulls met in
none.
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from memetik.robot.description import Description, NamedState
from memetik.robot.doctor.facts import RobotFacts
from memetik.robot.doctor.finding import Place, Report
from memetik.robot.topology import Topology

_LISTED = 4
_GROUPED = 3


@dataclass(slots=True)
class _Model:
    """A robot with the solids of its links."""

    robot: Any
    solids: dict[str, Any]
    classify: Any
    pairs: list[tuple[str, str]]


def check_contacts(description: Description, facts: RobotFacts, report: Report, samples: int) -> None:
    """Report links that overlap in all sampled postures, links that never meet any, and named states in collision."""
    model = _build_model(description)
    if model.robot.dof == 0 or not model.pairs:
        return
    postures = _postures(model.robot, samples)
    poses = _poses(model, postures)
    always, never = [], []
    for first, second in model.pairs:
        touched, overlap = model.classify(model.solids[first], model.solids[second], poses[first], poses[second])
        if overlap:
            always.append((first, second))
        elif not touched:
            never.append((first, second))
    places = {link.name: link.place for link in facts.links}
    _report_always(always, len(postures), places, report)
    _report_never(model, never, len(postures), facts, places, report)
    _check_states(description, model, set(always), facts, report)


def _build_model(description: Description) -> _Model:
    from memetik.robot.robot import Robot

    if importlib.util.find_spec("coal") is not None:
        from memetik.robot.doctor.solids import CoalSolid as Solid
        from memetik.robot.doctor.solids import classify
    else:
        from memetik.robot.doctor.capsules import CapsuleSolid as Solid
        from memetik.robot.doctor.capsules import classify
    solids = {link.name: Solid(link.collisions) for link in description.links if link.collisions}
    solids = {name: solid for name, solid in solids.items() if solid}
    return _Model(Robot(description), solids, classify, _pairs(description, list(solids)))


def _pairs(description: Description, links: list[str]) -> list[tuple[str, str]]:
    """Pairs that can collide: not of one rigid body, not neighbours in the tree, not disabled."""
    parents = {joint.child: joint for joint in description.joints}
    disabled = {frozenset(pair[:2]) for pair in description.semantics.disabled_pairs}
    solid = set(links)

    def body(link: str) -> str:
        while link in parents and parents[link].kind == "fixed":
            link = parents[link].parent
        return link

    def neighbour(link: str) -> str | None:
        """The nearest link above that has geometry."""
        while link in parents:
            link = parents[link].parent
            if link in solid:
                return link
        return None

    left_out = disabled | {frozenset((link, neighbour(link) or "")) for link in links}
    bodies = {link: body(link) for link in links}
    return [
        (first, second)
        for first, second in combinations(links, 2)
        if bodies[first] != bodies[second] and frozenset((first, second)) not in left_out
    ]


def _postures(robot: Any, samples: int) -> np.ndarray:
    """The middle of the limits, then random postures within them; axes without limits are sampled in -pi .. pi."""
    generator = np.random.default_rng(0)
    lower = np.where(np.isfinite(robot.lower), robot.lower, -np.pi)
    upper = np.where(np.isfinite(robot.upper), robot.upper, np.pi)
    postures = generator.uniform(lower, np.maximum(lower, upper), size=(samples, robot.dof))
    postures[0] = 0.5 * (lower + upper)
    return postures


def _poses(model: _Model, postures: np.ndarray) -> dict[str, np.ndarray]:
    links = sorted({link for pair in model.pairs for link in pair})
    return {link: model.robot.pose(link, postures) for link in links}


def _report_always(always: list[tuple[str, str]], count: int, places: dict[str, Place], report: Report) -> None:
    """One finding a pair, but one for all pairs of a link that overlaps many."""
    remedy = "Shrink their collision geometry, or disable the pair in an SRDF if they may touch."
    left = list(always)
    while left:
        occurrences = Counter(link for pair in left for link in pair)
        link, most = occurrences.most_common(1)[0]
        own = [pair for pair in left if link in pair] if most >= _GROUPED else left[:1]
        left = [pair for pair in left if pair not in own]
        first, second = own[0]
        if len(own) == 1:
            message = f"links {first!r} and {second!r} overlap in each of {count} sampled postures."
            report.add("always-collide", places[first], message, remedy)
        else:
            others = ", ".join(repr(b if a == link else a) for a, b in own)
            message = f"link {link!r} overlaps {len(own)} others in each of {count} sampled postures: {others}."
            report.add("always-collide", places[link], message, remedy)


def _report_never(
    model: _Model,
    never: list[tuple[str, str]],
    count: int,
    facts: RobotFacts,
    places: dict[str, Place],
    report: Report,
) -> None:
    if not never:
        return
    checked = Counter(link for pair in model.pairs for link in pair)
    apart = Counter(link for pair in never for link in pair)
    for link in model.solids:
        if 0 < checked[link] == apart[link]:
            message = f"link {link!r} met none of {checked[link]} other links in {count} sampled postures."
            remedy = "Check that its collision geometry is where and as large as it should be; if so, nothing is wrong."
            report.add("never-collides", places[link], message, remedy)
    listed = ", ".join(f"{first!r} and {second!r}" for first, second in never[:_LISTED])
    message = f"{len(never)} of {len(model.pairs)} pairs of links met in none of {count} sampled postures: {listed}"
    remedy = "Disable those that cannot meet in an SRDF; self-collision tests become faster."
    report.add("never-pairs", facts.place, message + (" and more." if len(never) > _LISTED else "."), remedy)


def _check_states(
    description: Description, model: _Model, always: set[tuple[str, str]], facts: RobotFacts, report: Report
) -> None:
    topology = Topology(description)
    for state in description.semantics.states:
        posture = _state_posture(model.robot, state.values)
        poses = _poses(model, posture[None])
        owner = f"state {state.name!r} of group {state.group!r}"
        for first, second in model.pairs:
            if (first, second) in always or not _decides(state, topology, first, second):
                continue
            _, overlap = model.classify(model.solids[first], model.solids[second], poses[first], poses[second])
            if overlap:
                message = f"links {first!r} and {second!r} overlap in {owner}."
                place = Place(facts.place.file, None, owner)
                report.add("state-in-collision", place, message, "Correct the state or the collision geometry.")


def _decides(state: NamedState, topology: Topology, first: str, second: str) -> bool:
    """Whether the state sets every joint between two links, so that an overlap is the state's own."""
    up, down = topology.path(first, second)
    for joint in (*up, *down):
        while joint.mimic is not None and joint.mimic.joint in topology.joints:
            joint = topology.joints[joint.mimic.joint]
        if joint.kind != "fixed" and joint.name not in state.values:
            return False
    return True


def _state_posture(robot: Any, values: dict[str, tuple[float, ...]]) -> np.ndarray:
    posture = _postures(robot, 1)[0]
    names = list(robot.joint_names)
    for joint, entries in values.items():
        own = [index for index, name in enumerate(names) if name == joint or name.startswith(joint + "/")]
        if len(own) == len(entries):
            posture[own] = entries
    return posture
