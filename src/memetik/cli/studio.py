"""`memetik studio`: pose, inspect and teach robots in a browser."""

from __future__ import annotations

import signal
import sys
import threading
import webbrowser
from dataclasses import dataclass

from memetik.cli.options import argument, arguments_option, json_option, option
from memetik.cli.output import print_json
from memetik.scene.scene import Scene
from memetik.studio.app import Studio
from memetik.studio.session.session import Session


@dataclass(frozen=True, kw_only=True)
class StudioOptions:
    robot: str = argument("panda", "Bundled name, path of a URDF, xacro or MJCF file, or a saved session.")
    arg: list[str] = arguments_option()
    scene: str | None = option(None, "Scene file (TOML) to begin with.")
    port: int | None = option(None, "Port; by default 8080 or the next that is free. 0: any.")
    host: str = option("127.0.0.1", "Address to listen at; any other than this machine's own needs a token.")
    token: str | None = option(None, 'Secret in the address that a browser needs; "auto" makes one.')
    no_browser: bool = option(False, "Do not open a browser.", "--no-browser")
    as_json: bool = json_option()


def studio(options: StudioOptions) -> None:
    ended = threading.Event()
    around = None if options.scene is None else Scene.load(options.scene)
    shown = Session.from_file(options.robot) if options.robot.endswith(".json") else options.robot
    with Studio(shown, around, host=options.host, port=options.port, token=options.token) as opened:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: ended.set())
        if options.as_json:
            print_json("memetik.studio/1", {"address": opened.address, "robot": opened.state.robot.name})
        else:
            print(f"memetik studio: {opened.address}")
        sys.stdout.flush()
        if not options.no_browser:
            webbrowser.open(opened.address)
        ended.wait()
