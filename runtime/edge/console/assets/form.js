// @ts-check

/**
 * Replaces a placeholder in the attributes of a row, also in the templates inside it.
 * @param {DocumentFragment} part @param {string} from @param {string} to
 */
function number(part, from, to) {
  for (const element of part.querySelectorAll("*")) {
    for (const attribute of Array.from(element.attributes))
      if (attribute.value.includes(from)) attribute.value = attribute.value.replaceAll(from, to);
    if (element instanceof HTMLTemplateElement) number(element.content, from, to);
  }
}

/** @param {HTMLButtonElement} button */
function addRow(button) {
  const list = button.parentElement?.querySelector(":scope > .list");
  const template = button.parentElement?.querySelector(":scope > template");
  if (!(list instanceof HTMLElement) || !(template instanceof HTMLTemplateElement)) return;
  const name = list.dataset.list + "[]";
  /** @param {ParentNode} part */
  const index = (part) => part.querySelector(`input[name="${CSS.escape(name)}"]`)?.getAttribute("value") ?? "";
  const used = Array.from(list.children, (row) => Number(index(row)));
  const row = /** @type {DocumentFragment} */ (template.content.cloneNode(true));
  number(row, index(row), String(Math.max(-1, ...used) + 1));
  list.append(row);
  const first = list.lastElementChild?.querySelector("input:not([type=hidden], [type=radio]), textarea, select");
  if (first instanceof HTMLElement) first.focus();
}

/**
 * Chooses “value” for the fields around a control, because something was entered.
 * @param {Element} control
 */
function choose(control) {
  for (let at = control.closest(".field"); at; at = at.parentElement?.closest(".field") ?? null)
    for (const instead of at.querySelectorAll("select.instead"))
      if (instead instanceof HTMLSelectElement && instead.closest(".field") === at) instead.value = "";
}

/** Adds and removes rows without a request, and chooses what was entered. */
export function followForms() {
  const form = document.querySelector("form#form");
  if (!(form instanceof HTMLFormElement)) return;
  form.addEventListener("click", (e) => {
    const button = e.target;
    if (!(button instanceof HTMLButtonElement) || (button.name !== "add" && button.name !== "remove")) return;
    e.preventDefault();
    if (button.name === "remove") return button.closest(".row")?.remove();
    addRow(button);
    choose(button);
  });
  form.addEventListener("input", (e) => {
    const control = e.target;
    if (!(control instanceof Element)) return;
    if (!control.matches(".instead")) return choose(control);
    // What was entered is not sent, and is there again when “value” is chosen.
    for (const other of control.closest(".field")?.querySelectorAll(".entry :is(input, textarea, select, button)") ?? [])
      if (other !== control) other.toggleAttribute("disabled", /** @type {HTMLSelectElement} */ (control).value !== "");
  });
  const wrong = form.querySelector(".field .problem")?.closest(".field");
  const control = wrong?.querySelector("input:not([type=hidden]), textarea, select");
  if (control instanceof HTMLElement) control.focus();
}
