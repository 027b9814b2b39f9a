// Package runtime turns a loaded configuration into a server of tools that can be replaced while it serves.
//
// [Compile] makes a [Generation] out of a configuration: every connection opened, every backend bound, every list encoded. [Host] holds
// one atomic pointer to the current Generation, serves calls from it as a [mcp.Handler], and replaces it as one transaction: a load that
// fails changes nothing, a load that succeeds is seen whole by every call that begins after it, and what it replaced is drained,
// cancelled after a grace period, and undone newest-first. Tasks, and calls that have asked their clients, are not cancelled by it: they end by themselves.
//
// A call goes from [Host.CallTool] (handler.go), which pins the generation, to [Program.Run] (program.go), which accounts for it, and in a straight line through
// Program.run: admit (routine.go: validate.go, check, authorize.go), resume, memo.go, once.go, approve.go, limit.go, intend (audit.go), the steps (step.go, in which
// an adapter's Do is called), shape.go. reply.go encodes what it came to, failure.go what went wrong. Every stage is a line there; there are no others.
//
// What must be known longer than a call takes is in a [State], which outlives generations and, with a file behind it, the process: what a client is asked while
// no request of its is under way, so that no step ever runs twice, and tasks, which go on after the first answer to a call.
package runtime
