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
)

// Constructors of fields that several blocks share.

// Choice declares an argument that takes one of several words.
func Choice(dst *string, name, doc string, among ...string) Field {
	quoted := make([]string, len(among))
	for i, word := range among {
		quoted[i] = strconv.Quote(word)
	}
	f := Attr(dst, name, doc).TypeDoc(strings.Join(quoted, " or "))
	return f.Check(func(d *Decoder, e hclsyntax.Expression) {
		if !slices.Contains(among, *dst) {
			d.Errorf(e.Range(), "Unknown choice", "%s is %s, not %q.%s", name, diag.JoinOr(quoted), *dst,
				diag.DidYouMean(*dst, among))
		}
	})
}

// BoolChoice declares an argument that takes one of two words; the second sets dst.
func BoolChoice(dst *bool, name, doc string, words ...string) Field {
	var word string
	return Choice(&word, name, doc, words...).Then(func(*Decoder, hclsyntax.Expression) { *dst = word == words[1] })
}

// RangedFloat declares a number from 0 to high, known at load.
func RangedFloat(dst **float64, name, doc string, high float64) Field {
	kind := "number from 0 to " + strconv.FormatFloat(high, 'g', -1, 64)
	if math.IsInf(high, 1) {
		kind = "number from 0"
	}
	return Attr(dst, name, doc).TypeDoc(kind).Check(func(d *Decoder, e hclsyntax.Expression) {
		if n := **dst; n < 0 || n > high {
			d.Errorf(e.Range(), "Number out of range", "%s is a %s, not %s.", name, kind,
				strconv.FormatFloat(n, 'g', -1, 64))
		}
	})
}

// PositiveInt declares a whole number that is known at load and greater than 0.
func PositiveInt(dst *int, name, doc string) Field {
	return Attr(dst, name, doc).Check(func(d *Decoder, e hclsyntax.Expression) {
		if *dst < 1 {
			d.Errorf(e.Range(), "Number out of range", "%s must be at least 1, not %d.", name, *dst)
		}
	})
}

// PositiveDuration declares a duration that is known at load and longer than zero.
func PositiveDuration(dst *time.Duration, name, doc string) Field {
	return Attr(dst, name, doc).Check(func(d *Decoder, e hclsyntax.Expression) {
		if *dst == 0 {
			d.Errorf(e.Range(), "Invalid duration", `%s must be longer than zero, as in "30s" or "5m".`, name)
		}
	})
}

// NumberExpr declares a number that is computed for every call.
func NumberExpr(dst **hclexpr.Expr, name, doc string) Field {
	return Attr(dst, name, doc).TypeDoc("number").Check(func(d *Decoder, e hclsyntax.Expression) {
		switch n := (*dst).Typed; {
		case n.NullReason != "":
			d.Errorf(e.Range(), "Value may be null",
				"%s, and %s takes a number. Guard it with a condition, or write coalesce(…, 0).",
				eval.NullSentence(n), name)
		case n.Type.Kind != schema.Number && n.Type.Kind != schema.Integer && n.Type.Kind != schema.Any:
			d.Errorf(e.Range(), "Wrong type", "%s takes a number, not %s.", name, eval.TypePhrase(n.Type))
		}
	})
}

// MessageAttr declares a non-empty message.
func MessageAttr(dst **hclexpr.TextTemplate, name, doc string) Field {
	return Attr(dst, name, doc).Check(func(d *Decoder, e hclsyntax.Expression) {
		if text, known := (*dst).Known(); known && strings.TrimSpace(text) == "" {
			d.Errorf(e.Range(), "Empty text", "%s is empty. Write a non-empty string.", name)
		}
	})
}

// StringSet declares a list of strings that is known at load. Keep reports an invalid element at r
// and returns the element to add to dst, or "" for none. Repeated elements are added once.
func StringSet(dst *[]string, name, typ, doc string, keep func(d *Decoder, r diag.Range, elem string) string) Field {
	return Custom(name, typ, doc, func(d *Decoder, e hclsyntax.Expression) {
		for i, elem := range Items[string](d, e, Field{Name: name}, "strings") {
			elem = keep(d, diag.RangeOf(ElementRange(e, i)), elem)
			if elem != "" && !slices.Contains(*dst, elem) {
				*dst = append(*dst, elem)
			}
		}
	})
}

// ElementRange returns the range of an element of a list, or of the whole expression if it is not a
// list literal.
func ElementRange(e hclsyntax.Expression, i int) hclv2.Range {
	if list, ok := e.(*hclsyntax.TupleConsExpr); ok && i < len(list.Exprs) {
		return list.Exprs[i].Range()
	}
	return e.Range()
}
