"""Mutated MJCF and SDF files: each loads or raises a typed error within 2 s, nothing is fetched, nothing crashes.

    python benchmarks/mutated_models.py [FOLDER ...] [--count 20000] [--seed 0]

Files are made from the models of the tests and from those below the given folders (unpacked packages), by the mutations
of mutated_files.py and by some of MJCF's own: copies of copies, models that attach themselves, includes that lead
elsewhere. A file counts as loaded when its robot has poses; world files are read as worlds too. The loading runs in a
process of its own; an audit hook notices attempts to connect, to start a program or to open a foreign file.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import random
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

import mutated_files
from mutated_files import HANG_SECONDS, MUTATIONS, SECONDS_ALLOWED, Report, print_table, try_loading

TESTS = Path(__file__).resolve().parents[1] / "tests"
MAX_TEXT = 300_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    start = time.perf_counter()
    report = run(given.count, given.seed, given.folders)
    print_table(report)
    print(f"{report.count} files in {time.perf_counter() - start:.0f} s")
    for violation in report.violations[:20]:
        print("VIOLATION:", violation)
    good = not report.violations and report.count == given.count
    print("every file loads or raises a typed error in time; nothing fetched" if good else "FAILED")
    return 0 if good else 1


def run(count: int, seed: int, folders: list[Path]) -> Report:
    """Load `count` mutated files and collect what happens."""
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        canary = Path(folder) / "canary.txt"
        canary.write_text("secret")
        first = 0
        while first < count and len(report.violations) < mutated_files.MOST_VIOLATIONS:
            first = _run_from(first, count, seed, folder, folders, report)
    return report


def _run_from(first: int, count: int, seed: int, folder: str, folders: list[Path], report: Report) -> int:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    worker = context.Process(target=_work, args=(sender, first, count, seed, folder, folders))
    worker.start()
    sender.close()
    done = first
    while done < count:
        try:
            if not receiver.poll(HANG_SECONDS):
                report.violations.append(f"case {done} of seed {seed} hangs")
                worker.kill()
                done += 1
                break
            family, outcome, seconds, violation = receiver.recv()
        except EOFError:
            report.violations.append(f"case {done} of seed {seed} crashes the process")
            done += 1
            break
        report.outcomes[family][outcome] += 1
        report.slowest[family] = max(report.slowest[family], seconds)
        report.violations.extend([violation] if violation else [])
        done += 1
    worker.join()
    return done


def _work(sender: Connection, first: int, count: int, seed: int, folder: str, folders: list[Path]) -> None:
    logging.disable(logging.CRITICAL)
    models = texts(folders)
    forbidden: list[str] = []
    mutated_files.watch(forbidden, Path(folder) / "canary.txt")
    inner = Path(folder) / "package" / "models"
    inner.mkdir(parents=True, exist_ok=True)
    (inner.parent / "package.xml").write_text("<package><name>models</name></package>")
    mutations = {**MUTATIONS, **OWN}
    for case in range(first, count):
        generator = random.Random(f"{seed}/{case}")
        kind = "mjcf" if case % 2 == 0 else "sdf"
        name = list(mutations)[(case // 2) % len(mutations)]
        text = generator.choice(models[kind])
        content = mutations[name](text, generator, "127.0.0.1:9", folder)
        path = inner / ("model.xml" if kind == "mjcf" else "model.sdf")
        path.write_bytes(content.replace(b"</robot>", b"</mujoco>" if kind == "mjcf" else b"</sdf>"))
        outcome, seconds, violation = _load(path)
        if seconds > SECONDS_ALLOWED:
            violation = f"takes {seconds:.1f} s"
        if forbidden:
            violation = f"does what it must not: {forbidden.pop()}"
        violation = violation and f"case {case} of seed {seed} ({kind} {name}): {violation}"
        sender.send((f"{kind} {name}", outcome, seconds, violation))
    sender.close()


def _load(path: Path) -> tuple[str, float, str]:
    import memetik as mk
    from memetik.errors import MemetikError

    outcome, seconds, violation = try_loading(lambda: mk.load_robot(path))
    try:
        mk.load_world(path)
    except MemetikError:
        pass
    except BaseException as error:
        violation = f"as a world: {type(error).__name__}: {str(error)[:200]}"
    return outcome, seconds, violation


def texts(folders: list[Path]) -> dict[str, list[str]]:
    """MJCF and SDF texts: those of the tests, and of the files below the folders."""
    for place in ("robot", "scene"):
        sys.path.insert(0, str(TESTS / place))
    import mechanisms
    import test_mjcf
    import test_sdf
    import test_world

    found = {
        "mjcf": [text for text, _, _ in mechanisms.MECHANISMS.values()]
        + [test_mjcf.ARM, test_mjcf.DEGREES, test_mjcf.HUMANOID_LEG, test_mjcf.SITES, test_mjcf.REPLICATED]
        + [test_mjcf.COUPLED % "", test_world.WORLD],
        "sdf": [test_sdf.ARM, test_world.SDF],
    }
    for kind, pattern, mark in (("mjcf", "*.xml", "<mujoco"), ("sdf", "*.sdf", "<sdf")):
        for path in sorted(path for folder in folders for path in folder.rglob(pattern)):
            text = path.read_text(errors="replace")
            if mark in text and len(text) < MAX_TEXT and not text.lstrip().startswith("<mujocoinclude"):
                found[kind].append(text)
    return found


def copies_of_copies(text: str, generator: random.Random, _host: str, _folder: str) -> bytes:
    """<replicate> within <replicate>, many times."""
    depth, count = generator.randint(1, 12), generator.choice([0, 2, 10, 1_000_000, -1])
    start = "".join(f'<replicate count="{count}" offset="0.1 0 0" sep="_{k}_">' for k in range(depth))
    return text.replace("<body", start + "<body", 1).replace("</body>", "</body>" + "</replicate>" * depth, 1).encode()


def attached_to_itself(text: str, generator: random.Random, _host: str, _folder: str) -> bytes:
    """A model that attaches or includes itself, or what is not there."""
    file = generator.choice(["model.xml", "../models/model.xml", "nothing.xml", "", "/etc/passwd"])
    asset = f'<asset><model name="m" file="{file}"/></asset>'
    attach = '<body name="holder"><attach model="m" prefix="p_"/></body>'
    include = f"<include><uri>{generator.choice(['model://models', 'model.sdf', file])}</uri></include>"
    text = text.replace("<worldbody>", f"{asset}<worldbody>{attach}", 1)
    return text.replace("<link", f"{include}<link", 1).encode()


def includes_elsewhere(text: str, generator: random.Random, _host: str, folder: str) -> bytes:
    """Includes and meshes that lead out of the package."""
    file = generator.choice(
        [f"{folder}/canary.txt", "../../canary.txt", "../../../../etc/passwd", "/etc/passwd", "a\0b"]
    )
    mesh = f'<asset><mesh name="secret" file="{file}"/></asset>'
    text = text.replace("<worldbody>", f'<include file="{file}"/>{mesh}<worldbody>', generator.randrange(2))
    return text.replace("<link", f"<include><uri>{file}</uri></include><link", 1).encode()


OWN = {
    "copies of copies": copies_of_copies,
    "attached to itself": attached_to_itself,
    "includes elsewhere": includes_elsewhere,
}

if __name__ == "__main__":
    sys.exit(main())
