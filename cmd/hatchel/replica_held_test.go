package main

import (
	"strings"
	"syscall"
	"testing"
)

// A process that the system holds up for long, and that goes on then, is taken for dead meanwhile: what it has begun nobody else does, what a key came to is known when it knows it, and what was
// said of its task stays said.
func TestWhatAProcessHasBegunThatIsHeldUpIsDoneByNobodyElse(t *testing.T) {
	rs := startReplicas(t)
	slow, others := rs.all[0], rs.all[1:]
	first := make(chan told, 1)
	go func() { first <- callWithKey(t, slow.url, "order", "one") }()
	comes(t, rs.bank.held)
	task := callTool(t, slow.url, "hold").Result.TaskID
	comes(t, rs.bank.held)
	signal := func(s syscall.Signal) {
		if err := slow.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	unknown := make(chan told, len(others))
	for _, r := range others {
		go func() { unknown <- callWithKey(t, r.url, "order", "one") }()
	}
	for _, r := range others {
		if got := <-unknown; !strings.Contains(got.text(), "its outcome is unknown") {
			t.Errorf("while it is held up: %+v", got)
		}
		soon(t, func() bool { return aboutTask(t, r.url, "tasks/get", task, nil).Result.Status == "failed" })
	}
	close(rs.bank.come)
	signal(syscall.SIGCONT)
	comes(t, rs.bank.left)
	if got := <-first; got.text() != "it has come" {
		t.Errorf("%+v", got)
	}
	for _, r := range rs.all {
		if got := callWithKey(t, r.url, "order", "one"); got.text() != "it has come" {
			t.Errorf("%+v", got)
		}
		if got := aboutTask(t, r.url, "tasks/get", task, nil); got.Result.Status != "failed" {
			t.Errorf("%+v", got)
		}
	}
	if n := rs.bank.paid.Load(); n != 1 {
		t.Errorf("one key has paid %d times", n)
	}
}
