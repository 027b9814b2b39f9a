// @ts-check
import { morph } from "./refresh.js";

/** @param {Element} section */
function addButtons(section) {
  for (const text of section.querySelectorAll("details.copy pre")) {
    if (text.nextElementSibling?.matches("button")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      getSelection()?.selectAllChildren(text); // for a person who lets no page write to the clipboard
      const written = navigator.clipboard.writeText(text.textContent ?? "");
      button.textContent = await written.then(() => "Copied", () => "Selected, not copied");
    });
    text.after(button);
  }
}

/** Keeps the commands of a call as the server writes them for what is entered, and adds buttons that copy them. */
export function followCopies() {
  const section = document.querySelector("#copy"), form = document.querySelector("form#form");
  if (!(section instanceof HTMLElement) || !(form instanceof HTMLFormElement)) return;
  addButtons(section);
  document.querySelector("#copy-button")?.parentElement?.remove();
  /** @type {number | undefined} */
  let waiting;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const sent = new URLSearchParams();
      for (const [name, value] of new FormData(form)) if (typeof value === "string") sent.append(name, value);
      const request = new XMLHttpRequest();
      request.open("POST", section.dataset.from ?? "");
      request.responseType = "document";
      request.addEventListener("load", () => {
        const now = request.responseXML?.querySelector("#copy");
        if (!now) return;
        now.querySelector("#copy-button")?.parentElement?.remove();
        morph(section, now);
        addButtons(section);
      });
      request.send(sent);
    }, 300);
  });
}
