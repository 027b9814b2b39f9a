// A VS Code without windows: the part of its interface that the language client and the extension use. Providers and
// commands that they register are kept, so that a test can ask them as VS Code would.
"use strict";

const fs = require("node:fs");
const { pathToFileURL, fileURLToPath } = require("node:url");

class Disposable {
  constructor(dispose = () => {}) {
    this.dispose = dispose;
  }
  static from(...all) {
    return new Disposable(() => all.forEach((one) => one.dispose()));
  }
}

class EventEmitter {
  #listeners = new Set();
  event = (listener, self, disposables) => {
    const bound = listener.bind(self);
    this.#listeners.add(bound);
    const registration = new Disposable(() => this.#listeners.delete(bound));
    disposables?.push(registration);
    return registration;
  };
  fire(event) {
    [...this.#listeners].forEach((listener) => listener(event));
  }
  dispose() {
    this.#listeners.clear();
  }
}

class CancellationTokenSource {
  #emitter = new EventEmitter();
  token = { isCancellationRequested: false, onCancellationRequested: this.#emitter.event };
  cancel() {
    this.token.isCancellationRequested = true;
    this.#emitter.fire();
  }
  dispose() {}
}

class Uri {
  constructor(text) {
    this.text = text;
    this.scheme = text.slice(0, text.indexOf(":"));
    this.fsPath = this.path = this.scheme === "file" ? fileURLToPath(text) : text;
  }
  static parse(text) {
    return new Uri(text);
  }
  static file(path) {
    return new Uri(pathToFileURL(path).href);
  }
  toString() {
    return this.text;
  }
}

class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
}

class Range {
  constructor(start, end, endLine, endCharacter) {
    this.start = endLine === undefined ? start : new Position(start, end);
    this.end = endLine === undefined ? end : new Position(endLine, endCharacter);
  }
}

class CodeActionKind {
  constructor(value) {
    this.value = value;
  }
  append(part) {
    return new CodeActionKind(this.value ? `${this.value}.${part}` : part);
  }
}
CodeActionKind.Empty = new CodeActionKind("");
for (const kind of ["quickfix", "refactor", "refactor.extract", "refactor.inline", "refactor.rewrite", "source"]) {
  const name = kind.split(".").map((word) => word[0].toUpperCase() + word.slice(1)).join("");
  CodeActionKind[kind === "quickfix" ? "QuickFix" : name] = new CodeActionKind(kind);
}

// record makes a class whose instances have the arguments of their constructor as members.
const record = (...names) =>
  class {
    constructor(...values) {
      names.forEach((name, i) => (this[name] = values[i]));
    }
  };

// numbers makes an enumeration.
const numbers = (...names) => Object.fromEntries(names.map((name, i) => [name, i]));

class MarkdownString {
  constructor(value = "") {
    this.value = value;
  }
  appendMarkdown(text) {
    this.value += text;
    return this;
  }
  appendCodeblock(text, language = "") {
    return this.appendMarkdown(`\n\`\`\`${language}\n${text}\n\`\`\`\n`);
  }
}

// events gives an object an emitter for each event that is asked for: fire(on, "onDidX", event) fires it.
const emitters = new Map();
const emitter = (name) => emitters.get(name) ?? emitters.set(name, new EventEmitter()).get(name);
const withEvents = (area, members) =>
  new Proxy(members, {
    get: (_, name) =>
      name in members || typeof name !== "string"
        ? members[name]
        : /^on(Did|Will)/.test(name)
          ? emitter(`${area}.${name}`).event
          : undefined,
  });

// A document is the content of an editor.
class Document {
  isClosed = false;
  isDirty = false;
  version = 1;
  constructor(fileName, languageId, text) {
    Object.assign(this, { fileName, languageId, text, uri: Uri.file(fileName) });
  }
  getText(range) {
    return range ? this.text.slice(this.offsetAt(range.start), this.offsetAt(range.end)) : this.text;
  }
  get lineCount() {
    return this.text.split("\n").length;
  }
  positionAt(offset) {
    const before = this.text.slice(0, offset).split("\n");
    return new Position(before.length - 1, before.at(-1).length);
  }
  offsetAt(position) {
    const lines = this.text.split("\n");
    return lines.slice(0, position.line).reduce((sum, line) => sum + line.length + 1, position.character);
  }
  save() {
    fs.writeFileSync(this.fileName, this.text);
    this.isDirty = false;
    emitter("workspace.onDidSaveTextDocument").fire(this);
  }
}

const documents = [];
const providers = {};
const commands = new Map();
const diagnostics = new Map();
const settings = {};
const messages = [];
const tasks = [];

const register = (kind) => (selector, provider, ...rest) => {
  (providers[kind] ??= []).push({ selector, provider, rest });
  return new Disposable(() => (providers[kind] = providers[kind].filter((entry) => entry.provider !== provider)));
};

const message = (text) => void messages.push(text);
const channel = { appendLine: () => {}, append: () => {}, show: () => {}, dispose: () => {}, clear: () => {} };
for (const level of ["trace", "debug", "info", "warn", "error"]) {
  channel[level] = (text) => level === "error" && message(text);
}
channel.onDidChangeLogLevel = new EventEmitter().event;
channel.logLevel = 3;

const vscode = {
  version: "1.91.0",
  Disposable, EventEmitter, CancellationTokenSource, Uri, Position, Range, CodeActionKind, MarkdownString,
  CancellationError: class extends Error {},
  LogLevel: numbers("Off", "Trace", "Debug", "Info", "Warning", "Error"),
  DiagnosticSeverity: numbers("Error", "Warning", "Information", "Hint"),
  DiagnosticTag: { Unnecessary: 1, Deprecated: 2 },
  SymbolTag: { Deprecated: 1 },
  SymbolKind: numbers("File", "Module", "Namespace", "Package", "Class", "Method", "Property"),
  CompletionItemTag: { Deprecated: 1 },
  CompletionItemKind: numbers("Text", "Method", "Function", "Constructor", "Field", "Variable", "Class"),
  CompletionTriggerKind: numbers("Invoke", "TriggerCharacter", "TriggerForIncompleteCompletions"),
  CodeActionTriggerKind: { Invoke: 1, Automatic: 2 },
  SignatureHelpTriggerKind: { Invoke: 1, TriggerCharacter: 2, ContentChange: 3 },
  InlineCompletionTriggerKind: numbers("Invoke", "Automatic"),
  TextDocumentSaveReason: { Manual: 1, AfterDelay: 2, FocusOut: 3 },
  TextDocumentChangeReason: { Undo: 1, Redo: 2 },
  DocumentHighlightKind: numbers("Text", "Read", "Write"),
  FileType: numbers("Unknown", "File", "Directory"),
  NotebookCellKind: { Markup: 1, Code: 2 },
  ProgressLocation: { SourceControl: 1, Window: 10, Notification: 15 },
  TaskScope: { Global: 1, Workspace: 2 },
  TaskRevealKind: { Always: 1, Silent: 2, Never: 3 },
  TaskPanelKind: { Shared: 1, Dedicated: 2, New: 3 },
  Diagnostic: record("range", "message", "severity"),
  DiagnosticRelatedInformation: record("location", "message"),
  Location: record("uri", "range"),
  TextEdit: Object.assign(record("range", "newText"), { replace: (range, newText) => ({ range, newText }) }),
  Hover: record("contents", "range"),
  SnippetString: record("value"),
  CompletionItem: record("label", "kind"),
  CompletionList: record("items", "isIncomplete"),
  SignatureHelp: record(), SignatureInformation: record("label", "documentation"),
  ParameterInformation: record("label", "documentation"),
  CodeAction: record("title", "kind"), CodeLens: record("range", "command"),
  DocumentSymbol: record("name", "detail", "kind", "range", "selectionRange"),
  SymbolInformation: record("name", "kind", "containerName", "location"),
  FoldingRange: record("start", "end", "kind"), SelectionRange: record("range", "parent"),
  InlayHint: record("position", "label", "kind"), InlayHintLabelPart: record("value"),
  SemanticTokens: record("data", "resultId"), SemanticTokensLegend: record("tokenTypes", "tokenModifiers"),
  SemanticTokensEdits: record("edits", "resultId"), SemanticTokensEdit: record("start", "deleteCount", "data"),
  CallHierarchyItem: record(), TypeHierarchyItem: record(), DocumentLink: record("range", "target"),
  LinkedEditingRanges: record("ranges", "wordPattern"), RelativePattern: record("baseUri", "pattern"),
  ProcessExecution: record("process", "args", "options"),
  Task: record("definition", "scope", "name", "source", "execution"),
  TabInputText: record("uri"), TabInputTextDiff: record(), TabInputCustom: record(), TabInputNotebook: record(),
  WorkspaceEdit: class {
    changes = new Map();
    set(uri, edits) {
      this.changes.set(uri.toString(), edits);
    }
  },
  env: { appName: "test", language: "en", openExternal: () => true },
  commands: {
    registerCommand(name, run) {
      if (commands.has(name)) {
        throw new Error(`command '${name}' already exists`);
      }
      commands.set(name, run);
      return new Disposable(() => commands.delete(name));
    },
    executeCommand: (name, ...args) => commands.get(name)?.(...args),
  },
  tasks: { executeTask: (task) => void tasks.push(task) },
  window: withEvents("window", {
    visibleTextEditors: [],
    tabGroups: withEvents("tabGroups", { all: [] }),
    createOutputChannel: () => channel,
    showErrorMessage: message, showWarningMessage: message, showInformationMessage: message,
    showInputBox: (options) => options.value,
    withProgress: (_, run) => run({ report: () => {} }, new CancellationTokenSource().token),
  }),
  workspace: withEvents("workspace", {
    textDocuments: documents, notebookDocuments: [], workspaceFolders: [], isTrusted: true,
    fs: {},
    getConfiguration: (section) => ({
      get: (name, fallback) => settings[section ? `${section}.${name}` : name] ?? fallback,
      inspect: () => undefined,
      has: () => false,
    }),
    getWorkspaceFolder: () => vscode.workspace.workspaceFolders[0],
    createFileSystemWatcher: () => withEvents("watcher", { dispose: () => {} }),
    registerTextDocumentContentProvider: () => new Disposable(),
    applyEdit: () => true,
  }),
  languages: {
    match: (selector, document) =>
      Number([selector].flat().some((filter) =>
        (!filter.scheme || filter.scheme === document.uri.scheme) &&
        (!filter.language || filter.language === document.languageId) &&
        (!filter.pattern || document.fileName.endsWith(".hcl")))),
    createDiagnosticCollection: () => ({
      set: (uri, list) => diagnostics.set(uri.toString(), list),
      delete: (uri) => diagnostics.delete(uri.toString()),
      get: (uri) => diagnostics.get(uri.toString()),
      has: (uri) => diagnostics.has(uri.toString()),
      clear: () => diagnostics.clear(),
      forEach: (visit) => diagnostics.forEach((list, uri) => visit(Uri.parse(uri), list)),
      dispose: () => {},
    }),
    setTextDocumentLanguage(document, languageId) {
      emitter("workspace.onDidCloseTextDocument").fire(document);
      document.languageId = languageId;
      emitter("workspace.onDidOpenTextDocument").fire(document);
      return document;
    },
  },
};
vscode.languages = new Proxy(vscode.languages, {
  get: (target, name) => target[name] ?? (String(name).startsWith("register") ? register(name.slice(8)) : undefined),
});

// editor is what a person does: open, type, save, and ask.
const editor = {
  settings, diagnostics, providers, commands, messages, tasks,
  open(fileName, languageId = "plaintext") {
    const document = new Document(fileName, languageId, fs.readFileSync(fileName, "utf8"));
    documents.push(document);
    emitter("workspace.onDidOpenTextDocument").fire(document);
    return document;
  },
  // type replaces a text that occurs once.
  type(document, old, text) {
    const at = document.text.indexOf(old);
    if (at < 0) {
      throw new Error(`${document.fileName} does not contain ${old}`);
    }
    const range = new Range(document.positionAt(at), document.positionAt(at + old.length));
    document.text = document.text.slice(0, at) + text + document.text.slice(at + old.length);
    document.version++;
    document.isDirty = true;
    const contentChanges = [{ range, rangeOffset: at, rangeLength: old.length, text }];
    emitter("workspace.onDidChangeTextDocument").fire({ document, contentChanges });
  },
  // apply makes the edits of a provider.
  apply(document, edits) {
    const offsets = edits.map((edit) => [document.offsetAt(edit.range.start), document.offsetAt(edit.range.end), edit.newText]);
    for (const [from, to, text] of offsets.sort((a, b) => b[0] - a[0])) {
      document.text = document.text.slice(0, from) + text + document.text.slice(to);
    }
  },
  // ask calls a provider as VS Code does.
  ask(kind, method, document, ...args) {
    const entry = (providers[kind] ?? []).find(({ selector }) => vscode.languages.match(selector, document));
    return entry?.provider[method](document, ...args, new CancellationTokenSource().token, { triggerKind: 0 });
  },
};

module.exports = { vscode, editor };
