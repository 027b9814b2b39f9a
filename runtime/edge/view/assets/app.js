// @ts-check
// The app of all views: it shows the result of a tool in a host of MCP Apps (2026-01-26). It has data from the window
// around it alone, makes texts and SVG of them and never HTML, and asks that window for everything else.

/** @typedef {{ name: string, label: string, type: string, link?: boolean, parts?: Column[] }} Column */
/** @typedef {{ tool: string, title: string, arguments: string[], view: View }} Opens */
/**
 * @typedef {{ name: string, label: string, hint?: string, control: string, required?: boolean, nullable?: boolean,
 *   initial?: unknown, min?: number, max?: number, pattern?: string, options?: { value: unknown, label: string }[],
 *   fields?: Field[], elem?: Field }} Field
 */
/**
 * @typedef {{ kind: string, title: string, tool: string, path?: string, object?: boolean, columns?: Column[], sort?: string,
 *   filter?: boolean, open?: Opens, chart?: string, x?: string, y?: string[], time?: boolean, calls?: string,
 *   submit?: string, about?: string, fields?: Field[], console?: string }} View
 */
/** @typedef {Record<string, unknown>} Row */
/** @typedef {{ content?: unknown, structuredContent?: unknown, isError?: unknown }} Result */

const maxRows = 2000, maxColumns = 50, maxCell = 2000, maxResult = 1 << 20, pageSize = 10, briefText = 240, briefCard = 9;
/** @type {View} */
const view = JSON.parse(document.getElementById("view")?.textContent ?? "{}");
const root = document.documentElement;
const main = /** @type {HTMLElement} */ (document.querySelector("main"));

// ---- what is read of values ----

/** @param {unknown} v @returns {v is Row} */
const isObject = (v) => typeof v === "object" && v !== null && !Array.isArray(v);
/** @param {unknown} v */
const isNumber = (v) => typeof v === "number" && Number.isFinite(v);

// Characters that people do not see or that reorder a text. Joiners of emoji and of letters that are not Latin stay.
const hidden = new RegExp(
  "[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f" +
  "\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb\\u{e0000}-\\u{e0fff}]|" +
  "(?<!\\p{Extended_Pictographic}|\\p{Emoji_Modifier}|\\ufe0f|(?!\\p{Script=Latin})[\\p{L}\\p{M}])[\\u200c\\u200d]", "gu");
/** @param {string} c */
const codeOf = (c) => "U+" + /** @type {number} */ (c.codePointAt(0)).toString(16).toUpperCase().padStart(4, "0");
/** @param {string} text */
const plain = (text) => text.replace(hidden, (c) => `(${codeOf(c)})`);

/** @param {string} text @param {number} n */
const begin = (text, n) => text.length > n ? text.slice(0, n).replace(/[\ud800-\udbff]$/, "") : text;
/** @param {string} text @returns {Node} */
function shown(text) {
  const out = document.createDocumentFragment(), cut = begin(text, maxCell);
  let from = 0;
  for (const m of cut.matchAll(hidden)) {
    out.append(cut.slice(from, m.index), el("span", { class: "code" }, codeOf(m[0])));
    from = m.index + m[0].length;
  }
  out.append(cut.slice(from));
  if (cut !== text) out.append(el("span", { class: "soft" }, ` … ${count(text.length - cut.length, "more character")}`));
  return out;
}

/**
 * @param {string} name @param {Record<string, string | number | boolean | undefined>} attributes @param {(Node | string)[]} children
 */
function el(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined && value !== false) e.setAttribute(key, value === true ? "" : String(value));
  e.append(...children);
  return e;
}
/**
 * @param {string} name @param {Record<string, string | number>} attributes @param {(Node | string)[]} children
 */
function svg(name, attributes, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, String(value));
  e.append(...children);
  return e;
}
/** @param {string} label @param {() => void} act @param {string} kind */
function button(label, act, kind = "") {
  const b = el("button", { type: "button", class: kind }, label);
  b.addEventListener("click", act);
  return b;
}
/** @param {number} n @param {string} noun */
const count = (n, noun) => `${number(n)} ${noun}${n === 1 ? "" : "s"}`;

// ---- formats ----

/** @type {Map<string, Intl.NumberFormat | Intl.DateTimeFormat>} */
const formats = new Map();
/** @template {Intl.NumberFormat | Intl.DateTimeFormat} T @param {string} key @param {(locale?: string) => T} make @returns {T} */
function cachedFormat(key, make) {
  let f = formats.get(key);
  if (!f) {
    try { f = make(host.context.locale); } catch { f = make(); }
    formats.set(key, f);
  }
  return /** @type {T} */ (f);
}
/** @param {number} n */
const number = (n) => cachedFormat("n", (l) => new Intl.NumberFormat(l, { maximumFractionDigits: 15 })).format(n);
/** @param {number} n */
const compact = (n) => cachedFormat("c", (l) => new Intl.NumberFormat(l, Math.abs(n) < 10000 ? { maximumFractionDigits: 3 } :
  { notation: "compact", maximumFractionDigits: 1 })).format(n);
/** @param {unknown} v @returns {number} milliseconds, or NaN */
function timeOf(v) {
  if (typeof v !== "string" || !/^\d{4}-\d\d(-\d\d([T ]\d\d:\d\d.*)?)?$/.test(v)) return NaN;
  return Date.parse(v.length > 10 ? v.replace(" ", "T") : v);
}
/** @param {string} v */
function date(v) {
  const at = timeOf(v), day = v.length <= 10;
  if (Number.isNaN(at)) return v;
  const zone = day || !/([zZ]|[+-]\d\d:?\d\d)$/.test(v) ? day ? "UTC" : undefined : host.context.timeZone;
  const key = `${day ? v.length : "t"} ${zone}`;
  /** @type {Intl.DateTimeFormatOptions} */
  const options = v.length === 7 ? { year: "numeric", month: "short" } : { dateStyle: "medium" };
  if (!day) options.timeStyle = "short";
  return cachedFormat(key, (l) => {
    try { return new Intl.DateTimeFormat(l, { ...options, timeZone: zone }); } catch { return new Intl.DateTimeFormat(l, options); }
  }).format(at);
}

