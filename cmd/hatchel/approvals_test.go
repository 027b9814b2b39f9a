package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"hatchel/runtime/approval"
)

func TestACallIsMadeWhenSomebodyApprovesItOverHTTP(t *testing.T) {
	o := openOffice(t)
	id, answered := o.asked("eve", "refund", `{"amount":500,"note":"x"}`)
	status, body := o.ask("bob", http.MethodGet, "/approvals/"+strings.ToLower(id), "")
	var a approvalRow
	if err := json.Unmarshal([]byte(body), &a); err != nil || status != http.StatusOK || a.Tool != "refund" || a.Message != "Refund 500: x" || a.Caller.Subject != "eve" ||
		fmt.Sprint(a.Rules) != "[tool.refund.approval]" || !strings.Contains(string(a.Arguments), "500") || a.Until.Before(a.Asked) {
		t.Errorf("%d %s (%v)", status, body, err)
	}
	if status, body = o.ask("bob", http.MethodPost, "/approvals/"+id+"/approve", `{"reason": "fine"}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	says(t, body, `"status":"approved"`, `"by":"bob"`, `"reason":"fine"`)
	says(t, <-answered, "refunded 500 x")
	if s := o.became(id); s != approval.Used {
		t.Errorf("it is %s", s)
	}
	o.written(id, "approved", "bob")
	if got := <-o.call("eve", "refund", `{"amount":50}`); !strings.Contains(got, "refunded 50") {
		t.Errorf("what needs no approval waits: %s", got)
	}
}

func TestACallIsRefusedWithTheReasonWhenSomebodyRejectsIt(t *testing.T) {
	o := openOffice(t)
	id, answered := o.asked("eve", "refund", `{"amount":500}`)
	if status, body := o.ask("ann", http.MethodPost, "/approvals/"+id+"/reject", `{"reason": "not this week"}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	says(t, <-answered, "not this week", `"isError":true`)
	o.written(id, "rejected", "ann")
}

func TestWhoMayNotDecideIsRefused(t *testing.T) {
	o := openOffice(t)
	id, _ := o.asked("eve", "refund", `{"amount":500}`)
	guarded := o.call("ann", "guarded", `{}`)
	var of string
	for _, a := range o.pending("bob", 2) {
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
		{"without a key", "", "POST", decide, "{}", nil, 401, "error"},
		{"without a key, to look", "", "GET", "/approvals", "", nil, 401, "error"},
		{"with a wrong key", "mallory", "POST", decide, "{}", nil, 401, "error"},
		{"not in the group", "eve", "POST", decide, "{}", nil, 403, "You may not decide about calls of this tool"},
		{"not in the group, to look", "eve", "GET", "/approvals/" + id, "", nil, 403, "may not decide"},
		{"in the group, another tool", "ann", "POST", "/approvals/" + of + "/approve", "{}", nil, 403, "may not decide"},
		{"an ID that nothing has", "bob", "POST", "/approvals/0123456789ABCDEF/approve", "{}", nil, 404, "Approval not found"},
		{"no ID", "bob", "GET", "/approvals/../x", "", nil, 404, ""},
		{"another verb", "bob", "POST", "/approvals/" + id + "/delete", "{}", nil, 404, "Not found"},
		{"GET to decide", "bob", "GET", decide, "", nil, 405, "Use POST"},
		{"POST to look", "bob", "POST", "/approvals/" + id, "{}", nil, 405, "Use GET"},
		{"DELETE", "bob", "DELETE", "/approvals/" + id, "", nil, 405, "Use GET"},
		{"a form", "bob", "POST", decide, "reason=x", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "application/json"},
		{"plain text", "bob", "POST", decide, "{}", []string{"Content-Type", "text/plain"}, 415, "application/json"},
		{"no JSON", "bob", "POST", decide, "{", nil, 422, "The body of a decision must be"},
		{"something else", "bob", "POST", decide, `{"raeson":"x"}`, nil, 422, "The body of a decision must be"},
		{"more than one", "bob", "POST", decide, `{"reason":"x"}{}`, nil, 422, "The body of a decision must be"},
		{"a long reason", "bob", "POST", decide, `{"reason":"` + strings.Repeat("x", 1001) + `"}`, nil, 422, "1000 characters"},
		{"a large body", "bob", "POST", decide, `{"reason":"` + strings.Repeat("x", 20000) + `"}`, nil, 413, "at most 8 KiB"},
		{"an unknown status", "bob", "GET", "/approvals?status=open", "", nil, 422, "status must be one of pending"},
		{"an unknown word", "bob", "GET", "/approvals?state=open", "", nil, 422, "Unknown parameter"},
		{"limit 0", "bob", "GET", "/approvals?limit=0", "", nil, 422, "limit must be a number"},
		{"a place that no list ended at", "bob", "GET", "/approvals?after=x", "", nil, 422, "next"},
		{"a page of another site", "bob", "POST", decide, "{}", []string{"Origin", "https://evil.example"}, 403, "Origin"},
		{"a browser that says so", "bob", "POST", decide, "{}", []string{"Sec-Fetch-Site", "cross-site"}, 403, "another site"},
		{"another name for this machine", "bob", "GET", "/approvals", "", []string{"Host", "evil.example"}, 200, ""}, // net/http leaves this header out
	} {
		status, body := o.ask(c.who, c.method, c.path, c.body, c.headers...)
		if status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %s", c.claim, status, body)
		}
		var said struct{ Error string }
		if err := json.Unmarshal([]byte(body), &said); c.says != "" && (err != nil || said.Error == "") {
			t.Errorf("%s: no JSON: %s", c.claim, body)
		}
	}
	if s := o.became(id); s != approval.Pending {
		t.Errorf("what nobody may decide is %s", s)
	}
	if n := len(o.decisions()); n != 0 {
		t.Errorf("%d decisions are written down", n)
	}
	for _, a := range o.pending("ann", 1) {
		if a.Tool != "refund" {
			t.Errorf("ann sees %+v", a)
		}
	}
	if status, body := o.ask("bob", "POST", "/approvals/"+of+"/approve", ""); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	says(t, <-guarded, "guarded")
	code, out, _ := o.run(nil, "audit", "audit.jsonl", "--outcome", "refused")
	if n := strings.Count(out, "/approvals/"+id+"/approve"); code != 0 || n < 5 {
		t.Errorf("%d refusals are written down: %s", n, out)
	}
}

