"""The grammar of .msg, .srv and .action files, and the definitions that come with the package.

A definition is a list of fields and constants. Services and actions are broken down into the messages that travel:
`pkg/srv/X_Request`, `pkg/srv/X_Response`, and for actions the two services and the feedback that ROS 2 makes of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from memetik.errors import InvalidInputError, UnknownNameError

PRIMITIVES = {
    "bool": "?", "byte": "B", "char": "B", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i",
    "uint32": "I", "int64": "q", "uint64": "Q", "float32": "f", "float64": "d",
}  # fmt: skip
"""Names of the numbers of .msg files and their codes in `struct`."""

Scalar = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Field:
    """A field: `base` is a primitive, "string" or the full name of a message.

    string_bound   the most characters of a string, None for any number
    array          "" for one value, "fixed" for exactly `bound` values, "sequence" for up to `bound` (None: any number)
    """

    name: str
    base: str
    string_bound: int | None = None
    array: str = ""
    bound: int | None = None
    default: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """A message: its full name such as "sensor_msgs/msg/JointState", fields in their order, constants, its text."""

    name: str
    fields: tuple[Field, ...]
    constants: dict[str, Scalar]
    text: str


_TYPE = r"(?P<base>[A-Za-z][\w/]*)(<=(?P<string>\d{1,9}))?"
_FIELD = re.compile(
    _TYPE + r"(?P<array>\[(?P<upto><=)?(?P<bound>\d{0,9})\])?\s+(?P<name>[A-Za-z]\w*)(\s+(?P<default>.+))?"
)
_CONSTANT = re.compile(_TYPE + r"\s+(?P<name>[A-Za-z]\w*)\s*=\s*(?P<value>.*)")


def parse_message(name: str, text: str) -> Definition:
    """A definition from the text of a .msg file; `name` is its full name."""
    package = name.split("/", 1)[0]
    fields: list[Field] = []
    constants: dict[str, Scalar] = {}
    for number, raw in enumerate(text.splitlines(), 1):
        line = _without_comment(raw).strip()
        if not line:
            continue
        if (found := _CONSTANT.fullmatch(line)) is not None:
            base = _full_name(found["base"], package, name, number)
            constants[found["name"]] = _value(found["value"].strip(), base, name, number)
        elif (found := _FIELD.fullmatch(line)) is not None:
            fields.append(_field(found, _full_name(found["base"], package, name, number), name, number))
        else:
            raise InvalidInputError(f"line {number} of {name} is neither a field nor a constant: {line[:80]!r}.")
    if len({field.name for field in fields}) < len(fields):
        raise InvalidInputError(f"{name} has two fields of the same name.")
    if not fields:  # the wire format has no empty structures
        fields.append(Field("structure_needs_at_least_one_member", "uint8"))
    return Definition(name, tuple(fields), constants, text)


def parse_service(name: str, text: str) -> Iterator[Definition]:
    """Request, response and event of a service from the text of a .srv file."""
    request, response = _parts(name, text, 2)
    yield parse_message(f"{name}_Request", request)
    yield parse_message(f"{name}_Response", response)
    yield from _event(name)


def parse_action(name: str, text: str) -> Iterator[Definition]:
    """All messages that travel for an action, from the text of an .action file."""
    package = name.split("/", 1)[0]
    goal, result, feedback = _parts(name, text, 3)
    yield parse_message(f"{name}_Goal", goal)
    yield parse_message(f"{name}_Result", result)
    yield parse_message(f"{name}_Feedback", feedback)
    short = f"{package}/{name.rsplit('/', 1)[1]}"
    identifier = "unique_identifier_msgs/UUID goal_id\n"
    for part, request, response in (
        ("SendGoal", f"{identifier}{short}_Goal goal\n", "bool accepted\nbuiltin_interfaces/Time stamp\n"),
        ("GetResult", identifier, f"int8 status\n{short}_Result result\n"),
    ):
        yield _relative(f"{name}_{part}_Request", request, "action")
        yield _relative(f"{name}_{part}_Response", response, "action")
        yield from _event(f"{name}_{part}")
    yield _relative(f"{name}_FeedbackMessage", f"{identifier}{short}_Feedback feedback\n", "action")


@cache
def catalogue() -> dict[str, str]:
    """{full name of an interface: its text} of all interfaces that come with the package."""
    texts: dict[str, str] = {}
    for entry in files("memetik.ros").joinpath("interfaces").iterdir():
        if not entry.name.endswith(".txt"):
            continue
        package = entry.name.removesuffix(".txt")
        parts = re.split(r"(?m)^(msg|srv|action) (\w+)\n", entry.read_text(encoding="utf-8"))
        for kind, name, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            texts[f"{package}/{kind}/{name}"] = text.strip("\n") + "\n" if text.strip() else ""
    return texts


@cache
def definitions() -> dict[str, Definition]:
    """{full name: definition} of every message that comes with the package, those of services and actions included."""
    made: dict[str, Definition] = {}
    for name, text in catalogue().items():
        kind = name.split("/")[1]
        if kind == "msg":
            made[name] = parse_message(name, text)
        else:
            made.update({each.name: each for each in (parse_service if kind == "srv" else parse_action)(name, text)})
    for definition in made.values():
        for field in definition.fields:
            if "/" in field.base and field.base not in made:
                raise UnknownNameError("message type", field.base, definition.name, made)
    return made


def full_text(name: str) -> str:
    """A definition followed by those it refers to, as recordings store them (schema encoding "ros2msg")."""
    known = definitions()
    order, parts = [name], [_readable(known[name])]
    for current in order:
        for field in known[current].fields:
            if "/" in field.base and field.base not in order:
                order.append(field.base)
    for nested in order[1:]:
        package, _, short = nested.split("/")
        parts.append(f"{'=' * 80}\nMSG: {package}/{short}\n{_readable(known[nested])}")
    return "".join(parts)


def _readable(definition: Definition) -> str:
    """Names of nested messages in full: readers differ in how they complete short ones."""
    lines: list[str] = []
    for field in definition.fields:
        base = field.base
        if "/" in base:
            package, _, short = base.split("/")
            base = f"{package}/{short}"
        if field.string_bound is not None:
            base += f"<={field.string_bound}"
        if field.array == "fixed":
            base += f"[{field.bound}]"
        elif field.array:
            base += "[]" if field.bound is None else f"[<={field.bound}]"
        lines.append(f"{base} {field.name}\n")
    return "".join(lines)


def _parts(name: str, text: str, count: int) -> list[str]:
    parts = re.split(r"(?m)^---[ \t]*$\n?", text)
    if len(parts) != count:
        raise InvalidInputError(f"{name} must have {count - 1} lines '---', not {len(parts) - 1}.")
    return parts


def _event(name: str) -> Iterator[Definition]:
    kind = name.split("/")[1]
    base = f"{name.split('/')[0]}/{name.rsplit('/', 1)[1]}"
    text = f"service_msgs/ServiceEventInfo info\n{base}_Request[<=1] request\n{base}_Response[<=1] response\n"
    yield _relative(f"{name}_Event", text, kind)


def _relative(name: str, text: str, kind: str) -> Definition:
    """A definition whose own package's types are of kind "srv" or "action", not "msg"."""
    made = parse_message(name, text)
    own = f"{name.split('/', 1)[0]}/msg/{name.rsplit('/', 1)[1].split('_')[0]}_"
    fields = tuple(
        Field(f.name, f.base.replace("/msg/", f"/{kind}/"), f.string_bound, f.array, f.bound)
        if f.base.startswith(own) else f
        for f in made.fields
    )  # fmt: skip
    return Definition(name, fields, made.constants, text)


