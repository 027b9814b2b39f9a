package hcl_test

import (
	"testing"

	. "hatchel/hcl"
)

func TestCapabilitiesAreTheCallersOwnCopy(t *testing.T) {
	Capabilities()[0] = "changed"
	if got := Capabilities()[0]; got == "changed" {
		t.Error("a caller changed the names for everybody")
	}
}
