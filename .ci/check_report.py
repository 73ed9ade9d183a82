"""Check the runs in a folder: every point ran, each report is one small, offline file, and the
index names all of them."""

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
    found = sorted(reports.glob("*/report.html"))
    runs = sorted(path.parent for path in reports.glob("*/manifest.json"))
    assert found, f"expected reports in {reports}, found none"
    assert [path.parent for path in found] == runs, f"expected a report in each of {runs}"
    for report in found:
        check(report)
    index = (reports / "index.html").read_text(encoding="utf-8")
    for run in runs:
        assert run.name in index, f"expected {run.name} in index.html, found it missing"


def check(report: Path) -> None:
    size_bytes = report.stat().st_size
    assert size_bytes < MAX_REPORT_BYTES, f"{report}: expected under 6 MB, found {size_bytes} bytes"

    links = Links()
    links.feed(report.read_text(encoding="utf-8"))
    outside = [link for link in links.found if re.match(r"\s*(?:[a-z]+:)?//", link, re.I)]
    assert not outside, f"{report}: expected nothing from outside, found {outside[:5]}"

    findings = json.loads((report.parent / "findings.json").read_text(encoding="utf-8"))
    assert findings["findings"], f"{report}: expected findings, found none"
    points = json.loads((report.parent / "summary.json").read_text(encoding="utf-8"))["points"]
    failed = [point["point_id"] for point in points if point["status"] != "ok"]
    assert not failed, f"{report}: expected every point to run, found failed {failed}"
    verdicts = ", ".join(point["validity"] for point in points) or "steps, no points"
    print(f"{report.parent.name}: {verdicts}; {size_bytes / 1000**2:.2f} MB, nothing from outside")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
