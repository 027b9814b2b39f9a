package e2e_test

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode"

	"hatchel/runtime/stage/approval"
)

func TestTheCommandDecidesWhileAServerRuns(t *testing.T) {
	t.Parallel()
	forEachState(t, func(t *testing.T, o *approvalServer, environ []string) {
		id, answered := o.requestApproval("eve", "refund", `{"amount":500,"note":"a b"}`)
		code, out, errs := o.runCommand(environ, "approvals", "list")
		if code != 0 || !strings.HasPrefix(errs, "hatchel: the ") || strings.Contains(out, "\x1b") || strings.Count(out, "\n") != 2 {
			t.Errorf("%d %q %q", code, out, errs)
		}
		checkContains(t, out, id, "refund", "eve", "in 4m", "Refund 500: a b")
		code, out, _ = o.runCommand(environ, "approvals", "show", strings.ToLower(id))
		if code != 0 {
			t.Errorf("%d", code)
		}
		checkContains(t, out, id, "eve", "127.0.0.1", "tool.refund.approval", "Refund 500: a b", `"amount": 500`, "expires", "pending")
		code, out, errs = o.runCommand(environ, "approvals", "approve", id, "--reason", "fine")
		if code != 0 || errs != "" {
			t.Fatalf("%d %q %q", code, out, errs)
		}
		checkContains(t, out, id+" approved: refund for eve", "reason: fine")
		checkContains(t, <-answered, "refunded 500")
		o.checkRecorded(id, "approved", localUser())
		code, out, errs = o.runCommand(environ, "approvals", "reject", id)
		if code != 1 || out != "" {
			t.Errorf("%d %q", code, out)
		}
		checkContains(t, errs, "nothing was decided", localUser()+" approved it at", "used")
		if code, _, errs = o.runCommand(environ, "approvals", "approve", "0123456789ABCDEF"); code != 1 || !strings.Contains(errs, "there is no approval") {
			t.Errorf("%d %q", code, errs)
		}
		if code, out, errs = o.runCommand(environ, "approvals", "list"); code != 0 || out != "" || !strings.Contains(errs, "no pending approvals") {
			t.Errorf("%d %q %q", code, out, errs)
		}
		code, out, _ = o.runCommand(environ, "approvals", "list", "--all")
		if checkContains(t, out, id, "approved by os:"+strings.TrimPrefix(localUser(), "os:")+", ok"); code != 0 {
			t.Errorf("%d", code)
		}
		o.checkRecorded(id, "approved", localUser())
	})
}

func TestARejectionOfTheCommandReachesTheCaller(t *testing.T) {
	t.Parallel()
	o := startApprovalServer(t)
	id, answered := o.requestApproval("eve", "refund", `{"amount":500}`)
	if code, out, errs := o.runCommand(nil, "approvals", "reject", id, "--reason", "ask me first", "--json"); code != 0 || !json.Valid([]byte(out)) {
		t.Errorf("%d %q %q", code, out, errs)
	}
	checkContains(t, <-answered, "ask me first", `"isError":true`)
	o.checkRecorded(id, "rejected", localUser())
}

func TestADecisionWithoutAServerIsRecordedByTheNextOne(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"approve", "reject"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			o := startApprovalServer(t)
			id, _ := o.requestApproval("eve", "refund", `{"amount":500}`)
			o.kill()
			code, out, errs := o.runCommand(nil, "approvals", verb, id, "--reason", "fine")
			if code != 0 {
				t.Fatalf("%d %q %q", code, out, errs)
			}
			checkContains(t, out, "the decision to "+verb+" is stored", "takes effect when a server has recorded it")
			if n := len(o.decisionRecords()); n != 0 {
				t.Errorf("%d decisions are recorded without a server", n)
			}
			code, _, errs = o.runCommand(nil, "approvals", "reject", id)
			if checkContains(t, errs, "nothing was decided", localUser()); code != 1 {
				t.Errorf("a second decision: %d", code)
			}
			o.replica = startReplica(t, o.dir, "")
			want := map[string]approval.Status{"approve": approval.Approved, "reject": approval.Rejected}[verb]
			await(t, func() bool { return o.statusOf(id) == want })
			o.checkRecorded(id, string(want), localUser())
			if verb == "approve" {
				checkContains(t, <-o.startCall("eve", "refund", `{"amount":500}`), "refunded 500")
				o.checkRecorded(id, "approved", localUser())
			}
		})
	}
}

