package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/runtime/audit"
)

// kills is how often the process is killed: make kill KILLS=1000.
var kills = flag.Int("kills", 20, "how many processes that pay are killed, of those that keep what they remember in SQLite and of those that do in PostgreSQL")

// ledger is a service that carries out whatever it is told, as often as it is told.
type ledger struct {
	mu   sync.Mutex
	paid map[string]int // by order; guarded by mu
	keys map[string]int // that came with requests; guarded by mu
	told chan struct{}  // holds something after a request
	mute bool           // requests are carried out and not answered; guarded by mu
}

// silence says whether what is carried out is not answered from now on.
func (l *ledger) silence(mute bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mute = mute
}

func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var order struct{ Order string }
	json.Unmarshal(body, &order)
	l.mu.Lock()
	l.paid[order.Order]++
	l.keys[r.Header.Get("Idempotency-Key")]++
	n, mute := l.paid[order.Order], l.mute
	l.mu.Unlock()
	select {
	case l.told <- struct{}{}:
	default:
	}
	if mute {
		<-r.Context().Done() // who has asked is gone
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"times":%d}`, n)
}

// payingTools are three ways to pay: with a key, with a key and an approval, and with an approval alone.
const payingTools = `
connection "http" "bank" { base_url = "$BANK" }
tool "pay" {
  description = "Pay an order."
  input "order" { type = string }
  idempotency {}
  http "bank" {
    post = "/"
    json = { order = input.order }
  }
  text = "paid ${input.order} ${output.body.times} times"
}
tool "repay" {
  description = "Pay an order back."
  input "order" { type = string }
  idempotency {}
  approval {}
  http "bank" {
    post = "/"
    json = { order = input.order }
  }
  text = "paid ${input.order} ${output.body.times} times"
}
tool "gift" {
  description = "Pay as often as it is approved."
  input "order" { type = string }
  approval {}
  http "bank" {
    post = "/"
    json = { order = input.order }
  }
  text = "paid ${input.order} ${output.body.times} times"
}
`

// errand is what is to be paid. All but gifts have a key.
type errand struct{ tool, order string }

func (e errand) arguments() string {
	if e.tool == "gift" {
		return fmt.Sprintf(`{"order":%q}`, e.order)
	}
	return fmt.Sprintf(`{"order":%q,"idempotency_key":"key-%s"}`, e.order, e.order)
}

// counter is where errands are run while the processes behind it are killed and started again.
type counter struct {
	*office
	database string     // where they keep what they remember and write down; empty for files of the folder
	open     []*replica // one, or two with a database; replaced while nothing is run
	turn     atomic.Int64
	bank     *ledger
	decided  chan struct{} // holds something after a decision

	mu       sync.Mutex
	all      []errand
	answered map[string]string // by order, that were paid; guarded by mu
	approved map[string]bool   // approvals that were said to be given; guarded by mu
	calls    int               // guarded by mu
}

func openCounter(t *testing.T, database string) *counter {
	c := &counter{database: database, bank: &ledger{paid: map[string]int{}, keys: map[string]int{}, told: make(chan struct{}, 1)}, decided: make(chan struct{}, 1), answered: map[string]string{}, approved: map[string]bool{}}
	web := httptest.NewServer(c.bank)
	t.Cleanup(web.Close)
	if database == "" {
		c.office = newOffice(t, `state { sqlite = "state.db" }`)
	} else {
		c.office = newOffice(t, "secret \"state\" { env = \"STATE\" }\nstate { postgres = secret.state }")
		c.write(strings.ReplaceAll(c.text, `file = "audit.jsonl"`, "postgres = secret.state"))
	}
	if err := os.WriteFile(filepath.Join(c.dir, "pay.hcl"), []byte(strings.ReplaceAll(payingTools, "$BANK", web.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// serve starts the processes.
func (c *counter) serve() {
	c.open = []*replica{startReplica(c.t, c.dir, c.database)}
	if c.database != "" {
		c.open = append(c.open, startReplica(c.t, c.dir, c.database))
	}
}

// somewhere is the same server, asked through one of its processes after the other.
func (c *counter) somewhere() *office {
	return &office{t: c.t, dir: c.dir, replica: c.open[int(c.turn.Add(1))%len(c.open)]}
}

var paidLine = regexp.MustCompile(`paid [a-z0-9-]+ [0-9]+ times`)

// run calls a tool, and returns what it was told; empty when there was no answer.
func (c *counter) run(e errand) string {
	c.mu.Lock()
	c.calls++
	c.mu.Unlock()
	said := <-c.somewhere().call("eve", e.tool, e.arguments())
	if line := paidLine.FindString(said); line != "" {
		c.mu.Lock()
		defer c.mu.Unlock()
		if before := c.answered[e.order]; before != "" && before != line && e.tool != "gift" {
			c.t.Errorf("%s was answered with %s, and now with %s", e.order, before, line)
		}
		c.answered[e.order] = line
	}
	return said
}

// approve approves whatever waits, until it is told to stop.
func (c *counter) approve(stop <-chan struct{}) {
	every := time.NewTicker(10 * time.Millisecond)
	defer every.Stop()
	for {
		select {
		case <-stop:
			return
		case <-every.C:
		}
		var page struct{ Approvals []struct{ ID string } }
		got := send(c.somewhere().request("bob", http.MethodGet, "/approvals?status=pending", ""))
		if got.err != nil || json.Unmarshal([]byte(got.body), &page) != nil {
			continue
		}
		for _, a := range page.Approvals {
			got := send(c.somewhere().request("bob", http.MethodPost, "/approvals/"+a.ID+"/approve", `{}`))
			if got.err != nil || got.status != http.StatusOK {
				continue
			}
			c.mu.Lock()
			c.approved[a.ID] = true
			c.mu.Unlock()
			select {
			case c.decided <- struct{}{}:
			default:
			}
		}
	}
}

// begin is that errands of a round, and some that were not answered before, are run by so many at once. It is closed when all were.
func (c *counter) begin(round int, again []errand) (ended chan struct{}, tried []errand) {
	queue := make(chan errand, 32)
	for _, e := range again {
		queue <- e
	}
	for n, tool := range []string{"pay", "repay", "gift", "pay", "repay", "gift", "pay", "repay", "gift"} {
		e := errand{tool, fmt.Sprintf("%s-%d-%d", tool, round, n)}
		c.all, tried = append(c.all, e), append(tried, e)
		queue <- e
	}
	close(queue)
	var calling sync.WaitGroup
	for range 6 {
		calling.Go(func() {
			for e := range queue {
				c.run(e)
			}
		})
	}
	ended = make(chan struct{})
	go func() { calling.Wait(); close(ended) }()
	return ended, tried
}

// round starts the processes, has them pay, and kills them: of two the first while the other one goes on, and that one soon after.
func (c *counter) round(n int, again []errand) (unanswered []errand) {
	c.serve()
	for _, happened := range []chan struct{}{c.bank.told, c.decided} {
		select {
		case <-happened:
		default:
		}
	}
	c.bank.silence(n%10 == 9)
	defer c.bank.silence(false)
	ended, tried := c.begin(n, again)
	stop := make(chan struct{})
	var approving sync.WaitGroup
	approving.Go(func() { c.approve(stop) })
	var moment <-chan time.Time
	var told, decided <-chan struct{}
	switch {
	case n == 0: // when all is done
	case n%10 == 9, n%5 == 0: // while money moves, and has moved for certain where that is not answered
		told = c.bank.told
	case n%5 == 1: // when an approval was given, and may be in use
		decided = c.decided
	default:
		moment = time.After(time.Duration(rand.IntN(80)) * time.Millisecond)
	}
	select {
	case <-told:
	case <-decided:
	case <-moment:
	case <-ended:
	}
	for i, r := range c.open {
		if i > 0 {
			select {
			case <-time.After(time.Duration(rand.IntN(200)) * time.Millisecond):
			case <-ended:
			}
		}
		r.cmd.Process.Kill()
	}
	close(stop)
	<-ended
	approving.Wait()
	for _, r := range c.open {
		r.kill()
	}
	http.DefaultClient.CloseIdleConnections()
	for _, e := range tried {
		if c.answered[e.order] == "" && len(unanswered) < 6 {
			unanswered = append(unanswered, e)
		}
	}
	return unanswered
}

// settle asks for every errand again, and counts those of which nobody knows.
func (c *counter) settle() (unknown int) {
	c.serve()
	stop := make(chan struct{})
	var approving, asking sync.WaitGroup
	approving.Go(func() { c.approve(stop) })
	var mu sync.Mutex
	places := make(chan struct{}, 8)
	for _, e := range c.all {
		if e.tool == "gift" {
			continue
		}
		asking.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			c.mu.Lock()
			before := c.answered[e.order]
			c.mu.Unlock()
			said := c.run(e)
			switch {
			case strings.Contains(said, "outcome is unknown"):
				mu.Lock()
				unknown++
				mu.Unlock()
				if before != "" {
					c.t.Errorf("%s was answered with %s, and is unknown now", e.order, before)
				}
			case paidLine.FindString(said) != "paid "+e.order+" 1 times":
				c.t.Errorf("%s: %s", e.order, said)
			}
		})
	}
	asking.Wait()
	close(stop)
	approving.Wait()
	return unknown
}

// written is what the audit log says: how often each approval was used, for which order, and which calls of which orders have begun and ended well.
type written struct {
	used    map[string]int  // by approval
	gifts   map[string]int  // approvals that were used, by order
	begun   map[string]bool // by order
	ended   map[string]bool // by order
	decided map[string]bool // by approval
}

func (c *counter) written() *written {
	c.t.Helper()
	w := &written{map[string]int{}, map[string]int{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	orders := map[string]string{} // by call
	c.each(func(r audit.Record) {
		var arguments struct{ Order string }
		json.Unmarshal(r.Arguments, &arguments)
		switch {
		case r.Event == audit.EventIntent:
			orders[r.ID], w.begun[arguments.Order] = arguments.Order, true
			if r.Approval != nil && r.Approval.ID != "" {
				w.used[r.Approval.ID]++
				w.gifts[arguments.Order]++
			}
		case r.Event == audit.EventCall && r.Outcome == audit.OK:
			w.ended[orders[r.ID]+arguments.Order] = true // who is answered again has begun nothing
		case r.Event == audit.EventApproval && r.Decision == "approved":
			w.decided[r.Approval.ID] = true
		}
	})
	return w
}

// each gives what is in the audit log, whose chain holds.
func (c *counter) each(give func(audit.Record)) {
	c.t.Helper()
	read := func(l *audit.Line) bool {
		r, _ := l.Record()
		give(r)
		return true
	}
	file := filepath.Join(c.dir, "audit.jsonl")
	verify, pass := func() (*audit.Verdict, error) { return audit.Verify(file) }, func() error { return audit.Read(file, read) }
	if c.database != "" {
		verify, pass = func() (*audit.Verdict, error) { return audit.VerifyTable(c.t.Context(), c.database) }, func() error { return audit.ReadTable(c.t.Context(), c.database, read) }
	}
	if v, err := verify(); err != nil || v.Broken != nil {
		c.t.Fatal(v, err)
	}
	if err := pass(); err != nil {
		c.t.Fatal(err)
	}
}

// However often processes are killed while they pay, no order is paid twice and no approval is used twice: what was paid is answered again, what may have been is not tried again, and the audit log
// holds all that was done, decided and answered.
func TestAKilledProcessDoesNothingTwice(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) { paysOnce(t, "") })
	t.Run("PostgreSQL", func(t *testing.T) { paysOnce(t, emptySchema(t)) })
}

func paysOnce(t *testing.T, database string) {
	c := openCounter(t, database)
	var again []errand
	killed := 0
	for n := 0; killed < *kills; n++ {
		again = c.round(n, again)
		killed += len(c.open)
		if n%100 == 99 {
			c.written()
			t.Logf("%d kills, %d calls", killed, c.calls)
		}
	}
	calls, paid := c.calls, len(c.answered)
	unknown := c.settle()
	w := c.written()
	twice := 0
	c.bank.mu.Lock()
	defer c.bank.mu.Unlock()
	for order, n := range c.bank.paid {
		if gift := strings.HasPrefix(order, "gift"); !gift && (n != 1 || c.bank.keys["key-"+order] != 1) || gift && n > w.gifts[order] {
			twice++
			t.Errorf("%s was paid %d times, with the key %d times, by %d approvals", order, n, c.bank.keys["key-"+order], w.gifts[order])
		}
		if !w.begun[order] {
			t.Errorf("%s was paid, and nothing says so", order)
		}
		if strings.HasPrefix(order, "repay") && w.gifts[order] != 1 {
			t.Errorf("%s was paid by %d approvals", order, w.gifts[order])
		}
	}
	reused := 0
	for id, n := range w.used {
		if n != 1 {
			reused++
			t.Errorf("the approval %s was used %d times", id, n)
		}
		if !w.decided[id] {
			t.Errorf("the approval %s was used, and nothing says who has given it", id)
		}
	}
	for id := range c.approved {
		if !w.decided[id] {
			t.Errorf("the approval %s was said to be given, and nothing says so", id)
		}
	}
	for order, line := range c.answered {
		if c.bank.paid[order] == 0 || !w.ended[order] {
			t.Errorf("%s was answered with %s, was paid %d times, and its end is written down: %v", order, line, c.bank.paid[order], w.ended[order])
		}
	}
	if paid == 0 || unknown == 0 || len(w.used) == 0 {
		t.Errorf("%d orders were paid, %d are unknown, and %d approvals were used: the test has not killed at any interesting moment", paid, unknown, len(w.used))
	}
	t.Logf("%d kills, %d calls of %d orders, %d answered; %d effects, %d of them twice; %d approvals given, %d used, %d of them twice; %d outcomes unknown",
		killed, calls, len(c.all), paid, len(c.bank.paid), twice, len(w.decided), len(w.used), reused, unknown)
}
