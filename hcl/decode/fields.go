package decode

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// Constructors of fields that several blocks share.

// Choice declares an argument that takes one of several words.
func Choice(dst *string, name, doc string, among ...string) Field {
	quoted := make([]string, len(among))
	for i, word := range among {
		quoted[i] = strconv.Quote(word)
	}
	return Custom(name, strings.Join(quoted, " or "), doc, func(d *Decoder, e hclsyntax.Expression) {
		d.Ranges[dst] = diag.RangeOf(e.Range())
		word, ok := d.Known(e, Field{Name: name}, "string").(string)
		if !ok {
			return
		}
		if !slices.Contains(among, word) {
			d.Errorf(e.Range(), "Unknown choice", "%s is %s, not %q.%s", name, diag.JoinOr(quoted), word,
				diag.DidYouMean(word, among))
			return
		}
		*dst = word
	})
}

// BoolChoice declares an argument that takes one of two words; the second sets dst.
func BoolChoice(dst *bool, name, doc string, words ...string) Field {
	var word string
	f := Choice(&word, name, doc, words...)
	choose := f.DecodeAttr
	f.DecodeAttr = func(d *Decoder, e hclsyntax.Expression, _ Field) {
		choose(d, e, f)
		*dst = word == words[1]
	}
	return f
}

// RangedFloat declares a number from 0 to high, known at load.
func RangedFloat(dst **float64, name, doc string, high float64) Field {
	kind := "number from 0 to " + strconv.FormatFloat(high, 'g', -1, 64)
	if math.IsInf(high, 1) {
		kind = "number from 0"
	}
	return Custom(name, kind, doc, func(d *Decoder, e hclsyntax.Expression) {
		n, ok := value.Float(d.Known(e, Field{Name: name}, "number"))
		switch {
		case !ok:
		case n < 0 || n > high:
			d.Errorf(e.Range(), "Number out of range", "%s is a %s, not %s.", name, kind,
				strconv.FormatFloat(n, 'g', -1, 64))
		default:
			*dst = &n
		}
	})
}

// PositiveInt declares a whole number that is known at load and greater than 0.
func PositiveInt(dst *int, name, doc string) Field {
	f := Custom(name, "integer", doc, func(d *Decoder, e hclsyntax.Expression) {
		n, ok := d.Known(e, Field{Name: name}, "integer").(int)
		switch {
		case !ok:
		case n < 1:
			d.Errorf(e.Range(), "Number out of range", "%s must be at least 1, not %d.", name, n)
		default:
			*dst = n
		}
	})
	f.Target = dst
	return f
}

// NumberExpr declares a number that is computed for every call.
func NumberExpr(dst **hclexpr.Expr, name, doc string) Field {
	return Custom(name, "number", doc, func(d *Decoder, e hclsyntax.Expression) {
		before := len(d.Diags)
		d.DecodeComputed(dst, e, Field{Name: name})
		n := (*dst).Typed
		switch {
		case len(d.Diags) > before:
		case n.NullReason != "":
			d.Errorf(e.Range(), "Value may be null",
				"%s, and %s takes a number. Guard it with a condition, or write coalesce(…, 0).",
				eval.NullSentence(n), name)
		case n.Type.Kind != schema.Number && n.Type.Kind != schema.Integer && n.Type.Kind != schema.Any:
			d.Errorf(e.Range(), "Wrong type", "%s takes a number, not %s.", name, eval.TypePhrase(n.Type))
		}
	})
}

// MessageAttr declares a required, non-empty message.
func MessageAttr(dst **hclexpr.TextTemplate, name, doc string) Field {
	return Custom(name, "template", doc, func(d *Decoder, e hclsyntax.Expression) {
		before := len(d.Diags)
		d.DecodeComputed(dst, e, Field{Name: name})
		if text, known := (*dst).Known(); known && strings.TrimSpace(text) == "" && len(d.Diags) == before {
			d.Errorf(e.Range(), "Empty text", "%s is empty. Write a non-empty string.", name)
		}
	})
}

// PositiveDuration declares a duration that is known at load and longer than zero.
func PositiveDuration(dst *time.Duration, name, doc string) Field {
	f := Custom(name, "duration", doc, func(d *Decoder, e hclsyntax.Expression) {
		before := len(d.Diags)
		if *dst = d.Duration(e, Field{Name: name}); *dst == 0 && len(d.Diags) == before && !d.MissingValue {
			d.Errorf(e.Range(), "Invalid duration", `%s must be longer than zero, as in "30s" or "5m".`, name)
		}
	})
	f.Target = dst
	return f
}

// ElementRange returns the range of an element of a list, or of the whole expression if it is not a
// list literal.
func ElementRange(e hclsyntax.Expression, i int) hclv2.Range {
	if list, ok := e.(*hclsyntax.TupleConsExpr); ok && i < len(list.Exprs) {
		return list.Exprs[i].Range()
	}
	return e.Range()
}
