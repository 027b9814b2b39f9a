// Official TypeScript clients that a test commands: clients.cjs PACKAGE REVISION URL, or in place of the URL a command and its arguments, which
// each client starts and speaks to over stdio.
//
// Every line of the input is a command, {"id", "client", "do", ...}; every line of the output is its end, {"id", "value"} or {"id", "error"}, or what
// a client has heard, {"client", "heard"}. A question that begins with "hold" is answered after the command release.
"use strict";
const readline = require("node:readline");

const [pack, revision, url, ...args] = process.argv.slice(2);
const program = url.startsWith("http") ? undefined : { command: url, args, env: process.env };
const modern = revision > "2026";
const say = (line) => void process.stdout.write(JSON.stringify(line) + "\n");

function open(number) {
  let release;
  const released = new Promise((resolve) => (release = resolve));
  const answer = {
    "elicitation/create": async ({ params }) => {
      if (params.message.startsWith("hold")) {
        say({ client: number, heard: "question" });
        await released;
      }
      return params.mode === "url" ? { action: "accept" } : { action: "accept", content: { name: params.message.split(" ").pop() } };
    },
    "sampling/createMessage": async ({ params }) => ({
      role: "assistant", model: "m", content: { type: "text", text: "model " + [params.messages[0].content].flat()[0].text },
    }),
    "roots/list": async () => ({ roots: [{ uri: "file:///srv/project", name: "project" }] }),
  };
  const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
  const me = { name: "client " + number, version: "1.0.0" };
  const notifications = {
    "notifications/message": ["LoggingMessage", (params) => "log " + params.data],
    "notifications/resources/updated": ["ResourceUpdated", (params) => "updated " + params.uri],
    "notifications/tools/list_changed": ["ToolListChanged", () => "tools"],
  };
  let client, transport, call;
  if (pack === "client") {
    const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
    const versions = modern ? { versionNegotiation: { mode: { pin: revision } } } : { supportedProtocolVersions: [revision] };
    client = new Client(me, { capabilities, versionNegotiation: { mode: "legacy" }, ...versions });
    for (const [method, reply] of Object.entries(answer)) client.setRequestHandler(method, reply);
    for (const [method, [, text]] of Object.entries(notifications)) {
      client.setNotificationHandler(method, ({ params }) => say({ client: number, heard: text(params) }));
    }
    const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");
    transport = program ? new StdioClientTransport(program) : new StreamableHTTPClientTransport(new URL(url));
    call = (params, options) => client.callTool(params, options);
  } else {
    const types = require("@modelcontextprotocol/sdk/types.js");
    const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
    client = new Client(me, { capabilities });
    const requests = { "elicitation/create": "ElicitRequest", "sampling/createMessage": "CreateMessageRequest", "roots/list": "ListRootsRequest" };
    for (const [method, reply] of Object.entries(answer)) client.setRequestHandler(types[requests[method] + "Schema"], reply);
    for (const [, [name, text]] of Object.entries(notifications)) {
      client.setNotificationHandler(types[name + "NotificationSchema"], ({ params }) => say({ client: number, heard: text(params) }));
    }
    const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
    transport = program ? new StdioClientTransport(program) : new StreamableHTTPClientTransport(new URL(url));
    call = (params, options) => client.callTool(params, undefined, options);
  }
  // The SDKs drop a progress that they read together with the answer to its call.
  transport.onmessage = ({ method, params }) => {
    if (method === "notifications/progress") say({ client: number, heard: "progress " + params.message });
  };
  client.onerror = (error) => process.stderr.write(`client ${number}: ${error}\n`);
  const calls = new Map(); // by n
  return {
    connect: () => client.connect(transport).then(() => transport.sessionId ?? ""),
    list: async () => (await client.listTools()).tools.map((tool) => tool.name),
    call: async ({ name, args, follow }) => {
      const controller = new AbortController();
      calls.set(args.n, controller);
      const options = { signal: controller.signal, timeout: 180000 };
      if (follow) options.onprogress = () => {};
      try {
        const result = await call({ name, arguments: args }, options);
        const content = follow ? result.content.map((block) => block.text ?? block.type).join("|") : result.content[0].text;
        return (result.isError ? "error: " : "") + content;
      } finally {
        calls.delete(args.n);
      }
    },
    cancel: async ({ n }) => calls.get(n).abort("the test cancels"),
    level: async ({ level }) => void (await client.setLoggingLevel(level)),
    subscribe: async ({ uri }) => void (await client.subscribeResource({ uri })),
    unsubscribe: async ({ uri }) => void (await client.unsubscribeResource({ uri })),
    release: async () => release(),
    end: async () => {
      if (!modern && !program) await transport.terminateSession();
      await client.close();
    },
  };
}

const clients = new Map();
readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const command = JSON.parse(line);
  if (!clients.has(command.client)) clients.set(command.client, open(command.client));
  clients.get(command.client)[command.do](command).then(
    (value) => say({ id: command.id, value: value ?? null }),
    (error) => say({ id: command.id, error: String(error?.message ?? error) || "no message" }),
  );
}).on("close", () => process.exit(0));