/** @param {unknown} v @param {Column} c @returns {string} the text by which a value is filtered and read aloud */
function textOf(v, c) {
  if (v === null || v === undefined) return "";
  if (typeof v === "number") return c.type === "id" ? String(v) : number(v);
  if (typeof v === "boolean") return v ? "yes" : "no";
  if (typeof v === "string") return c.type === "date" || c.type === "time" ? date(v) : v;
  if (Array.isArray(v) && v.every((e) => !isObject(e) && !Array.isArray(e))) return v.map((e) => textOf(e, c)).join(", ");
  return JSON.stringify(v);
}
/** @param {unknown} v @param {Column} c @returns {Node | string} */
function cell(v, c) {
  if (v === null || v === undefined || v === "") return el("span", { class: "soft", "aria-label": "no value" }, "–");
  const text = textOf(v, c);
  if (typeof v === "string" && (c.type === "date" || c.type === "time") && text !== v) return el("time", { datetime: v, title: v }, text);
  if (c.link && typeof v === "string") return link(v);
  if (c.type === "enum" && text.length <= 40) return el("span", { class: "chip" }, shown(text));
  if (text === "(masked)") return el("span", { class: "soft" }, text);
  return shown(text);
}
/** A cell of a table, with the beginning of a long text. @param {unknown} v @param {Column} c @returns {Node | string} */
function brief(v, c) {
  const text = textOf(v, c);
  if (text.length <= 1.5 * briefText) return cell(v, c);
  const out = el("span", { tabindex: -1 }, shown(begin(text, briefText)), "… ");
  out.append(button("Show all", () => { out.replaceChildren(cell(v, c)); out.focus(); }, "link"));
  return out;
}
/** @param {string} address @returns {Node} */
function link(address) {
  let url;
  try { url = new URL(address); } catch { return shown(address); }
  if (url.protocol !== "https:" || url.username || url.password || address.length > maxCell || !host.capabilities.openLinks)
    return shown(address);
  const b = button("", () => openLink(url.href), "link");
  b.append(shown(address.replace(/^https:\/\//i, "")));
  return b;
}
/** @param {string} url */
function openLink(url) {
  request("ui/open-link", { url }).catch((e) => say(`The host did not open the link: ${plain(e.message)}`));
}

// ---- the window around this one ----

const host = {
  /** @type {string | undefined} the origin of the first message */ origin: undefined,
  /** @type {Record<string, unknown>} */ capabilities: {},
  /** @type {{ locale?: string, timeZone?: string, displayMode?: string, availableDisplayModes?: string[], theme?: string }} */ context: {},
};
/** @type {Map<number, { resolve: (v: Row) => void, reject: (e: Error) => void }>} */
const waiting = new Map();
let lastId = 0;

/** @param {object} message */
function post(message) {
  window.parent.postMessage({ jsonrpc: "2.0", ...message }, host.origin === undefined || host.origin === "null" ? "*" : host.origin);
}
/** @param {string} method @param {object} params */
const notify = (method, params) => post({ method, params });
/** @param {string} method @param {object} params @returns {Promise<Row>} */
function request(method, params) {
  const id = ++lastId;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    post({ id, method, params });
  });
}

window.addEventListener("message", (e) => {
  const m = e.data;
  if (e.source !== window.parent || !isObject(m) || m.jsonrpc !== "2.0") return;
  if (host.origin !== undefined && e.origin !== host.origin) return;
  if (typeof m.method === "string") {
    if (host.origin === undefined) return; // the host speaks after its answer to ui/initialize
    const params = isObject(m.params) ? m.params : {};
    if (m.id === undefined) receive(m.method, params);
    else if (m.method === "ping" || m.method === "ui/resource-teardown") post({ id: m.id, result: {} });
    else post({ id: m.id, error: { code: -32601, message: "Method not found" } });
    return;
  }
  const asked = waiting.get(Number(m.id));
  if (!asked) return;
  host.origin = e.origin;
  waiting.delete(Number(m.id));
  if (isObject(m.error)) asked.reject(new Error(String(m.error.message ?? "no reason")));
  else asked.resolve(isObject(m.result) ? m.result : {});
});

/** @param {string} method @param {Row} params */
function receive(method, params) {
  switch (method) {
    case "ui/notifications/tool-input":
      given = isObject(params.arguments) ? params.arguments : {};
      return;
    case "ui/notifications/tool-result":
      return show(params);
    case "ui/notifications/tool-cancelled":
      return render(note("The call was cancelled" + (typeof params.reason === "string" ? `: ${plain(params.reason)}` : "")));
    case "ui/notifications/host-context-changed":
      return applyContext(params);
  }
}

/** @param {Row} changed */
function applyContext(changed) {
  Object.assign(host.context, changed);
  formats.clear();
  const { theme } = host.context;
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  const styles = isObject(changed.styles) && isObject(changed.styles.variables) ? changed.styles.variables : {};
  for (const [name, value] of Object.entries(styles))
    if (/^--(color|font|border|shadow)-[a-z0-9-]+$/.test(name) && typeof value === "string" && !/url\(|[;{}]/i.test(value))
      root.style.setProperty(name, value);
  root.classList.toggle("fullscreen", host.context.displayMode === "fullscreen");
  draw();
}

let sent = "";
function reportSize() {
  const { width, height } = document.body.getBoundingClientRect();
  const size = { width: Math.ceil(width), height: Math.ceil(height) };
  if (host.origin === undefined || sent === JSON.stringify(size)) return;
  sent = JSON.stringify(size);
  notify("ui/notifications/size-changed", size);
}

/** @param {string} tool @param {Row} args @returns {Promise<Result>} */
const callTool = (tool, args) => request("tools/call", { name: tool, arguments: args });

// ---- the page ----

const live = el("p", { class: "unseen", role: "status" });
/** @param {string} text */
function say(text) {
  live.textContent = text;
  document.querySelector(".said")?.remove();
  main.append(el("p", { class: "said soft" }, text));
}
let draw = () => {};
/** @param {Node[]} parts */
function render(...parts) { main.replaceChildren(...parts, live); }

/** @param {string} text @param {string} kind */
function note(text, kind = "warning") {
  const lines = el("div", {});
  for (const line of text.split("\n")) lines.append(el("p", {}, shown(line)));
  return el("div", { class: `note ${kind}` }, el("span", { class: "sign", "aria-hidden": "true" }, kind === "success" ? "✓" : "!"), lines);
}
/** @param {string} title @param {string} about @param {(Node | string)[]} tools */
function head(title, about, ...tools) {
  const out = el("header", {}, el("div", { class: "titles" }, el("h1", {}, shown(title)), el("p", { class: "soft" }, about)));
  const modes = host.context.availableDisplayModes ?? [];
  if (/table|chart/.test(view.kind) && host.context.displayMode !== "fullscreen" && modes.includes("fullscreen"))
{
    const b = button("", () => { request("ui/request-display-mode", { mode: "fullscreen" }).catch(() => {}); }, "icon");
    b.setAttribute("aria-label", "Full screen");
    b.append(svg("svg", { width: 16, height: 16, viewBox: "0 0 16 16", "aria-hidden": "true" },
      svg("path", { d: "M6 2H2v4M10 2h4v4M6 14H2v-4M10 14h4v-4", fill: "none", stroke: "currentColor", "stroke-width": 1.6 })));
    tools.push(b);
  }
  if (tools.length) out.append(el("div", { class: "tools" }, ...tools));
  return out;
}

/** @param {Result} r */
function textsOf(r) {
  const blocks = Array.isArray(r.content) ? r.content : [];
  return blocks.filter((b) => isObject(b) && b.type === "text" && typeof b.text === "string").map((b) => b.text).join("\n\n");
}
/** @param {string} text */
function textBlock(text) {
  const pre = el("pre", { tabindex: "0", "aria-label": "Text of the answer" });
  for (let at = 0; at < Math.min(text.length, 100 * maxCell); at += maxCell) pre.append(shown(text.slice(at, at + maxCell)));
  if (text.length > 100 * maxCell) pre.append(el("span", { class: "soft" }, " … the rest is not shown"));
  return pre;
}

/** @param {Result} r @param {View} of @returns {unknown} the value that a view shows; undefined for none */
function valueOf(r, of) {
  let v = r.structuredContent;
  if (v === undefined) return undefined;
  if (!of.object && isObject(v) && "result" in v) v = v.result; // as revisions up to 2025-11-25 have it
  return v;
}

/** @param {Result} r */
function show(r) {
  let size = 0;
  try { size = JSON.stringify(r.structuredContent ?? null).length; } catch { size = Infinity; }
  draw = () => {};
  current = r;
  if (r.isError) return render(head(view.title, "The call has failed"), note(textsOf(r) || "There is no message", "danger"));
  if (size > maxResult)
    return render(head(view.title, "The result is too large to be drawn"), textBlock(textsOf(r) || JSON.stringify(r.structuredContent)));
  const value = valueOf(r, view);
  if (value === undefined && view.kind !== "form") return render(head(view.title, "The result as text"), textBlock(textsOf(r)));
  display(view, value, main, textsOf(r));
}

/**
 * Shows a value in a place, and again when the width of the window or the host changes.
 * @param {View} of @param {unknown} value @param {HTMLElement} place @param {string} text
 */
function display(of, value, place, text) {
  const parts = { table, chart, record, form, approvals }[of.kind];
  const fill = (/** @type {Node[]} */ ...nodes) => place === main ? render(...nodes) : place.replaceChildren(...nodes);
  if (!parts) return fill(textBlock(text));
  const again = parts(of, value, fill, text);
  if (again && place === main) draw = again;
}
/** @typedef {(...nodes: Node[]) => void} Fill */

/** @param {View} of @param {unknown} value @returns {Row[]} */
function rowsOf(of, value) {
  const list = isObject(value) ? value[of.path || "rows"] : value; // a tool with pages answers with rows
  return Array.isArray(list) ? list.filter(isObject) : [];
}

/** The columns that some row has: a caller may have chosen others. @param {Column[]} columns @param {Row[]} rows */
function having(columns, rows) {
  const some = columns.filter((c) => rows.some((r) => Object.hasOwn(r, c.name)));
  return some.length ? some : columns;
}

// ---- tables ----

/** @param {View} of @param {unknown} value @param {Fill} fill @param {string} text */
function table(of, value, fill, text) {
  const all = rowsOf(of, value), rows = all.slice(0, maxRows), columns = having((of.columns ?? []).slice(0, maxColumns), rows);
  const opens = of.open && host.capabilities.serverTools;
  const numeric = (/** @type {Column} */ c) => c.type === "number" || c.type === "integer" || c.type === "id";
  let by = (of.sort ?? "").replace(/^-/, ""), down = (of.sort ?? "").startsWith("-"), page = 0, wanted = "";
  /** @type {Row | undefined} */ let opened;
  const body = el("div", {}), foot = el("div", { class: "foot" });
  const find = /** @type {HTMLInputElement} */ (el("input", { type: "search", placeholder: "Filter", "aria-label": "Filter rows" }));
  find.addEventListener("input", () => { wanted = find.value.toLowerCase(); page = 0; lay(); });
  const chosen = /** @type {HTMLSelectElement} */ (el("select", { "aria-label": "Sort by" }));
  chosen.append(el("option", { value: "" }, "As answered"));
  for (const c of columns)
    chosen.append(el("option", { value: c.name }, `${c.label} ↑`), el("option", { value: "-" + c.name }, `${c.label} ↓`));
  chosen.addEventListener("change", () => { by = chosen.value.replace(/^-/, ""); down = chosen.value.startsWith("-"); page = 0; lay(); });

  /** @param {Row} row */
  const detail = (row) => {
    const place = el("div", { class: "detail", role: "region", "aria-label": of.open?.title ?? "" }, el("p", { class: "soft" }, "Loading…"));
    if (of.open) openRow(of.open, row, place);
    return place;
  };
  /** @param {Row} row */
  const opener = (row) => {
    const is = opened === row;
    const b = button(is ? "Close" : "Open", () => { opened = is ? undefined : row; lay(); focusRow(row); }, "small");
    b.setAttribute("aria-expanded", String(is));
    b.setAttribute("aria-label", `${is ? "Close" : "Open"} ${plain(textOf(row[columns[0].name], columns[0])).slice(0, 80)}`);
    return b;
  };
  /** @type {Map<Row, Element>} */ const openers = new Map();
  /** @param {Row} row */
  const focusRow = (row) => { const e = openers.get(row); if (e instanceof HTMLElement) e.focus(); };

  /** @param {Row[]} part */
  const wide = (part) => {
    const heads = columns.map((c) => {
      const is = by === c.name;
      const b = button("", () => { down = is && !down; by = c.name; page = 0; lay(); }, "sort");
      b.append(shown(c.label), el("span", { "aria-hidden": "true" }, is ? down ? " ↓" : " ↑" : ""));
      return el("th", { scope: "col", class: numeric(c) ? "number" : "", "aria-sort": is ? down ? "descending" : "ascending" : undefined }, b);
    });
    if (opens) heads.push(el("th", { scope: "col" }, el("span", { class: "unseen" }, "Details")));
    const lines = el("tbody", {});
    for (const row of part) {
      const tr = el("tr", { class: opened === row ? "current" : "" }, ...columns.map((c, i) =>
        el(i ? "td" : "th", { class: numeric(c) ? "number" : "", scope: i ? undefined : "row" }, brief(row[c.name], c))));
      if (opens) { const b = opener(row); openers.set(row, b); tr.append(el("td", { class: "number" }, b)); }
      lines.append(tr);
      if (opened === row) lines.append(el("tr", {}, el("td", { colspan: columns.length + 1 }, detail(row))));
    }
    return el("table", {}, el("thead", {}, el("tr", {}, ...heads)), lines);
  };
  /** @param {Row[]} part */
  const narrow = (part) => {
    const list = el("ul", { class: "cards" });
    for (const row of part) {
      const known = columns.slice(1).filter((c) => row[c.name] !== null && row[c.name] !== undefined), n = known.length > briefCard ? briefCard - 1 : briefCard;
      const facts = (/** @type {Column[]} */ of) => el("dl", {}, ...of.map((c) => el("div", {}, el("dt", {}, shown(c.label)), el("dd", {}, brief(row[c.name], c)))));
      const top = el("p", { class: "first" }, brief(row[columns[0].name], columns[0]));
      if (opens) { const b = opener(row); openers.set(row, b); top.append(b); }
      const item = el("li", {}, top, facts(known.slice(0, n)));
      if (known.length > n) item.append(el("details", {}, el("summary", {}, `${known.length - n} more`), facts(known.slice(n))));
      if (opened === row) item.append(detail(row));
      list.append(item);
    }
    return list;
  };
  function lay() {
    let part = rows;
    if (wanted) part = part.filter((row) => columns.some((c) => textOf(row[c.name], c).toLowerCase().includes(wanted)));
    const sorted = columns.find((c) => c.name === by);
    if (sorted) part = part.toSorted((a, b) => compare(a[by], b[by], down));
    chosen.value = sorted ? (down ? "-" : "") + by : "";
    const size = root.classList.contains("fullscreen") ? 5 * pageSize : body.clientWidth < 480 ? pageSize / 2 : pageSize, pages = Math.max(1, Math.ceil(part.length / size));
    page = Math.min(start ? Math.floor(start / size) : page, pages - 1);
    start = 0;
    const visible = part.slice(page * size, (page + 1) * size);
    openers.clear();
    const whole = wide(visible), frame = el("div", { class: "wide" }, whole);
    body.replaceChildren(frame);
    const fits = whole.scrollWidth <= frame.clientWidth + 1;
    if (!fits && body.clientWidth < 640) body.replaceChildren(narrow(visible));
    else if (!fits) { frame.classList.add("scrolls"); frame.tabIndex = 0; frame.setAttribute("role", "group"); frame.setAttribute("aria-label", of.title); }
    const isNarrow = !fits && body.clientWidth < 640;
    chosen.hidden = !isNarrow;
    if (!part.length) body.replaceChildren(el("p", { class: "none soft" }, wanted ? "No row matches." : "There are no rows."));
    foot.replaceChildren();
    if (pages > 1) {
      const from = page * size;
      const step = (/** @type {string} */ label, /** @type {number} */ to) => {
        const b = button(label, () => { page = to; lay(); live.textContent = `Rows from ${to * size + 1}`; }, "small");
        b.toggleAttribute("disabled", to < 0 || to >= pages);
        return b;
      };
      foot.append(el("span", { class: "soft" }, `${number(from + 1)}–${number(from + visible.length)} of ${number(part.length)}`),
        step("Previous", page - 1), step("Next", page + 1));
    }
  }
  const about = all.length === 1 ? "1 row" : count(all.length, "row");
  /** @type {HTMLElement[]} */ const tools = [chosen];
  if (of.filter && rows.length > 1) tools.unshift(find);
  fill(head(of.title, about, ...tools), ...tooMany(all.length, maxRows, "row", text), body, foot, ...more(of, value));
  lay();
  return lay;
}
/** @param {number} n @param {number} limit @param {string} noun @param {string} text */
function tooMany(n, limit, noun, text) {
  if (n <= limit) return [];
  const more = el("details", {}, el("summary", {}, "Text of the answer"), textBlock(text));
  return [note(`Only the first ${count(limit, noun)} of ${number(n)} are shown.`), more];
}

/** @type {Row | undefined} */ let given; // the arguments of the call whose result is shown
/** @type {Result} */ let current = {};
let start = 0; // the first row that was added

/**
 * Returns what adds the next page to the rows of a tool with pages: another call of it.
 * @param {View} of @param {unknown} value @returns {Node[]}
 */
function more(of, value) {
  const rows = rowsOf(of, value), cursor = of === view && isObject(value) && value.next_cursor;
  if (!cursor) return [];
  const b = button("Load more", async () => {
    b.toggleAttribute("disabled", true);
    try {
      const from = current, r = await callTool(of.tool, { ...given, cursor }), next = r.structuredContent;
      if (r.isError || !isObject(next)) throw new Error(textsOf(r));
      const all = { ...next, rows: [...rows, ...rowsOf(of, next)] };
      if (JSON.stringify(all).length > maxResult) throw new Error("More rows do not fit into this view.");
      if (from !== current) return;
      start = rows.length;
      show({ ...r, structuredContent: all });
      live.textContent = count(all.rows.length, "row");
      /** @type {HTMLElement | null} */ (main.querySelector(".more"))?.focus();
    } catch (e) {
      say(e instanceof Error ? e.message : "");
      b.toggleAttribute("disabled", false);
    }
  }, "small more");
  const may = host.capabilities.serverTools && given && rows.length < maxRows;
  return [el("div", { class: "foot" }, el("span", { class: "soft" }, "There are more rows."), ...(may ? [b] : []))];
}

/** @param {unknown} a @param {unknown} b @param {boolean} down */
function compare(a, b, down) {
  const none = Number(a === null || a === undefined) - Number(b === null || b === undefined);
  if (none) return none; // what has no value is last in both directions
  let c = 0;
  if (typeof a === "number" && typeof b === "number") c = a - b;
  else if (typeof a === "string" && typeof b === "string") c = a.localeCompare(b, host.context.locale?.match(/^[\w-]+$/)?.[0], { numeric: true });
  else c = String(a) < String(b) ? -1 : Number(String(a) > String(b));
  return down ? -c : c;
}

/** @param {Opens} to @param {Row} row @param {HTMLElement} place */
function openRow(to, row, place) {
  /** @type {Row} */ const args = {};
  for (const name of to.arguments) args[name] = row[name];
  callTool(to.tool, args).then((r) => {
    if (r.isError) return place.replaceChildren(note(textsOf(r) || "There is no message", "danger"));
    const value = valueOf(r, to.view);
    if (value === undefined) return place.replaceChildren(textBlock(textsOf(r)));
    display(to.view, value, place, textsOf(r));
  }, (e) => place.replaceChildren(note(e.message, "danger")));
}

// ---- records ----

/** @param {View} of @param {unknown} value @param {Fill} fill */
function record(of, value, fill) {
  const v = of.path && isObject(value) ? value[of.path] : value;
  if (!isObject(v)) { fill(head(of.title, "There is nothing to show")); return; }
  const list = el("dl", { class: "record" });
  for (const c of having((of.columns ?? []).slice(0, maxColumns), [v]))
    list.append(el("div", {}, el("dt", {}, shown(c.label)), el("dd", {}, part(v[c.name], c, 0))));
  fill(head(of.title, ""), list);
}
/** @param {unknown} v @param {Column} c @param {number} depth @returns {Node | string} */
function part(v, c, depth) {
  if (depth < 3 && isObject(v)) {
    const list = el("dl", { class: "nested" });
    for (const p of having(c.parts ?? Object.keys(v).slice(0, maxColumns).map(anyColumn), [v]))
      list.append(el("div", {}, el("dt", {}, shown(p.label)), el("dd", {}, part(v[p.name], p, depth + 1))));
    return list;
  }
  if (depth < 3 && Array.isArray(v) && v.length && v.every(isObject)) {
    const rows = v.slice(0, 2 * pageSize), parts = having(c.parts ?? [...new Set(rows.flatMap((e) => Object.keys(e)))].map(anyColumn), rows);
    const number = (/** @type {Column} */ p) => p.type === "number" || p.type === "integer" ? "number" : "";
    const out = el("div", { class: "wide", tabindex: "0", role: "group", "aria-label": c.label }, el("table", {},
      el("thead", {}, el("tr", {}, ...parts.slice(0, 8).map((p) => el("th", { scope: "col", class: number(p) }, shown(p.label))))),
      el("tbody", {}, ...rows.map((e) => el("tr", {}, ...parts.slice(0, 8).map((p) => el("td", { class: number(p) }, brief(e[p.name], p))))))));
    if (v.length > rows.length) out.append(el("p", { class: "soft" }, `and ${v.length - rows.length} more`));
    return out;
  }
  return cell(v, c);
}
/** @param {string} name */
const labelOf = (name) => (name.charAt(0).toUpperCase() + name.slice(1)).replaceAll("_", " ");
/** @param {string} name @returns {Column} */
const anyColumn = (name) => ({ name, label: labelOf(name), type: /(^|_)id$/.test(name) ? "id" : "any" });

// ---- charts ----

/** @param {number} low @param {number} high @param {number} n @returns {number[]} */
function ticks(low, high, n) {
  const span = high - low || Math.abs(high) || 1, power = 10 ** Math.floor(Math.log10(span / n));
  const step = [1, 2, 2.5, 5, 10].map((f) => f * power).find((s) => span / s <= n) ?? 10 * power;
  const out = [];
  for (let i = Math.floor(low / step); i <= Math.ceil(high / step); i++) out.push(Number((i * step).toPrecision(12)));
  return out.length > 1 ? out : [out[0], out[0] + step];
}
/** Ticks of a time axis: the first step of days, months or years that leaves room.
 * @param {number} low @param {number} high @param {number} n @returns {{ at: number, label: string }[]} */
function timeTicks(low, high, n) {
  const hour = 3600e3, day = 24 * hour, span = high - low;
  /** @type {[number, Intl.DateTimeFormatOptions][]} */
  const steps = [[hour / 12, { hour: "numeric", minute: "2-digit" }], [hour / 4, { hour: "numeric", minute: "2-digit" }], [hour, { hour: "numeric", minute: "2-digit" }],
    [3 * hour, { day: "numeric", month: "short", hour: "numeric" }], [12 * hour, { day: "numeric", month: "short", hour: "numeric" }],
    ...[1, 2, 7, 14].map((d) => /** @type {[number, Intl.DateTimeFormatOptions]} */ ([d * day, { day: "numeric", month: "short" }]))];
  const zone = "UTC";
  const format = (/** @type {number} */ at, /** @type {Intl.DateTimeFormatOptions} */ o) =>
    cachedFormat(JSON.stringify(o), (l) => new Intl.DateTimeFormat(l, { ...o, timeZone: zone })).format(at);
  for (const [step, o] of steps) {
    if (span / step > n) continue;
    const out = [];
    for (let at = Math.ceil(low / step) * step; at <= high; at += step) out.push({ at, label: format(at, o) });
    return out;
  }
  for (const months of [1, 2, 3, 6, 12, 24, 60, 120, 600]) {
    if (span / (months * 30 * day) > n) continue;
    const out = [], first = new Date(low);
    for (let i = Math.floor((first.getUTCFullYear() * 12 + first.getUTCMonth()) / months) * months; ; i += months) {
      const at = Date.UTC(Math.floor(i / 12), i % 12);
      if (at > high) break;
      const label = format(at, months >= 12 ? { year: "numeric" } : i % 12 === 0 || out.length === 0 ? { month: "short", year: "2-digit" } : { month: "short" });
      if (at >= low) out.push({ at, label });
    }
    return out;
  }
  return [];
}

/** @param {View} of @param {unknown} value @param {Fill} fill @param {string} text */
function chart(of, value, fill, text) {
  const all = rowsOf(of, value), rows = all.slice(0, maxRows), columns = of.columns ?? [];
  const names = of.y ?? [], xColumn = { ...(columns[0] ?? anyColumn(of.x ?? "")) };
  let asTable = false;
  /** @type {Set<string>} */ const off = new Set();
  const about = `${names.length > 1 ? "" : `${columns[1]?.label ?? ""} `}by ${xColumn.label.toLowerCase()}`.trim();
  const place = el("div", { class: "chart" }), rest = el("div", {});
  const toggle = button("Table", () => { asTable = !asTable; toggle.setAttribute("aria-pressed", String(asTable)); lay(); });
  toggle.setAttribute("aria-pressed", "false");

  function lay() {
    if (asTable) {
      rest.replaceChildren();
      const again = table({ ...of, kind: "table", filter: false, sort: "", open: undefined }, all, (...nodes) => {
        for (const n of nodes) if (n instanceof Element) n.querySelector("h1")?.closest(".titles")?.remove();
        place.replaceChildren(...nodes);
      }, text);
      again();
      return;
    }
    const width = Math.max(280, place.clientWidth || main.clientWidth), height = root.classList.contains("fullscreen") ? 420 : width < 500 ? 220 : 260;
    const on = names.filter((n) => !off.has(n));
    // Bars that would cover each other are lines.
    const bars = of.chart === "bar" && width > 0.8 * rows.length * on.length;
    const times = of.time ? rows.map((r) => timeOf(r[of.x ?? ""])) : [];
    const dated = times.length > 1 && times.every((t) => !Number.isNaN(t)), isTime = dated && !bars;
    if (dated) xColumn.type = "date";
    const order = rows.map((_, i) => i);
    if (isTime) order.sort((a, b) => times[a] - times[b]);
    const values = on.flatMap((n) => rows.map((r) => r[n]).filter(isNumber)).map(Number);
    let low = values.reduce((a, b) => Math.min(a, b), Infinity), high = values.reduce((a, b) => Math.max(a, b), -Infinity);
    if (!values.length) { low = 0; high = 1; }
    if (low > 0 && (bars || (high - low) / high > 0.2)) low = 0;
    if (high < 0 && bars) high = 0;
    const marks = ticks(low, high, 5);
    [low, high] = [marks[0], marks[marks.length - 1]];
    const left = 12 + Math.max(...marks.map((m) => compact(m).length)) * 7, right = 14, top = 10, bottom = 26;
    const w = width - left - right, h = height - top - bottom;
    const y = (/** @type {number} */ v) => top + h - (v - low) / (high - low) * h;
    const first = isTime ? Math.min(...times) : 0, last = isTime ? Math.max(...times) : 0;
    const slot = w / Math.max(1, rows.length);
    const x = (/** @type {number} */ i) => isTime ? left + (last === first ? w / 2 : (times[i] - first) / (last - first) * w) :
      bars || rows.length < 2 ? left + slot * (i + 0.5) : left + w * i / (rows.length - 1);
    const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: 0,
      "aria-label": plain(`${of.title}: ${names.length} series, ${rows.length} points. Press the arrow keys to read them.`) });
    for (const m of marks) {
      picture.append(svg("line", { class: m === 0 ? "axis" : "grid", x1: left, x2: width - right, y1: y(m), y2: y(m) }),
        svg("text", { class: "tick", x: left - 8, y: y(m) + 4, "text-anchor": "end" }, compact(m)));
    }
    /** @type {{ at: number, label: string }[]} */ let labels;
    if (isTime) labels = timeTicks(first, last, Math.max(3, Math.floor(w / 64))).map((t) => ({ at: left + (t.at - first) / (last - first) * w, label: t.label }));
    else labels = order.map((i) => ({ at: x(i), label: short(plain(textOf(rows[i][of.x ?? ""], xColumn)), slot < 40 ? 16 : Math.floor(slot / 7)) }));
    let free = 0;
    for (const l of labels) {
      const half = l.label.length * 3.4, at = Math.min(Math.max(l.at, half), width - half);
      if (at - half < free) continue;
      free = at + half + 10;
      picture.append(svg("text", { class: "tick", x: at, y: height - 8, "text-anchor": "middle" }, l.label));
    }
    on.forEach((name) => {
      const k = names.indexOf(name);
      if (bars) {
        const each = Math.min(48, slot * 0.72 / on.length), from = -each * on.length / 2 + each * on.indexOf(name);
        rows.forEach((r, i) => {
          if (!isNumber(r[name])) return;
          const a = y(Number(r[name])), zero = y(Math.max(low, Math.min(0, high)));
          picture.append(svg("rect", { class: `s${k}`, x: x(i) + from + (each > 4 ? 0.5 : 0), width: Math.max(0.5, each > 4 ? each - 1 : each), y: Math.min(a, zero),
            height: Math.max(0.5, Math.abs(zero - a)), rx: Math.min(2, each / 4) }));
        });
        return;
      }
      let d = "", pen = "M";
      for (const i of order) {
        const v = rows[i][name];
        if (!isNumber(v)) { pen = "M"; continue; }
        d += `${pen}${x(i).toFixed(1)} ${y(Number(v)).toFixed(1)}`;
        pen = "L";
      }
      picture.append(svg("path", { class: `line s${k}${rows.length > 400 ? " thin" : ""}`, d }));
      if (rows.length <= 40) for (const i of order) if (isNumber(rows[i][name]))
        picture.append(svg("circle", { class: `s${k}`, cx: x(i), cy: y(Number(rows[i][name])), r: 2.5 }));
    });
    const guide = svg("line", { class: "guide", y1: top, y2: top + h, x1: -9, x2: -9 });
    const tip = el("div", { class: "tip", role: "status" });
    picture.append(guide);
    let at = -1;
    /** @param {number} to */
    const point = (to) => {
      at = to;
      const i = order[to], row = rows[i];
      tip.hidden = !row;
      guide.setAttribute("class", row ? "guide on" : "guide");
      if (!row) return;
      guide.setAttribute("x1", String(x(i)));
      guide.setAttribute("x2", String(x(i)));
      const lines = on.map((n) => {
        const k = names.indexOf(n), c = columns[k + 1] ?? anyColumn(n);
        return el("div", {}, el("span", { class: `key s${k}`, "aria-hidden": "true" }), el("span", {}, shown(c.label)), el("b", {}, cell(row[n], c)));
      });
      tip.replaceChildren(el("p", {}, shown(textOf(row[of.x ?? ""], xColumn))), ...lines);
      const room = place.clientWidth - tip.offsetWidth;
      tip.style.left = `${Math.max(0, Math.min(room, x(i) + (x(i) > width / 2 ? -tip.offsetWidth - 12 : 12)))}px`;
    };
    tip.hidden = true;
    picture.addEventListener("pointermove", (e) => {
      const px = /** @type {PointerEvent} */ (e).clientX - picture.getBoundingClientRect().left;
      let best = -1, far = Infinity;
      order.forEach((i, k) => { const d = Math.abs(x(i) - px); if (d < far) { far = d; best = k; } });
      point(best);
    });
    picture.addEventListener("pointerleave", () => point(-1));
    picture.addEventListener("blur", () => point(-1));
    picture.addEventListener("keydown", (e) => {
      const { key } = /** @type {KeyboardEvent} */ (e);
      const to = key === "ArrowRight" ? at + 1 : key === "ArrowLeft" ? Math.max(0, at - 1) : key === "Home" ? 0 : key === "End" ? order.length - 1 : NaN;
      if (Number.isNaN(to)) return;
      e.preventDefault();
      point(Math.min(order.length - 1, to));
    });
    place.replaceChildren(picture, tip);
    rest.replaceChildren();
    if (names.length < 2) return;
    const keys = el("div", { class: "keys" });
    names.forEach((name, k) => {
      const b = button("", () => { if (off.has(name)) off.delete(name); else if (off.size < names.length - 1) off.add(name); lay(); }, "legend");
      b.append(el("span", { class: `key s${k}`, "aria-hidden": "true" }), shown(columns[k + 1]?.label ?? name));
      b.setAttribute("aria-pressed", String(!off.has(name)));
      keys.append(b);
    });
    rest.append(keys);
  }
  fill(head(of.title, about, toggle), ...tooMany(all.length, maxRows, "point", text), place, rest, ...more(of, value));
  if (!rows.some((r) => names.some((n) => isNumber(r[n])))) { place.replaceChildren(el("p", { class: "none soft" }, "There are no points.")); return; }
  lay();
  return lay;
}
/** @param {string} text @param {number} n */
const short = (text, n) => text.length > n ? text.slice(0, n - 1) + "…" : text;

