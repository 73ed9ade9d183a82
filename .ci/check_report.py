"""Check the one run in a folder: every point ran, and its report is one small, offline file."""

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

MAX_REPORT_BYTES = 6 * 1000**2


class Links(HTMLParser):
    """Collects what a page would load or link to, attributes and style sheets alike."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_style = tag == "style"
        for name, value in attrs:
            if name in ("src", "srcset", "href", "data", "poster", "action"):
                self.found.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.found += re.findall(r"(?:url\(|@import)\s*[\"']?([^\"')\s]+)", data)


def main(reports: Path) -> None:
    reports_found = sorted(reports.glob("*/report.html"))
    assert len(reports_found) == 1, f"expected one report in {reports}, found {reports_found}"
    report = reports_found[0]
    size_bytes = report.stat().st_size
    assert size_bytes < MAX_REPORT_BYTES, f"expected under 6 MB, found {size_bytes} bytes"

    links = Links()
    links.feed(report.read_text(encoding="utf-8"))
    outside = [link for link in links.found if re.match(r"\s*(?:[a-z]+:)?//", link, re.I)]
    assert not outside, f"expected nothing from outside, found {outside[:5]}"

    points = json.loads((report.parent / "summary.json").read_text(encoding="utf-8"))["points"]
    assert points, "expected measured points, found none"
    for point in points:
        print(f"{point['point_id']}: {point['status']}, {point['validity']}")
    failed = [point["point_id"] for point in points if point["status"] != "ok"]
    assert not failed, f"expected every point to run, found failed {failed}"
    print(f"report.html: {size_bytes / 1000**2:.2f} MB, nothing from outside")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