func TestADecisionThatTheServerCannotRecordIsNotMade(t *testing.T) {
	t.Parallel()
	o := startApprovalServer(t)
	id, _ := o.requestApproval("eve", "refund", `{"amount":500}`)
	file := filepath.Join(o.dir, "audit.jsonl")
	if err := os.Rename(file, file+".away"); err != nil {
		t.Fatal(err)
	}
	code, out, errs := o.runCommand(nil, "approvals", "approve", id)
	if checkContains(t, errs, "nothing was decided", "its log has the reason"); code != 1 || out != "" {
		t.Errorf("%d %q", code, out)
	}
	if err := os.Rename(file+".away", file); err != nil {
		t.Fatal(err)
	}
	if s := o.statusOf(id); s != approval.Pending {
		t.Errorf("the approval is %s", s)
	}
	if code, _, errs := o.runCommand(nil, "approvals", "approve", id); code != 0 {
		t.Errorf("%d %s", code, errs)
	}
	o.checkRecorded(id, "approved", localUser())
}

func TestOneOfConcurrentCommandsDecides(t *testing.T) {
	t.Parallel()
	o := startApprovalServer(t)
	id, answered := o.requestApproval("eve", "refund", `{"amount":500}`)
	var all sync.WaitGroup
	codes := make(chan int, 4)
	for range 4 {
		all.Go(func() {
			code, _, errs := o.runCommand(nil, "approvals", "approve", id)
			if codes <- code; code == 1 {
				checkContains(t, errs, "nothing was decided", localUser())
			}
		})
	}
	all.Wait()
	close(codes)
	won := 0
	for code := range codes {
		if won += 1 - code; code > 1 {
			t.Errorf("exit code %d", code)
		}
	}
	if won != 1 {
		t.Errorf("%d have decided", won)
	}
	checkContains(t, <-answered, "refunded 500")
	o.checkRecorded(id, "approved", localUser())
}

func TestArgumentsCannotControlTheTerminal(t *testing.T) {
	t.Parallel()
	o := startApprovalServer(t)
	evil := "\x1b[2J\x1b]0;x\a\u009b31m\u202egnp\u200b\r\x7f"
	arguments, err := json.Marshal(map[string]any{"amount": 500, "note": evil})
	if err != nil {
		t.Fatal(err)
	}
	id, _ := o.requestApproval("eve", "refund", string(arguments))
	_, answer := o.do("bob", http.MethodGet, "/approvals/"+id, "")
	outputs := map[string]string{"GET /approvals/ID": answer}
	for _, args := range [][]string{{"list"}, {"list", "--json"}, {"show", id}, {"show", id, "--json"}, {"approve", id, "--reason", evil}, {"show", id}, {"list", "--all"}, {"approve", id}} {
		code, out, errs := o.runCommand(nil, append([]string{"approvals"}, args...)...)
		if code != 0 && strings.Join(args, " ") != "approve "+id {
			t.Errorf("%v: %d %s", args, code, errs)
		}
		outputs[strings.Join(args, " ")] = out + errs
	}
	for what, out := range outputs {
		if i := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("%s prints %q in %q", what, out[i:i+1], out)
		}
	}
	checkContains(t, outputs["show "+id], `\u001b[2J`, `\u202egnp`)
}

func TestTheShellCompletesIDs(t *testing.T) {
	t.Parallel()
	o := startApprovalServer(t)
	id, _ := o.requestApproval("eve", "refund", `{"amount":500}`)
	for _, verb := range []string{"show", "approve", "reject"} {
		_, out, _ := o.runCommand(nil, "__complete", "approvals", verb, "")
		checkContains(t, out, id+"\trefund: Refund 500")
	}
}

func TestTheCommandDecidesOverHTTP(t *testing.T) {
	t.Parallel()
	o := startApprovalServer(t)
	id, answered := o.requestApproval("eve", "refund", `{"amount":500}`)
	as := func(who string) []string { return []string{"HATCHEL_KEY=" + apiKeyOf(who)} }
	code, out, errs := o.runCommand(as("bob"), "approvals", "list", "--server", o.url+"/mcp")
	if checkContains(t, out, id, "eve", "Refund 500"); code != 0 {
		t.Errorf("%d %s", code, errs)
	}
	for _, c := range []struct {
		environ []string
		args    []string
		code    int
		says    string
	}{
		{nil, []string{"approve", id}, 1, "requires a key: set HATCHEL_KEY to your API key or token"},
		{as("mallory"), []string{"approve", id}, 1, "does not accept the key"},
		{as("eve"), []string{"approve", id}, 1, "denies access: You may not decide"},
		{as("bob"), []string{"approve", "0123456789ABCDEF"}, 1, "there is no approval"},
		{as("bob"), []string{"show", "../../healthz"}, 1, "is not the ID of an approval"},
		{as("bob"), []string{"approve", id, "--state", "x.db"}, 2, "--state cannot be used with --server"},
		{as("bob"), []string{"approve", id, "--reason", strings.Repeat("x", 1001)}, 2, "1000 characters"},
	} {
		t.Run(c.says, func(t *testing.T) {
			args := append([]string{"approvals", c.args[0], "--server", o.url}, c.args[1:]...)
			code, out, errs := o.runCommand(c.environ, args...)
			if code != c.code || out != "" || !strings.Contains(errs, c.says) {
				t.Errorf("%d %q %q", code, out, errs)
			}
		})
	}
	if code, out, errs = o.runCommand(as("bob"), "approvals", "approve", id, "--server", o.url, "--reason", "fine"); code != 0 {
		t.Fatalf("%d %q %q", code, out, errs)
	}
	checkContains(t, <-answered, "refunded 500")
	o.checkRecorded(id, "approved", "bob")
	if code, _, errs = o.runCommand(as("ann"), "approvals", "approve", id, "--server", o.url); code != 1 || !strings.Contains(errs, "bob approved it at") {
		t.Errorf("%d %s", code, errs)
	}
}

