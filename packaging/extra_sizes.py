"""Prints how much each extra of the package installs: packages and megabytes beyond the plain install.

Run: python packaging/extra_sizes.py        in an environment that has them
"""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution, requires


def main() -> None:
    plain = _closure("memetik", "")
    print(f"{'extra':10}{'packages':>9}{'MB':>8}")
    print(f"{'(plain)':10}{len(plain):>9}{_size(plain):>8.0f}")
    extras = dict.fromkeys(re.findall(r'extra == "(\w+)"', " ".join(requires("memetik") or [])))
    for extra in extras:
        added = _closure("memetik", extra) - plain
        missing = [name for name in added if not _there(name)]
        note = f"  not installed here: {', '.join(missing)}" if missing else ""
        print(f"{extra:10}{len(added):>9}{_size(added):>8.0f}{note}")


def _closure(name: str, extra: str, seen: frozenset[str] = frozenset()) -> set[str]:
    """What a package requires, directly or not."""
    found: set[str] = set()
    for line in (requires(name) or []) if _there(name) else []:
        need, _, condition = line.partition(";")
        if "extra" in condition and f'"{extra}"' not in condition:
            continue
        own = re.split(r"[\s\[<>=!~(;]", need.strip())[0].lower().replace("_", "-")
        if own == "memetik":
            for inner in re.search(r"\[(.*?)\]", need)[1].split(","):
                found |= _closure("memetik", inner)
        elif own not in seen and not re.search(r"(win32|Windows|< ?\"3\.)", condition):
            found |= {own} | _closure(own, "", seen | found | {own})
    return found


def _there(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def _size(names: set[str]) -> float:
    files = (file for name in names if _there(name) for file in distribution(name).files or [])
    return sum(path.stat().st_size for file in files if (path := file.locate()).is_file()) / 1e6


if __name__ == "__main__":
    main()
