"""Messages of ROS 2: bytes and hashes against rosbags, hashes against those that ROS's own generators wrote."""

from __future__ import annotations

import dataclasses
import json
import random
import struct
from pathlib import Path
from typing import Any

import pytest
from fuzz_messages import fuzz
from random_messages import random_message

from memetik.errors import InvalidInputError, UnknownNameError
from memetik.ros.messages import CodecError, decode, encode, message_class, service_type, type_names
from memetik.ros.messages.definitions import definitions, full_text, parse_message
from memetik.ros.messages.type_hash import type_hash

rosbags = pytest.importorskip("rosbags.typesys")
GENERATED = json.loads((Path(__file__).parent / "generator_hashes.json").read_text())


@pytest.fixture(scope="module")
def store() -> Any:
    """rosbags' types, from the same texts; it knows messages only, so that all are called pkg/msg/Name there."""
    made = rosbags.get_typestore(rosbags.Stores.EMPTY)
    for name in definitions():
        text = full_text(name).replace("/srv/", "/msg/").replace("/action/", "/msg/")
        made.register(rosbags.get_types_from_msg(text, _theirs(name)))
    return made


@pytest.mark.parametrize("name", type_names())
def test_bytes_equal_those_of_rosbags_and_come_back(name: str, store: Any):
    rng = random.Random(name)
    for _ in range(5):
        message = random_message(name, rng)
        data = encode(message)
        assert bytes(store.serialize_cdr(_as_theirs(message, store), _theirs(name))) == data
        assert decode(data, name) == message


@pytest.mark.parametrize("name", [name for name in type_names() if "/msg/" in name])
def test_hashes_equal_those_of_rosbags(name: str, store: Any):
    if any("char" in {f.base for f in definitions()[n].fields} for n in _reached(name)):
        pytest.skip("rosbags hashes char as char, ROS as uint8")
    assert type_hash(name) == "RIHS01_" + store.hash_rihs01(name).removeprefix("RIHS01_")


@pytest.mark.parametrize("name", GENERATED)
def test_hashes_equal_those_of_the_generators_of_jazzy_and_kilted(name: str):
    assert type_hash(name) == GENERATED[name]


@pytest.mark.parametrize("name", ["sensor_msgs/msg/JointState", "moveit_msgs/srv/GetMotionPlan_Request"])
def test_big_endian_bytes_are_read(name: str, store: Any):
    message = random_message(name, random.Random(1))
    data = bytes(store.serialize_cdr(_as_theirs(message, store), _theirs(name), little_endian=False))
    assert data[1] == 0
    assert decode(data, name) == message


def test_bytes_behind_the_end_are_ignored():
    message = message_class("std_msgs/msg/String")(data="hello")
    assert decode(encode(message) + bytes(24), message.TYPE) == message


@pytest.mark.parametrize("count", [2**31 - 1, 2**32 - 1, 50])
def test_a_length_beyond_the_bytes_is_an_error_that_allocates_nothing(count: int):
    for name in ("std_msgs/msg/String", "std_msgs/msg/Float64MultiArray", "visualization_msgs/msg/MarkerArray"):
        with pytest.raises(CodecError):
            decode(b"\0\1\0\0" + struct.pack("<I", count) + bytes(64 if count > 50 else 40), name)


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\1\0\0", b"\0\3\0\0abcd", b"\7\1\0\0abcdefgh", b"\0\1\0\0\5\0\0\0ab"])
def test_what_is_no_message_is_an_error(data: bytes):
    with pytest.raises(CodecError):
        decode(data, "std_msgs/msg/String")


def test_wrong_values_name_the_field():
    with pytest.raises(InvalidInputError, match="'position'"):
        encode(message_class("sensor_msgs/msg/JointState")(position=["a"]))
    with pytest.raises(InvalidInputError, match="'sec'"):
        encode(message_class("builtin_interfaces/msg/Time")(sec=2**40))
    with pytest.raises(InvalidInputError, match=r"'uuid'.*exactly 16"):
        encode(message_class("unique_identifier_msgs/msg/UUID")(uuid=b"abc"))
    with pytest.raises(InvalidInputError, match="at most 3"):
        encode(message_class("shape_msgs/msg/SolidPrimitive")(dimensions=[1.0] * 4))
    with pytest.raises(InvalidInputError, match="'header'"):
        encode(message_class("sensor_msgs/msg/JointState")(header=message_class("builtin_interfaces/msg/Time")()))


def test_defaults_and_constants_are_those_of_the_definition():
    assert message_class("geometry_msgs/msg/Pose")().orientation.w == 1.0
    assert message_class("moveit_msgs/msg/MoveItErrorCodes").NO_IK_SOLUTION == -31
    with pytest.raises(AttributeError, match="no field 'positions'"):
        message_class("sensor_msgs/msg/JointState")().positions  # noqa: B018


def test_unknown_types_are_named():
    with pytest.raises(UnknownNameError, match="JointState"):
        message_class("sensor_msgs/msg/JointStates")
    with pytest.raises(UnknownNameError, match="GetPositionIK"):
        service_type("moveit_msgs/srv/GetPositionIk")


@pytest.mark.parametrize("text", ["float64", "float64 a\nfloat64 a", "thing x", "int32 A = b", "float64[ x"])
def test_definitions_that_are_wrong_are_refused(text: str):
    with pytest.raises(InvalidInputError):
        parse_message("a_msgs/msg/A", text)


def test_mutated_bytes_are_read_or_refused():
    read, refused = fuzz(4000, seed=1)
    assert read > 100
    assert refused > 100


def _theirs(name: str) -> str:
    package, _, short = name.split("/")
    return f"{package}/msg/{short}"


def _as_theirs(value: Any, store: Any) -> Any:
    import numpy as np

    if not dataclasses.is_dataclass(value):
        return value
    fields = {}
    for each in definitions()[value.TYPE].fields:  # pyright: ignore[reportAttributeAccessIssue]
        own = getattr(value, each.name)
        if not each.array and each.base == "byte":  # rosbags takes it for int8, ROS for an octet
            fields[each.name] = (own + 128) % 256 - 128
        elif not each.array:
            fields[each.name] = _as_theirs(own, store)
        elif "/" in each.base:
            fields[each.name] = [_as_theirs(item, store) for item in own]
        elif each.base == "string":
            fields[each.name] = own
        else:
            kind = {"byte": "uint8", "char": "uint8"}.get(each.base, each.base)
            fields[each.name] = np.array(list(own), dtype=kind)
    return store.types[_theirs(value.TYPE)](**fields)  # pyright: ignore[reportAttributeAccessIssue]


def _reached(name: str) -> set[str]:
    found, waiting = {name}, [name]
    while waiting:
        for each in definitions()[waiting.pop()].fields:
            if "/" in each.base and each.base not in found:
                found.add(each.base)
                waiting.append(each.base)
    return found
