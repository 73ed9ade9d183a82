"""Plays an engine's pages on a port: truth about timing and faults only, nothing is computed.

script.json beside it says what: pages (path -> body), ready (the path that answers 503 before
start_s is over), log (printed at the start), last_words (printed when /last-words is asked for),
dies (whether it prints them at once and ends), listens, and children that ignore SIGTERM.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SCRIPT = json.loads(Path(__file__).with_name("script.json").read_text())
BEGIN_S = time.monotonic()
DEAF = "import signal, threading; signal.signal(15, signal.SIG_IGN); threading.Event().wait()"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, body = 404, "{}"
        if self.path == "/last-words":
            print(SCRIPT["last_words"], flush=True)
            status = 200
        elif self.path in SCRIPT["pages"]:
            page = SCRIPT["pages"][self.path]
            status, body = 200, page if isinstance(page, str) else json.dumps(page)
            if self.path == SCRIPT["ready"] and time.monotonic() - BEGIN_S < SCRIPT["start_s"]:
                status, body = 503, "{}"
        self.send_response(status)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass


def main() -> int:
    print(SCRIPT["log"], flush=True)
    if SCRIPT["dies"]:
        print(SCRIPT["last_words"], file=sys.stderr, flush=True)
        return 1
    if SCRIPT["child"]:
        subprocess.Popen([sys.executable, "-I", "-S", "-c", DEAF])
    if not SCRIPT["listens"]:
        threading.Event().wait()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    port = int(sys.argv[sys.argv.index("--port") + 1])
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
