"""ROS's NAME:=VALUE on the command line. It is read before any verb is loaded, so nothing heavy is imported here."""

from __future__ import annotations

import re
from collections.abc import Sequence


def argument_words(words: Sequence[str]) -> list[str]:
    """Command line words with ROS's NAME:=VALUE as --arg NAME:=VALUE."""
    result: list[str] = []
    for word in words:
        if re.match(r"[A-Za-z_]\w*:=", word) and (not result or result[-1] != "--arg"):
            result.append("--arg")
        result.append(word)
    return result
