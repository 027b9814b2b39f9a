package examples_test

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestATeamCanSayWhoDidWhatByWhichRule(t *testing.T) {
	t.Parallel()
	f := example(t, "team")
	s := f.serve()
	bob, nobody := person{s, "key-of-bob-0123456789"}, person{s, ""}
	bob.asks("tools/call", `"name":"invoice_pay","arguments":{"id":2,"amount":25000},`)
	bob.asks("tools/call", `"name":"invoice_list","arguments":{},`)
	if status, _ := nobody.asks("tools/list", ""); status != 401 {
		t.Errorf("nobody got %d", status)
	}
	var said []string
	for line := range strings.Lines(f.run("audit", "--json", ".").stdout) {
		var r struct {
			Event, Name, Decision, Rule, Outcome string
			Status                               int
			Caller                               struct{ Subject, Key string }
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Outcome != "" {
			said = append(said, strings.Join([]string{r.Event, r.Name, r.Caller.Subject, r.Decision, r.Rule, r.Outcome}, " "))
		}
	}
	want := []string{"call invoice_pay bob denied policy.large.deny refused", "call invoice_list bob allowed policy.finance.allow ok", "request     refused"}
	if got := strings.Join(said, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s", got)
	}
	if got := f.run("audit", "--verify", ".").stdout; !strings.Contains(got, "the chain holds") {
		t.Errorf("got %s", got)
	}
}
