package result

import (
	"strings"
	"testing"

	"hatchel/hcl"
	"hatchel/hcl/value"
)

func TestBytesInAResultAreNamed(t *testing.T) {
	for name, v := range map[string]any{"alone": value.Bytes("\xff"), "in a list": []any{value.Bytes("\xff")}} {
		err := (&Shaper{Writer: new(Writer), tool: new(hcl.Tool)}).Encode(&Result{Buffers: new(Buffers), HasValue: true, Value: v}, nil)
		if err == nil || !strings.Contains(err.Error(), "encode them with base64encode") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
