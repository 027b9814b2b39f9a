package hcl_test

import (
	"fmt"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	. "hatchel/hcl"
)

// regions is a folder of that many tools, each a file of 40 lines, over one connection.
func regions(tools int) fstest.MapFS {
	files := fstest.MapFS{"main.hcl": {Data: []byte("connection \"http\" \"shop\" { base_url = \"http://127.0.0.1:9/api\" }\n")}}
	for n := range tools {
		files[fmt.Sprintf("group%02d/orders_%d.hcl", n/50, n)] = &fstest.MapFile{Data: regionFile(n, "open")}
	}
	return files
}

func regionFile(n int, status string) []byte {
	return fmt.Appendf(nil, `# Orders of one region, as the shop knows them.

tool "orders_%[1]d" {
  title       = "Orders of region %[1]d"
  read_only   = true
  description = <<-TEXT
    Orders of region %[1]d, newest first. Use it to look for the
    orders of one customer, not for totals.
  TEXT

  input "customer_id" {
    type = string("Customer number", { pattern = "^C[0-9]{4,8}$" })
  }
  input "status" { type = optional(enum("open", "paid", "shipped"), %[2]q) }
  input "minimum" { type = optional(number("Smallest total", { min = 0 }), %[1]d) }
  input "limit" {
    type = optional(integer("At most so many", { min = 1, max = 200 }), 50)
  }
  input "tags" { type = optional(list(string("Tag")), []) }

  check "limit must be below 100 for shipped orders" {
    that = "input.status != 'shipped' || input.limit < 100"
  }

  http "shop" {
    get = "/regions/%[1]d/customers/${input.customer_id}/orders"
    query = {
      status = input.status
      limit  = input.limit
      tags   = join(",", input.tags)
    }
    headers = {
      "x-region" = "region-%[1]d"
    }
  }

  result = "output.body.orders | filter(.total >= input.minimum && .region == %[1]d)"
  error  = "Orders of region %[1]d could not be read: ${error.message}"
}
`, n, status)
}

func BenchmarkLoadOfAThousandFiles(b *testing.B) {
	files := regions(1000)
	b.ReportAllocs()
	for b.Loop() {
		loadRegions(b, files, Options{})
	}
}

func BenchmarkReloadAfterOneEdit(b *testing.B) {
	reload := oneEdit(b, regions(1000))
	b.ReportAllocs()
	for b.Loop() {
		reload()
	}
}

func TestAReloadAfterOneEditAllocatesForThatFileAlone(t *testing.T) {
	files := regions(200)
	load := testing.AllocsPerRun(1, func() { loadRegions(t, files, Options{}) })
	reload := testing.AllocsPerRun(5, oneEdit(t, files))
	if reload > load/40 {
		t.Errorf("a reload of one of 200 files allocates %.0f times, a load of all %.0f times", reload, load)
	}
}

// oneEdit loads the files, and returns a function that edits one of them and loads them again.
func oneEdit(tb testing.TB, files fstest.MapFS) func() {
	opts := Options{Cache: NewCache()}
	loadRegions(tb, files, opts)
	round := 0
	return func() {
		round++
		files["group03/orders_150.hcl"] = &fstest.MapFile{Data: regionFile(150, []string{"open", "paid", "shipped"}[round%3])}
		loadRegions(tb, files, opts)
	}
}

func loadRegions(tb testing.TB, files fstest.MapFS, opts Options) {
	if config, diags := Load(files, all.Set().Kinds(), opts); len(diags) > 0 || len(config.Tools) != len(files)-1 {
		tb.Fatalf("%d tools, %v", len(config.Tools), diags)
	}
}

func TestToolsShareCompiledPatterns(t *testing.T) {
	config, diags := Load(regions(2), all.Set().Kinds(), Options{})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	first, second := config.Tools[0].Input.Members[0].Type, config.Tools[1].Input.Members[0].Type
	if first.Pattern == nil || first.Pattern != second.Pattern {
		t.Errorf("the pattern of two tools is compiled as %p and %p", first.Pattern, second.Pattern)
	}
}
