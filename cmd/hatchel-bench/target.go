package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// target is one running server process.
type target struct {
	name   string
	host   string // of its HTTP endpoint; empty on stdio
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser // of a stdio server
	log    *tail
	done   chan struct{} // closed when stderr ended
}

var readyLine = regexp.MustCompile(` at http://([^/\s]+)/mcp`)

// startHTTP starts a server and waits for the line on stderr that says where it serves.
func startHTTP(ctx context.Context, name string, command []string) (*target, error) {
	t := &target{name: name, log: new(tail), done: make(chan struct{})}
	t.cmd = exec.CommandContext(ctx, command[0], command[1:]...)
	stderr, err := t.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if t.stdin, err = t.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan string, 1)
	go func() {
		defer close(t.done)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			t.log.add(lines.Text())
			if m := readyLine.FindStringSubmatch(lines.Text()); m != nil {
				select {
				case ready <- m[1]:
				default:
				}
			}
		}
	}()
	select {
	case t.host = <-ready:
		return t, nil
	case <-t.done:
		t.stop()
		return nil, fmt.Errorf("%s ended before it was ready: %s", name, t.log)
	case <-time.After(30 * time.Second):
		t.stop()
		return nil, fmt.Errorf("%s was not ready in 30 s: %s", name, t.log)
	}
}

// startStdio starts a server that speaks JSON-RPC lines on its standard input and output.
func startStdio(ctx context.Context, name string, command []string) (*target, error) {
	t := &target{name: name, log: new(tail), done: make(chan struct{})}
	close(t.done)
	t.cmd = exec.CommandContext(ctx, command[0], command[1:]...)
	t.cmd.Stderr = t.log
	var err error
	if t.stdin, err = t.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if t.stdout, err = t.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return t, t.cmd.Start()
}

func (t *target) pid() int { return t.cmd.Process.Pid }

// cpu is what the process has used so far, with the children it has waited for if those are to be
// counted.
func (t *target) cpu(children bool) (time.Duration, error) {
	own, err := cpuTime(t.pid())
	if err != nil || !children {
		return own, err
	}
	theirs, err := childTime(t.pid())
	return own + theirs, err
}

// stop ends the process and waits for it: politely, and after two seconds by force.
func (t *target) stop() {
	t.stdin.Close()
	t.cmd.Process.Signal(syscall.SIGTERM)
	force := time.AfterFunc(2*time.Second, func() { t.cmd.Process.Kill() })
	defer force.Stop()
	<-t.done
	t.cmd.Wait()
}

// tail keeps the last lines a server wrote to stderr, to explain a failure with.
type tail struct {
	mu    sync.Mutex
	lines []string // guarded by mu
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lines = append(t.lines, line); len(t.lines) > 12 {
		t.lines = t.lines[1:]
	}
}

func (t *tail) Write(b []byte) (int, error) {
	for line := range bytes.Lines(b) {
		t.add(string(bytes.TrimSpace(line)))
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, " | ")
}
