"""SRDF: what the links and joints of a robot are for.

Groups, end effectors, named states, disabled collision pairs, virtual and passive joints. Real SRDF files mention links
and joints that the robot does not have; such entries are dropped, with one warning that lists them.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace

from memetik.errors import DescriptionError, suggest
from memetik.files.xml_tree import Element, parse_xml
from memetik.geometry.transforms import angles_from_rotation, rotation_from_quaternion
from memetik.robot.description import (
    Description,
    EndEffector,
    Group,
    Joint,
    NamedState,
    Semantics,
    VirtualJoint,
)
from memetik.robot.joint_kinds import WORLD_KINDS, joint_kind
from memetik.robot.notes import Note, Notes, summarised
from memetik.robot.readers.packages import PackageFinder, SearchPath

MAX_PAIRS = 500_000
SRDF_ENDINGS = (".srdf", ".srdf.xacro")

_CONSEQUENCES = {
    "virtual_joint": "The robot has no such joint to the world.",
    "group": "The group lacks it.",
    "link": "The group lacks it.",
    "joint": "The group or the named configuration lacks it.",
    "chain": "The group lacks it.",
    "end_effector": "It is no tip of the robot, or belongs to no group.",
    "group_state": "The named configuration lacks it.",
    "passive_joint": "No joint is passive by it.",
    "disable_default_collisions": "No pair is left unchecked by it.",
    "enable_collisions": "No pair is checked by it.",
    "disable_collisions": "No pair is left unchecked by it.",
}
"""By element: what it means that something of it is left out."""

logger = logging.getLogger(__name__)


def read_srdf(text: str | bytes, description: Description, *, source: str = "") -> Semantics:
    """What SRDF text says of the robot of `description`."""
    return add_srdf(replace(description, semantics=Semantics()), text, source=source).semantics


def add_srdf(description: Description, text: str | bytes, *, source: str = "") -> Description:
    """The description with what SRDF text says of it in place of its semantics, and notes of what does not fit."""
    what = source or "the SRDF text"
    semantics, notes = read_srdf_element(parse_xml(text, what), description, source)
    if notes:
        logger.warning(
            "robot %r: %s has entries that do not fit the robot and are left out: %s.",
            description.name,
            what,
            summarised(notes),
        )
    return replace(description, semantics=semantics, notes=(*description.notes, *notes))


def read_srdf_element(root: Element, description: Description, file: str) -> tuple[Semantics, tuple[Note, ...]]:
    """What a parsed SRDF says of the robot of `description`, and notes of what is left out as it does not fit it."""
    if root.tag != "robot":
        raise DescriptionError(f"{file or 'the SRDF text'} starts with <{root.tag}>; an SRDF starts with <robot>.")
    reader = _Reader(description, file)
    return reader.semantics(root), reader.notes.collected()


def find_srdf(urdf_path: str, robot_name: str, search_path: SearchPath = ()) -> str | None:
    """The SRDF, plain or xacro, that belongs to a URDF file, if there is one.

    It lies beside the URDF, or in `config` or `srdf` beside its folder, and has the URDF's stem or the robot's name;
    or is the only SRDF there and is of a robot of the same name; or lies in `config` of a package
    NAME_moveit_config, with NAME the robot's, the file's or that of the file's package.
    """
    folder = os.path.dirname(os.path.abspath(urdf_path))
    stem = os.path.basename(urdf_path).split(".")[0]
    places = [folder, *(os.path.join(os.path.dirname(folder), name) for name in ("config", "srdf"))]
    packages = PackageFinder(folder, search_path, urdf_path)
    names = dict.fromkeys((stem, robot_name))
    for place in places:
        for path in (os.path.join(place, name + ending) for name in names for ending in SRDF_ENDINGS):
            if "\0" not in path and os.path.isfile(path) and packages.may_open(path):
                return path
    for place in places:
        only = _only_srdf(place)
        if only is not None and packages.may_open(only) and _robot_name(only) == robot_name:
            return only
    return _in_moveit_config(packages, names, robot_name)


def _in_moveit_config(packages: PackageFinder, names: Iterable[str], robot_name: str) -> str | None:
    own = os.path.basename(packages.own or "").removesuffix("_description").removesuffix("_support")
    for name in dict.fromkeys((*names, own)):
        root = packages.find(f"{name}_moveit_config") if name else None
        if root is not None:
            place = os.path.join(root, "config")
            for path in (os.path.join(place, stem + ending) for stem in (*names, own) for ending in SRDF_ENDINGS):
                if os.path.isfile(path) and packages.may_open(path):
                    return path
            only = _only_srdf(place)
            if only is not None and packages.may_open(only) and _robot_name(only) in (robot_name, None):
                return only
    return None


def _only_srdf(folder: str) -> str | None:
    try:
        with os.scandir(folder) as entries:
            found = [entry.path for entry in entries if entry.name.endswith(SRDF_ENDINGS) and entry.is_file()]
    except OSError:
        return None
    return found[0] if len(found) == 1 else None


def _robot_name(path: str) -> str | None:
    """The name in an SRDF, None where it is not there or is for xacro to fill in."""
    try:
        with open(path, "rb") as file:
            name = parse_xml(file.read(), path).text("name", "")
    except (OSError, DescriptionError):
        return None
    return None if "$" in name else name


class _Reader:
    def __init__(self, description: Description, file: str):
        self.notes = Notes(file)
        self.links = {link.name: link for link in description.links}
        self.joints = {joint.name: joint for joint in description.joints}
        self.virtual: dict[str, VirtualJoint] = {}

    def semantics(self, root: Element) -> Semantics:
        virtual_joints = tuple(self.virtual_joints(root))
        groups = self.groups(root)
        names = {group.name for group in groups}
        return Semantics(
            groups=groups,
            end_effectors=tuple(self.end_effectors(root, names)),
            states=tuple(self.states(root, names)),
            disabled_pairs=self.disabled_pairs(root),
            virtual_joints=virtual_joints,
            passive_joints=tuple(
                name for element in root.all("passive_joint") if self.knows_joint(element, name := element.text("name"))
            ),
        )

    def drop(self, element: Element, what: str, code: str) -> None:
        message = f"The {what} is left out." if not what.startswith("<") else f"{what} is left out."
        self.notes.left_out(message, _CONSEQUENCES[element.tag], line=element.line, element=element.label, code=code)

    def knows_link(self, element: Element, name: str) -> bool:
        if name not in self.links:
            code = "disabled-pair-unknown-link" if "collisions" in element.tag else "srdf-unknown-link"
            self.drop(element, f"<{element.tag}> of the unknown link {name!r} (line {element.line})", code)
        return name in self.links

    def knows_joint(self, element: Element, name: str) -> bool:
        known = name in self.joints or name in self.virtual
        if not known:
            self.drop(
                element, f"<{element.tag}> of the unknown joint {name!r} (line {element.line})", "srdf-unknown-joint"
            )
        return name in self.joints

    def virtual_joints(self, root: Element) -> Iterator[VirtualJoint]:
        for element in root.all("virtual_joint"):
            stated = element.text("type")
            kind = joint_kind(stated)
            if kind not in WORLD_KINDS:
                raise DescriptionError(f"{element.label} has type {stated!r}; {suggest(stated, WORLD_KINDS)}")
            child = element.text("child_link")
            if self.knows_link(element, child):
                joint = VirtualJoint(element.text("name"), kind, element.text("parent_frame", "world"), child)
                self.virtual[joint.name] = joint
                yield joint

    def groups(self, root: Element) -> tuple[Group, ...]:
        groups: dict[str, Group] = {}
        elements: dict[str, Element] = {}
        for element in root.all("group"):
            name = element.text("name")
            if name in groups:
                self.drop(element, f"second group {name!r} (line {element.line})", "srdf-duplicate")
                continue
            elements[name] = element
            chains = []
            for chain in element.all("chain"):
                base, tip = chain.text("base_link"), chain.text("tip_link")
                if self.knows_link(chain, base) and self.knows_link(chain, tip):
                    chains.append((base, tip))
            groups[name] = Group(
                name=name,
                links=tuple(n for child in element.all("link") if self.knows_link(child, n := child.text("name"))),
                joints=tuple(n for child in element.all("joint") if self.knows_joint(child, n := child.text("name"))),
                chains=tuple(chains),
                subgroups=tuple(child.text("name") for child in element.all("group")),
            )
        return self.without_loose_subgroups(groups, elements)

    def without_loose_subgroups(self, groups: dict[str, Group], elements: dict[str, Element]) -> tuple[Group, ...]:
        """Drop references to groups that do not exist, and those that would make a group contain itself."""
        state: dict[str, str] = {}
        kept: dict[str, list[str]] = {name: [] for name in groups}
        for start in groups:
            if start in state:
                continue
            state[start] = "open"
            path = [(start, iter(groups[start].subgroups))]
            while path:
                name, rest = path[-1]
                inner = next(rest, None)
                if inner is None:
                    state[name] = "done"
                    path.pop()
                elif inner not in groups or state.get(inner) == "open":
                    why = "unknown" if inner not in groups else "circular"
                    code = "srdf-unknown-group" if inner not in groups else "srdf-group-cycle"
                    self.drop(elements[name], f"{why} subgroup {inner!r} of group {name!r}", code)
                else:
                    kept[name].append(inner)
                    if inner not in state:
                        state[inner] = "open"
                        path.append((inner, iter(groups[inner].subgroups)))
        return tuple(
            Group(group.name, group.links, group.joints, group.chains, tuple(kept[group.name]))
            for group in groups.values()
        )

    def end_effectors(self, root: Element, groups: set[str]) -> Iterator[EndEffector]:
        for element in root.all("end_effector"):
            parent = element.text("parent_link")
            if not self.knows_link(element, parent):
                continue
            group, parent_group = element.text("group", ""), element.text("parent_group", "")
            for name in (group, parent_group):
                if name and name not in groups:
                    self.drop(element, f"unknown group {name!r} of {element.label}", "srdf-unknown-group")
            yield EndEffector(
                name=element.text("name"),
                parent_link=parent,
                group=group if group in groups else "",
                parent_group=parent_group if parent_group in groups else "",
            )

    def states(self, root: Element, groups: set[str]) -> Iterator[NamedState]:
        for element in root.all("group_state"):
            group = element.text("group", "")
            if group and group not in groups:
                self.drop(element, f"unknown group {group!r} of {element.label}", "srdf-unknown-group")
                group = ""
            values = {}
            for child in element.all("joint"):
                name = child.text("name")
                given = child.numbers("value", None)
                if name == "root_joint" and name not in self.joints and len(given) == 7:
                    continue  # how files made for Pinocchio call the free base that they do not declare
                if self.knows_joint(child, name):
                    joint = self.joints[name]
                    entries = _axis_values(joint, given)
                    if entries is None:
                        what = f"{len(given)} values of joint {name!r} in {element.label}, which has {joint.axes} axes,"
                        self.drop(element, f"entry with {what}", "state-wrong-joint")
                    elif entries:
                        values[name] = entries
            yield NamedState(element.text("name"), group, values)

    def disabled_pairs(self, root: Element) -> tuple[tuple[str, str, str], ...]:
        pairs: dict[tuple[str, str], str] = {}
        solid = [name for name, link in self.links.items() if link.collisions]
        for element in root.all("disable_default_collisions"):
            link = element.text("link")
            if self.knows_link(element, link):
                for other in solid:
                    if other != link:
                        pairs[_ordered(link, other)] = "Default"
            if len(pairs) > MAX_PAIRS:
                raise DescriptionError(f"{element.label} makes more than {MAX_PAIRS} disabled pairs of links.")
        for element in root.all("enable_collisions"):
            pairs.pop(_ordered(element.text("link1"), element.text("link2")), None)
        for element in root.all("disable_collisions"):
            first, second = element.text("link1"), element.text("link2")
            if self.knows_link(element, first) and self.knows_link(element, second) and first != second:
                pairs[_ordered(first, second)] = element.text("reason", "")
        return tuple((first, second, reason) for (first, second), reason in pairs.items())


def _ordered(first: str, second: str) -> tuple[str, str]:
    return (first, second) if first <= second else (second, first)


def _axis_values(joint: Joint, given: tuple[float, ...]) -> tuple[float, ...] | None:
    """A state's numbers as one per axis; SRDF gives a floating joint 7: the position and a quaternion x, y, z, w."""
    if len(given) == joint.axes:
        return given
    quaternion = given[-4:]
    length = math.sqrt(sum(v * v for v in quaternion))
    if len(given) == joint.axes + 1 and joint.traits.has_rotation_order and length > 1e-6:
        x, y, z, w = (v / length for v in quaternion)
        if joint.swing_twist:
            return None
        return (*given[:-4], *angles_from_rotation(rotation_from_quaternion(w, x, y, z), joint.rotation_order))
    return None
