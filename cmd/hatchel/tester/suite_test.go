package tester_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/tester"
)

// newSuite returns the tests of n tools, half of which ask a service.
func newSuite(t testing.TB, n int) *tester.Suite {
	var src strings.Builder
	src.WriteString("connection \"http\" \"shop\" { base_url = \"https://shop.example\" }\n")
	for i := range n {
		if i%2 == 0 {
			fmt.Fprintf(&src, `
tool "order_%[1]d" {
  description = "Read an order and its lines from the shop."
  input "id" { type = integer("Number of the order", { min = 1 }) }
  http "shop" {
    get   = "/orders/%[1]d/${input.id}"
    query = { expand = "lines" }
  }
}
test "order %[1]d" {
  tool = "order_%[1]d"
  args = { id = 7 }
  mock "http" "shop" {
    get   = "/orders/%[1]d/7"
    query = { expand = "lines" }
    reply { json = { id = 7, status = "paid", lines = [{ sku = "AB-1234", quantity = 2 }] } }
  }
  expect { that = "result.id == 7 && sent[0].query.expand == 'lines'" }
}
`, i)
			continue
		}
		fmt.Fprintf(&src, `
tool "greet_%[1]d" {
  description = "Greet somebody by their name, in a friendly way."
  input "name" { type = string("Name of the person") }
  text = "Hello ${input.name}, number %[1]d"
}
test "greeting %[1]d" {
  tool = "greet_%[1]d"
  args = { name = "Ada" }
  expect { text = "Hello Ada, number %[1]d" }
}
`, i)
	}
	s := &tester.Suite{Dir: t.TempDir(), FS: fstest.MapFS{"a.hcl": {Data: []byte(src.String())}}, Set: all.Set(), Version: "test"}
	s.ReadCases()
	if s.Diagnostics.HasErrors() {
		s.Diagnostics.Print(t.Output(), s.Sources)
		t.Fatal("the tests cannot be read")
	}
	return s
}

func TestEveryOrderOfTestsHasTheSameResult(t *testing.T) {
	s := newSuite(t, 20)
	for seed := range uint64(50) {
		report, err := s.Run(t.Context(), tester.Options{Parallel: 4, Seed: seed, Repeat: 1})
		if err != nil || report.Count(tester.Passed) != 20 {
			t.Fatalf("seed %d: %d of 20 passed: %v", seed, report.Count(tester.Passed), err)
		}
	}
}

func BenchmarkThousandTests(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		s := newSuite(b, 1000)
		report, err := s.Run(b.Context(), tester.Options{Parallel: 2, Repeat: 1})
		if err != nil || report.Count(tester.Passed) != 1000 {
			b.Fatal(report.Summary(), err)
		}
	}
}
