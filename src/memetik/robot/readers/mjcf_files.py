"""The files that an MJCF file reads beside itself: included ones and attached models, within the folders it may reach.

An include is looked for from the main file's folder, as MuJoCo does, then from the folder of the file that includes it,
then in the search path. `..` leads no further up than the root of the file's package: the nearest folder above with a
package.xml, else two folders up.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from memetik.files.xml_tree import MAX_BYTES, Element, parse_xml
from memetik.robot.readers.packages import SearchPath, readable_root

MAX_FILES = 100
BESIDE = " beside"
"""The attribute, which no file can have, for the path of an asset beside the included file that names it."""
_ASSETS = ("mesh", "hfield", "texture", "skin")


class SourceFiles:
    """Reads files on behalf of one MJCF file, within a budget of files and bytes."""

    def __init__(self, folder: str | None, search_path: SearchPath = ()):
        entries = search_path.values() if isinstance(search_path, Mapping) else search_path
        self.search_path = [os.path.realpath(os.fspath(entry)) for entry in entries]
        self.folder = os.path.realpath(folder) if folder is not None else None
        self.roots = [*([readable_root(self.folder)] if self.folder else []), *self.search_path]
        self.count = self.bytes = 0

    def read(self, element: Element, folders: list[str]) -> tuple[Element, str]:
        """The root of the file that an element names, and its path. `folders` are tried in order."""
        name = element.text("file").replace("\\", "/")
        if self.folder is None and not self.search_path:
            raise element.error(f"{element.label} of {name!r} needs a folder; load the MJCF from a file, not a text.")
        path = self._find(element, name, folders)
        self.count += 1
        self.bytes += os.path.getsize(path)
        if self.count > MAX_FILES or self.bytes > MAX_BYTES:
            raise element.error(f"the MJCF includes more than {MAX_FILES} files or {MAX_BYTES} bytes.")
        with open(path, "rb") as file:
            return parse_xml(file.read(MAX_BYTES + 1), name), path

    def with_includes(self, root: Element, path: str = "") -> Element:
        """Replace every <include file=.../> by the children of that file's root, in place; each file once."""
        own = os.path.realpath(os.path.dirname(path)) if path else self.folder
        seen = {os.path.realpath(path)} if path else set[str]()
        waiting = [(root, own)]
        while waiting:
            element, folder = waiting.pop()
            if element.tag in _ASSETS and own and folder and folder != own:
                _note_place(element, folder)
            children: list[tuple[Element, str | None]] = [(child, folder) for child in element.children]
            while any(child.tag == "include" for child, _ in children):
                children = [entry for pair in children for entry in self._included(pair, own, seen)]
            element.children = [child for child, _ in children]
            waiting.extend(children)
        return root

    def _included(
        self, entry: tuple[Element, str | None], own: str | None, seen: set[str]
    ) -> Iterator[tuple[Element, str | None]]:
        element, folder = entry
        if element.tag != "include":
            yield entry
            return
        root, path = self.read(element, [place for place in dict.fromkeys((own, folder)) if place])
        if path in seen:
            name = element.text("file")
            raise element.error(f"{element.label} includes {name!r} a second time; MJCF allows each file once.")
        seen.add(path)
        for child in root.children:
            yield child, os.path.dirname(path)

    def _find(self, element: Element, name: str, folders: list[str]) -> str:
        places = [*folders, *self.search_path]
        found = [os.path.realpath(os.path.join(place, name)) for place in places if "\0" not in name]
        inside = [path for path in found if any(_is_below(path, root) for root in self.roots)]
        if not inside:
            raise element.error(
                f"{element.label} of {name!r} leads out of the package of the MJCF file "
                f"({self.roots[0] if self.roots else 'none'}); give the folder it is in as search_path=."
            )
        for path in inside:
            if os.path.isfile(path):
                return path
        looked = ", ".join(dict.fromkeys(os.path.dirname(path) for path in inside))
        raise element.error(f"{element.label}: there is no file {name!r}; it was looked for in {looked}.")


def _note_place(element: Element, folder: str) -> None:
    """Where a file that an included file names lies beside that: MuJoCo takes it where its usual place is empty."""
    name = element.attributes.get("file", "").replace("\\", "/")
    if name and not os.path.isabs(name) and "\0" not in name:
        path = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(path):
            element.attributes[BESIDE] = path


def _is_below(path: str, root: str) -> bool:
    try:
        return os.path.commonpath([path, root]) == root
    except ValueError:  # on different drives
        return False
