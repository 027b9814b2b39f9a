// @ts-check

const kept = "hatchel-theme";
const themes = /** @type {const} */ (["system", "light", "dark"]);

/** @param {string} theme */
function apply(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** Adds a button that changes between the colours of the system, light and dark. The browser keeps the choice. */
export function addThemeButton() {
  let theme = localStorage.getItem(kept) ?? "system";
  apply(theme);
  const bar = document.querySelector(".bar");
  if (!bar) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  button.id = "theme";
  const show = () => (button.textContent = "Colours: " + theme);
  button.addEventListener("click", () => {
    theme = themes[(themes.findIndex((t) => t === theme) + 1) % themes.length];
    localStorage.setItem(kept, theme);
    apply(theme);
    show();
  });
  show();
  const account = bar.querySelector("#account");
  if (!(account instanceof HTMLDetailsElement)) return bar.append(button);
  account.querySelector("form")?.prepend(button);
  document.addEventListener("click", ({ target }) => {
    if (target instanceof Node && !account.contains(target)) account.open = false;
  });
  account.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    account.open = false;
    account.querySelector("summary")?.focus();
  });
}
