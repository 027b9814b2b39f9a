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
	memory float64 // MiB, resident, after usage has settled
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
	memory, err := settledMemory(s.PID())
	if err != nil {
		return nil, err
	}
	for n := range b.repeats(9) {
		edited := fmt.Appendf(nil, loadedFile, loadedFiles+n)
		if err := os.WriteFile(loadedPath(folder, 7+n*31), edited, 0o644); err != nil {
			return nil, err
		}
		duration, err := reload(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("%w: %s", err, s.LogTail())
		}
		reloads = append(reloads, duration)
	}
	return &loadFigures{cold: median(cold) - median(bare), reload: median(reloads), memory: memory}, nil
}

// reload requests a reload, checks that exactly one file's tool was replaced, and returns
// duration_ms.
func reload(ctx context.Context, s *server) (float64, error) {
	status, body, err := s.Reload(ctx)
	if err != nil {
		return 0, err
	}
	var answer struct {
		Added, Removed, Unchanged json.RawMessage
		Duration                  float64 `json:"duration_ms"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || status != http.StatusOK {
		return 0, fmt.Errorf("reload was answered %d %.300s", status, body)
	}
	if size(answer.Added) != 1 || size(answer.Removed) != 1 || size(answer.Unchanged) != loadedFiles-1 {
		return 0, fmt.Errorf("after one edit the reload reports added %s, removed %s, unchanged %.60s",
			answer.Added, answer.Removed, answer.Unchanged)
	}
	return answer.Duration, nil
}

// size reads a count that is given as a number or as a list of names.
func size(raw json.RawMessage) int {
	var names []string
	if json.Unmarshal(raw, &names) == nil {
		return len(names)
	}
	n := -1
	json.Unmarshal(raw, &n)
	return n
}

// settledMemory waits until resident memory stays within 1 % for a second, ten seconds at most, and
// returns it in MiB.
func settledMemory(pid int) (float64, error) {
	last, same := 0, 0
	for range 40 {
		usage, err := process.ReadUsage(pid)
		if err != nil {
			return 0, err
		}
		now := usage.Memory
		if same++; max(now-last, last-now) > now/100 {
			last, same = now, 0
		}
		if same == 4 {
			break
		}
		time.Sleep(250 * time.Millisecond)
	}
	return float64(last) / (1 << 20), nil
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
		for _, name := range b.targets {
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
	stuck := time.AfterFunc(10*time.Second, s.Kill)
	defer stuck.Stop()
	clients, err := dial(s, row, modern, 1)
	if err != nil {
		return 0, err
	}
	if err := clients[0].send(); err != nil {
		return 0, err
	}
	line, err := clients[0].receive()
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, s.LogTail())
	}
	took := time.Since(start)
	return took, clients[0].check.check(firstID%row.variants, firstID, line)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
