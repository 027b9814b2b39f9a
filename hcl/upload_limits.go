package hcl

import (
	"strings"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/schema"
)

// checkFileLimits reports files of an input that could never be uploaded, because the files block takes other types, or smaller ones only.
func (in *inputs) checkFileLimits(d *decode.Decoder, m *schema.Member) {
	taken := &in.operation.loader.config.Files
	m.Type.EachFile(func(t *schema.Type) {
		if !schema.MediaOverlap(taken.Types, t.MediaTypes) {
			d.Errorf(m.Range, "File never taken", "The input takes %s, and the files block takes %s alone, so no file of this input can be uploaded. Name its types in types of the files block.", strings.Join(t.MediaTypes, ", "), strings.Join(taken.Types, ", "))
		}
		if decode.Size(t.MaxSize) > taken.MaxSize {
			d.Diags.Warnf(diag.RangeOf(m.Range), "File too large", "The input takes %s, and an upload has %s at most. Write that as max_size here, or more in the files block.", decode.Size(t.MaxSize), taken.MaxSize)
		}
	})
}
