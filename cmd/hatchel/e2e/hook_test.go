package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// hookConfig declares tools with events for hooks, which are put after it.
const hookConfig = `
secret "hook" { file = "hook.txt" }
variable "ops" { type = string }
webhook "ops" {
  url    = var.ops
  secret = secret.hook
}
tool "greet" {
  description = "Greet."
  input "name" { type = string }
  input "pin" {
    type      = optional(string)
    sensitive = true
  }
  text = "Hello ${input.name}${input.pin == null ? "" : "!"}"
}
tool "break" {
  description = "Fail."
  step "no" {
    fail { message = "It is broken." }
  }
}
`

// hookEvent is the body of a delivery of a hook.
type hookEvent struct {
	Type  string
	Count int
	Data  struct {
		Type    string
		Tool    string
		CallID  string `json:"tool_call_id"`
		Outcome string
		Error   string
		Input   struct{ Name, Pin string }
		Result  string

		Approval struct{ ID string }
	}
}

// hookEvents returns what the hooks have sent.
func (o *webhookReceiver) hookEvents() (all []hookEvent) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, body := range o.bodies {
		var e hookEvent
		if err := json.Unmarshal([]byte(body), &e); err != nil || e.Count == 0 || e.Type != e.Data.Type {
			o.t.Errorf("%v: %s", err, body)
		}
		all = append(all, e)
	}
	return all
}

// countOf returns how many events of a type the hooks have sent, in how many deliveries.
func (o *webhookReceiver) countOf(kind string) (events, deliveries int) {
	for _, e := range o.hookEvents() {
		if e.Type == kind {
			events, deliveries = events+e.Count, deliveries+1
		}
	}
	return events, deliveries
}

