import { ask, decimal, element, percent, rounds, shape, watch, whole } from "./page.js";

const name = document.body.dataset.name;
const path = `/v1/bandits/${encodeURIComponent(name)}`;
const COLOURS = 8;
const colours = new Map(); // arm to class: once given, it stays
let version = -1;

function giveColours(arms) {
  const busiest = [...arms].sort((a, b) => b.decisions - a.decisions);
  for (const { arm } of arms.length <= COLOURS ? arms : busiest) {
    if (!colours.has(arm) && colours.size < COLOURS) colours.set(arm, `c${colours.size}`);
  }
}

const colour = (arm) => colours.get(arm) ?? "other";

function showState(bandit) {
  const state = document.getElementById("state");
  state.textContent = bandit.paused ? "paused" : "running";
  state.classList.toggle("paused", bandit.paused);
  document.getElementById("rules").textContent =
    `${bandit.policy}, round ${rounds(bandit)}` +
    (bandit.sigma === null ? ", sigma unknown (intervals hold for normal rewards)" : "") +
    (bandit.expiry === null ? "" : `, decisions expire after ${bandit.expiry} s`);
  document.getElementById("health").replaceChildren(
    ...bandit.health.map((note) => element("p", { class: "note" }, note)));
  document.getElementById("totals").replaceChildren(
    ...Object.entries(bandit.totals).map(([key, value]) =>
      element("div", {}, element("dt", {}, key), element("dd", { id: `total-${key}` }, whole(value)))));
  document.getElementById("next").textContent =
    bandit.paused ? "Nothing: the bandit is paused." : bandit.next.why;
  document.getElementById("interval").textContent = `${100 * bandit.level}% interval (${bandit.simultaneous ? "all" : "each"})`;
  document.getElementById("interval").title = `valid however often you look, if ${bandit.assumption}`;
  document.getElementById("gain").textContent = bandit.minimize ? "Cumulative loss" : "Cumulative reward";
}

function showArms(bandit) {
  const shown = bandit.arms.flatMap((arm) => [arm.low, arm.high, arm.index, arm.mean]).filter((x) => x !== null);
  const low = Math.min(...shown), high = Math.max(...shown);
  const rows = bandit.arms.map((arm) => {
    const mark = arm.control ? " (control)" : arm.retired ? " (retired)" : "";
    const number = (text) => element("td", { class: "number" }, text);
    return element("tr", {},
      element("td", { class: "name", title: arm.arm },
        element("span", { class: `swatch ${colour(arm.arm)}` }), arm.arm + mark),
      number(whole(arm.decisions)), number(percent(arm.share)), number(percent(arm.probability)),
      number(whole(arm.open)), number(whole(arm.expired)), number(decimal(arm.mean)),
      element("td", {}, interval(arm, low, high), element("span", { class: "ends" }, ends(arm))), number(decimal(arm.index)));
  });
  const table = document.getElementById("arms");
  table.tBodies[0].replaceChildren(...rows);
  table.tFoot.rows[0].cells[1].replaceChildren(...(high > low ? [scale(low, high)] : []));
}

const ends = (arm) => (arm.low === null ? "" : `${decimal(arm.low)} – ${decimal(arm.high)}`);

// What the intervals above it are drawn on.
function scale(low, high) {
  const picture = shape("svg", { viewBox: "0 0 144 20", class: "interval", role: "img" });
  picture.append(shape("line", { x1: 4, x2: 140, y1: 2, y2: 2, class: "grid" }));
  for (const [x, value, anchor] of [[4, low, "start"], [72, (low + high) / 2, "middle"], [140, high, "end"]]) {
    picture.append(shape("line", { x1: x, x2: x, y1: 0, y2: 4, class: "grid" }),
      shape("text", { x, y: 16, "text-anchor": anchor, class: "tick" }, decimal(value)));
  }
  return picture;
}

function interval(arm, low, high) {
  const picture = shape("svg", { viewBox: "0 0 144 20", class: `interval ${colour(arm.arm)}`, role: "img" });
  if (arm.mean === null) return picture;
  const x = (value) => (high > low ? 4 + (136 * (value - low)) / (high - low) : 72);
  picture.append(
    shape("title", {}, `mean ${decimal(arm.mean)}` +
      (arm.low === null ? ", too few rewards for an interval" : `, from ${decimal(arm.low)} to ${decimal(arm.high)}`)),
    shape("line", { x1: 4, x2: 140, y1: 10, y2: 10, class: "grid" }));
  if (arm.low !== null) {
    picture.append(shape("line", { x1: x(arm.low), x2: x(arm.high), y1: 10, y2: 10, class: "stroked", "stroke-width": 3 }));
  }
  picture.append(
    shape("circle", { cx: x(arm.mean), cy: 10, r: 4.5, class: "filled" }));
  if (arm.index !== null) {
    picture.append(shape("line", { x1: x(arm.index), x2: x(arm.index), y1: 3, y2: 17, class: "stroked", "stroke-width": 2 }));
  }
  return picture;
}

// Charts

function frame(place, last, low, high, label) {
  const phone = place.clientWidth < 480;
  const box = { width: phone ? 380 : 900, height: phone ? 220 : 260, left: 56, right: 12, top: 10, bottom: 26 };
  const x = (round) => box.left + ((box.width - box.left - box.right) * round) / last;
  const y = (value) => box.height - box.bottom - ((box.height - box.top - box.bottom) * (value - low)) / (high - low);
  const picture = shape("svg", { viewBox: `0 0 ${box.width} ${box.height}`, role: "img" });
  for (let i = 0; i <= 4; i += 1) {
    const value = low + ((high - low) * i) / 4;
    picture.append(
      shape("line", { x1: box.left, x2: box.width - box.right, y1: y(value), y2: y(value), class: "grid" }),
      shape("text", { x: box.left - 6, y: y(value) + 4, "text-anchor": "end" }, label(value)));
  }
  for (const part of phone ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1]) {
    const anchor = part === 0 ? "start" : part === 1 ? "end" : "middle";
    picture.append(shape("text", { x: x(last * part), y: box.height - 6, "text-anchor": anchor },
      `${part === 1 ? "round " : ""}${whole(Math.round(last * part))}`));
  }
  return { picture, box, x, y };
}

