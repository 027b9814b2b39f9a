package shell

import (
	"path"
	"slices"
	"strings"

	"hatchel/adapters"
)

// traceparentVar is the variable in which programs find the trace context of their span.
const traceparentVar = "TRACEPARENT"

// startSpan begins the span of the programs of a call. They find its trace context in their environment, unless the
// author sets the variable.
func (a *action) startSpan(call *adapters.Call, p *commandPlan) adapters.Span {
	names := make([]string, len(p.stages))
	for i, argv := range p.stages {
		names[i] = path.Base(argv[0]) // a constant of the configuration
	}
	span := call.Span.Start("exec "+strings.Join(names, " | "), adapters.SpanInternal)
	span.SetText("process.executable.name", names[0])
	if own := span.Traceparent(); own != "" && p.env.Get(traceparentVar) == "" {
		p.env = slices.Clone(p.env).Set(traceparentVar, own)
	}
	return span
}
