package hcl

import (
	"hatchel/hcl/decode"
	"hatchel/hcl/eval/hclexpr"
)

// Log sends a message to the client's log.
type Log struct {
	Level   string // as in RFC 5424: "debug" to "emergency"
	Logger  string
	Message *hclexpr.TextTemplate // with Data, one of the two
	Data    *hclexpr.Expr
}

func (l *Log) spec() decode.Spec {
	return decode.Join(
		decode.Spec{
			decode.Choice(&l.Level, "level", "How much it matters.", "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency").DefaultDoc("info"),
			decode.Attr(&l.Logger, "logger", "The name of what logs, for clients that sort by it."),
		},
		decode.ExactlyOneOf("what is logged",
			decode.MessageAttr(&l.Message, "message", "A text."),
			decode.Attr(&l.Data, "data", "A value, as in { order = input.id }.")),
	)
}

// Describe says that nothing is changed.
func (l *Log) Describe(*Connection) (Effects, error) { return noEffects, nil }
