// What both pages share. Names come from users: they are only ever set as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export function shape(tag, attributes = {}, text = null) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  return made;
}

export const whole = (x) => x.toLocaleString("en");
export const rounds = (bandit) =>
  `${whole(bandit.round)} of ${whole(bandit.horizon)}${bandit.open_horizon ? " or more" : ""}`;
export const percent = (x) => (x === null ? "–" : `${(100 * x).toFixed(1)}%`);
export const decimal = (x) =>
  x === null ? "–" : Math.abs(x) >= 1e4 || (x !== 0 && Math.abs(x) < 1e-3) ? x.toExponential(2) : x.toFixed(3);

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

export async function ask(path) {
  const answer = await fetch(path, { signal: AbortSignal.timeout(10000) });
  if (answer.status === 401) window.location.assign("/login");
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.error);
  return content;
}
