"""One door for every description: a bundled name, a file, a text or a yourdfpy object becomes a checked Description."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypedDict, TypeGuard, TypeVar

from memetik.errors import DescriptionError, InvalidInputError, MissingExtraError, suggest
from memetik.files.paths import expanded
from memetik.files.xml_tree import MAX_BYTES, Element, parse_xml
from memetik.robot import bundled
from memetik.robot.description import Description, EndEffector, Group, NamedState, Semantics, VirtualJoint
from memetik.robot.notes import Note, Notes
from memetik.robot.readers.limits_file import apply_joint_limits, with_default_accelerations
from memetik.robot.readers.mesh_paths import SearchPath
from memetik.robot.readers.srdf import add_srdf, find_srdf
from memetik.robot.readers.urdf import read_urdf_element
from memetik.robot.source_words import split_arguments
from memetik.robot.validate import validate

logger = logging.getLogger(__name__)


class YourdfpyRobot(Protocol):
    """A yourdfpy.URDF, as far as it is read."""

    robot: Any

    def write_xml_string(self) -> str | bytes: ...


Named = TypeVar("Named", Group, EndEffector, NamedState, VirtualJoint)
RobotSource = str | bytes | os.PathLike[str] | Description | YourdfpyRobot
Path = str | os.PathLike[str]


class LoadOptions(TypedDict, total=False):
    """The options of `load_description`."""

    srdf: Path | bytes | bool | None
    arguments: Mapping[str, Any] | None
    search_path: Sequence[Path] | Mapping[str, Path] | Path
    joint_limits: Path | Mapping[str, Any] | None


def load_description(
    source: RobotSource,
    *,
    srdf: Path | bytes | bool | None = None,
    arguments: Mapping[str, Any] | None = None,
    search_path: Sequence[Path] | Mapping[str, Path] | Path = (),
    joint_limits: Path | Mapping[str, Any] | None = None,
) -> Description:
    """Load a robot's description.

    source: a bundled robot's name, one of example-robot-data or robot_descriptions where these are installed ("talos";
        `memetik robots` lists them), the path of a URDF, xacro, MJCF or SDF file or of a robot config (TOML), their
        text, or a yourdfpy object. Arguments may follow a path: "ur.urdf.xacro name:=ur ur_type:=ur5e".
    srdf: path or text of an SRDF; None looks for one beside the file, False takes none.
    arguments: values for the arguments of a xacro file, or parameters of a bundled robot.
    search_path: folders in and below which packages and meshes are looked for first, or a mapping of package names
        to folders. ~ and environment variables in paths are replaced.
    joint_limits: MoveIt's joint_limits.yaml as a path, its text or the mapping it holds.

    URDF, SRDF and MJCF are read safely whatever they hold; xacro evaluates expressions and must be trusted.
    """
    folders = search_folders(search_path)
    if not isinstance(arguments, Mapping | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"arguments must be a mapping of names to values, not {type(arguments).__name__}.")
    description, path = _read(source, dict(arguments or {}), folders)
    if path is not None and path.lower().endswith(".toml"):
        path = None  # a robot config says itself which SRDF it takes
    validate(description)
    description = _with_semantics(description, srdf, path, folders)
    if joint_limits is not None:
        description = _with_joint_limits(description, joint_limits)
        validate(description)
    return with_default_accelerations(description)


def _read(source: RobotSource, arguments: dict[str, Any], folders: SearchPath) -> tuple[Description, str | None]:
    """The description, and the path of its file where it has one."""
    if isinstance(source, Description):
        return source, None
    if _is_yourdfpy(source):
        return _read_yourdfpy(source, folders), None
    if isinstance(source, os.PathLike):
        path = expanded(source)
        return _read_file(path, arguments, folders), path
    if isinstance(source, bytes):
        return _read_root(_parsed(source, "the text"), None, folders, ""), None
    if not isinstance(source, str):
        raise InvalidInputError(
            "a robot is loaded from a name, a path, URDF or MJCF text or a yourdfpy object, "
            f"not from {type(source).__name__}."
        )
    if "<" in source:
        return _read_root(_parsed(source, "the text"), None, folders, ""), None
    return _read_name_or_path(source, arguments, folders)


def _read_name_or_path(source: str, arguments: dict[str, Any], folders: SearchPath) -> tuple[Description, str | None]:
    if not source.strip():
        raise InvalidInputError("the source of a robot is an empty text; give a name, a path or URDF text.")
    source, stated = split_arguments(source)
    arguments = {**stated, **arguments}
    if bundled.known(source):
        return bundled.description(source, **arguments), None
    path = expanded(source)
    if _looks_like_path(source) or ("\0" not in path and os.path.lexists(path)):
        return _read_file(path, arguments, folders), path
    from memetik.robot.installed import example_robots, find_installed, path_of

    installed = find_installed(source)
    if installed is not None:
        path = path_of(installed)
        logger.info("robot %r is %s of %s (licence: %s)", source, path, installed.package, installed.licence)
        return _read_file(path, arguments, folders), path
    names = [*bundled.names(), *example_robots()]
    raise DescriptionError(
        f"{source!r} is neither a bundled robot nor one of an installed package nor an existing file; "
        f"{suggest(source, names)} "
        "Files end in .urdf, .xacro, .xml, .sdf or .toml."
    )


def _looks_like_path(source: str) -> bool:
    return (
        "/" in source
        or os.sep in source
        or source.lower().endswith((".urdf", ".xacro", ".xml", ".mjcf", ".sdf", ".world", ".toml"))
    )


def _read_file(path: str, arguments: dict[str, Any], folders: SearchPath) -> Description:
    if "\0" in path or not os.path.exists(path):
        raise DescriptionError(f"there is no file {path!r}.")
    if os.path.isdir(path):
        inside = sorted(name for name in os.listdir(path) if name.endswith((".urdf", ".xacro", ".xml")))
        hint = f"it holds {', '.join(inside[:6])}" if inside else "it holds no .urdf, .xacro or .xml file"
        raise DescriptionError(f"{path!r} is a folder ({hint}); give the path of a file.")
    folder = os.path.dirname(os.path.abspath(path))
    if path.lower().endswith(".toml"):
        from memetik.robot.readers.config_file import load_configured_description

        return load_configured_description(path, folders)
    content, notes = read_expanded(path, arguments, folders)
    try:
        description = _read_root(_parsed(content, path), folder, folders, path)
    except DescriptionError as error:
        raise _with_macros(error, path) if error.code == "no-links" and isinstance(content, str) else error from None
    return replace(description, notes=(*notes, *description.notes)) if notes else description


def _with_macros(error: DescriptionError, path: str) -> DescriptionError:
    """The error that a xacro file makes no link, with the macros that it defines."""
    named = [name.decode(errors="replace") for name in re.findall(rb'<xacro:macro\s+name="([^"]+)"', read_bytes(path))]
    shown = ", ".join(named[:6]) + (" and others" if len(named) > 6 else "")
    what = f"macros ({shown})" if named else "properties or materials"
    message = f"{error} It only defines {what}, for another file to include: load the file that uses them."
    return DescriptionError(message, error.code, error.line)


def read_expanded(path: str, arguments: Mapping[str, Any], folders: SearchPath) -> tuple[str | bytes, tuple[Note, ...]]:
    """A file's content, expanded where it is xacro, by its name or by what it holds; and notes of the expansion."""
    by_name = path.lower().endswith(".xacro")
    content = read_bytes(path)
    if not by_name and not is_xacro(content):
        if arguments:
            raise InvalidInputError(f"{path!r} is not a xacro file, so it takes no arguments ({', '.join(arguments)}).")
        return content, ()
    from memetik.robot.readers.xacro import expand_xacro

    notes = Notes(path)
    if not by_name:
        notes.filled_in("The file holds xacro, although its name does not say so.", "It is expanded.")
    return expand_xacro(path, arguments=arguments, search_path=folders, notes=notes), notes.collected()


