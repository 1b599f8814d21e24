"""Promises about pictures, drivers, files, methods of the literature and the benchmark: one function a promise."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from contextlib import suppress

import numpy as np

import memetik as mk

Case = Callable[[], tuple[bool, str]]


def children_first() -> tuple[bool, str]:
    """A robot whose file lists links child first, and one without joints, are shown and opened in the studio."""
    from memetik.studio.app import Studio

    shape = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    joint = '<joint name="j" type="fixed"><parent link="base"/><child link="tip"/></joint>'
    text = f'<robot name="r"><link name="tip">{shape}</link><link name="base">{shape}</link>{joint}</robot>'
    robot = mk.load_robot(text)
    robot.show()
    with Studio(robot, port=0, folder=".") as studio:
        drawn = len(studio.robot_view.robot.links)
    return drawn == 2, f"{drawn} of 2 links drawn"


def driver_outlives_a_bad_number() -> tuple[bool, str]:
    """A driver whose state is not finite is an error reply; the server goes on and stops the arm at its end."""
    stops: list[int] = []

    class Broken(mk.ExactDriver):
        def state(self) -> mk.DriverState:
            return mk.DriverState(np.full(6, np.nan), np.zeros(6), 0.0, True)

        def stop(self) -> None:
            stops.append(1)

    with mk.DriverServer(Broken(mk.load_robot("ur5"))) as server, mk.TcpDriver(server.url) as driver:
        try:
            driver.state()
            said = "a state"
        except mk.DriverError as error:
            said = str(error)
        with mk.TcpDriver(server.url) as another:
            another.joint_names  # noqa: B018
    return "not finite" in said and len(stops) >= 1, f"{said}; stopped {len(stops)} times"


def driver_refuses_web_pages() -> tuple[bool, str]:
    """What a web page can send is refused at its first line, and no command in it is obeyed."""
    command = json.dumps({"schema": "memetik.driver/2", "command": "stop"}).encode()
    served = mk.ExactDriver(mk.load_robot("ur5"))
    with mk.DriverServer(served) as server, socket.create_connection(server.address, timeout=5.0) as raw:
        raw.sendall(b"POST / HTTP/1.1\r\nContent-Type: text/plain\r\n\r\n" + command + b"\n")
        answers = b""
        with suppress(ConnectionResetError):
            while data := raw.recv(4096):
                answers += data
    return answers.count(b"\n") <= 1 and b'"ok": true' not in answers, f"{answers.count(b'ok')} answer, a refusal"


def driver_serves_a_stop_beside_idle_clients() -> tuple[bool, str]:
    """A client that says nothing does not lock out a stop."""
    stops: list[int] = []

    class Told(mk.ExactDriver):
        def stop(self) -> None:
            stops.append(1)

    with mk.DriverServer(Told(mk.load_robot("ur5"))) as server, socket.create_connection(server.address):
        with mk.TcpDriver(server.url), mk.TcpDriver(server.url) as another:
            another.stop()
        seen = len(stops)
    return seen >= 1, f"{seen} stop served beside two idle clients"


def capsules_arrive_elsewhere() -> tuple[bool, str]:
    """All collision shapes of a written robot arrive in Pinocchio, and come back here as they were."""
    import pinocchio

    robot = mk.load_robot("ur5")
    text = robot.to_urdf()
    geometry = pinocchio.buildGeomFromUrdfString(
        pinocchio.buildModelFromXML(text), text, pinocchio.GeometryType.COLLISION
    )
    parts = text.count("<collision")
    shapes, again = (
        [part.shape for link in one.description.links for part in link.collisions]
        for one in (robot, mk.load_robot(text))
    )
    seen = f"{geometry.ngeoms} of {parts} parts of {len(shapes)} bodies arrive"
    return geometry.ngeoms == parts >= len(shapes) and again == shapes, seen


CASES: list[tuple[str, Case]] = [
    ("pictures: links listed child first, robots without joints", children_first),
    ("driver: a number that is not finite", driver_outlives_a_bad_number),
    ("driver: a web page", driver_refuses_web_pages),
    ("driver: stop beside idle clients", driver_serves_a_stop_beside_idle_clients),
    ("files: capsules in other readers of URDF", capsules_arrive_elsewhere),
]
