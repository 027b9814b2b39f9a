package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// loadFigures are those of 1,000 tool files of 40 lines.
type loadFigures struct {
	Bare   float64 `json:"bare_start_ms"` // of `hatchel version`
	Cold   float64 `json:"load_ms"`       // process start to ready line, less the bare start
	CPU    float64 `json:"load_cpu_ms"`
	Reload float64 `json:"reload_ms"`      // as the server says
	Wall   float64 `json:"reload_wall_ms"` // as its caller sees it
	Memory float64 `json:"memory_mib"`     // resident, after everything has settled
	Error  string  `json:"error,omitempty"`
}

// startFigures are the times from process start to the first answer, over stdio, with one tool.
type startFigures struct {
	Milliseconds map[string]float64 `json:"ms"` // by target
	Error        string             `json:"error,omitempty"`
}

func (b *bench) repeats(full int) int {
	if b.quick {
		return 3
	}
	return full
}

// measureLoad measures loading, reloading and memory.
func (b *bench) measureLoad(ctx context.Context) (f loadFigures) {
	fail := func(err error) loadFigures { return loadFigures{Error: err.Error()} }
	if b.hatchel == "" {
		return fail(fmt.Errorf("./cmd/hatchel could not be built"))
	}
	folder := filepath.Join(b.folder, "load")
	if err := makeFolder("load", folder); err != nil {
		return fail(err)
	}
	var bare, cold, cpu []float64
	for range b.repeats(9) {
		start := time.Now()
		if err := exec.CommandContext(ctx, b.hatchel, "version").Run(); err != nil {
			return fail(fmt.Errorf("hatchel version: %w", err))
		}
		bare = append(bare, milliseconds(time.Since(start)))
		start = time.Now()
		t, err := b.serveLoaded(ctx, folder)
		if err != nil {
			return fail(err)
		}
		cold = append(cold, milliseconds(time.Since(start)))
		used, err := t.cpu(false)
		t.stop()
		if err != nil {
			return fail(err)
		}
		cpu = append(cpu, milliseconds(used))
	}
	f.Bare, f.Cold, f.CPU = median(bare), median(cold)-median(bare), median(cpu)

	t, err := b.serveLoaded(ctx, folder)
	if err != nil {
		return fail(err)
	}
	defer t.stop()
	if f.Memory, err = settledMemory(t.pid()); err != nil {
		return fail(err)
	}
	if b.profile != "" {
		defer record(t.pid(), filepath.Join(b.profile, "reload.data"))()
	}
	var said, wall []float64
	for n := range b.repeats(9) {
		edited := fmt.Appendf(nil, loadedFile, loadedFiles+n)
		if err := os.WriteFile(loadedPath(folder, 7+n*31), edited, 0o644); err != nil {
			return fail(err)
		}
		start := time.Now()
		duration, err := reload(ctx, t.host)
		if err != nil {
			return fail(fmt.Errorf("%w: %s", err, t.log))
		}
		wall = append(wall, milliseconds(time.Since(start)))
		said = append(said, duration)
	}
	f.Reload, f.Wall = median(said), median(wall)
	return f
}

// serveLoaded does not watch the folder: a reload must be the one that is asked for.
func (b *bench) serveLoaded(ctx context.Context, folder string) (*target, error) {
	return startHTTP(ctx, "hatchel", []string{b.hatchel, "serve", folder, "--listen", "127.0.0.1:0", "--watch=false"})
}

// reload asks for a reload, checks that exactly one file's tool changed place, and returns
// duration_ms.
func reload(ctx context.Context, host string) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+host+"/admin/reload", nil)
	if err != nil {
		return 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	var answer struct {
		Added     json.RawMessage `json:"added"`
		Removed   json.RawMessage `json:"removed"`
		Unchanged json.RawMessage `json:"unchanged"`
		Duration  float64         `json:"duration_ms"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || res.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("reload was answered %s %.300s", res.Status, body)
	}
	if size(answer.Added) != 1 || size(answer.Removed) != 1 || size(answer.Unchanged) != loadedFiles-1 {
		return 0, fmt.Errorf("after one edit the reload says added %s, removed %s, unchanged %.60s",
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
	if json.Unmarshal(raw, &n) != nil {
		return -1
	}
	return n
}

// settledMemory waits until resident memory stays within 1 % for a second, ten seconds at most.
func settledMemory(pid int) (float64, error) {
	last, same := 0, 0
	for range 40 {
		now, err := residentMemory(pid)
		if err != nil {
			return 0, err
		}
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

// measureStart measures process start to first answer over stdio for every target, in turn.
func (b *bench) measureStart(ctx context.Context) startFigures {
	f := startFigures{Milliseconds: map[string]float64{}}
	folder := filepath.Join(b.folder, "start")
	if err := makeFolder("text", folder); err != nil {
		f.Error = err.Error()
		return f
	}
	row := *callRows[0]
	row.stdio = true
	times := map[string][]float64{}
	for range b.repeats(21) {
		for _, name := range b.targets {
			took, err := b.firstAnswer(ctx, name, &row, folder)
			if err != nil {
				f.Error = fmt.Sprintf("%s: %v", name, err)
				continue
			}
			times[name] = append(times[name], milliseconds(took))
		}
	}
	for name, all := range times {
		f.Milliseconds[name] = median(all)
	}
	return f
}

// firstAnswer starts a server that finds a call waiting on its standard input, and checks the
// reply.
func (b *bench) firstAnswer(ctx context.Context, name string, row *callRow, folder string) (time.Duration, error) {
	start := time.Now()
	t, err := b.startServer(ctx, name, row, folder, "")
	if err != nil {
		return 0, err
	}
	defer t.stop()
	stuck := time.AfterFunc(10*time.Second, func() { t.cmd.Process.Kill() })
	defer stuck.Stop()
	if _, err := t.stdin.Write(lineRequest(body(modern, row.tool, row.arguments(0))).bytes); err != nil {
		return 0, err
	}
	line, err := bufio.NewReader(t.stdout).ReadBytes('\n')
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, t.log)
	}
	took := time.Since(start)
	return took, newChecker(row).check(0, firstID, bytes.TrimSpace(line))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
