"""How figures look in light and in dark: colours, fonts, margins.

It knows nothing of what is drawn. Figures name the light colours; for a dark page each is
exchanged for its partner in DARK_COLOURS. The hues are those of Okabe and Ito, told apart by
readers with any colour vision; every one has a contrast of 3:1 or more with its page.
"""

from typing import Any

BLUE = "#0072B2"
VERMILLION = "#D55E00"
GREEN = "#009E73"
PURPLE = "#AA4499"
AMBER = "#B07800"
SKY = "#3A9BDC"
GREY = "#6B7280"

DARK_COLOURS = {
    BLUE: "#56B4E9",
    VERMILLION: "#F0833A",
    GREEN: "#2CC295",
    PURPLE: "#DD8FC4",
    AMBER: "#E6B94A",
    SKY: "#9BD3F5",
    GREY: "#9AA3B2",
}

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'


def make_template(*, text: str, muted: str, page: str, grid: str, axis: str) -> dict[str, Any]:
    """Return a plotly template, as a plain dict, for these colours (CSS hex)."""
    axes = {
        "showgrid": True,
        "gridcolor": grid,
        "gridwidth": 1,
        "zeroline": False,
        "showline": True,
        "linecolor": axis,
        "linewidth": 1,
        "ticks": "",
        "tickfont": {"size": 12, "color": muted},
        "title": {"font": {"size": 12, "color": muted}, "standoff": 8},
        "automargin": True,
    }
    return {
        "layout": {
            "font": {"family": FONT, "size": 13, "color": text},
            "title": {
                "font": {"size": 17, "color": text},
                "x": 0,
                "xref": "paper",
                "xanchor": "left",
                "y": 1,
                "yref": "container",
                "yanchor": "top",
                "pad": {"t": 14},
            },
            "paper_bgcolor": page,
            "plot_bgcolor": page,
            "colorway": [BLUE, VERMILLION, GREEN, PURPLE, AMBER, SKY],
            "margin": {"l": 56, "r": 16, "t": 84, "b": 96},
            "hovermode": "closest",
            "hoverlabel": {
                "align": "left",
                "bgcolor": page,
                "bordercolor": axis,
                "font": {"family": FONT, "size": 12, "color": text},
            },
            "legend": {
                "orientation": "h",
                "x": 0,
                "xanchor": "left",
                "y": 0,
                "yref": "container",
                "yanchor": "bottom",
                "bgcolor": "rgba(0,0,0,0)",
                "font": {"size": 12, "color": text},
            },
            "modebar": {
                "bgcolor": "rgba(0,0,0,0)",
                "color": muted,
                "activecolor": text,
                "orientation": "v",
            },
            "xaxis": {**axes, "showgrid": False},
            "yaxis": {**axes, "showline": False},
            "separators": ".,",
        }
    }


LIGHT = make_template(
    text="#1B1F27", muted="#4B5563", page="#FFFFFF", grid="#E8EAEE", axis="#AEB5C0"
)
DARK = make_template(
    text="#E7EAF0", muted="#A9B1BF", page="#161A21", grid="#2A303B", axis="#566072"
)
