"""Whether a description describes a robot: one tree, sane numbers, couplings that can be followed.

Time and memory grow linearly with the number of links, and nothing recurses: chains of thousands of links are fine.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from memetik.errors import DescriptionError, suggest
from memetik.robot.description import LIMIT_NAMES, Description, Joint

MAX_LINKS = 10_000
MAX_MIMIC_CHAIN = 200
MAX_SUGGESTED = 1_000
"""Names among which the meant one is looked for: comparing them takes time."""
_ORTHONORMAL = 1e-6


@dataclass(frozen=True, slots=True)
class Defect:
    """What is wrong with which element, and what would mend it."""

    code: str
    """In the catalogue `memetik.robot.findings.CODES`."""
    element: str
    problem: str
    remedy: str
    part: object = None
    """The link, joint or other part of the description that it is about; None for the whole."""

    def __str__(self) -> str:
        end = "" if self.remedy.endswith("?") else "."
        return f"{self.element:.300} {self.problem:.300}; {self.remedy:.300}{end}"


def validate(description: Description) -> Description:
    """The description itself; a DescriptionError that names its defects where it is not a robot."""
    found = list(islice(_defects(description), 4))
    if found:
        more = " There are more defects." if len(found) > 3 else ""
        raise DescriptionError(
            f"robot {description.name!r:.200} cannot be used: " + " ".join(str(defect) for defect in found[:3]) + more,
            found[0].code,
        )
    return description


def structural_defects(description: Description) -> list[Defect]:
    """Everything that keeps a description from being a robot, in a fixed order."""
    return list(_defects(description))


def _defects(description: Description) -> Iterator[Defect]:
    count = max(len(description.links), len(description.joints))
    if count > MAX_LINKS:
        yield Defect("unreadable", "the robot", f"has {count} links or joints", f"at most {MAX_LINKS} are accepted")
        return
    yield from _name_defects(description)
    yield from _tree_defects(description)
    yield from _joint_defects(description)
    yield from _mimic_defects(description)
    yield from _number_defects(description)


def _name_defects(description: Description) -> Iterator[Defect]:
    if not description.links:
        yield Defect("no-links", "the robot", "has no link", "give it at least one")
    for kind, parts in (("link", description.links), ("joint", description.joints)):
        last = {part.name: part for part in parts}
        for name, count in Counter(part.name for part in parts).items():
            if not name:
                yield Defect("missing-name", f"a {kind}", "has an empty name", "name it", last[name])
            elif count > 1:
                remedy = f"give each {kind} a name of its own"
                yield Defect(f"duplicate-{kind}", f"{kind} {name!r}", f"occurs {count} times", remedy, last[name])
    axes = Counter(axis for joint in description.joints for axis in joint.axis_names)
    joints = {joint.name for joint in description.joints}
    for axis, count in axes.items():
        if count > 1 and (axis not in joints or "/" in axis):
            remedy = "rename the joint that has a slash in its name"
            yield Defect("duplicate-joint", f"joint axis {axis!r}", f"occurs {count} times", remedy)


def _tree_defects(description: Description) -> Iterator[Defect]:
    links = {link.name for link in description.links}
    parents: dict[str, Joint] = {}
    children: dict[str, list[str]] = {}
    broken = False
    for joint in description.joints:
        found = list(_end_defects(joint, links, parents))
        yield from found
        broken |= bool(found)
        if joint.child and joint.child != joint.parent:
            parents.setdefault(joint.child, joint)
        children.setdefault(joint.parent, []).append(joint.child)
    roots = [link for link in description.links if link.name not in parents]
    if not links:
        return
    unknown = any(joint.parent and joint.parent not in links for joint in description.joints)
    if not roots and not unknown:  # a parent that does not exist is the root that is missing
        problem = "has no root: every link is the child of a joint"
        yield Defect("no-root", "the robot", problem, "remove the joint that closes the cycle")
    if len(roots) > 1:
        listed = ", ".join(repr(link.name) for link in roots[:6]) + (
            f" and {len(roots) - 6} more" if len(roots) > 6 else ""
        )
        problem = f"has {len(roots)} roots: {listed}"
        yield Defect("several-roots", "the robot", problem, "join all but one of them to the tree", roots[1])
    if not broken:
        yield from _cycles(links, [link.name for link in roots], children, parents)


def _end_defects(joint: Joint, links: set[str], parents: dict[str, Joint]) -> Iterator[Defect]:
    name = f"joint {joint.name!r}"
    for end, link in (("parent", joint.parent), ("child", joint.child)):
        if not link:
            yield Defect("missing-element", name, f"has no {end} link", "name it", joint)
        elif link not in links:
            problem = f"has the {end} link {link!r}, which does not exist"
            remedy = suggest(link, islice(links, MAX_SUGGESTED)).rstrip(".")
            if link == "world":
                remedy = 'write <link name="world"/>, which not all programs take for granted'
            yield Defect(f"unknown-{end}", name, problem, remedy, joint)
    if joint.parent == joint.child != "":
        yield Defect("self-parent", name, f"joins link {joint.child!r} to itself", "give it another parent", joint)
    elif joint.child in parents:
        problem = f"is the child of the joints {parents[joint.child].name!r} and {joint.name!r}"
        remedy = "a link has one parent: remove one joint, or close the loop with a goal"
        yield Defect("two-parents", f"link {joint.child!r}", problem, remedy, joint)


def _cycles(
    links: set[str], roots: list[str], children: dict[str, list[str]], parents: dict[str, Joint]
) -> Iterator[Defect]:
    reached = set(roots)
    waiting = list(roots)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in reached:
                reached.add(child)
                waiting.append(child)
    unreached, seen = links - reached, set[str]()
    for start in (name for name in parents if name in unreached):
        path: dict[str, None] = {}
        while start not in path and start not in seen:
            path[start] = None
            start = parents[start].parent
        seen |= path.keys()
        if start in path:
            cycle = list(path)[list(path).index(start) :]
            listed = ", ".join(repr(name) for name in reversed(cycle[-6:]))
            problem = f"is part of a cycle ({listed})"
            yield Defect("cycle", f"link {start!r}", problem, "remove the joint that closes it", parents[start])


def _joint_defects(description: Description) -> Iterator[Defect]:
    for joint in description.joints:
        name = f"joint {joint.name!r}"
        if joint.traits.has_axis:
            length = math.hypot(*joint.axis)
            if not abs(length - 1.0) < 1e-6:
                problem = "has an axis of length zero" if length < 1e-9 else f"has an axis of length {length:g}"
                yield Defect("zero-axis", name, problem, "give it a unit vector such as 0 0 1", joint)
        order = joint.rotation_order
        if joint.traits.has_rotation_order and (
            len(order) != 3 or set(order) - set("xyz") or order[0] == order[1] or order[1] == order[2]
        ):
            remedy = "use three of x, y, z, such as 'xyz' or 'zyx'"
            yield Defect("rotation-order", name, f"has the rotation order {order!r}", remedy, joint)
        if joint.swing_twist and joint.kind != "spherical":
            problem = f"is {joint.kind} and has swing_twist"
            yield Defect("rotation-order", name, problem, "only spherical joints have it", joint)
        for axis, lower, upper in zip(joint.axis_names, joint.lower, joint.upper, strict=True):
            element = f"joint {axis!r}"
            if lower > upper:
                problem = f"has the lower limit {lower:g} above the upper {upper:g}"
                yield Defect("inverted-limits", element, problem, "exchange them", joint)
            elif lower == upper and math.isinf(lower):
                yield Defect("inverted-limits", element, f"has both limits at {lower:g}", "give it a range", joint)
        for what in ("velocity", "acceleration", "effort"):
            smallest = min(getattr(joint, what), default=0.0)
            if smallest < 0.0:
                problem = f"has a {what} limit of {smallest:g}"
                yield Defect("negative-limit", name, problem, "limits are positive", joint)


def _mimic_defects(description: Description) -> Iterator[Defect]:
    joints = {joint.name: joint for joint in description.joints}
    depths: dict[str, int] = {}  # how many joints a mimic joint follows, one after the other
    for joint in description.joints:
        if joint.mimic is None:
            continue
        yield from _coupling_defects(joint, joint.mimic.joint, joints)
        chain: dict[str, None] = {}
        follower: Joint | None = joint
        while follower is not None and follower.mimic is not None and follower.name not in depths:
            if follower.name in chain:
                cycle = list(chain)[list(chain).index(follower.name) :]
                listed = f" ({', '.join(repr(name) for name in cycle[:6])})" if len(cycle) > 1 else ""
                code = "mimic-cycle" if len(cycle) > 1 else "mimic-self"
                problem = f"mimics itself through a cycle of mimic joints{listed}"
                yield Defect(code, f"joint {follower.name!r}", problem, "let one of them be free", follower.mimic)
                break
            chain[follower.name] = None
            follower = joints.get(follower.mimic.joint)
        depth = depths.get(follower.name, 0) if follower is not None else 0
        for name in reversed(chain):
            depth += 1
            depths[name] = depth
            if depth == MAX_MIMIC_CHAIN + 1:
                problem = f"follows more than {MAX_MIMIC_CHAIN} joints one after the other"
                yield Defect("mimic-cycle", f"joint {name!r}", problem, "let it mimic the first of them", joints[name])


def _coupling_defects(joint: Joint, master_name: str, joints: dict[str, Joint]) -> Iterator[Defect]:
    name, part = f"joint {joint.name!r}", joint.mimic
    master = joints.get(master_name)
    if joint.axes != 1:
        problem = f"is {joint.kind} and mimics {master_name!r}"
        yield Defect("mimic-fixed", name, problem, "only joints of one axis can mimic", part)
    if master is None:
        remedy = suggest(master_name, islice(joints, MAX_SUGGESTED)).rstrip(".")
        yield Defect("mimic-missing", name, f"mimics {master_name!r}, which does not exist", remedy, part)
    elif master.axes != 1:
        problem = f"mimics {master_name!r}, which is {master.kind}"
        yield Defect("mimic-fixed", name, problem, "only joints of one axis can be mimicked", part)


def _number_defects(description: Description) -> Iterator[Defect]:
    yield from _pose_defects([("the base pose", description.base, description)])
    yield from _pose_defects([(f"joint {joint.name!r}", joint.origin, joint) for joint in description.joints])
    yield from _pose_defects(
        [
            (f"a geometry of link {link.name!r}", geometry.origin, geometry)
            for link in description.links
            for geometry in (*link.collisions, *link.visuals)
        ]
    )
    for joint in description.joints:
        numbers = [*joint.axis, *joint.anchor]
        if joint.mimic is not None:
            numbers += [joint.mimic.multiplier, joint.mimic.offset]
        bounds = [value for name in LIMIT_NAMES for value in getattr(joint, name)]
        if not all(math.isfinite(v) for v in numbers) or any(math.isnan(v) for v in bounds):
            yield Defect("not-finite", f"joint {joint.name!r}", "has a number that is not finite", "correct it", joint)
    for link in description.links:
        inertial = link.inertial
        if inertial is not None and not (
            math.isfinite(inertial.mass) and np.isfinite(inertial.com).all() and np.isfinite(inertial.inertia).all()
        ):
            name = f"the inertial of link {link.name!r}"
            yield Defect("not-finite", name, "has a number that is not finite", "correct it", inertial)


def _pose_defects(poses: list[tuple[str, np.ndarray, object]]) -> Iterator[Defect]:
    if not poses:
        return
    wrong = [(name, part) for name, matrix, part in poses if np.shape(matrix) != (4, 4)]
    if wrong:
        for name, part in wrong:
            yield Defect("bad-pose", name, "has a pose that is not a 4x4 array", "give it as 4x4", part)
        return
    matrices = np.stack([matrix for _, matrix, _ in poses])
    finite = np.asarray(np.isfinite(matrices).all(axis=(1, 2)))
    matrices[~finite] = np.eye(4)
    rotations = matrices[:, :3, :3]
    errors = np.abs(rotations @ rotations.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2))
    proper = (errors < _ORTHONORMAL) & (np.linalg.det(rotations) > 0.0)
    bottom = np.abs(matrices[:, 3] - np.array([0.0, 0.0, 0.0, 1.0])).max(axis=1) < 1e-9
    for index in np.flatnonzero(~(finite & proper & bottom)).tolist():
        name, _, part = poses[index]
        if not finite[index]:
            yield Defect("not-finite", name, "has a pose that is not finite", "correct it", part)
        elif not proper[index]:
            problem = f"has a rotation that is not orthonormal (off by {errors[index]:.1g})"
            yield Defect("bad-pose", name, problem, "give a proper rotation", part)
        else:
            yield Defect("bad-pose", name, "has a pose whose last row is not 0 0 0 1", "correct it", part)
