"""xacro becomes URDF or SRDF text.

xacro evaluates Python-like expressions: load xacro files only from people you trust. What it opens is bounded all the
same: included files and YAML lie in the file's own package, in packages found by name or in the search path
(`memetik.robot.readers.packages`). Descriptions of unknown origin belong in URDF, SRDF or MJCF, which are read without
evaluating anything. Expansions are kept on disk (`xacro_cache`).
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType, ModuleType
from typing import IO, Any
from xml.dom import expatbuilder, minidom

from memetik.errors import DescriptionError, InvalidInputError, MissingExtraError, suggest
from memetik.files.xml_tree import parse_xml
from memetik.robot.notes import Notes
from memetik.robot.readers import xacro_cache
from memetik.robot.readers.packages import PackageFinder, SearchPath, stated_name

_one_at_a_time = threading.Lock()  # xacro keeps the files and macros it is in in module variables
_USED_ARGUMENT = re.compile(rb"""\$\(arg\s+([^)\s]+)\s*\)|xacro\.arg\(\s*['"]([^'"]+)""")
_PLACE = "memetik place"
_MAX_BYTES = 32_000_000
_MAX_NESTED = 8
"""How often a file may include itself, directly or through others."""


def expand_xacro(
    path: str,
    *,
    arguments: Mapping[str, Any] | None = None,
    search_path: SearchPath = (),
    notes: Notes | None = None,
) -> str:
    """The text that a xacro file stands for. `arguments` are the values of its <xacro:arg> elements.

    Errors name macro, file and line and the arguments that the file declares; an argument that it does not have is one.
    notes: gets a note for each package that was taken to be the file's own, as that states no name and has what is
    asked for.
    """
    path = os.path.abspath(path)
    given = {str(name): _as_text(value) for name, value in (arguments or {}).items()}
    packages = PackageFinder(os.path.dirname(path), search_path, path)
    kept = xacro_cache.load(path, given, packages)
    if kept is None:
        expansion = _Expansion(path, packages)
        with _one_at_a_time:
            text = expansion.run(given)
        kept = xacro_cache.Entry(text, expansion.packages_found)
        xacro_cache.store(path, given, packages.search_path, kept, expansion.contents)
    for name in kept.packages if notes is not None else ():
        if notes is not None and packages.find(name) is None:
            message = f"The package {name!r} is not found; the file's own, {packages.own}, is taken for it."
            notes.filled_in(message, "It states no name and has the file that is asked for.")
    return kept.text


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(slots=True)
class _Expansion:
    """One run of xacro: what it opened, which packages it asked for, which arguments its files declare."""

    path: str
    packages: PackageFinder
    contents: dict[str, bytes] = field(default_factory=dict)
    packages_found: dict[str, str] = field(default_factory=dict)
    declared: dict[str, str | None] = field(default_factory=dict)
    """Arguments and their defaults."""
    values: dict[str, str] = field(default_factory=dict)
    """Arguments that have a value from the start."""

    def run(self, given: dict[str, str]) -> str:
        xacro = _library()
        self.values = dict(given)
        with _replaced(xacro, self):
            try:
                text = xacro.process_file(self.path, mappings=self.values, verbosity=0).toxml()
            except RecursionError as error:
                raise DescriptionError(f"xacro file {self.path} includes or calls itself without end.") from error
            except Exception as error:  # xacro lets through whatever the file's expressions raise
                self.check_arguments(given)
                raise self.failure(xacro, error) from error
            finally:
                xacro.init_stacks(None)
        self.check_arguments(given)
        return text

    def check_arguments(self, given: Iterable[str]) -> None:
        used = {a or b for content in self.contents.values() for a, b in _USED_ARGUMENT.findall(content)}
        known = {**self.declared, **{name.decode(errors="replace"): None for name in used}}
        for name in given:
            if name not in known:
                hint = suggest(name, known) if known else "it takes none."
                raise InvalidInputError(f"xacro file {self.path} has no argument {name!r}; {hint}{self.listed()}")

    def listed(self) -> str:
        """The arguments that the files declare, as a sentence."""
        if not self.declared:
            return ""
        shown = (name if value is None else f"{name} ({value!r})" for name, value in self.declared.items())
        return f" Arguments (with defaults): {', '.join(shown)}."

    def failure(self, xacro: ModuleType, error: Exception) -> DescriptionError:
        """What went wrong, where, in which macros, and which arguments there are."""
        files = [str(name) for name in xacro.filestack or [] if name]
        inner = files[-1] if files else self.path
        root: BaseException = error
        while isinstance(root, xacro.XacroException) and isinstance(root.exc, DescriptionError | xacro.XacroException):  # type: ignore[attr-defined]
            root = root.exc  # type: ignore[attr-defined]
        stated = str(root.args[0]) if root.args and isinstance(getattr(root, "exc", None), OSError) else str(root)
        reason = " ".join(stated.split()) or type(root).__name__
        place = _place_of(error)
        line = place[1] if place is not None else None
        if isinstance(root, DescriptionError) and root.line is not None:
            line = root.line
        elif place is not None:
            inner = place[0]
        macros = [f"macro {macro.body.getAttribute('name')!r}" for macro in reversed(xacro.macrostack or [])]
        where = inner + (f", line {line}" if line else "")
        inside = f", in {', called from '.join(macros)}" if macros else ""
        wanted = self.listed() if "argument" in reason.lower() else ""
        start = f"xacro file {self.path} cannot be expanded" + (f" ({where}{inside})" if where != self.path else "")
        return DescriptionError(f"{start}: {reason[:600].rstrip('.')}.{wanted}", line=line)

    # What takes the place of xacro's own functions.

    def find_package(self, name: str) -> str:
        found = self.packages.find(name) or self.own_package(name)
        if found is None:
            raise DescriptionError(
                f"the package {name!r:.200} is not found; looked for in {self.packages.where()}. "
                "Give the folder that holds it, or {name: folder}, as search_path="
            )
        self.packages_found[name] = found
        return found

    def own_package(self, name: str) -> str | None:
        """The file's own package, under a name that nothing states, if it has the files that are asked for."""
        own = self.packages.own
        if own is None or stated_name(own) is not None:
            return None
        asked = re.compile(rb"\$\(find\s+" + re.escape(name.encode()) + rb"\s*\)/*([^\"'$<]+)")
        inner = [match.decode(errors="replace") for text in self.contents.values() for match in asked.findall(text)]
        return own if any(os.path.exists(os.path.join(own, path.strip())) for path in inner) else None

    def open(self, path: str, *_: Any, **__: Any) -> IO[str]:
        path = os.path.abspath(path)
        if not self.packages.may_open(path):
            raise DescriptionError(
                f"{path} lies outside the file's package and the search path; give its folder in search_path="
            )
        if os.path.exists(path) and not os.path.isfile(path):
            raise DescriptionError(f"{path} is not a regular file")
        with open(path, "rb") as file:
            content = file.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise DescriptionError(f"{path} has more than {_MAX_BYTES} bytes")
        self.contents[path] = content
        return open(path, encoding="utf-8-sig")

    def resolved(self, filename: str) -> str:
        """The path of an include; package://name/path means what it means for meshes."""
        match = re.search(r"package:/+([^/]+)/(.+)", filename)
        return os.path.join(self.find_package(match[1]), match[2]) if match else os.path.abspath(filename)

    def parse(self, text: str | minidom.Document | None, filename: str | None = None) -> minidom.Document:
        if isinstance(text, minidom.Document):
            return text
        if text is not None:
            return minidom.parseString(text)
        path = self.resolved(str(filename))
        if _library().filestack.count(filename) > _MAX_NESTED:
            raise DescriptionError(f"{path} includes itself without end")
        try:
            self.open(path).close()
        except OSError as error:
            xacro = _library()
            xacro.filestack.pop()
            raise xacro.XacroException(f"{error.strerror}: {path}", exc=error) from error
        # Read safely first: minidom takes document types, entities and files of any size.
        parse_xml(self.contents[path], path)
        first = not self.declared
        document = _LinedBuilder(path).parseString(self.contents[path].lstrip())
        for element in document.getElementsByTagName("xacro:arg"):
            default = element.getAttribute("default") if element.hasAttribute("default") else None
            self.declared.setdefault(element.getAttribute("name"), default)
        if first:  # <robot name="$(arg name)"> is evaluated before the element that declares the argument
            root = document.documentElement
            written = [] if root is None else [attribute.value for attribute in root.attributes.values()]
            for name in re.findall(r"\$\(arg\s+([^)\s]+)\s*\)", " ".join(written)):
                default = self.declared.get(name)
                if default is not None and "$" not in default:
                    self.values.setdefault(name, default)
        return document


def _library() -> ModuleType:
    try:
        import xacro
        import xacro.substitution_args
    except ImportError:
        raise MissingExtraError("xacro", "all", "reading xacro") from None
    return xacro


@contextmanager
def _replaced(xacro: ModuleType, expansion: _Expansion) -> Iterator[None]:
    """xacro opens files, finds packages and prints warnings through the expansion, for as long as this lasts."""
    arguments = xacro.substitution_args
    silent: Any = lambda *_, **__: None  # noqa: E731
    wanted: list[tuple[Any, str, Any]] = [
        (xacro, "open", expansion.open),
        (xacro, "parse", expansion.parse),
        (xacro, "warning", silent),
        (xacro, "print_location", silent),
        (arguments, "_eval_find", expansion.find_package),
    ]
    before = [(holder, name, vars(holder).get(name)) for holder, name, _ in wanted]
    evaluated = arguments._eval_dict.get("find")
    for holder, name, value in wanted:
        setattr(holder, name, value)
    arguments._eval_dict["find"] = expansion.find_package
    try:
        yield
    finally:
        for holder, name, value in before:
            if value is None:
                delattr(holder, name)
            else:
                setattr(holder, name, value)
        arguments._eval_dict["find"] = evaluated


class _LinedBuilder(expatbuilder.ExpatBuilderNS):
    """Marks each element with its file and line; copies of an element keep the mark."""

    def __init__(self, path: str):
        super().__init__()
        self._path = path

    def start_element_handler(self, name: str, attributes: list[str]) -> None:
        super().start_element_handler(name, attributes)  # type: ignore[misc]
        line: int = self.getParser().CurrentLineNumber  # type: ignore[attr-defined]
        self.curNode.setUserData(_PLACE, (self._path, line), _keep_place)  # type: ignore[attr-defined]


class _KeepPlace:
    """What minidom asks when an element is copied."""

    def handle(
        self, _operation: int, key: str, data: tuple[str, int], _source: minidom.Node, copy: minidom.Node | None
    ) -> None:
        if isinstance(copy, minidom.Element):
            copy.setUserData(key, data, self)  # type: ignore[attr-defined]


_keep_place = _KeepPlace()


def _place_of(error: BaseException) -> tuple[str, int] | None:
    """File and line of the innermost element that xacro was at."""
    place: tuple[str, int] | None = None
    step = error.__traceback__
    while step is not None:
        place = _element_place(step.tb_frame) or place
        step = step.tb_next
    return place


def _element_place(frame: FrameType) -> tuple[str, int] | None:
    if frame.f_globals.get("__name__") != "xacro":
        return None
    for name in ("node", "elt"):
        element = frame.f_locals.get(name)
        if isinstance(element, minidom.Element):
            found = element.getUserData(_PLACE)  # type: ignore[attr-defined]
            if found is not None:
                return found
    return None
