// @ts-check
// The pages work without scripts. This module loads what makes them quicker.
import { followCopies } from "./copy.js";
import { followForms } from "./form.js";
import { listenForKeys } from "./keys.js";
import { followPage } from "./refresh.js";
import { addThemeButton } from "./theme.js";

addThemeButton();
listenForKeys();
followForms();
followCopies();
followPage();
