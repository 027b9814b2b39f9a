// @ts-check
// The tabs of a session share one stream, because a browser opens only six connections to a server over HTTP/1.1.

/** The kinds of events that the stream has, and "gap" where it has left some out. */
const kinds = ["tool_call", "tool_step", "tool_result", "approval.requested", "approval.decided", "task.finished", "reload",
  "connection", "upstream", "gap"];

/**
 * Follows the kinds of the events of the server. The first tab with a name holds the stream, and tells the others; when it
 * closes, the next one opens the stream. A stream begins, and ends for good, with "gap": what happened meanwhile is not
 * known.
 * @param {string} name @param {(kind: string) => void} take
 */
export function followStream(name, take) {
  const channel = new BroadcastChannel(name);
  channel.addEventListener("message", ({ data }) => take(data));
  const tell = (/** @type {string} */ kind) => {
    channel.postMessage(kind);
    take(kind);
  };
  navigator.locks.request(name, () => {
    const source = new EventSource("/console/events");
    for (const kind of kinds) source.addEventListener(kind, () => tell(kind));
    source.addEventListener("open", () => tell("gap"));
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) tell("gap"); // else the browser connects again
    });
    return new Promise(() => {}); // until the tab closes
  });
}
