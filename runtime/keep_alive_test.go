package runtime

import "testing"

// A tool that computes its result from its inputs needs no keep-alives; any that may wait does.
func TestToolsThatMayWaitAreKnown(t *testing.T) {
	h := newHost(t, `
tool "computed" {
	description = "A tool."
	input "x" { type = string }
	text = "${input.x}"
}
tool "step" {
	description = "A tool."
	step "s" { 
		fake { value = 1 }
	}
	text = "done"
}
tool "limited" {
	description = "A tool."
	limit { rate = "10/m" }
	text = "done"
}
tool "file" {
	description = "A tool."
	input "f" { type = file }
	text = "${input.f.filename}"
}
tool "approved" {
	description = "A tool."
	approval { by = "operator" }
	fake { value = 1 }
}
`)
	for name, want := range map[string]bool{"computed": false, "step": true, "limited": true, "file": true, "approved": true} {
		p, ok := h.Current().Program(name)
		if !ok {
			t.Fatal(name)
		}
		if got := p.MayWait(); got != want {
			t.Errorf("%s may wait: %v", name, got)
		}
	}
}
