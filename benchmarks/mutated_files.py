"""Mutated URDF and SRDF files: each loads or raises a typed error within 2 s, nothing is fetched, nothing crashes.

    python benchmarks/mutated_files.py [--count 20000] [--seed 0]

Half of the files are URDF, half SRDF, all made from the robots of example-robot-data. A file counts as loaded when
its Robot is built and its links have poses. The loading runs in a process of its own, so that a crash or a hang is
seen; an audit hook and a listening socket notice attempts to connect, to start a program or to open a foreign file.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import random
import re
import socket
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from memetik.robot.robot import Robot

SECONDS_ALLOWED = 2.0
HANG_SECONDS = 60.0
MOST_VIOLATIONS = 50

NUMBER = re.compile(r"(?<![\w.])-?\d+\.?\d*(?:[eE][-+]?\d+)?(?![\w.])")
QUOTED = re.compile(r'"[^"<]*"')
EXTREME = (
    *("nan", "NaN", "inf", "-inf", "1e308", "-1e308", "1e309", "1e400", "5e-324", "-0", "0", "1e9", "1e10", "1e16"),
    *("99999999999999999999", "0x10", "1,5", "", " ", "1_000", "٣", "1e", "--1", "1 2 3 4 5 6 7 8 9", "true", "1e-400"),
)


@dataclass
class Report:
    """What became of the files."""

    outcomes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    slowest: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    violations: list[str] = field(default_factory=list)
    reached: int = 0

    @property
    def count(self) -> int:
        return sum(sum(counter.values()) for counter in self.outcomes.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    start = time.perf_counter()
    report = run(arguments.count, arguments.seed)
    print_table(report)
    print(f"{report.count} files in {time.perf_counter() - start:.0f} s; {report.reached} connections received")
    for violation in report.violations[:20]:
        print("VIOLATION:", violation)
    good = not report.violations and report.reached == 0 and report.count == arguments.count
    print("every file loads or raises a typed error in time; nothing fetched" if good else "FAILED")
    return 0 if good else 1


def run(count: int, seed: int) -> Report:
    """Load `count` mutated files in a process of its own and collect what happens."""
    report = Report()
    with socket.create_server(("127.0.0.1", 0)) as server, tempfile.TemporaryDirectory() as folder:
        server.setblocking(False)
        canary = Path(folder) / "canary.txt"
        canary.write_text("secret")
        first = 0
        while first < count and len(report.violations) < MOST_VIOLATIONS:
            first = _run_from(first, count, seed, server.getsockname()[1], folder, report)
        while _accepted(server):
            report.reached += 1
    return report


def print_table(report: Report) -> None:
    kinds = sorted({kind for counter in report.outcomes.values() for kind in counter})
    header = ["mutation", "files", *kinds, "slowest ms"]
    rows = [header]
    for family, counter in sorted(report.outcomes.items()):
        cells = [str(counter[kind]) for kind in kinds]
        rows.append([family, str(sum(counter.values())), *cells, f"{report.slowest[family] * 1e3:.0f}"])
    totals = sum(report.outcomes.values(), Counter())
    slowest = max(report.slowest.values(), default=0.0)
    rows.append(["total", str(report.count), *(str(totals[kind]) for kind in kinds), f"{slowest * 1e3:.0f}"])
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    for row in rows:
        print(
            "  ".join(
                cell.ljust(width) if k == 0 else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
        )


def _run_from(first: int, count: int, seed: int, port: int, folder: str, report: Report) -> int:
    """Run cases from `first` on until done, a crash or a hang; gives the case to go on with."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context("spawn")
    worker = context.Process(target=_work, args=(sender, first, count, seed, port, folder))
    worker.start()
    sender.close()
    done = first
    while done < count:
        try:
            if not receiver.poll(HANG_SECONDS):
                report.violations.append(f"case {done} of seed {seed} hangs")
                report.outcomes["?"]["hang"] += 1
                worker.kill()
                done += 1
                break
            family, outcome, seconds, violation = receiver.recv()
        except EOFError:
            report.violations.append(f"case {done} of seed {seed} crashes the process")
            report.outcomes["?"]["crash"] += 1
            done += 1
            break
        report.outcomes[family][outcome] += 1
        report.slowest[family] = max(report.slowest[family], seconds)
        report.violations.extend([violation] if violation else [])
        done += 1
    worker.join()
    return done


