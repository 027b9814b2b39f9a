package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	hookPath   = "/hooks?token=hunter22"
)

// webhookConfig declares tasks and approvals with a webhook. A state block is put before it.
const webhookConfig = `
secret "hook" { file = "hook.txt" }
variable "ops" { type = string }
variable "bank" { type = string }
connection "http" "bank" { base_url = var.bank }
webhook "ops" {
  url     = var.ops
  secret  = secret.hook
  timeout = "2s"
}
tool "quick" {
  description = "Be done at once."
  task {
    mode     = "required"
    notify = ["ops"]
  }
  text = "done"
}
tool "refund" {
  description = "Refund, if an operator agrees."
  approval { notify = ["ops"] }
  text = "refunded"
}
tool "brief" {
  description = "Take longer than it is remembered."
  task {
    mode     = "required"
    ttl      = "1s"
    notify = ["ops"]
  }
  step "hold" {
    http "bank" { get = "/hold" }
  }
  text = "done"
}
tool "ask" {
  description = "Ask, and remember for long."
  task {
    mode     = "required"
    notify = ["ops"]
  }
  step "sure" {
    ask "sure" {
      elicit { message = "Sure?" }
    }
  }
  text = "done"
}
tool "unanswered" {
  description = "Ask, and forget soon."
  task {
    mode     = "required"
    ttl      = "1s"
    notify = ["ops"]
  }
  step "sure" {
    ask "sure" {
      elicit { message = "Sure?" }
    }
  }
  text = "done"
}
tool "hold" {
  description = "Take long."
  task {
    mode     = "required"
    notify = ["ops"]
  }
  step "hold" {
    http "bank" { get = "/hold" }
  }
  text = "done"
}
`

