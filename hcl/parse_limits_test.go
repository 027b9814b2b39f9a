package hcl_test

import (
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	. "hatchel/hcl"
	"hatchel/hcl/diag"
)

func TestAFileWithNULIsRefusedWhereItStands(t *testing.T) {
	_, diags := Load(fstest.MapFS{"a.hcl": {Data: []byte("locals {\n  a = \"x\x00\"\n}\n")}}, all.Set().Kinds(), Options{})
	if len(diags) != 1 || diags[0].Summary != "Invalid character" || diags[0].Subject.Start != (diag.Pos{Line: 2, Column: 9, Byte: 17}) {
		t.Errorf("got %+v", diags)
	}
}
