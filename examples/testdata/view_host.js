// A minimal host of MCP Apps: it calls a tool, reads the app that its definition names, and shows the result in it.
const frame = document.getElementById("view");
const seen = { opened: [], context: [], calls: [], modes: [], unknown: [] };
window.seen = seen;
let last = 0;
async function mcp(method, params) {
  const response = await fetch("/rpc", { method: "POST", body: JSON.stringify({ jsonrpc: "2.0", id: ++last, method, params }) });
  const answer = await response.json();
  if (answer.error) throw answer.error;
  return answer.result;
}
const send = (m) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...m }, "*");
window.send = send;

window.start = async (tool, args, context) => {
  const { tools } = await mcp("tools/list", {});
  const definition = tools.find((t) => t.name === tool);
  const { contents } = await mcp("resources/read", { uri: definition._meta.ui.resourceUri });
  const result = mcp("tools/call", { name: tool, arguments: args });
  return new Promise((done) => {
    window.addEventListener("message", async (e) => {
      const m = e.data;
      if (e.source !== frame.contentWindow) return;
      const answer = (result) => send({ id: m.id, result });
      switch (m.method) {
        case "ui/notifications/sandbox-proxy-ready":
          return send({ method: "ui/notifications/sandbox-resource-ready", params: { html: contents[0].text, csp: contents[0]._meta.ui.csp } });
        case "ui/initialize":
          return answer({ protocolVersion: "2026-01-26", hostInfo: { name: "host", version: "1" }, hostCapabilities: window.capabilities ?? { openLinks: {}, serverTools: {} },
            hostContext: { theme: "light", locale: "en-GB", timeZone: "UTC", displayMode: "inline", availableDisplayModes: ["inline", "fullscreen"], ...context } });
        case "ui/notifications/initialized":
          send({ method: "ui/notifications/tool-input", params: { arguments: args } });
          send({ method: "ui/notifications/tool-result", params: window.instead ?? await result });
          return done(definition._meta.ui.resourceUri);
        case "ui/notifications/size-changed":
          frame.style.height = `${m.params.height}px`;
          return;
        case "tools/call":
          seen.calls.push(m.params);
          return mcp("tools/call", m.params).then(answer, (error) => send({ id: m.id, error }));
        case "ui/open-link":
          seen.opened.push(m.params.url);
          return answer({});
        case "ui/update-model-context":
          seen.context.push(m.params);
          return answer({});
        case "ui/request-display-mode":
          seen.modes.push(m.params.mode);
          answer({ mode: m.params.mode });
          return send({ method: "ui/notifications/host-context-changed", params: { displayMode: m.params.mode } });
      }
      if (m.method) seen.unknown.push(m.method);
    });
    frame.src = window.sandbox;
  });
};
