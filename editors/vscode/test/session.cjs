// session.cjs EXTENSION HATCHEL FOLDER: a person opens a file of a configuration with the extension, breaks it, mends it,
// asks and formats. The program prints what the editor showed, as JSON. The extension and the language client in it are
// the real ones.
"use strict";

const fs = require("node:fs");
const Module = require("node:module");
const path = require("node:path");
const { vscode, editor } = require("./vscode.cjs");

const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));

const [, , extensionFile, hatchel, folder] = process.argv;
const seen = {};

// until waits for something that the server causes. The test that starts this program limits the time.
async function until(holds) {
  for (;;) {
    const value = holds();
    if (value) {
      return value;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const problems = (document) =>
  (editor.diagnostics.get(document.uri.toString()) ?? []).map(
    ({ range, message, severity }) => `${range.start.line + 1}:${range.start.character + 1} ${severity} ${message}`,
  );

const at = (document, text, offset = 0) => document.positionAt(document.text.indexOf(text) + offset);

async function main() {
  const extension = require(path.resolve(extensionFile));
  const context = { subscriptions: [] };
  editor.settings["hatchel.path"] = hatchel;
  vscode.workspace.workspaceFolders.push({ uri: vscode.Uri.file(folder), name: "tools", index: 0 });
  extension.activate(context);

  const document = editor.open(path.join(folder, "tools.hcl"));
  await until(() => document.languageId === "hatchel");
  seen.claimed = document.languageId;

  const hover = await editor.ask("HoverProvider", "provideHover", document, at(document, "input.name", 8));
  seen.hover = [hover?.contents].flat().map((part) => part?.value).join();

  editor.type(document, "${input.name}", "${input.nmae}");
  await until(() => problems(document).length > 0);
  seen.broken = problems(document);

  editor.type(document, "${input.nmae}", "${input.name}");
  await until(() => problems(document).length === 0);
  seen.mended = problems(document);

  const lenses = await editor.ask("CodeLensProvider", "provideCodeLenses", document);
  seen.lenses = lenses.map(({ command }) => command.title);
  seen.commands = lenses.every(({ command }) => !command.command || editor.commands.has(command.command));

  editor.type(document, "input.name}", "input.}");
  const items = await editor.ask("CompletionItemProvider", "provideCompletionItems", document, at(document, "input.}", 6));
  seen.completed = (items.items ?? items).map(({ label }) => label.label ?? label);
  editor.type(document, "input.}", "input.name}");

  editor.type(document, "  description =", "      description   =");
  const options = { tabSize: 2, insertSpaces: true };
  const edits = await editor.ask("DocumentFormattingEditProvider", "provideDocumentFormattingEdits", document, options);
  editor.apply(document, edits);
  seen.formatted = document.text === fs.readFileSync(document.fileName, "utf8");

  const foreign = editor.open(path.join(folder, "..", "foreign", "main.hcl"), "hcl");
  document.save();
  await editor.ask("HoverProvider", "provideHover", foreign, new vscode.Position(0, 1));
  seen.foreign = [foreign.languageId, problems(foreign)];

  await editor.commands.get("hatchel.test")(folder, "greet");
  await editor.commands.get("hatchel.dryRun")(folder, "greet", { name: "Ada" });
  await editor.commands.get("hatchel.lock")(folder);
  seen.tasks = editor.tasks.map(({ execution }) => [execution.args, execution.options.cwd === folder]);
  seen.messages = editor.messages;
  await extension.deactivate();
  console.log(JSON.stringify(seen));
  process.exit(0);
}

main().catch((error) => {
  console.error(error, seen, editor.messages);
  process.exit(1);
});
