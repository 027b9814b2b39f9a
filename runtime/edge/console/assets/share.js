// @ts-check
// The tabs of a session share one stream, because a browser opens only six connections to a server over HTTP/1.1.

/**
 * An event of the stream, and the place that it follows. A place is the ID of an event.
 * @typedef {{after: string, id: string, type: string, data: string}} Message
 */

/**
 * Reports whether the place a is not after b. Places of different recordings are not.
 * @param {string} a @param {string} b
 */
function isReached(a, b) {
  const [recording, number] = a.split("-"), [other, reached] = b.split("-");
  return recording === other && Number(number) <= Number(reached);
}

/** The kinds of events that a stream has. A tab passes all of them on, also those that it does not read itself. */
const kinds = ["tool_call", "tool_step", "tool_result", "approval.requested", "approval.decided", "task.finished", "reload",
  "connection", "upstream", "gap"];

/**
 * Follows the events of the stream after a place. The first tab with a name holds the stream, and passes its events on to
 * the others. When it closes, the next one continues where it is itself. A tab that has missed an event asks for the
 * stream from its own place on, and every tab drops what it has already. If the server refuses the stream, all tabs are
 * told.
 * @param {string} name @param {string} place
 * @param {(type: string, data: string) => void} take @param {() => void} stopped
 */
export function followStream(name, place, take, stopped) {
  const channel = new BroadcastChannel(name);
  /** @type {EventSource | undefined} */
  let source;
  /** @type {number | undefined} */
  let asking;

  /** @param {string} after */
  const open = (after) => {
    source?.close();
    source = new EventSource("/console/calls/events?after=" + encodeURIComponent(after));
    for (const type of kinds)
      source.addEventListener(type, ({ lastEventId: id, data }) => {
        const message = { after, id, type, data };
        after = id;
        channel.postMessage(message);
        receive(message);
      });
    source.addEventListener("error", () => {
      if (source?.readyState !== EventSource.CLOSED) return; // the browser connects again
      channel.postMessage(refused);
      stopped();
    });
  };
  const ask = () => {
    asking = undefined;
    if (source) open(place);
    else channel.postMessage(place);
  };
  /** @param {Message} message */
  const receive = (message) => {
    if (isReached(message.id, place)) return;
    if (!isReached(message.after, place)) {
      asking ??= setTimeout(ask, 100);
      return;
    }
    place = message.id;
    take(message.type, message.data);
  };
  const takenOver = "", refused = "refused"; // which are no places
  channel.addEventListener("message", ({ data }) => {
    if (data === takenOver) ask();
    else if (data === refused) stopped();
    else if (typeof data !== "string") receive(data);
    else if (source && !isReached(place, data)) open(data);
  });
  navigator.locks.request(name, () => {
    open(place);
    channel.postMessage(takenOver);
    return new Promise(() => {}); // until the tab closes
  });
  ask();
}