// ---- forms ----

/** @param {View} of @param {unknown} value @param {Fill} fill @param {string} text */
function form(of, value, fill, text) {
  const initial = isObject(value) ? value : {};
  const fields = (of.fields ?? []).map((f) => entry(f, initial[f.name], f.name));
  const send = button(of.submit ?? "Send", () => submit(), "primary"), out = el("div", {});
  // Not a form: the frames of hosts need not allow these.
  const f = el("div", { role: "form", "aria-label": plain(of.title) }, ...fields.map((e) => e.node), el("div", { class: "send" }, send), out);
  if (!host.capabilities.serverTools) {
    send.setAttribute("disabled", "");
    out.append(note("This host does not let a view call tools."));
  }
  f.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && e.target instanceof HTMLInputElement) submit();
  });
  async function submit() {
    if (send.hasAttribute("disabled")) return;
    const wrong = fields.filter((e) => !e.check());
    if (wrong.length) return wrong[0].focus();
    /** @type {Row} */ const args = {};
    for (const e of fields) { const v = e.read(); if (v !== undefined) args[e.name] = v; }
    send.setAttribute("disabled", "");
    send.textContent = "Sending…";
    out.replaceChildren();
    try {
      const r = await callTool(of.calls ?? "", args), said = textsOf(r);
      if (r.isError) { out.replaceChildren(note(said || "There is no message", "danger")); return; }
      request("ui/update-model-context", { content: [{ type: "text", text: said }] }).catch(() => {});
      const again = button("Fill in again", () => form(of, value, fill, text));
      fill(head(of.title, ""), note(said || "Done", "success"), el("div", { class: "send" }, again));
      again.focus();
    } catch (e) {
      out.replaceChildren(note(e instanceof Error ? e.message : String(e), "danger"));
    } finally {
      send.removeAttribute("disabled");
      send.textContent = of.submit ?? "Send";
    }
  }
  fill(head(of.title, of.about ?? ""), f);
}

