package e2e_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/runtime/durable/audit"
	"hatchel/runtime/durable/postgres/postgrestest"
)

// identityTools act in a real database as their caller, on an instance that is down for ann.
const identityTools = `
server {
  health { allow = "'approvers' in caller.groups" }
}
secret "dsn" { env = "STATE" }
connection "postgres" "desk" {
  instances       = { up = secret.dsn, down = "postgres://u@127.0.0.1:1/x" }
  instance        = caller.subject == "ann" ? "down" : "up"
  session         = { "app.tenant" = caller.subject }
  max_connections = 1
}
tool "own" {
  description = "Say who I am to the database."
  cache { ttl = "1h" }
  sql "desk" { query = "SELECT current_setting('app.tenant') AS tenant" }
  text = "I am ${output.row.tenant}"
}
tool "pay" {
  description = "Pay as who I am to the database."
  approval {
    before "now" {
      sql "desk" { query = "SELECT 'seen by ' || current_setting('app.tenant') AS tenant" }
    }
  }
  sql "desk" { exec = "INSERT INTO paid (tenant) VALUES (current_setting('app.tenant'))" }
  text = "paid"
}
`

// Calls run in a real database as who requests them: what a cache has, what an approver is shown, what is done after a
// restart, and what is recorded. An instance that is down fails its own callers.
func TestCallsRunInADatabaseAsWhoRequestsThem(t *testing.T) {
	t.Parallel()
	address, db := postgrestest.Schema(t)
	if _, err := db.Exec(t.Context(), "CREATE TABLE paid (tenant text)"); err != nil {
		t.Fatal(err)
	}
	o := newApprovalServer(t, `state { sqlite = "state.db" }`)
	o.writeConfig(o.text + identityTools)
	o.replica = startReplica(t, o.dir, address)
	for range 2 {
		for _, who := range []string{"eve", "bob"} {
			checkContains(t, <-o.startCall(who, "own", `{}`), "I am "+who)
		}
	}
	checkContains(t, <-o.startCall("ann", "own", `{}`), `the database \"desk[down]\" is unavailable`)
	_, ready := o.do("ann", http.MethodGet, "/readyz", "")
	checkContains(t, strings.Join(strings.Fields(ready), ""), `"postgres.desk[up]","ok":true`, `"postgres.desk[down]","ok":false`)
	id, gone := o.requestApproval("eve", "pay", `{}`)
	_, shown := o.do("bob", http.MethodGet, "/approvals/"+id, "")
	checkContains(t, shown, "seen by eve", `one transaction on desk[up], app.tenant = \"eve\"`)
	o.kill()
	<-gone
	o.replica = startReplica(t, o.dir, address)
	if status, body := o.do("bob", http.MethodPost, "/approvals/"+id+"/approve", `{}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	checkContains(t, <-o.startCall("eve", "pay", `{}`), "paid")
	var who string
	if err := db.QueryRow(t.Context(), "SELECT string_agg(tenant, ' ') FROM paid").Scan(&who); err != nil || who != "eve" {
		t.Errorf("%q have paid: %v", who, err)
	}
	recorded := 0
	err := audit.File(filepath.Join(o.dir, "audit.jsonl")).Read(t.Context(), func(l *audit.Line) bool {
		if r, ok := l.Record(); ok && r.Name == "pay" && r.Event != audit.EventApproval && r.Approval != nil {
			recorded++
			if len(r.Identities) != 1 || r.Identities[0].String() != `on postgres.desk[up], app.tenant = "eve"` {
				t.Errorf("the record of %s has %+v", r.Event, r.Identities)
			}
		}
		return true
	})
	if err != nil || recorded != 2 {
		t.Errorf("%d records: %v", recorded, err)
	}
}
