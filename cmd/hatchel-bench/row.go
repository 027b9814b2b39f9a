package main

import (
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hatchel/cmd/hatchel-bench/upstream"
)

// callRow is one row of the table that is measured by calling servers.
type callRow struct {
	name  string
	title string
	// bound is the largest ratio allowed: to the floor, or to the SDK server if againstSDK.
	bound      float64
	againstSDK bool
	// sdkBound is the largest ratio allowed to the SDK server besides, and cpuBound the most µs; 0 for none.
	sdkBound, cpuBound float64
	// against names the row with whose figures of Hatchel bound compares, in place of the floor; empty for the floor.
	against string
	// stdio rows are measured on pipes, the others over HTTP; connections are calls in flight on
	// stdio.
	stdio       bool
	connections []int
	judged      int // the number of connections whose figures are compared with the bound
	// children says that the work is done by child processes, whose time counts.
	children bool
	// upstream is the kind of the server that the tools call: "http", or an MCP server of the revision that is
	// measured: "mcp", "stream" if it answers with a stream, "stdio" if each target starts it. Empty for none.
	upstream string
	// unaudited says that the floor is Hatchel too, without the audit log of the folder.
	unaudited bool
	// delays says that the server that the tools call is measured, too, so that the table has the latency that Hatchel
	// adds to it.
	delays bool
	// postgres says that the row needs a PostgreSQL server, and pooled that PgBouncer is in front of it.
	postgres, pooled bool
	// tool is the tool called, empty for tools/list; a call is one of so many variants.
	tool      string
	variants  int
	arguments func(variant int) string
	// want are pieces that the text of a right answer holds.
	want func(variant int) []string
}

var callRows = []*callRow{
	{
		name: "text", title: "tools/call of a tool that only computes a text from its inputs, HTTP " +
			"keep-alive, either era",
		bound: 1.15, connections: []int{1, 16, 64}, judged: 16,
		tool: "greet", variants: 16, arguments: greetArguments, want: greetWant,
	},
	{
		name: "sqlite", title: "tools/call of a SQLite point query (floor: handler + prepared statement)",
		bound: 1.1, connections: []int{1, 16, 64}, judged: 16,
		tool: "find_item", variants: 64, arguments: itemArguments, want: itemWant,
	},
	{
		name: "postgres", title: "tools/call of a PostgreSQL point query (floor: handler + pgx, prepared statement)",
		bound: 1.15, connections: []int{1, 16, 64}, judged: 16, postgres: true,
		tool: "find_item", variants: 64, arguments: itemArguments, want: itemWant,
	},
	{
		name:  "pooler",
		title: "the same through PgBouncer, pool_mode = transaction (floor: handler + pgx, no statement names)",
		bound: 1.15, connections: []int{1, 16, 64}, judged: 16, postgres: true, pooled: true,
		tool: "find_item", variants: 64, arguments: itemArguments, want: itemWant,
	},
	{
		name: "http", title: "tools/call of an HTTP GET of 1 KB (floor: handler + pooled client)",
		bound: 1.1, connections: []int{1, 16, 64}, judged: 16, upstream: "http",
		tool: "read_note", variants: 16,
		arguments: func(v int) string { return fmt.Sprintf(`{"id":%d}`, v+1) },
		want:      func(v int) []string { return []string{noteText(v + 1)} },
	},
	{
		name: "list", title: "tools/list with 1,000 tools of six inputs (floor: the same bytes from memory)",
		bound: 1, connections: []int{1, 16, 64}, judged: 16,
		variants: 1, arguments: func(int) string { return "" },
	},
	{
		name: "stdio", title: "stdio, text tool, 16 calls in flight (ratio to the SDK server)",
		bound: 1.0 / 3, againstSDK: true, stdio: true, connections: []int{16}, judged: 16,
		tool: "greet", variants: 16, arguments: greetArguments, want: greetWant,
	},
	{
		name: "big", title: "a 100 KB text result",
		bound: 1.2, connections: []int{1, 16, 64}, judged: 16,
		tool: "read_page", variants: 4,
		arguments: func(v int) string { return fmt.Sprintf(`{"name":"Page %d"}`, v) },
		want:      func(v int) []string { return []string{fmt.Sprintf("Page %d: %s", v, pageText())} },
	},
	{
		name: "shell", title: "a shell tool that runs `/bin/echo`, own process and child together (floor: os/exec)",
		bound: 1.15, connections: []int{1, 16, 64}, judged: 16, children: true,
		tool: "say", variants: 16,
		arguments: func(v int) string { return fmt.Sprintf(`{"word":"word-%d"}`, v) },
		want:      func(v int) []string { return []string{fmt.Sprintf("word-%d\n", v)} },
	},
	{
		name: "audit", title: "tools/call of a tool with effects and an audit log (floor: Hatchel without the log)",
		bound: 2, connections: []int{1, 16, 64}, judged: 16, unaudited: true,
		tool: "greet", variants: 16, arguments: greetArguments, want: greetWant,
	},
	{
		name: "filter", title: "1 MB JSON body filtered by a `result` (floor: fetched, decoded with encoding/json)",
		bound: 2, connections: []int{1, 4, 16}, judged: 4, upstream: "http",
		tool: "large_orders", variants: 4,
		arguments: func(v int) string { return fmt.Sprintf(`{"minimum":%d}`, orderCount-10+v) },
		want: func(v int) []string {
			first, last := 100_000+orderCount-10+v, 100_000+orderCount-1
			return []string{fmt.Sprintf("[%d,%d,", first, first+1), fmt.Sprintf("%d]", last)}
		},
	},
	{
		name: "mcp", title: "tools/call of a tool of an MCP server over HTTP, 1 KB of JSON (floor: handler + pooled " +
			"client; SDK: its server and client)",
		bound: 1.5, sdkBound: 0.5, delays: true, connections: []int{1, 16, 64}, judged: 16, upstream: "mcp",
		tool: "read_record", variants: 16, arguments: recordArguments, want: recordWant,
	},
	{
		name: "mcp-stream", title: "the same, answered with a stream of events",
		bound: 1.25, against: "mcp", connections: []int{1, 16, 64}, judged: 16, upstream: "stream",
		tool: "read_record", variants: 16, arguments: recordArguments, want: recordWant,
	},
	{
		name: "mcp-stdio", title: "the same from a program on stdio, without its own time (ratio to the SDK server)",
		bound: 0.5, againstSDK: true, connections: []int{1, 16, 64}, judged: 16, upstream: "stdio",
		tool: "read_record", variants: 16, arguments: recordArguments, want: recordWant,
	},
	{
		name: "mcp-page", title: "100 KB of text from an MCP server over HTTP",
		cpuBound: 1200, connections: []int{1, 16, 64}, judged: 16, upstream: "mcp",
		tool: "read_page", variants: 4,
		arguments: func(v int) string { return fmt.Sprintf(`{"name":"Page %d"}`, v) },
		want:      func(v int) []string { return []string{fmt.Sprintf("Page %d: %s", v, pageText())} },
	},
}

