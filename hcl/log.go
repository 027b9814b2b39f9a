package hcl

// Log sends a message to the client's log.
type Log struct {
	Level   string // as in RFC 5424: "debug" to "emergency"
	Logger  string
	Message *TextTemplate // with Data, one of the two
	Data    *Expr
}

func (l *Log) spec() Spec {
	return Join(
		Spec{
			Choice(&l.Level, "level", "How much it matters.", "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency").DefaultDoc("info"),
			Attr(&l.Logger, "logger", "The name of what logs, for clients that sort by it."),
		},
		ExactlyOneOf("what is logged",
			MessageAttr(&l.Message, "message", "A text."),
			Attr(&l.Data, "data", "A value, as in { order = input.id }.")),
	)
}

// Describe says that nothing is changed.
func (l *Log) Describe(*Connection) (Effects, error) { return noEffects, nil }
