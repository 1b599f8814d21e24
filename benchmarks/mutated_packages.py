"""Hostile package folders: random trees of packages, links and references that lead out of them.

Run: python benchmarks/mutated_packages.py [--count 5000] [--seed 0]
Each case loads a URDF or xacro file of such a tree. It must load or end in a typed error within two seconds, and no
file outside the stated folders (the file's package, found packages, the search path) may be opened: every `open` of the
interpreter is watched, and the meshes found are checked by where they really are.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import memetik as mk
from memetik.errors import MemetikError
from memetik.geometry.shapes import Mesh

MOST_SECONDS = 2.0
NAMES = ("arm", "hand", "tool", "arm_description", "secrets", "..", "etc", "home", "urdf", "meshes", "a b", "ü", "src")
STL = "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid\n"

_opened: list[str] = []


def main() -> int:
    """Run the cases and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    outcomes, violations = run(options.count, options.seed)
    print(f"{options.count} package folders: " + ", ".join(f"{n} {what}" for what, n in outcomes.most_common()))
    for violation in violations:
        print(f"  {violation}")
    print(f"{len(violations)} violations.")
    return 1 if violations else 0


def run(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Outcomes by name, and what should not have happened."""
    logging.disable(logging.WARNING)
    os.environ["MEMETIK_CACHE"] = "off"
    _watch()
    outcomes: Counter[str] = Counter()
    violations: list[str] = []
    for case in range(count):
        rng = random.Random(f"{seed} {case}")
        folder = Path(tempfile.mkdtemp(prefix="memetik-packages-")).resolve()
        try:
            outcome, wrong = _case(folder, rng)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        outcomes[outcome] += 1
        violations += [f"case {case} of seed {seed}: {what}" for what in wrong]
    return outcomes, violations


def _case(folder: Path, rng: random.Random) -> tuple[str, list[str]]:
    outside, inside = folder / "outside" / "deep", folder / "inside" / "ws" / "src"
    _fill_outside(outside)
    packages = [_package(inside / rng.choice(("", "group")) / f"p{k}", rng, outside) for k in range(rng.randint(1, 3))]
    path = _description(packages[0], rng, outside, packages)
    search_path = [str(rng.choice([inside, packages[-1], folder / "none"]))] if rng.random() < 0.5 else []
    _opened.clear()
    start = time.process_time()
    wrong: list[str] = []
    try:
        robot = mk.load_robot(path, search_path=search_path)
        outcome = "loaded"
        shapes = [geometry.shape for link in robot.description.links for geometry in (*link.collisions, *link.visuals)]
        found = [shape.path for shape in shapes if isinstance(shape, Mesh) and shape.path is not None]
        wrong += [f"mesh {name} is outside" for name in found if _is_outside(name, folder)]
    except MemetikError as error:
        outcome = type(error).__name__
    except Exception as error:
        outcome = f"{type(error).__name__} (untyped)"
        wrong.append(f"{type(error).__name__}: {error}")
    seconds = time.process_time() - start
    if seconds > MOST_SECONDS:
        wrong.append(f"takes {seconds:.1f} s")
    wrong += [f"opens {name}" for name in _opened if _is_outside(name, folder)]
    return outcome, wrong


def _is_outside(path: str, folder: Path) -> bool:
    real = os.path.realpath(path)
    return real.startswith(str(folder / "outside")) or real in ("/etc/passwd", "/etc/hosts")


def _fill_outside(outside: Path) -> None:
    for name in ("meshes", "urdf", "config"):
        (outside / name).mkdir(parents=True)
    (outside / "meshes" / "a.stl").write_text(STL)
    (outside / "urdf" / "part.xacro").write_text('<robot xmlns:xacro="x"><link name="stolen"/></robot>')
    (outside / "config" / "values.yaml").write_text("a: 1\n")
    (outside / "package.xml").write_text("<package><name>secrets</name></package>")
    (outside / "r.srdf").write_text('<robot name="r"/>')


def _package(root: Path, rng: random.Random, outside: Path) -> Path:
    for name in ("meshes", "urdf", "config", "srdf"):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "meshes" / "a.stl").write_text(STL)
    (root / "urdf" / "part.xacro").write_text(
        '<robot xmlns:xacro="http://ros.org/wiki/xacro">'
        '<xacro:macro name="m" params="n"><link name="${n}"/></xacro:macro></robot>'
    )
    stated = rng.choice([root.name, rng.choice(NAMES), "", None, "<name>" * 50])
    if stated is not None:
        (root / "package.xml").write_text(f"<package><name>{stated}</name></package>")
    targets = [outside, outside / "meshes" / "a.stl", outside / "urdf" / "part.xacro", outside / "package.xml",
               outside / "r.srdf", root, root.parent, Path("/etc/passwd"), Path("/"), root / "self"]  # fmt: skip
    places = ["meshes/l.stl", "meshes/folder", "urdf/l.xacro", "urdf/r.srdf", "srdf/r.srdf", "self", "loop",
              "package.xml", "config/values.yaml", "../arm", "../secrets", "../hand"]  # fmt: skip
    for _ in range(rng.randint(0, 6)):
        place = root / rng.choice(places)
        if place.is_file() or place.is_symlink():
            place.unlink()
        if not place.exists():
            place.symlink_to(rng.choice(targets))
    if rng.random() < 0.1 and not (root / "meshes" / "fifo.stl").exists():
        os.mkfifo(root / "meshes" / "fifo.stl")
    return root


def _description(root: Path, rng: random.Random, outside: Path, packages: list[Path]) -> Path:
    """A URDF or xacro file with references of every kind."""
    names = [*NAMES, *(package.name for package in packages)]
    inner = ["meshes/a.stl", "meshes/l.stl", "meshes/folder/meshes/a.stl", "self/self/meshes/l.stl", "loop/a.stl",
             "../../../../outside/deep/meshes/a.stl", "%2e%2e/%2e%2e/meshes/a.stl", "meshes/fifo.stl", "passwd",
             "deep/meshes/a.stl", "urdf/../meshes/./a.stl"]  # fmt: skip
    meshes = []
    for _ in range(rng.randint(1, 4)):
        name, rest = rng.choice(names), rng.choice(inner)
        forms = [f"package://{name}/{rest}", f"model://{name}/{rest}", f"../{rest}", f"file://{outside}/meshes/a.stl",
                 f"{outside}/meshes/a.stl", "/etc/passwd", f"file:///etc/../{outside}/meshes/a.stl", f"..\\{rest}",
                 "../" * rng.randint(1, 9) + f"outside/deep/{rest}", f"package:///{name}//{rest}", rest]  # fmt: skip
        meshes.append(rng.choice(forms))
    links = "".join(
        f'<link name="l{k}"><collision><geometry><mesh filename="{mesh}"/></geometry></collision></link>'
        f'<joint name="j{k}" type="fixed"><parent link="a"/><child link="l{k}"/></joint>'
        for k, mesh in enumerate(meshes)
    )
    if rng.random() < 0.5:
        path = root / "urdf" / "r.urdf"
        text = f'<robot name="r"><link name="a"/>{links}</robot>'
    else:
        path = root / "urdf" / "r.urdf.xacro"
        includes = ["part.xacro", "l.xacro", f"{outside}/urdf/part.xacro", "../" * 6 + "outside/deep/urdf/part.xacro",
                    f"$(find {rng.choice(names)})/urdf/part.xacro", f"{outside}/urdf/*.xacro", "../self/urdf/l.xacro",
                    "package://secrets/urdf/part.xacro", "r.urdf.xacro"]  # fmt: skip
        loads = [
            f"{outside}/config/values.yaml",
            "../config/values.yaml",
            f"$(find {rng.choice(names)})/config/values.yaml",
        ]
        body = f'<xacro:include filename="{rng.choice(includes)}"/>' if rng.random() < 0.8 else ""
        if rng.random() < 0.4:
            body += f'<xacro:property name="v" value="${{xacro.load_yaml(\'{rng.choice(loads)}\')}}"/>'
            body += "<xacro:if value=\"${v['a'] == 1}\"/>"
        text = f'<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro"><link name="a"/>{body}{links}</robot>'
    if path.is_symlink():
        path.unlink()
    path.write_text(text)
    return path


def _watch() -> None:
    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | bytes):
            _opened.append(os.fsdecode(arguments[0]))

    sys.addaudithook(hook)


if __name__ == "__main__":
    sys.exit(main())
