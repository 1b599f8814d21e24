"""Whether the links and joints form one tree."""

from __future__ import annotations

from collections import defaultdict

from memetik.errors import suggest
from memetik.robot.doctor.facts import JointFacts, RobotFacts
from memetik.robot.doctor.finding import Report


def check_structure(facts: RobotFacts, report: Report) -> None:
    """Names, ends of joints, roots and cycles."""
    if not facts.links:
        report.add("no-links", facts.place, "the robot has no link.", 'Give it at least one <link name="...">.')
        return
    _check_duplicates(facts, report)
    _check_ends(facts, report)
    _check_parents(facts, report)
    _check_cycles(facts, report)
    _check_roots(facts, report)


def _check_duplicates(facts: RobotFacts, report: Report) -> None:
    for kind, elements in (("link", facts.links), ("joint", facts.joints)):
        first: dict[str, object] = {}
        for element in elements:
            if element.name and element.name in first:
                message = f"{kind} {element.name!r} is there already ({first[element.name]})."
                report.add(f"duplicate-{kind}", element.place, message, f"Give each {kind} a name of its own.")
            first.setdefault(element.name, element.place)


def _check_ends(facts: RobotFacts, report: Report) -> None:
    links = facts.link_names()
    for joint in facts.joints:
        for end, name in (("parent", joint.parent), ("child", joint.child)):
            if name is not None and name not in links:
                message = f"joint {joint.name!r} has the {end} link {name!r}, which does not exist."
                report.add(f"unknown-{end}", joint.place, message, suggest(name, sorted(links)))


def _check_parents(facts: RobotFacts, report: Report) -> None:
    carried: dict[str, JointFacts] = {}
    for joint in facts.joints:
        if joint.child is None:
            continue
        if joint.parent == joint.child:
            message = f"joint {joint.name!r} joins link {joint.child!r} to itself."
            report.add("self-parent", joint.place, message, "Give it another parent or child.")
        elif joint.child in carried:
            other = carried[joint.child]
            report.add(
                "two-parents",
                joint.place,
                f"link {joint.child!r} is the child of joints {joint.name!r} and {other.name!r} ({other.place}).",
                "A link has one parent: remove a joint, or give the link a twin. URDF cannot close loops.",
            )
        carried.setdefault(joint.child, joint)


def _check_cycles(facts: RobotFacts, report: Report) -> None:
    carriers: dict[str, list[JointFacts]] = defaultdict(list)
    for joint in facts.joints:
        if joint.child is not None and joint.parent is not None and joint.child != joint.parent:
            carriers[joint.child].append(joint)
    settled: set[str] = set()
    for start in list(carriers):
        path: list[str] = []
        on_path: set[str] = set()
        stack: list[tuple[str, int]] = [(start, 0)]
        while stack:
            link, choice = stack.pop()
            if choice == 0:
                if link in settled:
                    continue
                path.append(link)
                on_path.add(link)
            if choice < len(carriers.get(link, ())):
                joint = carriers[link][choice]
                stack.append((link, choice + 1))
                if joint.parent in on_path:
                    _report_cycle(path[path.index(joint.parent) :], joint, report)
                elif joint.parent is not None:
                    stack.append((joint.parent, 0))
            else:
                path.pop()
                on_path.discard(link)
                settled.add(link)


def _report_cycle(cycle: list[str], joint: JointFacts, report: Report) -> None:
    listed = " <- ".join(repr(name) for name in [*cycle[:6], *(["..."] if len(cycle) > 6 else []), cycle[0]])
    message = f"{len(cycle)} links are their own ancestors: {listed}; joint {joint.name!r} closes the circle."
    report.add("cycle", joint.place, message, "Remove the joint that closes the circle.")


def _check_roots(facts: RobotFacts, report: Report) -> None:
    children = {joint.child for joint in facts.joints if joint.child is not None}
    roots = [link for link in facts.links if link.name not in children]
    if not roots:
        message = "the robot has no root: every link is the child of a joint."
        report.add("no-root", facts.place, message, "Remove the joint that leads to the link meant as base.")
    if len(roots) > 1:
        listed = ", ".join(repr(link.name) for link in roots[:8]) + (" and more" if len(roots) > 8 else "")
        report.add(
            "several-roots",
            roots[1].place,
            f"{len(roots)} links are nobody's child: {listed}; a robot has one root.",
            "Join all but one of them to the tree, by fixed joints where they do not move.",
        )