def read_expanded_srdf(path: str, robot: str, folders: SearchPath) -> tuple[str | bytes, tuple[Note, ...]]:
    """An SRDF's content, expanded where it is xacro; its argument `name`, where it has one, is the robot's name."""
    content = read_bytes(path)
    named = is_xacro(content) and re.search(rb"<xacro:arg\s+name=\"name\"", content)
    return read_expanded(path, {"name": robot} if named else {}, folders)


def is_xacro(content: bytes) -> bool:
    """Whether a file's content needs xacro, whatever the file is called."""
    return b"<xacro:" in content


def read_bytes(path: str) -> bytes:
    """A file's content; errors where it is not a regular file, too large, empty or binary."""
    if not os.path.isfile(path):
        raise DescriptionError(f"{path!r} is not a regular file.")
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise DescriptionError(f"{path!r} cannot be read: {error.strerror}.") from error
    if not content.strip():
        raise DescriptionError(f"{path!r} is empty.")
    utf16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    if b"\0" in content[:4096] and not utf16:
        raise DescriptionError(f"{path!r} is a binary file, not a robot description in XML.")
    return content


def _parsed(content: str | bytes, what: str) -> Element:
    """A document; of the formats only SDF has text inside its elements."""
    root = parse_xml(content, what)
    return parse_xml(content, what, keep_text=True) if root.tag == "sdf" else root


def _read_root(root: Element, folder: str | None, folders: SearchPath, source: str) -> Description:
    if root.tag == "mujoco":
        from memetik.robot.readers.mjcf import read_mjcf_element

        return read_mjcf_element(root, folder=folder, search_path=folders, source=source)
    if root.tag == "sdf":
        from memetik.robot.readers.sdf import read_sdf_element

        return read_sdf_element(root, folder=folder, search_path=folders, source=source)
    return read_urdf_element(root, folder=folder, search_path=folders, source=source)


def _is_yourdfpy(source: object) -> TypeGuard[YourdfpyRobot]:
    return type(source).__module__.split(".")[0] == "yourdfpy" and hasattr(source, "write_xml_string")


