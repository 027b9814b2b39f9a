package surface_test

import (
	"slices"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/hcl/surface"
)

// A change of a mask names the tools whose answers show more or less by it.
func TestMaskedMembersOfToolsAreCompared(t *testing.T) {
	of := func(mask string) *surface.Surface {
		c, diags := hcl.Load(fstest.MapFS{"a.hcl": {Data: []byte(`
connection "http" "crm" { base_url = "https://crm.example" }
` + mask + `
tool "find" {
  description = "Find a customer."
  http "crm" {
    get      = "/customer"
    response = object({ name = string, email = string, more = list(object({ phone = string })) })
  }
}
`)}}, all.Set().Kinds(), hcl.Options{})
		if diags.HasErrors() {
			t.Fatalf("%v: %s", diags[0], diags[0].Detail)
		}
		return surface.Of(c, nil)
	}
	old := of(`mask "m" { members = ["email", "phone"] }`)
	if want := []string{"email by m", "more[].phone by m"}; !slices.Equal(old.Tools["find"].Masked, want) {
		t.Errorf("the lock has %q", old.Tools["find"].Masked)
	}
	var got []string
	for _, change := range surface.Compare(old, of(`mask "m" { members = ["email", "name"] }`)).Changes {
		if change.Kind == "mask" && change.Place == "find" {
			got = append(got, change.Class.String()+" "+change.Text)
		}
	}
	slices.Sort(got)
	if want := []string{"behaviour masked member: name by m", "widening no longer a masked member: more[].phone by m"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