function show(place, drawn, legend, points, read) {
  const reading = element("p", { class: "reading" });
  const key = element("div", { class: "legend" }, ...legend.map(([kind, text]) =>
    element("span", {}, element("span", { class: `swatch ${kind}` }), text)));
  const cursor = shape("line", { y1: drawn.box.top, y2: drawn.box.height - drawn.box.bottom, class: "cursor", visibility: "hidden" });
  drawn.picture.append(cursor);
  drawn.picture.addEventListener("pointermove", (event) => {
    const rect = drawn.picture.getBoundingClientRect();
    const at = ((event.clientX - rect.left) / rect.width) * drawn.box.width;
    let best = 0;
    points.forEach((point, i) => {
      if (Math.abs(drawn.x(point.round) - at) < Math.abs(drawn.x(points[best].round) - at)) best = i;
    });
    cursor.setAttribute("x1", drawn.x(points[best].round));
    cursor.setAttribute("x2", drawn.x(points[best].round));
    cursor.setAttribute("visibility", "visible");
    reading.textContent = `round ${whole(points[best].round)}: ${read(best)}`;
  });
  place.replaceChildren(drawn.picture, reading, key);
}

function drawShares(arms, points) {
  const place = document.getElementById("shares");
  if (points.length < 2) {
    place.textContent = "Not enough decisions yet.";
    return;
  }
  // Arms without a colour of their own are one band.
  const bands = arms.filter((arm) => colours.has(arm)).map((arm) => ({ kind: colour(arm), text: arm, of: [arms.indexOf(arm)] }));
  const rest = arms.map((arm, i) => (colours.has(arm) ? -1 : i)).filter((i) => i >= 0);
  if (rest.length) bands.push({ kind: "other", text: `${rest.length} other arms`, of: rest });
  const count = (point, of) => of.reduce((sum, i) => sum + (point.decisions[i] ?? 0), 0);
  const all = arms.map((_, i) => i);
  const shares = points.map((point, j) => {
    const before = j ? points[j - 1] : { decisions: [] };
    const total = Math.max(1, count(point, all) - count(before, all));
    return bands.map(({ of }) => (count(point, of) - count(before, of)) / total);
  });
  const drawn = frame(place, points.at(-1).round, 0, 1, (value) => `${Math.round(100 * value)}%`);
  const { picture, x, y } = drawn;
  const below = points.map(() => 0);
  bands.forEach(({ kind, text }, b) => {
    const upper = points.map((point, j) => `${x(point.round)},${y(below[j] + shares[j][b])}`);
    const lower = points.map((point, j) => `${x(point.round)},${y(below[j])}`).reverse();
    const area = shape("polygon", { points: [...upper, ...lower].join(" "), class: `area filled ${kind}` });
    area.append(shape("title", {}, text));
    picture.append(area);
    points.forEach((_, j) => { below[j] += shares[j][b]; });
  });
  show(place, drawn, bands.map(({ kind, text }) => [kind, text]), points, (j) =>
    bands.map(({ text }, b) => `${text} ${percent(shares[j][b])}`).join(", "));
}

function drawRewards(arms, points, minimize) {
  const place = document.getElementById("rewards");
  const rewarded = points.filter((point) => point.pulls.some((pulls) => pulls > 0));
  if (rewarded.length < 2) {
    place.textContent = "Not enough rewards yet.";
    return;
  }
  const total = (values) => values.reduce((sum, value) => sum + value, 0);
  const got = rewarded.map((point) => total(point.sums));
  const best = rewarded.map((point) => {
    const means = point.pulls.flatMap((pulls, i) => (pulls > 0 ? [point.sums[i] / pulls] : []));
    return (minimize ? Math.min(...means) : Math.max(...means)) * total(point.pulls);
  });
  const low = Math.min(0, ...got, ...best);
  const high = Math.max(low + 1e-9, ...got, ...best);
  const drawn = frame(place, rewarded.at(-1).round, low, high, (value) =>
    Math.abs(value) >= 1e4 ? value.toExponential(1) : String(Number(value.toPrecision(3))));
  for (const [values, kind] of [[best, "other"], [got, "c0"]]) {
    const line = rewarded.map((point, j) => `${drawn.x(point.round)},${drawn.y(values[j])}`);
    drawn.picture.append(shape("polyline", { points: line.join(" "), class: `curve stroked ${kind}` }));
  }
  show(place, drawn, [["c0", "this bandit"], ["other", "best fixed arm so far"]], rewarded, (j) =>
    `this bandit ${decimal(got[j])}, best fixed arm so far ${decimal(best[j])}`);
}

await watch(async () => {
  const bandit = await ask(path);
  const moved = bandit.version !== version;
  if (moved) giveColours(bandit.arms);
  showState(bandit);
  if (moved) {
    showArms(bandit);
    document.getElementById("verdict").textContent = (await ask(`${path}/verdict`)).sentence;
    const { arms, points } = await ask(`${path}/history`);
    drawShares(arms, points);
    drawRewards(arms, points, bandit.minimize);
    version = bandit.version;
  }
});
