package hcl

import "testing"

func TestCapabilitiesAreTheCallersOwnCopy(t *testing.T) {
	Capabilities()[0] = "changed"
	if got := Capabilities()[0]; got == "changed" {
		t.Error("a caller changed the names for everybody")
	}
}
