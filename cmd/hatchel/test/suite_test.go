package test_test

import (
	"fmt"
	"syscall"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/test"
)

// newSuite returns the tests of n tools, half of which ask a service, in files of 20.
func newSuite(t testing.TB, n int) *test.Suite {
	files := fstest.MapFS{}
	files["shop.hcl"] = &fstest.MapFile{
		Data: []byte("connection \"http\" \"shop\" { base_url = \"https://shop.example\" }\n")}
	add := func(i int, format string) {
		name := fmt.Sprintf("tools%d.hcl", i/20)
		if files[name] == nil {
			files[name] = &fstest.MapFile{}
		}
		files[name].Data = fmt.Appendf(files[name].Data, format, i)
	}
	for i := range n {
		if i%2 == 0 {
			add(i, `
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
`)
			continue
		}
		add(i, `
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
`)
	}
	return suiteIn(t, files)
}

// suiteOf returns the tests of a configuration, whose directory has a note.
func suiteOf(t testing.TB, src string) *test.Suite {
	return suiteIn(t, fstest.MapFS{"a.hcl": {Data: []byte(src)}, "note.txt": {Data: []byte("Buy milk.\n")}})
}

func suiteIn(t testing.TB, files fstest.MapFS) *test.Suite {
	s := &test.Suite{Dir: t.TempDir(), FS: files, Set: all.Set(), Version: "test"}
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
		report, err := s.Run(t.Context(), test.Options{Parallel: 4, Seed: seed, Repeat: 1})
		if err != nil || report.Count(test.Passed) != 20 {
			t.Fatalf("seed %d: %d of 20 passed: %v", seed, report.Count(test.Passed), err)
		}
	}
}

// BenchmarkThousandTests shows the bound of 2 s and 256 MiB, also as the time of processors, which does not depend on
// what else the machine does.
func BenchmarkThousandTests(b *testing.B) {
	b.ReportAllocs()
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s := newSuite(b, 1000)
		report, err := s.Run(b.Context(), test.Options{Parallel: 2, Repeat: 1})
		if err != nil || report.Count(test.Passed) != 1000 {
			b.Fatal(report.Summary(), err)
		}
	}
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
		b.Fatal(err)
	}
	spent := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	b.ReportMetric(float64(spent)/1e6/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(after.Maxrss)/1024, "MiB-rss")
}