// startHooks starts a server with hooks. Before is put before its configuration.
func startHooks(t *testing.T, ops *webhookReceiver, database, before, hooks string) (r *replica, reload func(hooks string)) {
	t.Helper()
	dir := t.TempDir()
	write := func(hooks string) {
		t.Helper()
		for name, text := range map[string]string{"hook.txt": hookSecret + "\n", "tools.hcl": before + hookConfig + hooks} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(hooks)
	r = startReplica(t, dir, database, "--var", "ops="+ops.url())
	return r, func(hooks string) {
		t.Helper()
		_, before := readyz(t, r.url)
		write(hooks)
		await(t, func() bool {
			_, now := readyz(t, r.url)
			return revisionOf(t, now) != revisionOf(t, before)
		})
	}
}

func revisionOf(t *testing.T, ready string) string {
	t.Helper()
	var report struct{ Revision string }
	if err := json.Unmarshal([]byte(ready), &report); err != nil {
		t.Fatal(err)
	}
	return report.Revision
}

func greet(t *testing.T, url, name, pin string) rpcResponse {
	t.Helper()
	return sendRPC(t, url, "tools/call", map[string]any{"name": "greet", "arguments": map[string]any{"name": name, "pin": pin}})
}

const sqliteState = "state { sqlite = \"state.db\" }\n"

func TestAHookDeliversWhatItSelects(t *testing.T) {
	t.Parallel()
	ops := startReceiver(t, 200)
	r, _ := startHooks(t, ops, "", sqliteState, `
on "tool_result" {
  tools  = ["b*"]
  when   = "event.outcome == 'failed'"
  notify = ["ops"]
}
on "tool_call" {
  tools  = ["greet"]
  when   = "event.input.name != 'nobody'"
  notify = ["ops"]
  limit  = "1000/s"
}
on "server" { notify = ["ops"] }
`)
	ops.awaitEvents(t, 1)
	if e := ops.hookEvents()[0]; e.Type != "server" {
		t.Errorf("%+v", e)
	}
	if got := callTool(t, r.url, "break"); got.text() != "It is broken." {
		t.Errorf("%+v", got)
	}
	ops.awaitEvents(t, 2)
	if e := ops.hookEvents()[1]; e.Data.Tool != "break" || e.Data.Outcome != "failed" || e.Data.Error != "It is broken." || e.Data.CallID == "" || e.Count != 1 {
		t.Errorf("%+v", e)
	}
	greet(t, r.url, "nobody", "4711")
	if got := greet(t, r.url, "Ada", "4711"); got.text() != "Hello Ada!" {
		t.Errorf("%+v", got)
	}
	ops.awaitEvents(t, 3)
	if e := ops.hookEvents()[2]; e.Type != "tool_call" || e.Data.Input.Name != "Ada" || strings.Contains(fmt.Sprint(ops.bodies), "4711") {
		t.Errorf("%+v", ops.bodies)
	}
	await(t, func() bool { return pendingDeliveries(t, r.url) == 0 })
	if n := len(ops.hookEvents()); n != 3 {
		t.Errorf("%d deliveries", n)
	}
}

func TestEventsBeyondTheLimitOfAHookAreCounted(t *testing.T) {
	t.Parallel()
	ops := startReceiver(t, 200)
	r, _ := startHooks(t, ops, "", sqliteState, `
on "tool_result" {
  notify = ["ops"]
  limit  = "1/s"
}`)
	var calling sync.WaitGroup
	for range 50 {
		calling.Go(func() { callTool(t, r.url, "break") })
	}
	calling.Wait()
	await(t, func() bool {
		events, _ := ops.countOf("tool_result")
		return events >= 50
	})
	await(t, func() bool { return pendingDeliveries(t, r.url) == 0 })
	if events, deliveries := ops.countOf("tool_result"); events != 50 || deliveries > 20 {
		t.Errorf("%d events in %d deliveries", events, deliveries)
	} else {
		t.Logf("%d events in %d deliveries", events, deliveries)
	}
}

func TestAReloadAddsAndRemovesHooks(t *testing.T) {
	t.Parallel()
	const onResult = `
on "tool_result" {
  notify = ["ops"]
  limit  = "1000/s"
}`
	const onReload = `
on "reload" {
  notify = ["ops"]
  limit  = "1000/s"
}`
	ops := startReceiver(t, 200)
	r, reload := startHooks(t, ops, "", sqliteState, "")
	callTool(t, r.url, "break")
	reload(onResult)
	callTool(t, r.url, "break")
	ops.awaitEvents(t, 1)
	reload(onReload)
	callTool(t, r.url, "break")
	ops.awaitEvents(t, 2)
	reload("")
	callTool(t, r.url, "break")
	ops.awaitEvents(t, 3)
	await(t, func() bool { return pendingDeliveries(t, r.url) == 0 })
	results, _ := ops.countOf("tool_result")
	if reloads, _ := ops.countOf("reload"); results != 1 || reloads != 2 { // that which removes the hook, too
		t.Errorf("%d results and %d reloads: %q", results, reloads, ops.bodies)
	}
}

func TestAHookIsDeliveredWhenItsReceiverIsBack(t *testing.T) {
	t.Parallel()
	ops := startReceiver(t, 503)
	r, _ := startHooks(t, ops, "", sqliteState, `
on "tool_result" {
  notify = ["ops"]
  limit  = "1000/s"
}`)
	callTool(t, r.url, "break")
	_, first := ops.awaitEvents(t, 1)
	sent := ops.setStatus(200)
	if _, again := ops.awaitEvents(t, sent+1); again != first {
		t.Errorf("%s, and then %s", first, again)
	}
	await(t, func() bool { return pendingDeliveries(t, r.url) == 0 })
}

func TestAConditionThatFailsStopsNoCall(t *testing.T) {
	t.Parallel()
	ops := startReceiver(t, 200)
	r, _ := startHooks(t, ops, "", sqliteState+"telemetry {\n  metrics {}\n}\n", `
on "tool_call" {
  tools  = ["greet"]
  when   = "int(event.input.name) > 1"
  notify = ["ops"]
}`)
	for _, name := range []string{"Ada", "Bob", "7"} {
		if got := greet(t, r.url, name, ""); got.text() != "Hello "+name+"!" {
			t.Errorf("%+v", got)
		}
	}
	ops.awaitEvents(t, 1)
	if e := ops.hookEvents()[0]; e.Data.Input.Name != "7" {
		t.Errorf("%+v", e)
	}
	if _, body := scrape(t, r.url+"/metrics", ""); !strings.Contains(body, `hatchel_hook_failures_total{event="tool_call"} 2`) {
		t.Error(body)
	}
}

// Two processes with one database have one limit, and one of them delivers.
func TestProcessesShareTheLimitOfAHook(t *testing.T) {
	t.Parallel()
	database := emptySchema(t)
	ops := startReceiver(t, 200)
	const each = 20
	var all []*replica
	for range 2 {
		r, _ := startHooks(t, ops, database, "secret \"state\" { env = \"STATE\" }\nstate { postgres = secret.state }\n", `
on "tool_result" {
  tools  = ["break"]
  notify = ["ops"]
  limit  = "1000000/s"
}
on "tool_result" {
  tools  = ["greet"]
  notify = ["ops"]
  limit  = "1/s"
}`)
		all = append(all, r)
	}
	var calling sync.WaitGroup
	for _, r := range all {
		calling.Go(func() {
			for range each {
				callTool(t, r.url, "break")
				greet(t, r.url, "Ada", "")
			}
		})
	}
	calling.Wait()
	await(t, func() bool {
		events, _ := ops.countOf("tool_result")
		return events >= 4*each && pendingDeliveries(t, all[0].url) == 0
	})
	counts, calls := map[string]int{}, []string{}
	for _, e := range ops.hookEvents() {
		counts[e.Data.Tool] += e.Count
		calls = append(calls, e.Data.CallID)
	}
	slices.Sort(calls)
	if n := len(slices.Compact(slices.Clone(calls))); n != len(calls) || counts["break"] != 2*each || counts["greet"] != 2*each {
		t.Errorf("%v, and %d of %d deliveries of other calls", counts, n, len(calls))
	}
	t.Logf("%v in %d deliveries", counts, len(calls))
}

// A decision is noticed by every process, and the end of a task by those that follow it. A hook counts each once.
func TestADecisionThatSeveralProcessesNoticeCountsOnce(t *testing.T) {
	t.Parallel()
	database := emptySchema(t)
	ops := startReceiver(t, 200)
	hooks := `
tool "refund" {
  description = "Refund, if an operator agrees."
  approval {}
  text = "refunded"
}
`
	for _, event := range []string{"approval.requested", "approval.decided", "task.finished"} {
		hooks += fmt.Sprintf("on %q {\n  notify = [\"ops\"]\n  limit  = \"1000000/s\"\n}\n", event)
	}
	dir := t.TempDir()
	text := "secret \"state\" { env = \"STATE\" }\nstate { postgres = secret.state }\n" + hookConfig + hooks
	for name, text := range map[string]string{"hook.txt": hookSecret + "\n", "tools.hcl": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	flags := []string{"--var", "ops=" + ops.url()}
	all := []*replica{startReplica(t, dir, database, flags...), startReplica(t, dir, database, flags...)}
	task := callTool(t, all[0].url, "refund").Result.TaskID
	ops.awaitEvents(t, 1)
	var requested struct {
		Data struct{ Approval struct{ ID string } }
	}
	if err := json.Unmarshal([]byte(ops.bodies[0]), &requested); err != nil {
		t.Fatal(err)
	}
	decide := exec.Command("hatchel", append([]string{"approvals", "approve", requested.Data.Approval.ID, "-C", dir}, flags...)...)
	decide.Env = all[0].cmd.Env
	if said, err := decide.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for _, r := range all {
		await(t, func() bool { return sendTaskRPC(t, r.url, "tasks/get", task, nil).Result.Status == "completed" })
	}
	ops.awaitEvents(t, 3)
	await(t, func() bool { return pendingDeliveries(t, all[1].url) == 0 })
	for _, event := range []string{"approval.requested", "approval.decided", "task.finished"} {
		if n, _ := ops.countOf(event); n != 1 {
			t.Errorf("%d events of type %s: %q", n, event, ops.bodies)
		}
	}
}

// TestTheEventOfADecisionSurvivesAKill kills a server while approvals wait. Nobody serves when one is approved; another one
// expires.
func TestTheEventOfADecisionSurvivesAKill(t *testing.T) {
	for name, approval := range map[string]string{"approved": `timeout = "15m"`, "expired": `timeout = "1s"`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ops := startReceiver(t, 200)
			hooks := "tool \"refund\" {\n  description = \"Refund.\"\n  approval { " + approval + " }\n  text = \"refunded\"\n}\n"
			for _, event := range []string{"approval.requested", "approval.decided"} {
				hooks += fmt.Sprintf("on %q {\n  notify = [\"ops\"]\n}\n", event)
			}
			r, _ := startHooks(t, ops, "", sqliteState, hooks)
			callTool(t, r.url, "refund")
			ops.awaitEvents(t, 1)
			r.kill()
			flags := []string{r.cmd.Args[4], "--var", "ops=" + ops.url()}
			if name == "approved" {
				decide := exec.Command("hatchel", append([]string{"approvals", "approve", ops.hookEvents()[0].Data.Approval.ID, "-C"}, flags...)...)
				decide.Env = r.cmd.Env
				if said, err := decide.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, said)
				}
			}
			startReplica(t, flags[0], "", flags[1:]...)
			if _, _ = ops.awaitEvents(t, 2); !strings.Contains(ops.bodies[1], `"status":"`+name+`"`) {
				t.Errorf("%s", ops.bodies[1])
			}
			if n, _ := ops.countOf("approval.decided"); n != 1 {
				t.Errorf("%d events: %q", n, ops.bodies)
			}
		})
	}
}
