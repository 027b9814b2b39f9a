package hcl

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/eval/hclexpr"
)

// Check is a check or an expect block: a condition, and the message when it is false.
type Check struct {
	That    *Condition
	Message *TextTemplate
	Range   Range
}

func checkSpec(c *Check) decode.Spec {
	return decode.Spec{
		decode.Attr(&c.That, "that", "The condition to check.").Require(),
		decode.Attr(&c.Message, "message",
			"The error message when the condition is false, for a message that depends on the call."),
	}
}

// expectField declares expect blocks.
func expectField(dst *[]*Check) decode.Field {
	return checkBlocks(dst, "expect", "A condition on the output. If it is false, the call fails. In a block with "+
		"exec it is checked before the commit, and a failure rolls back.")
}

// checkBlocks declares check or expect blocks. What follows a check relies on its condition.
func checkBlocks(dst *[]*Check, name, doc string) decode.Field {
	return decode.Blocks(name, "message", doc, func() decode.Spec { return checkSpec(&Check{}) },
		func(d *decode.Decoder, b *hclsyntax.Block) {
			check := decodeCheck(d, b)
			*dst = append(*dst, check)
			d.NonNull = d.NonNull.Add(check.That.NonNullWhenTrue())
		})
}

// decodeCheck decodes a check or expect block, whose message is its label or an argument.
func decodeCheck(d *decode.Decoder, b *hclsyntax.Block) *Check {
	c := &Check{Range: headerRange(b)}
	spec := checkSpec(c)
	if b.Type == "check" { // all failing checks are reported, so a message cannot rely on the others
		spec[0] = spec[0].Then(func(d *decode.Decoder, _ Range) { d.NonNull = nil })
	}
	d.Body(b, spec)
	switch {
	case len(b.Labels) > 1:
		d.Errorf(b.LabelRanges[1], "Wrong number of labels", "A %s block has one label, its message.", b.Type)
	case len(b.Labels) == 1 && c.Message != nil:
		d.Errorf(b.LabelRanges[0], "Two messages",
			"Set the message in the label or in the argument `message`, not in both.")
	case len(b.Labels) == 1:
		c.Message = hclexpr.LiteralTemplate(b.Labels[0], labelRange(b))
	case c.Message == nil:
		d.Errorf(b.DefRange(), "Missing message",
			"A %s block needs an error message for the caller: `%s \"the order is not paid\" {`.", b.Type, b.Type)
	}
	return c
}
