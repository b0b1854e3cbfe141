// The lab: what is played on the left, what comes out on the right, and the address that says both.

import { element, whole } from "/shared/page.js";
import * as charts from "./charts.js";
import { buildControls, colourPolicies, rounds } from "./controls.js";
import * as race from "./race.js";
import { fromHash, fromQuery, toHash, toQuery } from "./state.js";
import { listen, stop } from "./stream.js";

const id = (name) => document.getElementById(name);
const registry = await (await fetch("/registry")).json();
const state = fromQuery(window.location.search);
const view = fromHash(window.location.hash);
let about = null; // what the server says of the state
let known = []; // of each problem: the newest numbers
let curves = []; // of each problem: curves over the gap, by policy
let runs = []; // of each problem: the race
let waiting = null;

const FIGURES = ["regret", "tails", "shares", "gaps", "race"];
const pair = (figure) => document.querySelector(`#${figure} .pair`);
const codes = (figure) => document.querySelector(`#${figure} .codes`);

function say(words, kind) {
  id("status").textContent = words;
  if (kind) id("status").dataset.state = kind;
}

function refuse(sentence) {
  id("problem").textContent = sentence;
  id("problem").hidden = !sentence;
  if (sentence) say("not played", "refused");
}

// Cells: one for each problem in every figure.

