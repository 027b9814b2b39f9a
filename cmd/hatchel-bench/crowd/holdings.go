package crowd

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Holdings are what a process has in hand.
type Holdings struct {
	Memory  int // resident, in bytes
	Files   int
	Threads int
}

func (h Holdings) String() string {
	return fmt.Sprintf("%.1f MiB, %d files, %d threads", mib(h.Memory), h.Files, h.Threads)
}

func mib(bytes int) float64 { return float64(bytes) / (1 << 20) }

// holdingsOf asks the operating system.
func holdingsOf(pid int) (h Holdings, err error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	files, err := os.ReadDir(dir + "fd")
	if err != nil {
		return h, err
	}
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return h, err
	}
	h.Files = len(files)
	for line := range bytes.Lines(status) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "VmRSS":
			h.Memory, err = strconv.Atoi(string(bytes.Fields(value)[0]))
			h.Memory <<= 10
		case "Threads":
			h.Threads, err = strconv.Atoi(string(bytes.TrimSpace(value)))
		}
		if err != nil {
			return h, err
		}
	}
	return h, nil
}

// Slack is by how much holdings may be above what they were: connections and threads that are kept for the next client, and memory that the
// collector has not given back. A leak of one goroutine or file for every listener or call is far more.
var slack = Holdings{Memory: 24 << 20, Files: 50, Threads: 50}

// within reports whether h is at most what it was before, with slack. A quarter of the memory is slack, too.
func (h Holdings) within(before Holdings) bool {
	return h.Memory <= before.Memory+before.Memory/4+slack.Memory && h.Files <= before.Files+slack.Files && h.Threads <= before.Threads+slack.Threads
}

// settle waits until the process holds no more than before, or the time is up, and returns what it holds then.
func settle(ctx context.Context, pid int, before Holdings, within time.Duration) (now Holdings, err error) {
	deadline := time.Now().Add(within)
	for {
		if now, err = holdingsOf(pid); err != nil || now.within(before) || time.Now().After(deadline) {
			return now, err
		}
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return now, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
