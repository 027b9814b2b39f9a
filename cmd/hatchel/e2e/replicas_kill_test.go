package e2e_test

import (
	"flag"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hatchel/internal/proxytest"
)

// rounds is how often each process is killed and replaced, under how many clients of each kind: make replicas.
var rounds = flag.Int("rounds", 1, "how often the processes of a server are killed, and replaced, one after the other; more than one takes 8 clients of each SDK")

// clientsOfAKind is how many clients of each kind there are.
func clientsOfAKind() int {
	if *rounds > 1 {
		return 8
	}
	return 2
}

// callInterval is how often each client of a load makes a call, at most. A single round leaves most of the machine to
// what is tested and to other tests.
func callInterval() time.Duration {
	if *rounds > 1 {
		return time.Millisecond
	}
	return 100 * time.Millisecond
}

// load is calls that clients make one after the other, all clients at once.
type load struct {
	t       *testing.T
	stop    chan struct{}
	stopped sync.WaitGroup

	mu     sync.Mutex
	calls  int               // guarded by mu
	failed map[string]string // errors by n; guarded by mu
}

// startLoad begins calls of tools, which clients make in turn.
func startLoad(t *testing.T, clients []officialClient, tools ...string) *load {
	l := &load{t: t, stop: make(chan struct{}), failed: map[string]string{}}
	for _, c := range clients {
		l.stopped.Go(func() {
			next := time.NewTicker(callInterval())
			defer next.Stop()
			for i := 0; ; i++ {
				select {
				case <-l.stop:
					return
				case <-next.C:
				}
				n := nextNumber()
				err := checkNumberedCall(c, tools[i%len(tools)], n)
				l.mu.Lock()
				l.calls++
				if err != nil {
					l.failed[n] = err.Error()
				}
				l.mu.Unlock()
			}
		})
	}
	t.Cleanup(l.end)
	return l
}

// await waits until n more calls have ended.
func (l *load) await(n int) {
	l.t.Helper()
	ended := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.calls
	}
	before := ended()
	await(l.t, func() bool { return ended() >= before+n })
}

// end lets every client finish its call. It may be called again.
func (l *load) end() {
	select {
	case <-l.stop:
	default:
		close(l.stop)
	}
	l.stopped.Wait()
}

// checkNoneFailed reports failed calls, a few of them.
func (l *load) checkNoneFailed(t *testing.T) {
	t.Helper()
	shown := 0
	for _, err := range l.failed {
		if shown++; shown <= 5 {
			t.Error(err)
		}
	}
	if shown > 0 {
		t.Errorf("%d of %d calls have failed", shown, l.calls)
	}
}

// legacyKinds are the clients whose sessions must survive their process.
var legacyKinds = []clientKind{
	{"Go", "2025-11-25"}, {"TypeScript sdk", "2025-11-25"}, {"TypeScript client", "2025-11-25"},
}

// connectAll connects n clients of each kind.
func connectAll(t *testing.T, kinds []clientKind, url string, n int) (all []officialClient) {
	t.Helper()
	for _, kind := range kinds {
		all = append(all, kind.connect(t, url, n)...)
	}
	return all
}

// heldCall is a call whose user takes time to answer.
type heldCall struct {
	client officialClient
	n      string
	ended  chan struct{} // closed when text and err are set
	text   string
	err    error
}

// startHeldCall makes a call of the tool held and waits until the user is asked.
func startHeldCall(t *testing.T, c officialClient) *heldCall {
	t.Helper()
	h := startCall(c, "held")
	awaitNews(t, c, "question")
	return h
}

func startCall(c officialClient, tool string) *heldCall {
	h := &heldCall{client: c, n: nextNumber(), ended: make(chan struct{})}
	go func() {
		defer close(h.ended)
		h.text, h.err = c.call(tool, h.n)
	}()
	return h
}

// startAt starts calls until a process has one, and returns it and the others.
func (c *cluster) startAt(
	t *testing.T, kind clientKind, address string, start func(*testing.T, officialClient) *heldCall,
) (here *heldCall, elsewhere []*heldCall) {
	t.Helper()
	var clients []officialClient
	for range 30 {
		if len(clients) == 0 {
			clients = kind.connect(t, c.proxy.URL+"/mcp", len(c.replicas))
		}
		h := start(t, clients[0])
		clients = clients[1:]
		if c.proxy.ServedBy(h.n) == address {
			return h, elsewhere
		}
		elsewhere = append(elsewhere, h)
	}
	t.Fatalf("%s gets no call", address)
	return nil, nil
}

// checkAnswered releases the user of a call, and checks that it is answered.
func (h *heldCall) checkAnswered(t *testing.T) {
	t.Helper()
	h.client.release()
	awaitEvent(t, h.ended)
	if h.err != nil || h.text != "held "+h.n {
		t.Errorf("a call that waited for its user: %q, %v", h.text, h.err)
	}
}