func TestNobodyDecidesAboutACallOfTheirOwn(t *testing.T) {
	o := openOffice(t)
	id, answered := o.asked("ann", "refund", `{"amount":500}`)
	for _, verb := range []string{"approve", "reject"} {
		if status, body := o.ask("ann", http.MethodPost, "/approvals/"+id+"/"+verb, "{}"); status != http.StatusForbidden || !strings.Contains(body, "your own") {
			t.Errorf("%d %s", status, body)
		}
	}
	o.pending("ann", 0)
	if status, _ := o.ask("bob", http.MethodPost, "/approvals/"+id+"/approve", "{}"); status != http.StatusOK {
		t.Errorf("another cannot: %d", status)
	}
	says(t, <-answered, "refunded 500")
}

func TestOfTwoWhoDecideAtOnceOneIsToldOfTheOther(t *testing.T) {
	o := openOffice(t)
	id, _ := o.asked("eve", "refund", `{"amount":500}`)
	type answer struct {
		who, body string
		status    int
	}
	answers := make(chan answer, 16)
	var all sync.WaitGroup
	for i := range 16 {
		who, verb := []string{"ann", "bob"}[i%2], []string{"approve", "reject"}[i/2%2]
		all.Go(func() {
			status, body := o.ask(who, http.MethodPost, "/approvals/"+id+"/"+verb, "{}")
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
		says(t, a.body, `"by": "`) // who is deciding, or has
	}
	if winner == "" || conflicts != 15 {
		t.Errorf("%q has decided, and %d were told", winner, conflicts)
	}
	status, body := o.ask("bob", http.MethodPost, "/approvals/"+id+"/approve", "{}")
	if status != http.StatusConflict {
		t.Errorf("%d %s", status, body)
	}
	says(t, body, winner, "ed it at ")
	if n := len(o.decisions()); n != 1 {
		t.Errorf("%d decisions are written down", n)
	}
}

func TestWhatIsDecidedTooLateIsNotDecided(t *testing.T) {
	o := openOffice(t)
	answered := o.call("eve", "brief", `{}`)
	says(t, <-answered, "which expired")
	_, body := o.ask("bob", http.MethodGet, "/approvals?status=expired", "")
	var page struct{ Approvals []approvalRow }
	if err := json.Unmarshal([]byte(body), &page); err != nil || len(page.Approvals) != 1 {
		t.Fatalf("%v: %s", err, body)
	}
	id := page.Approvals[0].ID
	status, body := o.ask("bob", http.MethodPost, "/approvals/"+id+"/approve", "{}")
	if says(t, body, "Nobody decided in time", `"status": "expired"`); status != http.StatusConflict {
		t.Errorf("%d %s", status, body)
	}
	if code, _, errs := o.run(nil, "approvals", "approve", id); code != 1 || !strings.Contains(errs, "nobody decided in time") {
		t.Errorf("%d %s", code, errs)
	}
	if n := len(o.decisions()); n != 0 {
		t.Errorf("%d decisions are written down", n)
	}
}

func TestWithoutTheBlockNobodyDecidesOverHTTP(t *testing.T) {
	o := newOffice(t, "")
	o.write("tool \"t\" {\n  description = \"x\"\n  text = \"x\"\n}\n")
	o.replica = startReplica(t, o.dir, "")
	status, body := o.ask("", http.MethodGet, "/approvals", "")
	if status != http.StatusForbidden {
		t.Errorf("%d %s", status, body)
	}
	says(t, body, "approvals { allow = ", "auth", "hatchel approvals")
}

func TestAListWithNothingInItIsJSON(t *testing.T) {
	o := openOffice(t)
	id, answered := o.asked("ann", "refund", `{"amount":500}`)
	for who, why := range map[string]string{"ann": "it is a call of her own", "eve": "she decides about nothing"} {
		resp, err := http.DefaultClient.Do(o.request(who, http.MethodGet, "/approvals", ""))
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
	if status, body := o.ask("bob", http.MethodPost, "/approvals/"+id+"/reject", `{}`); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	<-answered
}
