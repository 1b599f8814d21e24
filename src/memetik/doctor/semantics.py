"""Whether an SRDF fits the robot: references that exist, chains that connect, states that can be taken."""

from __future__ import annotations

import math

from memetik.doctor.subject import Subject
from memetik.errors import suggest
from memetik.files.xml_tree import Element
from memetik.robot.description import Joint
from memetik.robot.findings import Place


def check_semantics(subject: Subject, root: Element, file: str) -> None:
    """Check a parsed SRDF, of that file, against the robot."""
    _Checker(subject, root, file).check()


class _Checker:
    def __init__(self, subject: Subject, root: Element, file: str):
        self.subject, self.root, self.file = subject, root, file
        self.links, self.joints, self.parents = subject.links, subject.joints, subject.parents
        self.virtual = {_text(e, "name") for e in root.all("virtual_joint")}
        self.groups = {_text(e, "name"): e for e in reversed(list(root.all("group")))}

    def check(self) -> None:
        name = _text(self.root, "name")
        if name != self.subject.description.name:
            message = f"the SRDF is for robot {name!r}; the description is of {self.subject.description.name!r}."
            self.add("srdf-other-robot", self.root, "robot", message, "Give both the same name.")
        self.check_duplicates()
        for element in self.root.all("virtual_joint"):
            self.require_link(element, "child_link", f"virtual joint {_text(element, 'name')!r}")
        for name, element in self.groups.items():
            self.check_group(name, element)
        self.check_group_cycles()
        for element in self.root.all("end_effector"):
            self.check_end_effector(element)
        for element in self.root.all("passive_joint"):
            self.require_joint(element, "passive joint")
        for element in self.root.all("group_state"):
            self.check_state(element)
        self.check_pairs()

    def check_duplicates(self) -> None:
        for tag, key in (("group", ("name",)), ("group_state", ("name", "group")), ("end_effector", ("name",))):
            seen: dict[tuple[str, ...], Element] = {}
            for element in self.root.all(tag):
                names = tuple(_text(element, attribute) for attribute in key)
                if names in seen:
                    owner = f"{tag.replace('_', ' ')} {names[0]!r}"
                    message = f"{owner} is there already, in line {seen[names].line}."
                    self.add("srdf-duplicate", element, owner, message, "Remove one of them.")
                seen.setdefault(names, element)

    def check_group(self, name: str, element: Element) -> None:
        owner = f"group {name!r}"
        for child in element.all("link"):
            self.require_link(child, "name", owner)
        for child in element.all("joint"):
            self.require_joint(child, owner)
        for child in element.all("group"):
            self.require_group(child, "name", owner)
        for child in element.all("chain"):
            base, tip = _text(child, "base_link"), _text(child, "tip_link")
            known = [self.require_link(child, attribute, owner) for attribute in ("base_link", "tip_link")]
            if all(known) and base != tip and self.chain(base, tip) is None:
                message = f"the chain of {owner} goes from {base!r} to {tip!r}, but {base!r} is no ancestor of {tip!r}."
                self.add("srdf-broken-chain", child, owner, message, "Exchange them or choose another base link.")
        references = [child for tag in ("link", "joint", "group", "chain") for child in element.all(tag)]
        if not references:
            self.add(
                "srdf-empty-group", element, owner, f"{owner} is empty.", "List its joints, links, chain or groups."
            )

    def check_group_cycles(self) -> None:
        for name, element in self.groups.items():
            if name in self.inner_groups(name):
                message = f"group {name!r} contains itself, directly or through others."
                self.add("srdf-group-cycle", element, f"group {name!r}", message, "Remove the inner reference.")

    def check_end_effector(self, element: Element) -> None:
        owner = f"end effector {_text(element, 'name')!r}"
        self.require_link(element, "parent_link", owner)
        for attribute in ("group", "parent_group"):
            if _text(element, attribute):
                self.require_group(element, attribute, owner)

    def check_state(self, element: Element) -> None:
        group = _text(element, "group")
        owner = f"state {_text(element, 'name')!r}" + (f" of group {group!r}" if group else "")
        known = self.require_group(element, "group", owner)
        # Where a group's own references are broken, who belongs to it cannot be told.
        whole = known and all(inner in self.groups for inner in self.inner_groups(group))
        members = self.group_joints(group) if whole else None
        given: set[str] = set()
        for child in element.all("joint"):
            name = _text(child, "name")
            values = self.state_values(child, owner)
            # Files for Pinocchio set a free base of this name without declaring it.
            if values is None or (name == "root_joint" and name not in self.joints):
                continue
            if self.require_joint(child, owner) and name in self.joints:
                given.add(name)
                self.check_state_joint(child, self.joints[name], values, members, owner)
        if members is not None:
            free = [n for n in members if n in self.joints and self.joints[n].axes and self.joints[n].mimic is None]
            passive = {_text(e, "name") for e in self.root.all("passive_joint")}
            left_open = [name for name in free if name not in given and name not in passive]
            if left_open and given:
                listed = ", ".join(repr(n) for n in left_open[:6]) + (" and more" if len(left_open) > 6 else "")
                message = f"{owner} leaves {len(left_open)} joints of the group open: {listed}."
                self.add("state-incomplete", element, owner, message, "Give each joint a value if that is not meant.")

    def check_state_joint(
        self, element: Element, joint: Joint, values: list[float], members: list[str] | None, owner: str
    ) -> None:
        if not joint.axes or joint.mimic is not None:
            what = "is fixed" if not joint.axes else f"follows joint {joint.mimic.joint!r}" if joint.mimic else ""
            message = f"{owner} sets joint {joint.name!r}, which {what}."
            self.add("state-wrong-joint", element, owner, message, "Leave it out.")
        elif members is not None and joint.name not in members:
            message = f"{owner} sets joint {joint.name!r}, which is not in that group."
            self.add("state-wrong-joint", element, owner, message, "Leave it out, or name another group.")
        if self.subject.limits(joint) is None or len(values) != joint.axes:
            return
        for axis, lower, upper, value in zip(joint.axis_names, joint.lower, joint.upper, values, strict=True):
            slack = 1e-4 * max(1.0, upper - lower)
            if lower <= upper and not lower - slack <= value <= upper + slack:
                message = f"{owner} sets joint {axis!r} to {value:g}, outside its limits {lower:g} .. {upper:g}."
                remedy = "Correct the value; states are in radians and metres."
                self.add("state-outside-limits", element, owner, message, remedy)

    def state_values(self, element: Element, owner: str) -> list[float] | None:
        text = _text(element, "value")
        try:
            values = [float(word) for word in text.split()]
        except ValueError:
            values = []
        if not values or not all(math.isfinite(v) for v in values):
            message = f"{owner} has the value {text[:40]!r} for joint {_text(element, 'name')!r}."
            self.add("not-a-number", element, owner, message, "Write finite numbers.")
            return None
        return values

    def check_pairs(self) -> None:
        seen: dict[frozenset[str], int] = {}
        unknown: dict[str, list[Element]] = {}
        for element in self.root.all("disable_collisions"):
            pair = [_text(element, attribute) for attribute in ("link1", "link2")]
            for name in pair:
                if name not in self.links:
                    unknown.setdefault(name, []).append(element)
            key = frozenset(pair)
            if key in seen:
                owner = f"disabled pair {pair[0]!r}, {pair[1]!r}"
                message = f"the {owner} is there already, in line {seen[key]}."
                self.add("srdf-duplicate", element, owner, message, "Remove one of them.")
            seen.setdefault(key, element.line)
        for name, elements in unknown.items():
            count = "a disabled pair names" if len(elements) == 1 else f"{len(elements)} disabled pairs name"
            message = f"{count} link {name!r}, which does not exist."
            owner = f"disabled pairs of {name!r}"
            self.add("disabled-pair-unknown-link", elements[0], owner, message, suggest(name, sorted(self.links)))
        for element in self.root.all("disable_default_collisions"):
            self.require_link(element, "link", "disabled default collisions")

    def require_link(self, element: Element, attribute: str, owner: str) -> bool:
        name = _text(element, attribute)
        if name not in self.links:
            message = f"{owner} refers to link {name!r}, which does not exist."
            self.add("srdf-unknown-link", element, owner, message, suggest(name, sorted(self.links)))
        return name in self.links

    def require_joint(self, element: Element, owner: str) -> bool:
        name = _text(element, "name")
        known = name in self.joints or name in self.virtual
        if not known:
            message = f"{owner} refers to joint {name!r}, which does not exist."
            self.add("srdf-unknown-joint", element, owner, message, suggest(name, sorted(self.joints)))
        return known

    def require_group(self, element: Element, attribute: str, owner: str) -> bool:
        name = _text(element, attribute)
        if name not in self.groups:
            message = f"{owner} refers to group {name!r}, which does not exist." if name else f"{owner} names no group."
            self.add("srdf-unknown-group", element, owner, message, suggest(name, sorted(self.groups)))
        return name in self.groups

    def inner_groups(self, name: str) -> set[str]:
        """The groups inside a group, at any depth."""
        inner: set[str] = set()
        waiting = [name]
        while waiting:
            element = self.groups.get(waiting.pop())
            for child in element.all("group") if element is not None else ():
                if _text(child, "name") not in inner:
                    inner.add(_text(child, "name"))
                    waiting.append(_text(child, "name"))
        return inner

    def group_joints(self, name: str) -> list[str]:
        """The joints of a group: those listed, those above its links, those of its chains and inner groups."""
        joints: dict[str, None] = {}
        for group in (name, *sorted(self.inner_groups(name))):
            element = self.groups.get(group)
            if element is None:
                continue
            joints.update(dict.fromkeys(_text(child, "name") for child in element.all("joint")))
            for child in element.all("link"):
                if _text(child, "name") in self.parents:
                    joints[self.parents[_text(child, "name")].name] = None
            for child in element.all("chain"):
                joints.update(dict.fromkeys(self.chain(_text(child, "base_link"), _text(child, "tip_link")) or ()))
        return list(joints)

    def chain(self, base: str, tip: str) -> list[str] | None:
        """The names of the joints from base to tip; None where base is no ancestor of tip."""
        joints: dict[str, None] = {}
        link: str | None = tip
        while link != base:
            joint = self.parents.get(link or "")
            if joint is None or joint.name in joints:
                return None
            joints[joint.name] = None
            link = joint.parent
        return list(joints)

    def add(self, code: str, element: Element, owner: str, message: str, remedy: str) -> None:
        self.subject.report.add(code, Place(self.file, element.line, owner), message, remedy)


def _text(element: Element, attribute: str) -> str:
    return element.attributes.get(attribute, "").strip()