func TestAListWithoutOnesOwnCallsSaysSo(t *testing.T) {
	t.Parallel()
	o := startApprovalServer(t)
	o.requestApproval("ann", "refund", `{"amount":500}`)
	code, out, errs := o.runCommand([]string{"HATCHEL_KEY=" + apiKeyOf("ann")}, "approvals", "list", "--server", o.url)
	const text = "hatchel: no pending approvals that you may decide; another approver decides your own calls\n"
	if code != 0 || out != "" || errs != text {
		t.Errorf("%d %q %q", code, out, errs)
	}
}

func TestACommandWithoutAKeySaysWhereToPutIt(t *testing.T) {
	t.Parallel()
	o := newApprovalServer(t, "console {}\nstate { sqlite = \"state.db\" }")
	o.replica = startReplica(t, o.dir, "")
	for _, command := range []string{"events", "console"} {
		code, out, errs := o.runCommand(nil, command, "--server", o.url)
		const text = " requires a key: set HATCHEL_KEY to your API key or token"
		if code != 1 || out != "" || !strings.Contains(errs, o.url+text) {
			t.Errorf("%s: %d %q %q", command, code, out, errs)
		}
	}
}

func TestConnectionFailuresAreExplained(t *testing.T) {
	t.Parallel()
	o := newApprovalServer(t, "")
	environ := []string{"HATCHEL_KEY=" + apiKeyOf("bob")}
	seen := make(chan string, 10)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Get("Authorization")
		http.Redirect(w, r, "https://evil.example/", http.StatusTemporaryRedirect)
	})
	secure, plain := httptest.NewUnstartedServer(handler), httptest.NewServer(handler)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	defer plain.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>")) }))
	defer other.Close()
	closed := httptest.NewServer(handler)
	closed.Close()
	for _, c := range []struct {
		server string
		code   int
		says   string
	}{
		{secure.URL, 1, "signed by an authority that this machine does not trust"},
		{plain.URL, 1, "redirects"},
		{other.URL, 1, "does not answer as a Hatchel server"},
		{closed.URL, 1, "connection refused"},
		{"http://tools.example.com", 2, "unencrypted"},
		{"ftp://x", 2, "requires the URL of a server"},
		{"127.0.0.1:8080", 2, "requires the URL of a server: write http://127.0.0.1:8080\n"},
		{"localhost:8080", 2, "requires the URL of a server: write http://localhost:8080\n"},
		{"tools.example:443", 2, "requires the URL of a server: write https://tools.example:443\n"},
		{"https://user:pw@x.example", 2, "requires the URL of a server"},
	} {
		t.Run(c.says, func(t *testing.T) {
			code, _, errs := o.runCommand(environ, "approvals", "list", "--server", c.server)
			if code != c.code || !strings.Contains(errs, c.says) || strings.Contains(errs, apiKeyOf("bob")) || strings.Contains(errs, "pw") {
				t.Errorf("%s: %d %s", c.server, code, errs)
			}
		})
	}
	if len(seen) != 1 {
		t.Errorf("the key was sent %d times", len(seen))
	}
}

func TestADirectoryWithoutStateIsReported(t *testing.T) {
	t.Parallel()
	o := newApprovalServer(t, `state { sqlite = "state.db" }`)
	code, _, errs := o.runCommand(nil, "approvals", "list")
	if checkContains(t, errs, "state.db cannot be read", "--server"); code != 1 {
		t.Errorf("%d %s", code, errs)
	}
	if _, err := os.Stat(filepath.Join(o.dir, "state.db")); err == nil {
		t.Error("the file was made")
	}
	o.writeConfig("tool {")
	if code, _, errs = o.runCommand(nil, "approvals", "list"); code != 1 || !strings.Contains(errs, "hatchel validate") {
		t.Errorf("%d %s", code, errs)
	}
	if code, _, _ = o.runCommand(nil, "approvals"); code != 2 {
		t.Errorf("%d", code)
	}
}

