"""The web server under the studio: who may connect, and how much may be sent.

Pages and websockets are asked for the token where there is one, and for the studio's own address as their origin, so
that no other page in the same browser reaches a studio on this machine.
"""

from __future__ import annotations

import contextlib
import hmac
import http
import io
import ipaddress
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from memetik.errors import InvalidInputError, MissingExtraError

if TYPE_CHECKING:
    from viser import ViserServer
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request, Response

    Answer = Callable[[ServerConnection, Request], Response | Awaitable[Response | None] | None]

DEFAULT_PORT = 8080
COOKIE = "memetik_studio"

MAX_UPLOAD_BYTES = 100_000_000
"""Files that are sent through the page may be as large as this."""

TIME_TO_READ = 1.0
"""Seconds between a refusal and the end of the connection that it concerns."""

_PORTS_TRIED = 50


def viser_server(host: str, port: int) -> ViserServer:
    """A server without its greeting, or an error that says how to install viser."""
    try:
        from viser import ViserServer
    except ImportError:
        raise MissingExtraError("viser", "studio", "the studio") from None
    with contextlib.redirect_stdout(io.StringIO()):
        return ViserServer(host=host, port=port, verbose=False)


def open_server(host: str = "127.0.0.1", port: int | None = None, token: str | None = None) -> tuple[ViserServer, str]:
    """A viser server and its address for the browser, the token included.

    port: None takes 8080 or the next that is free; 0 any.
    """
    if not is_loopback(host) and not token:
        raise InvalidInputError(
            f"the studio is shown at {host!r}, where others can reach it, only with a token: give --token TOKEN, or "
            "--token auto to have one made."
        )
    if token == "auto":
        token = secrets.token_urlsafe(16)
    if token is not None and (len(token) < 8 or any(not 32 < ord(letter) < 127 for letter in token)):
        raise InvalidInputError("a token has at least 8 printable letters without blanks.")
    chosen = _free_port(host, port)
    gate = RequestFilter(token, None if not is_loopback(host) else ("localhost", "127.0.0.1", "[::1]", host))
    with _guarded(gate):
        server = viser_server(host, chosen)
    shown = "localhost" if is_loopback(host) else (socket.gethostname() if host in ("0.0.0.0", "::") else host)
    query = "" if token is None else f"/?token={quote(token)}"
    return server, f"http://{shown}:{server.get_port()}{query}"


def close_server(server: ViserServer) -> None:
    """Stops a server without its farewell."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class RequestFilter:
    """Decides about requests before anything else sees them."""

    def __init__(self, token: str | None, hosts: tuple[str, ...] | None):
        self.token, self.hosts = token, hosts

    def refuses(self, path: str, headers: Mapping[str, str]) -> tuple[http.HTTPStatus, str, dict[str, str]] | None:
        """None for a request that may pass; else status, text and headers of the answer."""
        host = headers.get("Host", "")
        if self.hosts is not None and host.rsplit(":", 1)[0] not in self.hosts:
            return http.HTTPStatus.FORBIDDEN, f"This studio does not answer to the name {host!r}.", {}
        origin = headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return http.HTTPStatus.FORBIDDEN, "Only the studio's own page may connect to it.", {}
        if self.token is None:
            return None
        if self._is_token(_cookie(headers.get("Cookie", ""))):
            return None
        given = parse_qs(urlsplit(path).query).get("token", [""])[0]
        if self._is_token(given):
            cookie = f"{COOKIE}={quote(given)}; HttpOnly; SameSite=Strict; Path=/"
            return http.HTTPStatus.SEE_OTHER, "", {"Location": "/", "Set-Cookie": cookie}
        what = "The token in this address is wrong." if given else "This studio is opened with a token."
        return http.HTTPStatus.FORBIDDEN, what + " Use the address that it printed when it was started.", {}

    def _is_token(self, given: str) -> bool:
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())


def limit_uploads(server: ViserServer, complain: Callable[[int, str], None], most: int = MAX_UPLOAD_BYTES) -> None:
    """Drops files that are larger than allowed when they are announced, or when more comes than was announced.

    complain(client_id, sentence) tells the one who sent it; soon after, the connection is closed, as a page would go on
    sending. It connects again by itself.
    """
    from viser import _messages

    states = server.gui._current_file_upload_states

    def refuse(client_id: int, transfer: str, text: str) -> None:
        if states.pop(transfer, None) is not None:
            complain(client_id, text)
            connection = server._websock_server._live_connections.get(client_id)
            if connection is not None:
                loop = server.get_event_loop()
                loop.call_later(TIME_TO_READ, lambda: loop.create_task(connection.close()))

    def announced(client_id: int, message: _messages.FileTransferStartUpload) -> None:
        if message.size_bytes > most:
            size, limit = message.size_bytes / 1e6, most / 1e6
            text = f"{message.filename!r:.80} has {size:.0f} MB; {limit:.0f} MB are accepted."
            refuse(client_id, message.transfer_uuid, text)

    def came(client_id: int, message: _messages.FileTransferPart) -> None:
        state = states.get(message.transfer_uuid)
        if state is not None and state["transferred_bytes"] > most:
            text = f"more was sent than the {most / 1e6:.0f} MB that are accepted."
            refuse(client_id, message.transfer_uuid, text)

    server._websock_server.register_handler(_messages.FileTransferStartUpload, announced)
    server._websock_server.register_handler(_messages.FileTransferPart, came)


@contextlib.contextmanager
def _guarded(gate: RequestFilter) -> Iterator[None]:
    """While this lasts, servers that viser starts ask the gate first."""
    import websockets.asyncio.server as websockets_server
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    original = websockets_server.serve
    guarded: list[bool] = []

    def serve(*arguments: Any, process_request: Answer | None = None, **options: Any) -> websockets_server.serve:
        def answer(connection: ServerConnection, request: Request) -> Response | Awaitable[Response | None] | None:
            refusal = gate.refuses(request.path, request.headers)
            if refusal is None:
                return process_request(connection, request) if process_request is not None else None
            status, text, headers = refusal
            body = _PAGE.format(text=text).encode()
            fields = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body)), **headers}
            return Response(status.value, status.phrase, Headers(**fields), body)

        guarded.append(True)
        return original(*arguments, process_request=answer, **options)

    websockets_server.serve = serve
    try:
        yield
    finally:
        websockets_server.serve = original
    if not guarded:
        raise RuntimeError("this version of viser starts its server in another way: the studio cannot guard it.")


_PAGE = """<!doctype html><meta charset="utf-8"><title>memetik studio</title>
<body style="font: 16px system-ui; max-width: 34em; margin: 20vh auto; color: #333">
<h1>memetik studio</h1><p>{text}</p>"""


def _cookie(header: str) -> str:
    for part in header.split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return unquote(value)
    return ""


def _free_port(host: str, port: int | None) -> int:
    """The port to use, tried beforehand, so that what is wrong with it can be said."""
    tried = range(DEFAULT_PORT, DEFAULT_PORT + _PORTS_TRIED) if port is None else (port,)
    error: OSError | None = None
    for candidate in tried:
        if not 0 <= candidate < 65536:
            raise InvalidInputError(f"a port is a whole number from 0 to 65535, not {candidate}.")
        try:
            family = socket.getaddrinfo(host, candidate, type=socket.SOCK_STREAM)[0][0]
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((host, candidate))
                return probe.getsockname()[1]
        except OSError as problem:
            error = problem
    where = f"{host}, port {port}" if port is not None else f"{host}, ports from {DEFAULT_PORT}"
    raise InvalidInputError(f"the studio cannot be opened at {where}: {error.strerror if error else 'in use'}.")
