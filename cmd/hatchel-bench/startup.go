package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"hatchel/cmd/hatchel-bench/process"
)

// loadFigures are those of 1,000 tool files of 40 lines.
type loadFigures struct {
	cold   float64 // ms from process start to ready line, less those of `hatchel version`
	reload float64 // ms, as the server reports them
	memory float64 // MiB, resident
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
	var bare, cold, reloads []float64
	for range b.repeats(9) {
		start := time.Now()
		if err := exec.CommandContext(ctx, b.hatchel, "version").Run(); err != nil {
			return nil, fmt.Errorf("hatchel version: %w", err)
		}
		bare = append(bare, milliseconds(time.Since(start)))
		start = time.Now()
		s, err := b.start(ctx, "hatchel", false, command)
		if err != nil {
			return nil, err
		}
		cold = append(cold, milliseconds(time.Since(start)))
		s.stop()
	}
	s, err := b.start(ctx, "hatchel", false, command)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	time.Sleep(5 * time.Second) // the server returns unused memory
	usage, err := process.ReadUsage(s.PID())
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
	return &loadFigures{cold: median(cold) - median(bare), reload: median(reloads),
		memory: float64(usage.Memory) / (1 << 20)}, nil
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
// one tool, for every target in turn.
func (b *bench) measureStart(ctx context.Context) (map[string]float64, error) {
	folder := filepath.Join(b.folder, "start")
	if err := makeFolder("text", folder); err != nil {
		return nil, err
	}
	row := *callRows[0]
	row.stdio = true
	times := map[string][]float64{}
	for range b.repeats(21) {
		for _, name := range targetNames {
			took, err := b.firstAnswer(ctx, name, &row, folder)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			times[name] = append(times[name], milliseconds(took))
		}
	}
	figures := map[string]float64{}
	for name, all := range times {
		figures[name] = median(all)
	}
	return figures, nil
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