func writeWebhookConfig(t *testing.T, before string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{"tools.hcl": before + webhookConfig, "hook.txt": hookSecret + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// writeSlowWebhookConfig writes the configuration with a webhook timeout that no delivery reaches,
// so that none is repeated.
func writeSlowWebhookConfig(t *testing.T, before string) (dir string) {
	t.Helper()
	dir = writeWebhookConfig(t, before)
	patient := strings.Replace(webhookConfig, `timeout = "2s"`, `timeout = "60s"`, 1)
	if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(before+patient), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// webhookEvent is the body of a delivery.
type webhookEvent struct {
	Type string
	Data struct {
		ID, Tool, Status string
		Decision         struct{ By, Reason string }
		Result           struct{ Content []struct{ Text string } }
		Error            struct{ Message string }
	}
}

// webhookReceiver receives deliveries, and verifies each with the reference library.
type webhookReceiver struct {
	t      *testing.T
	server *http.Server
	addr   string

	mu     sync.Mutex
	answer int // 0 never answers; guarded by mu, as what follows
	events []webhookEvent
	ids    []string
	bodies []string
}

func startReceiver(t *testing.T, answer int) *webhookReceiver {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &webhookReceiver{t: t, addr: listener.Addr().String(), answer: answer}
	o.server = &http.Server{Handler: o}
	go o.server.Serve(listener)
	t.Cleanup(func() { o.server.Close() })
	return o
}

func (o *webhookReceiver) url() string { return "http://" + o.addr + hookPath }

func (o *webhookReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	oracle, err := webhooks.NewWebhook(hookSecret)
	if err == nil {
		err = oracle.Verify(body, r.Header)
	}
	var f webhookEvent
	if err == nil && !json.Valid(body) {
		err = errors.New("no JSON")
	}
	json.Unmarshal(body, &f) // as far as it is about an approval or a task
	if err != nil || r.URL.RequestURI() != hookPath || r.Method != http.MethodPost {
		o.t.Errorf("%s %s: %v: %s", r.Method, r.URL, err, body)
	}
	o.mu.Lock()
	o.events, o.ids = append(o.events, f), append(o.ids, r.Header.Get("webhook-id"))
	o.bodies = append(o.bodies, string(body))
	answer := o.answer
	o.mu.Unlock()
	if answer == 0 {
		<-r.Context().Done()
		return
	}
	w.WriteHeader(answer)
}

// setStatus sets the status of responses, and returns the number of events so far.
func (o *webhookReceiver) setStatus(status int) (come int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answer = status
	return len(o.events)
}

func (o *webhookReceiver) all() ([]webhookEvent, []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.events), slices.Clone(o.ids)
}

// awaitEvents waits for event n, counted from 1.
func (o *webhookReceiver) awaitEvents(t *testing.T, n int) (f webhookEvent, id string) {
	t.Helper()
	await(t, func() bool {
		got, ids := o.all()
		if len(got) < n {
			return false
		}
		f, id = got[n-1], ids[n-1]
		return true
	})
	return f, id
}

func (f webhookEvent) matches(id, tool, status string) bool {
	return f.Type == "task.finished" && f.Data.ID == id && f.Data.Tool == tool && f.Data.Status == status
}

func TestEveryTaskIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	bank, address := startBank(t)
	ops := startReceiver(t, 200)
	r := startReplica(t, writeSlowWebhookConfig(t, ""), "", "--var", "bank="+address, "--var", "ops="+ops.url(), "--state", filepath.Join(t.TempDir(), "state.db"))
	done := callTool(t, r.url, "quick").Result.TaskID
	if f, _ := ops.awaitEvents(t, 1); !f.matches(done, "quick", "completed") || len(f.Data.Result.Content) != 1 || f.Data.Result.Content[0].Text != "done" {
		t.Errorf("%+v", f)
	}
	held := callTool(t, r.url, "hold").Result.TaskID
	awaitEvent(t, bank.started)
	if got := sendTaskRPC(t, r.url, "tasks/cancel", held, nil); got.Error != nil {
		t.Fatalf("%+v", got)
	}
	if f, _ := ops.awaitEvents(t, 2); !f.matches(held, "hold", "cancelled") {
		t.Errorf("%+v", f)
	}
	awaitEvent(t, bank.cancelled)
	brief := callTool(t, r.url, "brief").Result.TaskID
	if f, _ := ops.awaitEvents(t, 3); !f.matches(brief, "brief", "failed") || !strings.Contains(f.Data.Error.Message, "has passed before it was done") {
		t.Errorf("%+v", f)
	}
	await(t, func() bool { return pendingDeliveries(t, r.url) == 0 })
	if got, _ := ops.all(); len(got) != 3 {
		t.Errorf("%+v", got)
	}
}

// pendingDeliveries returns the number of pending deliveries that /readyz reports.
func pendingDeliveries(t *testing.T, url string) int {
	t.Helper()
	_, body := readyz(t, url)
	if strings.Contains(body, "hunter22") || strings.Contains(body, hookSecret[6:]) {
		t.Errorf("a secret is shown: %s", body)
	}
	var ready struct {
		Webhooks []struct {
			Name, To, Error string
			Waiting         int
		}
	}
	if err := json.Unmarshal([]byte(body), &ready); err != nil || len(ready.Webhooks) != 1 || ready.Webhooks[0].Name != "ops" {
		t.Fatalf("%v: %s", err, body)
	}
	return ready.Webhooks[0].Waiting
}

func TestADeliverySurvivesAKilledProcess(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]string{"of the folder": "state { sqlite = \"state.db\" }\n", "named": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, address := startBank(t)
			ops := startReceiver(t, 0)
			flags := []string{"--var", "bank=" + address, "--var", "ops=" + ops.url()}
			dir := writeWebhookConfig(t, before)
			if before == "" {
				flags = append(flags, "--state", filepath.Join(t.TempDir(), "state.db"))
			}
			r := startReplica(t, dir, "", flags...)
			id := callTool(t, r.url, "quick").Result.TaskID
			_, first := ops.awaitEvents(t, 1) // it is being sent
			r.kill()
			sent := ops.setStatus(503)
			r = startReplica(t, dir, "", flags...)
			if f, again := ops.awaitEvents(t, sent+1); !f.matches(id, "quick", "completed") || again != first {
				t.Errorf("%s and %s: %+v", first, again, f)
			}
			await(t, func() bool { return pendingDeliveries(t, r.url) == 1 })
			r.kill() // it waits to be sent again
			sent = ops.setStatus(200)
			r = startReplica(t, dir, "", flags...)
			if f, again := ops.awaitEvents(t, sent+1); !f.matches(id, "quick", "completed") || again != first {
				t.Errorf("%s and %s: %+v", first, again, f)
			}
			await(t, func() bool { return pendingDeliveries(t, r.url) == 0 })
		})
	}
}

func TestAnInterruptedTaskIsDelivered(t *testing.T) {
	t.Parallel()
	bank, address := startBank(t)
	ops := startReceiver(t, 204)
	dir, flags := writeWebhookConfig(t, "state { sqlite = \"state.db\" }\n"), []string{"--var", "bank=" + address, "--var", "ops=" + ops.url()}
	r := startReplica(t, dir, "", flags...)
	id := callTool(t, r.url, "hold").Result.TaskID
	awaitEvent(t, bank.started)
	r.kill()
	startReplica(t, dir, "", flags...)
	if f, _ := ops.awaitEvents(t, 1); !f.matches(id, "hold", "failed") || !strings.Contains(f.Data.Error.Message, "interrupted by a restart") {
		t.Errorf("%+v", f)
	}
}

