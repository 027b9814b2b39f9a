// A session of the official client for tasks with the folder conformance, over HTTP. It prints what became of every task.
//
//   tasks.cjs URL
"use strict";
const path = require("node:path");

const url = process.argv[2];
const revision = "2026-07-28";
const me = { name: "guest", version: "1.0.0" };
const capabilities = { elicitation: {} };
const packages = path.resolve(require.resolve("@modelcontextprotocol/client"), "../../..");

// The client for tasks leaves it to its host to send what the SDK does not know.
let last = 0;
async function dispatch({ method, params }, { signal } = {}) {
  const response = await fetch(url, {
    method: "POST", signal,
    headers: {
      "Content-Type": "application/json", Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": revision, "Mcp-Method": method, "Mcp-Name": params.name ?? params.taskId,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: ++last, method, params }),
  });
  const body = await response.text();
  const lines = response.headers.get("Content-Type").startsWith("text/event-stream") ? body.split("\n").filter((line) => line.startsWith("data: ")) : [body];
  const { result, error } = lines.map((line) => JSON.parse(line.replace(/^data: /, ""))).find((message) => message.id === last || message.result || message.error);
  return error ? { kind: "error", error } : { kind: "result", result };
}

async function main() {
  const { Client, StreamableHTTPClientTransport } = await import(path.join(packages, "client/dist/index.mjs"));
  const { createTaskSessionFromClient } = await import(path.join(packages, "ext-tasks/dist/client/index.js"));
  const client = new Client(me, { capabilities, versionNegotiation: { mode: { pin: revision } } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const session = createTaskSessionFromClient(client, {
    endpointId: "conformance", rawDispatch: dispatch,
    v2RequestFraming: { protocolVersion: revision, clientInfo: me, clientCapabilities: capabilities },
    onInputRequest: async ({ params }) => ({
      action: "accept",
      content: Object.fromEntries(Object.entries(params.requestedSchema.properties).map(([name, field]) => [name, field.type === "boolean" ? true : "Ada"])),
    }),
  });
  const became = {};
  const settle = async (name, args, meanwhile) => {
    const execution = await session.callTool(name, args);
    await meanwhile?.(execution);
    const { outcome } = await execution.settle();
    const { result, error } = outcome;
    became[name] = [execution.kind, outcome.status, error ? error.code : result ? (result.isError ? "failed: " : "") + result.content[0].text : ""].join(", ");
  };
  await settle("greet", { name: "Ada" });
  await settle("failing_job", {});
  await settle("protocol_error_job", {});
  await settle("confirm_delete", { filename: "a.txt" });
  await settle("multi_input", {});
  await settle("test_tool_with_task", {});
  await settle("slow_compute", { seconds: 60, label: "long" }, (execution) => execution.cancel());
  await session.close();
  await client.close();
  console.log(JSON.stringify(became));
}

main().then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
