// Numbers as they are computed: one stream for each kind; opening it again ends the one before, and the work for it.

const open = new Map();

export function stop(kind) {
  open.get(kind)?.close();
  open.delete(kind);
}

// `hear` has a function for each event: about, word, numbers, curve, done, refused.
export function listen(kind, address, hear) {
  stop(kind);
  const source = new EventSource(address);
  open.set(kind, source);
  for (const [name, act] of Object.entries(hear)) {
    source.addEventListener(name, (event) => {
      if (open.get(kind) !== source) return;
      if (name === "done" || name === "refused") stop(kind);
      act(JSON.parse(event.data));
    });
  }
  source.onerror = () => {
    if (open.get(kind) !== source) return;
    stop(kind); // the browser would ask again and again
    hear.refused?.("the server has gone, or refuses more pages; change something to try again.");
  };
}
