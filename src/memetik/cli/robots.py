"""`memetik robots`: the robots that come with the package."""

from __future__ import annotations

from dataclasses import asdict

from memetik.cli.options import OutputOptions
from memetik.cli.output import print_json, print_table
from memetik.robot import bundled


def robots(options: OutputOptions) -> None:
    summaries = [bundled.summary(name) for name in bundled.names()]
    if options.as_json:
        print_json("memetik.robots/1", {"robots": [asdict(summary) for summary in summaries]})
        return
    rows = [(s.name, s.dof, s.joints, s.links, ", ".join(s.tips), ", ".join(s.groups), s.title) for s in summaries]
    print_table(("name", ">dof", ">joints", ">links", "~tips", "~groups", "~robot"), rows)
