"""Records the golden answers, or compares the code as it is with them.

    python tests/golden/record.py [--set avx2]              write answers/<instruction set>.json.gz
    python tests/golden/record.py --compare [--filter text] compare, on the best instruction set or on --set

The code is the memetik that Python imports. An instruction set is chosen when the core is loaded, so each runs in a
process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import answers


def run_cases(text: str = "", *, core: bool = False, progress: bool = False) -> dict[str, Any]:
    """Runs the cases in this process: {"environment", "architecture", "cases": {id: {"answer" or "skipped", ...}}}."""
    from cases import all_cases

    from memetik import _core

    results: dict[str, Any] = {}
    for case in all_cases():
        if text not in case.id or (core and not case.core):
            continue
        if case.missing:
            results[case.id] = {"skipped": f"needs {', '.join(case.missing)}"}
            continue
        begin = time.perf_counter()
        try:
            entry = {"answer": answers.encoded(case.run())}
        except Exception as error:
            entry = {"answer": {}, "failed": f"{type(error).__name__}: {error}"}
        seconds = round(time.perf_counter() - begin, 5)
        results[case.id] = {**entry, "seconds": seconds, "blas": case.blas}
        if progress:
            print(f"{seconds * 1e3:9.1f} ms  {case.id}", file=sys.stderr)
    return {"environment": answers.environment(), "architecture": _core.architecture(), "cases": results}


def run_apart(architecture: str, text: str = "", *, core: bool = False, **variables: str) -> dict[str, Any]:
    """The same in a process of its own, on an instruction set, with further environment variables.

    Nothing is taken from the cache on disk: what is derived from shapes is part of what must not change.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.json"
        command = [sys.executable, __file__, "--run", str(path), "--filter", text, *(["--core"] if core else [])]
        settings = {"MEMETIK_ARCH": architecture, "MEMETIK_CACHE": "off", **variables}
        done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"the cases could not be run on {architecture}:\n{done.stderr[-4000:]}")
        return json.loads(path.read_text())


def record(architecture: str) -> None:
    """Writes the answers of an instruction set.

    They are computed a second time with other kernels of BLAS and numpy: what changes is marked, and compared only
    where these are the same.
    """
    from numpy._core._multiarray_umath import __cpu_dispatch__

    found = run_apart(architecture)
    other = run_apart(architecture, OPENBLAS_CORETYPE="Haswell", NPY_DISABLE_CPU_FEATURES=" ".join(__cpu_dispatch__))
    failed = [f"{name}: {entry['failed']}" for name, entry in found["cases"].items() if "failed" in entry]
    if failed:
        raise SystemExit("nothing is written, because cases failed:\n  " + "\n  ".join(failed))
    marked = []
    for name, entry in found["cases"].items():
        if entry.get("answer") != other["cases"][name].get("answer") and not entry["blas"]:
            entry["blas"] = True
            marked.append(name)
    path = answers.save(architecture, found)
    print(f"{path}: {len(found['cases'])} cases, {path.stat().st_size} bytes")
    print(f"depend on BLAS or numpy, though not declared so: {', '.join(marked) or 'none'}")


def compare(
    architecture: str, text: str = "", *, core: bool = False, folder: Path = answers.FOLDER
) -> tuple[int, dict[str, str], dict[str, str]]:
    """How many cases are equal; those that differ, with what differs; those that were not compared, with why."""
    recorded, found = answers.load(architecture, folder), run_apart(architecture, text, core=core)
    same_place = recorded["environment"] == found["environment"]
    equal, different, skipped = 0, {}, {}
    for name, entry in found["cases"].items():
        old = recorded["cases"].get(name, {})
        if "skipped" in entry or "answer" not in old:
            skipped[name] = entry.get("skipped") or old.get("skipped") or "not recorded"
        elif old["blas"] and not same_place:
            skipped[name] = "recorded with other versions or kernels of BLAS, numpy or scipy"
        elif "failed" in entry:
            different[name] = entry["failed"]
        elif change := answers.difference(old["answer"], entry["answer"]):
            different[name] = change
        else:
            equal += 1
    for name in recorded["cases"]:
        if text in name and name not in found["cases"] and not core:
            different[name] = "recorded, but no longer among the cases"
    return equal, different, skipped


def summary(equal: int, different: dict[str, str], skipped: dict[str, str]) -> str:
    """The outcome of `compare` in lines."""
    lines = [f"{equal} equal, {len(different)} different, {len(skipped)} not compared"]
    lines += [f"  DIFFERENT {name}: {change}" for name, change in different.items()]
    lines += [f"  not compared {name}: {reason}" for name, reason in skipped.items()]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", help="an instruction set: baseline, avx2, avx512, ...")
    parser.add_argument("--compare", action="store_true", help="compare with what is recorded")
    parser.add_argument("--filter", default="", help="only cases whose name has this text")
    parser.add_argument("--core", action="store_true", help="only cases of the core")
    parser.add_argument("--folder", type=Path, default=answers.FOLDER, help="where the answers are")
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        given.run.write_text(json.dumps(run_cases(given.filter, core=given.core)))
        return 0
    from memetik import _core

    if given.compare:
        begin = time.perf_counter()
        equal, different, skipped = compare(
            given.set or _core.architecture(), given.filter, core=given.core, folder=given.folder
        )
        print(summary(equal, different, skipped))
        print(f"{time.perf_counter() - begin:.1f} s")
        return 1 if different else 0
    for architecture in [given.set] if given.set else _core.architectures():
        record(architecture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
