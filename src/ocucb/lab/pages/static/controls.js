// What is played, on the left: every control says its value, changes the state, and reports that.

import { element, whole } from "/shared/page.js";
import { bars, rangeOf } from "./bars.js";

const id = (name) => document.getElementById(name);
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const short = (x) => String(Number(Number(x).toPrecision(4)));

export const rounds = (n) => (n >= 1e6 && Math.log10(n) % 1 === 0 ? `10${[...String(Math.log10(n))].map((d) => SUPERSCRIPTS[d]).join("")}` : whole(n));

// Two digits are enough for a slider of rounds.
const toHorizon = (exponent) => Number((10 ** exponent).toPrecision(exponent % 1 ? 2 : 12));

export function buildControls(registry, state, changed) {
  const families = new Map(registry.policies.map((one) => [one.name, one]));
  const redraw = (focus) => {
    drawSettings(registry, state, changed, redraw);
    drawPolicies(families, state, changed, redraw);
    id("second").checked = state.settings.length > 1;
    id("horizon").value = Math.log10(state.horizon);
    sayHorizon(state);
    id("seed").value = state.seed;
    if (focus) document.querySelector(focus)?.focus();
  };
  id("second").onchange = (event) => {
    state.settings = event.target.checked ? [state.settings[0], structuredClone(state.settings[0])] : [state.settings[0]];
    redraw();
    changed(true);
  };
  id("horizon").oninput = (event) => {
    state.horizon = toHorizon(Number(event.target.value));
    sayHorizon(state);
    changed(false);
  };
  id("seed").onchange = (event) => {
    state.seed = Math.max(0, Math.floor(Number(event.target.value)));
    changed(true);
  };
  id("add-policy").onclick = () => {
    const used = new Set(state.policies.map((one) => one.family));
    const kind = state.settings.some((one) => one.rewards !== "bernoulli");
    const next = ["thompson", "kl-ucb", "moss", "ucb", "ocucb", "imed", ...families.keys()].find((name) => !used.has(name) && !(kind && families.get(name).binary));
    state.policies.push(newPolicy(families, next));
    redraw(`#policies li:nth-child(${state.policies.length}) select`);
    changed(true);
  };
  id("controls").onsubmit = (event) => event.preventDefault();
  redraw();
  return redraw;
}

function sayHorizon(state) {
  id("horizon-text").textContent = `${rounds(state.horizon)} rounds`;
  id("horizon").setAttribute("aria-valuetext", `${whole(state.horizon)} rounds`);
}

function newPolicy(families, name) {
  return { family: name, parameters: Object.fromEntries(families.get(name).parameters.map((one) => [one.name, one.default])) };
}

function drawSettings(registry, state, changed, redraw) {
  id("settings").replaceChildren(...state.settings.map((setting, s) => {
    const title = state.settings.length > 1 ? `Problem ${s + 1}` : "Problem";
    const box = element("fieldset", { class: "card setting" }, element("legend", {}, title));
    const select = element("select", { "aria-label": `${title}: kind of reward` });
    const names = { gaussian: "Gaussian", bernoulli: "Clicks (0 and 1)" };
    select.append(...registry.kinds.map((kind) => element("option", { value: kind }, names[kind] ?? kind)));
    select.value = setting.rewards;
    select.onchange = () => {
      const arms = setting.means.length;
      setting.rewards = select.value;
      setting.means = Array.from({ length: arms }, (_, i) => (select.value === "gaussian" ? (i ? -0.3 : 0) : i ? 0.4 : 0.5));
      setting.sigma = [1];
      redraw();
      changed(true);
    };
    const arm = (text, label, act, off) => {
      const made = element("button", { type: "button", "aria-label": label }, text);
      made.disabled = off;
      made.onclick = () => { act(); redraw(); changed(true); };
      return made;
    };
    const each = setting.sigma.length > 1;
    const more = arm("+", `${title}: add an arm`, () => {
      setting.means.push(setting.means.at(-1));
      if (each) setting.sigma.push(setting.sigma.at(-1));
    }, setting.means.length >= registry.most.arms);
    const fewer = arm("−", `${title}: remove the last arm`, () => {
      setting.means.pop();
      if (each) setting.sigma.pop();
    }, setting.means.length < 2);
    const head = element("div", { class: "row2" }, select, fewer, element("span", { class: "count" }, `${setting.means.length} arms`), more);
    const drag = bars(setting, rangeOf(setting), (done, i) => {
      if (done) redraw(document.activeElement?.classList.contains("arm") ? `.setting:nth-child(${s + 1}) .arm:nth-child(${i + 1})` : null);
      changed(done);
    });
    box.append(head, ...drag, element("p", { class: "small" }, "Means: drag a bar, use the arrow keys, or type."));
    if (setting.rewards === "gaussian") box.append(...sigmas(setting, title, redraw, changed));
    return box;
  }));
}

