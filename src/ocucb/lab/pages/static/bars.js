// The means of the arms as bars: dragged, moved with the arrow keys, or typed.

import { element } from "/shared/page.js";

const PLACES = 200; // steps over the height

export function bars(setting, range, change) {
  const { low, high } = range;
  const tidy = (x) => {
    const step = 10 ** Math.floor(Math.log10((high - low) / PLACES));
    return Number((Math.round(Math.min(high, Math.max(low, x)) / step) * step).toPrecision(8));
  };
  const best = Math.max(...setting.means);
  const share = (x) => `${Math.min(100, Math.max(0, (100 * (x - low)) / (high - low)))}%`;
  const box = element("div", { class: "bars", role: "group", "aria-label": "Means of the arms" });
  const inputs = element("div", { class: "values" });
  setting.means.forEach((mean, i) => {
    const name = `Mean of arm ${i + 1}`;
    const arm = element("div", { class: `arm${mean === best ? " best" : ""}`, role: "slider", tabindex: 0, "aria-label": name,
      "aria-orientation": "vertical", "aria-valuemin": low, "aria-valuemax": high, "aria-valuenow": mean, title: `arm ${i + 1}: ${mean}` });
    const fill = element("div", { class: "fill" });
    fill.style.height = share(mean);
    const grip = element("div", { class: "grip" });
    grip.style.bottom = share(mean);
    arm.append(fill, grip);
    const input = element("input", { type: "number", step: "any", "aria-label": `${name}, as a number` });
    input.value = mean;
    const put = (x, done) => { // while it is dragged, everything stays where it is
      setting.means[i] = tidy(x);
      fill.style.height = grip.style.bottom = share(setting.means[i]);
      arm.setAttribute("aria-valuenow", setting.means[i]);
      input.value = setting.means[i];
      change(done, i);
    };
    arm.addEventListener("pointerdown", (event) => {
      const { top, height } = box.getBoundingClientRect();
      const at = (place) => low + (1 - (place.clientY - top) / height) * (high - low);
      const move = (place) => put(at(place), false);
      const end = () => {
        window.removeEventListener("pointermove", move);
        put(setting.means[i], true);
      };
      event.preventDefault();
      move(event);
      window.addEventListener("pointermove", move);
      window.addEventListener("pointerup", end, { once: true });
      window.addEventListener("pointercancel", end, { once: true });
    });
    arm.addEventListener("keydown", (event) => {
      const step = (high - low) / (event.shiftKey ? 10 : 100);
      const moved = { ArrowUp: mean + step, ArrowRight: mean + step, ArrowDown: mean - step, ArrowLeft: mean - step, Home: low, End: high }[event.key];
      if (moved === undefined) return;
      event.preventDefault();
      put(moved, true);
    });
    input.addEventListener("change", () => {
      if (input.value !== "") { setting.means[i] = Number(input.value); change(true, i); }
    });
    box.append(arm);
    inputs.append(input);
  });
  return [box, inputs];
}

// What the bars show: all means, with some room, and only what the kind of reward allows.
export function rangeOf(setting) {
  if (setting.rewards === "bernoulli") {
    const top = Math.max(...setting.means);
    return { low: 0, high: top <= 0.05 ? 0.05 : top <= 0.2 ? 0.2 : 1 };
  }
  const [low, high] = [Math.min(...setting.means), Math.max(...setting.means)];
  const room = Math.max(0.5, 0.5 * (high - low));
  return { low: Math.floor(2 * (low - room)) / 2, high: Math.ceil(2 * (high + room)) / 2 };
}
