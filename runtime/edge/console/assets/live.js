// @ts-check
// Follows the calls of the server, and adds them to the list.
import { followStream } from "./share.js";

const maxRows = 500;
const maxRowsPerFrame = 20;
const maxText = 160;
const shown = ["tool_call", "tool_step", "tool_result", "approval.requested", "approval.decided", "gap"];

/**
 * @typedef {{time: string, tool: string, tool_call_id: string, caller?: {subject?: string}, step?: string,
 *   kind?: string, ms?: number, outcome?: string, error?: string, approval?: {id: string, tool_call_id?: string}}} CallEvent
 */

/** @type {Record<string, string>} */
const classes = { "waits for approval": "warn", ok: "ok", partial: "warn", failed: "bad", error: "bad", refused: "warn", cancelled: "warn" };

/**
 * Shows the characters that control, reorder or hide text by their number, as the pages of the server do.
 * @param {string} text
 */
const escapeText = (text) => text.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} \n]/gu, (c) =>
  c === "\t" ? "    " : "\\u" + (c.codePointAt(0) ?? 0).toString(16).padStart(4, "0"));

/** Returns the beginning of a text in one line, as the pages of the server do. @param {string} text */
function cutText(text) {
  const letters = Array.from(text.split(/\p{White_Space}+/u).filter(Boolean).join(" "));
  return letters.length > maxText ? letters.slice(0, maxText).join("") + "…" : letters.join("");
}

/**
 * Returns what reads the events that the filter of the page selects. Only the first event of a call has its caller.
 * @returns {(type: string, data: string) => CallEvent | undefined}
 */
function newReader() {
  const filter = new URLSearchParams(location.search);
  const tool = filter.get("tool"), caller = filter.get("caller");
  const pattern = (tool ?? "").split("*").map((part) => part.replace(/[^\w]/g, "\\$&")).join(".*");
  const matches = new RegExp("^" + pattern + "$", "s");
  const calls = new Set(Array.from(document.querySelectorAll("#calls tbody tr"), (row) => row.id));
  /** @param {string} type @param {CallEvent} event */
  const isWanted = (type, event) => {
    const id = rowID(event);
    if (tool && !matches.test(event.tool)) return false;
    if (event.approval) return true; // of a call without a row, it is not shown
    if (type === "tool_call" && event.caller?.subject === caller) calls.add(id);
    return !caller || (type === "tool_result" ? calls.delete(id) : calls.has(id));
  };
  return (type, data) => {
    if (!isWanted(type, JSON.parse(data))) return undefined;
    return JSON.parse(data, (name, value) =>
      typeof value === "string" ? escapeText(name === "error" ? cutText(value) : value) : value);
  };
}

/** @param {CallEvent} event */
const rowID = (event) => "call-" + (event.tool_call_id ?? event.approval?.tool_call_id);

/** @param {HTMLElement} cell @param {string} word @param {string} [approval] that the call waits for */
function setState(cell, word, approval) {
  const state = document.createElement("span");
  state.className = "state " + (classes[word] ?? "off");
  state.textContent = word;
  if (approval === undefined) return cell.replaceChildren(state);
  const link = document.createElement("a");
  link.href = "/console/approvals/" + encodeURIComponent(approval);
  link.append(state);
  cell.replaceChildren(link);
}

/** @param {CallEvent} event @returns {HTMLTableRowElement} */
function newRow(event) {
  const row = document.createElement("tr");
  row.id = rowID(event);
  const link = document.createElement("a");
  link.href = "/console/calls/" + encodeURIComponent(event.tool_call_id);
  const time = document.createElement("time");
  time.textContent = event.time.slice(11, 19);
  link.append(time);
  row.insertCell().append(link);
  setState(row.insertCell(), "running");
  const tool = document.createElement("th");
  tool.scope = "row";
  tool.textContent = event.tool;
  row.append(tool);
  row.insertCell();
  const ms = row.insertCell();
  ms.className = "number";
  ms.dataset.of = "ms";
  row.insertCell();
  return row;
}

