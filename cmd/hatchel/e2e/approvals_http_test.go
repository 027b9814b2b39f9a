package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"hatchel/runtime/stage/approval"
)

func TestAnApprovedCallRuns(t *testing.T) {
	t.Parallel()
	o := startApprovalServer(t)
	id, answered := o.requestApproval("eve", "refund", `{"amount":500,"note":"x"}`)
	status, body := o.do("bob", http.MethodGet, "/approvals/"+strings.ToLower(id), "")
	var a approvalRow
	if err := json.Unmarshal([]byte(body), &a); err != nil || status != http.StatusOK || a.Tool != "refund" || a.Message != "Refund 500: x" || a.Caller.Subject != "eve" ||
		fmt.Sprint(a.Rules) != "[tool.refund.approval]" || !strings.Contains(string(a.Arguments), "500") || a.Deadline.Before(a.RequestedAt) {
		t.Errorf("%d %s (%v)", status, body, err)
	}
	if status, body = o.do("bob", http.MethodPost, "/approvals/"+id+"/approve", `{"reason": "fine"}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	checkContains(t, body, `"status":"approved"`, `"by":"bob"`, `"reason":"fine"`)
	checkContains(t, <-answered, "refunded 500 x")
	if s := o.statusOf(id); s != approval.Used {
		t.Errorf("it is %s", s)
	}
	o.checkRecorded(id, "approved", "bob")
	if got := <-o.startCall("eve", "refund", `{"amount":50}`); !strings.Contains(got, "refunded 50") {
		t.Errorf("what needs no approval waits: %s", got)
	}
}

func TestARejectedCallAnswersWithTheReason(t *testing.T) {
	t.Parallel()
	o := startApprovalServer(t)
	id, answered := o.requestApproval("eve", "refund", `{"amount":500}`)
	if status, body := o.do("ann", http.MethodPost, "/approvals/"+id+"/reject", `{"reason": "not this week"}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	checkContains(t, <-answered, "not this week", `"isError":true`)
	o.checkRecorded(id, "rejected", "ann")
}

func TestRequestsThatMayNotDecideAreRefused(t *testing.T) {
	t.Parallel()
	o := startApprovalServer(t)
	id, _ := o.requestApproval("eve", "refund", `{"amount":500}`)
	guarded := o.startCall("ann", "guarded", `{}`)
	var of string
	for _, a := range o.awaitPending("bob", 2) {
		if a.Tool == "guarded" {
			of = a.ID
		}
	}
	decide := "/approvals/" + id + "/approve"
	for _, c := range []struct {
		claim             string
		who, method, path string
		body              string
		headers           []string
		status            int
		says              string
	}{
		{"no key", "", "POST", decide, "{}", nil, 401, "error"},
		{"no key, GET", "", "GET", "/approvals", "", nil, 401, "error"},
		{"unknown key", "mallory", "POST", decide, "{}", nil, 401, "error"},
		{"not an approver", "eve", "POST", decide, "{}", nil, 403, "You may not decide calls of this tool"},
		{"not an approver, GET", "eve", "GET", "/approvals/" + id, "", nil, 403, "may not decide"},
		{"approver of other tools", "ann", "POST", "/approvals/" + of + "/approve", "{}", nil, 403, "may not decide"},
		{"unknown ID", "bob", "POST", "/approvals/0123456789ABCDEF/approve", "{}", nil, 404, "Approval not found"},
		{"invalid ID", "bob", "GET", "/approvals/../x", "", nil, 404, ""},
		{"unknown verb", "bob", "POST", "/approvals/" + id + "/delete", "{}", nil, 404, "Not found"},
		{"no ID", "bob", "POST", "/approvals//approve", "{}", nil, 404, "Not found"},
		{"GET to decide", "bob", "GET", decide, "", nil, 405, "Use POST"},
		{"POST to an approval", "bob", "POST", "/approvals/" + id, "{}", nil, 405, "Use GET"},
		{"DELETE", "bob", "DELETE", "/approvals/" + id, "", nil, 405, "Use GET"},
		{"form", "bob", "POST", decide, "reason=x", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "application/json"},
		{"plain text", "bob", "POST", decide, "{}", []string{"Content-Type", "text/plain"}, 415, "application/json"},
		{"invalid JSON", "bob", "POST", decide, "{", nil, 422, "The body of a decision must be"},
		{"unknown field", "bob", "POST", decide, `{"raeson":"x"}`, nil, 422, "The body of a decision must be"},
		{"two objects", "bob", "POST", decide, `{"reason":"x"}{}`, nil, 422, "The body of a decision must be"},
		{"long reason", "bob", "POST", decide, `{"reason":"` + strings.Repeat("x", 1001) + `"}`, nil, 422, "1000 characters"},
		{"large body", "bob", "POST", decide, `{"reason":"` + strings.Repeat("x", 20000) + `"}`, nil, 413, "at most 8 KiB"},
		{"unknown status", "bob", "GET", "/approvals?status=open", "", nil, 422, "status must be one of pending"},
		{"unknown parameter", "bob", "GET", "/approvals?state=open", "", nil, 422, "Unknown parameter"},
		{"limit 0", "bob", "GET", "/approvals?limit=0", "", nil, 422, "limit must be a number"},
		{"invalid cursor", "bob", "GET", "/approvals?after=x", "", nil, 422, "next"},
		{"Origin of another site", "bob", "POST", decide, "{}", []string{"Origin", "https://evil.example"}, 403, "Origin"},
		{"Sec-Fetch-Site of another site", "bob", "POST", decide, "{}", []string{"Sec-Fetch-Site", "cross-site"}, 403, "another site"},
		{"other Host", "bob", "GET", "/approvals", "", []string{"Host", "evil.example"}, 200, ""}, // net/http leaves this header out
	} {
		t.Run(c.claim, func(t *testing.T) {
			status, body := o.do(c.who, c.method, c.path, c.body, c.headers...)
			if status != c.status || !strings.Contains(body, c.says) {
				t.Errorf("%d %s", status, body)
			}
			var failed struct{ Error string }
			if err := json.Unmarshal([]byte(body), &failed); c.says != "" && (err != nil || failed.Error == "") {
				t.Errorf("not JSON: %s", body)
			}
		})
	}
	if s := o.statusOf(id); s != approval.Pending {
		t.Errorf("the approval is %s", s)
	}
	if n := len(o.decisionRecords()); n != 0 {
		t.Errorf("%d decisions are recorded", n)
	}
	for _, a := range o.awaitPending("ann", 1) {
		if a.Tool != "refund" {
			t.Errorf("ann sees %+v", a)
		}
	}
	if status, body := o.do("bob", "POST", "/approvals/"+of+"/approve", ""); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	checkContains(t, <-guarded, "guarded")
	code, out, _ := o.runCommand(nil, "audit", "audit.jsonl", "--outcome", "refused")
	if n := strings.Count(out, "/approvals/"+id+"/approve"); code != 0 || n < 5 {
		t.Errorf("%d refusals are recorded: %s", n, out)
	}
}

func TestCallersCannotDecideTheirOwnCalls(t *testing.T) {
	t.Parallel()
	o := startApprovalServer(t)
	id, answered := o.requestApproval("ann", "refund", `{"amount":500}`)
	for _, verb := range []string{"approve", "reject"} {
		if status, body := o.do("ann", http.MethodPost, "/approvals/"+id+"/"+verb, "{}"); status != http.StatusForbidden || !strings.Contains(body, "your own") {
			t.Errorf("%d %s", status, body)
		}
	}
	o.awaitPending("ann", 0)
	if status, _ := o.do("bob", http.MethodPost, "/approvals/"+id+"/approve", "{}"); status != http.StatusOK {
		t.Errorf("another cannot: %d", status)
	}
	checkContains(t, <-answered, "refunded 500")
}

func TestOneOfConcurrentDecisionsWins(t *testing.T) {
	t.Parallel()
	o := startApprovalServer(t)
	id, _ := o.requestApproval("eve", "refund", `{"amount":500}`)
	type answer struct {
		who, body string
		status    int
	}
	answers := make(chan answer, 16)
	var all sync.WaitGroup
	for i := range 16 {
		who, verb := []string{"ann", "bob"}[i%2], []string{"approve", "reject"}[i/2%2]
		all.Go(func() {
			status, body := o.do(who, http.MethodPost, "/approvals/"+id+"/"+verb, "{}")
			answers <- answer{who, body, status}
		})
	}
	all.Wait()
	close(answers)
	winner, conflicts := "", 0
	var others []answer
	for a := range answers {
		switch a.status {
		case http.StatusOK:
			if winner != "" {
				t.Errorf("%s and %s have decided", winner, a.who)
			}
			winner = a.who
		case http.StatusConflict:
			conflicts++
			others = append(others, a)
		default:
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	for _, a := range others {
		checkContains(t, a.body, `"by": "`) // who is deciding, or has
	}
	if winner == "" || conflicts != 15 {
		t.Errorf("%q has decided, and %d were told", winner, conflicts)
	}
	status, body := o.do("bob", http.MethodPost, "/approvals/"+id+"/approve", "{}")
	if status != http.StatusConflict {
		t.Errorf("%d %s", status, body)
	}
	checkContains(t, body, winner, "ed it at ")
	if n := len(o.decisionRecords()); n != 1 {
		t.Errorf("%d decisions are recorded", n)
	}
}

func TestAnExpiredApprovalCannotBeDecided(t *testing.T) {
	t.Parallel()
	o := startApprovalServer(t)
	answered := o.startCall("eve", "brief", `{}`)
	checkContains(t, <-answered, "which expired")
	_, body := o.do("bob", http.MethodGet, "/approvals?status=expired", "")
	var page struct{ Approvals []approvalRow }
	if err := json.Unmarshal([]byte(body), &page); err != nil || len(page.Approvals) != 1 {
		t.Fatalf("%v: %s", err, body)
	}
	id := page.Approvals[0].ID
	status, body := o.do("bob", http.MethodPost, "/approvals/"+id+"/approve", "{}")
	if checkContains(t, body, "Nobody decided in time", `"status": "expired"`); status != http.StatusConflict {
		t.Errorf("%d %s", status, body)
	}
	if code, _, errs := o.runCommand(nil, "approvals", "approve", id); code != 1 || !strings.Contains(errs, "nobody decided in time") {
		t.Errorf("%d %s", code, errs)
	}
	if n := len(o.decisionRecords()); n != 0 {
		t.Errorf("%d decisions are recorded", n)
	}
}

func TestDecisionsOverHTTPRequireAnApprovalsBlock(t *testing.T) {
	t.Parallel()
	o := newApprovalServer(t, "")
	o.writeConfig("tool \"t\" {\n  description = \"x\"\n  text = \"x\"\n}\n")
	o.replica = startReplica(t, o.dir, "")
	status, body := o.do("", http.MethodGet, "/approvals", "")
	if status != http.StatusForbidden {
		t.Errorf("%d %s", status, body)
	}
	checkContains(t, body, "approvals { allow = ", "auth", "hatchel approvals")
}

func TestAnEmptyListIsJSON(t *testing.T) {
	t.Parallel()
	o := startApprovalServer(t)
	id, answered := o.requestApproval("ann", "refund", `{"amount":500}`)
	for who, why := range map[string]string{"ann": "it is a call of her own", "eve": "she decides about nothing"} {
		resp, err := http.DefaultClient.Do(o.newRequest(who, http.MethodGet, "/approvals", ""))
		if err != nil {
			t.Fatal(err)
		}
		var page struct {
			Approvals []json.RawMessage `json:"approvals"`
		}
		err = json.NewDecoder(resp.Body).Decode(&page)
		resp.Body.Close()
		if kind := resp.Header.Get("Content-Type"); err != nil || page.Approvals == nil || len(page.Approvals) > 0 || kind != "application/json" || resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s %v %v", why, resp.StatusCode, kind, page.Approvals, err)
		}
	}
	if status, body := o.do("bob", http.MethodPost, "/approvals/"+id+"/reject", `{}`); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	<-answered
}
