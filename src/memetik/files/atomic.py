"""Files written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from memetik.errors import InvalidInputError


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
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=path.suffix)
    except OSError as error:
        raise InvalidInputError(f"{str(path)!r} cannot be written: {error.strerror or error}.") from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        raise InvalidInputError(f"{str(path)!r} cannot be written: {error.strerror or error}.") from None
    finally:
        temporary.unlink(missing_ok=True)
