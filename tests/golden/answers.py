"""Recorded answers: how values are kept without losing a bit, how answers differ, and where they came from."""

from __future__ import annotations

import base64
import gzip
import json
import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "answers"

PACKAGES = ("numpy", "scipy", "coal", "nlopt", "EAIK", "numba", "toppra", "ruckig", "threadpoolctl")
"""Packages whose versions may change answers that pass through them."""


def encoded(value: Any) -> Any:
    """A value as JSON data; floating-point numbers by their bytes."""
    if isinstance(value, float | np.floating):
        return {"f8": _text(np.array(value, dtype="<f8"))}
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return {"f8": _text(value.astype("<f8")), "shape": list(value.shape)}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: encoded(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [encoded(entry) for entry in value]
    return value


def decoded(value: Any) -> Any:
    """What `encoded` was given, arrays and numbers as arrays."""
    if isinstance(value, dict) and "f8" in value:
        return np.frombuffer(base64.b64decode(value["f8"]), dtype="<f8").reshape(value.get("shape", ()))
    return value


def _text(array: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str | None:
    """In which values two answers differ and by how much; None where all bits are equal."""
    changed = [key for key in (*old, *(key for key in new if key not in old)) if old.get(key) != new.get(key)]
    return ", ".join(_change(key, old.get(key), new.get(key)) for key in changed) or None


def _change(key: str, old: Any, new: Any) -> str:
    before, after = decoded(old), decoded(new)
    if not (isinstance(before, np.ndarray) and isinstance(after, np.ndarray)):
        return f"{key}: {str(before)[:80]} -> {str(after)[:80]}"
    if before.shape != after.shape:
        return f"{key}: shape {before.shape} -> {after.shape}"
    moved = np.nanmax(np.abs(after - before), initial=0.0)
    return f"max |d{key}| = {moved:.3g} ({int((before != after).sum())} of {before.size} numbers)"


def load(name: str, folder: Path = FOLDER) -> dict[str, Any]:
    """The recorded answers of an instruction set: {"environment": ..., "cases": {id: {...}}}."""
    return json.loads(gzip.decompress((folder / f"{name}.json.gz").read_bytes()))


def save(name: str, content: Mapping[str, Any], folder: Path = FOLDER) -> Path:
    """Writes the answers of an instruction set; the same content gives the same file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json.gz"
    text = json.dumps(content, separators=(",", ":"), sort_keys=True)
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))
    return path


def environment() -> dict[str, Any]:
    """What chooses the code between the core and the processor: packages, BLAS kernels, SIMD features of numpy."""
    import scipy.linalg  # noqa: F401, loads scipy's own BLAS
    import threadpoolctl
    from numpy._core._multiarray_umath import __cpu_features__

    blas = {(pool.get("internal_api"), pool.get("version"), pool.get("architecture"))
            for pool in threadpoolctl.threadpool_info()}  # fmt: skip
    return {
        "machine": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "blas": sorted(" ".join(map(str, pool)) for pool in blas),
        "simd": sorted(name for name, present in __cpu_features__.items() if present),
    }


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "missing"
