package hcl_test

import (
	"sync"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/toytest"
	. "hatchel/hcl"
)

func TestOnlyBackendsThatSendRequestsSendTheSameOne(t *testing.T) {
	const tools = `
tool "a" {
  description = "Read a."
  toy { read = "a" }
}
tool "b" {
  description = "Read a again."
  toy { read = "a" }
}
`
	for request, want := range map[bool]int{true: 1, false: 0} {
		toy := toytest.Adapter(new(sync.Map))
		toy.Kind.Request = request
		_, diags := Load(files("a.hcl", tools), adapters.Set{Adapters: []adapters.Adapter{toy}}.Kinds(), Options{})
		if len(diags) != want || want == 1 && diags[0].Rule() != "same-request" {
			t.Errorf("a backend that sends requests, %t: %v", request, diags)
		}
	}
}
