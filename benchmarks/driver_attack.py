"""A driver server under attack: mutated messages, and clients that are slow, that flood, that never answer.

    python benchmarks/driver_attack.py --mutants 100000

Every mutant must be answered or its connection ended; the server must go on serving, a stop by another connection must
reach the arm meanwhile, and the arm must be at rest when whoever moved it is gone. Fails where one of these does not
hold.
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import numpy as np

import memetik as mk
from memetik.motion.execution import tcp_protocol
from memetik.motion.execution.driver import ExactDriver
from memetik.motion.execution.driver_server import DriverServer
from memetik.motion.execution.tcp import TcpDriver
from memetik.motion.timing.trajectory import Trajectory

PATIENCE = 30.0
NUMBERS = (
    b"1e999",
    b"-1e999",
    b"NaN",
    b"-Infinity",
    b"1e308",
    b"9" * 400,
    b"null",
    b"true",
    b'"x"',
    b"[]",
    b"-0",
    b"1e-400",
)
TOKENS = (
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b'"',
    b"\\u0000",
    b"\\ud800",
    b"\xff",
    b"\x00",
    b"[" * 300,
    b'{"a":' * 300,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    counts, slowest = attack(given.mutants, given.seed)
    for name, count in sorted(counts.items()):
        print(f"  {count:8}  {name}")
    print(f"  slowest stop by another connection: {1e3 * slowest:.1f} ms")


def attack(mutants: int, seed: int = 0) -> tuple[Counter[str], float]:
    """What became of the mutants, and the longest time a stop by another connection took, seconds."""
    robot = mk.load_robot("ur5")
    driver = ExactDriver(robot, np.zeros(robot.dof))
    with DriverServer(driver, idle=2.0) as server, besieged(server):
        counts, slowest = _send_mutants(server, driver, random.Random(seed), mutants)
        slowest = max(slowest, _stop_time(server, driver))
    if driver.state().moving and not _comes_to_rest(driver):
        raise SystemExit("the arm moves although the server is closed.")
    return counts, slowest


@contextmanager
def besieged(server: DriverServer) -> Iterator[None]:
    """A slow, a flooding, a deaf and a half-open client while this lasts."""
    ended = threading.Event()
    threads = [
        threading.Thread(target=one, args=(server, ended), daemon=True) for one in (_slow, _flood, _deaf, _half_open)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join(PATIENCE)


def hello(server: DriverServer) -> bytes:
    return json.dumps({"schema": tcp_protocol.SCHEMA, "command": "hello", "token": server.token}).encode() + b"\n"


def _each_time(server: DriverServer, ended: threading.Event, act: Callable[[socket.socket], None]) -> None:
    while not ended.is_set():
        with suppress(OSError), socket.create_connection(server.address, timeout=1.0) as raw:
            act(raw)


def _slow(server: DriverServer, ended: threading.Event) -> None:
    """A letter every now and then, with and without the token."""

    def act(raw: socket.socket) -> None:
        raw.sendall(hello(server))
        for letter in b'{"schema": "memetik.driver/2", "command": "state"':
            if ended.wait(0.2):
                return
            raw.sendall(bytes([letter]))

    _each_time(server, ended, act)


def _flood(server: DriverServer, ended: threading.Event) -> None:
    """Questions as fast as they go, whose answers are thrown away, and a line without end."""
    question = json.dumps({"schema": tcp_protocol.SCHEMA, "command": "state"}).encode() + b"\n"

    def act(raw: socket.socket) -> None:
        raw.sendall(hello(server))
        for _ in range(20):
            raw.sendall(question * 20)
            raw.recv(1 << 16)
            if ended.wait(0.01):
                return
        raw.sendall(b"x" * 100_000)

    _each_time(server, ended, act)


def _deaf(server: DriverServer, ended: threading.Event) -> None:
    """Asks and never reads: the server's answers have nowhere to go."""
    question = json.dumps({"schema": tcp_protocol.SCHEMA, "command": "state"}).encode() + b"\n"

    def act(raw: socket.socket) -> None:
        raw.sendall(hello(server))
        for _ in range(50):
            raw.sendall(question * 50)
            if ended.wait(0.02):
                return

    _each_time(server, ended, act)