def _read_yourdfpy(source: YourdfpyRobot, folders: SearchPath) -> Description:
    """Through its XML, in which yourdfpy has replaced the mesh references by the paths it found.

    Its writer leaves out mimic joints and soft limits, which are added from the object.
    """
    try:
        root = parse_xml(source.write_xml_string(), "the yourdfpy object")
        extras: dict[str, dict[str, object]] = {
            joint.name: {"mimic": joint.mimic, "safety_controller": joint.safety_controller}
            for joint in source.robot.joints
        }
    except DescriptionError:
        raise
    except Exception as error:  # yourdfpy does not say which errors its writer raises
        raise DescriptionError(f"the yourdfpy object cannot be written as URDF: {error}.") from error
    for element in root.all("joint"):
        for tag, extra in extras.get(element.text("name"), {}).items():
            if extra is not None and element.first(tag) is None:
                attributes = {name: str(value) for name, value in vars(extra).items() if value is not None}
                element.children.append(Element(tag, attributes, element.line))
    return _read_root(root, None, folders, "")


def _with_semantics(
    description: Description, srdf: Path | bytes | bool | None, path: str | None, folders: SearchPath
) -> Description:
    if srdf is False:
        return description
    if srdf is None or srdf is True:
        found = find_srdf(path, description.name, folders) if path is not None else None
        if found is None:
            if srdf:
                raise DescriptionError(f"no SRDF was found beside {path!r}; give its path as srdf=.")
            return description
        try:
            extended = _with_srdf_file(description, found, folders)
        except (DescriptionError, InvalidInputError, MissingExtraError) as error:
            # The file was a guess: a broken one must not hide the robot.
            logger.warning("robot %r: the SRDF found beside it is left out: %s", description.name, error)
            notes = Notes(found)
            message = f"The SRDF {found} beside the file is left out: {error}"
            lacking = "The robot lacks its groups, tips, named configurations and disabled pairs."
            notes.left_out(message, lacking, line=getattr(error, "line", None), code="srdf-unreadable")
            return replace(description, notes=(*description.notes, *notes.collected()))
        logger.debug("robot %r: read %s", description.name, found)
    elif isinstance(srdf, bytes) or (isinstance(srdf, str) and "<" in srdf):
        extended = add_srdf(description, srdf)
    else:
        extended = _with_srdf_file(description, _existing_file(srdf), folders)
    return replace(extended, semantics=_merged(extended.semantics, description.semantics))


def _with_srdf_file(description: Description, path: str, folders: SearchPath) -> Description:
    """With an SRDF file, which may be xacro."""
    text, notes = read_expanded_srdf(path, description.name, folders)
    extended = add_srdf(description, text, source=path)
    return replace(extended, notes=(*extended.notes, *notes))


def _merged(given: Semantics, own: Semantics) -> Semantics:
    """What an SRDF says, and of what the description says itself that which the SRDF does not name."""
    pairs = {frozenset(pair[:2]) for pair in given.disabled_pairs}
    return Semantics(
        groups=_united(given.groups, own.groups),
        end_effectors=_united(given.end_effectors, own.end_effectors),
        states=_united(given.states, own.states),
        virtual_joints=_united(given.virtual_joints, own.virtual_joints),
        disabled_pairs=(*given.disabled_pairs, *(p for p in own.disabled_pairs if frozenset(p[:2]) not in pairs)),
        passive_joints=tuple(dict.fromkeys((*given.passive_joints, *own.passive_joints))),
        pairs_are_complete=given.pairs_are_complete or own.pairs_are_complete,
    )


def _united(given: tuple[Named, ...], own: tuple[Named, ...]) -> tuple[Named, ...]:
    names = {entry.name for entry in given}
    return (*given, *(entry for entry in own if entry.name not in names))


def _with_joint_limits(description: Description, joint_limits: Path | Mapping[str, Any]) -> Description:
    if isinstance(joint_limits, Mapping):
        return apply_joint_limits(description, joint_limits)
    text, where = _text_or_file(joint_limits, ("\n", ": "))
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise DescriptionError(f"{where!r} is not UTF-8 text: {error}.") from None
    return apply_joint_limits(description, text, source=where)


def _text_or_file(given: Path | bytes, marks: tuple[str, ...]) -> tuple[str | bytes, str]:
    """A text is told from a path by marks that no sensible path has."""
    if isinstance(given, bytes) or (isinstance(given, str) and any(mark in given for mark in marks)):
        return given, ""
    path = _existing_file(given)
    return read_bytes(path), path


def _existing_file(given: Path) -> str:
    if not isinstance(given, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"a path or a text is needed, not {type(given).__name__}.")
    path = expanded(given)
    if "\0" in path or not os.path.exists(path):
        raise DescriptionError(f"there is no file {path!r}.")
    return path


def search_folders(search_path: Sequence[Path] | Mapping[str, Path] | Path) -> SearchPath:
    if isinstance(search_path, Mapping):
        return dict(zip(map(str, search_path), search_folders(list(search_path.values())), strict=True))
    entries = [search_path] if isinstance(search_path, str | os.PathLike) else list(search_path)
    for entry in entries:
        if not isinstance(entry, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(f"search_path holds folders, not {type(entry).__name__}.")
    return [expanded(entry) for entry in entries]