function sigmas(setting, title, redraw, changed) {
  const each = setting.sigma.length > 1;
  const check = element("input", { type: "checkbox" });
  check.checked = each;
  check.onchange = () => {
    setting.sigma = check.checked ? setting.means.map(() => setting.sigma[0]) : [Math.max(...setting.sigma)];
    redraw();
    changed(true);
  };
  const sliders = setting.sigma.map((value, i) => {
    const name = each ? `σ of arm ${i + 1}` : "Noise σ";
    return slider({ name, label: `${title}: ${name}`, value, low: 0.1, high: 10, scale: "log", least: 0.001 }, (x, done) => {
      setting.sigma[i] = x;
      changed(done);
    });
  });
  return [...sliders, element("label", { class: "check small" }, check, " a σ for each arm")];
}

// A slider with a number beside it, which may lie outside of the slider.
function slider({ name, label, value, low, high, scale, whole: integer, least, note }, change) {
  const log = scale === "log";
  const [to, from] = log ? [Math.log10, (x) => 10 ** x] : [(x) => x, (x) => x];
  const range = element("input", { type: "range", min: to(low), max: to(high), step: integer && !log ? 1 : "any", "aria-label": label });
  const number = element("input", { type: "number", step: "any", "aria-label": `${label}, as a number` });
  if (least !== undefined) number.min = least;
  const show = (x) => {
    number.value = x;
    range.value = to(x);
    range.setAttribute("aria-valuetext", short(x));
  };
  show(value);
  const tidy = (x) => (integer ? Math.round(x) : Number(x.toPrecision(3)));
  range.oninput = () => {
    const x = Math.min(high, Math.max(low, tidy(from(Number(range.value)))));
    number.value = x;
    range.setAttribute("aria-valuetext", short(x));
    change(x, false);
  };
  number.onchange = () => {
    if (number.value === "") return;
    show(Number(number.value));
    change(Number(number.value), true);
  };
  const head = element("div", { class: "slider" }, element("span", {}, name), ...(note ? [note] : []), number);
  return element("div", { class: "control" }, head, range);
}

function drawPolicies(families, state, changed, redraw) {
  const clicks = state.settings.every((one) => one.rewards === "bernoulli");
  id("policies").replaceChildren(...state.policies.map((policy, i) => {
    const family = families.get(policy.family);
    policy.parameters = { ...newPolicy(families, policy.family).parameters, ...policy.parameters };
    const select = element("select", { "aria-label": `Policy ${i + 1}` });
    for (const one of families.values()) {
      if (one.binary && !clicks && one !== family) continue;
      select.append(element("option", { value: one.name }, one.label));
    }
    select.value = policy.family;
    select.onchange = () => {
      state.policies[i] = newPolicy(families, select.value);
      redraw(`#policies li:nth-child(${i + 1}) select`);
      changed(true);
    };
    const drop = element("button", { type: "button", "aria-label": `Remove ${family.label}` }, "×");
    drop.disabled = state.policies.length < 2;
    drop.onclick = () => { state.policies.splice(i, 1); redraw("#add-policy"); changed(true); };
    const row = element("li", { title: family.about },
      element("div", { class: "policy" }, element("span", { class: "line", "aria-hidden": "true" }), select, drop));
    for (const one of family.parameters) {
      const note = one.proved ? element("span", { class: "proved" }, `proved ${one.proved}`) : null;
      row.append(slider({ ...one, label: `${family.label}: ${one.name}`, value: policy.parameters[one.name], note }, (x, done) => {
        policy.parameters[one.name] = x;
        changed(done);
      }));
    }
    row.append(element("p", { class: "formula" }, family.formula));
    return row;
  }));
  id("add-policy").disabled = state.policies.length >= 6;
}

// Once the server has named colours: those of the figures, beside the policies.
export function colourPolicies(policies, colour) {
  document.querySelectorAll("#policies .line").forEach((line, i) => {
    if (policies[i]) line.style.borderTopColor = colour(policies[i].color);
  });
}
