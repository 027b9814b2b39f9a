// Package runtime turns a loaded configuration into a server of tools that can be replaced while it serves.
//
// [Compile] makes a [Generation] out of a configuration: every connection opened, every backend bound, every list encoded. [Host] holds
// one atomic pointer to the current Generation, serves calls from it as a [mcp.Handler], and replaces it as one transaction: a load that
// fails changes nothing, a load that succeeds is seen whole by every call that begins after it, and what it replaced is drained,
// cancelled after a grace period, and undone newest-first. Tasks, and calls that have asked their clients, are not cancelled by it: they end by themselves.
//
// A call goes from [Host.CallTool] (handler.go), which pins the generation, to [Program.Run] (program.go), which accounts for it, and in a straight line through
// Program.run, in which every stage is a line. There are no others:
//
//	admit       routine.go    validate.go: are these its inputs, and do its checks hold; attach.go: its files are there, as fileset.go gives them; authorize.go: it is allowed
//	resume      pause.go      it goes on where it paused to ask its client
//	demand      consent.go    must somebody agree to it; approvalrule.go: what says so
//	remembered  answers.go    the answer is kept, or another call is about to have it
//	once        once.go       it has a key, and is carried out once; deed.go: what is remembered of that
//	agree       approve.go    somebody does: confirm.go asks the user of the client, patience.go waits for an operator, reviewer.go is what they are shown; overtake.go ends what a reload leaves behind
//	enter       limit.go      it has its place, and pace.go its turn
//	approved    approve.go    the approval is used up
//	intend      audit.go      that it begins is written down
//	work        routine.go    step.go, in which an adapter's Do is called
//	shape       shape.go      what it answers
//
// reply.go encodes what it came to, failure.go what went wrong. A call that goes on as a task, now or when it has to wait, does so in segment.go.
//
// What must be known longer than a call takes is in a [State], which outlives generations and, with a file behind it, the process: what a client is asked while
// no request of its is under way, so that no step ever runs twice, and tasks, which go on after the first answer to a call.
package runtime
