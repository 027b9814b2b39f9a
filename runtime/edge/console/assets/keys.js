// @ts-check
import { decisionKeys } from "./decide.js";

/** @returns {HTMLTableRowElement[]} */
const rows = () => Array.from(document.querySelectorAll("table.rows tbody tr:not(.day)"));

/** @param {number} by */
function moveRow(by) {
  const all = rows();
  const at = all.findIndex((row) => row.classList.contains("current"));
  const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
  if (!next) return;
  all[at]?.classList.remove("current");
  next.classList.add("current");
  next.querySelector("a")?.focus();
  next.scrollIntoView({ block: "nearest" });
}

/** @returns {HTMLDialogElement} */
function helpDialog() {
  const open = document.querySelector("dialog#keys");
  if (open instanceof HTMLDialogElement) return open;
  const dialog = document.createElement("dialog");
  dialog.id = "keys";
  dialog.setAttribute("aria-labelledby", "keys-title");
  const title = document.createElement("h2");
  title.id = "keys-title";
  title.textContent = "Keys";
  const list = document.createElement("dl");
  list.className = "facts";
  /** @param {string} keys @param {string} what */
  const line = (keys, what) => {
    const term = document.createElement("dt");
    const key = document.createElement("kbd");
    key.textContent = keys;
    term.append(key);
    const text = document.createElement("dd");
    text.textContent = what;
    list.append(term, text);
  };
  for (const link of places()) line("g " + link.dataset.key, link.textContent ?? "");
  line("/", "Filter");
  line("j k", "Next row, row before");
  line("Enter", "Open the row");
  if (document.querySelector("form#decide")) line("a r", "Approve or reject, after a question");
  line("?", "This list");
  const form = document.createElement("form");
  form.method = "dialog";
  const close = document.createElement("button");
  close.textContent = "Close";
  form.append(close);
  dialog.append(title, list, form);
  document.body.append(dialog);
  return dialog;
}

/** @returns {NodeListOf<HTMLAnchorElement>} */
const places = () => document.querySelectorAll("#menu a[data-key]");

/**
 * Listens for g and the key of a page, / for the filter, j and k for rows, a and r for an approval, and ? for
 * help. No key decides anything without a question.
 */
export function listenForKeys() {
  let going = false;
  document.addEventListener("keydown", (e) => {
    const target = e.target;
    if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return;
    if (target instanceof HTMLElement && target.closest("input, select, textarea, [contenteditable]")) return;
    const wasGoing = going;
    going = false;
    if (wasGoing) {
      for (const link of places()) if (link.dataset.key === e.key) link.click();
      return;
    }
    switch (e.key) {
      case "g":
        going = true;
        return;
      case "/": {
        const filter = document.querySelector("[data-key='/']");
        if (!(filter instanceof HTMLElement)) return;
        filter.closest("details")?.setAttribute("open", "");
        filter.focus();
        if (filter instanceof HTMLInputElement) filter.select();
        break;
      }
      case "j":
        moveRow(1);
        break;
      case "k":
        moveRow(-1);
        break;
      case "?":
        helpDialog().showModal();
        break;
      default: {
        const decide = decisionKeys()[e.key];
        if (!decide) return;
        decide();
      }
    }
    e.preventDefault();
  });
}
