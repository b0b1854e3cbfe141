// What all pages share. Names come from users: they are only ever set as text, never as markup.

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// A cell that says what it is, for where there is no room for a table with a head.
export const cell = (label, kind, ...children) =>
  element("td", { "data-label": label, class: kind }, ...children);

export const whole = (x) => x.toLocaleString("en");
export const rounds = (bandit) =>
  whole(bandit.round) +
  (bandit.needs_horizon ? ` of ${whole(bandit.horizon)}${bandit.open_horizon ? " or more" : ""}` : "");
export const percent = (x) => {
  if (x === null) return "–";
  const shown = Math.abs(100 * x);
  return `${(100 * x).toFixed(shown === 0 || shown >= 10 ? 1 : shown >= 0.1 ? 2 : 3)}%`;
};
export const decimal = (x) =>
  x === null ? "–" : Math.abs(x) >= 1e4 || (x !== 0 && Math.abs(x) < 1e-3) ? x.toExponential(2) : x.toFixed(3);

// Steps of 1, 2 or 5 times a power of ten, from at most `low` to at least `high`.
export function ticks(low, high, most = 5) {
  const rough = (high - low) / most || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((times) => times * power >= rough * (1 - 1e-9)) * power;
  const [first, last] = [Math.floor(low / step + 1e-9), Math.ceil(high / step - 1e-9)];
  return Array.from({ length: Math.max(last, first + 1) - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

// Ask again and again; while the page is hidden or the server is away, wait.
export async function watch(load, seconds = 2) {
  const status = document.getElementById("connection");
  for (;;) {
    if (!document.hidden) {
      try {
        await load();
        status.textContent = "live";
      } catch (error) {
        status.textContent = `not up to date: ${error.message}`;
      }
    }
    await new Promise((resume) => setTimeout(resume, 1000 * seconds));
  }
}

export async function ask(path, options = {}) {
  const answer = await fetch(path, { signal: AbortSignal.timeout(10000), ...options });
  if (answer.status === 401) window.location.assign("/login");
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.error);
  return content;
}

// Administrators' pages carry a text that no other site can read, and must send it along.
export const csrf = document.querySelector("meta[name=csrf]")?.content;

export async function change(method, path, body, question, problem) {
  if (!window.confirm(question)) return false;
  try {
    const headers = { "X-CSRF-Token": csrf, "Content-Type": "application/json" };
    // a new bandit's policy may have to be compiled
    await ask(path, { method, headers, body: JSON.stringify(body), signal: AbortSignal.timeout(120000) });
    problem.textContent = "";
    return true;
  } catch (error) {
    problem.textContent = error.message;
    return false;
  }
}
