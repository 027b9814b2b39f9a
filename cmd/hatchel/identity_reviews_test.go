package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

const identityConfig = `
secret "eu" { command = ["sh", "-c", "touch ran; cat url"] }
secret "us" { command = ["sh", "-c", "touch ran; cat url"] }
secret "shop" { env = "URL" }
locals { roles = { free = "tenant_ro", paid = "tenant_rw" } }
connection "postgres" "desk" {
  instances = { eu = secret.eu, us = secret.us }
  instance  = caller.claims.region
  role      = local.roles[caller.claims.plan]
  session   = { "app.tenant" = caller.claims.tenant, "app.groups" = jsonencode(caller.groups) }
}
tool "list_tickets" {
  description = "List the tickets of a tenant."
  sql "desk" { query = "SELECT id FROM tickets LIMIT 10" }
}
tool "count_tickets" {
  description = "Count the tickets of a tenant."
  sql "desk" { query = "SELECT count(*) AS n FROM tickets" }
}
`

// TestCommandsOfReviewsOpenNoInstance runs them while the secrets of the instances and the instances themselves notice
// when somebody asks them.
func TestCommandsOfReviewsOpenNoInstance(t *testing.T) {
	address, asked := listenAndCount(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.hcl"), []byte(identityConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(command string, env ...string) (out string, commands bool, err error) {
		cmd := exec.CommandContext(t.Context(), "hatchel", strings.Fields(command)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
		text, err := cmd.CombinedOutput()
		_, missing := os.Stat(filepath.Join(dir, "ran"))
		return string(text), missing == nil, err
	}
	const callerFlags = " --claim region=eu --claim plan=free --claim tenant=acme"
	if out, _, err := run("lock ."); err != nil {
		t.Fatalf("hatchel lock: %v\n%s", err, out)
	}
	for command, want := range map[string]string{
		"list .":                "list_tickets",
		"list . " + callerFlags: "list_tickets",
		"policy list .":         "list_tickets",
		"policy explain . --tool list_tickets": "needs: caller.claims.plan, caller.claims.region, caller.claims.tenant for the " +
			"connection desk (instances eu, us; roles tenant_ro, tenant_rw)\n" +
			`fails: the caller has no claim "region", which chooses the instance of the connection "desk"; nothing was sent`,
		"policy explain . --tool list_tickets --json" + callerFlags: `"runs_as": "as tenant_ro on desk[eu], app.tenant = \"acme\", app.groups = \"[]\""`,
		"policy explain . --tool list_tickets" + callerFlags:        `runs: as tenant_ro on desk[eu], app.tenant = "acme", app.groups = "[]"`,
		"policy matrix .": "count_tickets, list_tickets need caller.claims.plan, caller.claims.region, caller.claims.tenant for the " +
			"connection desk (instances eu, us; roles tenant_ro, tenant_rw); a call that lacks one fails.",
		"lock .":                  "2 tools",
		"diff":                    "no changes",
		"lint .":                  "no findings",
		"validate . --no-secrets": "",
	} {
		out, commands, err := run(command)
		if err != nil || asked.Load() != 0 || commands || !strings.Contains(out, want) {
			t.Errorf("hatchel %s: asked %d times, secrets read: %v, %v\n%s", command, asked.Load(), commands, err, out)
		}
	}
	url := "postgres://app@" + address + "/desk"
	setting := "URL=" + url
	if err := os.WriteFile(filepath.Join(dir, "url"), []byte(url), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _, err := run("validate .", setting); err != nil || asked.Load() != 0 {
		t.Errorf("validate with secrets asked %d times, %v\n%s", asked.Load(), err, out)
	}
	out, commands, err := run("call . list_tickets --allow-secret-commands"+callerFlags, setting) // it asks, and so the others could have
	if err == nil || asked.Load() == 0 || !commands {
		t.Errorf("a call asked %d times, secrets read: %v, %v\n%s", asked.Load(), commands, err, out)
	}
}

// listenAndCount returns the address of a listener, and the number of connections that it has accepted and closed.
func listenAndCount(t *testing.T) (address string, asked *atomic.Int32) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	asked = new(atomic.Int32)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			asked.Add(1)
			conn.Close()
		}
	}()
	return listener.Addr().String(), asked
}
