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
from memetik.robot.description import Description, Joint

MAX_LINKS = 10_000
MAX_MIMIC_CHAIN = 200
MAX_SUGGESTED = 1_000
"""Names among which the meant one is looked for: comparing them takes time."""
_ORTHONORMAL = 1e-6


@dataclass(frozen=True, slots=True)
class Defect:
    """What is wrong with which element, and what would mend it."""

    kind: str
    element: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        end = "" if self.remedy.endswith("?") else "."
        return f"{self.element:.300} {self.problem:.300}; {self.remedy:.300}{end}"


def validate(description: Description) -> Description:
    """The description itself; a DescriptionError that names its defects where it is not a robot."""
    found = list(islice(_defects(description), 4))
    if found:
        more = " There are more defects." if len(found) > 3 else ""
        raise DescriptionError(
            f"robot {description.name!r:.200} cannot be used: " + " ".join(str(defect) for defect in found[:3]) + more
        )
    return description


def structural_defects(description: Description) -> list[Defect]:
    """Everything that keeps a description from being a robot, in a fixed order."""
    return list(_defects(description))


def _defects(description: Description) -> Iterator[Defect]:
    count = max(len(description.links), len(description.joints))
    if count > MAX_LINKS:
        yield Defect("size", "the robot", f"has {count} links or joints", f"at most {MAX_LINKS} are accepted")
        return
    yield from _name_defects(description)
    yield from _tree_defects(description)
    yield from _joint_defects(description)
    yield from _mimic_defects(description)
    yield from _number_defects(description)


def _name_defects(description: Description) -> Iterator[Defect]:
    links = [link.name for link in description.links]
    if not links:
        yield Defect("no link", "the robot", "has no link", "give it at least one")
    for kind, names in (("link", links), ("joint", [joint.name for joint in description.joints])):
        for name, count in Counter(names).items():
            if not name:
                yield Defect("empty name", f"a {kind}", "has an empty name", "name it")
            elif count > 1:
                yield Defect(
                    "duplicate name", f"{kind} {name!r}", f"occurs {count} times", f"give each {kind} a name of its own"
                )
    axes = Counter(axis for joint in description.joints for axis in joint.axis_names)
    joints = {joint.name for joint in description.joints}
    for axis, count in axes.items():
        if count > 1 and (axis not in joints or "/" in axis):
            yield Defect(
                "duplicate name",
                f"joint axis {axis!r}",
                f"occurs {count} times",
                "rename the joint that has a slash in its name",
            )


def _tree_defects(description: Description) -> Iterator[Defect]:
    links = {link.name for link in description.links}
    parents: dict[str, Joint] = {}
    children: dict[str, list[str]] = {}
    broken = False
    for joint in description.joints:
        for end, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in links:
                broken = True
                yield Defect(
                    f"unknown {end}",
                    f"joint {joint.name!r}",
                    f"has the {end} link {name!r}, which does not exist",
                    suggest(name, islice(links, MAX_SUGGESTED)).rstrip("."),
                )
        if joint.parent == joint.child:
            broken = True
            yield Defect(
                "cycle", f"joint {joint.name!r}", f"joins link {joint.child!r} to itself", "give it another parent"
            )
        elif joint.child in parents:
            broken = True
            yield Defect(
                "two parents",
                f"link {joint.child!r}",
                f"is the child of the joints {parents[joint.child].name!r} and {joint.name!r}",
                "a link has one parent: remove one joint, or close the loop with a goal",
            )
        else:
            parents[joint.child] = joint
        children.setdefault(joint.parent, []).append(joint.child)
    roots = [link.name for link in description.links if link.name not in parents]
    if not links:
        return
    if not roots:
        yield Defect(
            "no root",
            "the robot",
            "has no root: every link is the child of a joint",
            "remove the joint that closes the cycle",
        )
    if len(roots) > 1:
        listed = ", ".join(repr(name) for name in roots[:6]) + (f" and {len(roots) - 6} more" if len(roots) > 6 else "")
        yield Defect(
            "two roots", "the robot", f"has {len(roots)} roots: {listed}", "join all but one of them to the tree"
        )
    if not broken:
        yield from _unreached(links, roots, children, parents)


def _unreached(
    links: set[str], roots: list[str], children: dict[str, list[str]], parents: dict[str, Joint]
) -> Iterator[Defect]:
    reached = set(roots)
    waiting = list(roots)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in reached:
                reached.add(child)
                waiting.append(child)
    start = next((name for name in parents if name not in reached), None)
    if start is None or not links - reached:
        return
    seen: dict[str, None] = {}
    while start not in seen:
        seen[start] = None
        start = parents[start].parent
    cycle = list(seen)[list(seen).index(start) :]
    listed = ", ".join(repr(name) for name in reversed(cycle[-6:]))
    yield Defect("cycle", f"link {start!r}", f"is part of a cycle ({listed})", "remove the joint that closes it")


