"""SDF, Gazebo's format, becomes a Description: one model, its links and frames as a tree.

Poses, frames and nested models are resolved as SDFormat 1.7 and later say; axes of files before 1.5 are in the model's
frame. A joint of two axes becomes two joints with a massless link between them, a screw joint a turning joint and a
sliding one that follows it. A joint that would close the tree becomes a loop. <frame> elements become massless links.
A model that is included is looked for by its address as meshes are.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

from memetik.errors import DescriptionError
from memetik.files.xml_tree import MAX_BYTES, Element, parse_xml
from memetik.robot.description import Description
from memetik.robot.notes import Notes, summarised
from memetik.robot.readers.mesh_paths import MeshFinder, SearchPath
from memetik.robot.readers.sdf_frames import child_text, raw_pose, text_of
from memetik.robot.readers.sdf_model import ModelReader, SdfModel

logger = logging.getLogger(__name__)

MAX_INCLUDES = 100


def read_sdf_element(
    root: Element, *, folder: str | None = None, search_path: SearchPath = (), source: str = ""
) -> Description:
    """The robot in a parsed SDF: its one model with joints that move."""
    file = SdfFile(root, folder=folder, search_path=search_path, source=source)
    robots = [model for model in file.models() if file.moves(model)]
    what = f"the SDF file {source!r}" if source else "the SDF text"
    if not robots:
        names = [model.name for model in file.models()]
        listed = f": {', '.join(map(repr, names[:6]))}" if names else ""
        raise DescriptionError(
            f"{what} has no model with a joint that moves, so it is no robot{listed}. load_world(...) reads models "
            "without joints as objects of a scene.",
            "no-links",
        )
    if len(robots) > 1:
        listed = ", ".join(repr(model.name) for model in robots[:8])
        raise DescriptionError(f"{what} has {len(robots)} robots: {listed}; load_world(...) reads all of them.")
    return file.description(robots[0])


class SdfFile:
    """An SDF file: its models, read one by one."""

    def __init__(self, root: Element, *, folder: str | None, search_path: SearchPath, source: str):
        self.root, self.source, self.search_path = root, source, search_path
        self.finder = MeshFinder(folder, search_path)
        self.version = _version(root)
        self.includes = self.bytes = 0
        self.notes = Notes(source)
        self._models: list[SdfModel] | None = None

    def models(self) -> list[SdfModel]:
        """All models at the top of the file and of its worlds."""
        if self._models is None:
            self._models = [
                model
                for holder in (self.root, *self.root.all("world"))
                for element in holder.all("model", "include")
                for model in self._model(element)
            ]
        return self._models

    def moves(self, model: SdfModel) -> bool:
        """Whether a joint of the model moves."""
        static = text_of(model.element.first("static")).lower() in ("1", "true")
        joints = (element for element in model.element.everywhere() if element.tag == "joint")
        return not static and any(element.text("type", "") != "fixed" for element in joints)

    def description(self, model: SdfModel) -> Description:
        """One model as a robot."""
        description = self.reader(model).description()
        for finder in (model.finder, *model.parts.values()):
            finder.report(model.name)
        told = summarised(description.notes)
        if told:
            logger.warning("robot %r: %s. See robot.notes.", model.name, told)
        return description

    def reader(self, model: SdfModel) -> ModelReader:
        """What reads one model."""
        return ModelReader(model, self.version, self.source, self.notes)

    def _model(self, element: Element) -> Iterator[SdfModel]:
        parts: dict[int, MeshFinder] = {}
        finder = self.finder
        if element.tag == "include":
            found = self._included(element)
            if found is None:
                return
            element, finder = found
        self._expand(element, parts, 0)
        yield SdfModel(element.text("name", "model"), element, raw_pose(element.first("pose")), finder, parts)

    def _expand(self, element: Element, parts: dict[int, MeshFinder], depth: int) -> None:
        """Puts included models in the place of their <include>."""
        if depth > 10:
            raise element.error(f"{element.label} nests included models deeper than 10 levels.")
        children: list[Element] = []
        for child in element.children:
            if child.tag == "include":
                found = self._included(child)
                if found is None:
                    continue
                child = found[0]
                parts[id(child)] = found[1]
                self._expand(child, parts, depth + 1)
            elif child.tag == "model":
                self._expand(child, parts, depth)
            children.append(child)
        element.children = children

    def _included(self, include: Element) -> tuple[Element, MeshFinder] | None:
        """The model that an <include> names, with the name and pose that it gives, and a finder for its meshes."""
        uri = child_text(include, "uri").rstrip("/")
        path = None
        if uri.lower().endswith((".sdf", ".world")):
            path = self.finder.find(uri)
        elif uri:
            config = self.finder.find(f"{uri}/model.config")
            names = [text_of(entry) for entry in self._parse(config).all("sdf")] if config else []
            for name in (*reversed(names), "model.sdf"):
                path = path or (self.finder.find(f"{uri}/{name}") if name else None)
        if path is None:
            message = f"{include.label} of {uri!r} is left out: there is no such model."
            consequence = "What it holds is missing; search_path= says where models are."
            self.notes.left_out(message, consequence, line=include.line, code="lost-shape")
            return None
        root = self._parse(path)
        model = root.first("model")
        if model is None:
            raise include.error(f"{include.label}: {uri!r} holds no <model>.")
        for tag in ("pose", "static", "placement_frame"):
            stated = include.first(tag)
            if stated is not None:
                model.children = [stated, *(child for child in model.children if child.tag != tag)]
        name = child_text(include, "name")
        if name:
            model.attributes["name"] = name
        return model, MeshFinder(os.path.dirname(path), self.search_path)

    def _parse(self, path: str) -> Element:
        self.includes += 1
        self.bytes += os.path.getsize(path)
        if self.includes > MAX_INCLUDES or self.bytes > MAX_BYTES:
            raise DescriptionError(f"the SDF includes more than {MAX_INCLUDES} files or {MAX_BYTES} bytes.")
        with open(path, "rb") as file:
            return parse_xml(file.read(MAX_BYTES + 1), path, keep_text=True)


def _version(root: Element) -> tuple[int, int]:
    words = root.text("version", "1.7").split(".")
    try:
        return int(words[0]), int(words[1]) if len(words) > 1 else 0
    except ValueError:
        raise root.error(f"{root.label} has version {root.text('version')!r}; one such as '1.9' is needed.") from None
