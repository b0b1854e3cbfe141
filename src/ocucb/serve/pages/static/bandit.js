import { ask, cell, change, csrf, decimal, element, percent, rounds, ticks, watch, whole } from "./page.js";
import { drawRewards, drawShares } from "./charts.js";

const name = document.body.dataset.name;
const path = `/v1/bandits/${encodeURIComponent(name)}`;
const COLOURS = 8;
const MOST_WEIGHTS = 60;
const colours = new Map(); // arm to class: once given, it stays
const id = (one) => document.getElementById(one);
let version = -1;
let shown = null; // the bandit as it was last seen

function giveColours(arms) {
  const busiest = [...arms].sort((a, b) => b.decisions - a.decisions);
  for (const { arm } of arms.length <= COLOURS ? arms : busiest) {
    if (!colours.has(arm) && colours.size < COLOURS) colours.set(arm, `c${colours.size}`);
  }
}

const colour = (arm) => colours.get(arm) ?? "other";
const swatch = (kind) => element("span", { class: `swatch ${kind}` });

function showState(bandit) {
  const state = id("state");
  state.textContent = bandit.archived ? "archived" : bandit.paused ? "paused" : "running";
  state.className = `pill ${bandit.archived ? "off" : bandit.paused ? "paused" : ""}`;
  id("rules").textContent =
    `${bandit.policy}${bandit.epoch > 1 ? ` (epoch ${bandit.epoch})` : ""}, round ${rounds(bandit)}` +
    (bandit.sigma === null ? ", sigma unknown (intervals hold for normal rewards)" : "") +
    (bandit.expiry === null ? "" : `, decisions expire after ${bandit.expiry} s`) +
    `; created ${new Date(1000 * bandit.created_at).toLocaleString("en-GB")}`;
  id("health").replaceChildren(...bandit.health.map((note) => element("p", { class: "note" }, note)));
  id("totals").replaceChildren(
    ...Object.entries(bandit.totals).filter(([key, value]) => value || key !== "prior").map(([key, value]) =>
      element("div", {}, element("dt", {}, key), element("dd", { id: `total-${key}` }, whole(value)))));
  id("next").textContent =
    bandit.archived ? "Nothing: the bandit is archived." : bandit.paused ? "Nothing: the bandit is paused." : bandit.next.why;
  id("interval").textContent = bandit.features ? "" :
    `Intervals at ${100 * bandit.level}% for ${bandit.simultaneous ? "all arms" : "each arm"}, valid however often you look, if ${bandit.assumption}.`;
  id("gain").textContent = bandit.minimize ? "Cumulative loss" : "Cumulative reward";
}

// Rewards between 0 and 1 are rates.
const isRate = (bandit) => bandit.bounds?.[0] === 0 && bandit.bounds?.[1] === 1;

function showArms(bandit) {
  const value = isRate(bandit) ? percent : decimal;
  const seen = bandit.arms.flatMap((arm) => [arm.low, arm.high, arm.index, arm.mean]).filter((x) => x !== null);
  const marks = seen.length ? ticks(Math.min(...seen), Math.max(...seen)) : [0, 1];
  const place = (x) => `${(100 * (x - marks[0])) / (marks.at(-1) - marks[0])}%`;
  const number = (label, text) => cell(label, "number", text);
  id("arms").tBodies[0].replaceChildren(...bandit.arms.map((arm) => {
    const mark = arm.control ? " (control)" : arm.retired ? " (retired)" : "";
    const ends = bandit.features ? "" : arm.mean === null ? "no reward yet" : arm.low === null ? "too few rewards for an interval" : `${value(arm.low)} to ${value(arm.high)}`;
    const guard = bandit.guardrail ? [element("span", { class: "guard" }, guarded(bandit.guardrail, arm.guard))] : [];
    const row = element("tr", {},
      cell("", "name", swatch(colour(arm.arm)), arm.arm + mark, ...guard),
      number("decisions", whole(arm.decisions)), number("share", percent(arm.share)),
      number("next", percent(arm.probability)), number("open", whole(arm.open)),
      number("expired", whole(arm.expired)), number("mean", value(arm.mean)),
      cell("interval", "track", track(arm, marks, place), element("span", { class: "ends" }, ends)),
      number("index", value(arm.index)));
    if (csrf) row.append(cell("", "acts", ...retireOrReturn(arm)));
    return row;
  }));
  const labels = isRate(bandit) ? (x) => `${Number((100 * x).toPrecision(6))}%` : (x) => String(Number(x.toPrecision(6)));
  id("scale").replaceChildren(...marks.map((x) => {
    const one = element("span", {}, labels(x));
    one.style.left = place(x);
    return one;
  }));
}

// The weights of arms with features, busiest arms first; those that are unknown have no interval.
function showWeights(bandit) {
  id("model").hidden = !bandit.weights;
  id("judged").hidden = Boolean(bandit.weights);
  if (!bandit.weights) return;
  const busy = new Map(bandit.arms.map((arm) => [arm.arm, arm.decisions]));
  const sorted = [...bandit.weights].sort((a, b) => (busy.get(b.arm) ?? 0) - (busy.get(a.arm) ?? 0));
  const rows = sorted.slice(0, MOST_WEIGHTS);
  const hidden = sorted.length - rows.length;
  const seen = rows.flatMap((row) => [row.low, row.high, row.weight]).filter((x) => x !== null);
  const marks = ticks(Math.min(...seen), Math.max(...seen, Math.min(...seen) + 1e-9));
  const place = (x) => `${(100 * (x - marks[0])) / (marks.at(-1) - marks[0])}%`;
  id("assumed").textContent =
    `Intervals at ${100 * bandit.level}% for all weights of ${bandit.shared ? "the model" : "an arm"} together, valid however often you look, if ${bandit.assumption}.` +
    (hidden ? ` The busiest arms; ${whole(hidden)} more weights are not shown.` : "");
  id("weights").tBodies[0].replaceChildren(...rows.map(({ arm, feature, weight, low, high }) => {
    const ends = low === null ? "not known yet" : `${decimal(low)} to ${decimal(high)}`;
    const kind = arm === null ? "other" : colour(arm);
    return element("tr", {},
      cell("", "name", swatch(kind), arm ?? "all"), cell("feature", "", feature), cell("weight", "number", decimal(weight)),
      cell("interval", "track", track({ arm: arm ?? "", low, high, mean: weight, index: null }, marks, place), element("span", { class: "ends" }, ends)));
  }));
}

