"""Parents and children: the tree of a validated description."""

from __future__ import annotations

from collections.abc import Iterable

from memetik.errors import UnknownNameError
from memetik.robot.description import Description, Joint


class Topology:
    """The links and joints of a description as a tree.

    `order` lists the joints parents before children, depth first; `parent_joint` gives the joint above a link, None for
    the root; `child_joints` those below it.
    """

    def __init__(self, description: Description):
        self.name = description.name
        self.joints: dict[str, Joint] = {joint.name: joint for joint in description.joints}
        self.parent_joint: dict[str, Joint | None] = {link.name: None for link in description.links}
        self.child_joints: dict[str, list[Joint]] = {link.name: [] for link in description.links}
        for joint in description.joints:
            self.parent_joint[joint.child] = joint
            self.child_joints[joint.parent].append(joint)
        self.root = next(link for link, joint in self.parent_joint.items() if joint is None)
        self.order = self._depth_first()

    def path_to_root(self, link: str) -> list[Joint]:
        """The joints above `link`, the nearest first."""
        self.require_link(link)
        joints = []
        joint = self.parent_joint[link]
        while joint is not None:
            joints.append(joint)
            joint = self.parent_joint[joint.parent]
        return joints

    def ancestors(self, link: str) -> list[str]:
        """The links above `link`, the nearest first."""
        return [joint.parent for joint in self.path_to_root(link)]

    def path(self, start: str, end: str) -> tuple[list[Joint], list[Joint]]:
        """The joints between two links: those climbed from `start`, then those descended to `end`."""
        up, down = self.path_to_root(start), self.path_to_root(end)
        while up and down and up[-1] is down[-1]:
            up.pop()
            down.pop()
        return up, down[::-1]

    def below(self, link: str) -> list[str]:
        """`link` and all of its descendants, parents first."""
        self.require_link(link)
        found = [link]
        for parent in found:
            found.extend(joint.child for joint in self.child_joints[parent])
        return found

    def require_link(self, link: str) -> None:
        if link not in self.parent_joint:
            raise UnknownNameError("link", link, f"robot {self.name!r}", self.parent_joint)

    def require_joint(self, joint: str) -> Joint:
        try:
            return self.joints[joint]
        except (KeyError, TypeError):
            raise UnknownNameError("joint", joint, f"robot {self.name!r}", self.joints) from None

    def followers(self, masters: Iterable[str]) -> set[str]:
        """The joints that mimic one of `masters`, directly or through others."""
        given = set(masters)
        found = set(given)
        while True:
            new = {j.name for j in self.joints.values() if j.mimic is not None and j.mimic.joint in found} - found
            if not new:
                return found - given
            found |= new

    def master(self, joint: Joint) -> tuple[Joint, float, float]:
        """The free joint that `joint` follows (itself if free), multiplier and offset: m * (its value) + o."""
        multiplier, offset = 1.0, 0.0
        while joint.mimic is not None:
            offset += multiplier * joint.mimic.offset
            multiplier *= joint.mimic.multiplier
            joint = self.joints[joint.mimic.joint]
        return joint, multiplier, offset

    def _depth_first(self) -> list[Joint]:
        order: list[Joint] = []
        stack = list(reversed(self.child_joints[self.root]))
        while stack:
            joint = stack.pop()
            order.append(joint)
            stack.extend(reversed(self.child_joints[joint.child]))
        return order