function layCells() {
  document.querySelector("main").classList.toggle("double", state.settings.length > 1);
  showOpen();
  for (const figure of FIGURES) {
    pair(figure).replaceChildren(...state.settings.map((setting, i) => {
      const title = state.settings.length > 1 ? [element("h3", {}, `Problem ${i + 1}: ${wordsOf(setting)}`)] : [];
      const canvas = element("canvas", { role: "img", "aria-label": `${document.querySelector(`#${figure} h2`).textContent}, not drawn yet` });
      return element("div", { class: "cell" }, ...title, element("div", { class: "chart" }, canvas), element("div", { class: "legend-of" }));
    }));
    codes(figure).replaceChildren(...state.settings.map(() => element("div")));
  }
  charts.forget();
}

const wordsOf = ({ rewards, means, sigma }) =>
  `${rewards === "gaussian" ? "Gaussian" : "clicks"}, means ${means.map((x) => String(x)).join(", ")}${rewards === "gaussian" ? `, σ ${sigma.join(", ")}` : ""}`;

const canvasOf = (figure, i) => pair(figure).children[i].querySelector("canvas");

function describe(figure, i, legend, sentence) {
  pair(figure).children[i].querySelector(".legend-of").replaceChildren(legend);
  canvasOf(figure, i).setAttribute("aria-label", sentence);
}

function showCode(figure, i, code, which, ready = true) {
  const link = (ending) => element("a", { href: `/take/${figure}/${i}/${which}/${figure}.${ending}?${about.address}`, download: `${figure}.${ending}` }, ending.toUpperCase());
  const copy = (text) => {
    const made = element("button", { type: "button" }, "Copy");
    made.onclick = async () => { await navigator.clipboard?.writeText(text); made.textContent = "Copied"; };
    return made;
  };
  const parts = [element("pre", { class: "python", tabindex: 0 }, code.python), copy(code.python)];
  if (code.command) parts.push(element("pre", { class: "command", tabindex: 0 }, code.command), copy(code.command));
  else parts.push(element("p", { class: "muted" }, "There is no command for this figure of clicks: use the Python."));
  if (ready) parts.push(element("p", { class: "take" }, "Take away: ", link("png"), link("svg"), link("csv")));
  codes(figure).children[i].replaceChildren(...parts);
}

// Playing

function play() {
  const query = toQuery(state);
  history.replaceState(null, "", `?${query}${toHash(view)}`);
  stop("gaps");
  race.pause();
  refuse("");
  say("asking", "playing");
  for (const figure of FIGURES) id(figure).classList.add("stale");
  let laid = false;
  listen("runs", `/runs?${query}`, {
    about(told) {
      about = told;
      known = state.settings.map(() => null);
      curves = state.settings.map(() => new Map());
      runs = [];
      if (!laid && pair("regret").children.length !== state.settings.length) layCells();
      laid = true;
      retitle();
      colourPolicies(about.policies, charts.colour);
      id("notes").textContent = about.notes.join(" ");
      id("racer").replaceChildren(...about.policies.map((one, i) => element("option", { value: i }, one.label)));
      id("race-rounds").value = about.race;
      id("race-run").value = about.run;
      if (view.open.includes("gaps")) startGaps();
      if (view.open.includes("race")) startRace();
    },
    word(words) { say(words, "playing"); },
    numbers(found) {
      const before = known[found.problem];
      const players = found.whole ? found.policies : [...(before?.policies ?? []), ...found.policies];
      known[found.problem] = { ...found, policies: players, code: found.code ?? before?.code };
      for (const figure of ["regret", "tails", "shares"]) id(figure).classList.remove("stale");
      drawNumbers(found.problem);
      say(`${whole(found.runs)} runs · ± ${widest()}`, "playing");
    },
    done() { say(`${whole(Math.max(...known.map((one) => one?.runs ?? 0)))} runs · ± ${widest()}`, "done"); },
    refused: refuse,
  });
}

function retitle() {
  if (state.settings.length < 2) return;
  for (const figure of FIGURES) state.settings.forEach((setting, i) => { pair(figure).children[i].querySelector("h3").textContent = `Problem ${i + 1}: ${wordsOf(setting)}`; });
}

// The widest error bar of all, as a share of the mean.
function widest() {
  const shares = known.flatMap((one) => one?.policies ?? []).map((one) => (one.regret.at(-1) > 0 ? (2 * one.stderr.at(-1)) / one.regret.at(-1) : 0));
  const most = 100 * Math.max(0, ...shares);
  return `${most >= 10 ? most.toFixed(0) : most.toFixed(most >= 1 ? 1 : 2)}%`;
}

const last = (one) => charts.withDigits(one.regret.at(-1), 2 * one.stderr.at(-1));

function drawNumbers(i) {
  const { policies, runs: count, code } = known[i];
  const problem = about.problems[i];
  const order = about.policies.map((style) => policies.find((one) => one.name === style.name)).filter(Boolean);
  charts.drawRegret(canvasOf("regret", i), about, problem, order, view);
  charts.drawTails(canvasOf("tails", i), about, order);
  charts.drawShares(canvasOf("shares", i), about, problem, order);
  const list = (value) => order.map((one) => `${charts.styleOf(about, one).label} ${value(one)}`).join("; ");
  const legend = charts.keys(about, order, last);
  if (view.bounds) legend.append(...problem.bounds.map((bound) => element("li", { class: "bound" }, `${bound.title} (${bound.side} ${bound.kind}${bound.kind === "limit" ? ", as n → ∞" : ""}): ${charts.number(bound.value)}`)));
  describe("regret", i, legend, `Mean regret after ${rounds(about.horizon)} rounds, ${whole(count)} runs: ${list(last)}.`);
  const failure = (one) => `fails in ${one.failure < 1e-4 ? one.failure.toExponential(1) : `${charts.number(100 * one.failure)}%`} of runs`;
  describe("tails", i, charts.keys(about, order, failure), `Tails of the regret: ${list(failure)}.`);
  const best = problem.means.indexOf(Math.max(...problem.means));
  const share = (one) => `${(100 * one.shares[best]).toFixed(1)}% on the best arm`;
  describe("shares", i, charts.keys(about, order, share), `Shares of the arms: ${list(share)}.`);
  if (code) for (const figure of ["regret", "tails", "shares"]) showCode(figure, i, code[figure], count);
}

function startGaps() {
  open("gaps");
  const next = (i) => {
    if (i >= state.settings.length) return;
    listen("gaps", `/gaps/${i}?${about.address}`, {
      about() {},
      word(words) { document.querySelector("#gaps .start").textContent = words; },
      curve(found) {
        curves[i].set(found.name, found);
        id("gaps").classList.remove("stale");
        const all = about.policies.map((one) => curves[i].get(one.name)).filter(Boolean);
        charts.drawGaps(canvasOf("gaps", i), about, all);
        const top = (one) => `at most ${charts.number(Math.max(...one.regret))}`;
        describe("gaps", i, charts.keys(about, all, top), `Regret over the gap: ${all.map((one) => `${charts.styleOf(about, one).label} ${top(one)}`).join("; ")}.`);
        const alike = all.length === about.policies.length && new Set(all.map((one) => one.runs)).size === 1;
        if (alike) showCode("gaps", i, found.code, found.runs);
      },
      done() { document.querySelector("#gaps .start").textContent = "Draw it again"; next(i + 1); },
      refused(sentence) { document.querySelector("#gaps .start").textContent = sentence; },
    });
  };
  next(0);
}

async function startRace() {
  open("race");
  const which = Math.min(Number(id("racer").value || 0), about.policies.length - 1);
  const address = about.address;
  id("told").textContent = "playing one run (the first one is compiled)";
  const found = await Promise.all(state.settings.map(async (_, i) => {
    const answer = await fetch(`/race/${i}/${which}?${address}`);
    return [answer.ok, await answer.json()];
  }));
  if (address !== about.address) return;
  const wrong = found.find(([ok]) => !ok);
  if (wrong) { id("told").textContent = wrong[1].error; return; }
  runs = found.map(([, run]) => run);
  id("race").classList.remove("stale");
  race.show(runs, runs.map((_, i) => canvasOf("race", i)));
  runs.forEach((run, i) => {
    describe("race", i, race.armKeys(run), `One run of ${run.label}, ${whole(run.arms.length)} rounds.`);
    showCode("race", i, run.code, which);
  });
}

// Figures that are drawn on request take no room before.
function showOpen() {
  for (const figure of ["gaps", "race"]) id(figure).classList.toggle("closed", !view.open.includes(figure));
}

function open(figure) {
  if (!view.open.includes(figure)) view.open.push(figure);
  showOpen();
  history.replaceState(null, "", `?${toQuery(state)}${toHash(view)}`);
}

// What people do

function changed(done) {
  clearTimeout(waiting);
  stop("runs"); // whatever is being computed is of no use any more
  stop("gaps");
  waiting = setTimeout(play, done ? 0 : 90);
  document.querySelector("[aria-current]")?.removeAttribute("aria-current");
}

const redraw = buildControls(registry, state, changed);

function load(address) {
  const given = fromQuery(address);
  Object.assign(state, given);
  redraw();
  layCells();
  play();
}

for (const name of ["log", "bounds"]) {
  id(name).checked = view[name];
  id(name).onchange = (event) => {
    view[name] = event.target.checked;
    history.replaceState(null, "", `?${toQuery(state)}${toHash(view)}`);
    known.forEach((one, i) => one && drawNumbers(i));
  };
}
document.querySelector("#gaps .start").onclick = startGaps;
document.querySelector("#race .start").onclick = startRace;
id("racer").onchange = startRace;
for (const [name, key, most] of [["race-rounds", "race", 2000], ["race-run", "run", 1e6]]) {
  id(name).onchange = (event) => {
    state[key] = Math.min(most, Math.max(key === "race" ? 1 : 0, Math.floor(Number(event.target.value))));
    open("race");
    play();
  };
}
id("share").onclick = async () => {
  await navigator.clipboard?.writeText(window.location.href);
  id("share").textContent = "Copied";
  setTimeout(() => { id("share").textContent = "Copy address"; }, 1500);
};

const stories = [...document.querySelectorAll(".stories li button")];
function tell(i) {
  const story = stories[i];
  document.querySelector("[aria-current]")?.removeAttribute("aria-current");
  id("story").hidden = false;
  id("story").querySelector("h2").textContent = story.textContent.replace(/^\d+/, "");
  id("story").querySelector("p").textContent = story.dataset.text;
  id("story").querySelector(".next").onclick = () => tell((i + 1) % stories.length);
  view.open = ["gaps", "race"].includes(story.dataset.figure) ? [story.dataset.figure] : [];
  history.pushState(null, "", `?${story.dataset.address}`);
  load(story.dataset.address);
  story.setAttribute("aria-current", "true");
  story.scrollIntoView({ inline: "center", block: "nearest" });
  if (story.dataset.figure !== "regret") id(story.dataset.figure).scrollIntoView({ block: "start" });
}
stories.forEach((story, i) => { story.onclick = () => tell(i); });
id("story").querySelector(".close").onclick = () => { id("story").hidden = true; };

window.addEventListener("popstate", () => {
  Object.assign(view, fromHash(window.location.hash));
  load(window.location.search);
});
window.addEventListener("pagehide", () => { stop("runs"); stop("gaps"); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  known.forEach((one, i) => one && drawNumbers(i));
  if (about) colourPolicies(about.policies, charts.colour);
});
if (matchMedia("(max-width: 1000px)").matches) document.querySelector("#controls > details").open = false;
layCells();
play();
