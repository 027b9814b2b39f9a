package decode

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/schema"
	"hatchel/internal/charset"
)

// Constructors of fields that several blocks share.

// Choice declares an argument that takes one of several words.
func Choice(dst *string, name, doc string, among ...string) Field {
	quoted := make([]string, len(among))
	for i, word := range among {
		quoted[i] = strconv.Quote(word)
	}
	f := Attr(dst, name, doc).TypeDoc(strings.Join(quoted, " or "))
	return f.Check(func(d *Decoder, r diag.Range) {
		if !slices.Contains(among, *dst) {
			d.Diags.Errorf(r, "Unknown choice", "%s is %s, not %q.%s", name, diag.JoinOr(quoted), *dst,
				diag.DidYouMean(*dst, among))
		}
	})
}

// Encoding declares the argument encoding, which takes the name of the encoding of a text.
func Encoding(dst *string, doc string) Field {
	f := Attr(dst, "encoding", doc+` A byte order mark precedes. Names are those of the WHATWG Encoding Standard and `+
		`of the IANA registry, such as "windows-1252", "utf-16" or "shift_jis".`).TypeDoc("name of an encoding")
	return f.DefaultDoc(`"utf-8"`).Check(func(d *Decoder, r diag.Range) {
		if _, known := charset.Find(*dst); !known {
			d.Diags.Errorf(r, "Unknown encoding", "There is no encoding %q.%s", *dst,
				diag.SuggestOr(strings.ToLower(*dst), charset.Names, " Write one of the WHATWG Encoding Standard or "+
					`of the IANA registry, such as "windows-1252", "iso-8859-15", "utf-16" or "shift_jis".`))
		}
	})
}

// BoolChoice declares an argument that takes one of two words; the second sets dst.
func BoolChoice(dst *bool, name, doc string, words ...string) Field {
	var word string
	return Choice(&word, name, doc, words...).Then(func(*Decoder, diag.Range) { *dst = word == words[1] })
}

// RangedFloat declares a number from 0 to high, known at load.
func RangedFloat(dst **float64, name, doc string, high float64) Field {
	kind := "number from 0 to " + strconv.FormatFloat(high, 'g', -1, 64)
	if math.IsInf(high, 1) {
		kind = "number from 0"
	}
	return Attr(dst, name, doc).TypeDoc(kind).Check(func(d *Decoder, r diag.Range) {
		if n := **dst; n < 0 || n > high {
			d.Diags.Errorf(r, "Number out of range", "%s is a %s, not %s.", name, kind,
				strconv.FormatFloat(n, 'g', -1, 64))
		}
	})
}

// PositiveInt declares a whole number that is known at load and greater than 0.
func PositiveInt(dst *int, name, doc string) Field {
	return Attr(dst, name, doc).Check(func(d *Decoder, r diag.Range) {
		if *dst < 1 {
			d.Diags.Errorf(r, "Number out of range", "%s must be at least 1, not %d.", name, *dst)
		}
	})
}

// PositiveDuration declares a duration that is known at load and longer than zero.
func PositiveDuration(dst *time.Duration, name, doc string) Field {
	return Attr(dst, name, doc).Check(func(d *Decoder, r diag.Range) {
		if *dst == 0 {
			d.Diags.Errorf(r, "Invalid duration", `%s must be longer than zero, as in "30s" or "5m".`, name)
		}
	})
}

// NumberExpr declares a number that is computed for every call.
func NumberExpr(dst **hclexpr.Expr, name, doc string) Field {
	return Attr(dst, name, doc).TypeDoc("number").Check(func(d *Decoder, r diag.Range) {
		switch n := (*dst).Typed; {
		case n.NullReason != "":
			d.Diags.Errorf(r, "Value may be null",
				"%s, and %s takes a number. Guard it with a condition, or write coalesce(…, 0).",
				eval.NullSentence(n), name)
		case n.Type.Kind != schema.Number && n.Type.Kind != schema.Integer && n.Type.Kind != schema.Any:
			d.Diags.Errorf(r, "Wrong type", "%s takes a number, not %s.", name, eval.TypePhrase(n.Type))
		}
	})
}

// MessageAttr declares a non-empty message.
func MessageAttr(dst **hclexpr.TextTemplate, name, doc string) Field {
	return Attr(dst, name, doc).Check(func(d *Decoder, r diag.Range) {
		if text, known := (*dst).Known(); known && strings.TrimSpace(text) == "" {
			d.Diags.Errorf(r, "Empty text", "%s is empty. Write a non-empty string.", name)
		}
	})
}
