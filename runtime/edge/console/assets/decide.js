// @ts-check
// Decides an approval with the keys a and r: each asks first, in a dialog with the reason.

/**
 * Asks whether to press a button of the form.
 * @param {HTMLFormElement} form @param {HTMLButtonElement} button
 */
function ask(form, button) {
  const reason = form.querySelector("#reason");
  if (!(reason instanceof HTMLInputElement)) return;
  const dialog = document.createElement("dialog");
  dialog.id = "confirm";
  dialog.setAttribute("aria-labelledby", "confirm-title");
  const title = document.createElement("h2");
  title.id = "confirm-title";
  title.textContent = button.value === "approve" ? "Approve?" : "Reject?";
  const message = document.createElement("pre");
  message.className = "prose";
  message.textContent = document.querySelector("#message")?.textContent ?? "";
  const answer = document.createElement("form");
  answer.method = "dialog";
  const label = document.createElement("label");
  label.textContent = "Reason, for the caller";
  const typed = document.createElement("input");
  typed.maxLength = reason.maxLength;
  typed.value = reason.value;
  typed.autocomplete = "off";
  label.append(typed);
  const actions = document.createElement("p");
  actions.className = "actions";
  /** @param {string} text @param {string} value @param {string} name of the class */
  const add = (text, value, name) => {
    const choice = document.createElement("button");
    choice.textContent = text;
    choice.value = value;
    choice.className = name;
    actions.append(choice);
    return choice;
  };
  const yes = add(button.firstChild?.textContent ?? "", "yes", button.className);
  add("Cancel", "", "");
  answer.append(label, actions);
  dialog.append(title, message, answer);
  document.body.append(dialog);
  dialog.addEventListener("close", () => {
    reason.value = typed.value;
    dialog.remove();
    if (dialog.returnValue === "yes" && button.isConnected) form.requestSubmit(button);
  });
  dialog.showModal();
  yes.focus();
}

/** Returns what the keys of an approval do, each with its button; none where nothing can be decided. */
export function decisionKeys() {
  const form = document.querySelector("form#decide");
  /** @type {Record<string, () => void>} */
  const keys = {};
  for (const [key, id] of [["a", "#approve"], ["r", "#reject"]]) {
    const button = form?.querySelector(id);
    if (form instanceof HTMLFormElement && button instanceof HTMLButtonElement) keys[key] = () => ask(form, button);
  }
  return keys;
}
