package hcl

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// Progress is the progress block: it sends a progress notification.
type Progress struct {
	Done    *Expr // a number
	Total   *Expr // a number, nil when unknown
	Message *TextTemplate
}

func (p *Progress) spec() decode.Spec {
	return decode.Spec{
		decode.NumberExpr(&p.Done, "done",
			"The progress so far. It must increase from one notification to the next.").Require(),
		decode.NumberExpr(&p.Total, "total", "The total, if it is known."),
		decode.MessageAttr(&p.Message, "message", "A description of the current activity."),
	}
}

// Describe implements Describer: no effects.
func (p *Progress) Describe(*Connection) (Effects, error) { return noEffects, nil }

// Log sends a message to the client's log.
type Log struct {
	Level   string // as in RFC 5424: "debug" to "emergency"
	Logger  string
	Message *TextTemplate // with Data, one of the two
	Data    *Expr
}

func (l *Log) spec() decode.Spec {
	l.Level = "info"
	return decode.Join(
		decode.Spec{
			decode.Choice(&l.Level, "level", "The severity.", "debug", "info", "notice", "warning", "error",
				"critical", "alert", "emergency").DefaultDoc("info"),
			decode.Attr(&l.Logger, "logger", "The name of the logger."),
		},
		decode.ExactlyOneOf("the message",
			decode.MessageAttr(&l.Message, "message", "A text."),
			decode.Attr(&l.Data, "data", "Structured data, as in { order = input.id }.")),
	)
}

// Describe implements Describer: no effects.
func (l *Log) Describe(*Connection) (Effects, error) { return noEffects, nil }

// Wait is the wait block; one of For and Seconds is set.
type Wait struct {
	For     time.Duration
	Seconds *Expr // a number, computed for the call
	Detach  bool  // closes the connection of a client that can resume it
}

func (w *Wait) spec() decode.Spec {
	constant := decode.PositiveDuration(&w.For, "for", "The duration of the wait.").Unavailable(
		"for must be known at load. For a wait that depends on the call, write seconds = …, a number.")
	return decode.Join(
		decode.ExactlyOneOf("the duration",
			constant,
			decode.NumberExpr(&w.Seconds, "seconds",
				"The duration in seconds, if it depends on the call, as in seconds = input.seconds.")),
		decode.Spec{decode.Attr(&w.Detach, "detach",
			"Whether to close the client's connection meanwhile, if the client can resume it.").DefaultDoc("false")},
	)
}

// Describe implements Describer: no effects.
func (w *Wait) Describe(*Connection) (Effects, error) { return noEffects, nil }

// Duration returns how long a call waits. Its error is for the model.
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

// Fail is the fail block: it ends the call as failed, with a message for the model.
type Fail struct{ Message *TextTemplate }

func (f *Fail) spec() decode.Spec {
	return decode.Spec{decode.MessageAttr(&f.Message, "message",
		"The message for the model: what is wrong, and what to do.").Require()}
}

// Describe implements Describer: no effects.
func (f *Fail) Describe(*Connection) (Effects, error) { return noEffects, nil }

// ProtocolFault is the fault block: it ends the request with a protocol error.
type ProtocolFault struct {
	Code    int
	Message *TextTemplate
	Data    *Expr // nil for none
}

// JSON-RPC error codes that a fault may use; the others of the range are reserved.
const (
	invalidParams = -32602
	internalError = -32603

	minReservedCode = -32768
	maxReservedCode = -32000
)

func (f *ProtocolFault) spec() decode.Spec {
	f.Code = invalidParams
	return decode.Spec{
		decode.Attr(&f.Code, "code",
			"The error code. Custom codes are outside of -32768 to -32000.").DefaultDoc("-32602").Check(f.checkCode),
		decode.MessageAttr(&f.Message, "message", "The error message: what is wrong with the request.").Require(),
		decode.Attr(&f.Data, "data", "Additional data of the error."),
	}
}

func (f *ProtocolFault) checkCode(d *decode.Decoder, r Range) {
	if c := f.Code; c >= minReservedCode && c <= maxReservedCode && c != invalidParams && c != internalError {
		d.Diags.Errorf(r, "Reserved error code",
			"The codes from %d to %d are reserved by the protocol. Write %d for an invalid request, %d for "+
				"a server error, or a custom code such as 1001.", minReservedCode, maxReservedCode, invalidParams,
			internalError)
	}
}

