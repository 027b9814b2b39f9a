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

// Wait does nothing for a while: one of the first two says for how long.
type Wait struct {
	For     time.Duration
	Seconds *hclexpr.Expr // a number that is known only in the call
	Detach  bool          // the connection of a client that can come back for its answer is let go meanwhile
}

func (w *Wait) spec() decode.Spec {
	constant := decode.PositiveDuration(&w.For, "for", "How long to wait.", "A wait for no time is none. Write for how long, as in \"500ms\", or leave the step out.")
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
