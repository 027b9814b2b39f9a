package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

const callers = "console {\n allow = \"'ops' in caller.groups\"\n try = \"call\"\n}\n"

// linkIn returns the address of the last link in a part of a page that does not lead to a tool; empty for none, and
// where there is no such part.
func linkIn(n *html.Node) (address string) {
	if n == nil {
		return ""
	}
	for d := range n.Descendants() {
		if d.Data == "a" && !strings.HasPrefix(attr(d, "href"), "/console/tools/") {
			address = attr(d, "href")
		}
	}
	return address
}

func TestACallThatNeedsAnApprovalIsAnsweredAtOnceAndCarriedOutWhenItIsMadeAgain(t *testing.T) {
	s := newNotes(t, keysOf("ann:approvers", "vera:ops")+callers+approvers)
	vera, ann := s.signedIn("vera"), s.signedIn("ann")
	form := vera.get("/console/tools/note").controls("form")
	form.Set("input.text", "new")
	call := func() *reply { return vera.post("/console/tools/note/call", form) }
	first := call()
	address := linkIn(first.find("approval"))
	if first.status != http.StatusOK || !strings.HasPrefix(address, "/console/approvals/") ||
		!strings.Contains(textOf(first.find("outcome")), "waits for approval") {
		t.Fatalf("the call is answered with %d %s", first.status, textOf(first.find("try")))
	}
	if again := linkIn(call().find("approval")); again != address {
		t.Errorf("the same call waits for %s, and then for %s", address, again)
	}
	if got := ann.decide(ann.get(address), "approve", ""); got.status != http.StatusSeeOther {
		t.Fatalf("approving: %d %s", got.status, got.text())
	}
	if got := textOf(call().find("result")); !strings.Contains(got, "written") {
		t.Errorf("after the approval, the result is %s", got)
	}
	if got := linkIn(call().find("approval")); got == "" || got == address {
		t.Errorf("another call uses the approval %s again: %q", address, got)
	}
}

func TestACallThatWaitsForAnApprovalIsLinkedToItAndBack(t *testing.T) {
	s := newNotes(t, keysOf("ann:ops", "bob:callers")+people+"events { allow = \"true\" }\n"+
		"approvals { allow = \"'ops' in caller.groups\" }\n")
	ann := s.signedIn("ann")
	a, said := s.ask("note", `{"text":"new"}`)
	approval, call := "/console/approvals/"+a.ID, "/console/calls/"+a.CallID
	list := ann.get("/console/calls").find("calls")
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(textOf(list), "waits for approval"); {
		if time.Now().After(deadline) {
			t.Fatalf("the list has %s", textOf(list))
		}
		time.Sleep(time.Millisecond) // the approval is stored before the call says that it waits for it
		list = ann.get("/console/calls").find("calls")
	}
	if linkIn(list) != approval {
		t.Errorf("the list leads to %s", linkIn(list))
	}
	if got := ann.get("/console/calls?outcome=problems").find("calls"); linkIn(got) != "" {
		t.Errorf("a call that waits is listed with the failed ones: %s", textOf(got))
	}
	if got := linkIn(ann.get(call).find("state")); got != approval {
		t.Errorf("the page of the call leads to %q", got)
	}
	page := ann.get(approval)
	if got := linkIn(page.find("facts")); got != call {
		t.Errorf("the page of the approval leads to %q", got)
	}
	if got := ann.decide(page, "approve", ""); got.status != http.StatusSeeOther {
		t.Fatalf("approving: %d %s", got.status, got.text())
	}
	<-said
	one := ann.get(call)
	if textOf(one.find("state")) != "ok" || linkIn(one.find("facts")) != approval {
		t.Errorf("after the decision: %s", one.text())
	}
}
