"""An executed notebook made into one HTML file that needs no network, no server, no notebook.

It knows notebooks, not runs: what stands in the cells is shown as it is. A browser is told by a
content security policy, with the digests of the two scripts of the page, to run nothing else and
to load nothing from anywhere, whatever a cell holds. The same notebook gives the same bytes.
"""

import json
import re
import warnings
from base64 import b64encode
from hashlib import sha256
from html import escape, unescape
from pathlib import Path
from typing import Any

from labkit.errors import NotebookError
from labkit.records import replace_text
from labkit.report.theme import DARK, DARK_COLOURS, LIGHT

PLOTLY_MIMETYPE = "application/vnd.plotly.v1+json"
TEMPLATE = Path(__file__).parent / "template"
STYLER_ID = re.compile(r"\bT_[0-9a-f]{5}(?=[_\"' #{])")
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Cpath fill='%230072B2' d='M2 9h3v5H2zM6.5 5h3v9h-3zM11 2h3v12h-3z'/%3E%3C/svg%3E"
)


def export_report(notebook: Path, html: Path, *, title: str) -> None:
    """Write an executed notebook as one HTML file without code.

    Cells tagged `hide-cell`, stderr and prompts are left out; figures stay interactive. The file
    is replaced atomically. Raises NotebookError if the notebook cannot be read or holds an output
    that a page cannot show.
    """
    import nbformat
    from nbconvert import HTMLExporter
    from nbconvert.preprocessors import TagRemovePreprocessor
    from traitlets.config import Config

    try:
        node = nbformat.read(notebook, as_version=4)
    except (OSError, ValueError, nbformat.ValidationError) as error:
        raise NotebookError(f"expected a notebook at {notebook}, found: {error}") from None
    page = {"title": title, "icon": ICON, **collect_assets()}
    page["figures"] = render_outputs(node)
    config = Config()
    config.TagRemovePreprocessor.remove_cell_tags = {"hide-cell"}
    config.TagRemovePreprocessor.enabled = True
    exporter = HTMLExporter(
        config=config,
        extra_template_basedirs=[str(TEMPLATE.parent)],
        template_name=TEMPLATE.name,
        preprocessors=[TagRemovePreprocessor],
        exclude_input=True,
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        exclude_anchor_links=True,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*not able to be represented", append=False)
        try:
            body, _ = exporter.from_notebook_node(node, resources={"labkit": page})
        except UserWarning as warning:
            raise NotebookError(
                f"expected outputs that a page can show in {notebook}, found: {warning}; "
                "display a figure, a table or text"
            ) from None
    replace_text(html, body)


def collect_assets() -> dict[str, Any]:
    """Return what every page carries: styles, scripts, themes and the policy that names them."""
    from plotly.offline import get_plotlyjs

    plotly = str(get_plotlyjs()).replace("\r\n", "\n")
    script = (TEMPLATE / "report.js").read_text(encoding="utf-8")
    digests = " ".join(f"'sha256-{digest(text)}'" for text in (plotly, script))
    return {
        "css": (TEMPLATE / "report.css").read_text(encoding="utf-8"),
        "script": script,
        "plotly": plotly,
        "themes": embed({"light": LIGHT, "dark": DARK, "colours": DARK_COLOURS}),
        "policy": (
            f"default-src 'none'; script-src {digests}; style-src 'unsafe-inline'; "
            "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
        ),
    }


def digest(text: str) -> str:
    """Return the SHA-256 of a script in base64, as a content security policy wants it."""
    return b64encode(sha256(text.encode()).digest()).decode()


def embed(document: Any) -> str:
    """Return JSON that may stand inside a script element."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def render_outputs(node: Any) -> int:
    """Turn the figures of a notebook into HTML in place, fix ids; return how many figures."""
    figures = tables = 0
    for cell in node.cells:
        if "hide-cell" in cell.metadata.get("tags", []):
            continue
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if PLOTLY_MIMETYPE in data:
                figures += 1
                html = render_figure(data[PLOTLY_MIMETYPE], f"figure-{figures}")
                output["data"] = {"text/html": html}
            elif "text/html" in data:
                for found in dict.fromkeys(STYLER_ID.findall(data["text/html"])):
                    tables += 1
                    data["text/html"] = data["text/html"].replace(found, f"T_{tables}")
    return figures


def render_figure(figure: dict[str, Any], name: str) -> str:
    """Return a figure as HTML: its title and caption as text, its data for the page's script.

    The title leaves the plot, so that it can wrap on a narrow page and be read aloud.
    """
    layout = dict(figure.get("layout", {}))
    layout.pop("template", None)
    title = layout.pop("title", None) or {}
    text = title.get("text", "") if isinstance(title, dict) else str(title)
    meta = layout.get("meta") or {}
    if text:
        layout["margin"] = {"t": 40, **(layout.get("margin") or {})}
        layout["height"] = (layout.get("height") or 420) - 44
    words = escape(unescape(re.sub(r"<[^>]*>", " ", text)))
    caption = f"<strong>{words}</strong>" if words else ""
    if meta.get("caption"):
        caption += f"<span>{escape(str(meta['caption']))}</span>"
    alt = escape(str(meta.get("alt") or unescape(words) or name))
    return (
        f"<figure>\n<figcaption>{caption}</figcaption>\n"
        f'<div class="plot" id="{name}" role="group" aria-label="{alt}"></div>\n'
        "<noscript>This figure is drawn by the browser and needs JavaScript.</noscript>\n"
        f'<script type="application/json" id="{name}-data">'
        f"{embed({'data': figure.get('data', []), 'layout': layout})}</script>\n</figure>"
    )
