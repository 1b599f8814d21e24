"""A world file holds robots and what stands around them: both, apart.

In MJCF a body of the world with a joint inside, other than a free joint at its top, is a robot; bodies that are coupled
or tied to each other belong to one robot. All else, what is fixed to the world and what moves freely as a whole, are
objects of the scene, as the file draws them. In SDF the models with moving joints are robots, the others objects.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from memetik.errors import DescriptionError, GeometryError
from memetik.files.xml_tree import Element, parse_xml
from memetik.geometry.shapes import Plane
from memetik.robot.description import Description, Joint, Link
from memetik.robot.groups import restricted
from memetik.robot.load import Path, load_description, read_bytes, search_folders
from memetik.robot.notes import Note
from memetik.robot.readers.mesh_paths import SearchPath
from memetik.robot.readers.mjcf import MjcfReader
from memetik.robot.readers.mjcf_contacts import Body, may_touch
from memetik.robot.readers.mjcf_loops import WORLD
from memetik.robot.readers.sdf import SdfFile
from memetik.robot.robot import Robot
from memetik.robot.validate import validate
from memetik.scene.scene import Scene

logger = logging.getLogger(__name__)

MAX_ALLOWED = 100_000


class World(NamedTuple):
    """What a world file holds: robots by name, and the scene around them."""

    robots: dict[str, Robot]
    scene: Scene


def load_world(source: Path, *, search_path: Sequence[Path] | Mapping[str, Path] | Path = ()) -> World:
    """The robots and the scene of an MJCF or SDF file (or text); of a URDF file the robot, and an empty scene.

    search_path: folders in which included models, packages and meshes are looked for first.
    Of MJCF, pairs of a robot's link and an object that MuJoCo lets touch are allowed in the scene.
    """
    text = os.fsdecode(source)
    is_text = "<" in text
    if not is_text and not os.path.exists(text):
        raise DescriptionError(f"there is no file {text!r}.")
    folders = search_folders(search_path)
    name = "" if is_text else text
    root = parse_xml(text if is_text else read_bytes(text), name or "the text", keep_text=True)
    folder = None if is_text else os.path.dirname(os.path.abspath(text))
    if root.tag == "mujoco":
        return _mjcf_world(MjcfReader(root, folder=folder, search_path=folders, source=name))
    if root.tag == "sdf":
        return _sdf_world(root, folder, folders, name)
    robot = Robot(load_description(source, search_path=search_path))
    return World({robot.name: robot}, Scene())


def _mjcf_world(reader: MjcfReader) -> World:
    tree = validate(reader.tree())
    notes = reader.notes.collected()
    tops = _tops(reader.bodies)
    joints = {joint.name: joint for joint in tree.joints}
    owner = _owners(tree, tops)
    moving = {
        owner[joint.child]
        for joint in tree.joints
        if joint.axes and not (joint.kind == "floating" and joint.parent == WORLD)
    }
    together = _united(tree, joints, owner, moving)
    robots: dict[str, Robot] = {}
    for members in together:
        part = _part(tree, owner, members, notes)
        name = tree.name if len(together) == 1 else members[0]
        robots[name] = Robot(validate(replace(part, name=name)))
    scene = Scene()
    still = [body for body in reader.bodies if tops[body.name] not in moving]
    geoms = _add_objects(scene, reader, still)
    acting = [body for body in reader.bodies if tops[body.name] in moving and body.geoms]
    if len(geoms) * len(acting) <= MAX_ALLOWED:
        _allow_masked(scene, geoms, acting)
    return World(robots, scene)


def _tops(bodies: list[Body]) -> dict[str, str]:
    """Per body the body of the world that it is in; the world's own is "world"."""
    tops: dict[str, str] = {}
    for body in bodies:  # parents come first
        tops[body.name] = WORLD if not body.parent else body.name if body.parent == WORLD else tops[body.parent]
    return tops


def _owners(tree: Description, tops: dict[str, str]) -> dict[str, str]:
    """Per link, frames and links between joints included, the body of the world that it is in."""
    children: dict[str, list[Joint]] = {}
    for joint in tree.joints:
        children.setdefault(joint.parent, []).append(joint)
    owner = {WORLD: WORLD}
    waiting = [WORLD]
    while waiting:
        parent = waiting.pop()
        for joint in children.get(parent, []):
            below = owner[parent]
            if below == WORLD:
                below = _first_body(joint.child, children, tops)
            owner[joint.child] = below
            waiting.append(joint.child)
    return owner


