package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/cmd/hatchel-bench/process"
)

// loadFigures are those of 1,000 tool files of 40 lines.
type loadFigures struct {
	cold   float64 // ms from process start to ready line, less those of `hatchel version`
	reload float64 // ms, as the server reports them
	// parsing is the CPU time until the ready line, less that of `hatchel version`, against that of
	// hclsyntax.ParseConfig of the same files.
	parsing float64
	// Memory of the process in MiB, at the ready line and 5 and 30 seconds later.
	anonymous, resident, memory, rested float64
}

// The times after which memory is measured. The server returns unused memory meanwhile.
const (
	shortRest = 5 * time.Second
	longRest  = 30 * time.Second
)

// startFigures are those of processes that start.
type startFigures struct {
	firstAnswer map[string]float64 // ms from process start to the first answer, by target
	ratio       float64            // of these of Hatchel to the floor's
	version     float64            // ms of CPU of `hatchel version`
	// With 50 MCP servers that do not answer: ms from process start to /readyz, and their ratio to those with servers
	// that answer.
	ready, readyRatio float64
}

func (b *bench) repeats(full int) int {
	if b.quick {
		return 3
	}
	return full
}

// measureLoad measures loading, reloading and memory.
func (b *bench) measureLoad(ctx context.Context) (*loadFigures, error) {
	folder := filepath.Join(b.folder, "load")
	if err := makeFolder("load", folder); err != nil {
		return nil, err
	}
	// The folder is not watched: only reloads that are requested are measured.
	command := []string{b.hatchel, "serve", folder, "--listen", "127.0.0.1:0", "--watch=false"}
	var cold, parsing, anonymous, resident, reloads []float64
	for range b.repeats(9) {
		bare, bareCPU, err := runAlone(ctx, io.Discard, b.hatchel, "version")
		if err != nil {
			return nil, err
		}
		var parsed bytes.Buffer
		if _, _, err := runAlone(ctx, &parsed, b.self, "parse", folder); err != nil {
			return nil, err
		}
		parsedCPU, err := time.ParseDuration(parsed.String())
		if err != nil {
			return nil, err
		}
		start := time.Now()
		s, err := b.start(ctx, "hatchel", false, command)
		if err != nil {
			return nil, err
		}
		cold = append(cold, milliseconds(time.Since(start)-bare))
		cpu, err := s.cpuTime(false)
		usage, usageErr := process.ReadUsage(s.PID())
		s.stop()
		if err = errors.Join(err, usageErr); err != nil {
			return nil, err
		}
		parsing = append(parsing, float64(cpu-bareCPU)/float64(parsedCPU))
		anonymous, resident = append(anonymous, mebibytes(usage.Anonymous)), append(resident, mebibytes(usage.Memory))
	}
	s, err := b.start(ctx, "hatchel", false, command)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	time.Sleep(shortRest)
	usage, err := process.ReadUsage(s.PID())
	if err != nil {
		return nil, err
	}
	time.Sleep(longRest - shortRest)
	rested, err := process.ReadUsage(s.PID())
	if err != nil {
		return nil, err
	}
	for n := range b.repeats(9) {
		edited := fmt.Appendf(nil, loadedFile, loadedFiles+n)
		if err := os.WriteFile(loadedPath(folder, 7+n*31), edited, 0o644); err != nil {
			return nil, err
		}
		duration, err := reload(s)
		if err != nil {
			return nil, fmt.Errorf("%w: %s", err, s.LogTail())
		}
		reloads = append(reloads, duration)
	}
	return &loadFigures{
		cold: median(cold), reload: median(reloads), parsing: median(parsing), anonymous: median(anonymous),
		resident: median(resident), memory: mebibytes(usage.Memory), rested: mebibytes(rested.Memory),
	}, nil
}

func mebibytes(n int) float64 { return float64(n) / (1 << 20) }

// runAlone runs a command and returns how long it took, and its CPU time.
func runAlone(ctx context.Context, out io.Writer, command ...string) (took, cpu time.Duration, err error) {
	start := time.Now()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	if err := cmd.Run(); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	return time.Since(start), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// parseFolder reads the configuration files of a folder, parses them with the library, and prints the CPU time of that.
func parseFolder(args []string) error {
	before, err := process.CPUTime(os.Getpid())
	if err != nil {
		return err
	}
	err = filepath.WalkDir(args[0], func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if _, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos); diags.HasErrors() {
			return diags
		}
		return nil
	})
	if err != nil {
		return err
	}
	after, err := process.CPUTime(os.Getpid())
	fmt.Print(after - before)
	return err
}

