"""The page of all runs: one offline file, escaped, the same bytes for the same runs."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from kept import keep_run

from labkit.errors import RecordsError
from labkit.index import INDEX, write_index
from labkit.index.page import make_page
from labkit.index.sparkline import HEIGHT, draw_curves
from labkit.listing import Curve, RunEntry
from labkit.records import replace_json
from labkit.workbook import write_summary

EVIL = "<script>alert('x')</script>\" onload=\"alert(1)"


class Reader(HTMLParser):
    """Collects the tags of a page, its links and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "action")]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_run_has_its_row_and_its_links(tmp_path: Path) -> None:
    run = keep_run(tmp_path)
    write_summary(run)
    run.report_path.touch()
    (run.path / "sweep.ipynb").touch()
    page = Reader(write_index(tmp_path).read_text(encoding="utf-8"))
    folder = f"./{run.path.name}"
    assert page.links[1:] == [f"{folder}/report.html", f"{folder}/sweep.ipynb", f"{folder}/"]
    assert page.links[0].startswith("data:image/svg+xml,")
    for told in ("small", "endpoint", "max_concurrency", "sweep"):
        assert told in page.text.replace("_\n", "_")
    assert page.tags.count("h1") == 1
    assert not {"h2", "h3"} & set(page.tags)


def test_nothing_comes_from_outside(tmp_path: Path) -> None:
    keep_run(tmp_path)
    html = write_index(tmp_path).read_text(encoding="utf-8")
    assert "default-src 'none'" in html
    assert not re.findall(r"(?:url\(|@import|src=)", html)
    assert [link for link in Reader(html).links if re.match(r"\s*(?:[a-z]+:)?//", link)] == []


def test_the_youngest_run_comes_first_and_the_page_is_the_same_twice(tmp_path: Path) -> None:
    for stamp in ("20260101T000000Z-a-0", "20260102T000000Z-b-0"):
        keep_run(tmp_path / "made").path.rename(tmp_path / stamp)
    html = write_index(tmp_path).read_text(encoding="utf-8")
    assert html.index("20260102T000000Z-b-0/") < html.index("20260101T000000Z-a-0/")
    assert write_index(tmp_path).read_text(encoding="utf-8") == html
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_what_others_wrote_is_text(tmp_path: Path) -> None:
    entry = RunEntry(
        run_id=f"20260101T000000Z-{EVIL}",
        name=EVIL,
        status=EVIL,
        error=EVIL,
        started_at=EVIL,
        engine=EVIL,
        model=EVIL,
        notebook=EVIL,
        variables=(EVIL,),
        num_points=1,
        num_measured=1,
        verdicts={EVIL: 1},
        headline=EVIL,
        curves=(Curve(EVIL, EVIL, ((EVIL, 1.0),)), Curve(EVIL, None, ((1, 2.0),))),
        files=("report.html", EVIL),
    )
    damaged = RunEntry(f"20260101T000000Z-{EVIL}", damage=EVIL)
    page = Reader(make_page([entry, damaged]))
    assert page.tags.count("script") == 1
    assert "onload" not in page.attributes
    assert all(link.startswith(("./", "data:image/svg")) for link in page.links)


def test_a_damaged_run_stands_there_as_such(tmp_path: Path) -> None:
    for stamp in ("20260101T000000Z-a-0", "20260102T000000Z-b-0"):
        keep_run(tmp_path / "made").path.rename(tmp_path / stamp)
    (tmp_path / "20260101T000000Z-a-0" / "manifest.json").write_text("{")
    text = Reader(write_index(tmp_path).read_text(encoding="utf-8")).text
    assert "Damaged: expected JSON in manifest.json" in text
    assert "small" in text


def test_a_page_of_others_is_not_replaced(tmp_path: Path) -> None:
    own = tmp_path / INDEX
    own.write_text("<h1>mine</h1>")
    with pytest.raises(RecordsError, match="found another; move it"):
        write_index(tmp_path)
    assert own.read_text() == "<h1>mine</h1>"


def test_no_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(RecordsError, match="expected a folder of runs"):
        write_index(tmp_path / "nowhere")


def test_no_runs_says_how_to_make_one(tmp_path: Path) -> None:
    assert "No runs yet" in write_index(tmp_path).read_text(encoding="utf-8")


def test_an_interrupted_run_says_so(tmp_path: Path) -> None:
    run = keep_run(tmp_path)
    run.update_manifest(status="interrupted", error="from the keyboard")
    replace_json(run.findings_path, {"headline": "half of it", "findings": []})
    text = Reader(write_index(tmp_path).read_text(encoding="utf-8")).text
    assert "interrupted: from the keyboardhalf of it" in text


def test_a_ladder_has_its_own_words(tmp_path: Path) -> None:
    html = make_page([RunEntry("20260101T000000Z-a", verdicts={"fails": 1, "works": 3})])
    assert '<span class="invalid">1 fails</span><span class="valid">3 works</span>' in html


def test_a_curve_begins_at_nought_and_is_told_in_words() -> None:
    told = draw_curves([Curve("engine.max_num_seqs", None, ((1, 20.0), (4, 40.0)))])
    (points,) = re.findall(r'points="([^"]+)"', told)
    (_, low), (_, high) = (map(float, one.split(",")) for one in points.split())
    floor = HEIGHT - 4
    assert floor - low == pytest.approx((floor - high) / 2)
    assert 'aria-label="Output tokens/s over max_num_seqs: 1: 20, 4: 40"' in told
    assert "20 to 40" in told


def test_arms_share_their_values_and_have_names() -> None:
    arms = [
        Curve("engine.x", "continuous", ((1, 10.0), (16, 40.0))),
        Curve("engine.x", "static", ((1, 10.0), (8, 20.0), (16, 20.0))),
    ]
    told = draw_curves(arms)
    assert told.count("<svg") == 3  # the figure, and a key for each
    first, second = re.findall(r'points="([^"]+)"/><circle', told)
    across = [[one.split(",")[0] for one in line.split()] for line in (first, second)]
    assert across[0] == [across[1][0], across[1][2]]
    assert "continuous: 1: 10, 16: 40; static: 1: 10, 8: 20, 16: 20" in told
    assert draw_curves([]) == ""
