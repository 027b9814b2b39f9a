package hcl

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// Arguments that several blocks of the language have, and what must hold of each.

// choice declares an argument that is one of a few words.
func choice(dst *string, name, doc string, among ...string) Field {
	quoted := make([]string, len(among))
	for i, word := range among {
		quoted[i] = strconv.Quote(word)
	}
	return special(name, strings.Join(quoted, " or "), doc, func(d *decoder, e hclsyntax.Expression) {
		word, ok := d.known(e, Field{Name: name}, "string").(string)
		if !ok {
			return
		}
		if !slices.Contains(among, word) {
			d.errorf(e.Range(), "Unknown choice", "%s is %s, and this is %q.%s", name, oneOf(quoted), word, didYouMean(word, among))
			return
		}
		*dst = word
	})
}

// either declares an argument that is one of two words, of which the second sets dst.
func either(dst *bool, name, doc string, words ...string) Field {
	var word string
	f := choice(&word, name, doc, words...)
	choose := f.attr
	f.attr = func(d *decoder, e hclsyntax.Expression, _ Field) {
		choose(d, e, f)
		*dst = word == words[1]
	}
	return f
}

// bounded declares a number that is known at load and lies between 0 and high.
func bounded(dst **float64, name, doc string, high float64) Field {
	kind := "number from 0 to " + strconv.FormatFloat(high, 'g', -1, 64)
	if math.IsInf(high, 1) {
		kind = "number from 0"
	}
	return special(name, kind, doc, func(d *decoder, e hclsyntax.Expression) {
		n, ok := value.Float(d.known(e, Field{Name: name}, "number"))
		switch {
		case !ok:
		case n < 0 || n > high:
			d.errorf(e.Range(), "Number out of range", "%s is a %s, and this is %s.", name, kind, strconv.FormatFloat(n, 'g', -1, 64))
		default:
			*dst = &n
		}
	})
}

// positive declares a whole number that is known at load and greater than 0.
func positive(dst *int, name, doc string) Field {
	f := special(name, "integer", doc, func(d *decoder, e hclsyntax.Expression) {
		n, ok := d.known(e, Field{Name: name}, "integer").(int)
		switch {
		case !ok:
		case n < 1:
			d.errorf(e.Range(), "Number out of range", "%s is at least 1, and this is %d.", name, n)
		default:
			*dst = n
		}
	})
	f.target = dst
	return f
}

// numeric declares a number that is computed for every call.
func numeric(dst **Expr, name, doc string) Field {
	return special(name, "number", doc, func(d *decoder, e hclsyntax.Expression) {
		before := len(d.diags)
		d.computed(dst, e, Field{Name: name})
		n := (*dst).node
		switch {
		case len(d.diags) > before:
		case n.null != "":
			d.errorf(e.Range(), "Value may be null", "%s, and %s takes a number. Guard it with a condition, or write coalesce(…, 0).", reason(n), name)
		case n.typ.Kind != schema.Number && n.typ.Kind != schema.Integer && n.typ.Kind != schema.Any:
			d.errorf(e.Range(), "Wrong type", "%s takes a number, and this is %s.", name, describe(n.typ))
		}
	})
}

// said declares a text that a person or a model reads.
func said(dst **Message, name, doc string) Field {
	return special(name, "template", doc, func(d *decoder, e hclsyntax.Expression) {
		before := len(d.diags)
		d.computed(dst, e, Field{Name: name})
		if text, known := (*dst).known(); known && strings.TrimSpace(text) == "" && len(d.diags) == before {
			d.errorf(e.Range(), "Empty text", "%s is empty, and somebody reads it: write what it should say.", name)
		}
	})
}

// lasting declares a duration that is longer than none; otherwise is what an author reads of none.
func lasting(dst *time.Duration, name, doc, otherwise string) Field {
	f := special(name, "duration", doc, func(d *decoder, e hclsyntax.Expression) {
		before := len(d.diags)
		if *dst = d.duration(e, Field{Name: name}); *dst == 0 && len(d.diags) == before {
			d.errorf(e.Range(), "Invalid duration", "%s", otherwise)
		}
	})
	f.target = dst
	return f
}

// elementRange is where an element of a list stands, or the list where it is not written out.
func elementRange(e hclsyntax.Expression, i int) hclv2.Range {
	if list, ok := e.(*hclsyntax.TupleConsExpr); ok && i < len(list.Exprs) {
		return list.Exprs[i].Range()
	}
	return e.Range()
}