/** @param {HTMLTableRowElement} row @param {string} type @param {CallEvent} event */
function update(row, type, event) {
  const [, state, , caller, ms, steps] = row.cells;
  switch (type) {
    case "tool_call":
      caller.textContent = event.caller?.subject ?? "";
      break;
    case "tool_step": {
      const step = document.createElement("span");
      step.className = "step";
      step.textContent = `${event.step || event.kind} ${(event.ms ?? 0).toFixed(1)} ms`;
      steps.append(step, " ");
      break;
    }
    case "approval.requested":
      setState(state, "waits for approval", event.approval?.id);
      break;
    case "approval.decided":
      setState(state, ms.textContent ? "asked" : "running");
      break;
    case "tool_result":
      if (event.outcome !== "asked" || !state.querySelector("a")) setState(state, event.outcome ?? "");
      ms.textContent = (event.ms ?? 0).toFixed(1);
      if (event.error) steps.append(event.error);
  }
}

/** Follows calls on a page that lists them. */
export function followCalls() {
  const table = document.querySelector("table#calls");
  const button = document.querySelector("#pause");
  const summary = document.querySelector("#summary"), said = document.querySelector("#said");
  if (!(table instanceof HTMLTableElement) || !(button instanceof HTMLButtonElement) || !summary || !said) return;
  const body = table.tBodies[0];
  const failedOnly = new URLSearchParams(location.search).has("failed");
  const read = newReader();
  /** @type {{type: string, event: CallEvent}[]} */
  let waiting = [];
  let paused = false;
  let planned = false;
  let missed = false;
  let stopped = false;

  const describe = () => {
    const shown = body.querySelectorAll("tr:not([hidden])").length;
    summary.textContent = (shown === 1 ? "1 call" : shown + " calls") + (paused ? ", paused" : "") +
      (missed ? ". Some events were missed. Load the page again to see all calls." : "") +
      (stopped ? ". The server does not send new calls any more. Load the page again to see why." : "");
  };
  /** @param {string} type @param {CallEvent} event */
  const show = (type, event) => {
    let row = document.getElementById(rowID(event));
    if (!(row instanceof HTMLTableRowElement)) {
      if (event.approval) return;
      row = newRow(event);
      row.hidden = failedOnly;
      body.prepend(row);
    }
    update(/** @type {HTMLTableRowElement} */ (row), type, event);
    if (type === "tool_result" && failedOnly) {
      if (["bad", "warn"].includes(classes[event.outcome ?? ""])) row.hidden = false;
      else row.remove();
    }
  };
  const draw = () => {
    planned = false;
    if (!paused) for (const { type, event } of waiting.splice(0, maxRowsPerFrame)) show(type, event);
    while (body.rows.length > maxRows) body.deleteRow(-1);
    describe();
    if (!paused && waiting.length > 0) plan();
  };
  const plan = () => {
    if (planned) return;
    planned = true;
    requestAnimationFrame(draw);
  };

  const { share = "", after = "" } = table.dataset;
  followStream(share, after, (type, data) => {
    if (!shown.includes(type)) return;
    const wasStopped = stopped;
    stopped = false;
    const event = type === "gap" ? undefined : read(type, data);
    if (event) waiting.push({ type, event });
    if (type === "gap" || waiting.length > 4 * maxRows) missed = true;
    if (waiting.length > 4 * maxRows) waiting = waiting.slice(-4 * maxRows);
    if (event || missed || wasStopped) plan();
  }, () => {
    stopped = true;
    plan();
  });
  button.hidden = false;
  button.addEventListener("click", () => {
    paused = !paused;
    button.textContent = paused ? "Resume" : "Pause";
    plan();
  });
  // A screen reader hears the summary now and then, and no row.
  setInterval(() => {
    if (said.textContent !== summary.textContent) said.textContent = summary.textContent;
  }, 5000);
}
