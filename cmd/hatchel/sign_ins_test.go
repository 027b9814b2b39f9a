package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hatchel/cmd/hatchel/exit"
	"hatchel/runtime/durable/grant"
	"hatchel/runtime/durable/state"
)

const stateKey = "0123456789abcdef0123456789abcdef"

// signInFolder is a configuration with a sign_in block, and its state, which has sign-ins.
type signInFolder struct {
	t      *testing.T
	dir    string
	grants *grant.Store
}

func newSignInFolder(t *testing.T) *signInFolder {
	t.Helper()
	t.Setenv("STATE_KEY", stateKey)
	t.Setenv("CLIENT_SECRET", "secret-of-the-client-0123456789")
	f := &signInFolder{t: t, dir: t.TempDir()}
	f.write(`secret "state_key" { env = "STATE_KEY" }
secret "client" { env = "CLIENT_SECRET" }
state {
  sqlite = "state.db"
  key    = secret.state_key
}
auth {
  sign_in {
    url           = "https://tools.example"
    provider      = "https://provider.example"
    client_id     = "hatchel"
    client_secret = secret.client
  }
}
`)
	store, err := state.Open(context.WithoutCancel(t.Context()), filepath.Join(f.dir, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	if f.grants, err = grant.Open(t.Context(), store, grant.Options{Key: []byte(stateKey)}); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *signInFolder) write(config string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, "tools.hcl"), []byte(config), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// add stores a sign-in and returns its ID.
func (f *signInFolder) add(subject string, client grant.Grant) string {
	f.t.Helper()
	client.ID, client.Subject, client.Key = grant.NewID(), subject, "https://provider.example"
	client.Began, client.Ends = time.Now().Add(-90*time.Minute), time.Now().Add(12*time.Hour)
	if err := f.grants.Start(f.t.Context(), &client); err != nil {
		f.t.Fatal(err)
	}
	return client.ID
}

// run runs hatchel with arguments for the folder.
func (f *signInFolder) run(args ...string) (code int, out, errs string) {
	f.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := rootCommand()
	cmd.SetArgs(append(args, "-C", f.dir))
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	err := cmd.ExecuteContext(f.t.Context())
	var ended *exit.Error
	switch {
	case errors.As(err, &ended):
		code = ended.Code
		stderr.WriteString(ended.Text)
	case err != nil:
		code = exit.Usage
		stderr.WriteString(err.Error())
	}
	return code, stdout.String(), stderr.String()
}

var (
	claudeClient = grant.Grant{ClientKind: grant.Document, Client: "https://claude.ai/oauth/metadata", ClientName: "Claude\x1b[31m"}
	cursorClient = grant.Grant{ClientKind: grant.Registered, Client: "sealed registration", ClientName: "Cursor", Redirect: "cursor://anysphere.cursor-mcp/cb"}
)

func TestSignInsAreListedAndRevokedInTheState(t *testing.T) {
	f := newSignInFolder(t)
	if code, out, errs := f.run("sign-ins", "list"); code != 0 || out != "" || !strings.Contains(errs, "no sign-ins in") {
		t.Errorf("without sign-ins: %d %q %q", code, out, errs)
	}
	first, second, ofBob := f.add("ada", claudeClient), f.add("ada", cursorClient), f.add("bob", claudeClient)
	code, out, errs := f.run("sign-ins", "list")
	for _, want := range []string{"ID ", "SUBJECT", first, second, ofBob, "claude.ai (calls itself Claude", "Cursor (nobody has checked", "1h30m0s ago", "never", "in 11h59m0s"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%d: the list has no %q: %s%s", code, want, out, errs)
		}
	}
	if strings.ContainsRune(out, 0x1b) || strings.Contains(out, "sealed registration") {
		t.Errorf("the list has what a client has sent: %q", out)
	}
	code, out, _ = f.run("sign-ins", "list", "--json", "--subject", "a*", "--client", "claude.ai")
	var listed []map[string]any
	if err := json.Unmarshal([]byte(out), &listed); code != 0 || err != nil || len(listed) != 1 || listed[0]["id"] != first || listed[0]["subject"] != "ada" ||
		listed[0]["scopes"] == nil {
		t.Errorf("JSON: %d %v %s", code, err, out)
	}
	if code, out, errs = f.run("sign-ins", "revoke", first); code != 0 || !strings.HasPrefix(out, first+" revoked: claude.ai") {
		t.Errorf("one: %d %q %q", code, out, errs)
	}
	if code, out, errs = f.run("sign-ins", "revoke", first, ofBob); code != 1 || !strings.HasPrefix(out, ofBob+" revoked") ||
		!strings.Contains(errs, "there is no sign-in "+first) {
		t.Errorf("one that has ended, and another one: %d %q %q", code, out, errs)
	}
	if code, out, errs = f.run("sign-ins", "revoke", "--subject", "ada"); code != 0 || !strings.HasPrefix(out, second+" revoked") {
		t.Errorf("of a person: %d %q %q", code, out, errs)
	}
	if code, _, errs = f.run("sign-ins", "revoke", "--subject", "ada"); code != 1 || !strings.Contains(errs, "there is no sign-in of ada in") {
		t.Errorf("of a person without any: %d %q", code, errs)
	}
	if left, _, err := f.grants.List(t.Context(), grant.Query{Limit: 10}); err != nil || len(left) != 0 {
		t.Errorf("a server has %v left, %v", left, err)
	}
}

func TestSignInsSayWhatTheyNeed(t *testing.T) {
	f := newSignInFolder(t)
	f.add("ada", claudeClient)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"sign-ins"}, exit.Usage, "requires a subcommand: list or revoke"},
		{[]string{"sign-ins", "revoke"}, exit.Usage, "requires the IDs"},
		{[]string{"sign-ins", "revoke", "X", "--subject", "ada"}, exit.Usage, "not both"},
		{[]string{"sign-ins", "revoke", "--server", "https://tools.example", "X"}, exit.Usage, "--dir cannot be used with --server"},
	} {
		if code, _, errs := f.run(c.args...); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%v: %d %q", c.args, code, errs)
		}
	}
	os.Unsetenv("STATE_KEY")
	if code, out, errs := f.run("sign-ins", "list"); code != 1 || out != "" || !strings.Contains(errs, "key") {
		t.Errorf("without the secret: %d %q %q", code, out, errs)
	}
	t.Setenv("STATE_KEY", strings.Repeat("another key, ", 4))
	if code, out, errs := f.run("sign-ins", "list"); code != 1 || !strings.Contains(errs, "sealed with another key") {
		t.Errorf("with another key: %d %q %q", code, out, errs)
	}
}
