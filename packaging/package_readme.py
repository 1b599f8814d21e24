"""The README as the package's page shows it: addresses in place of paths in the repository.

scikit-build-core asks for it when it builds the package. The repository's address is that of [project.urls].
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def dynamic_metadata(field: str, settings: Mapping[str, Any] | None = None) -> dict[str, str]:
    """The metadata's entry "readme"."""
    if field != "readme" or settings:
        raise RuntimeError("this gives the field 'readme' and takes no settings.")
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    return {"content-type": "text/markdown", "text": absolute(urls["Repository"])}


def absolute(repository: str) -> str:
    """The README with pictures and documents at their addresses."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"(!\[[^\]]*\]\()(?!https?:)([^)]+)", rf"\1{repository}/raw/main/\2", text)
    return re.sub(r"(?<!!)(\[[^\]]*\]\()(?!https?:|#)([^)]+)", rf"\1{repository}/blob/main/\2", text)
