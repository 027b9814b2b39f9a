package e2e_test

import (
	"strings"
	"syscall"
	"testing"
)

// A process that is stopped for a while is taken for dead, and continues later. Nobody repeats its
// call, the outcome of its key is known when it is, and its task stays interrupted.
func TestACallOfAStalledProcessIsNotRepeated(t *testing.T) {
	t.Parallel()
	rs := startReplicas(t)
	slow, others := rs.all[0], rs.all[1:]
	first := make(chan rpcResponse, 1)
	go func() { first <- callWithKey(t, slow.url, "order", "one") }()
	awaitEvent(t, rs.bank.started)
	task := callTool(t, slow.url, "hold").Result.TaskID
	awaitEvent(t, rs.bank.started)
	signal := func(s syscall.Signal) {
		if err := slow.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	unknown := make(chan rpcResponse, len(others))
	for _, r := range others {
		go func() { unknown <- callWithKey(t, r.url, "order", "one") }()
	}
	for _, r := range others {
		if got := <-unknown; !strings.Contains(got.text(), "its outcome is unknown") {
			t.Errorf("while it is held up: %+v", got)
		}
		await(t, func() bool { return sendTaskRPC(t, r.url, "tasks/get", task, nil).Result.Status == "failed" })
	}
	close(rs.bank.release)
	signal(syscall.SIGCONT)
	awaitEvent(t, rs.bank.cancelled)
	if got := <-first; got.text() != "it has come" {
		t.Errorf("%+v", got)
	}
	for _, r := range rs.all {
		if got := callWithKey(t, r.url, "order", "one"); got.text() != "it has come" {
			t.Errorf("%+v", got)
		}
		if got := sendTaskRPC(t, r.url, "tasks/get", task, nil); got.Result.Status != "failed" {
			t.Errorf("%+v", got)
		}
	}
	if n := rs.bank.paid.Load(); n != 1 {
		t.Errorf("one key has paid %d times", n)
	}
}