def _first_body(link: str, children: dict[str, list[Joint]], tops: dict[str, str]) -> str:
    while link not in tops:
        following = children.get(link, [])
        if len(following) != 1:
            return WORLD  # a frame of the world
        link = following[0].child
    return tops[link]


def _united(tree: Description, joints: dict[str, Joint], owner: dict[str, str], moving: set[str]) -> list[list[str]]:
    """The bodies of the world that make up each robot, in the order of the file."""
    leader = {name: name for name in moving}

    def find(name: str) -> str:
        while leader[name] != name:
            name = leader[name]
        return name

    ties = [(joint.child, joints[joint.mimic.joint].child) for joint in tree.joints if joint.mimic is not None]
    ties += [(loop.first, loop.second) for loop in tree.loops]
    for first, second in ties:
        a, b = owner[first], owner[second]
        for name in (a, b):  # what moves freely and is tied to something is part of the mechanism
            if name != WORLD and name not in leader:
                leader[name] = name
                moving.add(name)
        if a != WORLD and b != WORLD:
            leader[find(a)] = find(b)
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(owner.values()):
        if name in leader:
            groups.setdefault(find(name), []).append(name)
    return list(groups.values())


def _part(tree: Description, owner: dict[str, str], members: list[str], notes: tuple[Note, ...]) -> Description:
    """The tree below some bodies of the world, with the world's frames and without its shapes."""
    frames = {joint.child for joint in tree.joints if owner[joint.child] == WORLD}
    kept = {name for name, top in owner.items() if top in members} | {WORLD} | frames
    links = tuple(Link(WORLD) if link.name == WORLD else link for link in tree.links if link.name in kept)
    joints = tuple(joint for joint in tree.joints if joint.child in kept)
    return replace(
        tree,
        links=links,
        joints=joints,
        semantics=restricted(tree.semantics, kept, {joint.name for joint in joints}),
        loops=tuple(loop for loop in tree.loops if {loop.first, loop.second} <= kept),
        notes=notes,
    )


def _add_objects(scene: Scene, reader: MjcfReader, bodies: list[Body]) -> list[tuple[str, Body, int]]:
    """Adds the shapes of bodies where the file draws them; gives each object's body and number of the geom there."""
    added: list[tuple[str, Body, int]] = []
    for body in bodies:
        for plane in body.planes:
            name = _unused(scene, plane.element.text("name", "") or (body.name if body.parent else "floor"))
            scene.add(name, Plane(), reader.placed[body.name] @ plane.origin)
        for number, geom in enumerate(body.geoms):
            if not geom.collides:
                continue
            item = geom.geometry
            name = _unused(scene, item.name or (body.name if body.parent else "object"))
            try:
                scene.add(name, item.shape, reader.placed[body.name] @ item.origin, color=item.color)
            except GeometryError as error:
                logger.warning("the object %r is left out of the scene: %s", name, error)
                continue
            added.append((name, body, number))
    return added


def _allow_masked(scene: Scene, objects: list[tuple[str, Body, int]], acting: list[Body]) -> None:
    for name, body, number in objects:
        for other in acting:
            if not any(may_touch(body.geoms[number], geom) for geom in other.geoms):
                scene.allow(name, other.name)


def _sdf_world(root: Element, folder: str | None, folders: SearchPath, source: str) -> World:
    file = SdfFile(root, folder=folder, search_path=folders, source=source)
    robots: dict[str, Robot] = {}
    scene = Scene()
    for model in file.models():
        if file.moves(model):
            name, count = model.name, 2
            while name in robots:
                name, count = f"{model.name}_{count}", count + 1
            robots[name] = Robot(validate(replace(file.description(model), name=name)))
            continue
        reader = file.reader(model)
        body = Robot(validate(reader.description()))
        for label, link, origin in reader.planes:
            scene.add(_unused(scene, f"{model.name}::{label}"), Plane(), body.pose(link, np.zeros(0)) @ origin)
        for link in body.description.links:
            for item in link.collisions:
                name = _unused(scene, model.name if len(body.links) == 1 else f"{model.name}::{link.name}")
                try:
                    scene.add(name, item.shape, body.pose(link.name, np.zeros(0)) @ item.origin, color=item.color)
                except GeometryError as error:
                    logger.warning("the object %r is left out of the scene: %s", name, error)
    return World(robots, scene)


def _unused(scene: Scene, name: str) -> str:
    unique, count = name, 2
    while unique in scene.names:
        unique, count = f"{name}_{count}", count + 1
    return unique
