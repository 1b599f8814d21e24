"""A robot's names, limits and structure: what does not depend on q."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Self, cast

import numpy as np

from memetik import _core
from memetik.errors import InvalidInputError, UnknownNameError
from memetik.robot import groups
from memetik.robot.description import Description, Joint, Link
from memetik.robot.description_digest import digest, read_only
from memetik.robot.limits import apply_margin, apply_soft_limits, neutral_value
from memetik.robot.notes import Note
from memetik.robot.tree import CompiledTree, Coupling, compile_tree


class RobotModel:
    """A description, compiled. Immutable; equal and hashed by content; pickles as its description."""

    __slots__ = ("__weakref__", "_digest", "_indices", "_link_index", "_neutral", "core", "description", "dof", "tree")

    description: Description
    """What the robot was made from, limits as they are in force."""
    dof: int
    """The number of entries of q: one per axis of every joint that is neither fixed nor a mimic."""
    tree: CompiledTree
    """The joints broken down into elementary axes, and what follows from the structure alone."""
    core: _core.Tree
    """The native kinematic tree."""
    _link_index: dict[str, int]
    _indices: dict[tuple[str, ...], np.ndarray]
    _neutral: np.ndarray
    _digest: bytes | None

    def __init__(
        self,
        description: Description,
        *,
        limit_margin: float | Mapping[str, float] = 0.0,
        use_soft_limits: bool = False,
    ):
        """Compile a description.

        limit_margin: moves position limits inwards: radians, for every turning axis; or a mapping from joint to margin.
        use_soft_limits: takes the description's soft limits where they are tighter than the hard ones.
        """
        if not isinstance(description, Description):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(
                f"a Robot is made from a Description, not from {type(description).__name__}; use load_robot(...)."
            )
        if use_soft_limits:
            description = apply_soft_limits(description)
        if isinstance(limit_margin, Mapping) or limit_margin != 0.0:
            description = apply_margin(description, limit_margin)
        tree = compile_tree(description)
        set_once = object.__setattr__
        set_once(self, "description", read_only(description))
        set_once(self, "tree", tree)
        set_once(self, "dof", tree.dof)
        set_once(self, "core", _native(tree))
        set_once(self, "_indices", {})
        set_once(self, "_link_index", {link.name: k for k, link in enumerate(description.links)})
        set_once(self, "_digest", None)
        neutral = np.array([neutral_value(low, high) for low, high in zip(self.lower, self.upper, strict=True)])
        neutral.setflags(write=False)
        set_once(self, "_neutral", neutral)

    @property
    def name(self) -> str:
        return self.description.name

    @property
    def joint_names(self) -> tuple[str, ...]:
        """One name per entry of q: the joint's, or joint/axis where the joint has several axes."""
        return self.tree.joint_names

    @property
    def lower(self) -> np.ndarray:
        """Lower position limits (dof,), radians or metres; -inf where there is none."""
        return self.tree.limits["lower"]

    @property
    def upper(self) -> np.ndarray:
        """Upper position limits (dof,), radians or metres; inf where there is none."""
        return self.tree.limits["upper"]

    @property
    def soft_lower(self) -> np.ndarray:
        """Lower soft limits (dof,); -inf where the description gives none."""
        return self.tree.limits["soft_lower"]

    @property
    def soft_upper(self) -> np.ndarray:
        """Upper soft limits (dof,); inf where the description gives none."""
        return self.tree.limits["soft_upper"]

    @property
    def velocity(self) -> np.ndarray:
        """Velocity limits (dof,), radians or metres per second; inf where there is none."""
        return self.tree.limits["velocity"]

    @property
    def acceleration(self) -> np.ndarray:
        """Acceleration limits (dof,), radians or metres per second squared; inf where there is none."""
        return self.tree.limits["acceleration"]

    @property
    def effort(self) -> np.ndarray:
        """Effort limits (dof,), newton metres or newtons; inf where there is none."""
        return self.tree.limits["effort"]

    @property
    def turning(self) -> np.ndarray:
        """Per entry of q: True for an angle in radians, False for a distance in metres."""
        return self.tree.turning

    @property
    def continuous(self) -> np.ndarray:
        """Per entry of q: True where it has no limits and a full turn brings every link back."""
        return self.tree.periodic

    @property
    def neutral(self) -> np.ndarray:
        """The middle of the limits; zero for joints without, or the limit nearest to zero."""
        return self._neutral

    @property
    def links(self) -> tuple[str, ...]:
        """The names of all links."""
        return tuple(self._link_index)

    @property
    def base(self) -> str:
        """The root link."""
        return self.tree.topology.root

    @property
    def base_pose(self) -> np.ndarray:
        """Pose of the root link in the world (4, 4)."""
        return self.description.base

    @property
    def tip(self) -> str:
        """The link that does the robot's work: SRDF's end effector, else the tool frame of its only limb, by its name
        (tcp, tool0, attachment_site, ...), else the last link before the tree branches."""
        found = self.tips
        if len(found) == 1:
            return found[0]
        listed = ", ".join(repr(link) for link in found)
        raise InvalidInputError(
            f"robot {self.name!r} has several tips: {listed}. Name the one you mean, or take a part with "
            "robot.group(...) or robot.chain(base, tip)."
        )

    @property
    def tips(self) -> tuple[str, ...]:
        """The candidates for `tip`, one per limb."""
        return groups.find_tips(self.description, self.tree.topology)

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of SRDF's groups; without any, of the limbs: left_arm, fl_leg, index, or after their tips."""
        return tuple(groups.groups_by_name(self.description, self.tree.topology))

    @property
    def notes(self) -> tuple[Note, ...]:
        """What the readers of the robot's files left out or filled in, where, and what follows from it."""
        return self.description.notes

    @property
    def mass(self) -> float:
        """The mass of all links together, kilograms."""
        return float(self.tree.masses.sum())

    @property
    def couplings(self) -> Mapping[str, Coupling]:
        """Per joint that is not fixed, mimics included: its first entry of q, multiplier and offset."""
        return MappingProxyType(self.tree.couplings)

    def link(self, name: str) -> Link:
        """The description of a link."""
        return self.description.links[self.link_index(name)]

    def joint(self, name: str) -> Joint:
        """The description of a joint."""
        return self.tree.topology.require_joint(name)

    def link_index(self, name: str) -> int:
        """The position of a link in `links`."""
        try:
            return self._link_index[name]
        except (KeyError, TypeError):
            raise UnknownNameError("link", name, f"robot {self.name!r}", self._link_index) from None

    def joint_index(self, name: str) -> int:
        """The position in q of an entry named as in `joint_names`."""
        try:
            return self.joint_names.index(name)
        except ValueError:
            raise UnknownNameError("joint", name, f"robot {self.name!r}", self.joint_names) from None

    def parent(self, link: str) -> str | None:
        """The parent of `link`; None for the root."""
        joint = self.parent_joint(link)
        return None if joint is None else joint.parent

    def parent_joint(self, link: str) -> Joint | None:
        """The joint above a link; None for the root."""
        self.link_index(link)
        return self.tree.topology.parent_joint[link]

    def children(self, link: str) -> tuple[str, ...]:
        """The links that hang directly on `link`."""
        self.link_index(link)
        return tuple(joint.child for joint in self.tree.topology.child_joints[link])

    def ancestors(self, link: str) -> tuple[str, ...]:
        """The links above `link`, the nearest first and the root last."""
        return tuple(self.tree.topology.ancestors(link))

    def descendants(self, link: str) -> tuple[str, ...]:
        """The descendants of `link`, parents first."""
        return tuple(self.tree.topology.below(link)[1:])

    def moves(self, link: str) -> np.ndarray:
        """Per entry of q: whether the link's pose depends on it."""
        return self.tree.moves[self.link_index(link)]

    def group_joints(self, group: str) -> tuple[str, ...]:
        """The joints of one of the groups."""
        return groups.group_joints(self.description, self.tree.topology, group)

    def group_links(self, group: str) -> tuple[str, ...]:
        """The links of one of the groups."""
        return groups.group_links(self.description, self.tree.topology, group)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Robot cannot be changed; its methods make new ones ({name!r} was to be set).")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Robot cannot be changed ({name!r} was to be deleted).")

    def __reduce__(self) -> tuple[type[Self], tuple[Description]]:
        return type(self), (self.description,)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RobotModel):
            return NotImplemented
        return self is other or self.content_digest == other.content_digest

    def __hash__(self) -> int:
        return hash(self.content_digest)

    @property
    def content_digest(self) -> bytes:
        """16 bytes by which two robots are equal or not; the same in every process."""
        found = self._digest
        if found is None:
            found = digest(self.description)
            object.__setattr__(self, "_digest", found)
        return found

    def __repr__(self) -> str:
        tips = self.tips
        tip = f"tip {tips[0]!r}" if len(tips) == 1 else f"{len(tips)} tips"
        mimics = sum(joint.mimic is not None for joint in self.description.joints)
        also = f" and {mimics} mimic" if mimics else ""
        joints = f"{self.dof} joints{also} ({', '.join(self.joint_names[:8])}{', ...' if self.dof > 8 else ''})"
        return f"<Robot {self.name!r}: {joints}, {len(self.links)} links, base {self.base!r}, {tip}>"


def _native(tree: CompiledTree) -> _core.Tree:
    field_names = cast("tuple[str, ...]", vars(_core.TreeArrays)["field_names"])
    return _core.Tree(_core.TreeArrays(**{name: getattr(tree, name) for name in field_names}))
