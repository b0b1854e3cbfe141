import { ask, element, rounds, watch, whole } from "./page.js";

function row(one) {
  const link = element("a", { href: `/bandits/${encodeURIComponent(one.name)}` }, one.name);
  const number = (x) => element("td", { class: "number" }, whole(x));
  const notes = one.health.length ? one.health.join(" ") : one.paused ? "paused" : "ok";
  return element("tr", {},
    element("td", { class: "name" }, link),
    element("td", { class: one.health.length ? "wrap" : "ok" }, notes),
    element("td", {}, one.label),
    element("td", { class: "number" }, rounds(one)),
    number(one.arms),
    element("td", { class: "name" }, one.best ?? "–"),
    number(one.totals.open),
    number(one.totals.expired));
}

const here = new URLSearchParams(window.location.search); // after, limit
const [first, more] = ["first", "next"].map((id) => document.getElementById(id));
first.hidden = !here.has("after");

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
