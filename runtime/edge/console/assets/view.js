// @ts-check
// A host of MCP Apps for the view of the result that the page shows. It lets the view call no tool.

/** @param {HTMLIFrameElement} frame @param {object} message */
const send = (frame, message) => frame.contentWindow?.postMessage({ jsonrpc: "2.0", ...message }, "*");

/** @param {HTMLIFrameElement} frame @param {{ id?: unknown, method?: unknown, params?: any }} m */
async function receive(frame, m) {
  const answer = (/** @type {object} */ result) => send(frame, { id: m.id, result });
  switch (m.method) {
    case "ui/initialize": {
      const dark = getComputedStyle(document.documentElement).colorScheme === "dark" || matchMedia("(prefers-color-scheme: dark)").matches;
      const theme = document.documentElement.dataset.theme ?? (dark ? "dark" : "light");
      return answer({ protocolVersion: "2026-01-26", hostInfo: { name: "hatchel console", version: "1" }, hostCapabilities: { openLinks: {} },
        hostContext: { theme, displayMode: "inline", availableDisplayModes: ["inline"] } });
    }
    case "ui/notifications/initialized": {
      const response = await fetch(frame.dataset.result ?? "");
      if (!response.ok) return;
      send(frame, { method: "ui/notifications/tool-input", params: { arguments: {} } });
      return send(frame, { method: "ui/notifications/tool-result", params: await response.json() });
    }
    case "ui/notifications/size-changed":
      frame.style.height = `${Math.min(4000, Number(m.params?.height) || 0) + 2}px`;
      return;
    case "ui/open-link": {
      const url = String(m.params?.url);
      if (url.startsWith("https://") && confirm(`Open ${url} in a new window?`)) window.open(url, "_blank", "noopener,noreferrer");
      return answer({});
    }
  }
  if (m.id !== undefined) send(frame, { id: m.id, error: { code: -32601, message: "Method not found" } });
}

/** Loads the views of the page, and gives them their results. */
export function showViews() {
  const frames = /** @type {NodeListOf<HTMLIFrameElement>} */ (document.querySelectorAll("iframe[data-app]"));
  addEventListener("message", (e) => {
    const frame = Array.from(frames).find((f) => f.contentWindow === e.source);
    if (frame && typeof e.data === "object" && e.data?.jsonrpc === "2.0") receive(frame, e.data);
  });
  for (const frame of frames) {
    frame.hidden = false;
    frame.src = frame.dataset.app ?? "";
  }
}
