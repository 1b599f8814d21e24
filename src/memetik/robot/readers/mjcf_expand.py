"""MJCF elements that stand for others: <replicate> and <attach> are replaced by what they stand for.

A copy of a <replicate> becomes a <frame> at its pose, with names that end in the copy's number; what refers to the
replicated names is copied too. An attached model becomes a <frame> with a `Scope` of its own: its names carry the
prefix, its angles, default classes and assets are those of its own file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import numpy as np

from memetik.errors import DescriptionError, suggest
from memetik.files.xml_tree import MAX_ELEMENTS, Element
from memetik.robot.notes import Notes
from memetik.robot.readers.mjcf_files import SourceFiles
from memetik.robot.readers.mjcf_settings import Settings, read_settings

MAX_ATTACH_DEPTH = 10

SECTIONS = ("tendon", "equality", "contact", "actuator")
"""The sections that speak of bodies and joints by name, in an order in which later ones may name earlier ones."""
_REFERENCES = (
    *("body", "body1", "body2", "joint", "joint1", "joint2", "jointinparent", "geom", "geom1", "geom2"),
    *("site", "site1", "site2", "refsite", "slidersite", "cranksite", "sidesite", "tendon", "tendon1", "tendon2"),
    *("actuator", "target"),
)
_NAMED = ("body", "joint", "freejoint", "geom", "site", "camera", "light", "frame")


@dataclass(eq=False)
class Scope:
    """One model: its root element, its settings, the folder its files start from, and what it attaches."""

    root: Element
    settings: Settings
    folder: str | None
    attached: dict[int, Scope] = field(default_factory=dict)
    """By the id of the <frame> that holds what is attached there."""

    def everything(self) -> list[Scope]:
        """This scope and all that are attached to it, directly or not."""
        found: list[Scope] = [self]
        for scope in found:
            found.extend(scope.attached.values())
        return found


class Expander:
    """Expands one MJCF file and the models it attaches."""

    def __init__(self, files: SourceFiles, notes: Notes):
        self.files, self.notes = files, notes
        self.elements = 0

    def scope(self, root: Element, path: str, folder: str | None, depth: int = 0) -> Scope:
        """The scope of a parsed file."""
        root = self.files.with_includes(root, path)
        for element in root.everywhere():
            if not all(map(str.strip, element.attributes.values())):
                # MuJoCo takes an empty attribute for an absent one.
                element.attributes = {key: value for key, value in element.attributes.items() if value.strip()}
        scope = Scope(root, read_settings(root), folder)
        self._replicate(scope)
        self._attach(scope, path, depth)
        return scope

    def _replicate(self, scope: Scope) -> None:
        holders = [element for element in scope.root.everywhere() if element.tag != "replicate"]
        # Innermost first, so that an outer one copies what the inner one made.
        for holder in reversed([*holders, *(e for e in scope.root.everywhere() if e.tag == "replicate")]):
            if any(child.tag == "replicate" for child in holder.children):
                holder.children = [new for child in holder.children for new in self._copies(scope, child)]

    def _copies(self, scope: Scope, element: Element) -> list[Element]:
        if element.tag != "replicate":
            return [element]
        count = int(element.number("count"))
        if not 0 <= count <= MAX_ELEMENTS:
            raise element.error(f"{element.label} has count={count}; 0 to {MAX_ELEMENTS} copies are accepted.")
        step = scope.settings.placement(Element("frame", {**element.attributes, "pos": element.text("offset", "0 0 0")},
                                                element.line))  # fmt: skip
        names = {inner.text("name", "") for inner in element.everywhere() if inner.tag in _NAMED} - {""}
        separator, digits = element.attributes.get("sep", ""), len(str(max(count - 1, 0)))
        suffixes = [f"{separator}{index:0{digits}}" for index in range(count)]
        copies: list[Element] = []
        placed = np.eye(4)
        for suffix in suffixes:
            frame = Element("frame", _placement_attributes(placed), element.line)
            if "childclass" in element.attributes:
                frame.attributes["childclass"] = element.attributes["childclass"]
            frame.children = [self._copy(child, names, lambda name, end=suffix: name + end)
                              for child in element.children]  # fmt: skip
            copies.append(frame)
            placed = placed @ step
        self._copy_references(scope.root, names, suffixes)
        return copies

    def _copy_references(self, root: Element, names: set[str], suffixes: list[str]) -> None:
        """Replace what refers to a replicated name by a copy for each."""
        names = set(names)
        for section in SECTIONS:
            for holder in root.all(section):
                children: list[Element] = []
                for child in holder.children:
                    if not any(
                        inner.attributes.get(key) in names for inner in child.everywhere() for key in _REFERENCES
                    ):
                        children.append(child)
                        continue
                    own = child.text("name", "")
                    renamed = names | ({own} if own else set())
                    children += [self._copy(child, renamed, lambda name, end=end: name + end) for end in suffixes]
                    if section == "tendon":
                        names = renamed
                holder.children = children

    def _copy(self, element: Element, names: Collection[str], rename: Callable[[str], str]) -> Element:
        """A deep copy in which these names and what refers to them are renamed."""
        copies: dict[int, Element] = {}
        result: Element | None = None
        for part in list(element.everywhere()):
            self.elements += 1
            if self.elements > MAX_ELEMENTS:
                raise DescriptionError(f"the MJCF replicates or attaches more than {MAX_ELEMENTS} elements.")
            attributes = dict(part.attributes)
            for key in ("name", *_REFERENCES):
                value = attributes.get(key)
                if value is not None and value in names:
                    attributes[key] = rename(value)
            copy = Element(part.tag, attributes, part.line)
            copies[id(part)] = copy
            result = result or copy
        for part in list(element.everywhere()):
            copies[id(part)].children = [copies[id(child)] for child in part.children]
        assert result is not None
        return result

    def _attach(self, scope: Scope, path: str, depth: int) -> None:
        models = {element.text("name", ""): element
                  for asset in scope.root.all("asset") for element in asset.all("model")}  # fmt: skip
        loaded: dict[str, tuple[Element, str]] = {}
        for holder in list(scope.root.everywhere()):
            for index, child in enumerate(holder.children):
                if child.tag != "attach":
                    continue
                if depth >= MAX_ATTACH_DEPTH:
                    raise child.error(f"{child.label} attaches models deeper than {MAX_ATTACH_DEPTH} levels.")
                name = child.text("model")
                if name not in models:
                    models.update(self._named_by_content(scope, models))
                if name not in models:
                    raise child.error(f"{child.label} attaches model {name!r}; {suggest(name, list(models))}")
                if name not in loaded:
                    folders = [place for place in (scope.folder, os.path.dirname(path)) if place]
                    loaded[name] = self.files.read(models[name], folders)
                holder.children[index] = self._attached(scope, child, *loaded[name], depth)

    def _named_by_content(self, scope: Scope, models: dict[str, Element]) -> dict[str, Element]:
        """Models without a name, by the name that their own file states."""
        nameless = [element for asset in scope.root.all("asset") for element in asset.all("model")
                    if "name" not in element.attributes]  # fmt: skip
        folders = [scope.folder] if scope.folder else []
        return {self.files.read(element, folders)[0].text("model", ""): element for element in nameless} | models

    def _attached(self, scope: Scope, element: Element, root: Element, path: str, depth: int) -> Element:
        prefix = element.attributes.get("prefix", "")
        own = self._copy(root, set(), str)
        inner = self.scope(own, path, os.path.dirname(path), depth + 1)
        world = [child for worldbody in inner.root.all("worldbody") for child in worldbody.children]
        wanted = element.text("body", "")
        if wanted:
            bodies = [body for body in inner.root.everywhere() if body.tag == "body"]
            world = [body for body in bodies if body.text("name", "") == wanted]
            if not world:
                names = [body.text("name", "") for body in bodies]
                raise element.error(f"{element.label} attaches body {wanted!r}; {suggest(wanted, names)}")
        frame = Element("frame", {}, element.line)
        frame.children = world
        for part in [frame, *(child for name in SECTIONS for child in inner.root.all(name))]:
            for named in part.everywhere():
                for key in ("name", *_REFERENCES):
                    if key in named.attributes:
                        named.attributes[key] = prefix + named.attributes[key]
        if any(True for _ in inner.root.all("keyframe")):
            message = f"The keyframes of the model that {element.label} attaches are left out."
            self.notes.left_out(message, "They are no named configurations.", line=element.line)
        scope.attached[id(frame)] = inner
        inner.root.children = [child for child in inner.root.children if child.tag != "worldbody"]
        return frame


def _placement_attributes(matrix: np.ndarray) -> dict[str, str]:
    """Attributes that place a <frame> exactly there."""
    axes = (*matrix[:3, 0], *matrix[:3, 1])
    return {
        "pos": " ".join(repr(float(v)) for v in matrix[:3, 3]),
        "xyaxes": " ".join(repr(float(v)) for v in axes),
    }
