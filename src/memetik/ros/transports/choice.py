"""Which transport: named, or chosen by what is there."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from memetik.errors import InvalidInputError, suggest

if TYPE_CHECKING:
    from memetik.ros.transports.base import Transport

TRANSPORTS = ("auto", "rclpy", "dds", "zenoh")


def open_transport(
    node: str,
    transport: str = "auto",
    *,
    domain: int | None = None,
    interfaces: Iterable[str] = (),
    peers: Iterable[str] = (),
) -> Transport:
    """Join the graph as a node.

    transport   "rclpy" (an installation of ROS), "dds" (memetik's own participant), "zenoh", or "auto": rclpy where it
                can be imported, else dds.
    domain      by default $ROS_DOMAIN_ID, else 0.
    interfaces  of the network, by name or address; loopback only where none is named.
    peers       hosts (dds) or endpoints such as tcp/10.0.0.5:7447 (zenoh) that are asked directly.
    """
    if transport not in TRANSPORTS:
        raise InvalidInputError(f"there is no transport {transport!r}; {suggest(transport, TRANSPORTS)}")
    options: dict[str, Any] = {"domain": _domain() if domain is None else domain}
    if transport == "auto":
        transport = "dds" if find_spec("rclpy") is None else "rclpy"
    if transport == "rclpy":
        from memetik.ros.transports.rclpy_transport import RclpyTransport

        return RclpyTransport(node, **options)
    if transport == "zenoh":
        from memetik.ros.transports.zenoh_transport import ZenohTransport

        return ZenohTransport(node, **options, peers=peers)
    from memetik.ros.transports.dds import DdsTransport

    return DdsTransport(node, **options, interfaces=interfaces, peers=peers)


def _domain() -> int:
    import os

    text = os.environ.get("ROS_DOMAIN_ID", "0") or "0"
    if not text.isdecimal():
        raise InvalidInputError(f"ROS_DOMAIN_ID is a number, not {text!r}.")
    return int(text)
