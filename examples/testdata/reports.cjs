// Reads reports of hatchel test with the programs that others use.
//
//   reports.cjs tap      reads TAP, and prints what its parser has found as JSON
//   reports.cjs github   reads the JSON of a report, and prints its failures as the library of GitHub Actions does
"use strict";
const text = require("node:fs").readFileSync(0, "utf8");

if (process.argv[2] === "tap") {
  const { Parser } = require("tap-parser");
  const parser = new Parser((results) => {
    console.log(JSON.stringify({ ok: results.ok, count: results.count, pass: results.pass, fail: results.fail, skip: results.skip, names }));
  });
  const names = [];
  parser.on("assert", (a) => names.push(a.name + (a.skip ? " skipped: " + a.skip : "")));
  parser.end(text);
} else {
  const core = require("@actions/core");
  for (const test of JSON.parse(text).tests) {
    for (const f of test.failures) {
      const { file, start, end } = f.range;
      core.error(f.detail, {
        title: test.name + ": " + f.summary, file, startLine: start.line, endLine: end.line, startColumn: start.column,
        endColumn: end.column,
      });
    }
  }
}
