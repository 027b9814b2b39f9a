// @ts-check
// The pages work without scripts. This module loads what makes them quicker.
import { followCopies } from "./copy.js";
import { followForms } from "./form.js";
import { listenForKeys } from "./keys.js";
import { followPage } from "./refresh.js";
import { addThemeButton } from "./theme.js";
import { showViews } from "./view.js";

addThemeButton();
listenForKeys();
followForms();
followCopies();
followPage();
showViews();

// In a narrow window the menu is one line, and filters are folded.
const here = document.querySelector("#menu a[aria-current]"), narrow = matchMedia("(max-width: 44rem)");
if (here instanceof HTMLElement) here.closest("ul")?.scrollTo({ left: here.offsetLeft - innerWidth / 3 });
const fold = () => {
  for (const filter of document.querySelectorAll("details.filters")) filter.toggleAttribute("open", !narrow.matches);
};
fold();
narrow.addEventListener("change", fold);
