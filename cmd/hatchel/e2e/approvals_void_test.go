package e2e_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/runtime/stage/approval"
)

// A reload voids the pending approvals of changed tools, and approvers are told why.
func TestAVoidedApprovalCannotBeDecided(t *testing.T) {
	t.Parallel()
	forEachState(t, func(t *testing.T, o *approvalServer, environ []string) {
		stays := o.startCall("ann", "guarded", `{}`)
		kept := o.awaitPending("bob", 1)[0].ID
		ends := o.startCall("eve", "refund", `{"amount":500}`)
		id := o.awaitPending("bob", 2)[0].ID
		if id == kept {
			id = o.awaitPending("bob", 2)[1].ID
		}
		text, err := os.ReadFile(filepath.Join(o.dir, "tools.hcl"))
		if err != nil {
			t.Fatal(err)
		}
		o.writeConfig(strings.Replace(string(text), `"refunded ${`, `"paid back ${`, 1))
		checkContains(t, <-ends, "configuration of this tool was changed", "nothing was done. Call again", `"isError":true`)
		if left := o.awaitPending("bob", 1); left[0].ID != kept {
			t.Errorf("%+v waits", left[0])
		}
		if s := o.statusOf(id); s != approval.Void {
			t.Errorf("it is %s", s)
		}
		status, body := o.do("bob", http.MethodPost, "/approvals/"+id+"/approve", "{}")
		if checkContains(t, body, "It was voided at", "was changed", `"status": "void"`); status != http.StatusConflict {
			t.Errorf("%d %s", status, body)
		}
		code, out, errs := o.runCommand(environ, "approvals", "approve", id)
		if checkContains(t, errs, "nothing was decided", "it was voided at", "was changed"); code != 1 || out != "" {
			t.Errorf("%d %q", code, out)
		}
		if _, out, _ = o.runCommand(environ, "approvals", "list"); strings.Contains(out, id) {
			t.Errorf("it is listed: %s", out)
		}
		_, out, _ = o.runCommand(environ, "approvals", "list", "--all")
		checkContains(t, out, id, "void")
		_, out, _ = o.runCommand(environ, "approvals", "show", id)
		checkContains(t, out, "status      void", "voided", "was changed")
		if code, out, errs = o.runCommand(environ, "approvals", "approve", kept); code != 0 {
			t.Errorf("%d %q %q", code, out, errs)
		}
		checkContains(t, <-stays, "guarded")
	})
}