func TestOneOfSeveralProcessesDeliversAnEvent(t *testing.T) {
	t.Parallel()
	database := emptySchema(t)
	_, address := startBank(t)
	ops := startReceiver(t, 200)
	dir := writeSlowWebhookConfig(t, "secret \"state\" { env = \"STATE\" }\nstate { postgres = secret.state }\n")
	var all []*replica
	for range 3 {
		all = append(all, startReplica(t, dir, database, "--var", "bank="+address, "--var", "ops="+ops.url()))
	}
	const each = 10
	var calling sync.WaitGroup
	for _, r := range all {
		calling.Go(func() {
			for range each {
				if got := callTool(t, r.url, "quick"); got.Result.TaskID == "" {
					t.Errorf("%+v", got)
				}
			}
		})
	}
	calling.Wait()
	ops.awaitEvents(t, 3*each)
	await(t, func() bool { return pendingDeliveries(t, all[0].url) == 0 })
	_, ids := ops.all()
	sent := len(ids)
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) != 3*each || sent > 3*each+3 {
		t.Errorf("%d of %d tasks were told of, in %d requests", len(ids), 3*each, sent)
	}
	t.Logf("%d requests for %d tasks", sent, len(ids))
}

// A delivery of a killed process is made by another one.
func TestOtherProcessesDeliverTheEventsOfAKilledOne(t *testing.T) {
	t.Parallel()
	database := emptySchema(t)
	_, address := startBank(t)
	ops := startReceiver(t, 0)
	dir := writeWebhookConfig(t, "secret \"state\" { env = \"STATE\" }\nstate { postgres = secret.state }\n")
	flags := []string{"--var", "bank=" + address, "--var", "ops=" + ops.url()}
	first := startReplica(t, dir, database, flags...)
	id := callTool(t, first.url, "quick").Result.TaskID
	_, sent := ops.awaitEvents(t, 1)
	for range 2 {
		startReplica(t, dir, database, flags...)
	}
	first.kill()
	ops.setStatus(200)
	began := time.Now()
	if f, again := ops.awaitEvents(t, 2); !f.matches(id, "quick", "completed") || again != sent {
		t.Errorf("%s and %s: %+v", sent, again, f)
	}
	t.Log(fmt.Sprint("delivered after ", time.Since(began).Round(time.Millisecond)))
}

func TestAReloadChangesTheURLOfAWebhook(t *testing.T) {
	t.Parallel()
	_, address := startBank(t)
	old, moved := startReceiver(t, 500), startReceiver(t, 200)
	dir := writeWebhookConfig(t, "state { sqlite = \"state.db\" }\n")
	r := startReplica(t, dir, "", "--var", "bank="+address, "--var", "ops="+old.url())
	id := callTool(t, r.url, "quick").Result.TaskID
	_, first := old.awaitEvents(t, 1)
	text, err := os.ReadFile(filepath.Join(dir, "tools.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), "= var.ops", "= var.ops == \"\" ? \"\" : "+secretURL(t, dir, moved), 1))
	if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if f, again := moved.awaitEvents(t, 1); !f.matches(id, "quick", "completed") || again != first {
		t.Errorf("%s and %s: %+v", first, again, f)
	}
}

