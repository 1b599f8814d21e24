"""Addresses of the documentation, from pyproject.toml: mkdocs reads this file when it starts."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """The site's and the repository's address."""
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    urls = tomllib.loads(text)["project"]["urls"]
    config["site_url"], config["repo_url"] = f"{urls['Documentation']}/", urls["Repository"]
    config["repo_name"] = urls["Repository"].removeprefix("https://github.com/")
    return config