func TestInvalidIDsAreReported(t *testing.T) {
	t.Parallel()
	o := startApprovalServer(t)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"show", "0123456789ABCDEF"}, 1, "there is no approval 0123456789ABCDEF"},
		{[]string{"show", "0123-4567-89ab-cdef"}, 1, "there is no approval"},
		{[]string{"show", ""}, 1, `"" is not the ID of an approval`},
		{[]string{"approve", "0123"}, 1, `"0123" is not the ID of an approval`},
		{[]string{"reject", "../../etc"}, 1, `"../../etc" is not the ID of an approval`},
		{[]string{"show"}, 2, "show requires the ID of an approval"},
		{[]string{"approve"}, 2, "approve requires the ID of one approval"},
		{[]string{"reject", ".", "a", "b"}, 2, "reject requires the ID of one approval"},
	} {
		t.Run(c.says, func(t *testing.T) {
			code, out, errs := o.runCommand(nil, append([]string{"approvals"}, c.args...)...)
			if checkContains(t, errs, c.says); code != c.code || out != "" {
				t.Errorf("%q: %d %q", c.args, code, out)
			}
		})
	}
}

// Errors in the configuration, and secrets that are missing on the machine of the approver, matter
// only when they hide where the state is.
func TestErrorsInToolsDoNotPreventDecisions(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]string{
		"with a state block": `state { sqlite = "state.db" }`, "with a key alone": `state { key = secret.shop }`, "without a state block": "",
	} {
		t.Run(name, func(t *testing.T) {
			o := newApprovalServer(t, state)
			text, err := os.ReadFile(filepath.Join(o.dir, "tools.hcl"))
			if err != nil {
				t.Fatal(err)
			}
			o.writeConfig(string(text) + "secret \"shop\" { env = \"STATE\" }\n") // which who decides does not have
			o.replica = startReplica(t, o.dir, "that of the server only, with 0123456789")
			id, answered := o.requestApproval("eve", "refund", `{"amount":500}`)
			var home []string
			for _, pair := range o.cmd.Env {
				if strings.HasPrefix(pair, "HOME=") {
					home = append(home, pair)
				}
			}
			if code, out, errs := o.runCommand(home, "approvals", "approve", id); code != 0 {
				t.Fatalf("%d %q %q", code, out, errs)
			}
			checkContains(t, <-answered, "refunded 500")
			o.checkRecorded(id, "approved", localUser())
		})
	}
}

// A state block with errors is not ignored: an older state in the default file belongs to another
// server.
func TestErrorsInTheStateBlockPreventDecisions(t *testing.T) {
	t.Parallel()
	for _, state := range []string{
		`state { sqlite = var.nowhere }`, `state "x" { sqlite = "state.db" }`, `state = { sqlite = "state.db" }`, `stat { sqlite = "state.db" }`, `state { sqlit = "state.db" }`,
		"state { sqlite = \"state.db\" }\nstate { sqlite = \"other.db\" }", "state {\nsqlite = \"state.db\"\npostgres = \"postgres://u@127.0.0.1:1/x\"\n}",
		"state {\nkey = secret.nowhere\nsqlit = \"state.db\"\n}", "state { key = secret.nowhere }\nstate { sqlite = \"state.db\" }",
	} {
		t.Run(state, func(t *testing.T) {
			o := newApprovalServer(t, state)
			code, _, errs := o.runCommand(nil, "approvals", "list")
			if code != 1 || !strings.Contains(errs, "the location of its state is unknown") {
				t.Errorf("%d %q", code, errs)
			}
		})
	}
}

func TestTheStateFlagSelectsTheFile(t *testing.T) {
	t.Parallel()
	o := newApprovalServer(t, "")
	o.replica = startReplica(t, o.dir, "", "--state", filepath.Join(o.dir, "own.db"))
	id, answered := o.requestApproval("eve", "refund", `{"amount":500}`)
	if code, _, errs := o.runCommand(nil, "approvals", "approve", id, "--state", "own.db"); code != 0 {
		t.Errorf("%d %s", code, errs)
	}
	checkContains(t, <-answered, "refunded 500")
	if s := o.statusOf(id); s != approval.Used {
		t.Errorf("%s", s)
	}
}

func TestFlagsMayPrecedeTheSubcommand(t *testing.T) {
	t.Parallel()
	o := startApprovalServer(t)
	id, _ := o.requestApproval("eve", "refund", `{"amount":500}`)
	for _, args := range [][]string{{"--json", "list"}, {"list", "--json"}, {"-C", ".", "--json", "show", id}} {
		code, out, errs := o.runCommand(nil, append([]string{"approvals"}, args...)...)
		if code != 0 || !json.Valid([]byte(out)) {
			t.Errorf("%v: %d %q %q", args, code, out, errs)
		}
	}
}
