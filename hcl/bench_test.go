package hcl_test

import (
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	. "hatchel/hcl"
)

// thousand is a folder of 1,000 tools, each a file of 40 lines, over one connection.
func thousand() fstest.MapFS {
	files := fstest.MapFS{"main.hcl": {Data: []byte("connection \"http\" \"shop\" { base_url = \"http://127.0.0.1:9/api\" }\n")}}
	for n := range 1000 {
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
	files := thousand()
	b.ReportAllocs()
	for b.Loop() {
		benchmarkLoad(b, files, Options{})
	}
}

func BenchmarkReloadAfterOneEdit(b *testing.B) {
	files := thousand()
	opts := Options{Cache: NewCache()}
	benchmarkLoad(b, files, opts)
	b.ReportAllocs()
	round := 0
	for b.Loop() {
		round++
		files["group07/orders_373.hcl"] = &fstest.MapFile{Data: regionFile(373, []string{"open", "paid", "shipped"}[round%3])}
		benchmarkLoad(b, files, opts)
	}
}

func benchmarkLoad(b *testing.B, files fs.FS, opts Options) {
	if config, diags := Load(files, all.Set().Kinds(), opts); len(diags) > 0 || len(config.Tools) != 1000 {
		b.Fatalf("%d tools, %v", len(config.Tools), diags[0])
	}
}
