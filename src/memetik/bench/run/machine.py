"""Where results come from: the machine, and the versions of what was measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def machine_facts() -> dict[str, Any]:
    """Processor, cores that may be used, memory in bytes, operating system."""
    return {"cpu": _cpu(), "cores": len(usable_cores()), "memory": _memory(), "system": platform.platform(terse=True)}


def usable_cores() -> list[int]:
    """The numbers of the cores that this process may use, or of all where the system does not say."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def package_versions(names: Iterable[str] = ("numpy", "scipy", "coal")) -> dict[str, str]:
    """Versions of Python, memetik and some packages, of those that are installed."""
    from importlib.metadata import PackageNotFoundError, version

    import memetik

    found = {"python": platform.python_version(), "memetik": memetik.__version__}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0
