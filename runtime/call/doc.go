// Package call turns one request into its outcome: a tool call, a prompt, a resource or a
// completion.
//
// The engine of a call has its state and gives each stage the values that it needs; no stage knows
// the engine. The order of the stages is engine.runTool. The package declares what it needs of the
// server in [Environment] and never imports the package that composes it.
package call
