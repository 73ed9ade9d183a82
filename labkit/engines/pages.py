"""Pages of one server that are asked for again and again, over a connection that stays open.

Opening a connection and closing it costs more than a page does, on both sides. It must not know
what is on a page, nor of a proxy or a redirect: whoever meets one asks through urllib.
"""

import http.client
import socket
import ssl
import urllib.error
import urllib.parse
import weakref
from collections import deque

import httptools

PIECE_BYTES = 65536


class Pages:
    """The pages of a server by the root of its URLs, http or https; threads may share it."""

    def __init__(self, root: str) -> None:
        """Open nothing yet. Raises ValueError for a root that has no port that could be."""
        parts = urllib.parse.urlsplit(root)
        self._root, self._path = root, parts.path
        self._is_secure = parts.scheme == "https"
        port = http.client.HTTPS_PORT if self._is_secure else http.client.HTTP_PORT
        self._address = (parts.hostname or "", parts.port or port)
        self._head = f"Host: {parts.netloc}\r\nUser-Agent: labkit\r\nAccept-Encoding: identity\r\n"
        self._tls: ssl.SSLContext | None = None
        self._kept: deque[socket.socket] = deque()
        weakref.finalize(self, _close_all, self._kept)

    def get(self, path: str, *, timeout_s: float, api_key: str | None = None) -> bytes:
        """Return a page; what a kept connection drops without an answer is asked for once more.

        Raises urllib's HTTPError for a status that is not 2xx, OSError, or HTTPException.
        """
        key = f"Authorization: Bearer {api_key}\r\n" if api_key else ""
        request = f"GET {self._path}{path} HTTP/1.1\r\n{self._head}{key}\r\n".encode()
        reply = None
        while reply is None:
            try:
                connection, is_kept = self._kept.pop(), True
            except IndexError:
                connection, is_kept = self._connect(timeout_s), False
            try:
                reply = _ask(connection, request, timeout_s)
            except BaseException as error:
                connection.close()
                if not (is_kept and isinstance(error, UnansweredError)):
                    raise
        if reply.stays_open:
            self._kept.append(connection)
        else:
            connection.close()
        if not 200 <= reply.status < 300:
            words = http.client.responses.get(reply.status, "")
            headers = http.client.HTTPMessage()
            raise urllib.error.HTTPError(self._root + path, reply.status, words, headers, None)
        return b"".join(reply.pieces)

    def _connect(self, timeout_s: float) -> socket.socket:
        connection = socket.create_connection(self._address, timeout_s)
        if not self._is_secure:
            return connection
        try:
            self._tls = self._tls or ssl.create_default_context()
            return self._tls.wrap_socket(connection, server_hostname=self._address[0])
        except BaseException:
            connection.close()
            raise


class UnansweredError(ConnectionError):
    """A connection that ended before the first byte of an answer."""


class _Reply:
    """One answer; httptools calls its on_* methods."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.status = 0
        self.stays_open = True
        self.has_head = False
        self.tells_length = False
        self.is_complete = False

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name in (b"content-length", b"transfer-encoding"):
            self.tells_length = True
        elif name == b"connection" and value.lower() == b"close":
            self.stays_open = False

    def on_headers_complete(self) -> None:
        self.has_head = True

    def on_body(self, piece: bytes) -> None:
        self.pieces.append(piece)

    def on_message_complete(self) -> None:
        self.is_complete = True


def _ask(connection: socket.socket, request: bytes, timeout_s: float) -> _Reply:
    """Send a request and return its whole answer; without a length it lasts until the end."""
    reply = _Reply()
    parser = httptools.HttpResponseParser(reply)
    try:
        connection.settimeout(timeout_s)
        connection.sendall(request)
        piece = connection.recv(PIECE_BYTES)
    except ConnectionError as error:
        raise UnansweredError(str(error)) from error
    if not piece:
        raise UnansweredError("the server closed the connection without an answer")
    try:
        while piece and not reply.is_complete:
            parser.feed_data(piece)
            piece = b"" if reply.is_complete else connection.recv(PIECE_BYTES)
        reply.status = parser.get_status_code()
    except httptools.HttpParserError as error:
        raise http.client.HTTPException(f"not HTTP: {error}") from error
    if parser.get_http_version() == "1.0":
        reply.stays_open = False
    if not reply.is_complete:
        if reply.tells_length or not reply.has_head:
            raise http.client.HTTPException("the connection closed inside the page")
        reply.stays_open = False
    return reply


def _close_all(connections: deque[socket.socket]) -> None:
    for connection in connections:
        connection.close()
