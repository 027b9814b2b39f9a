package e2e_test

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
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/internal/programtest"
	"hatchel/runtime/durable/audit"
)

// kills is the number of killed processes: make kill KILLS=1000.
var kills = flag.Int("kills", 20, "how many processes that pay are killed, of those that keep what they remember in SQLite and of those that do in PostgreSQL")

// paymentService carries out every request that it receives, and counts.
type paymentService struct {
	mu       sync.Mutex
	paid     map[string]int // by order; guarded by mu
	keys     map[string]int // that came with requests; guarded by mu
	received chan struct{}  // holds something after a request
	mute     bool           // requests are carried out and not answered; guarded by mu
}

// setMute makes the service carry out requests without a response.
func (l *paymentService) setMute(mute bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mute = mute
}

func (l *paymentService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var order struct{ Order string }
	json.Unmarshal(body, &order)
	n := l.carryOut(order.Order, r.Header.Get("Idempotency-Key"))
	if n == 0 {
		<-r.Context().Done() // who has asked is gone
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"times":%d}`, n)
}

// carryOut pays an order. It returns how often the order was paid; 0 if that is not answered.
func (l *paymentService) carryOut(order, key string) (times int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paid[order]++
	l.keys[key]++
	select {
	case l.received <- struct{}{}:
	default:
	}
	if l.mute {
		return 0
	}
	return l.paid[order]
}

// paymentTools are four ways to pay: with an idempotency key, with a key and an approval, with an
// approval only, and with a key and the consent of the user.
const paymentTools = `
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
secret "hook" { file = "hook.txt" }
webhook "ops" {
  url     = "$OPS"
  secret  = secret.hook
  timeout = "2s"
}
on "tool_result" {
  when   = "event.outcome == 'ok'"
  notify = ["ops"]
  limit  = "1000000/s"
}
on "approval.decided" {
  notify = ["ops"]
  limit  = "1000000/s"
}
tool "consent" {
  description = "Pay an order if the user is sure."
  input "order" { type = string }
  idempotency {}
  step "user" {
    ask "sure" {
      timeout = "5s"
      elicit { message = "Pay ${input.order}?" }
    }
  }
  step "money" {
    http "bank" {
      post = "/"
      json = { order = input.order }
    }
  }
  text = "paid ${input.order} ${step.money.body.times} times"
}
`

// payment is an order to pay. All but gifts have an idempotency key.
type payment struct{ tool, order string }

func (e payment) arguments() string {
	if e.tool == "gift" {
		return fmt.Sprintf(`{"order":%q}`, e.order)
	}
	return fmt.Sprintf(`{"order":%q,"idempotency_key":"key-%s"}`, e.order, e.order)
}

// killTest makes payments while the server processes are killed and restarted.
type killTest struct {
	*approvalServer
	database string     // where they keep what they remember and write down; empty for files of the folder
	replicas []*replica // one, or two with a database; replaced while nothing is run
	calls64  atomic.Int64
	bank     *paymentService
	decided  chan struct{} // holds something after a decision
	told     *resultCounter
	desk     string       // the file of the program that pays
	asked    atomic.Int64 // questions that were answered

	mu       sync.Mutex
	session  *wireClient // that asks its user; begun once, for all processes; guarded by mu
	payments []payment
	answered map[string]string // by order, that were paid; guarded by mu
	answers  map[string]int    // that said so, by order; guarded by mu
	approved map[string]bool   // approvals that were said to be given; guarded by mu
	calls    int               // guarded by mu
}

func newKillTest(t *testing.T, database string) *killTest {
	c := &killTest{database: database, bank: &paymentService{paid: map[string]int{}, keys: map[string]int{}, received: make(chan struct{}, 1)}, decided: make(chan struct{}, 1), answered: map[string]string{}, answers: map[string]int{}, approved: map[string]bool{}, told: &resultCounter{counts: map[string]int{}, decisions: map[string]int{}}}
	web := httptest.NewServer(c.bank)
	t.Cleanup(web.Close)
	ops := httptest.NewServer(c.told)
	t.Cleanup(ops.Close)
	if database == "" {
		c.approvalServer = newApprovalServer(t, `state { sqlite = "state.db" }`)
	} else {
		c.approvalServer = newApprovalServer(t, "secret \"state\" { env = \"STATE\" }\nstate { postgres = secret.state }")
		c.writeConfig(strings.ReplaceAll(c.text, `file = "audit.jsonl"`, "postgres = secret.state"))
	}
	tools := strings.NewReplacer("$BANK", web.URL, "$OPS", ops.URL).Replace(paymentTools)
	for name, text := range map[string]string{"pay.hcl": tools, "hook.txt": hookSecret} {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.writeUpstreams(t)
	return c
}

// startReplicas starts the server processes.
func (c *killTest) startReplicas() {
	c.replicas = []*replica{startReplica(c.t, c.dir, c.database)}
	if c.database != "" {
		c.replicas = append(c.replicas, startReplica(c.t, c.dir, c.database))
	}
}

// nextReplica returns the server as seen through the next of its processes.
func (c *killTest) nextReplica() *approvalServer {
	return &approvalServer{t: c.t, dir: c.dir, replica: c.replicas[int(c.calls64.Add(1))%len(c.replicas)]}
}

var paidLine = regexp.MustCompile(`paid [a-z0-9-]+ [0-9]+ times`)

// pay calls a tool and returns the response; empty when there was none.
func (c *killTest) pay(e payment) string {
	c.mu.Lock()
	c.calls++
	c.mu.Unlock()
	said := ""
	if e.tool == "consent" {
		said = c.payWithConsent(e)
	} else {
		said = <-c.nextReplica().startCall("eve", e.tool, e.arguments())
	}
	if line := paidLine.FindString(said); line != "" {
		c.mu.Lock()
		defer c.mu.Unlock()
		if before := c.answered[e.order]; before != "" && before != line && e.tool != "gift" {
			c.t.Errorf("%s was answered with %s, and now with %s", e.order, before, line)
		}
		c.answered[e.order] = line
		c.answers[e.order]++
	}
	return said
}

// nextSession returns the session, which all processes share, for a request to the next of them.
func (c *killTest) nextSession() *wireClient {
	to := c.nextReplica().replica
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		c.session = (&wireClient{url: to.url, path: "/mcp", key: apiKeyOf("eve")}).open(c.t)
	}
	return c.session.at(to)
}

// payWithConsent makes a call that asks its user, and answers through the next process. When the
// stream of the call ends too early, it continues at the next process.
func (c *killTest) payWithConsent(e payment) string {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":"%s-%d","method":"tools/call","params":{"name":"consent","arguments":%s}}`,
		e.order, c.calls64.Add(1), e.arguments())
	stream, said := c.openStream(http.MethodPost, body)
	for tries := 0; stream != nil && tries < 3; {
		event, ok := stream.next()
		switch {
		case ok && event.message.Method == "elicitation/create":
			answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept"}}`, event.message.ID)
			if status, _ := c.nextSession().status(http.MethodPost, answer); status == http.StatusAccepted {
				c.asked.Add(1)
			}
		case ok && event.message.ID != nil:
			return event.data
		case ok:
		case stream.last == "":
			return ""
		default:
			tries++
			stream, said = c.openStream(http.MethodGet, "", "Last-Event-Id", stream.last)
		}
	}
	return said
}

