// @ts-check
// Keeps a page as it would be if it were loaded again: after events that it names, and every few seconds, because other
// processes have events of their own. The page of the server is the only one that knows how it looks.
import { followStream } from "./share.js";

const pause = 400; // between two loads
const interval = 5000;

/**
 * Changes an element until it is as another one. What people have opened, entered or chosen stays. An element with
 * data-keep stays as it is, and says so where the server writes another value of it.
 * @param {Element} from @param {Element} to
 */
export function morph(from, to) {
  if (from.isEqualNode(to)) return;
  if (from instanceof HTMLElement && to instanceof HTMLElement && from.dataset.keep !== undefined) {
    from.querySelector(":scope > .changed")?.toggleAttribute("hidden", from.dataset.keep === to.dataset.keep);
    return;
  }
  const keeps = from instanceof HTMLDetailsElement ? ["open"] : from.matches("input, select, textarea") ? ["value", "checked"] : [];
  for (const { name } of Array.from(from.attributes))
    if (!to.hasAttribute(name) && !keeps.includes(name)) from.removeAttribute(name);
  for (const { name, value } of Array.from(to.attributes))
    if (from.getAttribute(name) !== value && !keeps.includes(name)) from.setAttribute(name, value);
  const named = new Map(Array.from(from.children, (child) => [child.id, child]));
  let at = from.firstChild;
  for (const want of Array.from(to.childNodes)) {
    const known = want instanceof Element && want.id ? named.get(want.id) : undefined;
    if (known && known !== at) from.insertBefore(known, at);
    const have = known ?? at;
    if (have instanceof Element && want instanceof Element && have.nodeName === want.nodeName && have.id === want.id) {
      morph(have, want);
      at = have.nextSibling;
    } else if (have instanceof Text && want instanceof Text) {
      if (have.data !== want.data) have.data = want.data;
      at = have.nextSibling;
    } else {
      from.insertBefore(document.adoptNode(want), at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

/** Shows how long it is until the moments of a page, each second. */
function tick() {
  for (const time of document.querySelectorAll("time[data-until]")) {
    const left = Math.round((Date.parse(time.getAttribute("data-until") ?? "") - Date.now()) / 1000);
    time.classList.toggle("urgent", left < 60);
    if (left >= 2 * 60 * 60) continue; // in hours, as the server has written it
    time.textContent = left <= 0 ? "expired" : `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")} left`;
  }
}

/**
 * Returns the address of the page with the approvals that it shows: those that were decided stay, too.
 * @param {string} page
 */
function address(page) {
  const url = new URL(page, location.href);
  for (const row of document.querySelectorAll("#approvals tr[data-id]"))
    url.searchParams.append("shown", row.getAttribute("data-id") ?? "");
  return url.href;
}

/** Keeps a page that says so as the server would write it now. */
export function followPage() {
  const main = document.querySelector("main[data-live]");
  const menu = document.querySelector("#menu");
  if (!(main instanceof HTMLElement)) return;
  const { share, live = "", page = "" } = main.dataset;
  tick();
  setInterval(tick, 1000);
  let asking = false, again = false, paused = false, last = Date.now();
  const load = () => {
    if (paused) return;
    if (asking) {
      again = true;
      return;
    }
    asking = true;
    const request = new XMLHttpRequest();
    request.open("GET", address(page));
    request.setRequestHeader("Hatchel-Refresh", "1"); // which does not prolong the session
    request.responseType = "document";
    request.addEventListener("loadend", () => {
      asking = false;
      last = Date.now();
      const now = request.responseXML, content = now?.querySelector("main[data-live]");
      if (now && content) {
        morph(main, content);
        const entries = now.querySelector("#menu");
        if (menu && entries) morph(menu, entries);
        document.title = now.title;
        tick();
      } else if (request.status !== 0) {
        paused = true; // for good: the session has ended, or the page has
        document.querySelector("#stale")?.removeAttribute("hidden");
        document.querySelector("#live")?.setAttribute("hidden", "");
      }
      if (again) soon();
    });
    request.send();
  };
  /** @type {number | undefined} */
  let waiting;
  const soon = () => {
    again = false;
    waiting ??= setTimeout(() => {
      waiting = undefined;
      load();
    }, Math.max(100, last + pause - Date.now()));
  };
  setInterval(() => {
    if (document.visibilityState === "visible") load();
  }, interval);
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") soon();
  });
  const kinds = [...live.split(" "), "gap"];
  if (share) followStream(share, (kind) => kinds.includes(kind) && soon()); // without the stream, the interval is left
  const control = document.querySelector("#live"), button = control?.querySelector("button");
  control?.removeAttribute("hidden");
  button?.addEventListener("click", () => {
    paused = !paused;
    control?.querySelector("span")?.replaceChildren(paused ? "Paused" : "Live");
    button.textContent = paused ? "Resume" : "Pause";
    if (!paused) load();
  });
}
