"""Files written whole or not at all, and temporary ones that do not outlive the next run.

A temporary file or folder is locked by the process that made it. Whoever makes one in the same place removes those that
nobody holds any more, such as those of a process that was killed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from memetik.errors import InvalidInputError

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed anyway
    fcntl = None

PREFIX = ".memetik-"
"""The names of temporary files begin with this, those of folders without the point."""


def write_whole(path: str | os.PathLike[str], data: str | bytes) -> Path:
    """Writes a file so that nobody sees half of it, and an old one survives whatever goes wrong."""
    with replacing(path) as temporary:
        temporary.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
    return Path(path)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Generator[Path]:
    """A new file beside `path`, with the same ending, that takes its name when the block has ended well."""
    path = Path(path)
    try:
        _sweep(path.parent, PREFIX)
        handle, temporary = _locked_file(path.parent, path.suffix)
    except OSError as error:
        raise InvalidInputError(f"{str(path)!r} cannot be written: {error.strerror or error}.") from None
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        raise InvalidInputError(f"{str(path)!r} cannot be written: {error.strerror or error}.") from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        os.close(handle)


@contextmanager
def temporary_folder() -> Generator[Path]:
    """A folder of its own, gone when the block ends; after a process that was killed, when another asks for one."""
    root = Path(tempfile.gettempdir())
    try:
        _sweep(root, PREFIX[1:])
        folder = Path(tempfile.mkdtemp(prefix=PREFIX[1:], dir=root))
        handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise InvalidInputError(f"no temporary folder can be made in {str(root)!r}: {error.strerror}.") from None
    _is_ours(handle)
    try:
        yield folder
    finally:
        os.close(handle)
        shutil.rmtree(folder, ignore_errors=True)


def _locked_file(folder: Path, suffix: str) -> tuple[int, Path]:
    """A new file that this process holds, and its path."""
    while True:
        handle, name = tempfile.mkstemp(dir=folder, prefix=PREFIX, suffix=suffix)
        _is_ours(handle)
        if os.path.exists(name):
            return handle, Path(name)
        os.close(handle)  # somebody swept it up before it was locked


def _sweep(folder: Path, prefix: str) -> None:
    """Removes what processes left behind that are gone."""
    with os.scandir(folder) as entries:
        names = [entry.path for entry in entries if entry.name.startswith(prefix)]
    for name in names if fcntl is not None else ():
        with suppress(OSError):  # gone, or another user's
            is_folder = os.path.isdir(name)
            handle = os.open(os.path.join(name, ".lock") if is_folder else name, os.O_RDWR | os.O_NOFOLLOW)
            try:
                if _is_ours(handle):
                    shutil.rmtree(name, ignore_errors=True) if is_folder else os.unlink(name)
            finally:
                os.close(handle)


def _is_ours(handle: int) -> bool:
    """Whether a file could be locked; the lock goes with the process."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: nothing is swept there
        return False
    return True