// Describe implements Describer: no effects.
func (f *ProtocolFault) Describe(*Connection) (Effects, error) { return noEffects, nil }

// stepBlock is a step block of the language itself. It is decoded like a backend, without an
// adapter.
type stepBlock struct {
	Name, Doc string
	New       func() (Describer, decode.Spec)
	allowed   []string // arguments of the step that may accompany it
	endsCall  bool     // it ends every call
}

var (
	allowedWithAction = []string{"when", "each", "parallel"}
	allowedWithEnd    = []string{"when"}
	allowedWithAsk    = []string{"when", "on_error", "expect"}
)

var stepBlocks = []stepBlock{
	{"progress", "Sends a progress notification to clients that requested it. Used in a step, which then has no " +
		"result.", newAction[Progress], allowedWithAction, false},
	{"log", "Sends a log message to clients that enabled its level. Used in a step, which then has no result.",
		newAction[Log], allowedWithAction, false},
	{"wait", "Waits. Used in a step, which then has no result.", newAction[Wait], allowedWithAction, false},
	{"fail", "Ends the call as failed, with a message for the model. Used in a step, usually with a `when`; later " +
		"steps can rely on its condition being false.", newAction[Fail], allowedWithEnd, true},
	{"fault", "Ends the request with a protocol error, for a request that is itself invalid; the model does not see " +
		"it. Used in a step, usually with a `when`.", newAction[ProtocolFault], allowedWithEnd, true},
}

// newAction returns a new configuration of a step block and its spec.
func newAction[T any, P interface {
	*T
	Describer
	spec() decode.Spec
}]() (Describer, decode.Spec) {
	p := P(new(T))
	return p, p.spec()
}

func findStepBlock(name string) (stepBlock, bool) {
	for _, a := range stepBlocks {
		if a.Name == name {
			return a, true
		}
	}
	return stepBlock{}, false
}

// StepBlocks returns the names of the blocks that are a step of the language itself.
func StepBlocks() []string { return stepBlockNames() }

func stepBlockNames() (names []string) {
	for _, a := range stepBlocks {
		names = append(names, a.Name)
	}
	return names
}

// isStepBlock reports whether a block belongs to steps only and is not a backend of an adapter.
func isStepBlock(name string) bool {
	_, ok := findStepBlock(name)
	return ok || name == "ask"
}

// stepBlockSpecs accept the step blocks of the language in a body; their contents are checked by
// their decoders.
func stepBlockSpecs() (spec decode.Spec) {
	ignore := func(*decode.Decoder, *hclsyntax.Block) {}
	for _, a := range stepBlocks {
		spec = append(spec, decode.Blocks(a.Name, "", "", nil, ignore))
	}
	return append(spec, decode.Blocks("ask", "name", "", nil, ignore))
}

// noEffects are the effects of a block that changes nothing and has no output.
var noEffects = Effects{Output: &schema.Type{Kind: schema.Null}, ReadOnly: true, Idempotent: true}

// hasResult reports whether a step has a result that can be read.
func (b *Backend) hasResult() bool { return b.Effects.Output.Kind != schema.Null }

// endsCall reports whether the block ends the call.
func (b *Backend) endsCall() bool {
	a, own := findStepBlock(b.Kind)
	return own && a.endsCall
}

// checkMetaArguments reports arguments of a step that do not apply to its kind of block.
func (w *operationDecoder) checkMetaArguments(b *hclsyntax.Block, kind string, may []string) {
	for _, name := range []string{"each", "parallel", "on_error"} {
		if a := b.Body.Attributes[name]; a != nil && !slices.Contains(may, name) {
			w.dec.Errorf(a.NameRange, "Does not apply here", "A step with %s takes %s, not %s.", kind,
				strings.Join(may, ", "), name)
		}
	}
	for _, nested := range b.Body.Blocks {
		if name := nested.Type; (name == "repeat" || name == "expect") && !slices.Contains(may, name) {
			w.dec.Errorf(nested.TypeRange, "Does not apply here", "A step with %s takes %s, not %s.", kind,
				strings.Join(may, ", "), name)
		}
	}
}
