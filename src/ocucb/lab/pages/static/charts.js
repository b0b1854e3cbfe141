// The figures of averages, drawn by Chart.js, which the page has loaded as `Chart`.

import { decimal, element, percent, whole } from "/shared/page.js";

const drawn = new Map(); // by canvas
const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const dark = matchMedia("(prefers-color-scheme: dark)");

// The colours of the printed figures; in the dark, lighter.
export function colour(hex, alpha = 1) {
  const parts = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  const light = dark.matches ? parts.map((x) => Math.round(hex === "#000000" ? 235 : x + 0.3 * (255 - x))) : parts;
  return `rgba(${light.join(",")},${alpha})`;
}

export const number = (x) => (x === null || x === undefined ? "–" : Math.abs(x) >= 1e6 ? x.toExponential(1) : Math.abs(x) >= 100 ? whole(Math.round(x)) : Number(x.toPrecision(3)).toString());
// A number with its error: as many digits as the error has two of.
export function withDigits(x, error) {
  if (!(error > 0) || x === null) return number(x);
  const places = Math.max(0, 1 - Math.floor(Math.log10(error)));
  const write = (y) => y.toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places });
  return `${write(x)} ± ${write(error)}`;
}
const powers = (x) => {
  const exponent = Math.log10(x);
  if (Math.abs(exponent - Math.round(exponent)) > 1e-9) return null;
  const sign = exponent < 0 ? "⁻" : "";
  return Math.abs(exponent) < 4 ? String(Number(x.toPrecision(3))) : `10${sign}${[...String(Math.abs(Math.round(exponent)))].map((d) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[d]).join("")}`;
};

export function axis(title, more = {}) {
  const log = more.type === "logarithmic";
  return {
    type: "linear", ...more, grid: { color: variable("--line"), drawTicks: false }, border: { display: false },
    title: { display: true, text: title, color: variable("--muted") },
    ticks: { color: variable("--muted"), maxRotation: 0, maxTicksLimit: log ? 60 : 7, autoSkip: !log, callback: log ? powers : (x) => number(x), ...more.ticks },
  };
}

export function draw(canvas, type, datasets, scales, more = {}) {
  const options = {
    animation: false, maintainAspectRatio: false, responsive: true, normalized: true,
    interaction: { mode: "nearest", axis: "x", intersect: false },
    scales,
    layout: { padding: { right: 14, top: 4 } },
    plugins: {
      legend: { display: false },
      tooltip: { filter: (item) => !item.dataset.band, callbacks: more.tooltip ?? {} },
    },
    ...more.options,
  };
  const known = drawn.get(canvas);
  const data = { datasets, ...(more.labels ? { labels: more.labels } : {}) };
  if (known && known.config.type === type) {
    known.data = data;
    known.options = options;
    known.update("none");
  } else {
    known?.destroy();
    drawn.set(canvas, new window.Chart(canvas, { type, data, options }));
  }
}

export function forget() {
  for (const [canvas, chart] of drawn) {
    if (canvas.isConnected) continue;
    chart.destroy();
    drawn.delete(canvas);
  }
}

// A line with a band of two standard errors.
function banded(style, points, low = -Infinity) {
  const common = { pointRadius: 0, borderWidth: 0, borderColor: "transparent", band: true, label: `${style.label}, band` };
  const edge = (sign) => points.filter(({ e }) => e !== null).map(({ x, y, e }) => ({ x, y: Math.max(low, y + sign * 2 * e) }));
  return [
    { ...common, data: edge(-1) },
    { ...common, data: edge(1), fill: "-1", backgroundColor: colour(style.color, 0.22) },
    { label: style.label, data: points, borderColor: colour(style.color), backgroundColor: colour(style.color), borderDash: style.dash.map((x) => 2 * x),
      borderWidth: 2.2, pointRadius: points.length === 1 ? 4 : 0, pointHitRadius: 8 },
  ];
}

const withError = { label: (item) => `${item.dataset.label}: ${item.raw.y < 0.01 ? number(item.raw.y) : withDigits(item.raw.y, 2 * item.raw.e)}` };

