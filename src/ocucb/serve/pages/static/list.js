import { ask, cell, change, element, rounds, watch, whole } from "./page.js";

function health(one) {
  if (one.health.length) return cell("health", "wrap", element("span", { class: "pill bad" }, "look"), ` ${one.health.join(" ")}`);
  const [kind, word] = one.archived ? ["off", "archived"] : one.paused ? ["paused", "paused"] : ["", "ok"];
  return cell("health", "", element("span", { class: `pill ${kind}` }, word));
}

function row(one) {
  const link = element("a", { href: `/bandits/${encodeURIComponent(one.name)}` }, one.name);
  const number = (label, text) => cell(label, "number", text);
  return element("tr", {},
    cell("", "name", link),
    health(one),
    cell("policy", "", one.label),
    number("round", rounds(one)),
    number("arms", whole(one.arms)),
    cell("best so far", "name", one.best ?? "–"),
    number("open", whole(one.totals.open)),
    number("expired", whole(one.totals.expired)));
}

const here = new URLSearchParams(window.location.search); // after, limit, archived
const [first, more, other] = ["first", "next", "other"].map((id) => document.getElementById(id));
first.hidden = !here.has("after");
if (here.get("archived") === "true") {
  [other.href, other.textContent] = ["/", "Bandits in use"];
}

const create = document.getElementById("create");
create?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const given = Object.fromEntries(new FormData(create));
  const arms = given.arms.split("\n").map((line) => line.trim()).filter(Boolean);
  const rules = { arms };
  if (given.bounds) rules.bounds = [0, 1];
  for (const key of ["horizon", "expiry"]) if (given[key]) rules[key] = Number(given[key]);
  const path = `/v1/bandits/${encodeURIComponent(given.name)}`;
  const question = `Create ${given.name} with ${arms.length} arms?`;
  const problem = create.parentElement.querySelector(".problem");
  if (await change("PUT", path, rules, question, problem)) window.location.assign(`/bandits/${encodeURIComponent(given.name)}`);
});

await watch(async () => {
  const { bandits, next } = await ask(`/v1/bandits?${here}`);
  document.getElementById("empty").hidden = bandits.length > 0 || here.has("after");
  const there = new URLSearchParams(here);
  there.set("after", next ?? "");
  more.href = `/?${there}`;
  more.hidden = next === null;
  const table = document.getElementById("bandits");
  table.hidden = bandits.length === 0;
  table.tBodies[0].replaceChildren(...bandits.map(row));
});
