package hcl

import (
	"hatchel/hcl/decode"
	"hatchel/hcl/eval/hclexpr"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Annotations say for whom a piece of content is and how much it matters.
type Annotations struct {
	Audience     []string            // "user", "assistant"
	Priority     *float64            // from 0 to 1
	LastModified *hclexpr.StringExpr // a time as in RFC 3339
}

func annotationsField(dst **Annotations) decode.Field {
	return decode.Block(dst, "annotations", "For whom it is and how much it matters.", (*Annotations).spec)
}

func (a *Annotations) spec() decode.Spec {
	return decode.Spec{
		decode.Custom("audience", "list of strings", `For whom it is: "user", "assistant" or both.`, a.decodeAudience),
		decode.RangedFloat(&a.Priority, "priority", "How much it matters: 1 is needed, 0 may be left out.", 1),
		decode.Custom("last_modified", "template", `When it last changed, as in "2026-01-31T15:04:05Z".`, a.decodeLastModified),
	}
}

var roles = []string{"user", "assistant"}

func (a *Annotations) decodeAudience(d *decode.Decoder, e hclsyntax.Expression) {
	a.Audience = decode.Items[string](d, e, decode.Field{Name: "audience"}, "strings")
	for i, who := range a.Audience {
		if !slices.Contains(roles, who) {
			d.Errorf(decode.ElementRange(e, i), "Unknown choice", "audience holds \"user\" and \"assistant\", and not %q.", who)
		}
	}
}

func (a *Annotations) decodeLastModified(d *decode.Decoder, e hclsyntax.Expression) {
	d.DecodeComputed(&a.LastModified, e, decode.Field{Name: "last_modified"})
	text, known := a.LastModified.Known()
	if _, err := time.Parse(time.RFC3339, text); known && err != nil {
		d.Errorf(e.Range(), "Invalid time", "last_modified is a date and time with its offset like \"2026-01-31T15:04:05Z\", and this is %q.", text)
	}
}