export function drawRegret(canvas, about, problem, players, view) {
  const lowest = view.log ? Math.max(1e-3, Math.min(...players.flatMap((one) => one.regret.filter((x) => x > 0))) / 2) : 0;
  const kept = (y) => (view.log ? Math.max(lowest, y) : y);
  const datasets = players.flatMap((one) => banded(styleOf(about, one), one.t.map((x, i) => ({ x, y: kept(one.regret[i]), e: one.stderr[i] })), lowest));
  const from = Math.min(10, about.horizon / 10);
  if (view.bounds) {
    problem.bounds.forEach((bound, i) => {
      const limit = bound.kind === "limit" && about.horizon > 1;
      const at = limit ? players[0].t.map((x) => ({ x, y: (bound.value * Math.log(Math.max(1, x))) / Math.log(about.horizon) })) : [{ x: 1, y: bound.value }, { x: about.horizon, y: bound.value }];
      const top = Math.max(...players.flatMap((one) => one.regret));
      if (!view.log && bound.value > 4 * top) return; // it would flatten the rest; the list below names it
      datasets.push({ label: `${bound.title} (${bound.kind})`, data: at.filter(({ x }) => x >= from), borderColor: variable("--muted"), borderWidth: 1.4, borderDash: [[2, 3], [7, 3], [1, 4], [9, 2, 2, 2], [4, 4]][i % 5], pointRadius: 0 });
    });
  }
  draw(canvas, "line", datasets, {
    x: axis("round", { type: "logarithmic", min: Math.max(1, from), max: about.horizon }),
    y: axis("mean regret", view.log ? { type: "logarithmic" } : { beginAtZero: true }),
  }, { tooltip: { title: ([item]) => `round ${whole(Math.round(item.parsed.x))}`, ...withError } });
}

export function drawTails(canvas, about, players) {
  const datasets = players.flatMap((one) => banded(styleOf(about, one), one.tail.x.map((x, i) => ({ x, y: one.tail.p[i], e: one.tail.stderr[i] })).reverse(), 1e-7));
  draw(canvas, "line", datasets, {
    x: axis("regret x", { type: "logarithmic" }),
    y: axis("P(regret > x)", { type: "logarithmic", max: 1, min: 1e-7, ticks: { maxTicksLimit: 9 } }),
  }, { tooltip: { title: ([item]) => `regret above ${number(item.parsed.x)}`, ...withError } });
}

export function drawShares(canvas, about, problem, players) {
  const order = problem.means.map((mean, i) => [mean, i]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).map(([, i]) => i);
  const shade = (rank) => (rank ? colour("#0072B2", Math.max(0.16, 0.62 - 0.09 * rank)) : colour("#009E73", 0.9));
  const datasets = order.map((i, rank) => ({
    label: `arm ${i + 1} (mean ${decimal(problem.means[i])})`, data: players.map((one) => one.shares[i]), backgroundColor: shade(rank),
    borderColor: variable("--card"), borderWidth: 1, stack: "all",
  }));
  draw(canvas, "bar", datasets, {
    x: { ...axis("share of the rounds", { min: 0, max: 1, ticks: { callback: (x) => `${Math.round(100 * x)}%` } }), stacked: true },
    y: { stacked: true, grid: { display: false }, ticks: { color: variable("--ink") } },
  }, {
    labels: players.map((one) => styleOf(about, one).label),
    options: { indexAxis: "y", interaction: { mode: "nearest", intersect: true } },
    tooltip: { label: (item) => `${item.dataset.label}: ${percent(item.raw)}` },
  });
}

export function drawGaps(canvas, about, curves) {
  const datasets = curves.flatMap((one) => banded(styleOf(about, one), one.gap.map((x, i) => ({ x, y: one.regret[i], e: one.stderr[i] })), 0));
  draw(canvas, "line", datasets, {
    x: axis("gap", { type: "logarithmic", min: curves[0].gap[0], max: curves[0].gap.at(-1), ticks: { maxTicksLimit: 30, callback: (x) => ([1, 2, 5].includes(Number(x.toExponential(5).split("e")[0])) ? number(x) : null) } }),
    y: axis(`mean regret after ${whole(about.horizon)} rounds`, { beginAtZero: true }),
  }, { tooltip: { title: ([item]) => `gap ${number(item.parsed.x)}`, ...withError } });
}

export const styleOf = (about, one) => about.policies.find((policy) => policy.name === one.name);

// What the figure says in words and numbers: for those who read, and those who have it read to them.
export function keys(about, players, value) {
  return element("ul", { class: "keys" }, ...players.map((one) => {
    const style = styleOf(about, one);
    const swatch = element("span", { class: "swatch", "aria-hidden": "true" });
    swatch.style.borderTopColor = colour(style.color);
    swatch.style.borderTopStyle = style.dash.length ? "dashed" : "solid";
    return element("li", {}, swatch, `${style.label} `, element("b", {}, value(one)));
  }));
}