// secretURL makes the URL of a receiver, which has a token, a secret of a directory, and returns the secret.
func secretURL(t *testing.T, dir string, o *webhookReceiver) string {
	t.Helper()
	for name, text := range map[string]string{
		"moved.txt": o.url(), "moved.hcl": "secret \"moved\" { file = \"moved.txt\" }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return "secret.moved"
}

// Events while a webhook is disabled are never delivered. Pending ones are delivered when it is
// enabled again.
func TestAWebhookCanBeDisabledAndEnabled(t *testing.T) {
	t.Parallel()
	_, address := startBank(t)
	old, moved := startReceiver(t, 500), startReceiver(t, 200)
	dir := writeWebhookConfig(t, "state { sqlite = \"state.db\" }\n")
	r := startReplica(t, dir, "", "--var", "bank="+address, "--var", "ops="+old.url())
	text, err := os.ReadFile(filepath.Join(dir, "tools.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	leads := func(url, ready string) {
		t.Helper()
		changed := strings.Replace(string(text), "= var.ops", fmt.Sprintf("= var.ops == \"\" ? \"\" : %s", url), 1)
		if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		await(t, func() bool {
			_, body := readyz(t, r.url)
			return strings.Contains(body, ready)
		})
	}
	waited := callTool(t, r.url, "quick").Result.TaskID
	old.awaitEvents(t, 1)
	leads("null", `"name":"ops","off":true,"waiting":1,`)
	untold := callTool(t, r.url, "quick").Result.TaskID
	await(t, func() bool {
		return sendRPC(t, r.url, "tasks/get", map[string]any{"taskId": untold}).Result.Status == "completed"
	})
	leads(secretURL(t, dir, moved), `"to":"http://`+moved.addr)
	last := callTool(t, r.url, "quick").Result.TaskID
	moved.awaitEvents(t, 2)
	got, _ := moved.all()
	for _, id := range []string{waited, last} {
		if !slices.ContainsFunc(got, func(f webhookEvent) bool { return f.matches(id, "quick", "completed") }) {
			t.Errorf("%s is not among %+v", id, got)
		}
	}
	if slices.ContainsFunc(got, func(f webhookEvent) bool { return f.Data.ID == untold }) {
		t.Errorf("what happened while it was off is told: %+v", got)
	}
}

// A decision of another process is delivered by the server.
func TestApprovalEventsAreDelivered(t *testing.T) {
	t.Parallel()
	_, address := startBank(t)
	ops := startReceiver(t, 200)
	dir := writeWebhookConfig(t, "state { sqlite = \"state.db\" }\n")
	flags := []string{"--var", "bank=" + address, "--var", "ops=" + ops.url()}
	r := startReplica(t, dir, "", flags...)
	task := callTool(t, r.url, "refund").Result.TaskID
	asked, _ := ops.awaitEvents(t, 1)
	if asked.Type != "approval.requested" || asked.Data.Tool != "refund" || asked.Data.Status != "pending" {
		t.Fatalf("%+v", asked)
	}
	r.kill()
	decide := exec.Command("hatchel", append([]string{"approvals", "approve", asked.Data.ID, "-C", dir, "--reason", "all is well"}, flags...)...)
	decide.Env = r.cmd.Env
	if said, err := decide.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	startReplica(t, dir, "", flags...)
	var decided webhookEvent
	var id string
	await(t, func() bool { // what it was told before may come again, because it was killed then
		got, ids := ops.all()
		i := slices.IndexFunc(got, func(f webhookEvent) bool { return f.Type == "approval.decided" })
		if i >= 0 {
			decided, id = got[i], ids[i]
		}
		return i >= 0
	})
	if decided.Data.ID != asked.Data.ID || decided.Data.Status != "approved" || decided.Data.Decision.Reason != "all is well" || id == asked.Data.ID || task == "" {
		t.Errorf("%s: %+v", id, decided)
	}
}

func TestAVoidedApprovalIsDelivered(t *testing.T) {
	t.Parallel()
	_, address := startBank(t)
	ops := startReceiver(t, 200)
	dir := writeWebhookConfig(t, "state { sqlite = \"state.db\" }\n")
	r := startReplica(t, dir, "", "--var", "bank="+address, "--var", "ops="+ops.url())
	callTool(t, r.url, "refund")
	asked, _ := ops.awaitEvents(t, 1)
	file := filepath.Join(dir, "tools.hcl")
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.Replace(string(text), `"refunded"`, `"paid back"`, 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	void, _ := ops.awaitEvents(t, 2)
	if void.Type != "approval.decided" || void.Data.ID != asked.Data.ID || void.Data.Status != "void" || !strings.Contains(void.Data.Decision.Reason, "was changed") {
		t.Errorf("%+v", void)
	}
}

func TestAnUnansweredTaskIsDelivered(t *testing.T) {
	t.Parallel()
	_, address := startBank(t)
	ops := startReceiver(t, 200)
	r := startReplica(t, writeWebhookConfig(t, "state { sqlite = \"state.db\" }\n"), "", "--var", "bank="+address, "--var", "ops="+ops.url())
	lapses := callTool(t, r.url, "unanswered").Result.TaskID
	if f, _ := ops.awaitEvents(t, 1); !f.matches(lapses, "unanswered", "failed") || !strings.Contains(f.Data.Error.Message, "The time for which the task is kept has passed") {
		t.Errorf("%+v", f)
	}
	// One that is answered is told of once, and of what became of it.
	id := callTool(t, r.url, "ask").Result.TaskID
	await(t, func() bool { return sendTaskRPC(t, r.url, "tasks/get", id, nil).Result.Status == "input_required" })
	sendTaskRPC(t, r.url, "tasks/update", id, map[string]any{"sure": map[string]any{"action": "accept"}})
	if f, _ := ops.awaitEvents(t, 2); !f.matches(id, "ask", "completed") {
		t.Errorf("%+v", f)
	}
	cancelled := callTool(t, r.url, "ask").Result.TaskID
	await(t, func() bool {
		return sendTaskRPC(t, r.url, "tasks/get", cancelled, nil).Result.Status == "input_required"
	})
	sendTaskRPC(t, r.url, "tasks/cancel", cancelled, nil)
	if f, _ := ops.awaitEvents(t, 3); !f.matches(cancelled, "ask", "cancelled") {
		t.Errorf("%+v", f)
	}
}
