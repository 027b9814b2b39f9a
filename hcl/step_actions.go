package hcl

import (
	"fmt"
	"math"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/value"
)

// Progress tells the client how far the call is.
type Progress struct {
	Done    *hclexpr.Expr // a number
	Total   *hclexpr.Expr // a number, nil when unknown
	Message *hclexpr.TextTemplate
}

func (p *Progress) spec() decode.Spec {
	return decode.Spec{
		decode.NumberExpr(&p.Done, "done", "How much is done. It must grow from one to the next.").Require(),
		decode.NumberExpr(&p.Total, "total", "How much there is to do, when that is known."),
		decode.MessageAttr(&p.Message, "message", "What is being done, for a person to read."),
	}
}

// Describe says that nothing is changed.
func (p *Progress) Describe(*Connection) (Effects, error) { return noEffects, nil }

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

// Wait does nothing for a while: one of the first two says for how long.
type Wait struct {
	For     time.Duration
	Seconds *hclexpr.Expr // a number that is known only in the call
	Detach  bool          // the connection of a client that can come back for its answer is let go meanwhile
}

func (w *Wait) spec() decode.Spec {
	constant := decode.PositiveDuration(&w.For, "for", "How long to wait.")
	inner := constant.DecodeAttr
	constant.DecodeAttr = func(d *decode.Decoder, e hclsyntax.Expression, f decode.Field) {
		before := len(d.Diags)
		inner(d, e, f)
		d.Diags[before:].ReplaceDetails(map[string]string{
			"Value not available here": "for is known when the file is loaded. A wait that depends on the call is written seconds = …, a number.",
		})
	}
	return decode.Join(
		decode.ExactlyOneOf("how long to wait",
			constant,
			decode.NumberExpr(&w.Seconds, "seconds", "How many seconds to wait, where that depends on the call, as in seconds = input.seconds.")),
		decode.Spec{decode.Attr(&w.Detach, "detach", "Whether the connection of the client is let go meanwhile, where it can come back for its answer.").DefaultDoc("false")},
	)
}

// Describe says that nothing is changed.
func (w *Wait) Describe(*Connection) (Effects, error) { return noEffects, nil }

// Duration is how long a call waits. Its error is a sentence for the model.
func (w *Wait) Duration(f *eval.Frame) (time.Duration, error) {
	if w.Seconds == nil {
		return w.For, nil
	}
	v, err := w.Seconds.Eval(f)
	if err != nil {
		return 0, err
	}
	n, ok := value.Float(v)
	switch {
	case !ok:
		return 0, fmt.Errorf("the seconds to wait must be a number, got %s", value.Kind(v))
	case n < 0:
		return 0, fmt.Errorf("the seconds to wait must not be negative")
	case n > math.MaxInt64/float64(2*time.Second):
		return math.MaxInt64, nil // longer than any call
	}
	return time.Duration(n * float64(time.Second)), nil
}

// Fail ends the call as one that failed, in words for the model.
type Fail struct{ Message *hclexpr.TextTemplate }

func (f *Fail) spec() decode.Spec {
	return decode.Spec{decode.MessageAttr(&f.Message, "message", "What the model is told: what is wrong, and what to do.").Require()}
}

// Describe says that nothing is changed.
func (f *Fail) Describe(*Connection) (Effects, error) { return noEffects, nil }

// ProtocolFault ends the request with an error of the protocol.
type ProtocolFault struct {
	Code    int
	Message *hclexpr.TextTemplate
	Data    *hclexpr.Expr // nil for none
}

// Codes of JSON-RPC that a request itself may earn; the others of its range belong to the protocol.
const (
	invalidParams = -32602
	internalError = -32603

	minReservedCode = -32768
	maxReservedCode = -32000
)

func (f *ProtocolFault) spec() decode.Spec {
	return decode.Spec{
		decode.Custom("code", "integer", "The code of the error. Codes of your own are outside of -32768 to -32000.", f.decodeCode).DefaultDoc("-32602"),
		decode.MessageAttr(&f.Message, "message", "What is wrong with the request, in one sentence.").Require(),
		decode.Attr(&f.Data, "data", "A value that is sent beside the message."),
	}
}

func (f *ProtocolFault) decodeCode(d *decode.Decoder, e hclsyntax.Expression) {
	code, ok := d.Known(e, decode.Field{Name: "code"}, "integer").(int)
	if !ok {
		return
	}
	if code >= minReservedCode && code <= maxReservedCode && code != invalidParams && code != internalError {
		d.Errorf(e.Range(), "Reserved error code", "The codes from %d to %d belong to the protocol, which uses them for errors of its own. Write %d for a request that is wrong, %d for a server that failed, or a code of your own such as 1001.", minReservedCode, maxReservedCode, invalidParams, internalError)
		return
	}
	f.Code = code
}

// Describe says that nothing is changed.
func (f *ProtocolFault) Describe(*Connection) (Effects, error) { return noEffects, nil }
