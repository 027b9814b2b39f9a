// A session of an official TypeScript client with the folder conformance, in which it uses every feature. It prints what came of it.
//
//   client.cjs PACKAGE REVISION URL | client.cjs PACKAGE REVISION COMMAND...
"use strict";
const fs = require("node:fs");

const [pack, revision, ...target] = process.argv.slice(2);
const modern = revision > "2026";
const watched = "test://watched-resource";

// What the two packages call things, and in which order callTool takes them.
function open() {
  const answers = {
    "elicitation/create": ({ params }) => ({
      action: "accept",
      content: Object.fromEntries(Object.keys(params.requestedSchema.properties).map((name) => [name, name === "email" ? "ada@example.com" : "Ada"])),
    }),
    "sampling/createMessage": ({ params }) => ({
      role: "assistant", model: "m", content: { type: "text", text: "You asked: " + [params.messages[0].content].flat()[0].text },
    }),
    "roots/list": () => ({ roots: [{ uri: "file:///srv/project", name: "project" }] }),
  };
  const capabilities = { elicitation: {}, sampling: {}, roots: {} };
  const me = { name: "guest", version: "1.0.0" };
  if (pack === "client") {
    const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
    const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");
    const client = new Client(me, { capabilities, versionNegotiation: { mode: modern ? { pin: revision } : "legacy" } });
    for (const [method, answer] of Object.entries(answers)) client.setRequestHandler(method, answer);
    return {
      client, transport: reach(StreamableHTTPClientTransport, StdioClientTransport),
      call: (params, options) => client.callTool(params, options),
      hear: (method, heard) => client.setNotificationHandler(method, heard),
      ask: (method, params) => client.request({ method, params }, { "~standard": { version: 1, vendor: "guest", validate: (value) => ({ value }) } }),
    };
  }
  const types = require("@modelcontextprotocol/sdk/types.js");
  const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
  const client = new Client(me, { capabilities });
  const requests = { "elicitation/create": "ElicitRequest", "sampling/createMessage": "CreateMessageRequest", "roots/list": "ListRootsRequest" };
  for (const [method, answer] of Object.entries(answers)) client.setRequestHandler(types[requests[method] + "Schema"], answer);
  const notifications = {
    "notifications/message": "LoggingMessage", "notifications/resources/updated": "ResourceUpdated",
    "notifications/tools/list_changed": "ToolListChanged", "notifications/prompts/list_changed": "PromptListChanged",
  };
  return {
    client, transport: reach(StreamableHTTPClientTransport, StdioClientTransport),
    call: (params, options) => client.callTool(params, undefined, options),
    hear: (method, heard) => client.setNotificationHandler(types[notifications[method] + "NotificationSchema"], heard),
    ask: (method, params) => client.request({ method, params }, types.ResultSchema),
  };
}

function reach(HTTP, Stdio) {
  if (target[0].startsWith("http")) return new HTTP(new URL(target[0]));
  return new Stdio({ command: target[0], args: target.slice(1), env: process.env, stderr: "ignore" });
}

const { client, transport, call, hear, ask } = open();

// One who waits for each thing that is told, and the things that were told.
const waiting = new Map();
function told(what) {
  waiting.get(what)?.();
}

// Repeats a change until the client is told of it: it cannot know from when on it is told.
async function learns(what, change) {
  const heard = new Promise((resolve) => waiting.set(what, resolve));
  await change();
  const again = setInterval(() => change().catch(fail), 3000);
  await heard;
  clearInterval(again);
  return what;
}

const text = async (name, args, options) => (await call({ name, arguments: args }, options)).content[0].text;

async function logs() {
  const heard = [];
  hear("notifications/message", ({ params }) => void heard.push(params.data));
  const params = { name: "test_tool_with_logging", arguments: {} };
  if (modern) params._meta = { "io.modelcontextprotocol/logLevel": "info" };
  else await client.setLoggingLevel("info");
  await call(params);
  return heard;
}

// A client does not listen any more to what it reads together with the answer, which on a busy machine may be all but the first.
async function progress() {
  const heard = [];
  await call({ name: "test_tool_with_progress", arguments: {} }, { onprogress: (p) => void heard.push(`${p.progress} of ${p.total}`) });
  return heard.slice(0, 1);
}

async function changes() {
  hear("notifications/resources/updated", ({ params }) => told("updated " + params.uri));
  hear("notifications/tools/list_changed", () => told("tools"));
  hear("notifications/prompts/list_changed", () => told("prompts"));
  if (modern) await client.listen({ resourceSubscriptions: [watched], toolsListChanged: true, promptsListChanged: true });
  else await client.subscribeResource({ uri: watched });
  return [
    await learns("updated " + watched, async () => fs.appendFileSync("samples/watched.txt", "Another line.\n")),
    await learns("tools", () => text("test_trigger_tool_change")),
    await learns("prompts", () => text("test_trigger_prompt_change")),
  ];
}