def _without_comment(line: str) -> str:
    return line if '"' in line else line.partition("#")[0]


def _full_name(base: str, package: str, owner: str, number: int) -> str:
    if base in PRIMITIVES or base == "string":
        return base
    parts = base.split("/")
    if len(parts) == 1 and base[0].isupper():
        return f"{package}/msg/{base}"
    if len(parts) == 2:
        return f"{parts[0]}/msg/{parts[1]}"
    if len(parts) == 3:
        return base
    raise InvalidInputError(f"line {number} of {owner} has an unknown type {base!r}.")


def _field(found: re.Match[str], base: str, owner: str, number: int) -> Field:
    bound = int(found["bound"]) if found["bound"] else None
    array = "" if found["array"] is None else "sequence" if found["upto"] or bound is None else "fixed"
    default = _value(found["default"].strip(), base, owner, number) if found["default"] and not array else None
    return Field(found["name"], base, int(found["string"]) if found["string"] else None, array, bound, default)


def _value(text: str, base: str, owner: str, number: int) -> Scalar:
    try:
        if base == "string":
            return text.strip("'\"")
        if base == "bool":
            return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
        return float(text) if base.startswith("float") else int(text, 0)
    except (KeyError, ValueError):
        raise InvalidInputError(f"line {number} of {owner} has {text[:40]!r} where a {base} should be.") from None
