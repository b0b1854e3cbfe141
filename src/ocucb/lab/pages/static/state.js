// A state of the lab, and its address. What is only looked at (axes, bounds, the figure) stands behind the #.

const list = (text) => text.split(",").map(Number);

export const numbers = (values) => values.map((x) => String(Number(x.toPrecision(12)))).join(",");

export function fromQuery(query) {
  const given = new URLSearchParams(query);
  const settings = ["", "2"].filter((end) => !end || [...given.keys()].some((key) => key.endsWith("2"))).map((end) => {
    const rewards = given.get(`rewards${end}`) ?? "gaussian";
    const usual = rewards === "gaussian" ? "0,-0.3" : "0.5,0.4";
    return { rewards, means: list(given.get(`means${end}`) ?? usual), sigma: list(given.get(`sigma${end}`) ?? "1") };
  });
  const names = given.getAll("policy");
  return {
    settings,
    horizon: Number(given.get("horizon") ?? 10000),
    policies: (names.length ? names : ["ocucb", "ucb", "moss"]).map(fromName),
    seed: Number(given.get("seed") ?? 1),
    race: Number(given.get("race") ?? 300),
    run: Number(given.get("run") ?? 0),
  };
}

function fromName(text) {
  const [family, inside] = text.split(":");
  const pairs = inside ? inside.split(",").map((pair) => pair.split("=")) : [];
  return { family, parameters: Object.fromEntries(pairs.map(([name, value]) => [name, Number(value)])) };
}

export const nameOf = ({ family, parameters }) => {
  const inside = Object.entries(parameters).map(([name, value]) => `${name}=${value}`).join(",");
  return inside ? `${family}:${inside}` : family;
};

export function toQuery(state) {
  const fields = [];
  state.settings.forEach(({ rewards, means, sigma }, i) => {
    const end = i ? "2" : "";
    fields.push([`rewards${end}`, rewards], [`means${end}`, numbers(means)]);
    if (rewards === "gaussian") fields.push([`sigma${end}`, numbers(sigma)]);
  });
  fields.push(["horizon", state.horizon]);
  for (const policy of state.policies) fields.push(["policy", nameOf(policy)]);
  for (const name of ["seed", "race", "run"]) fields.push([name, state[name]]);
  return fields.map(([name, value]) => `${name}=${encodeURIComponent(value).replace(/%3A/g, ":").replace(/%3D/g, "=").replace(/%2C/g, ",")}`).join("&");
}

export function fromHash(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  return { log: given.get("y") === "log", bounds: given.has("bounds"), open: (given.get("open") ?? "").split(",").filter(Boolean) };
}

export function toHash({ log, bounds, open }) {
  const words = [log && "y=log", bounds && "bounds=1", open.length && `open=${open.join(",")}`].filter(Boolean);
  return words.length ? `#${words.join("&")}` : "";
}