// What is known of the guardrail's metric.
function guarded({ metric, bounds, most, least }, { values, mean, low, high, violated }) {
  const value = bounds?.[0] === 0 && bounds?.[1] === 1 ? percent : decimal;
  const bound = most === null ? `at least ${value(least)}` : `at most ${value(most)}`;
  if (!values) return `${metric} should be ${bound}: no value yet`;
  const ends = low === null ? "" : ` (${value(low)} to ${value(high)})`;
  return `${metric} should be ${bound}: ${value(mean)}${ends}${violated ? ", violated" : ""}`;
}

// The interval as a bar, the mean as a dot, the index as a line, on a scale that all arms share.
function track(arm, marks, place) {
  const picture = element("div", { class: `bar ${colour(arm.arm)}`, role: "img", "aria-label": "interval, mean and index" });
  const put = (kind, from, to = null) => {
    const made = element("span", { class: kind });
    made.style.left = place(from);
    if (to !== null) made.style.right = `calc(100% - ${place(to)})`;
    picture.append(made);
  };
  marks.forEach((x) => put("grid", x));
  if (arm.low !== null) put("range", arm.low, arm.high);
  if (arm.index !== null) put("index", arm.index);
  if (arm.mean !== null) put("mean", arm.mean);
  return picture;
}

function showCurves({ arms, points }) {
  if (points.length < 1 || points.at(-1).round < 2) return;
  const bands = arms.filter((arm) => colours.has(arm)).map((arm) => ({ kind: colour(arm), text: arm, of: [arms.indexOf(arm)] }));
  const rest = arms.map((arm, i) => (colours.has(arm) ? -1 : i)).filter((i) => i >= 0);
  if (rest.length) bands.push({ kind: "other", text: `${rest.length} other arms`, of: rest });
  drawShares(points, bands);
  id("key").replaceChildren(...bands.map(({ kind, text }) => element("span", {}, swatch(kind), text)));
  if (points.some((point) => point.pulls.some((pulls) => pulls > 0))) drawRewards(points, shown.minimize);
}

// What administrators can do

const problem = document.querySelector("#manage .problem");

async function patch(body, question) {
  const done = await change("PATCH", path, body, question, problem);
  if (done) await load();
  return done;
}

function button(text, act) {
  const made = element("button", {}, text);
  made.addEventListener("click", act);
  return made;
}

function retireOrReturn({ arm, control, retired }) {
  if (control) return [];
  if (retired) return [button("Bring back", () => patch({ add: [arm] }, `Play ${arm} again?`))];
  return [button("Retire", () => patch({ retire: [arm] }, `Play ${arm} no longer?`))];
}

function showManagement(bandit) {
  const words = {
    paused: bandit.paused ? "Resume" : "Pause",
    archived: bandit.archived ? "Bring back" : "Archive",
  };
  for (const one of document.querySelectorAll("[data-change]")) one.textContent = words[one.dataset.change];
  const arms = bandit.arms.filter((arm) => !arm.control && !arm.retired).map((arm) => arm.arm);
  const list = document.querySelector("#winner select");
  if (arms.join("\n") !== [...list.options].map((option) => option.value).join("\n")) {
    list.replaceChildren(...arms.map((arm) => element("option", { value: arm }, arm)));
  }
}

if (csrf) {
  for (const one of document.querySelectorAll("[data-change]")) {
    const key = one.dataset.change;
    one.addEventListener("click", () => patch({ [key]: !shown[key] }, `${one.textContent} ${name}?`));
  }
  const forms = {
    add: ({ arm }) => patch({ add: [arm] }, `Add the arm ${arm}?`),
    extend: ({ horizon }) => patch({ horizon: Number(horizon) }, `Plan for ${whole(Number(horizon))} decisions?`),
    winner: ({ arm }) => {
      const losers = shown.arms.filter((one) => !one.control && !one.retired && one.arm !== arm).map((one) => one.arm);
      return patch({ retire: losers }, `Declare ${arm} the winner, and retire ${losers.length} other arms?`);
    },
  };
  for (const [form, act] of Object.entries(forms)) {
    id(form).addEventListener("submit", async (event) => {
      event.preventDefault();
      if (await act(Object.fromEntries(new FormData(event.target)))) event.target.reset();
    });
  }
}

async function load() {
  shown = await ask(path);
  const moved = shown.version !== version;
  if (moved) giveColours(shown.arms);
  showState(shown);
  if (moved) {
    showArms(shown);
    showWeights(shown);
    if (csrf) showManagement(shown);
    showCurves(await ask(`${path}/history`));
    if (!shown.features) id("verdict").textContent = (await ask(`${path}/verdict`)).sentence;
    version = shown.version;
  }
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { version = -1; });
await watch(load);