def _joint_defects(description: Description) -> Iterator[Defect]:
    for joint in description.joints:
        name = f"joint {joint.name!r}"
        if joint.kind in ("revolute", "continuous", "prismatic", "cylindrical", "planar"):
            length = math.hypot(*joint.axis)
            if not abs(length - 1.0) < 1e-6:
                problem = "has an axis of length zero" if length < 1e-9 else f"has an axis of length {length:g}"
                yield Defect("axis", name, problem, "give it a unit vector such as 0 0 1")
        order = joint.rotation_order
        if joint.kind in ("spherical", "floating") and (
            len(order) != 3 or set(order) - set("xyz") or order[0] == order[1] or order[1] == order[2]
        ):
            yield Defect(
                "rotation order",
                name,
                f"has the rotation order {order!r}",
                "use three of x, y, z, such as 'xyz' or 'zyx'",
            )
        if joint.swing_twist and joint.kind != "spherical":
            yield Defect(
                "swing and twist", name, f"is {joint.kind} and has swing_twist", "only spherical joints have it"
            )
        for axis, lower, upper in zip(joint.axis_names, joint.lower, joint.upper, strict=True):
            if lower > upper:
                yield Defect(
                    "inverted limits",
                    f"joint {axis!r}",
                    f"has the lower limit {lower:g} above the upper {upper:g}",
                    "exchange them",
                )
            elif lower == upper and math.isinf(lower):
                yield Defect("inverted limits", f"joint {axis!r}", f"has both limits at {lower:g}", "give it a range")
        for what in ("velocity", "acceleration", "effort"):
            smallest = min(getattr(joint, what), default=0.0)
            if smallest < 0.0:
                yield Defect("negative limit", name, f"has a {what} limit of {smallest:g}", "limits are positive")


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
                problem = "mimics itself through a cycle of mimic joints"
                yield Defect("mimic", f"joint {follower.name!r}", problem, "let one of them be free")
                break
            chain[follower.name] = None
            follower = joints.get(follower.mimic.joint)
        depth = depths.get(follower.name, 0) if follower is not None else 0
        for name in reversed(chain):
            depth += 1
            depths[name] = depth
            if depth == MAX_MIMIC_CHAIN + 1:
                problem = f"follows more than {MAX_MIMIC_CHAIN} joints one after the other"
                yield Defect("mimic", f"joint {name!r}", problem, "let it mimic the first of them")


def _coupling_defects(joint: Joint, master_name: str, joints: dict[str, Joint]) -> Iterator[Defect]:
    name = f"joint {joint.name!r}"
    master = joints.get(master_name)
    if joint.axes != 1:
        yield Defect("mimic", name, f"is {joint.kind} and mimics {master_name!r}", "only joints of one axis can mimic")
    if master is None:
        remedy = suggest(master_name, islice(joints, MAX_SUGGESTED)).rstrip(".")
        yield Defect("mimic", name, f"mimics {master_name!r}, which does not exist", remedy)
    elif master.axes != 1:
        problem = f"mimics {master_name!r}, which is {master.kind}"
        yield Defect("mimic", name, problem, "only joints of one axis can be mimicked")


def _number_defects(description: Description) -> Iterator[Defect]:
    yield from _pose_defects([("the base pose", description.base)])
    yield from _pose_defects([(f"joint {joint.name!r}", joint.origin) for joint in description.joints])
    yield from _pose_defects(
        [
            (f"a geometry of link {link.name!r}", geometry.origin)
            for link in description.links
            for geometry in (*link.collisions, *link.visuals)
        ]
    )
    for joint in description.joints:
        numbers = [*joint.axis, *joint.anchor]
        if joint.mimic is not None:
            numbers += [joint.mimic.multiplier, joint.mimic.offset]
        bounds = (
            joint.lower,
            joint.upper,
            joint.velocity,
            joint.acceleration,
            joint.effort,
            joint.soft_lower,
            joint.soft_upper,
        )
        if not all(math.isfinite(v) for v in numbers) or any(math.isnan(v) for values in bounds for v in values):
            yield Defect("not finite", f"joint {joint.name!r}", "has a number that is not finite", "correct it")
    for link in description.links:
        inertial = link.inertial
        if inertial is None:
            continue
        if not (
            math.isfinite(inertial.mass) and np.isfinite(inertial.com).all() and np.isfinite(inertial.inertia).all()
        ):
            yield Defect(
                "not finite", f"the inertial of link {link.name!r}", "has a number that is not finite", "correct it"
            )


def _pose_defects(poses: list[tuple[str, np.ndarray]]) -> Iterator[Defect]:
    if not poses:
        return
    wrong = [name for name, matrix in poses if np.shape(matrix) != (4, 4)]
    if wrong:
        for name in wrong:
            yield Defect("pose", name, "has a pose that is not a 4x4 array", "give it as 4x4")
        return
    matrices = np.stack([matrix for _, matrix in poses])
    finite = np.asarray(np.isfinite(matrices).all(axis=(1, 2)))
    matrices[~finite] = np.eye(4)
    rotations = matrices[:, :3, :3]
    errors = np.abs(rotations @ rotations.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2))
    proper = (errors < _ORTHONORMAL) & (np.linalg.det(rotations) > 0.0)
    bottom = np.abs(matrices[:, 3] - np.array([0.0, 0.0, 0.0, 1.0])).max(axis=1) < 1e-9
    for index in np.flatnonzero(~(finite & proper & bottom)).tolist():
        name = poses[index][0]
        if not finite[index]:
            yield Defect("not finite", name, "has a pose that is not finite", "correct it")
        elif not proper[index]:
            yield Defect(
                "rotation",
                name,
                f"has a rotation that is not orthonormal (off by {errors[index]:.1g})",
                "give a proper rotation",
            )
        else:
            yield Defect("pose", name, "has a pose whose last row is not 0 0 0 1", "correct it")
