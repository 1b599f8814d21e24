"""The command line: `memetik VERB`. One file a verb."""

from memetik.cli.app import main

__all__ = ["main"]