// openStream makes a request in the session. Without a stream it returns the body of the response.
func (c *killTest) openStream(method, body string, headers ...string) (*events, string) {
	res, err := c.nextSession().send(method, body, headers...)
	if err != nil {
		return nil, ""
	}
	if res.Header.Get("Content-Type") == "text/event-stream" {
		return readEvents(res), ""
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	if res.StatusCode == http.StatusNotFound {
		c.t.Errorf("%s: the session is not found: %s", method, text)
	}
	return nil, string(text)
}

// approveAll approves everything that is pending until stop is closed.
func (c *killTest) approveAll(stop <-chan struct{}) {
	every := time.NewTicker(10 * time.Millisecond)
	defer every.Stop()
	for {
		select {
		case <-stop:
			return
		case <-every.C:
		}
		var page struct{ Approvals []struct{ ID string } }
		got := programtest.Send(c.nextReplica().newRequest("bob", http.MethodGet, "/approvals?status=pending", ""))
		if got.Err != nil || json.Unmarshal([]byte(got.Body), &page) != nil {
			continue
		}
		for _, a := range page.Approvals {
			got := programtest.Send(c.nextReplica().newRequest("bob", http.MethodPost, "/approvals/"+a.ID+"/approve", `{}`))
			if got.Err != nil || got.Status != http.StatusOK {
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

// startRound makes the payments of a round, and some without an answer from before, concurrently.
// The channel is closed when all have ended.
func (c *killTest) startRound(round int, again []payment) (ended chan struct{}, tried []payment) {
	queue := make(chan payment, 32)
	for _, e := range again {
		queue <- e
	}
	for n, tool := range slices.Repeat([]string{"pay", "repay", "gift", "consent", "transfer", "wire"}, 2) {
		e := payment{tool, fmt.Sprintf("%s-%d-%d", tool, round, n)}
		c.payments, tried = append(c.payments, e), append(tried, e)
		queue <- e
	}
	close(queue)
	var calling sync.WaitGroup
	for range 6 {
		calling.Go(func() {
			for e := range queue {
				c.pay(e)
			}
		})
	}
	ended = make(chan struct{})
	go func() { calling.Wait(); close(ended) }()
	return ended, tried
}

// runRound starts the processes, makes payments, and kills the processes: of two the second one
// shortly after the first.
func (c *killTest) runRound(n int, again []payment) (unanswered []payment) {
	c.startReplicas()
	for _, happened := range []chan struct{}{c.bank.received, c.decided} {
		select {
		case <-happened:
		default:
		}
	}
	c.bank.setMute(n%10 == 9)
	defer c.bank.setMute(false)
	ended, tried := c.startRound(n, again)
	stop := make(chan struct{})
	var approving sync.WaitGroup
	approving.Go(func() { c.approveAll(stop) })
	var moment <-chan time.Time
	var told, decided <-chan struct{}
	switch {
	case n == 0: // when all is done
	case n%10 == 9, n%5 == 0: // while money moves, and has moved for certain where that is not answered
		told = c.bank.received
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
	for i, r := range c.replicas {
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
	for _, r := range c.replicas {
		r.kill()
	}
	c.awaitNoPrograms()
	http.DefaultClient.CloseIdleConnections()
	for _, e := range tried {
		if c.answered[e.order] == "" && len(unanswered) < 6 {
			unanswered = append(unanswered, e)
		}
	}
	return unanswered
}

// repeatAll makes every payment again, and counts those with an unknown outcome.
func (c *killTest) repeatAll() (unknown int) {
	c.startReplicas()
	stop := make(chan struct{})
	var approving, asking sync.WaitGroup
	approving.Go(func() { c.approveAll(stop) })
	var mu sync.Mutex
	places := make(chan struct{}, 8)
	for _, e := range c.payments {
		if e.tool == "gift" {
			continue
		}
		asking.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			c.mu.Lock()
			before := c.answered[e.order]
			c.mu.Unlock()
			said := c.pay(e)
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

// auditSummary is what the audit log says: the uses of every approval, and the orders whose calls
// have started and ended well.
type auditSummary struct {
	used    map[string]int    // by approval
	gifts   map[string]int    // approvals that were used, by order
	started map[string]bool   // by order
	ended   map[string]bool   // by order
	decided map[string]bool   // by approval
	orders  map[string]string // by call
}

func (c *killTest) summarizeAudit() *auditSummary {
	c.t.Helper()
	w := &auditSummary{map[string]int{}, map[string]int{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]string{}}
	orders := w.orders
	c.eachRecord(func(r audit.Record) {
		var arguments struct{ Order string }
		json.Unmarshal(r.Arguments, &arguments)
		switch {
		case r.Event == audit.EventIntent:
			orders[r.ID], w.started[arguments.Order] = arguments.Order, true
			if r.Approval != nil && r.Approval.ID != "" {
				w.used[r.Approval.ID]++
				w.gifts[arguments.Order]++
			}
		case r.Event == audit.EventCall && r.Outcome == audit.OK:
			orders[r.ID] += arguments.Order // who is answered again has begun nothing
			w.ended[orders[r.ID]] = true
		case r.Event == audit.EventApproval && r.Decision == "approved":
			w.decided[r.Approval.ID] = true
		}
	})
	return w
}

// eachRecord verifies the audit log and calls give with every record.
func (c *killTest) eachRecord(give func(audit.Record)) {
	c.t.Helper()
	read := func(l *audit.Line) bool {
		r, _ := l.Record()
		give(r)
		return true
	}
	file := filepath.Join(c.dir, "audit.jsonl")
	verify, pass := func() (*audit.Verdict, error) { return audit.Verify(c.t.Context(), audit.File(file)) }, func() error { return audit.File(file).Read(c.t.Context(), read) }
	if c.database != "" {
		verify, pass = func() (*audit.Verdict, error) { return audit.Verify(c.t.Context(), audit.Database(c.database)) }, func() error { return audit.Database(c.database).Read(c.t.Context(), read) }
	}
	if v, err := verify(); err != nil || v.Broken != nil {
		c.t.Fatal(v, err)
	}
	if err := pass(); err != nil {
		c.t.Fatal(err)
	}
}

// resultCounter is the receiver of the hooks.
type resultCounter struct {
	mu         sync.Mutex
	counts     map[string]int // of results, by call; guarded by mu
	decisions  map[string]int // deliveries, by approval; guarded by mu
	deliveries int            // of different results; guarded by mu
	again      int            // deliveries of the same; guarded by mu
}

func (o *resultCounter) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var e hookEvent
	if err != nil || json.Unmarshal(body, &e) != nil {
		return // the sender was killed
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if e.Type == "approval.decided" {
		o.decisions[e.Data.Approval.ID]++
		return
	}
	if o.counts[e.Data.CallID] > 0 {
		o.again++
		return
	}
	o.counts[e.Data.CallID] = e.Count
	o.deliveries++
}

// missing returns how many answers the hook has not told of. Results of one moment are told of as one, with the name of
// one call; others is how many these are.
func (o *resultCounter) missing(answers map[string]int, orders map[string]string) (missing, others int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	told := map[string]int{} // by order
	for id, n := range o.counts {
		told[orders[id]]++
		others += n - 1
	}
	for order, n := range answers {
		missing += max(0, n-told[order])
	}
	return missing, others
}

// checkDecisions waits until the hook has told of every approval that was said to be given.
func (c *killTest) checkDecisions() {
	c.t.Helper()
	missing, deliveries := 0, 0
	defer func() {
		c.t.Logf("%d approvals were answered; %d decisions were told of in %d deliveries; %d answered ones were not told of",
			len(c.approved), len(c.told.decisions), deliveries, missing)
	}()
	await(c.t.(*testing.T), func() bool {
		c.told.mu.Lock()
		defer c.told.mu.Unlock()
		missing, deliveries = 0, 0
		for _, n := range c.told.decisions {
			deliveries += n
		}
		for id := range c.approved {
			if c.told.decisions[id] == 0 {
				missing++
			}
		}
		return missing == 0
	})
}

// checkResults waits until the hook has told of every answer.
func (c *killTest) checkResults(w *auditSummary) {
	c.t.Helper()
	answers := 0
	for _, n := range c.answers {
		answers += n
	}
	missing, others := 0, 0
	defer func() {
		c.t.Logf("%d answers; %d results were told of in %d deliveries, and %d deliveries came again; %d answers were not told of",
			answers, c.told.deliveries+others, c.told.deliveries, c.told.again, max(0, missing-others))
	}()
	await(c.t.(*testing.T), func() bool {
		missing, others = c.told.missing(c.answers, w.orders)
		return missing <= others
	})
}

// However often processes are killed, no order is paid twice and no approval is used twice. A
// completed payment is answered again, one with an unknown outcome is not repeated, and the audit
// log has every effect, decision and answer. The webhook of a hook is told of every answer and of every decision that was
// answered.
func TestAKilledProcessDoesNothingTwice(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		testPaysOnce(t, "")
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		testPaysOnce(t, emptySchema(t))
	})
}

func testPaysOnce(t *testing.T, database string) {
	c := newKillTest(t, database)
	var again []payment
	killed := 0
	for n := 0; killed < *kills; n++ {
		again = c.runRound(n, again)
		killed += len(c.replicas)
		if n%100 == 99 {
			c.summarizeAudit()
			t.Logf("%d kills, %d calls", killed, c.calls)
		}
	}
	calls, paid := c.calls, len(c.answered)
	unknown := c.repeatAll()
	w := c.summarizeAudit()
	c.checkResults(w)
	c.checkDecisions()
	twice, byPrograms := 0, 0
	c.addProgramPayments()
	c.bank.mu.Lock()
	defer c.bank.mu.Unlock()
	for order, n := range c.bank.paid {
		// A step sends a key that is derived from that of the call.
		withKey := !strings.HasPrefix(order, "gift") && !strings.HasPrefix(order, "consent")
		if gift := strings.HasPrefix(order, "gift"); !gift && n != 1 || withKey && c.bank.keys["key-"+order] != 1 || gift && n > w.gifts[order] {
			twice++
			t.Errorf("%s was paid %d times, with the key %d times, by %d approvals", order, n, c.bank.keys["key-"+order], w.gifts[order])
		}
		if strings.HasPrefix(order, "wire") {
			byPrograms++
		}
		if !w.started[order] {
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
	if paid == 0 || byPrograms == 0 || unknown == 0 || len(w.used) == 0 || c.asked.Load() == 0 {
		t.Errorf("%d orders were paid, %d are unknown, %d approvals were used, and %d questions answered: the test has not killed at any interesting moment",
			paid, unknown, len(w.used), c.asked.Load())
	}
	t.Logf("%d kills, %d calls of %d orders, %d answered; %d effects, %d of them twice; %d approvals given, %d used, %d of them twice; %d questions answered; %d outcomes unknown",
		killed, calls, len(c.payments), paid, len(c.bank.paid), twice, len(w.decided), len(w.used), reused, c.asked.Load(), unknown)
}
