"""The limbs of a tree: arms, legs, heads, fingers; where each ends, and what it is called.

A limb starts at the root or where the tree branches, and is followed while one child leads to moving joints. Where it
branches, it ends in a hand if it has more free axes than the longest branch beyond (an arm with fingers), and each
branch beyond is a finger; otherwise each branch is a limb of its own (a torso with arms). A floating or planar base is
no part of a limb.

The tip of a limb is the tool frame that is rigidly fixed to its last link, by its name: a tool centre point, tool0, an
attachment site, an end effector, at last a flange; else the only massless frame without a shape there that is not a
sensor's; else the last link before the rigid frames part.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from memetik.robot.description import Description, Group, Joint, Link
from memetik.robot.topology import Topology

_TOOLS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?:^|[_\-/])tcp(?:$|[_\-/])|tool_?cent(?:er|re)|grasp_?(?:frame|site|point|link|center)|pinch(?:_site)?$",
        r"(?:^|[_\-/])tool0$",
        r"attachment_site",
        r"(?:^|[_\-/])(?:ee|eef|ee_link|end_?effector|tool|tool_?(?:link|frame|tip)|grip_site)(?:$|[_\-/])",
        r"flange",
    )
)
_FLANGE = len(_TOOLS) - 1
_SENSORS = re.compile(
    r"cam|imu|optical|laser|lidar|sensor|screw|led|mark|depth|rgb|ft_|force|torque|gps|radar|sonar|mic|speaker|light|com$",
    re.IGNORECASE,
)
_SIDES = {
    "left": re.compile(r"left|(?:^|[_\-/])l(?:$|[_\-/])|(?:^|[_\-/])l(?=arm|leg|hip|knee|foot|hand|wrist|shoulder)"),
    "right": re.compile(r"right|(?:^|[_\-/])r(?:$|[_\-/])|(?:^|[_\-/])r(?=arm|leg|hip|knee|foot|hand|wrist|shoulder)"),
}
_CORNERS = re.compile(r"(?:^|[_\-/])(fl|fr|rl|rr|bl|br|hl|hr|lf|rf|lh|rh)(?:$|[_\-/])")
_KINDS = {
    "thumb": re.compile(r"thumb"),
    "index": re.compile(r"index"),
    "middle": re.compile(r"middle"),
    "ring": re.compile(r"ring(?![a-z])"),
    "little": re.compile(r"pinky|little"),
    "finger": re.compile(r"finger|knuckle"),
    "head": re.compile(r"head|neck|eye"),
    "wheel": re.compile(r"wheel|caster"),
    "leg": re.compile(r"(?:^|[_\-/lr])leg|hip|knee|ankle|foot|thigh|calf|shank|hfe|kfe|haa"),
    "arm": re.compile(r"arm(?!at)|shoulder|elbow|wrist|hand|gripper"),
    "torso": re.compile(r"torso|waist|chest|spine"),
}
_FINGER = re.compile(r"thumb|finger|knuckle")
_BODY = re.compile(r"leg|hip|knee|shoulder|elbow|head|neck|torso")
_ARM_JOINTS = 5
"""A limb of which the names tell nothing and that has so many joints is an arm."""
_FINGERS = ("thumb", "index", "middle", "ring", "little", "finger")


@dataclass(frozen=True, slots=True)
class Limb:
    """A chain of links from `base`, where it branches off, to `tip`."""

    base: str
    tip: str
    joints: tuple[Joint, ...]
    finger_of: str = ""
    """The tip of the limb whose finger it is."""


def find_limbs(description: Description, topology: Topology) -> list[Limb]:
    """The limbs in the order of the tree, each before its fingers."""
    links = {link.name: link for link in description.links}
    reach = _longest_branches(topology)
    found: list[Limb] = []
    pending: list[tuple[str, str, tuple[Joint, ...], str]] = [(topology.root, topology.root, (), "")]
    while pending:
        base, link, joints, finger_of = pending.pop()
        own = sum(_limb_axes(joint) for joint in joints)
        while True:
            moving = [joint for joint in topology.child_joints[link] if joint.name in reach]
            if len(moving) != 1:
                break
            link = moving[0].child
            if moving[0].traits.joins_world and moving[0].axes:
                base, joints = link, ()
            else:
                joints = (*joints, moving[0])
                own += _limb_axes(moving[0])
        is_hand = bool(moving) and own > max(reach[joint.name] for joint in moving)
        if not moving or is_hand:
            tip = _tool_frame(links, topology, link, is_hand)
            found.append(Limb(base, tip, joints, finger_of))
            finger_of = tip if is_hand else finger_of
        pending.extend((link, joint.child, (joint,), finger_of) for joint in reversed(moving))
    return found


def limb_groups(description: Description, topology: Topology) -> dict[str, Group]:
    """Groups by name for a robot without any: a limb each, called by its side and kind where these are clear.

    A limb whose kind its names do not tell, or that shares its name with another, is called after its tip.
    """
    limbs = [limb for limb in find_limbs(description, topology) if any(_limb_axes(joint) for joint in limb.joints)]
    names = [_limb_name(limb, limbs) for limb in limbs]
    counts = Counter(names)
    result: dict[str, Group] = {}
    for limb, name in zip(limbs, names, strict=True):
        called = name if name and counts[name] == 1 else limb.tip
        result[called] = Group(called, chains=((limb.base, limb.tip),))
    return result


def _limb_name(limb: Limb, limbs: list[Limb]) -> str:
    moving = [joint for joint in limb.joints if joint.axes]
    words = [word.lower() for joint in moving for word in (joint.name, joint.child)]
    votes = Counter(kind for word in words for kind, pattern in _KINDS.items() if pattern.search(word))
    # A finger's links are often called after its hand, an arm's rarely after fingers.
    fingers = {kind: votes[kind] for kind in _FINGERS if votes[kind]} if limb.finger_of or _is_hand(limbs) else {}
    if not fingers:
        votes = Counter({kind: count for kind, count in votes.items() if kind not in _FINGERS})
    kind = max(fingers or votes, key=lambda name: votes[name], default="")
    if limb.finger_of and kind == "arm":
        kind = "gripper"
    if not kind:
        return "arm" if not limb.finger_of and len(moving) >= _ARM_JOINTS else ""
    sides = Counter(side for word in words for side, pattern in _SIDES.items() if pattern.search(word))
    corner = next((match.group(1) for word in words if (match := _CORNERS.search(word))), "")
    side = max(sides, key=lambda name: sides[name], default="") if len(set(sides.values())) == len(sides) else ""
    if kind == "leg" and corner:
        return f"{corner}_leg"
    return f"{side}_{kind}" if side else kind


def _is_hand(limbs: list[Limb]) -> bool:
    """Whether the robot is all fingers, by its names."""
    words = [word.lower() for limb in limbs for joint in limb.joints for word in (joint.name, joint.child)]
    return any(_FINGER.search(word) for word in words) and not any(_BODY.search(word) for word in words)


def _tool_frame(links: Mapping[str, Link], topology: Topology, end: str, is_hand: bool) -> str:
    """The tool frame of a limb that ends at link `end`."""
    rigid = [end]
    for link in rigid:
        rigid.extend(joint.child for joint in topology.child_joints[link] if not joint.axes)
    ranked = [(rank, -index, link) for index, link in enumerate(rigid) if (rank := _tool_rank(link)) is not None]
    # A flange between arm and hand is no tool frame of the hand, and a link with a body keeps its place before one.
    ranked = [entry for entry in ranked if entry[0] < _FLANGE or (not is_hand and len(rigid) > 2)]
    if ranked:
        return min(ranked)[2]
    if is_hand:
        return end
    last = end
    while len(topology.child_joints[last]) == 1:
        last = topology.child_joints[last][0].child
    frames = [name for name in rigid[1:] if _is_frame(links[name], topology) and not _SENSORS.search(name)]
    return frames[0] if len(frames) == 1 and topology.child_joints[last] else last


def _tool_rank(link: str) -> int | None:
    return next((rank for rank, pattern in enumerate(_TOOLS) if pattern.search(link)), None)


def _is_frame(link: Link, topology: Topology) -> bool:
    massless = link.inertial is None or link.inertial.mass == 0.0
    return massless and not link.collisions and not link.visuals and not topology.child_joints[link.name]


def _longest_branches(topology: Topology) -> dict[str, int]:
    """Per joint that moves or leads to one that does: the most free axes on a way from it to the end of the tree."""
    reach: dict[str, int] = {}
    for joint in reversed(topology.order):
        beyond = [reach[child.name] for child in topology.child_joints[joint.child] if child.name in reach]
        if beyond or joint.axes:
            reach[joint.name] = _limb_axes(joint) + max(beyond, default=0)
    return reach


def _limb_axes(joint: Joint) -> int:
    return 0 if joint.traits.joins_world or joint.mimic is not None else joint.axes
