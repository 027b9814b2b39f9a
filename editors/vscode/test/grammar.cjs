// grammar.cjs GRAMMAR FILE FOLDER: reads *.hcl files with the engine of VS Code and the grammar. The program prints, as
// JSON, the scopes of the first of each word of FILE; and the places below FOLDER where a file does not end outside of
// everything, or where the ${ of a template has no scope of its own.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const oniguruma = require("vscode-oniguruma");
const { INITIAL, Registry, parseRawGrammar } = require("vscode-textmate");

const [, , grammarFile, file, folder] = process.argv;

// loadGrammar loads the grammar. Those of the languages inside, which belong to VS Code, know words in capitals.
async function loadGrammar() {
  await oniguruma.loadWASM(fs.readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm")).buffer);
  const onigLib = {
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  };
  const inner = (scopeName) => ({ scopeName, patterns: [{ match: "\\b[A-Z]+\\b", name: `keyword.${scopeName}` }] });
  const own = parseRawGrammar(fs.readFileSync(grammarFile, "utf8"), grammarFile);
  const registry = new Registry({ onigLib, loadGrammar: async (name) => (name === own.scopeName ? own : inner(name)) });
  return registry.loadGrammar(own.scopeName);
}

// tokensOf returns the words of a file with their scopes, and whether the file ends outside of everything.
function tokensOf(grammar, name) {
  const found = [];
  let state = INITIAL;
  fs.readFileSync(name, "utf8").split("\n").forEach((line, i) => {
    const { tokens, ruleStack } = grammar.tokenizeLine(line, state);
    state = ruleStack;
    for (const { startIndex, endIndex, scopes } of tokens) {
      found.push({ line: i + 1, word: line.slice(startIndex, endIndex).trim(), scopes: scopes.slice(1) });
    }
  });
  return { found, ended: state.depth === 1 };
}

async function main() {
  const grammar = await loadGrammar();
  const scopes = {};
  for (const { word, scopes: of } of tokensOf(grammar, file).found) {
    scopes[word] ??= of.join(" ").replaceAll(".hatchel", "");
  }
  const names = fs.readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".hcl"));
  const wrong = names.flatMap((name) => {
    const { found, ended } = tokensOf(grammar, path.join(folder, name));
    const plain = found.filter(({ word, scopes: of }) => /(^|[^$])\$\{/.test(word) &&
      !of.some((scope) => /^(comment|punctuation|constant)/.test(scope)));
    return [...(ended ? [] : [name]), ...plain.map(({ line, word }) => `${name}:${line}: ${word}`)];
  });
  console.log(JSON.stringify({ ...scopes, read: names.length > 0, wrong }));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
