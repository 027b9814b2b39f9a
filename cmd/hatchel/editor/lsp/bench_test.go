package lsp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/editor"
	"hatchel/internal/osfile"
)

// asServer makes the test program a server: benchmarks measure the memory and the time of a process of its own.
const asServer = "HATCHEL_TEST_AS_LANGUAGE_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) == "" {
		os.Exit(m.Run())
	}
	s := newServer(os.Stdout, Options{Kinds: all.Set().Kinds(), Parallel: onTwoCores})
	s.methods[settledMethod] = answerWhenSettled
	s.trim = newTrimmer()
	if err := s.serve(context.Background(), os.Stdin); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// onTwoCores calls do as the program does on two cores.
func onTwoCores(n int, do func(i int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	workers.Wait()
}

// serverProcess is a server in a process of its own, and the client that it serves.
type serverProcess struct {
	*testClient
	pid int
}

func startServer(b *testing.B, root string) *serverProcess {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asServer+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	c := &testClient{t: b, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	c.send(`{"id":"start","method":"initialize","params":{"rootUri":"` + osfile.URI(root) + `"}}`)
	c.receive()
	c.send(`{"method":"initialized","params":{}}`)
	return &serverProcess{c, cmd.Process.Pid}
}

// status returns a line of the status of the process in MiB, such as VmRSS.
func (p *serverProcess) status(b *testing.B, name string) float64 {
	for line := range strings.Lines(string(readFile(b, fmt.Sprintf("/proc/%d/status", p.pid)))) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			n, _ := strconv.Atoi(strings.Fields(value)[0])
			return float64(n) / 1024
		}
	}
	b.Fatal("no " + name)
	return 0
}

// cpu returns the processor time of the process.
func (p *serverProcess) cpu(b *testing.B) time.Duration {
	stat := string(readFile(b, fmt.Sprintf("/proc/%d/stat", p.pid)))
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// bigFolder writes a configuration of 1,000 files with 40 lines each, and returns the text of the first.
func bigFolder(b *testing.B) (root, path string, src []byte) {
	root = b.TempDir()
	for i := range 1000 {
		src := fmt.Sprintf(bigFile, i)
		if i == 0 {
			src = strings.Replace(src, "tool", bigConnections+"tool", 1)
		}
		if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("f%04d.hcl", i)), []byte(src), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	path = filepath.Join(root, "f0500.hcl")
	return root, path, readFile(b, path)
}

const bigConnections = `connection "sqlite" "ledger" { file = "ledger.db" }
connection "http" "shop" { base_url = "https://shop.example" }
`

const bigFile = `# One of many files.
tool "tool_%[1]d" {
  title       = "Orders %[1]d"
  description = "Finds the orders of a customer in a period, with what the shop says of each of them."
  read_only   = true

  input "customer" { type = integer("The number of the customer", { min = 1 }) }
  input "from" { type = string("First day", { format = "date" }) }
  input "to" { type = string("Last day", { format = "date" }) }
  input "status" { type = optional(enum("new", "paid", "sent"), "paid") }
  input "limit" { type = optional(integer("How many", { min = 1, max = 100 }), 20) }

  check "from is not after to" { that = "input.from <= input.to" }

  step "rows" {
    sql "ledger" {
      query = <<-SQL
        SELECT id, date, total, status FROM orders
        WHERE customer = ${input.customer}
          AND date BETWEEN ${input.from} AND ${input.to}
          %%{if input.status != "new"} AND status = ${input.status} %%{endif}
        ORDER BY date DESC
        LIMIT ${input.limit}
      SQL
    }
  }

  step "shop" {
    http "shop" {
      get   = "/customers/${input.customer}/orders"
      query = { from = input.from, to = input.to, limit = input.limit }
    }
  }

  result = <<-EXPR
    {
      orders: step.rows.rows | filter(.total > 0) | map({{id: .id, total: .total}}),
      count: len(step.rows.rows),
      shop: step.shop.body,
    }
  EXPR
}
`

// percentile returns the value that a share of the durations does not exceed, in milliseconds.
func percentile(took []time.Duration, share float64) float64 {
	slices.Sort(took)
	return float64(took[int(share*float64(len(took)-1))].Microseconds()) / 1000
}

// From a keystroke to its diagnostics. Each one makes a mistake, or mends it.
func BenchmarkKeystroke(b *testing.B) {
	for name, wrong := range map[string]string{"name": "${input.limt}", "syntax": "${input.limit"} {
		b.Run(name, func(b *testing.B) {
			root, path, src := bigFolder(b)
			c := startServer(b, root)
			c.open(path, src)
			var took []time.Duration
			before := c.cpu(b)
			for i := 0; b.Loop(); i++ {
				text := src
				if i%2 == 0 {
					text = bytes.Replace(src, []byte("${input.limit}"), []byte(wrong), 1)
				}
				began := time.Now()
				c.change(path, text)
				if answer := c.receive(); !strings.Contains(answer, "publishDiagnostics") {
					b.Fatal(answer)
				}
				took = append(took, time.Since(began))
			}
			b.ReportMetric(percentile(took, 0.95), "p95-ms")
			b.ReportMetric(float64((c.cpu(b)-before).Milliseconds())/float64(b.N), "cpu-ms")
		})
	}
}

// Until the server answers at all, and until it has loaded the folder and answers about a file.
func BenchmarkStart(b *testing.B) {
	root, path, src := bigFolder(b)
	var started, used time.Duration
	for b.Loop() {
		began := time.Now()
		c := startServer(b, root)
		started += time.Since(began)
		c.open(path, src)
		used += c.cpu(b)
	}
	b.ReportMetric(float64(started.Milliseconds())/float64(b.N), "initialize-ms")
	b.ReportMetric(float64(used.Milliseconds())/float64(b.N), "cpu-ms")
}

// The time of one request when nothing has changed, and when a key was pressed just before.
func BenchmarkRequests(b *testing.B) {
	root, path, src := bigFolder(b)
	text := editor.NewText(src)
	c := startServer(b, root)
	c.open(path, src)
	at := text.Position(bytes.Index(src, []byte("${input.cust")) + len("${input."))
	for _, method := range []string{"textDocument/completion", "textDocument/hover", "textDocument/definition",
		"textDocument/semanticTokens/full"} {
		b.Run(filepath.Base(strings.TrimSuffix(method, "/full")), func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				c.ask(method, path, at)
				took = append(took, time.Since(began))
			}
			b.ReportMetric(percentile(took, 0.95), "p95-ms")
		})
	}
}

