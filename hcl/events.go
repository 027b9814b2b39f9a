package hcl

import (
	"hatchel/hcl/decode"
)

// Events is the events block: who may follow the events of the server, and what the events contain.
type Events struct {
	Allow     *Condition // over caller (the listener) and tool; nil for operators
	Arguments bool       // the events of calls have the redacted arguments
	Results   bool       // the events of calls have the beginning of the results
	Range     Range
}

func (e *Events) spec() decode.Spec {
	arguments, results := "", ""
	e.Arguments = true
	return decode.Spec{
		decode.Attr(&e.Allow, "allow", "Who may follow the events of other callers and of the server: an expression "+
			"over caller (the listener) and tool, as in \"'ops' in caller.groups\". The texts in tool are empty for "+
			"an event that is not about a tool, prompt or resource. By default the group admin may, and without auth "+
			"the programs of this machine. Every caller may follow their own calls."),
		decode.Choice(&arguments, "arguments", `"redacted": events have the arguments of calls, without sensitive `+
			`values and secrets, as records of the audit log. "none": events have no arguments.`, "redacted", "none").
			DefaultDoc(`"redacted"`).Then(func(*decode.Decoder, Range) { e.Arguments = arguments == "redacted" }),
		decode.Choice(&results, "results", `"none": events have no results. "redacted": events have up to 4 KiB of `+
			`the text of a result, without sensitive values and secrets.`, "none", "redacted").
			DefaultDoc(`"none"`).Then(func(*decode.Decoder, Range) { e.Results = results == "redacted" }),
	}
}

// decodeEvents decodes the events block.
func (l *loader) decodeEvents() {
	l.onlyBlock("events", func(d *decode.Decoder, b sourceBlock) {
		e := &Events{Range: headerRange(b.Block)}
		d.Scope = l.call.With("tool", toolRoot())
		d.Body(b.Block, e.spec())
		l.config.Events = e
	})
}
