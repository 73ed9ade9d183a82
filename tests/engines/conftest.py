import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from labkit.engines import ADAPTERS
from labkit.engines.model import find_model
from labkit.errors import ParamsError


@pytest.fixture(params=ADAPTERS)
def kind(request: pytest.FixtureRequest) -> str:
    """Every kind of engine that labkit launches, one after another."""
    return str(request.param)


@pytest.fixture(scope="session")
def model() -> Path:
    """The model that ships; real servers load it."""
    try:
        return find_model(None)
    except ParamsError as error:
        pytest.skip(f"the model is not there: {error}")


class Pages:
    """A real server on the loopback that answers with the given pages, and keeps what it saw."""

    def __init__(self) -> None:
        self.pages: dict[str, str | dict | list] = {}
        self.key: str | None = None
        self.seen: list[tuple[str, str | None]] = []
        pages = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                key = self.headers.get("Authorization")
                pages.seen.append((self.path, key))
                if pages.key is not None and key != f"Bearer {pages.key}":
                    status, body = 401, b"{}"
                elif self.path in pages.pages:
                    page = pages.pages[self.path]
                    status = 200
                    body = (page if isinstance(page, str) else json.dumps(page)).encode()
                else:
                    status, body = 404, b"{}"
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.do_GET()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port: int = self.server.server_address[1]
        self.root = f"http://127.0.0.1:{self.port}"


@pytest.fixture
def pages() -> Iterator[Pages]:
    served = Pages()
    thread = threading.Thread(target=served.server.serve_forever, args=(0.01,))
    thread.start()
    yield served
    served.server.shutdown()
    thread.join()
    served.server.server_close()
