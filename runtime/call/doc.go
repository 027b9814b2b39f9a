// Package call turns one request into its outcome: a tool call, a prompt, a resource or a
// completion.
//
// [Program.Run] records, recovers and reports one call of a tool; its stages are the lines of
// Program.run, in order. The package declares what it needs of the server in [Environment] and
// never imports the package that composes it.
package call
