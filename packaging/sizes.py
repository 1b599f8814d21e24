"""Prints what an install of memetik takes on the disk: plain, and with each extra.

Run: python packaging/sizes.py [--only scene,motion]

The sizes are those of this environment's installed files: for an extra, those of all packages that it brings beyond the
plain install. Packages that are not installed here are named instead.
"""

from __future__ import annotations

import argparse
import importlib.metadata as metadata
import sys
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

NAME = "memetik"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="extras, separated by commas")
    options = parser.parse_args()
    extras = metadata.metadata(NAME).get_all("Provides-Extra") or []
    asked = [extra for extra in options.only.split(",") if extra] or [extra for extra in extras if extra != "all"]
    plain, _ = closure("")
    own = size_of(NAME) or 0.0
    print(f"| install | MB | of these |\n|---|---|---|\n| plain | {total(plain) + own:.1f} | {largest(plain)} |")
    for extra in asked:
        needed, missing = closure(extra)
        beyond = needed - plain
        note = f"; not installed here: {', '.join(sorted(missing))}" if missing else ""
        print(f"| [{extra}] | +{total(beyond):.1f} | {largest(beyond)}{note} |")
    return 0


def closure(extra: str) -> tuple[set[str], set[str]]:
    """The packages that memetik with this extra needs, and those of them that are not installed."""
    found: set[str] = set()
    missing: set[str] = set()
    waiting = [(NAME, frozenset({extra}))]
    seen = set(waiting)
    while waiting:
        name, extras = waiting.pop()
        try:
            requirements = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            missing.add(name)
            continue
        if name != NAME:
            found.add(name)
        for text in requirements:
            requirement = Requirement(text)
            marker = requirement.marker
            if marker and not any(marker.evaluate({"extra": one}) for one in (extras or {""})):
                continue
            entry = (canonicalize_name(requirement.name), frozenset(requirement.extras) | {""})
            if entry not in seen:
                seen.add(entry)
                waiting.append(entry)
    return found, missing


def size_of(name: str) -> float | None:
    """Megabytes of a package's files."""
    files = metadata.files(name)
    if files is None:
        return None
    paths = {Path(str(file.locate())) for file in files if ".pyc" not in str(file)}
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def total(names: set[str]) -> float:
    return sum(size_of(name) or 0.0 for name in names)


def largest(names: set[str], count: int = 4) -> str:
    sizes = sorted(((size_of(name) or 0.0, name) for name in names), reverse=True)[:count]
    return ", ".join(f"{name} {size:.1f}" for size, name in sizes) or "nothing"


if __name__ == "__main__":
    sys.exit(main())
