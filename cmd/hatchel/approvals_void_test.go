package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/runtime/approval"
)

// A file is changed while calls wait: those that count no more end, and who would decide about them is told why.
func TestWhoDecidesAboutWhatIsVoidIsToldSo(t *testing.T) {
	onEveryState(t, func(t *testing.T, o *office, environ []string) {
		stays := o.call("ann", "guarded", `{}`)
		kept := o.pending("bob", 1)[0].ID
		ends := o.call("eve", "refund", `{"amount":500}`)
		id := o.pending("bob", 2)[0].ID
		if id == kept {
			id = o.pending("bob", 2)[1].ID
		}
		text, err := os.ReadFile(filepath.Join(o.dir, "tools.hcl"))
		if err != nil {
			t.Fatal(err)
		}
		o.write(strings.Replace(string(text), `"refunded ${`, `"paid back ${`, 1))
		says(t, <-ends, "configuration of this tool was changed", "nothing was done. Call again", `"isError":true`)
		if left := o.pending("bob", 1); left[0].ID != kept {
			t.Errorf("%+v waits", left[0])
		}
		if s := o.became(id); s != approval.Void {
			t.Errorf("it is %s", s)
		}
		status, body := o.ask("bob", http.MethodPost, "/approvals/"+id+"/approve", "{}")
		if says(t, body, "It was voided at", "was changed", `"status": "void"`); status != http.StatusConflict {
			t.Errorf("%d %s", status, body)
		}
		code, out, errs := o.run(environ, "approvals", "approve", id)
		if says(t, errs, "nothing was decided", "it was voided at", "was changed"); code != 1 || out != "" {
			t.Errorf("%d %q", code, out)
		}
		if _, out, _ = o.run(environ, "approvals", "list"); strings.Contains(out, id) {
			t.Errorf("it is listed: %s", out)
		}
		_, out, _ = o.run(environ, "approvals", "list", "--all")
		says(t, out, id, "void")
		_, out, _ = o.run(environ, "approvals", "show", id)
		says(t, out, "status      void", "voided", "was changed")
		if code, out, errs = o.run(environ, "approvals", "approve", kept); code != 0 {
			t.Errorf("%d %q %q", code, out, errs)
		}
		says(t, <-stays, "guarded")
	})
}