def _half_open(server: DriverServer, ended: threading.Event) -> None:
    """Connections that say nothing, or half a hello, and stay."""
    kept: list[socket.socket] = []
    while not ended.wait(0.1):
        with suppress(OSError):
            raw = socket.create_connection(server.address, timeout=1.0)
            raw.sendall(hello(server)[: len(kept) % 40])
            kept.append(raw)
        if len(kept) > 100:
            kept.pop(0).close()
    for raw in kept:
        raw.close()


def _send_mutants(
    server: DriverServer, driver: ExactDriver, random_: random.Random, mutants: int
) -> tuple[Counter[str], float]:
    counts: Counter[str] = Counter()
    slowest, raw, lines = 0.0, None, None
    seeds = _messages(driver)
    for number in range(mutants):
        if raw is None or lines is None:
            raw = socket.create_connection(server.address, timeout=PATIENCE)
            lines = raw.makefile("rb")
            if random_.random() < 0.9:
                raw.sendall(hello(server))
                if not json.loads(lines.readline())["ok"]:
                    raise SystemExit("the server refuses a client that has the token.")
        try:
            raw.sendall(mutated(random_.choice(seeds), random_) + b"\n")
            answer = json.loads(lines.readline() or "{}")
        except (OSError, TimeoutError):
            answer = {}
        counts["accepted" if answer.get("ok") else "refused" if "error" in answer else "hung up"] += 1
        if not answer or random_.random() < 0.01:
            lines.close()
            raw.close()
            raw = lines = None
        if number % 2000 == 1999:
            slowest = max(slowest, _stop_time(server, driver))
    if raw is not None and lines is not None:
        lines.close()
        raw.close()
    return counts, slowest


def mutated(message: bytes, random_: random.Random) -> bytes:
    """A message with one to three changes, in one line."""
    text = bytearray(message)
    for _ in range(random_.randint(1, 3)):
        at = random_.randrange(len(text) + 1)
        kind = random_.randrange(8)
        if kind == 0:
            text[at : at + random_.randint(1, 8)] = b""
        elif kind == 1:
            text[at:at] = random_.choice(TOKENS)
        elif kind == 2:
            text[at : at + 1] = bytes([random_.randrange(256)])
        elif kind == 3:
            text[at:at] = text[: random_.randrange(len(text) + 1)]
        else:
            digits = [k for k, letter in enumerate(text) if 48 <= letter < 58]
            if digits:
                place = random_.choice(digits)
                text[place : place + 1] = random_.choice(NUMBERS)
    return bytes(text).replace(b"\n", b" ")


def _messages(driver: ExactDriver) -> list[bytes]:
    q = driver.state().q
    way = Trajectory.from_points(driver.joint_names, [0.0, 1.0, 2.0], [q, q + 0.3, q])
    plain = {key: value for key, value in way.to_dict().items() if key != "coefficients"}
    contents = [
        {"command": "state"},
        {"command": "stop"},
        {"command": "wait", "seconds": 0.005},
        {"command": "send", "trajectory": way.to_dict()},
        {"command": "send", "trajectory": plain},
    ]
    return [json.dumps({"schema": tcp_protocol.SCHEMA, **content}).encode() for content in contents]


def _stop_time(server: DriverServer, driver: ExactDriver) -> float:
    began = time.perf_counter()
    with TcpDriver(server.url, timeout=PATIENCE) as another:
        another.stop()
    took = time.perf_counter() - began
    if not _comes_to_rest(driver):
        raise SystemExit("a stop by another connection did not reach the arm.")
    return took


def _comes_to_rest(driver: ExactDriver) -> bool:
    driver.wait(2.0)
    return not driver.state().moving


if __name__ == "__main__":
    main()
