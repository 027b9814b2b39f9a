package e2e_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestACallResumesInAnyProcessOnce(t *testing.T) {
	t.Parallel()
	rs := startReplicas(t)
	served := map[string]bool{}
	for i := range 6 {
		asked := callTool(t, rs.url, "pay")
		if asked.Result.ResultType != "input_required" {
			t.Fatalf("%+v", asked)
		}
		done := resumeCall(t, rs.url, "pay", asked.Result.RequestState)
		if done.text() != "paid: accept" || rs.bank.paid.Load() != int64(i+1) {
			t.Fatalf("%+v, paid %d times", done, rs.bank.paid.Load())
		}
		if done.servedBy == asked.servedBy {
			t.Errorf("%s has asked and gone on", done.servedBy)
		}
		served[asked.servedBy], served[done.servedBy] = true, true
		for _, r := range rs.all {
			if again := resumeCall(t, r.url, "pay", asked.Result.RequestState); again.Error == nil || again.Error.Code != -32602 {
				t.Errorf("a state was taken again: %+v", again)
			}
		}
	}
	if len(served) != 3 {
		t.Errorf("nginx has asked %v", served)
	}
	state := callTool(t, rs.url, "pay").Result.RequestState
	var took sync.WaitGroup
	answers := make([]rpcResponse, 9)
	for i := range answers {
		took.Go(func() { answers[i] = resumeCall(t, rs.all[i%3].url, "pay", state) })
	}
	took.Wait()
	done := 0
	for _, a := range answers {
		if a.text() == "paid: accept" {
			done++
		}
	}
	if done != 1 || rs.bank.paid.Load() != 7 {
		t.Errorf("of nine at once %d went on, and paid %d times", done, rs.bank.paid.Load())
	}
}

func TestAnIdempotencyKeyIsKnownToEveryProcess(t *testing.T) {
	t.Parallel()
	rs := startReplicas(t)
	for range 6 {
		if got := buy(t, rs.url, "one"); got.text() != "bought" {
			t.Errorf("%+v", got)
		}
	}
	var all sync.WaitGroup
	answers := make([]rpcResponse, 9)
	for i := range answers {
		all.Go(func() { answers[i] = buy(t, rs.all[i%3].url, "two") })
	}
	all.Wait()
	for _, got := range answers {
		if got.text() != "bought" {
			t.Errorf("%+v", got)
		}
	}
	if n := rs.bank.paid.Load(); n != 2 {
		t.Errorf("two keys have paid %d times", n)
	}
}

func TestATaskIsAvailableThroughAnyProcess(t *testing.T) {
	t.Parallel()
	rs := startReplicas(t)
	begun := callTool(t, rs.url, "quiz")
	if begun.Result.ResultType != "task" {
		t.Fatalf("%+v", begun)
	}
	id := begun.Result.TaskID
	for _, r := range rs.all {
		await(t, func() bool { return sendTaskRPC(t, r.url, "tasks/get", id, nil).Result.Status == "input_required" })
	}
	for _, r := range rs.all {
		if r.address() == begun.servedBy {
			continue
		}
		if got := sendTaskRPC(t, r.url, "tasks/update", id, map[string]any{"who": map[string]any{"action": "accept", "content": map[string]any{"name": "Ada"}}}); got.Error != nil {
			t.Fatalf("%+v", got)
		}
	}
	for _, r := range rs.all {
		var got rpcResponse
		await(t, func() bool {
			got = sendTaskRPC(t, r.url, "tasks/get", id, nil)
			return got.Result.Status != "working"
		})
		if got.Result.Status != "completed" || got.text() != "it was Ada" {
			t.Errorf("%+v", got)
		}
	}
}

func TestACancellationReachesTheProcessOfTheTask(t *testing.T) {
	t.Parallel()
	rs := startReplicas(t)
	begun := callTool(t, rs.url, "hold")
	awaitEvent(t, rs.bank.started)
	for _, r := range rs.all {
		if r.address() != begun.servedBy {
			if got := sendTaskRPC(t, r.url, "tasks/cancel", begun.Result.TaskID, nil); got.Error != nil {
				t.Fatalf("%+v", got)
			}
			break
		}
	}
	awaitEvent(t, rs.bank.cancelled)
	for _, r := range rs.all {
		if got := sendTaskRPC(t, r.url, "tasks/get", begun.Result.TaskID, nil); got.Result.Status != "cancelled" {
			t.Errorf("%+v", got)
		}
	}
}

