// Every verb of the JavaScript client, for test_serve_thin.py: `sent` is what went over the wire,
// of which the answers to two asks are lost.

import { Client, ServiceError } from "./client.mjs";
const [url, token] = process.argv.slice(2);
const sent = [];
let lost = 0;
const fetch = async (address, request) => {
  sent.push([request.method, address.slice(url.length), request.body ?? null, request.headers]);
  if (lost > 0) { lost -= 1; await globalThis.fetch(address, request); throw new TypeError("lost"); }
  return globalThis.fetch(address, request);
};
const bandit = new Client(url, "js", token, { fetch, timeout: 60, patience: 60 });
const guardrail = { metric: "errors", most: 0.5, bounds: [0, 1] };
await bandit.create(["red", "green"], { policy: "ocucb", horizon: 1000, bounds: [0, 1], seed: 1, guardrail });
lost = 2;
const decision = await bandit.ask();
const retried = sent.filter(([, path]) => path.endsWith("/decisions")).map(([, , , headers]) => headers["Idempotency-Key"]);
const statuses = [await bandit.tell(decision, 0.5, 0), await bandit.tell(decision.id, 0.25)];
const several = await bandit.ask({ count: 3 });
statuses.push(...await bandit.tell(several, [1, 0, 1]));
const anna = [await bandit.ask({ unit: "anna" }), await bandit.ask({ unit: "anna" })].map((one) => one.id);
await bandit.add("blue");
await bandit.retire(["red"]);
await bandit.extend(5000);
await bandit.switch("ucb1");
await bandit.tellPrior([{ arm: "blue", pulls: 10, mean: 0.5 }]);
await bandit.pause();
const refusal = await bandit.ask().catch((error) => [error instanceof ServiceError, error.status, error.message]);
await bandit.resume();
const verdict = (await bandit.verdict({ margin: 0.01 })).verdict;
const summary = await bandit.summary();
await bandit.archive();
await bandit.restore();
await bandit.archive();
const deleted = await bandit.delete();
const away = await new Client("http://127.0.0.1:9", "js", token, { patience: 0.1 }).summary().catch((error) => error.status);
const counts = await bandit.tell([1, 2], [1]).catch((error) => error.message);
console.log(JSON.stringify({ sent, retried, statuses, anna, refusal, verdict, summary, deleted, away, counts }));
