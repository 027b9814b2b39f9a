package hcl

import (
	"testing"
	"testing/fstest"
)

func TestAFileWithNULIsRefusedWhereItStands(t *testing.T) {
	_, diags := Load(fstest.MapFS{"a.hcl": {Data: []byte("locals {\n  a = \"x\x00\"\n}\n")}}, testKinds(), Options{})
	if len(diags) != 1 || diags[0].Summary != "Invalid character" || diags[0].Subject.Start != (Pos{2, 9, 17}) {
		t.Errorf("got %+v", diags)
	}
}