def _work(sender: Connection, first: int, count: int, seed: int, port: int, folder: str) -> None:
    logging.disable(logging.CRITICAL)
    pairs = robot_pairs()
    forbidden: list[str] = []
    watch(forbidden, Path(folder) / "canary.txt")
    urdf_path, srdf_path = Path(folder) / "robot.urdf", Path(folder) / "robot.srdf"
    for case in range(first, count):
        generator = random.Random(f"{seed}/{case}")
        is_urdf = case % 2 == 0
        urdf, srdf = generator.choice(pairs if is_urdf else [pair for pair in pairs if pair[1] is not None])
        names = list(MUTATIONS)
        name = names[(case // 2) % len(names)]
        original = urdf if is_urdf else srdf or ""
        mutated = MUTATIONS[name](original, generator, f"127.0.0.1:{port}", folder)
        urdf_path.write_bytes(mutated if is_urdf else urdf.encode())
        srdf_path.write_bytes((srdf or "<robot/>").encode() if is_urdf else mutated)
        outcome, seconds, violation = _load(urdf_path, srdf_path)
        if seconds > SECONDS_ALLOWED:
            violation = f"takes {seconds:.1f} s"
        if forbidden:
            violation = f"does what it must not: {forbidden.pop()}"
        violation = violation and f"case {case} of seed {seed} ({name}): {violation}"
        sender.send((f"{'urdf' if is_urdf else 'srdf'} {name}", outcome, seconds, violation))
    sender.close()


def _load(urdf: Path, srdf: Path) -> tuple[str, float, str]:
    from memetik.robot.load import load_description
    from memetik.robot.robot import Robot

    return try_loading(lambda: Robot(load_description(urdf, srdf=srdf)))


def try_loading(load: Callable[[], Robot]) -> tuple[str, float, str]:
    """Load a robot; gives the outcome, the seconds it took, and what is wrong with that, if anything.

    Loading waits for nothing, so the processor's seconds are what it takes on a machine that does nothing else.
    """
    from memetik.errors import MemetikError

    violation = ""
    start = time.process_time()
    try:
        robot = load()
        configuration = robot.q()
        for link in robot.links[:50]:
            robot.pose(link, configuration)
        outcome = "loaded"
    except MemetikError as error:
        outcome = type(error).__name__
        if not 0 < len(str(error).strip()) < 3000:
            violation = f"the message has {len(str(error))} characters"
    except BaseException as error:  # the point of this program is to see them all
        outcome = f"UNTYPED {type(error).__name__}"
        violation = f"{type(error).__name__}: {str(error)[:200]}"
    return outcome, time.process_time() - start, violation


def watch(forbidden: list[str], canary: Path) -> None:
    """Collects attempts to connect, to start a program or to open a foreign file."""

    def hook(event: str, arguments: tuple) -> None:
        if event in ("socket.connect", "socket.getaddrinfo", "urllib.Request", "subprocess.Popen", "os.system"):
            forbidden.append(f"{event} {arguments!r:.100}")
        elif event == "open" and str(arguments[0]) in (str(canary), "/etc/passwd"):
            forbidden.append(f"open {arguments[0]}")

    sys.addaudithook(hook)


def robot_pairs() -> list[tuple[str, str | None]]:
    """URDF texts with the SRDF text that belongs to each, of example-robot-data."""
    import pinocchio

    from memetik.robot.readers.srdf import find_srdf

    root = next(p for p in Path(pinocchio.__file__).parents if (p / "share/example-robot-data").is_dir())
    pairs = []
    for path in sorted((root / "share/example-robot-data/robots").rglob("*.urdf")):
        text = path.read_text(errors="replace")
        if "<link" in text:
            found = find_srdf(str(path), "")
            pairs.append((text, Path(found).read_text(errors="replace") if found else None))
    return pairs


def _accepted(server: socket.socket) -> bool:
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def edit_elements(text: str, generator: random.Random, _host: str, _folder: str) -> bytes:
    """Remove, repeat, move, rename and empty elements."""
    tree = ElementTree.fromstring(text.lstrip())
    for _ in range(generator.randint(1, 6)):
        parents = [element for element in tree.iter() if len(element)]
        if not parents:
            break
        parent, other = generator.choice(parents), generator.choice(parents)
        child = generator.choice(list(parent))
        action = generator.randrange(6)
        if action == 0:
            parent.remove(child)
        elif action == 1:
            parent.append(child)
        elif action == 2 and child is not other and other not in list(child.iter()):
            other.append(child)
        elif action == 3:
            child.tag = generator.choice(["link", "joint", "x", "geometry", "origin", "group", "memetik", "mimic"])
        elif action == 4:
            child.clear()
        elif child.attrib:
            del child.attrib[generator.choice(list(child.attrib))]
    return _serialised(tree)


def edit_attributes(text: str, generator: random.Random, _host: str, _folder: str) -> bytes:
    """Exchange attribute values for others of the file, for strange words, or for very long ones."""
    values = QUOTED.findall(text)
    words = [
        '""',
        '"x"',
        '"\u0000"',
        '"world"',
        '"fixed"',
        '"floating"',
        '"' + "a" * 100_000 + '"',
        '"🤖"',
        '"&lt;&#0;"',
    ]

    def exchange(match: re.Match[str]) -> str:
        if generator.random() > 3.0 / max(3, len(values)):
            return match.group()
        return generator.choice(values if generator.random() < 0.6 else words)

    return QUOTED.sub(exchange, text).encode(errors="replace")


def extreme_numbers(text: str, generator: random.Random, _host: str, _folder: str) -> bytes:
    """Replace numbers by extreme or malformed ones."""
    count = len(NUMBER.findall(text))
    share = generator.choice([1.0, 3.0, 0.2 * count]) / max(1, count)
    return NUMBER.sub(lambda m: generator.choice(EXTREME) if generator.random() < share else m.group(), text).encode()


def broken_bytes(text: str, generator: random.Random, _host: str, _folder: str) -> bytes:
    """Flip, insert, remove bytes; cut the file."""
    content = bytearray(text.encode())
    for _ in range(generator.choice([1, 1, 2, 20])):
        place = generator.randrange(len(content) + 1)
        action = generator.randrange(4)
        if action == 0:
            content[place : place + 1] = generator.randbytes(1)
        elif action == 1:
            content[place:place] = generator.randbytes(generator.randint(1, 30))
        elif action == 2:
            del content[place : place + generator.randint(1, 200)]
        elif generator.random() < 0.1 and place:
            del content[place:]
    return bytes(content)


def deep_nesting(text: str, generator: random.Random, _host: str, _folder: str) -> bytes:
    """Nest elements deeply somewhere in the file."""
    depth = generator.choice([10, 500, 1_990, 5_000, 100_000])
    tag = generator.choice(["a", "link", "joint", "robot", "group", "geometry", "default"])
    inner = f"<{tag}>" * depth + f"</{tag}>" * depth
    place = generator.choice([m.end() for m in re.finditer(r"(?<!-)>", text)])
    return (text[:place] + inner + text[place:]).encode()


def entity_bombs(text: str, generator: random.Random, _host: str, _folder: str) -> bytes:
    """Entities that grow exponentially or quadratically, or refer to themselves."""
    levels = generator.randint(5, 30)
    kind = generator.randrange(3)
    if kind == 0:
        entities = '<!ENTITY e0 "ha">' + "".join(f'<!ENTITY e{k + 1} "{f"&e{k};" * 10}">' for k in range(levels))
    elif kind == 1:
        entities = f'<!ENTITY e{levels} "{"x" * 100_000}">'
    else:
        entities = f'<!ENTITY e{levels} "&e{levels};">'
    use = f"&e{levels};" * (1000 if kind == 1 else 1)
    return _with_document_type(text, f"<!DOCTYPE robot [{entities}]>", use)


def external_entities(text: str, generator: random.Random, host: str, folder: str) -> bytes:
    """Document types, entities, includes and meshes that lead to other files and machines."""
    place = generator.choice(
        [
            f"http://{host}/x",
            f"file://{folder}/canary.txt",
            f"{folder}/canary.txt",
            "file:///etc/passwd",
            f"ftp://{host}/",
        ]
    )
    kind = generator.randrange(5)
    if kind == 0:
        return _with_document_type(text, f'<!DOCTYPE robot SYSTEM "{place}">', "")
    if kind == 1:
        return _with_document_type(text, f'<!DOCTYPE robot [<!ENTITY e SYSTEM "{place}">]>', "&e;")
    if kind == 2:
        return _with_document_type(text, f'<!DOCTYPE robot [<!ENTITY % e SYSTEM "{place}">%e;]>', "")
    if kind == 3:
        include = f'<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="{place}"/><include file="{place}"/>'
        return re.sub(r"(<robot[^>]*>)", lambda m: m.group() + include, text, count=1).encode()
    return re.sub(r'filename="[^"]*"', f'filename="{place}"', text).encode()


def cyclic_references(text: str, generator: random.Random, _host: str, _folder: str) -> bytes:
    """Let joints, mimics and groups refer to each other in circles."""
    tree = ElementTree.fromstring(text.lstrip())
    links = [element.get("name", "") for element in tree.findall("link")]
    joints = tree.findall("joint")
    groups = tree.findall("group")
    for _ in range(generator.randint(1, 5)):
        for group in generator.sample(groups, min(2, len(groups))):
            ElementTree.SubElement(group, "group", name=generator.choice(groups).get("name", ""))
        for joint in generator.sample(joints, min(2, len(joints))):
            end = joint.find(generator.choice(["parent", "child"]))
            if generator.random() < 0.5 or end is None:
                ElementTree.SubElement(joint, "mimic", joint=generator.choice(joints).get("name", ""))
            elif links:
                end.set("link", generator.choice(links))
    return _serialised(tree)


def many_elements(text: str, generator: random.Random, _host: str, _folder: str) -> bytes:
    """Repeat elements thousands of times, under their own or under new names."""
    tree = ElementTree.fromstring(text.lstrip())
    element = generator.choice(list(tree)) if len(tree) else tree
    body = ElementTree.tostring(element, encoding="unicode")
    count = generator.choice([10, 100, 300, 300, 3_000, 30_000])
    numbered = generator.random() < 0.7
    copies = (re.sub(r'name="', f'name="c{k}', body) if numbered else body for k in range(count))
    limited = _up_to(copies, 40_000_000)
    return text.replace("</robot>", limited + "</robot>").encode()


def _up_to(parts: Iterator[str], most: int) -> str:
    chosen, size = [], 0
    for part in parts:
        size += len(part)
        if size > most:
            break
        chosen.append(part)
    return "".join(chosen)


def _with_document_type(text: str, document_type: str, use: str) -> bytes:
    body = re.sub(r"^\s*<\?xml.*?\?>", "", text, flags=re.DOTALL)
    body = re.sub(r'name="', f'name="{use}', body, count=1)
    return (document_type + body).encode()


def _serialised(tree: ElementTree.Element) -> bytes:
    return ElementTree.tostring(tree, encoding="unicode").encode(errors="replace")


MUTATIONS: dict[str, Callable[[str, random.Random, str, str], bytes]] = {
    "edited elements": edit_elements,
    "edited attributes": edit_attributes,
    "extreme numbers": extreme_numbers,
    "broken bytes": broken_bytes,
    "deep nesting": deep_nesting,
    "entity bombs": entity_bombs,
    "external entities": external_entities,
    "cyclic references": cyclic_references,
    "many elements": many_elements,
}

if __name__ == "__main__":
    sys.exit(main())
