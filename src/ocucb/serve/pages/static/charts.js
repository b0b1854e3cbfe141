// The charts of a bandit, drawn by Chart.js, which the page has loaded as `Chart`.

import { decimal, percent, whole } from "./page.js";

const STEPS = 24; // of the shares: each is an average over many decisions, so batches make no teeth
const drawn = new Map();

const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export const paint = (kind) => variable(kind === "other" ? "--grey" : `--${kind}`);

// When a round was: between two points, time passes evenly.
function clock(points) {
  const long = points.at(-1).at - points[0].at > 86400;
  const form = new Intl.DateTimeFormat("en-GB", long
    ? { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" }
    : { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  return (round) => {
    const after = points.find((point) => point.round >= round) ?? points.at(-1);
    const before = points.findLast((point) => point.round <= round) ?? points[0];
    const part = after.round > before.round ? (round - before.round) / (after.round - before.round) : 0;
    return form.format(1000 * (before.at + part * (after.at - before.at)));
  };
}

function draw(id, points, datasets, y, legend) {
  const when = clock(points);
  const [ink, line] = [variable("--muted"), variable("--line")];
  const options = {
    animation: false,
    maintainAspectRatio: false,
    interaction: { mode: "index", intersect: false },
    scales: {
      x: {
        type: "linear", min: 0, max: points.at(-1).round, grid: { color: line },
        title: { display: true, text: "round, and when it was", color: ink },
        ticks: { color: ink, maxTicksLimit: 7, maxRotation: 0, includeBounds: false, callback: (round) => [whole(round), when(round)] },
      },
      y: { ...y, grid: { color: line }, ticks: { color: ink, maxTicksLimit: 6, callback: y.label } },
    },
    plugins: {
      legend: { display: legend, position: "bottom", labels: { color: ink, boxWidth: 12 } },
      tooltip: {
        callbacks: {
          title: ([item]) => `round ${whole(item.parsed.x)}, ${when(item.parsed.x)}`,
          label: (item) => `${item.dataset.label}: ${y.label(item.dataset.said?.[item.dataIndex] ?? item.parsed.y)}`,
        },
      },
    },
  };
  const known = drawn.get(id);
  if (known) {
    known.data.datasets = datasets;
    known.options = options;
    known.update("none");
  } else {
    drawn.set(id, new window.Chart(document.getElementById(id), { type: "line", data: { datasets }, options }));
  }
}

// At most so many points, at about equal distances in rounds; the last one is among them.
function thinned(points) {
  const width = points.at(-1).round / STEPS;
  const kept = [points[0]];
  for (const point of points.slice(1)) if (point.round - kept.at(-1).round >= width) kept.push(point);
  if (kept.at(-1) !== points.at(-1)) {
    if (kept.length > 2) kept.pop(); // so that the last step is no shorter
    kept.push(points.at(-1));
  }
  return kept;
}

// Bands: what has a colour of its own, and everything else together; `of` are positions of arms.
export function drawShares(points, bands) {
  const none = { round: 0, at: points[0].at, decisions: [] };
  const kept = thinned([none, ...points]);
  const count = (point, of) => of.reduce((sum, i) => sum + (point.decisions[i] ?? 0), 0);
  const all = points.at(-1).decisions.map((_, i) => i);
  const below = kept.slice(1).map(() => 0); // Chart.js leaves gaps between stacked steps
  const datasets = bands.map(({ kind, text, of }, b) => {
    const shares = kept.slice(1).map((point, j) => {
      const total = Math.max(1, count(point, all) - count(kept[j], all));
      return (count(point, of) - count(kept[j], of)) / total;
    });
    shares.forEach((share, j) => { below[j] += share; });
    const ends = below.flatMap((y, j) => [{ x: kept[j].round, y }, { x: kept[j + 1].round, y }]);
    return { label: text, data: ends, said: shares.flatMap((share) => [share, share]),
      fill: b ? "-1" : "origin", pointRadius: 0, borderWidth: 1,
      borderColor: variable("--card"), backgroundColor: paint(kind) };
  });
  draw("shares", [none, ...points], datasets, { min: 0, max: 1, label: percentTick }, false);
}

const percentTick = (y) => (Math.abs(100 * y - Math.round(100 * y)) < 1e-6 ? `${Math.round(100 * y)}%` : percent(y));

export function drawRewards(points, minimize) {
  const rewarded = points.filter((point) => point.pulls.some((pulls) => pulls > 0));
  const total = (values) => values.reduce((sum, value) => sum + value, 0);
  const lines = [
    ["best fixed arm so far", "other", (point) => {
      const means = point.pulls.flatMap((pulls, i) => (pulls > 0 ? [point.sums[i] / pulls] : []));
      return (minimize ? Math.min(...means) : Math.max(...means)) * total(point.pulls);
    }],
    ["this bandit", "c0", (point) => total(point.sums)],
  ];
  const datasets = lines.map(([label, kind, value]) => ({
    label, borderColor: paint(kind), backgroundColor: paint(kind), borderWidth: 2, pointRadius: 0,
    data: rewarded.map((point) => ({ x: point.round, y: value(point) })),
  }));
  const label = (y) => (Number.isInteger(y) && Math.abs(y) < 1e7 ? whole(y) : decimal(y));
  draw("rewards", points, datasets, { beginAtZero: true, label }, true);
}
