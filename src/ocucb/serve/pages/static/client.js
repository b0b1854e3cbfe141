// A client of `ocucb serve` in one file, for Node 20 or later and for browsers; nothing to install.
//
//     import { Client } from "./client.js";
//     const bandit = new Client("http://127.0.0.1:8000", "colours", token);
//     await bandit.create(["red", "green"], { bounds: [0, 1] });
//     const decision = await bandit.ask();
//     await bandit.tell(decision, 1);
//
// Requests that fail in transit are retried, which is safe: an ask carries a key under which the
// server finds its first answer, a reward counts once per decision, and a change states the result.

const AGAIN = [429, 502, 503, 504]; // worth another attempt
const SLOW = 120; // seconds for a new policy, which may have to be compiled

const key = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (x) => x.toString(16).padStart(2, "0")).join("");
const list = (arms) => (Array.isArray(arms) ? arms : [arms]);

// The server refused a request, or could not be reached: then there is no status.
export class ServiceError extends Error {
  constructor(message, status = null, wait = 0) {
    super(message);
    this.name = "ServiceError";
    this.status = status;
    this.wait = wait; // seconds that the server asked to wait
  }
}

export class Client {
  #url;
  #token;
  #timeout;
  #patience;
  #fetch;

  // `timeout`: seconds to wait for one answer; `patience`: seconds to keep trying.
  constructor(url, name, token, { timeout = 5, patience = 30, fetch = globalThis.fetch } = {}) {
    this.#url = `${url.replace(/\/$/, "")}/v1/bandits/${encodeURIComponent(name)}`;
    this.#token = token;
    this.#timeout = timeout;
    this.#patience = patience;
    this.#fetch = fetch;
  }

  // `rules`: policy, horizon, bounds, …, as for PUT /v1/bandits/{name}.
  create(arms, rules = {}) {
    return this.#call("PUT", "", { arms, ...rules });
  }

  // A decision; with a `count`, an array of them. A `unit` keeps its decision while that is open.
  // `context`: the values of the features, if there are any.
  async ask({ count = null, unit = null, context = null } = {}) {
    const body = { count: count ?? 1, ...(unit === null ? {} : { unit }), ...(context === null ? {} : { context }) };
    const { decisions } = await this.#call("POST", "/decisions", body, { "Idempotency-Key": key() });
    return count === null ? decisions[0] : decisions;
  }

  // Report what a decision, or its id, paid: accepted, duplicate, conflict, expired or unknown.
  // Arrays are taken as a whole; `guard` is the value of the guardrail's metric.
  async tell(decision, reward, guard = null) {
    const single = !Array.isArray(decision);
    const [decisions, paid, guards] = single ? [[decision], [reward], [guard]] : [decision, reward, guard ?? []];
    if (decisions.length !== paid.length) {
      throw new ServiceError(`there must be one reward for each decision, got ${decisions.length} decisions and ${paid.length} rewards.`);
    }
    const { rewards } = await this.#call("POST", "/rewards", decisions.map((one, i) => ({
      decision: one.id ?? one,
      reward: paid[i],
      ...((guards[i] ?? null) === null ? {} : { guard: guards[i] }),
    })));
    const statuses = rewards.map((one) => one.status);
    return single ? statuses[0] : statuses;
  }

  // What is known of arms from elsewhere: arm, pulls, and mean or sum of each.
  tellPrior(prior) {
    return this.#call("POST", "/prior", prior, { "Idempotency-Key": key() });
  }

  add(arms) { return this.#change({ add: list(arms) }); }
  retire(arms) { return this.#change({ retire: list(arms) }); }
  extend(horizon) { return this.#change({ horizon }); }
  switch(policy) { return this.#change({ policy }); }
  pause() { return this.#change({ paused: true }); }
  resume() { return this.#change({ paused: false }); }
  archive() { return this.#change({ archived: true }); }
  restore() { return this.#change({ archived: false }); }
  delete() { return this.#call("DELETE", ""); }
  summary() { return this.#call("GET", ""); }

  verdict(given = {}) { // margin, level
    return this.#call("GET", `/verdict?${new URLSearchParams(given)}`);
  }

  #change(change) {
    return this.#call("PATCH", "", change);
  }

  async #call(method, path, body = null, more = {}) {
    const slow = method === "PUT" || (body !== null && "policy" in body);
    const seconds = slow ? Math.max(this.#timeout, SLOW) : this.#timeout;
    const deadline = Date.now() + 1000 * Math.max(this.#patience, slow ? seconds : 0);
    const headers = { Authorization: `Bearer ${this.#token}`, ...more };
    if (body !== null) headers["Content-Type"] = "application/json";
    const text = body === null ? undefined : JSON.stringify(body);
    for (let pause = 0.05; ; pause = Math.min(2, 2 * pause)) {
      const failure = await this.#attempt(path, { method, headers, body: text, signal: AbortSignal.timeout(1000 * seconds) });
      if (!(failure instanceof ServiceError)) return failure;
      const wait = Math.max(pause * (0.5 + 0.5 * Math.random()), failure.wait);
      if ((failure.status !== null && !AGAIN.includes(failure.status)) || Date.now() + 1000 * wait > deadline) throw failure;
      await new Promise((resume) => setTimeout(resume, 1000 * wait));
    }
  }

  // The answer to one request, or why there is none.
  async #attempt(path, request) {
    let answer, content;
    try {
      answer = await this.#fetch.call(globalThis, this.#url + path, request);
      content = await answer.text();
    } catch (error) {
      return new ServiceError(`${this.#url} does not answer: ${error.cause?.message ?? error.message}.`);
    }
    try {
      const said = JSON.parse(content);
      if (answer.ok) return said;
      if (typeof said.error === "string") return new ServiceError(said.error, answer.status, waiting(answer));
    } catch {
      // what stands between us and the server may answer in another form
    }
    return new ServiceError(`the server answered with status ${answer.status}.`, answer.status, waiting(answer));
  }
}

function waiting(answer) {
  const seconds = answer.headers.get("retry-after") ?? "";
  return answer.status === 429 && /^\d+$/.test(seconds) ? Number(seconds) : 0;
}