let lastField = 0;
/** @typedef {{ name: string, node: HTMLElement, read: () => unknown, check: () => boolean, focus: () => void }} Entry */
/** @param {Field} f @param {unknown} value @param {string} name @returns {Entry} */
function entry(f, value, name) {
  if (value === undefined) value = f.initial;
  if (f.control === "key") { // another one for each form, so that a repeated call is carried out once
    const key = [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
    return { name, node: el("span", { hidden: true }), read: () => key, check: () => true, focus: () => {} };
  }
  const id = `f${++lastField}`, error = el("p", { class: "error", id: `${id}e` });
  const label = el("label", { for: id }, shown(f.label));
  if (!f.required) label.append(el("span", { class: "soft" }, " optional"));
  const hint = f.hint ? [el("p", { class: "hint soft", id: `${id}h` }, shown(f.hint))] : [];
  const described = `${f.hint ? `${id}h ` : ""}${id}e`;
  if (f.control === "object") {
    const values = isObject(value) ? value : {};
    const parts = (f.fields ?? []).map((p) => entry(p, values[p.name], p.name));
    const node = el("fieldset", {}, el("legend", {}, shown(f.label)), ...hint, ...parts.map((p) => p.node));
    const read = () => {
      /** @type {Row} */ const v = {};
      for (const p of parts) { const e = p.read(); if (e !== undefined) v[p.name] = e; }
      return !f.required && !Object.keys(v).length ? undefined : v;
    };
    return { name, node, read, check: () => read() === undefined || parts.map((p) => p.check()).every(Boolean), focus: () => (parts.find((p) => !p.check()) ?? parts[0])?.focus() };
  }
  if (f.control === "list" && f.elem) return listEntry(f, Array.isArray(value) ? value : [], name, hint);
  /** @type {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} */ let control;
  const attributes = { id, "aria-describedby": described, required: f.required };
  const options = f.control === "bool" ? [{ value: true, label: "Yes" }, { value: false, label: "No" }] : f.options;
  if (options) {
    control = /** @type {HTMLSelectElement} */ (el("select", attributes));
    if (!f.required || value === undefined) control.append(el("option", { value: "" }, f.required ? "Choose…" : "–"));
    options.forEach((o, i) => control.append(el("option", { value: String(i) }, plain(o.label))));
    const i = options.findIndex((o) => o.value === value);
    control.value = i < 0 ? "" : String(i);
  } else if (f.control === "area" || f.control === "json") {
    control = /** @type {HTMLTextAreaElement} */ (el("textarea", { ...attributes, rows: 3, maxlength: f.max, class: f.control }));
    control.value = value === undefined ? "" : f.control === "json" ? JSON.stringify(value, null, 2) : String(value);
  } else {
    const numeric = f.control === "number" || f.control === "integer";
    control = /** @type {HTMLInputElement} */ (el("input", { ...attributes, type: numeric ? "text" : f.control, autocomplete: "off",
      inputmode: f.control === "integer" ? "numeric" : numeric ? "decimal" : undefined, maxlength: numeric ? undefined : f.max }));
    control.value = value === undefined || value === null ? "" : String(value);
  }
  const read = () => {
    const text = control.value;
    if (text === "") return f.required && !options && (f.control === "area" || f.control === "text" || f.control === "password") && !f.min ? "" : undefined;
    if (options) return options[Number(text)]?.value;
    if (f.control === "integer" || f.control === "number") return Number(text.trim().replace(/^([-+]?\d+),(\d+)$/, "$1.$2"));
    if (f.control === "json") return JSON.parse(text);
    return text;
  };
  const problem = () => {
    let v;
    try { v = read(); } catch { return "Enter valid JSON."; }
    if (v === undefined || v === "") return f.required && (control.value === "") ? options ? "Choose a value." : "Enter a value." : "";
    if (typeof v === "number") {
      if (!Number.isFinite(v)) return "Enter a number.";
      if (f.control === "integer" && !Number.isSafeInteger(v)) return "Enter a whole number.";
      if (f.min !== undefined && v < f.min) return `Enter ${number(f.min)} or more.`;
      if (f.max !== undefined && v > f.max) return `Enter ${number(f.max)} or less.`;
    }
    if (typeof v === "string" && !options && f.min !== undefined && [...v].length < f.min) return `Enter at least ${count(f.min, "character")}.`;
    return control.validity.typeMismatch ? f.control === "email" ? "Enter an e-mail address." : "Enter an address such as https://example.com." : "";
  };
  const check = () => {
    const text = problem();
    error.textContent = text;
    control.setAttribute("aria-invalid", String(text !== ""));
    return text === "";
  };
  control.addEventListener("change", () => { if (error.textContent) check(); });
  return { name, node: el("div", { class: "field" }, label, ...hint, control, error), read, check, focus: () => control.focus() };
}
/** @param {Field} f @param {unknown[]} values @param {string} name @param {Node[]} hint @returns {Entry} */
function listEntry(f, values, name, hint) {
  const elem = /** @type {Field} */ (f.elem), list = el("div", { class: "list" });
  /** @type {{ e: Entry, row: HTMLElement }[]} */ let rows = [];
  const add = (/** @type {unknown} */ v) => {
    const e = entry({ ...elem, label: elem.label || `${f.label} ${rows.length + 1}`, required: true }, v, "");
    const row = el("div", { class: "row" }, e.node);
    const remove = button("Remove", () => { rows = rows.filter((r) => r.row !== row); row.remove(); }, "small");
    remove.setAttribute("aria-label", `Remove ${plain(f.label)} ${rows.length + 1}`);
    row.append(remove);
    list.append(row);
    rows.push({ e, row });
    return e;
  };
  values.forEach(add);
  const node = el("fieldset", {}, el("legend", {}, shown(f.label), ...(f.required ? [] : [el("span", { class: "soft" }, " optional")])), ...hint, list,
    button("Add", () => add(undefined).focus(), "small"));
  return { name, node, read: () => rows.length || f.required ? rows.map((r) => r.e.read()) : undefined,
    check: () => rows.map((r) => r.e.check()).every(Boolean), focus: () => rows.find((r) => !r.e.check())?.e.focus() };
}

// ---- pending approvals ----

/** @param {View} of @param {unknown} value @param {Fill} fill */
function approvals(of, value, fill) {
  const rows = rowsOf(of, value), now = Date.now();
  const list = el("ul", { class: "approvals" });
  /** @type {(() => void)[]} */ const clocks = [];
  for (const r of rows) {
    const state = String(r.state ?? ""), until = timeOf(r.expires), since = timeOf(r.requested);
    const left = el("span", {}), bar = el("progress", { max: 1, value: 0, "aria-label": "Time left" });
    const tick = () => {
      const ms = until - Date.now();
      left.textContent = state === "pending" ? ms > 0 ? `${duration(ms)} left` : "expired" : "";
      bar.setAttribute("value", String(Math.max(0, Math.min(1, ms / (until - since || 1)))));
    };
    tick();
    clocks.push(tick);
    const item = el("li", { class: state }, el("div", { class: "first" }, el("b", {}, shown(String(r.title ?? r.tool ?? ""))), el("span", { class: "state" }, shown(stateNames[state] ?? state))),
      el("p", {}, shown(String(r.message ?? ""))));
    if (state === "pending") item.append(bar);
    const asked = el("span", { class: "soft" }, `requested ${date(String(r.requested ?? ""))}`);
    item.append(el("p", { class: "small" }, ...(left.textContent ? [left] : []), asked));
    if (typeof r.console === "string" && r.console && host.capabilities.openLinks)
      item.append(el("div", { class: "send" }, button("Open in the console", () => openLink(String(r.console)))));
    list.append(item);
  }
  const refresh = button("Refresh", () => callTool(of.tool, {}).then(show, (e) => say(e.message)));
  const tools = host.capabilities.serverTools ? [refresh] : [];
  fill(head(of.title, rows.length ? count(rows.length, "call") : "No call of yours waits for an approval", ...tools), list,
    ...(rows.length ? [el("p", { class: "soft small" }, "Somebody else decides, in the console of the server. This view only shows what waits.")] : []));
  clearInterval(timer);
  if (rows.length && now) timer = window.setInterval(() => clocks.forEach((c) => c()), 1000);
}
let timer = 0;
/** @type {Record<string, string>} */
const stateNames = { pending: "Waiting", approved: "Approved", rejected: "Rejected", expired: "Expired" };
/** @param {number} ms */
function duration(ms) {
  const s = Math.round(ms / 1000), parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const i = parts.findIndex(([n]) => s >= Number(n));
  if (i < 0) return "0 s";
  const [n, unit] = parts[i], next = parts[i + 1];
  const whole = Math.floor(s / Number(n)), rest = next ? Math.floor(s % Number(n) / Number(next[0])) : 0;
  return `${whole} ${unit}${rest && next ? ` ${rest} ${next[1]}` : ""}`;
}

// ---- start ----

new ResizeObserver(reportSize).observe(document.body);
let lastWidth = 0;
window.addEventListener("resize", () => { if (innerWidth !== lastWidth) { lastWidth = innerWidth; draw(); } });
if (view.kind === "form") render(head(view.title, "Loading…"));
else render(head(view.title, "Waiting for the result"), el("div", { class: "loading", "aria-hidden": "true" }));
request("ui/initialize", {
  appInfo: { name: "hatchel-view", version: "1" }, appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] }, protocolVersion: "2026-01-26",
}).then((r) => {
  host.capabilities = isObject(r.hostCapabilities) ? r.hostCapabilities : {};
  applyContext(isObject(r.hostContext) ? r.hostContext : {});
  notify("ui/notifications/initialized", {});
  reportSize();
}, (e) => render(note(e.message, "danger")));
