"use strict";
(() => {
  const themes = JSON.parse(document.getElementById("themes").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const narrow = window.matchMedia("(max-width: 600px)");
  // What would send a chart elsewhere, or select points of which nothing is made, has no button.
  const dropped = ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d"];
  const config = { responsive: true, displaylogo: false, modeBarButtonsToRemove: dropped };
  const PAPER = { width: 760, height: 800 };
  let printing = false;

  // Panels that stand side by side are put one above the other; their titles follow the axes.
  function stack(layout, panels) {
    const gap = 0.36 / panels;
    const height = (1 - gap * (panels - 1)) / panels;
    for (let panel = 0; panel < panels; panel += 1) {
      const end = panel === 0 ? "" : String(panel + 1);
      const bottom = Math.max(0, 1 - panel * (height + gap) - height);
      layout["xaxis" + end].domain = [0, 1];
      layout["yaxis" + end].domain = [bottom, Math.min(1, bottom + height)];
    }
    layout.height = 250 * panels + 120;
  }

  function build(plot) {
    const night = dark.matches && !printing;
    let text = document.getElementById(plot.id + "-data").textContent;
    if (night) {
      for (const [light, partner] of Object.entries(themes.colours)) {
        text = text.replaceAll(light, partner);
      }
    }
    const { data, layout } = JSON.parse(text);
    layout.template = night ? themes.dark : themes.light;
    layout.uirevision = "kept";
    layout.modebar = { orientation: "h" };
    if (printing) {
      layout.width = PAPER.width;
      layout.height = Math.min(layout.height || 420, PAPER.height);
    } else if (narrow.matches && layout.meta && layout.meta.panels > 1) {
      stack(layout, layout.meta.panels);
    }
    plot.style.height = (layout.height || 420) + "px";
    return Plotly.react(plot, data, layout, config);
  }

  // The label of a plot tells the figure; the shreds of text in its drawing would not. A drawing
  // that knows its own size can be scaled to the paper.
  function finish(plot) {
    const { width, height } = plot._fullLayout;
    plot.style.setProperty("--width", width);
    plot.style.setProperty("--height", height);
    for (const svg of plot.querySelectorAll(".main-svg")) {
      svg.setAttribute("aria-hidden", "true");
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    }
  }

  const plots = Array.from(document.querySelectorAll(".plot"));
  const mark = document.documentElement.dataset;
  const draw = () => Promise.all(plots.map(build)).then(() => {
    for (const plot of plots.filter(one => !mark.drawn)) {
      plot.on("plotly_afterplot", () => finish(plot));
      finish(plot);
    }
    mark.theme = dark.matches && !printing ? "dark" : "light";
    mark.drawn = "yes";
  });
  dark.addEventListener("change", draw);
  narrow.addEventListener("change", draw);
  window.addEventListener("beforeprint", () => { printing = true; draw(); });
  window.addEventListener("afterprint", () => {
    printing = false;
    draw().then(() => plots.forEach(plot => Plotly.Plots.resize(plot)));
  });
  draw();
})();
