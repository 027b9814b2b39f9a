package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"hatchel/internal/programtest"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/stage/approval"
)

func TestAnApprovalReleasesACallOfAnotherProcess(t *testing.T) {
	t.Parallel()
	b := startReplicatedServer(t)
	ways := map[string]func(decides *replica, id string) error{
		"over HTTP": func(decides *replica, id string) error {
			if status, body := b.through(decides).do("ann", http.MethodPost, "/approvals/"+id+"/approve", `{"reason":"fine"}`); status != http.StatusOK {
				return fmt.Errorf("%d %s", status, body)
			}
			return nil
		},
		"with the command, on the machine": func(_ *replica, id string) error {
			if code, out, errs := b.runWithDatabase(append([]string{"approvals", "approve", id, "--reason", "fine"}, b.flags...)...); code != 0 {
				return fmt.Errorf("%d %s%s", code, out, errs)
			}
			return nil
		},
		"with the command, through nginx": func(_ *replica, id string) error {
			if code, out, errs := b.runWithDatabase("approvals", "approve", id, "--reason", "fine", "--server", b.nginx.url); code != 0 {
				return fmt.Errorf("%d %s%s", code, out, errs)
			}
			return nil
		},
	}
	decided, amount := map[string]bool{}, 500
	for way, decide := range ways {
		for i, waits := range b.replicas {
			amount++
			answered := b.through(waits).startCall("eve", "refund", fmt.Sprintf(`{"amount":%d}`, amount))
			decides := b.replicas[(i+1)%3]
			id := b.through(decides).awaitPending("bob", 1)[0].ID
			if err := decide(decides, id); err != nil {
				t.Fatalf("%s: %v", way, err)
			}
			checkContains(t, <-answered, fmt.Sprintf("refunded %d", amount))
			for _, r := range b.replicas {
				if s := b.through(r).statusOf(id); s != approval.Used {
					t.Errorf("%s: it is %s", way, s)
				}
			}
			decided[id] = true
		}
	}
	if n := b.bank.paid.Load(); n != int64(len(decided)) {
		t.Errorf("%d approvals have paid %d times", len(decided), n)
	}
	rejected := b.startCall("eve", "refund", `{"amount":1}`)
	id := b.awaitPending("bob", 1)[0].ID
	if status, body := b.do("bob", http.MethodPost, "/approvals/"+id+"/reject", `{"reason":"not this week"}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	checkContains(t, <-rejected, "not this week", `"isError":true`)
	written, carried := map[string]int{}, map[string]int{}
	for _, r := range b.auditRecords() {
		switch {
		case r.Approval == nil:
		case r.Event == audit.EventApproval:
			written[r.Approval.ID]++
		case r.Event == audit.EventIntent:
			carried[r.Approval.ID]++
		}
	}
	for id := range decided {
		if written[id] != 1 || carried[id] != 1 {
			t.Errorf("%s: %d decisions and %d intents are written down", id, written[id], carried[id])
		}
	}
	if written[id] != 1 || carried[id] != 0 {
		t.Errorf("%s, rejected: %d decisions and %d intents are written down", id, written[id], carried[id])
	}
	if code, out, errs := b.runWithDatabase(append([]string{"audit", "--verify", "."}, b.flags...)...); code != 0 || !strings.Contains(out, "the chain holds: ") {
		t.Errorf("%d %s%s", code, out, errs)
	}
}

// A caller whose process was killed repeats the call through another process. The approval is not
// requested again, and is used once.
func TestAnApprovalOutlivesTheProcessOfItsCall(t *testing.T) {
	t.Parallel()
	b := startReplicatedServer(t)
	gone := b.through(b.replicas[0]).startCall("eve", "refund", `{"amount":500}`)
	id := b.awaitPending("bob", 1)[0].ID
	b.replicas[0].kill()
	if got := <-gone; strings.Contains(got, "result") {
		t.Errorf("a process that was killed has answered: %s", got)
	}
	again := b.startCall("eve", "refund", `{"amount":500}`)
	if status, body := b.through(b.replicas[1]).do("bob", http.MethodPost, "/approvals/"+id+"/approve", `{}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	checkContains(t, <-again, "refunded 500")
	if n := b.bank.paid.Load(); n != 1 {
		t.Errorf("one approval has paid %d times", n)
	}

	gone = b.through(b.replicas[1]).startCall("eve", "refund", `{"amount":600}`)
	id = b.through(b.replicas[2]).awaitPending("bob", 1)[0].ID
	b.replicas[1].kill()
	<-gone
	if status, body := b.through(b.replicas[2]).do("ann", http.MethodPost, "/approvals/"+id+"/approve", `{}`); status != http.StatusOK {
		t.Fatalf("nobody waits: %d %s", status, body)
	}
	b.replicas[1] = startReplica(t, b.dir, b.database, b.flags...)
	answers := make(chan string, 4)
	for i := range cap(answers) {
		one := b.through(b.replicas[1+i%2]).startCall("eve", "refund", `{"amount":600}`)
		go func() { answers <- <-one }()
	}
	checkContains(t, <-answers, "refunded 600")
	left := cap(answers) - 1
	await(t, func() bool { // the others ask afresh, whenever they come
		for _, a := range b.pendingApprovals() {
			if a.ID == id {
				t.Fatalf("%s was approved, and waits", id)
			}
			b.through(b.replicas[1]).do("ann", http.MethodPost, "/approvals/"+a.ID+"/reject", `{"reason":"once is enough"}`)
		}
		for {
			select {
			case got := <-answers:
				checkContains(t, got, "once is enough", `"isError":true`)
				left--
			default:
				return left == 0
			}
		}
	})
	if n := b.bank.paid.Load(); n != 2 {
		t.Errorf("two approvals have paid %d times", n)
	}
	carried := map[string]int{}
	for _, r := range b.auditRecords() {
		if r.Event == audit.EventIntent && r.Approval != nil {
			carried[r.Approval.ID]++
		}
	}
	if len(carried) != 2 || carried[id] != 1 {
		t.Errorf("what was carried out: %v", carried)
	}
}

// A task of one process is decided in another and read in a third. A second task is cancelled
// through another process.
func TestATaskThatWaitsForAnApprovalIsVisibleInEveryProcess(t *testing.T) {
	t.Parallel()
	b := startReplicatedServer(t)
	begin := func(amount int) (id, asked string) {
		t.Helper()
		task := b.sendAsTaskClient(b.replicas[0], "tools/call", "refund", map[string]any{"name": "refund", "arguments": map[string]any{"amount": amount}})
		if task.Result.ResultType != "task" {
			t.Fatalf("%+v", task)
		}
		return task.Result.TaskID, b.through(b.replicas[1]).awaitPending("bob", 1)[0].ID
	}
	became := func(r *replica, id, status string) (got rpcResponse) {
		t.Helper()
		await(t, func() bool {
			got = b.sendAsTaskClient(r, "tasks/get", id, map[string]any{"taskId": id})
			return got.Result.Status == status
		})
		return got
	}
	id, asked := begin(500)
	if status, body := b.through(b.replicas[1]).do("bob", http.MethodPost, "/approvals/"+asked+"/approve", `{}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	for _, r := range b.replicas {
		if got := became(r, id, "completed"); got.text() != "refunded 500" {
			t.Errorf("%+v", got)
		}
	}
	id, asked = begin(600)
	if got := b.sendAsTaskClient(b.replicas[2], "tasks/cancel", id, map[string]any{"taskId": id}); got.Error != nil {
		t.Fatalf("%+v", got)
	}
	became(b.replicas[0], id, "cancelled")
	if status, body := b.through(b.replicas[1]).do("bob", http.MethodPost, "/approvals/"+asked+"/approve", `{}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	became(b.replicas[1], id, "cancelled")
	if n := b.bank.paid.Load(); n != 1 {
		t.Errorf("one task was approved in time, and %d have paid", n)
	}
}

func TestAFileIsAvailableInEveryProcess(t *testing.T) {
	t.Parallel()
	b := startReplicatedServer(t)
	put := func(to *replica, text string) (id string) {
		t.Helper()
		status, said := b.through(to).do("eve", http.MethodPost, "/files", text, "Content-Type", "text/plain")
		var up struct {
			ID string `json:"file_id"`
		}
		if err := json.Unmarshal([]byte(said), &up); err != nil || status != http.StatusCreated {
			t.Fatalf("%v: %d %s", err, status, said)
		}
		return up.ID
	}
	used := func(r *replica, who, id string) string {
		return <-b.through(r).startCall(who, "words", fmt.Sprintf(`{"scan":{"file_id":%q}}`, id))
	}
	everywhere := append([]*replica{b.nginx}, b.replicas...)
	for i, r := range everywhere {
		id := put(r, strings.Repeat("word ", i+1))
		for _, other := range everywhere {
			checkContains(t, used(other, "eve", id), fmt.Sprintf(`"text":"%d`, i+1))
			if got := used(other, "ann", id); !strings.Contains(got, `"isError":true`) && !strings.Contains(got, `"error"`) {
				t.Errorf("ann uses a file of eve: %s", got)
			}
		}
	}
	status, said := b.through(b.replicas[0]).do("eve", http.MethodPost, "/files/uploads", `{"filename":"scan.txt","content_type":"text/plain"}`)
	var ticket struct {
		ID  string `json:"file_id"`
		URL string `json:"upload_url"`
	}
	if err := json.Unmarshal([]byte(said), &ticket); err != nil || status != http.StatusCreated {
		t.Fatalf("%v: %d %s", err, status, said)
	}
	var all sync.WaitGroup
	taken := make([]bool, 6)
	for i := range taken {
		all.Go(func() {
			got := programtest.Send(b.through(everywhere[i%4]).newRequest("", http.MethodPut, ticket.URL, "one two three"))
			taken[i] = got.Err == nil && got.Status == http.StatusCreated
		})
	}
	all.Wait()
	n := 0
	for _, t := range taken {
		if t {
			n++
		}
	}
	if n != 1 {
		t.Errorf("a ticket was taken %d times", n)
	}
	for _, r := range everywhere {
		checkContains(t, used(r, "eve", ticket.ID), `"text":"3`)
	}
	// What has more than a megabyte goes through nginx, too.
	id := put(b.nginx, strings.Repeat("word ", 1<<19))
	checkContains(t, used(b.replicas[2], "eve", id), fmt.Sprintf(`"text":"%d`, 1<<19))
	res, err := http.Get(b.nginx.url + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusNotFound {
		t.Errorf("what is for operators is reached from outside: %v %d %s", err, res.StatusCode, body)
	}
}