// What an answer that a limit has cut says, and the rows of two pages, of which the first one has the cursor of the second one.
async function answers() {
  const cut = await call({ name: "count_far", arguments: {} });
  const said = modern ? cut.content.at(-1).text : `[${cut.structuredContent.truncated}]`;
  const walk = async (args) => {
    const answer = await call({ name: "walk", arguments: args });
    if (answer.isError) throw new Error(answer.content[0].text);
    return answer.structuredContent;
  };
  const first = await walk({});
  const second = await walk({ cursor: first.next_cursor });
  return [cut._meta.truncated, said, ...[...first.rows, ...second.rows].map((row) => row.id), second.next_cursor];
}

// Each file of the skills with whether its bytes are those of its digest, and what the directory of each skill has.
async function readSkills() {
  if (pack === "client") return verifySkills();
  const digest = (bytes) => "sha256:" + require("node:crypto").createHash("sha256").update(bytes).digest("hex");
  const found = [];
  for (const skill of (await ask("skills/list", {})).skills) {
    const one = (await ask("skills/get", { uri: skill.uri })).skill;
    for (const file of one.resources) {
      const [content] = (await client.readResource({ uri: file.uri })).contents;
      const bytes = Buffer.from(content.text ?? content.blob, content.text === undefined ? "base64" : "utf8");
      found.push(file.uri + " " + (digest(bytes) === file.digest && bytes.length === file.size));
    }
    const { resources } = await ask("resources/directory/read", { uri: skill.uri.replace(/\/SKILL.md$/, "") });
    found.push(...resources.map((resource) => resource.name));
  }
  return found;
}

// readSkills with the host side of the extension, which verifies each file, and refuses one whose entry says otherwise.
async function verifySkills() {
  const { SkillsClient } = require("@modelcontextprotocol/client/ext/skills");
  const skills = new SkillsClient(client);
  const found = [];
  for (const skill of (await skills.list()).skills) {
    const one = (await skills.get(skill.uri)).skill;
    for (const file of one.resources) found.push(file.uri + " " + (await skills.read(one, file.uri)).verified);
    const wrong = { ...one, resources: one.resources.map((file) => ({ ...file, digest: "sha256:" + "0".repeat(64) })) };
    const refused = await skills.read(wrong).then(() => "nothing", (error) => error.reason);
    if (refused !== "digest") throw new Error("a file of another digest is refused for " + refused);
    const { resources } = await skills.readDirectory(skill.uri.replace(/\/SKILL.md$/, ""));
    found.push(...resources.map((resource) => resource.name));
  }
  return found;
}

async function session() {
  await client.connect(transport);
  const seen = {};
  seen.server = client.getServerVersion().name;
  const { tools } = await client.listTools();
  seen.tools = tools.length > 30 && tools.every((tool) => tool.inputSchema.type === "object");
  seen.text = await text("test_simple_text");
  seen.image = (await call({ name: "test_image_content", arguments: {} })).content[0].mimeType;
  seen.failed = (await call({ name: "test_error_handling", arguments: {} })).isError;
  seen.header = await text("test_custom_header", { region: "Zürich" });
  seen.kept = await text("test_reconnection");
  seen.elicited = await text("test_elicitation", { message: "Who are you?" });
  seen.sampled = await text("test_sampling", { prompt: "Why?" });
  seen.roots = await text("test_input_required_result_list_roots");
  seen.rounds = await text("test_input_required_result_multi_round");
  seen.progress = await progress();
  seen.logs = await logs();
  seen.answers = await answers();
  seen.skills = await readSkills();
  seen.resources = (await client.listResources()).resources.map((resource) => resource.uri).sort();
  seen.templates = (await client.listResourceTemplates()).resourceTemplates.map((template) => template.uriTemplate);
  seen.read = (await client.readResource({ uri: "test://template/7/data" })).contents[0].text;
  seen.unknown = await client.readResource({ uri: "test://none" }).then(() => 0, (error) => error.code);
  seen.prompts = (await client.listPrompts()).prompts.map((prompt) => prompt.name).sort();
  seen.prompt = (await client.getPrompt({ name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "b" } })).messages[0].content.text;
  seen.asked = (await client.getPrompt({ name: "test_input_required_result_prompt" })).messages[0].content.text;
  seen.completed = (await client.complete({ ref: { type: "ref/prompt", name: "test_prompt_with_arguments" }, argument: { name: "arg1", value: "par" } })).completion.values;
  seen.told = await changes();
  return seen;
}

function fail(error) {
  console.error(error);
  process.exit(1);
}

session().then(async (seen) => {
  await client.close();
  console.log(JSON.stringify(seen));
  process.exit(0);
}, fail);
