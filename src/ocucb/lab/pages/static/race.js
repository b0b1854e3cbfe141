// One run, round by round: indices as lines, means as dots, and which arm was played.

import { element, ticks, whole } from "/shared/page.js";
import { axis, colour, draw, number } from "./charts.js";

const HUES = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#882255", "#555555"];
const id = (name) => document.getElementById(name);
const still = matchMedia("(prefers-reduced-motion: reduce)");
let timer = null;

export function pause() {
  clearInterval(timer);
  timer = null;
  id("play").textContent = "Play";
}

// `runs` are what the server sent, one for each problem; all have as many rounds.
export function show(runs, canvases) {
  pause();
  const rounds = runs[0].arms.length;
  const slider = id("round");
  slider.max = rounds;
  slider.value = rounds;
  const go = (round) => {
    slider.value = Math.min(rounds, Math.max(1, round));
    const at = Number(slider.value);
    id("round-text").textContent = `${whole(at)} of ${whole(rounds)}`;
    slider.setAttribute("aria-valuetext", `round ${at} of ${rounds}`);
    id("told").textContent = runs.map((run, i) => `${runs.length > 1 ? `Problem ${i + 1}: ` : ""}${sentence(run, at)}`).join(" ");
    runs.forEach((run, i) => paint(canvases[i], run, at));
  };
  slider.oninput = () => { pause(); go(Number(slider.value)); };
  id("step").onclick = () => { pause(); go(Number(slider.value) + 1); };
  id("back").onclick = () => { pause(); go(Number(slider.value) - 1); };
  id("play").onclick = () => {
    if (timer) return pause();
    if (Number(slider.value) >= rounds) go(1);
    id("play").textContent = "Pause";
    const pace = still.matches ? 1000 : 60; // ten rounds at a time for those who want no motion
    timer = setInterval(() => {
      if (Number(slider.value) >= rounds) return pause();
      go(Number(slider.value) + (still.matches ? Math.max(10, Math.ceil(rounds / 20)) : Math.max(1, Math.round(rounds / 300))));
    }, pace);
    return undefined;
  };
  go(rounds);
}

function sentence(run, round) {
  const arm = run.arms[round - 1];
  const head = `In round ${whole(round)}, ${run.label} plays arm ${arm + 1}`;
  const regret = `regret so far ${number(run.regret[round - 1])}`;
  const row = run.indices?.[round - 1];
  if (!run.indices) return `${head}; ${regret}. It compares no indices.`;
  if (!row || row[arm] === null) return `${head}, to try it once; ${regret}.`;
  const others = row.map((x, i) => [x, i]).filter(([x, i]) => i !== arm && x !== null).sort((a, b) => b[0] - a[0]);
  const next = others.length ? `; the next is arm ${others[0][1] + 1} with ${number(others[0][0])}` : "";
  return `${head}: its index ${number(row[arm])} is the largest${next}; ${regret}.`;
}

function paint(canvas, run, round) {
  const rounds = run.arms.length;
  const values = (run.indices ?? run.means).flat().filter((x) => x !== null);
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  const [low, high] = [Math.min(at(0.02), ...run.means.at(-1)), at(0.985)];
  const marks = ticks(low - 0.24 * (high - low || 1), high, 6);
  const floor = marks[0];
  const room = 0.07 * (marks.at(-1) - floor);
  const arms = run.means[0].length;
  const line = Math.min(0.6 * room, (2.2 * room) / arms);
  const datasets = Array.from({ length: arms }, (_, i) => i).flatMap((i) => {
    const tint = colour(HUES[i % HUES.length]);
    const upTo = (rows) => rows.slice(0, round).map((row, t) => ({ x: t + 1, y: row[i] })).filter(({ y }) => y !== null);
    const played = run.arms.slice(0, round).flatMap((arm, t) => (arm === i ? [{ x: t + 1, y: floor + room / 3 + line * (arms - 1 - i) }] : []));
    const lines = [{ label: `arm ${i + 1}: rounds`, data: played, pointStyle: "rect", pointRadius: rounds > 600 ? 1.2 : 2, showLine: false, backgroundColor: tint, borderColor: tint }];
    if (run.indices) lines.push({ label: `arm ${i + 1}: index`, data: upTo(run.indices), borderColor: tint, backgroundColor: tint, borderWidth: 2, pointRadius: 0, stepped: false });
    const last = run.means[round - 1][i];
    if (run.indices) lines.push({ label: `arm ${i + 1}: mean`, data: last === null ? [] : [{ x: round, y: last }], pointRadius: 5, showLine: false, backgroundColor: tint, borderColor: tint });
    else lines.push({ label: `arm ${i + 1}: mean`, data: upTo(run.means), borderColor: tint, backgroundColor: tint, borderWidth: 2, pointRadius: 0 });
    return lines;
  });
  draw(canvas, "line", datasets, {
    x: axis("round", { min: 0, max: rounds }),
    y: axis(run.indices ? "index" : "mean of the rewards", { min: floor, max: marks.at(-1) }),
  }, { tooltip: { title: ([item]) => `round ${item.parsed.x}`, label: (item) => (item.dataset.label.endsWith("rounds") ? `${item.dataset.label.split(":")[0]} played` : `${item.dataset.label} ${number(item.parsed.y)}`) } });
}

export function armKeys(run) {
  return element("ul", { class: "keys" }, ...run.means[0].map((_, i) => {
    const swatch = element("span", { class: "swatch", "aria-hidden": "true" });
    swatch.style.borderTopColor = colour(HUES[i % HUES.length]);
    return element("li", {}, swatch, `arm ${i + 1}: `, element("b", {}, `${whole(run.pulls.at(-1)[i])} rounds`));
  }));
}
