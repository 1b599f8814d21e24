"""Edits of a robot: pure functions from one valid description to another. `Robot` offers them as methods.

Names, q's meaning, couplings and inertias of what stays are kept; semantics lose what vanished and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from memetik.errors import InvalidInputError
from memetik.geometry.transforms import frozen
from memetik.robot.description import (
    Description,
    EndEffector,
    Geometry,
    Group,
    Inertial,
    Joint,
    Link,
    Mimic,
    Semantics,
)
from memetik.robot.groups import merged, renamed, restricted
from memetik.robot.topology import Topology
from memetik.robot.tree import joint_pose


def add_tool(
    description: Description,
    mount: str,
    pose: np.ndarray,
    *,
    name: str = "tool",
    collisions: Sequence[Geometry] = (),
    visuals: Sequence[Geometry] = (),
    inertial: Inertial | None = None,
) -> Description:
    """A link `name`, rigidly at `pose` in the link `mount`, which takes its place as a tip of the robot."""
    topology = Topology(description)
    topology.require_link(mount)
    if name in topology.parent_joint:
        raise InvalidInputError(f"robot {description.name!r} has a link {name!r} already; give the tool another name=.")
    joint = Joint(_unused(f"{name}_joint", topology.joints), "fixed", mount, name, origin=frozen(pose))
    effectors = tuple(
        replace(effector, parent_link=name) if effector.parent_link == mount else effector
        for effector in description.semantics.end_effectors
    )
    if not any(effector.parent_link == name for effector in effectors):
        effectors = (*effectors, EndEffector(name, name))
    return replace(
        description,
        links=(*description.links, Link(name, inertial, tuple(collisions), tuple(visuals))),
        joints=(*description.joints, joint),
        semantics=replace(description.semantics, end_effectors=effectors),
    )


def fix_joints(description: Description, values: Mapping[str, Sequence[float]]) -> Description:
    """These joints become fixed at the values of their axes, and so do the joints that mimic them; all links stay."""
    topology = Topology(description)
    fixed = {name: tuple(value) for name, value in values.items() if topology.require_joint(name).axes}
    for name in fixed:
        mimic = topology.joints[name].mimic
        if mimic is not None:
            raise InvalidInputError(f"joint {name!r} mimics {mimic.joint!r} and has no value of its own; fix that one.")
    for name in topology.followers(fixed):
        master, multiplier, offset = topology.master(topology.joints[name])
        fixed[name] = (multiplier * fixed[master.name][0] + offset,)
    joints = tuple(
        _fixed_at(joint, fixed[joint.name]) if joint.name in fixed else joint for joint in description.joints
    )
    states = (
        replace(state, values={name: value for name, value in state.values.items() if name not in fixed})
        for state in description.semantics.states
    )
    semantics = replace(description.semantics, states=tuple(state for state in states if state.values))
    return replace(description, joints=joints, semantics=semantics)


def reroot(description: Description, base: str, pose: np.ndarray | None = None) -> Description:
    """The same robot with link `base` as its root, at `pose` in the world (None: at the world's origin).

    The joints between the old root and the new one are traversed the other way; frames of links and the meaning and
    order of q do not change.
    """
    topology = Topology(description)
    turned = {joint.name for joint in topology.path_to_root(base)}
    semantics = description.semantics
    return replace(
        description,
        joints=tuple(_turned(joint) if joint.name in turned else joint for joint in description.joints),
        base=frozen(np.eye(4) if pose is None else pose),
        semantics=replace(
            semantics,
            end_effectors=tuple(e for e in semantics.end_effectors if not turned or e.parent_link != base),
            virtual_joints=tuple(joint for joint in semantics.virtual_joints if joint.child_link == base),
        ),
    )


def extract_chain(description: Description, base: str, tip: str) -> Description:
    """Only the links and joints between two links, `base` as the root.

    The chain stands at the world's origin, or where the robot does if `base` is its root. A joint of the chain that
    mimics one outside it becomes free, and others of the chain that mimic the same one follow it.
    """
    topology = Topology(description)
    up, down = topology.path(base, tip)
    names = {joint.name for joint in (*up, *down)}
    links = {base, *(joint.parent for joint in up), *(joint.child for joint in down)}
    at_root = base == topology.root
    turned = description if at_root else reroot(description, base)
    joints = _without_outside_masters(tuple(joint for joint in turned.joints if joint.name in names), topology)
    semantics = restricted(turned.semantics, links, {joint.name for joint in joints if joint.axes})
    return replace(
        turned,
        links=tuple(link for link in description.links if link.name in links),
        joints=joints,
        semantics=replace(semantics, end_effectors=(EndEffector(tip, tip),)),
        loops=tuple(loop for loop in turned.loops if {loop.first, loop.second} <= links),
    )


def add_base(
    description: Description,
    kind: Literal["floating", "planar"],
    *,
    name: str | None = None,
    lower: Sequence[float] = (),
    upper: Sequence[float] = (),
    rotation_order: str = "xyz",
) -> Description:
    """A floating or planar joint between a new root, the world, and the robot's root; at q = 0 nothing has moved.

    SRDF's virtual joint of that kind, if there is one, gives its name and that of the world.
    """
    topology = Topology(description)
    semantics = description.semantics
    virtual = next((v for v in semantics.virtual_joints if v.child_link == topology.root and v.kind == kind), None)
    world = _unused(virtual.parent_frame if virtual else "world", topology.parent_joint)
    joint = Joint(
        name or _unused(virtual.name if virtual else "base", topology.joints),
        kind,
        world,
        topology.root,
        origin=description.base,
        axis=(0.0, 0.0, 1.0),
        lower=tuple(lower),
        upper=tuple(upper),
        rotation_order=rotation_order,
    )
    if joint.name in topology.joints:
        raise InvalidInputError(f"robot {description.name!r} has a joint {joint.name!r} already; give another name=.")
    return replace(
        description,
        links=(Link(world), *description.links),
        joints=(joint, *description.joints),
        base=frozen(np.eye(4)),
        semantics=replace(
            semantics, virtual_joints=tuple(v for v in semantics.virtual_joints if v.child_link != topology.root)
        ),
    )


def combine(parts: Mapping[str, Description], name: str) -> Description:
    """Several robots in one cell: each below a common root "world" at its own base pose, names prefixed "part/"."""
    if not parts:
        raise InvalidInputError("combine needs at least one robot.")
    links: list[Link] = [Link("world")]
    joints: list[Joint] = []
    semantics = []
    for key, part in parts.items():
        if not isinstance(key, str) or not key:
            raise InvalidInputError(f"the name of a robot in a cell must be a text that is not empty, not {key!r}.")
        rename = _prefixer(key)
        root = Topology(part).root
        links.extend(replace(link, name=rename(link.name)) for link in part.links)
        joints.append(Joint(f"world_to_{key}", "fixed", "world", rename(root), origin=part.base))
        joints.extend(_renamed(joint, rename) for joint in part.joints)
        own = renamed(part.semantics, rename)
        whole = Group(key, joints=tuple(rename(joint.name) for joint in part.joints))
        semantics.append(replace(own, groups=(*own.groups, whole)))
    sources = dict.fromkeys(part.source for part in parts.values() if part.source)
    notes = tuple(dict.fromkeys(note for part in parts.values() for note in part.notes))
    loops = tuple(
        replace(loop, name=rename(loop.name), first=rename(loop.first), second=rename(loop.second))
        for rename, part in ((_prefixer(key), part) for key, part in parts.items())
        for loop in part.loops
    )
    return Description(
        name, tuple(links), tuple(joints), merged(semantics), source="; ".join(sources), notes=notes, loops=loops
    )


def disable_pairs(description: Description, pairs: Iterable[tuple[str, str]], reason: str) -> Description:
    """These pairs of links are not checked for collision with each other."""
    topology = Topology(description)
    known = {frozenset(pair[:2]) for pair in description.semantics.disabled_pairs}
    added = []
    for first, second in pairs:
        topology.require_link(first)
        topology.require_link(second)
        if frozenset((first, second)) not in known:
            known.add(frozenset((first, second)))
            added.append((first, second, reason))
    semantics = replace(description.semantics, disabled_pairs=(*description.semantics.disabled_pairs, *added))
    return replace(description, semantics=semantics)


def set_collisions(
    description: Description, shapes: Mapping[str, Sequence[Geometry]], *, keep: bool = False
) -> Description:
    """These links have these collision shapes, beside their own where `keep`; other links stay as they are."""
    topology = Topology(description)
    for name in shapes:
        topology.require_link(name)
    links = [
        replace(link, collisions=((*link.collisions,) if keep else ()) + tuple(shapes[link.name]))
        if link.name in shapes
        else link
        for link in description.links
    ]
    return replace(description, links=tuple(links))


def keep_moved_end_effectors(description: Description) -> Description:
    """Without the end effectors that no joint moves."""
    topology = Topology(description)
    semantics = description.semantics
    kept = tuple(e for e in semantics.end_effectors if any(j.axes for j in topology.path_to_root(e.parent_link)))
    return replace(description, semantics=replace(semantics, end_effectors=kept))


def with_known_semantics(description: Description, semantics: Semantics) -> Description:
    """Other semantics, of which every name of a link or joint must be the robot's."""
    topology = Topology(description)
    for group in semantics.groups:
        for link in (*group.links, *(end for chain in group.chains for end in chain)):
            topology.require_link(link)
        for joint in group.joints:
            topology.require_joint(joint)
    for effector in semantics.end_effectors:
        topology.require_link(effector.parent_link)
    for state in semantics.states:
        for joint in state.values:
            topology.require_joint(joint)
    for first, second, _ in semantics.disabled_pairs:
        topology.require_link(first)
        topology.require_link(second)
    return replace(description, semantics=semantics)


def _fixed_at(joint: Joint, values: Sequence[float]) -> Joint:
    if len(values) != joint.axes or not np.isfinite(values).all():
        raise InvalidInputError(
            f"joint {joint.name!r} is fixed at {joint.axes} finite value{'s' if joint.axes > 1 else ''}, "
            f"one per axis, not at {tuple(values)!r}."
        )
    return Joint(joint.name, "fixed", joint.parent, joint.child, origin=frozen(joint_pose(joint, values)))


def _turned(joint: Joint) -> Joint:
    return replace(joint, parent=joint.child, child=joint.parent, reversed=not joint.reversed)


def _without_outside_masters(joints: tuple[Joint, ...], topology: Topology) -> tuple[Joint, ...]:
    inside = {joint.name for joint in joints}
    leaders: dict[str, tuple[str, float, float]] = {}
    result = []
    for joint in joints:
        master, multiplier, offset = topology.master(joint)
        if joint.mimic is None or master.name in inside:
            mimic = None if joint.mimic is None else Mimic(master.name, multiplier, offset)
            result.append(replace(joint, mimic=mimic))
        elif multiplier == 0.0:
            result.append(_fixed_at(replace(joint, mimic=None), (offset,)))
        elif master.name not in leaders:
            leaders[master.name] = (joint.name, multiplier, offset)
            result.append(_freed(joint, master, multiplier, offset))
        else:
            leader, lead_multiplier, lead_offset = leaders[master.name]
            ratio = multiplier / lead_multiplier
            result.append(replace(joint, mimic=Mimic(leader, ratio, offset - ratio * lead_offset)))
    return tuple(result)


def _freed(joint: Joint, master: Joint, multiplier: float, offset: float) -> Joint:
    """A follower with a value of its own, within its limits and those its master allowed it."""
    reach = sorted((multiplier * master.lower[0] + offset, multiplier * master.upper[0] + offset))
    lower, upper = max(joint.lower[0], reach[0]), min(joint.upper[0], reach[1])
    if lower > upper or not joint.traits.bounded:
        lower, upper = joint.lower[0], joint.upper[0]
    return replace(joint, mimic=None, lower=(lower,), upper=(upper,))


def _prefixer(key: str) -> Callable[[str], str]:
    return lambda name: f"{key}/{name}"


def _renamed(joint: Joint, rename: Callable[[str], str]) -> Joint:
    mimic = joint.mimic
    return replace(
        joint,
        name=rename(joint.name),
        parent=rename(joint.parent),
        child=rename(joint.child),
        mimic=None if mimic is None else replace(mimic, joint=rename(mimic.joint)),
    )


def _unused(name: str, taken: Iterable[str]) -> str:
    taken = set(taken)
    if name not in taken:
        return name
    return next(candidate for k in range(1, len(taken) + 2) if (candidate := f"{name}_{k}") not in taken)
