"""Takes screenshots of pages of the built documentation in headless Chromium, light, dark and as wide as a phone.

Run: make docs, then python docs/images/screenshots.py [--folder out/screenshots] [PAGE ...]
"""

from __future__ import annotations

import argparse
import functools
import http.server
import threading
from pathlib import Path

from playwright.sync_api import sync_playwright

SITE = Path(__file__).parents[2] / "site"
PAGES = ["", "gallery/", "goals/", "stories/", "inside/"]
VIEWS = {"wide": (1400, 1000, "light"), "dark": (1400, 1000, "dark"), "phone": (390, 844, "light")}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("pages", nargs="*", default=PAGES)
    parser.add_argument("--folder", type=Path, default=Path("out/screenshots"))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    handler = functools.partial(_Quiet, directory=str(SITE))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        for name, (width, height, scheme) in VIEWS.items():
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            for path in options.pages:
                page.goto(f"http://127.0.0.1:{server.server_port}/{path}", wait_until="load", timeout=120_000)
                page.wait_for_timeout(700)
                target = options.folder / f"{path.strip('/').replace('/', '-') or 'home'}-{name}.png"
                page.screenshot(path=target, timeout=120_000)
                print(target)
            page.close()
        browser.close()
    server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing."""


if __name__ == "__main__":
    main()
