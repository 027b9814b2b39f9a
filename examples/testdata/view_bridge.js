// A host of MCP Apps that is made of the official client and of AppBridge.
const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
const { AppBridge, PostMessageTransport } = require("@modelcontextprotocol/ext-apps/app-bridge");
window.seen = { opened: [], context: [] };
window.start = async (tool, args, context) => {
  const frame = document.getElementById("view");
  const capabilities = { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } } };
  const client = new Client({ name: "bridge", version: "1.0.0" }, { capabilities });
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", location.href)));
  const { tools } = await client.listTools();
  const definition = tools.find((t) => t.name === tool);
  const { contents } = await client.readResource({ uri: definition._meta.ui.resourceUri });
  const bridge = new AppBridge(client, { name: "bridge", version: "1.0.0" }, { openLinks: {}, serverTools: {}, updateModelContext: { text: {} } },
    { hostContext: { theme: "light", locale: "en-GB", timeZone: "UTC", toolInfo: { tool: definition }, ...context } });
  bridge.onsizechange = ({ height }) => { frame.style.height = `${height}px`; };
  bridge.onopenlink = async ({ url }) => { window.seen.opened.push(url); return {}; };
  bridge.onupdatemodelcontext = async (params) => { window.seen.context.push(params); return {}; };
  window.bridge = bridge;
  return new Promise((done, failed) => {
    bridge.onsandboxready = () => bridge.sendSandboxResourceReady({ html: contents[0].text, csp: contents[0]._meta.ui.csp });
    bridge.oninitialized = async () => {
      bridge.sendToolInput({ arguments: args });
      bridge.sendToolResult(await client.callTool({ name: tool, arguments: args }));
      done(JSON.stringify(bridge.getAppVersion()));
    };
    frame.src = window.sandbox;
    bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow)).catch(failed);
  });
};