// workOf returns the name of the row whose folder and floor a row has.
func workOf(row string) string {
	switch row {
	case "stdio":
		return "text"
	case "pooler":
		return "postgres"
	case "mcp-stream":
		return "mcp"
	}
	return row
}

func recordArguments(v int) string { return fmt.Sprintf(`{"id":%d}`, 100+v) }
func recordWant(v int) []string    { return []string{upstream.Record(100 + v)} }

func greetArguments(v int) string {
	return fmt.Sprintf(`{"name":"Ada Lovelace the %dth","number":%d}`, v, 1000+v)
}

func greetWant(v int) []string {
	return []string{fmt.Sprintf("Hello Ada Lovelace the %dth, you are number %d in line.", v, 1000+v)}
}

func itemArguments(v int) string { return fmt.Sprintf(`{"id":%d}`, itemID(v)) }

func itemWant(v int) []string {
	return []string{fmt.Sprintf(`"id":%d`, itemID(v)), fmt.Sprintf(`"name":"%s"`, itemName(itemID(v))),
		fmt.Sprintf(`"price":%d`, itemPrice(itemID(v)))}
}

func itemID(variant int) int  { return 17 + variant*151 }
func itemName(id int) string  { return fmt.Sprintf("Item number %d", id) }
func itemPrice(id int) int    { return id*7 + 1 }
func pageText() string        { return strings.Repeat(pageLine, 100*1024/len(pageLine)) }
func listedName(n int) string { return fmt.Sprintf("report_%04d", n) }
func listedDescription(n int) string {
	return fmt.Sprintf("Report number %d about the orders of one customer. Use it for totals, not for single orders.",
		n)
}

const (
	pageLine    = "A line of an ordinary text, with \"quotes\", a <tag> & a tab\there; 64 bytes or so.\n"
	listedTools = 1000
)

//go:embed testdata
var testdata embed.FS

// itemsSQL creates the table that the row "sqlite" reads.
//
//go:embed testdata/sqlite/items.sql
var itemsSQL string

// listedTool is a tool of the row "list", with verbs for its name and its description.
//
//go:embed testdata/list/tool.txt
var listedTool string

// loadedFile is one of the 1,000 files of the row "load": 40 lines, its number in every %[1]d.
//
//go:embed testdata/load/orders.txt
var loadedFile string

// The folders of the row "audit".
const (
	auditedFolder   = "audited"
	unauditedFolder = "unaudited"
)

// makeFolder fills dir with the tool folder of one row.
func makeFolder(row, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	switch row {
	case "list":
		return writeListed(dir)
	case "load":
		return writeThousand(dir)
	}
	files, err := fs.Sub(testdata, "testdata/"+workOf(row))
	if err != nil {
		return err
	}
	if row == "audit" {
		if err := os.CopyFS(filepath.Join(dir, unauditedFolder), files); err != nil {
			return err
		}
		dir = filepath.Join(dir, auditedFolder)
		if err := os.CopyFS(dir, files); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "audit.hcl"), []byte("audit { file = \"audit.jsonl\" }\n"), 0o644)
	}
	if err := os.CopyFS(dir, files); err != nil {
		return err
	}
	switch row {
	case "sqlite":
		db, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, "items.db"))
		if err != nil {
			return err
		}
		defer db.Close()
		_, err = db.Exec(itemsSQL)
		return err
	case "big":
		return os.WriteFile(filepath.Join(dir, "page.txt"), []byte(pageText()), 0o644)
	}
	return nil
}

// writeListed writes the tools of the row "list" into one file.
func writeListed(dir string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "server { page_size = %d }\n", listedTools)
	for n := range listedTools {
		fmt.Fprintf(&b, listedTool, listedName(n), listedDescription(n))
	}
	return os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(b.String()), 0o644)
}

const loadedFiles = 1000

func loadedPath(dir string, n int) string {
	return filepath.Join(dir, fmt.Sprintf("group%02d", n/50), fmt.Sprintf("orders_%d.hcl", n))
}

func writeThousand(dir string) error {
	main := "connection \"http\" \"shop\" { base_url = \"http://127.0.0.1:9/api\" }\n"
	if err := os.WriteFile(filepath.Join(dir, "main.hcl"), []byte(main), 0o644); err != nil {
		return err
	}
	for n := range loadedFiles {
		file := loadedPath(dir, n)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, fmt.Appendf(nil, loadedFile, n), 0o644); err != nil {
			return err
		}
	}
	return nil
}
