package surface_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/hcl/surface"
)

// manyTools returns a configuration of 1,000 tools in 100 files.
func manyTools(change string) fstest.MapFS {
	fsys := fstest.MapFS{"connection.hcl": {Data: []byte("connection \"http\" \"shop\" {\n  base_url = \"https://shop.example\"\n}\n" +
		"connection \"sqlite\" \"ledger\" {\n  file = \"ledger.db\"\n}\n")}}
	for file := range 100 {
		var b strings.Builder
		for i := range 10 {
			n := file*10 + i
			fmt.Fprintf(&b, `tool "order_%d" {
  description = "Read the order with the number %d%s. Use it when the customer names a number."
  input "id" { type = integer("Number of the order", { min = 0 }) }
  input "state" { type = optional(enum("open", "paid", "void"), "open") }
  input "tags" { type = optional(list(string("Tag", { max_length = 40 })), []) }
  http "shop" {
    get   = "/orders/${input.id}"
    query = { state = input.state, tags = input.tags }
  }
}
tool "pay_%d" {
  description = "Pay the invoice."
  input "id" { type = integer("Number") }
  sql "ledger" { exec = "UPDATE invoices SET paid = ${caller.subject} WHERE id = ${input.id} AND n = %d" }
  text = "Invoice ${input.id} is paid."
}
`, n, n, change, n, n)
		}
		fsys[fmt.Sprintf("t%d.hcl", file)] = &fstest.MapFile{Data: []byte(b.String())}
	}
	return fsys
}

func loadMany(b *testing.B, change string) *hcl.Config {
	b.Helper()
	config, diags := hcl.Load(manyTools(change), all.Set().Kinds(), hcl.Options{Dir: "/srv/tools"})
	if diags.HasErrors() {
		b.Fatal(diags[0].Detail)
	}
	return config
}

// The bound of a lock and of a difference of 1,000 tools is the load and 100 ms; this one has 2,000.
func BenchmarkLockOf2000Tools(b *testing.B) {
	config := loadMany(b, "")
	for b.Loop() {
		b.ReportMetric(float64(len(surface.Of(config, nil).Lock())), "bytes")
	}
}

func BenchmarkLoadOf2000Tools(b *testing.B) {
	for b.Loop() {
		loadMany(b, "")
	}
}

func BenchmarkCompareOf2000Tools(b *testing.B) {
	old, new := surface.Of(loadMany(b, ""), nil), surface.Of(loadMany(b, " now"), nil)
	for b.Loop() {
		surface.Compare(old, new)
	}
}
