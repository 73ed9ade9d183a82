"""Pages over connections that stay open, from a server whose answers and endings are scripted."""

import contextlib
import http.client
import socket
import ssl
import threading
import urllib.error
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import trustme

from labkit.engines.pages import Pages
from labkit.engines.scrape import Site, is_proxied

ONE = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none"
LAST = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: Close\r\n\r\nlast"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
OLD = b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nold"


class Scripted:
    """Takes one connection after another; each gets its answers in turn and then is closed."""

    def __init__(self, script: Sequence[Sequence[bytes]], tls: ssl.SSLContext | None) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.root = f"http{'s' if tls else ''}://127.0.0.1:{self.listener.getsockname()[1]}"
        self.asked: list[tuple[int, bytes]] = []
        """(number of the connection, request)."""
        self._script, self._tls = script, tls
        self.closed = [threading.Event() for _ in script]
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self) -> None:
        for number, answers in enumerate(self._script):
            try:
                connection, _ = self.listener.accept()
            except OSError:  # the test is over
                return
            with contextlib.suppress(OSError), self._secure(connection) as connection:
                for answer in answers:
                    request = b""
                    while not request.endswith(b"\r\n\r\n"):
                        piece = connection.recv(65536)
                        if not piece:
                            break
                        request += piece
                    if request:
                        self.asked.append((number, request))
                        connection.sendall(answer)
            self.closed[number].set()

    def _secure(self, connection: socket.socket) -> socket.socket:
        if self._tls is None:
            return connection
        return self._tls.wrap_socket(connection, server_side=True)


@contextlib.contextmanager
def serving(*script: Sequence[bytes], tls: ssl.SSLContext | None = None) -> Iterator[Scripted]:
    server = Scripted(script, tls)
    try:
        yield server
    finally:
        server.listener.shutdown(socket.SHUT_RDWR)
        server.listener.close()
        server.thread.join(5)
        assert not server.thread.is_alive()


def test_pages_share_a_connection() -> None:
    with serving([ONE, ONE, ONE]) as server:
        pages = Pages(f"{server.root}/under")
        for _ in range(3):
            assert pages.get("/x?y=1", timeout_s=5, api_key="k") == b"one"
    assert [number for number, _ in server.asked] == [0, 0, 0]
    head = server.asked[0][1].decode().split("\r\n")
    assert head[0] == "GET /under/x?y=1 HTTP/1.1"
    assert f"Host: {server.root.removeprefix('http://')}" in head
    assert "Authorization: Bearer k" in head


def test_one_that_the_server_closed_meanwhile_is_opened_anew() -> None:
    with serving([ONE], [ONE]) as server:
        pages = Pages(server.root)
        assert pages.get("/a", timeout_s=5) == b"one"
        assert server.closed[0].wait(5)
        assert pages.get("/b", timeout_s=5) == b"one"
    assert [number for number, _ in server.asked] == [0, 1]


@pytest.mark.parametrize("answer", [LAST, OLD])
def test_one_that_ends_with_its_answer_is_not_kept(answer: bytes) -> None:
    with serving([answer], [ONE]) as server:
        pages = Pages(server.root)
        assert pages.get("/a", timeout_s=5) == answer[-len(answer.rpartition(b"\n")[2]) :]
        assert not pages._kept
        assert pages.get("/b", timeout_s=5) == b"one"


def test_a_new_connection_without_an_answer_is_an_error() -> None:
    with serving([b""]) as server, pytest.raises(ConnectionError, match="without an answer"):
        Pages(server.root).get("/a", timeout_s=5)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("answer", "page"),
    [
        (CHUNKED + b"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", b"abc"),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", b"until the end"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + b"x" * 200_000, b"x" * 200_000),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    ],
)  # fmt: skip
def test_a_page_whose_length_is_told_otherwise(answer: bytes, page: bytes) -> None:
    with serving([answer]) as server:
        assert Pages(server.root).get("/a", timeout_s=5) == page


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", "closed inside the page"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "closed inside the page"),
        (CHUNKED + b"2\r\nab", "closed inside the page"),
        (b"SSH-2.0-OpenSSH\r\n", "not HTTP"),
    ],
)
def test_what_is_no_whole_page_is_an_error(answer: bytes, told: str) -> None:
    with serving([answer]) as server, pytest.raises(http.client.HTTPException, match=told):
        Pages(server.root).get("/a", timeout_s=5)


def test_a_status_is_an_error_and_the_connection_stays() -> None:
    missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}"
    with serving([missing, ONE]) as server:
        pages = Pages(server.root)
        with pytest.raises(urllib.error.HTTPError, match="HTTP Error 404: Not Found") as told:
            pages.get("/a", timeout_s=5)
        assert told.value.url == f"{server.root}/a"
        assert pages.get("/b", timeout_s=5) == b"one"


def test_a_server_that_says_nothing_is_not_waited_for_and_not_asked_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        pages = Pages(f"http://127.0.0.1:{listener.getsockname()[1]}")
        with pytest.raises(TimeoutError):
            pages.get("/a", timeout_s=0.05)
        assert not pages._kept


def test_threads_do_not_share_a_connection_at_the_same_time() -> None:
    with serving([ONE, ONE], [LAST]) as server:
        pages = Pages(server.root)
        assert pages.get("/a", timeout_s=5) == b"one"
        taken = pages._kept.pop()  # as another thread does while it asks
        pages._kept.clear()
        threading.Timer(0, taken.close).start()  # the server takes one connection after another
        assert pages.get("/b", timeout_s=5) == b"last"


def test_connections_are_closed_with_the_pages() -> None:
    with serving([ONE, ONE]) as server:
        pages = Pages(server.root)
        assert pages.get("/a", timeout_s=5) == b"one"
        (kept,) = pages._kept
        del pages
        assert kept.fileno() == -1


def test_pages_over_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with serving([], [ONE, ONE], tls=context) as server:
        with pytest.raises(ssl.SSLCertVerificationError):
            Pages(server.root).get("/a", timeout_s=5)
        authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        pages = Pages(server.root)
        assert [pages.get("/a", timeout_s=5) for _ in range(2)] == [b"one", b"one"]


def test_a_redirect_is_followed(pages) -> None:
    pages.pages["/there"] = "here"
    moved = f"HTTP/1.1 307 x\r\nLocation: {pages.root}/there\r\nContent-Length: 0\r\n\r\n".encode()
    with serving([moved], [moved]) as server:
        assert Site(server.root).text("/a") == "here"


@pytest.mark.parametrize(
    ("root", "proxied"),
    [
        ("http://engine.example:8000", True),
        ("https://engine.example", False),
        ("http://near.example:8000", False),
        ("http://127.0.0.1:8000", False),
        ("http://localhost:8000", False),
    ],
)
def test_where_a_proxy_stands(root: str, proxied: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "HTTP_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "near.example")
    assert is_proxied(root) is proxied