func TestTasksOfAKilledProcessAreInterrupted(t *testing.T) {
	t.Parallel()
	rs := startReplicas(t)
	begun := callTool(t, rs.url, "hold")
	awaitEvent(t, rs.bank.started)
	var left []*replica
	for _, r := range rs.all {
		if r.address() == begun.servedBy {
			r.kill()
		} else {
			left = append(left, r)
		}
	}
	if len(left) != 2 {
		t.Fatalf("%s is none of them", begun.servedBy)
	}
	killed := time.Now()
	for _, r := range left {
		var got rpcResponse
		await(t, func() bool {
			got = sendTaskRPC(t, r.url, "tasks/get", begun.Result.TaskID, nil)
			return got.Result.Status != "working"
		})
		if got.Result.Status != "failed" || !strings.Contains(got.Result.StatusMessage, `whether the step "hold" took effect is unknown`) {
			t.Errorf("%+v", got)
		}
		t.Logf("said after %s", time.Since(killed).Round(time.Millisecond))
	}
	for range 6 {
		if got := callTool(t, rs.url, "plain"); got.text() != "plain" {
			t.Errorf("%+v", got)
		}
	}
}

// proxy is a TCP proxy to a database that can be disconnected.
type proxy struct {
	t  *testing.T
	to string
	at string

	mu    sync.Mutex
	open  net.Listener // nil when it is cut; guarded by mu
	conns []net.Conn   // guarded by mu
	sent  bytes.Buffer // what was sent to the database; guarded by mu

	refused atomic.Int64 // connections that were closed at once
	refuses atomic.Bool  // closes each connection at once
}

// Write records what is sent to the database.
func (l *proxy) Write(sent []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent.Write(sent)
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l := &proxy{t: t, to: to, at: reserveAddress(t)}
	l.connect()
	t.Cleanup(l.disconnect)
	return l
}

func (l *proxy) connect() {
	l.t.Helper()
	var listener net.Listener
	await(l.t, func() (open bool) { // a connection of another program may have taken the port meanwhile
		var err error
		listener, err = net.Listen("tcp", l.at)
		return err == nil
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = listener
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			if l.refuses.Load() {
				near.Close()
				l.refused.Add(1)
				continue
			}
			far, err := net.Dial("tcp", l.to)
			if err != nil {
				near.Close()
				return
			}
			l.mu.Lock()
			if l.open != listener { // it was cut in the meantime
				l.mu.Unlock()
				near.Close()
				far.Close()
				return
			}
			l.conns = append(l.conns, near, far)
			l.mu.Unlock()
			go io.Copy(near, far)
			go io.Copy(far, io.TeeReader(near, l))
		}
	}()
}

func (l *proxy) disconnect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		return
	}
	l.open.Close()
	for _, c := range l.conns {
		c.Close()
	}
	l.open, l.conns = nil, nil
}

func TestAnUnavailableStateIsReportedAndRecovers(t *testing.T) {
	t.Parallel()
	database, err := url.Parse(emptySchema(t))
	if err != nil {
		t.Fatal(err)
	}
	way := newProxy(t, database.Host)
	database.Host = way.at
	_, address := startBank(t)
	r := startReplica(t, writeReplicaConfig(t), database.String(), "--var", "bank="+address)
	state, long := callTool(t, r.url, "pay").Result.RequestState, callTool(t, r.url, "long").Result.RequestState
	quiz := callTool(t, r.url, "quiz").Result.TaskID
	way.disconnect()
	if got := resumeCall(t, r.url, "pay", state); got.Error == nil || !strings.Contains(got.Error.Message, "state store is unavailable. Try again") {
		t.Errorf("a call that goes on: %+v", got)
	}
	if got := callTool(t, r.url, "long"); !strings.Contains(got.text(), "the client could not be asked") {
		t.Errorf("a call that asks: %+v", got)
	}
	if got := callTool(t, r.url, "quiz"); got.Error == nil || !strings.Contains(got.Error.Message, "Try again") {
		t.Errorf("a call that becomes a task: %+v", got)
	}
	if got := sendTaskRPC(t, r.url, "tasks/get", quiz, nil); got.Error == nil || !strings.Contains(got.Error.Message, "Try again") {
		t.Errorf("a task: %+v", got)
	}
	if got := callTool(t, r.url, "plain"); got.text() != "plain" {
		t.Errorf("a call that needs nothing: %+v", got)
	}
	if status, body := readyz(t, r.url); status != http.StatusOK || !strings.Contains(body, `"state":{"ok":false,"error":"itcannotbereached"}`) {
		t.Errorf("%d %s", status, body)
	}
	way.connect()
	await(t, func() bool {
		_, body := readyz(t, r.url)
		return strings.Contains(body, `"state":{"ok":true}`)
	})
	if got := resumeCall(t, r.url, "pay", state); got.text() != "paid: accept" {
		t.Errorf("%+v", got)
	}
	if got := resumeCall(t, r.url, "long", long); !strings.HasPrefix(got.text(), "much much") {
		t.Errorf("%+v", got)
	}
}
