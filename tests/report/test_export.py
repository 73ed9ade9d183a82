"""The HTML file: the same bytes twice, nothing from outside, nothing that should be hidden."""

import re

import pytest
from nbformat.v4 import new_output

from labkit.errors import NotebookError
from labkit.report.export import export_report, render_figure
from labkit.report.figures import plot_latency, plot_throughput, plot_timeline

VARIABLE = "engine.max_num_seqs"


@pytest.fixture
def figures(summary, records, rows):
    return [
        plot_latency(summary, VARIABLE),
        plot_throughput(summary, VARIABLE),
        plot_timeline(records, rows[2]),
    ]


@pytest.fixture
def page(figures, write_notebook, tmp_path):
    html = tmp_path / "report.html"
    export_report(write_notebook(figures), html, title="a <title>")
    return html


def strip_scripts(text: str) -> str:
    return re.sub(r"<script[^>]*>.*?</script>", "", text, flags=re.DOTALL)


def test_two_conversions_give_the_same_bytes(page, figures, write_notebook, tmp_path):
    again = tmp_path / "again.html"
    export_report(tmp_path / "sweep.ipynb", again, title="a <title>")
    assert again.read_bytes() == page.read_bytes()


def test_page_is_one_small_file_that_names_nothing_outside(page):
    text = page.read_text(encoding="utf-8")
    assert len(text.encode()) < 6_000_000
    assert text.count("<script>") == 2
    assert not re.search(r"""<script[^>]*\ssrc=""", text)
    addresses = re.findall(r"""(?:src|href)\s*=\s*["']?([^"'\s>]+)""", strip_scripts(text))
    assert all(address.startswith(("data:", "#")) for address in addresses)
    assert "require.js" not in strip_scripts(text)
    assert "MathJax" not in strip_scripts(text)


def test_figures_have_ids_words_and_no_template(page):
    text = page.read_text(encoding="utf-8")
    assert re.findall(r'class="plot" id="([^"]+)"', text) == ["figure-1", "figure-2", "figure-3"]
    assert text.count("<figure>") == text.count('aria-label="') == text.count("<figcaption>") == 3
    assert "<strong>Output throughput peaks at max_num_seqs 4: 145 tokens/s</strong>" in text
    assert "<span>Look for the value after which the curve is flat" in text


def test_code_hidden_cells_and_stderr_are_left_out(page):
    text = page.read_text(encoding="utf-8")
    for word in ("secret_code", "hidden words", "stderr words", "In&nbsp;["):
        assert word not in text
    assert "What does it do?" in text
    assert "<title>a &lt;title&gt;</title>" in text


def test_the_policy_names_both_scripts_and_allows_no_address(page):
    text = page.read_text(encoding="utf-8")
    (policy,) = re.findall(r"<meta content=\"(default-src 'none';[^\"]*)\"", text)
    assert policy.count("sha256-") == 2
    assert "http" not in policy


def test_plain_text_is_escaped_and_styler_ids_are_fixed(write_notebook, tmp_path):
    outputs = [
        new_output("stream", name="stdout", text="<b>model says</b>"),
        new_output("display_data", {"text/html": '<table id="T_0a1b2"></table>'}),
        new_output("display_data", {"text/plain": "<i>text</i>"}),
    ]
    html = tmp_path / "report.html"
    export_report(write_notebook([], outputs), html, title="t")
    text = html.read_text(encoding="utf-8")
    assert "&lt;b&gt;model says&lt;/b&gt;" in text
    assert "&lt;i&gt;text&lt;/i&gt;" in text
    assert 'id="T_1"' in text
    assert "plotly" not in text  # a page without figures does not carry the library


def test_an_output_that_cannot_be_shown_is_an_error(write_notebook, tmp_path):
    outputs = [new_output("display_data", {"application/x-strange": "odd"})]
    with pytest.raises(NotebookError, match="not able to be represented"):
        export_report(write_notebook([], outputs), tmp_path / "report.html", title="t")
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("content", [None, "{not json", "{}"])
def test_a_missing_or_damaged_notebook_is_an_error(content, tmp_path):
    path = tmp_path / "x.ipynb"
    if content is not None:
        path.write_text(content)
    with pytest.raises(NotebookError, match="expected a notebook at"):
        export_report(path, tmp_path / "report.html", title="t")


def test_figure_text_cannot_leave_its_script():
    html = render_figure(
        {"data": [{"name": "</script><script>alert(1)"}], "layout": {"title": {"text": "a < b"}}},
        "figure-1",
    )
    assert html.count("</script>") == 1
    assert "<strong>a &lt; b</strong>" in html