// reload requests a reload, checks that exactly one file's tool was replaced, and returns
// duration_ms.
func reload(s *server) (float64, error) {
	status, body, err := s.Reload()
	if err != nil {
		return 0, err
	}
	var answer struct {
		Added, Removed []string
		Unchanged      int
		Duration       float64 `json:"duration_ms"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || status != http.StatusOK {
		return 0, fmt.Errorf("reload was answered %d %.300s", status, body)
	}
	if len(answer.Added) != 1 || len(answer.Removed) != 1 || answer.Unchanged < loadedFiles-1 {
		return 0, fmt.Errorf("after one edit the reload reports added %s, removed %s, unchanged %d",
			answer.Added, answer.Removed, answer.Unchanged)
	}
	return answer.Duration, nil
}

// measureStart measures the milliseconds from process start to the first answer over stdio, with
// one tool, for every target in turn, and the CPU time of `hatchel version`.
func (b *bench) measureStart(ctx context.Context) (*startFigures, error) {
	folder := filepath.Join(b.folder, "start")
	if err := makeFolder("text", folder); err != nil {
		return nil, err
	}
	row := *callRows[0]
	row.stdio = true
	times := map[string][]float64{}
	var ratios, versions []float64
	for range b.repeats(21) {
		for _, name := range targetNames {
			took, err := b.firstAnswer(ctx, name, &row, folder)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			times[name] = append(times[name], milliseconds(took))
		}
		_, cpu, err := runAlone(ctx, io.Discard, b.hatchel, "version")
		if err != nil {
			return nil, err
		}
		versions = append(versions, milliseconds(cpu))
		n := len(versions) - 1
		ratios = append(ratios, times["hatchel"][n]/times["floor"][n])
	}
	figures := &startFigures{firstAnswer: map[string]float64{}, ratio: median(ratios), version: median(versions)}
	for name, all := range times {
		figures.firstAnswer[name] = median(all)
	}
	var err error
	figures.ready, figures.readyRatio, err = b.measureReady(ctx)
	return figures, err
}

const upstreamServers = 50

// upstreamTool is a tool of an MCP server, whose number is a verb.
const upstreamTool = `
connection "mcp" "s_%[1]d" {
  url         = var.upstream
  definitions = "records.tools.json"
}
tool "t_%[1]d" {
  description = "Read one record."
  input "id" { type = integer("Number") }
  mcp "s_%[1]d" { call = "read_record" }
}
`

// measureReady measures the milliseconds from process start until the server is ready, with MCP servers that accept
// connections and do not answer, and the ratio to those with servers that answer.
func (b *bench) measureReady(ctx context.Context) (dead, ratio float64, err error) {
	folder := filepath.Join(b.folder, "ready")
	if err := makeFolder("mcp", folder); err != nil {
		return 0, 0, err
	}
	var config strings.Builder
	config.WriteString("variable \"upstream\" { type = string }\n")
	for i := range upstreamServers {
		fmt.Fprintf(&config, upstreamTool, i)
	}
	if err := os.WriteFile(filepath.Join(folder, "records.hcl"), []byte(config.String()), 0o644); err != nil {
		return 0, 0, err
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the system accepts its connections
	if err != nil {
		return 0, 0, err
	}
	defer silent.Close()
	answering, err := b.start(ctx, "upstream", false, []string{b.self, "upstream", "mcp", string(modern)})
	if err != nil {
		return 0, 0, err
	}
	defer answering.stop()
	var times, ratios []float64
	for range b.repeats(15) {
		without, err := b.timeToReady(ctx, folder, silent.Addr().String())
		if err != nil {
			return 0, 0, err
		}
		with, err := b.timeToReady(ctx, folder, answering.Host)
		if err != nil {
			return 0, 0, err
		}
		times, ratios = append(times, milliseconds(without)), append(ratios, float64(without)/float64(with))
	}
	return median(times), median(ratios), nil
}

// timeToReady starts a server whose MCP servers are at a host, and returns how long it took to be ready.
func (b *bench) timeToReady(ctx context.Context, folder, upstream string) (time.Duration, error) {
	start := time.Now()
	s, err := b.start(ctx, "hatchel", false, []string{b.hatchel, "serve", folder, "--listen", "127.0.0.1:0",
		"--watch=false", "--var", "upstream=http://" + upstream + "/mcp"})
	if err != nil {
		return 0, err
	}
	defer s.stop()
	res, err := http.Get("http://" + s.Host + "/readyz")
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	took := time.Since(start)
	if res.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("/readyz was answered %s: %s", res.Status, s.LogTail())
	}
	return took, nil
}

// firstAnswer starts a server that finds a call waiting on its standard input, and checks the
// reply.
func (b *bench) firstAnswer(ctx context.Context, name string, row *callRow, folder string) (time.Duration, error) {
	start := time.Now()
	s, err := b.startServer(ctx, name, row, folder, "")
	if err != nil {
		return 0, err
	}
	defer s.stop()
	clients, err := dial(s, row, modern, 1)
	if err != nil {
		return 0, err
	}
	if _, err := clients[0].run(0); err != nil {
		return 0, fmt.Errorf("%w: %s", err, s.LogTail())
	}
	return time.Since(start), nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
