"""What the names of a description mean: joints and links of groups, tips, and what is left when parts go."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from memetik.errors import UnknownNameError
from memetik.robot.description import Description, EndEffector, Group, NamedState, Semantics, VirtualJoint
from memetik.robot.limbs import find_limbs, limb_groups
from memetik.robot.topology import Topology


def find_group(description: Description, topology: Topology, name: str) -> Group:
    """The group of that name."""
    groups = groups_by_name(description, topology)
    if name in groups:
        return groups[name]
    raise UnknownNameError("group", name, f"robot {description.name!r}", list(groups))


def groups_by_name(description: Description, topology: Topology) -> dict[str, Group]:
    """The groups that the description states; without any, the limbs of the tree."""
    stated = {group.name: group for group in reversed(description.semantics.groups)}
    return dict(reversed(stated.items())) or limb_groups(description, topology)


def group_joints(description: Description, topology: Topology, name: str) -> tuple[str, ...]:
    """The joints of a group, in the order of the description.

    They are the joints it names, the parent joints of the links it names, those of its chains and of its subgroups.
    """
    found: set[str] = set()
    for group in _with_subgroups(description, topology, name):
        found.update(group.joints)
        for link in group.links:
            joint = topology.parent_joint.get(link)
            if joint is not None:
                found.add(joint.name)
        for base, tip in group.chains:
            up, down = topology.path(base, tip)
            found.update(joint.name for joint in (*up, *down))
    return tuple(joint.name for joint in description.joints if joint.name in found)


def group_links(description: Description, topology: Topology, name: str) -> tuple[str, ...]:
    """The links of a group in the order of the description: those it names and those its joints move or chains pass."""
    found = {topology.joints[joint].child for joint in group_joints(description, topology, name)}
    for group in _with_subgroups(description, topology, name):
        found.update(group.links)
        for base, tip in group.chains:
            up, down = topology.path(base, tip)
            found.update((base, tip), (joint.parent for joint in up), (joint.child for joint in down))
    return tuple(link.name for link in description.links if link.name in found)


def find_tips(description: Description, topology: Topology) -> tuple[str, ...]:
    """The links that do the robot's work: SRDF's end effectors, else the tool frame or last link of each limb."""
    mounted = dict.fromkeys(effector.parent_link for effector in description.semantics.end_effectors)
    known = tuple(link for link in mounted if link in topology.parent_joint)
    return known or tuple(limb.tip for limb in find_limbs(description, topology) if not limb.finger_of)


def group_end_effectors(description: Description, topology: Topology, name: str) -> tuple[EndEffector, ...]:
    """The end effectors of a group: SRDF's own, else the tip of the group's only chain, else none."""
    group = find_group(description, topology, name)
    effectors = description.semantics.end_effectors
    own = tuple(effector for effector in effectors if effector.parent_group == name)
    if not own:
        links = group_links(description, topology, name)
        own = tuple(e for e in effectors if not e.parent_group and e.parent_link in links and e.group != name)
    if not own and len(group.chains) == 1:
        own = (EndEffector(name, group.chains[0][1], parent_group=name),)
    return own


def restricted(semantics: Semantics, links: Collection[str], joints: Collection[str]) -> Semantics:
    """What is left of `semantics` when only these links and joints are."""
    links, joints = set(links), set(joints)
    groups = tuple(
        replace(
            group,
            links=tuple(link for link in group.links if link in links),
            joints=tuple(joint for joint in group.joints if joint in joints),
            chains=tuple(chain for chain in group.chains if set(chain) <= links),
        )
        for group in semantics.groups
    )
    kept = _nonempty_groups(groups)
    states = (
        replace(state, values={joint: value for joint, value in state.values.items() if joint in joints})
        for state in semantics.states
    )
    return Semantics(
        groups=tuple(
            replace(group, subgroups=tuple(sub for sub in group.subgroups if sub in kept))
            for group in groups
            if group.name in kept
        ),
        end_effectors=tuple(
            replace(
                effector,
                group=effector.group if effector.group in kept else "",
                parent_group=effector.parent_group if effector.parent_group in kept else "",
            )
            for effector in semantics.end_effectors
            if effector.parent_link in links
        ),
        states=tuple(state for state in states if state.values),
        disabled_pairs=tuple(pair for pair in semantics.disabled_pairs if pair[0] in links and pair[1] in links),
        virtual_joints=tuple(joint for joint in semantics.virtual_joints if joint.child_link in links),
        passive_joints=tuple(joint for joint in semantics.passive_joints if joint in joints),
        pairs_are_complete=semantics.pairs_are_complete,
    )


def renamed(semantics: Semantics, rename: Callable[[str], str]) -> Semantics:
    """The same semantics with every name of a link, joint, group, state and end effector renamed."""

    def all_of(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(rename(name) for name in names)

    return Semantics(
        groups=tuple(
            Group(
                rename(group.name),
                all_of(group.links),
                all_of(group.joints),
                tuple((rename(base), rename(tip)) for base, tip in group.chains),
                all_of(group.subgroups),
            )
            for group in semantics.groups
        ),
        end_effectors=tuple(
            EndEffector(
                rename(effector.name),
                rename(effector.parent_link),
                rename(effector.group) if effector.group else "",
                rename(effector.parent_group) if effector.parent_group else "",
            )
            for effector in semantics.end_effectors
        ),
        states=tuple(
            NamedState(
                rename(state.name),
                rename(state.group) if state.group else "",
                {rename(joint): value for joint, value in state.values.items()},
            )
            for state in semantics.states
        ),
        disabled_pairs=tuple((rename(a), rename(b), reason) for a, b, reason in semantics.disabled_pairs),
        virtual_joints=tuple(
            VirtualJoint(rename(joint.name), joint.kind, joint.parent_frame, rename(joint.child_link))
            for joint in semantics.virtual_joints
        ),
        passive_joints=all_of(semantics.passive_joints),
        pairs_are_complete=semantics.pairs_are_complete,
    )


def merged(parts: Iterable[Semantics]) -> Semantics:
    """The semantics of several robots side by side."""
    parts = tuple(parts)
    return Semantics(
        groups=tuple(group for part in parts for group in part.groups),
        end_effectors=tuple(effector for part in parts for effector in part.end_effectors),
        states=tuple(state for part in parts for state in part.states),
        disabled_pairs=tuple(pair for part in parts for pair in part.disabled_pairs),
        virtual_joints=tuple(joint for part in parts for joint in part.virtual_joints),
        passive_joints=tuple(joint for part in parts for joint in part.passive_joints),
        pairs_are_complete=bool(parts) and all(part.pairs_are_complete for part in parts),
    )


def _with_subgroups(description: Description, topology: Topology, name: str) -> list[Group]:
    groups = groups_by_name(description, topology)
    found = {name: find_group(description, topology, name)}
    pending = [name]
    while pending:
        for sub in found[pending.pop()].subgroups:
            if sub not in found:
                found[sub] = groups.get(sub) or find_group(description, topology, sub)
                pending.append(sub)
    return list(found.values())


def _nonempty_groups(groups: tuple[Group, ...]) -> set[str]:
    kept = {group.name for group in groups if group.links or group.joints or group.chains}
    while True:
        grown = kept | {group.name for group in groups if kept.intersection(group.subgroups)}
        if grown == kept:
            return kept
        kept = grown
