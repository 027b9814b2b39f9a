#!/usr/bin/env node
// Runs the program for this system, which is in a package of its own.
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const platform = `${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`@hatchel/server-${platform}/hatchel`);
} catch {
  console.error(`hatchel: there is no package for ${platform}, or npm was told to leave out optional packages`);
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends SIGINT to both processes.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP", "SIGUSR1"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`hatchel: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
