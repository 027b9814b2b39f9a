// An MCP server of the TypeScript SDK, of all revisions: server.mjs http|stdio DIRECTORY. Over HTTP it writes its address on standard
// error; what it receives over stdio is in the file received-PID of the directory. Its tools are those of newSDKUpstream in upstream_sdk_test.go.
import { createServer } from "node:http";
import { randomUUID } from "node:crypto";
import { appendFileSync, writeFileSync } from "node:fs";
import { NodeStreamableHTTPServerTransport, toNodeHandler } from "@modelcontextprotocol/node";
import { classifyInboundRequest, createMcpHandler, fromJsonSchema, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const schema = { type: "object", properties: { n: { type: "string" } }, required: ["n"] };
const text = (text) => ({ content: [{ type: "text", text }] });
const questions = {
  form: (n) => inputRequired.elicit({
    message: "Who is " + n, requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  }),
  page: (n) => inputRequired.elicitUrl({ message: "Open " + n, url: "https://pages.example/" + n }),
  model: (n) => inputRequired.createMessage({ messages: [{ role: "user", content: { type: "text", text: n } }], maxTokens: 9 }),
  roots: () => inputRequired.listRoots(),
};

// Servers of the revisions before 2026-07-28 send their questions themselves.
function ask(kind, era) {
  return async ({ n }, context) => {
    let answer = context.mcpReq.inputResponses?.q;
    if (answer === undefined) {
      const question = questions[kind](n);
      if (era === "modern") return inputRequired({ inputRequests: { q: question } });
      if (kind === "page") question.params.elicitationId = randomUUID();
      answer = await context.mcpReq.send(question);
    }
    return text(answer.roots?.[0].uri ?? answer.content?.text ?? answer.content?.name ?? answer.action);
  };
}

function create({ era }) {
  const server = new McpServer({ name: "typescript", version: "1" }, { capabilities: { tools: {}, logging: {} } });
  const tool = (name, run) => server.registerTool(name, { inputSchema: fromJsonSchema(schema) }, run);
  tool("content", async ({ n }) => ({
    content: [
      { type: "text", text: n },
      { type: "image", data: "iVBORw==", mimeType: "image/png" },
      { type: "audio", data: "UklGRg==", mimeType: "audio/wav" },
      { type: "resource", resource: { uri: "test://a", mimeType: "text/plain", text: "a" } },
      { type: "resource", resource: { uri: "test://b", mimeType: "application/zip", blob: "UEs=" } },
      { type: "resource_link", name: "page", uri: "https://pages.example/" },
    ],
  }));
  tool("progress", async ({ n }, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    if (progressToken !== undefined) {
      await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress: 1, total: 2, message: n } });
    }
    return text("done");
  });
  tool("wait", ({ n }, { mcpReq }) => new Promise((resolve) => {
    const { progressToken } = mcpReq._meta ?? {};
    if (progressToken !== undefined) {
      mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress: 1, message: n } });
    }
    mcpReq.signal.addEventListener("abort", () => {
      writeFileSync(process.argv[3] + "/" + n, "");
      resolve(text("late"));
    });
  }));
  for (const kind of Object.keys(questions)) tool(kind, ask(kind, era));
  return server;
}

if (process.argv[2] === "stdio") {
  serveStdio(create);
  process.stdin.on("data", (data) => appendFileSync(process.argv[3] + "/received-" + process.pid, data));
} else {
  const sessions = new Map();
  const handleModern = toNodeHandler(createMcpHandler(create));
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString()) : undefined;
    const { kind } = classifyInboundRequest({
      httpMethod: request.method, body,
      protocolVersionHeader: request.headers["mcp-protocol-version"], mcpMethodHeader: request.headers["mcp-method"],
    });
    if (kind !== "legacy") return handleModern(request, response, body);
    let transport = sessions.get(request.headers["mcp-session-id"]);
    if (!transport) {
      transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID, onsessioninitialized: (id) => void sessions.set(id, transport),
      });
      await create({ era: "legacy" }).connect(transport);
    }
    return transport.handleRequest(request, response, body);
  });
  server.listen(0, "127.0.0.1", () => process.stderr.write(`ready at http://127.0.0.1:${server.address().port}/mcp\n`));
}