// The words of a file of 1,000 lines.
func BenchmarkSemanticTokens(b *testing.B) {
	root := b.TempDir()
	var src []byte
	src = append(src, bigConnections...)
	for i := range 25 {
		src = fmt.Appendf(src, bigFile, i)
	}
	path := filepath.Join(root, "a.hcl")
	c := startServer(b, root)
	c.open(path, src)
	for b.Loop() {
		c.ask("textDocument/semanticTokens/full", path, editor.Position{})
	}
}

// All requests at places of the examples.
func BenchmarkEveryPlace(b *testing.B) {
	root := absolute(b, "../../../../examples")
	c := startServer(b, root)
	var took []time.Duration
	slowest, slow := time.Duration(0), ""
	for b.Loop() {
		for _, path := range sources(b, root) {
			text := editor.NewText(readFile(b, path))
			c.open(path, text.Src)
			for at := 0; at <= len(text.Src); at += *every {
				for _, method := range requestMethods() {
					began := time.Now()
					c.ask(method, path, text.Position(at))
					took = append(took, time.Since(began))
					if last := took[len(took)-1]; last > slowest {
						slowest, slow = last, fmt.Sprintf("%s at byte %d of %s", method, at, path)
					}
				}
			}
		}
	}
	b.ReportMetric(percentile(took, 0.99), "p99-ms")
	b.ReportMetric(percentile(took, 1), "max-ms")
	b.Log("slowest:", slow)
}

var benchEdits = flag.Int("bench-edits", 10_000, "make `N` edits in BenchmarkEdits")

// After many edits: the memory of the server after them, and its processor time when nobody types.
func BenchmarkEdits(b *testing.B) {
	root, path, src := bigFolder(b)
	for b.Loop() {
		c := startServer(b, root)
		c.open(path, src)
		random := rand.New(rand.NewPCG(1, 2))
		text := editor.NewText(src)
		for i := range *benchEdits {
			text = c.editRandomly(path, text, random)
			if i%20 == 0 {
				c.ask("textDocument/hover", path, editor.Position{})
			}
			if i%500 == 0 {
				text = editor.NewText(src)
				c.change(path, src)
			}
		}
		c.exchange(`{"method":"initialized","params":{}}`)
		b.ReportMetric(c.status(b, "VmRSS"), "MiB")
		b.ReportMetric(c.status(b, "VmHWM"), "peak-MiB")
		time.Sleep(trimAfter + time.Second)
		b.ReportMetric(c.status(b, "VmRSS"), "idle-MiB")
		before := c.cpu(b)
		time.Sleep(2 * time.Second)
		b.ReportMetric(float64((c.cpu(b) - before).Milliseconds()), "idle-ms")
	}
}

// editRandomly replaces a random part of a document by a random text, as a part or as a whole.
func (c *testClient) editRandomly(path string, old *editor.Text, random *rand.Rand) *editor.Text {
	from := random.IntN(len(old.Src) + 1)
	to := min(len(old.Src), from+random.IntN(4)*random.IntN(8))
	start, end := old.Position(from), old.Position(to)
	from, to = old.Offset(start), old.Offset(end) // not inside of a character
	typed := randomTexts[random.IntN(len(randomTexts))]
	src := slices.Concat(old.Src[:from], []byte(typed), old.Src[max(from, to):])
	change := map[string]any{"text": string(src)}
	if random.IntN(2) == 0 {
		change = map[string]any{"text": typed, "range": Range{start, end}}
	}
	params, _ := json.Marshal(map[string]any{"textDocument": map[string]any{"uri": osfile.URI(path), "version": 2},
		"contentChanges": []any{change}})
	c.send(`{"method":"textDocument/didChange","params":` + string(params) + `}`)
	return editor.NewText(src)
}

var randomTexts = []string{"", "", "x", " ", "\n", "\"", "${", "}", "{", "input.", "\r\n", "<<-SQL\n", "# ", "🙂", "é", "\x00",
	"tool \"a\" {\n", "= ", "%{if ", "SQL\n", "(", "'"}