// A process that is killed takes with it the calls that it runs, and nothing else: those that wait for their
// users go on.
func TestReplicasThatAreKilledLoseOnlyTheirCalls(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	load := startLoad(t, connectAll(t, append(legacyKinds, clientKind{"Go", "2026-07-28"}), c.proxy.URL+"/mcp", clientsOfAKind()), "echo", "form")
	startWorking := func(t *testing.T, client officialClient) *heldCall {
		t.Helper()
		h := startCall(client, "begun")
		awaitEvent(t, c.bank.started)
		return h
	}
	for n := range 3 * *rounds {
		i, r := n%3, c.replicas[n%3]
		load.await(50)
		kind := legacyKinds[(n+n/3)%len(legacyKinds)]
		waiting, others := c.startAt(t, kind, r.address(), startHeldCall)
		lost, running := c.startAt(t, kind, r.address(), startWorking)
		killed := time.Now()
		r.kill()
		awaitEvent(t, lost.ended)
		if lost.err == nil || !strings.Contains(lost.err.Error(), "interrupted") {
			t.Errorf("%s: the call of the process that was killed: %q, %v", kind, lost.text, lost.err)
		}
		t.Logf("%s was told of it after %s", kind, time.Since(killed).Round(time.Millisecond))
		load.await(50)
		for _, h := range append(others, waiting) {
			h.checkAnswered(t)
		}
		for _, h := range running {
			h.client.cancel(h.n)
			awaitEvent(t, h.ended)
		}
		for range len(running) + 1 {
			awaitEvent(t, c.bank.cancelled)
		}
		c.start(t, i)
		load.await(50)
	}
	load.end()
	for n, err := range load.failed {
		if !c.proxy.Lost(n) {
			t.Errorf("a call that no killed process ran has failed: %s", err)
		}
	}
	if n := c.proxy.Count(func(r proxytest.Request) bool { return r.Status == http.StatusNotFound }); n > 0 {
		t.Errorf("%d requests were answered with 404", n)
	}
	t.Logf("%d calls, %d failed", load.calls, len(load.failed))
}

// Three processes behind the nginx of docs/running.md are replaced one after the other.
func TestReplicasThatAreReplacedLoseNoCall(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	url := startNginx(t, c.replicas) + "/mcp"
	load := startLoad(t, connectAll(t, append(legacyKinds, clientKind{"Go", "2026-07-28"}), url, clientsOfAKind()), "echo", "form")
	c.replaceAll(t)
	load.await(50)
	load.end()
	load.checkNoneFailed(t)
	t.Logf("%d calls", load.calls)
}

// A call that waits for its user goes on in another process when its own is replaced.
func TestReplicasThatAreReplacedHandOverCallsThatWait(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	url := startNginx(t, c.replicas) + "/mcp"
	var waiting []*heldCall
	for _, client := range connectAll(t, legacyKinds, url, 3) { // all before a call waits, which a skipped test cannot end
		waiting = append(waiting, startHeldCall(t, client))
	}
	c.replaceAll(t)
	for _, h := range waiting {
		h.checkAnswered(t)
	}
}

// replaceAll replaces each process, one every two seconds.
func (c *cluster) replaceAll(t *testing.T) {
	t.Helper()
	next := time.NewTicker(2 * time.Second)
	defer next.Stop()
	for n := range len(c.replicas) * *rounds {
		<-next.C
		i := n % len(c.replicas)
		c.replicas[i].terminate(t)
		c.replicas[i].awaitEnd(t)
		c.start(t, i)
	}
}

// One process with a file, which is killed, stopped and started again, keeps the sessions of its clients.
func TestReplicasOfOneRestartUnderTheirClients(t *testing.T) {
	t.Parallel()
	state := fmt.Sprintf("state { sqlite = %q }", filepath.Join(t.TempDir(), "state.db"))
	c := newCluster(t, 1, state, "")
	clients := connectAll(t, legacyKinds, c.replicas[0].url+"/mcp", 8)
	for _, client := range clients {
		if err := client.setLevel("error"); err != nil {
			t.Fatal(err)
		}
		if err := client.subscribe("test://note"); err != nil {
			t.Fatal(err)
		}
	}
	for round, end := range []func(r *replica){
		func(r *replica) { r.kill() },
		func(r *replica) { r.terminate(t); r.awaitEnd(t) },
		func(r *replica) { r.kill() },
	} {
		load := startLoad(t, clients, "echo", "form")
		load.await(100)
		load.end()
		load.checkNoneFailed(t)
		awaitUpdates(t, c, clients) // a client whose stream is not open again gives up when it cannot open it twice
		end(c.replicas[0])
		c.start(t, 0)
		var checks sync.WaitGroup
		for i, client := range clients {
			checks.Go(func() {
				for _, tool := range []string{"echo", "form", "everybody"} {
					if err := checkCall(client, tool); err != nil {
						t.Errorf("round %d, client %d: %v", round, i, err)
					}
				}
				n := nextNumber()
				if err := checkNumberedCall(client, "noisy", n); err != nil {
					t.Errorf("round %d, client %d: %v", round, i, err)
				}
			})
		}
		checks.Wait()
	}
	awaitUpdates(t, c, clients)
}

// awaitUpdates waits until each client hears on its stream that a document has changed.
func awaitUpdates(t *testing.T, c *cluster, clients []officialClient) {
	t.Helper()
	for _, client := range clients {
		repeatUntilHeard(t, client, "updated test://note", func(i int) { c.write(t, "notes/note.txt", fmt.Sprint(i)) })
	}
}
