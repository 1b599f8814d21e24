"""Classes of messages, made of their definitions when they are first asked for.

    JointState = message_class("sensor_msgs/msg/JointState")
    JointState(name=["a", "b"], position=[0.1, 0.2])

A message is a dataclass: fields have the defaults of ROS (zero, empty, nested messages), constants are class
attributes. Sequences are lists; those of uint8, byte and char are bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, make_dataclass
from functools import cache
from typing import Any, ClassVar

from memetik.errors import UnknownNameError
from memetik.ros.messages.definitions import Definition, Field, definitions

OCTETS = ("uint8", "byte", "char")


class Message:
    """What all messages have in common."""

    __slots__ = ()
    TYPE: ClassVar[str] = ""
    """The full name, such as "sensor_msgs/msg/JointState"."""

    def __getattr__(self, name: str) -> Any:
        # Fields are slots: what arrives here is no field. The signature tells type checkers that fields exist.
        raise AttributeError(f"{self.TYPE} has no field {name!r}.")


@dataclass(frozen=True, slots=True)
class ServiceType:
    """A service: its full name and the classes of its two messages."""

    name: str
    Request: Any
    Response: Any


def type_names() -> tuple[str, ...]:
    """The full names of all messages that come with the package."""
    return tuple(definitions())


def definition_of(name: str) -> Definition:
    """The definition of a message by its full name."""
    try:
        return definitions()[name]
    except KeyError:
        raise UnknownNameError("message type", name, "memetik's interfaces", definitions()) from None


@cache
def message_class(name: str) -> Callable[..., Any]:
    """The class of a message by its full name."""
    definition = definition_of(name)
    members = [(each.name, Any, field(default_factory=_default(each))) for each in definition.fields]
    made = make_dataclass(
        name.rsplit("/", 1)[1], members, bases=(Message,), slots=True,
        namespace={**definition.constants, "TYPE": name, "__doc__": f"{name}."},
    )  # fmt: skip
    made.__module__ = __name__
    return made


@cache
def service_type(name: str) -> ServiceType:
    """A service by its full name, such as "moveit_msgs/srv/GetPositionIK" or one of an action's."""
    if f"{name}_Request" not in definitions():
        known = [each.removesuffix("_Request") for each in definitions() if each.endswith("_Request")]
        raise UnknownNameError("service type", name, "memetik's interfaces", known)
    return ServiceType(name, message_class(f"{name}_Request"), message_class(f"{name}_Response"))


def _default(each: Field) -> Callable[[], Any]:
    if each.array == "sequence":
        return bytes if each.base in OCTETS else list
    one = _one(each)
    if each.array == "fixed":
        count = each.bound or 0
        return (lambda: bytes(count)) if each.base in OCTETS else lambda: [one() for _ in range(count)]
    return one


def _one(each: Field) -> Callable[[], Any]:
    if each.default is not None:
        value = each.default
        return lambda: value
    if each.base == "string":
        return str
    if "/" in each.base:
        nested = each.base
        return lambda: message_class(nested)()
    return bool if each.base == "bool" else float if each.base.startswith("float") else int
