package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hatchel/cmd/hatchel-bench/upstream"
)

// runsMain is the environment variable with which the program of the tests is that of the benchmark.
const runsMain = "HATCHEL_BENCH_RUNS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runsMain) != "" {
		main()
		return
	}
	m.Run()
}

func TestServersEndWithASignal(t *testing.T) {
	folder := t.TempDir()
	for _, args := range [][]string{
		{"floor", "text", folder, "", "http"}, {"sdk", "text", folder, "", "http"}, {"upstream"},
		{"upstream", "mcp", string(legacy)},
	} {
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), runsMain+"=1")
		in, err := cmd.StdinPipe() // whose end would end it, too
		if err != nil {
			t.Fatal(err)
		}
		log, err := cmd.StderrPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(log).ReadString('\n'); err != nil || !strings.HasPrefix(line, "ready") {
			t.Errorf("%v prints %q, %v", args, line, err)
		}
		kill := time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() })
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		kill.Stop()
		in.Close()
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGTERM {
			t.Errorf("%v does not end with SIGTERM: %v", args, cmd.ProcessState)
		}
	}
}

func TestEveryFloorGivesRightRepliesInBothEras(t *testing.T) {
	web := httptest.NewServer(upstreamHandler())
	defer web.Close()
	for _, row := range callRows {
		if row.tool == "" || row.stdio || row.unaudited || row.upstream == "stdio" {
			// The floor of tools/list serves the bytes of another target, that of stdio is that of the text row, and that
			// of audit is Hatchel. A program on stdio is this program, which a test is not.
			continue
		}
		folder := filepath.Join(t.TempDir(), row.name)
		if err := makeFolder(row.name, folder); err != nil {
			t.Fatal(err)
		}
		if row.postgres {
			if !row.available() {
				continue // make bench measures the rows whose servers there are
			}
			undo, err := (&bench{folder: folder}).prepareDatabase(t.Context(), row)
			if err != nil {
				t.Fatal(err)
			}
			defer undo()
		}
		c := newChecker(row)
		for _, e := range eras {
			address := web.URL
			if row.upstream != "" && row.upstream != "http" {
				server := httptest.NewServer(&upstream.Server{
					Revision: string(e), Stream: row.upstream == "stream", Page: pageText()})
				defer server.Close()
				address = server.URL
			}
			implementation, err := implement(row.name, folder, address)
			if err != nil {
				t.Fatal(err)
			}
			for v := range row.variants {
				var out bytes.Buffer
				r := lineRequest(body(e, row.tool, row.arguments(v)), "")
				r.number(firstID + v)
				if err := implementation.serveLines(bytes.NewReader(r.bytes), &out); err != nil {
					t.Fatalf("%s: %v", row.name, err)
				}
				if err := c.check(v, firstID+v, out.Bytes()); err != nil {
					t.Errorf("%s, %s: %v", row.name, e, err)
				}
			}
		}
	}
}

func TestWrongRepliesAreNoticed(t *testing.T) {
	row := callRows[0]
	right := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":%q}]}}`, id, row.want(3)[0])
	}
	for name, wrong := range map[string]string{
		"another id":      right(firstID + 1),
		"another variant": strings.Replace(right(firstID), "the 3th", "the 4th", 1),
		"a failed call":   strings.Replace(right(firstID), `"content"`, `"isError":true,"content"`, 1),
		"an error":        fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32603,"message":"no"}}`, firstID),
		"no JSON":         right(firstID)[1:],
	} {
		c := newChecker(row)
		for range 2 { // decoded the first time, compared the second
			if err := c.check(3, firstID, []byte(wrong)); err == nil {
				t.Errorf("%s is accepted", name)
			}
			if err := c.check(3, firstID, []byte(right(firstID)+"\n")); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestLoadedFilesHaveFortyLines(t *testing.T) {
	if n := strings.Count(loadedFile, "\n"); n != 40 {
		t.Errorf("a generated file has %d lines", n)
	}
}

func TestOrdersDocumentIsOneMegabyte(t *testing.T) {
	if n := len(ordersDocument()); n < 950_000 || n > 1_100_000 {
		t.Errorf("the document has %d bytes", n)
	}
}

func TestMedianOfRoundsIgnoresOneOutlier(t *testing.T) {
	quick, slow := figures{cpu: 10}, figures{cpu: 1000}
	if got := medians([]figures{quick, slow, quick}).cpu; got != 10 {
		t.Errorf("median %v", got)
	}
	if got := median(ratios([]figures{{cpu: 12}, {cpu: 900}, {cpu: 11}}, []figures{quick, quick, quick})); got != 1.2 {
		t.Errorf("median ratio %v", got)
	}
}

func TestALineOfABenchmarkIsRead(t *testing.T) {
	const line = "BenchmarkWatchedCall/metrics-2  \t 19298\t 6369 ns/op\t 8752 cpu-ns/op\t 3672 B/op\t 33 allocs/op\n"
	if f, ok := parseBenchmark(line, cpuMetric); !ok || f != (goFigures{ns: 8752, allocations: 33}) {
		t.Errorf("got %v, %v", f, ok)
	}
	for _, other := range []string{"ok  \thatchel/runtime\t0.9s\n", "goos: linux\n", "BenchmarkPage-2 100 5 ns/op\n"} {
		if f, ok := parseBenchmark(other, cpuMetric); ok {
			t.Errorf("%q gives %v", other, f)
		}
	}
}
