"""Who may reach a studio, and what it refuses: tokens, names, origins, ports, uploads."""

from __future__ import annotations

import http.client
import socket
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

from memetik.errors import InvalidInputError
from memetik.studio.server import COOKIE, RequestFilter, close_server, is_loopback, limit_uploads, open_server


def ask(address: str, path: str = "/", **headers: str) -> http.client.HTTPResponse:
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 0, timeout=600)
    connection.request("GET", path, headers=headers)
    return connection.getresponse()


@pytest.fixture(scope="module")
def guarded():
    server, address = open_server(port=0, token="open-sesame")
    yield address
    close_server(server)


def test_the_page_is_served_to_this_machine() -> None:
    server, address = open_server(port=0)
    try:
        answer = ask(address)
        assert answer.status == 200
        assert b"viser" in answer.read()
    finally:
        close_server(server)
    with pytest.raises(ConnectionRefusedError):
        ask(address)


def test_without_a_token_others_are_refused(guarded: str) -> None:
    for path in ("/", "/?token=wrong", "/index.html", "/?token="):
        answer = ask(guarded, path)
        assert answer.status == 403
        assert b"viser" not in answer.read()


def test_a_wrong_token_is_answered_with_a_sentence(guarded: str) -> None:
    answer = ask(guarded, "/?token=wrong")
    assert "token in this address is wrong" in answer.read().decode()


def test_the_right_token_becomes_a_cookie_that_opens(guarded: str) -> None:
    answer = ask(guarded, "/?token=open-sesame")
    assert answer.status == 303
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert ask(guarded, "/", Cookie=cookie.split(";")[0]).status == 200
    assert ask(guarded, "/", Cookie=f"{COOKIE}=other").status == 403


def test_websockets_need_the_token_too(guarded: str) -> None:
    upgrade = {
        "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }  # fmt: skip
    assert ask(guarded, "/", **upgrade).status == 403
    assert ask(guarded, "/", Cookie=f"{COOKIE}=open-sesame", **upgrade).status == 101


def test_pages_of_other_sites_and_names_are_refused(guarded: str) -> None:
    cookie = {"Cookie": f"{COOKIE}=open-sesame"}
    assert ask(guarded, "/", Origin="http://elsewhere.example", **cookie).status == 403
    assert ask(guarded, "/", Host="elsewhere.example", **cookie).status == 403
    own = urlsplit(guarded)
    assert ask(guarded, "/", Origin=f"http://{own.netloc}", **cookie).status == 200


def test_other_addresses_need_a_token() -> None:
    with pytest.raises(InvalidInputError, match="only with a token"):
        open_server("0.0.0.0", 0)
    server, address = open_server("0.0.0.0", 0, "auto")
    try:
        port = urlsplit(address).port
        assert "token=" in address
        assert ask(f"http://127.0.0.1:{port}").status == 403
        assert ask(f"http://127.0.0.1:{port}", "/?" + urlsplit(address).query).status == 303
    finally:
        close_server(server)
    assert is_loopback("127.0.0.1")
    assert is_loopback("::1")
    assert not is_loopback("192.168.1.4")


def test_bad_tokens_and_ports_are_told() -> None:
    with pytest.raises(InvalidInputError, match="at least 8"):
        open_server(port=0, token="short")
    with pytest.raises(InvalidInputError, match="0 to 65535"):
        open_server(port=70000)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InvalidInputError, match="cannot be opened"):
            open_server(port=taken.getsockname()[1])
    with pytest.raises(InvalidInputError, match="cannot be opened"):
        open_server("203.0.113.7", 0, "open-sesame")


def test_the_gate_takes_any_name_where_it_listens_to_the_world() -> None:
    gate = RequestFilter("open-sesame", None)
    assert gate.refuses("/", {"Host": "robot.lab:8080", "Cookie": f"{COOKIE}=open-sesame"}) is None


def test_large_uploads_are_dropped_when_they_are_announced_and_when_they_lie() -> None:
    handlers: dict = {}
    states: dict = {}
    server = SimpleNamespace(
        gui=SimpleNamespace(_current_file_upload_states=states),
        _websock_server=SimpleNamespace(
            register_handler=lambda kind, handler: handlers.update({kind.__name__: handler}), _live_connections={}
        ),
    )
    told: list[str] = []
    limit_uploads(server, lambda _, text: told.append(text), most=1000)
    states["a"] = {"transferred_bytes": 0}
    handlers["FileTransferStartUpload"](0, SimpleNamespace(size_bytes=10**9, transfer_uuid="a", filename="big.stl"))
    assert states == {}
    assert "1000 MB" in told[0]
    states["b"] = {"transferred_bytes": 2000}
    handlers["FileTransferPart"](0, SimpleNamespace(transfer_uuid="b"))
    assert states == {}
    states["c"] = {"transferred_bytes": 10}
    handlers["FileTransferPart"](0, SimpleNamespace(transfer_uuid="c"))
    assert "c" in states
