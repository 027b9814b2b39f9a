// The extension runs `hatchel lsp` and lets it decide which folders are configurations: VS Code, and the extensions
// of Terraform and Nomad, keep every other .hcl file.
"use strict";

const path = require("node:path");
const vscode = require("vscode");
const { LanguageClient, RevealOutputChannelOn } = require("vscode-languageclient/node");

const language = "hatchel";

// running is the client, as a promise that rejects if the server cannot start. It is undefined until the first .hcl
// file is opened.
let running;

function program() {
  return vscode.workspace.getConfiguration("hatchel").get("path") || "hatchel";
}

function start() {
  const client = new LanguageClient(
    "hatchel",
    "Hatchel",
    { command: program(), args: ["lsp"] },
    {
      documentSelector: [{ scheme: "file", pattern: "**/*.hcl" }],
      initializationOptions: { commands: Object.keys(commands) },
      revealOutputChannelOn: RevealOutputChannelOn.Never,
    },
  );
  return client.start().then(() => client);
}

// client returns the running client, and starts it first if it is not running. A server that cannot start is reported
// once, not for each file.
function client() {
  if (!running) {
    running = start();
    running.catch(reportMissing);
  }
  return running;
}

async function reportMissing(error) {
  const choice = await vscode.window.showErrorMessage(
    `"${program()} lsp" could not be started: ${error.message}. Install hatchel, or set hatchel.path.`,
    "Open Settings",
  );
  if (choice) {
    vscode.commands.executeCommand("workbench.action.openSettings", "hatchel.path");
  }
}

async function stop() {
  const old = running;
  running = undefined;
  const started = await old?.catch(() => undefined);
  await started?.stop();
}

async function restart() {
  await stop();
  await client().catch(() => undefined);
}

// claim gives a file the language "hatchel" if the server says that its folder is a configuration.
async function claim(document) {
  if (document.uri.scheme !== "file" || !document.fileName.endsWith(".hcl") || document.languageId === language) {
    return;
  }
  const started = await client().catch(() => undefined);
  const params = { textDocument: { uri: document.uri.toString() } };
  const folder = await started?.sendRequest("hatchel/folder", params).catch(() => null);
  if (folder && !document.isClosed) {
    await vscode.languages.setTextDocumentLanguage(document, language);
  }
}

// run saves the folder and runs hatchel in the terminal. The words are arguments of a process: no shell reads them.
async function run(title, folder, words) {
  if (!vscode.workspace.isTrusted) {
    vscode.window.showWarningMessage("Trust this workspace to run hatchel in it.");
    return;
  }
  for (const document of vscode.workspace.textDocuments) {
    if (document.isDirty && document.languageId === language && document.fileName.startsWith(folder + path.sep)) {
      await document.save();
    }
  }
  const process = new vscode.ProcessExecution(program(), words, { cwd: folder });
  const task = new vscode.Task({ type: "hatchel" }, vscode.TaskScope.Workspace, title, "hatchel", process);
  task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, panel: vscode.TaskPanelKind.Shared, clear: true };
  await vscode.tasks.executeTask(task);
}

function test(folder, tool) {
  return run(`test ${tool}`, folder, ["test", "--tool", tool]);
}

async function testFolder() {
  const started = await client().catch(() => undefined);
  const params = { textDocument: { uri: vscode.window.activeTextEditor.document.uri.toString() } };
  const uri = await started?.sendRequest("hatchel/folder", params);
  if (uri) {
    const folder = vscode.Uri.parse(uri).fsPath;
    await run(`test ${path.basename(folder)}`, folder, ["test"]);
  }
}

async function dryRun(folder, tool, example) {
  const text = await vscode.window.showInputBox({
    prompt: `Arguments of ${tool}, as JSON`,
    value: JSON.stringify(example ?? {}),
    validateInput: (value) => {
      try {
        JSON.parse(value);
      } catch (error) {
        return error.message;
      }
    },
  });
  if (text !== undefined) {
    await run(`dry run of ${tool}`, folder, ["call", "--dry-run", "--", tool, text]);
  }
}

function lock(folder) {
  return run("lock", folder, ["lock"]);
}

// commands are those of code lenses and code actions. The server sends only these.
const commands = { "hatchel.test": test, "hatchel.dryRun": dryRun, "hatchel.lock": lock };

function activate(context) {
  const claimed = (document) => claim(document);
  context.subscriptions.push(
    ...Object.entries(commands).map(([name, run]) => vscode.commands.registerCommand(name, run)),
    vscode.commands.registerCommand("hatchel.restart", restart),
    vscode.commands.registerCommand("hatchel.testFolder", testFolder),
    vscode.workspace.onDidOpenTextDocument(claimed),
    vscode.workspace.onDidSaveTextDocument(claimed),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (running && event.affectsConfiguration("hatchel.path")) {
        restart();
      }
    }),
  );
  vscode.workspace.textDocuments.forEach(claimed);
}

module.exports = { activate, deactivate: stop };
