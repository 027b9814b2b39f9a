package soak

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"hatchel/cmd/hatchel-bench/process"
	"hatchel/internal/ctxtime"
)

// startServer serves the folder at path on a free port. State is kept beside the folder.
func startServer(ctx context.Context, o Options, path string) (*process.Process, error) {
	cmd := command(ctx, o.Binary, path, "serve", path, "--listen", "127.0.0.1:0")
	return process.Start(cmd, filepath.Join(o.Folder, "server.log"), false)
}

// command runs the binary with an environment that holds only what it needs.
func command(ctx context.Context, binary, folder string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = folder
	home := filepath.Dir(folder)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + os.TempDir(),
		"XDG_STATE_HOME=" + filepath.Join(home, "state"), "GORACE=halt_on_error=0 atexit_sleep_ms=0",
	}
	return cmd
}

// reload reloads the folder and fails unless the answer has the status.
func reload(p *process.Process, want int) error {
	status, body, err := p.Reload()
	if err == nil && status != want {
		err = fmt.Errorf("reload answered %d, want %d: %.2000s", status, want, body)
	}
	return err
}

// usageSlack is how far usage may rise above an earlier one: pooled connections and threads, and
// memory that was not collected yet. A leak of one goroutine or file per client or call is far
// more.
var usageSlack = process.Usage{Memory: 24 << 20, Files: 50, Threads: 50}

// maxIdleGoroutines is more goroutines than an idle server has, open keep-alive connections
// included.
const maxIdleGoroutines = 100

// isWithin reports whether u exceeds limit by no more than the slack and a quarter of the memory.
func isWithin(u, limit process.Usage) bool {
	return u.Memory <= limit.Memory+limit.Memory/4+usageSlack.Memory &&
		u.Files <= limit.Files+usageSlack.Files && u.Threads <= limit.Threads+usageSlack.Threads
}

// unlimited is a limit that no server exceeds.
var unlimited = process.Usage{Memory: 1 << 40, Files: 1 << 30, Threads: 1 << 30}

// idleUsage reloads the folder twice, which makes the server return unused memory, and waits up to
// stepTimeout until its usage is within limit. It returns the last usage that was seen.
func idleUsage(ctx context.Context, p *process.Process, limit process.Usage) (process.Usage, error) {
	for range 2 {
		if err := reload(p, http.StatusOK); err != nil {
			return process.Usage{}, err
		}
		http.DefaultClient.CloseIdleConnections()
		if err := ctxtime.Sleep(ctx, time.Second); err != nil {
			return process.Usage{}, err
		}
	}
	for deadline := time.Now().Add(stepTimeout); ; {
		now, err := process.ReadUsage(p.PID())
		if err != nil || isWithin(now, limit) || time.Now().After(deadline) {
			return now, err
		}
		if err := ctxtime.Sleep(ctx, 500*time.Millisecond); err != nil {
			return now, err
		}
	}
}

var (
	// alarm matches what the log of a healthy server does not have: errors, and races and panics with
	// the 40 lines that follow them.
	alarm = regexp.MustCompile(
		`(?m)^(?:fatal error: |.*(?:WARNING: DATA RACE|panic: )).*(?:\n.*){0,40}|^.*level=ERROR.*$`)
	// authorMistake matches the alarm that edits with a mistake cause on purpose.
	authorMistake = regexp.MustCompile(`^.*msg="(reload failed|configuration rejected)`)
)

// failAlarms fails for every alarm of a log.
func (r *Report) failAlarms(log string) error {
	text, err := os.ReadFile(log)
	for _, a := range alarm.FindAllString(string(text), -1) {
		if authorMistake.MatchString(a) {
			continue
		}
		kind, _, _ := strings.Cut(a, "\n")
		kind = kind[max(0, strings.Index(kind, "level=")):]
		r.fail("log: "+kind[:min(len(kind), 60)], "%s", strings.TrimSpace(a))
	}
	return err
}
