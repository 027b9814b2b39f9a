package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hatchel/internal/programtest"
	"hatchel/internal/sampletest"
	"hatchel/runtime/load/source/git/gittest"
)

// repositoryServer is a process that serves the folder prod of a repository.
type repositoryServer struct {
	t      *testing.T
	remote *gittest.Remote
	state  string // its file, beside which the revisions are
	flags  []string

	cmd *exec.Cmd
	url string
	log string // the file of its standard error
}

func newRepositoryServer(t *testing.T, flags ...string) *repositoryServer {
	dir := t.TempDir()
	s := &repositoryServer{t: t, remote: gittest.New(t), state: filepath.Join(dir, "state.db"), flags: flags,
		log: filepath.Join(dir, "log")}
	t.Cleanup(func() {
		s.stop()
		exec.Command("chmod", "-R", "u+w", dir).Run() // the revisions cannot be written to
	})
	return s
}

func (s *repositoryServer) location() string { return "git+" + s.remote.URL + "//prod?ref=main" }

// start starts the process and waits until it is ready.
func (s *repositoryServer) start() {
	s.t.Helper()
	s.launch()
	s.await("ready", func() bool {
		m := programtest.Ready.FindStringSubmatch(s.logged())
		if m != nil {
			s.url = m[1]
		}
		return m != nil
	})
}

// launch starts the process.
func (s *repositoryServer) launch() {
	s.t.Helper()
	hatchel, err := exec.LookPath("hatchel")
	if err != nil {
		s.t.Fatal(err)
	}
	log, err := os.Create(s.log)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	s.cmd = exec.Command(hatchel, append([]string{"serve", "--listen", "127.0.0.1:0", "--state", s.state, s.location()}, s.flags...)...)
	s.cmd.Stderr = log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *repositoryServer) stop() {
	if s.cmd != nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
		s.cmd = nil
	}
}

func (s *repositoryServer) logged() string {
	text, err := os.ReadFile(s.log)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// await waits until something is true, and returns how long that took.
func (s *repositoryServer) await(what string, isTrue func() bool) time.Duration {
	s.t.Helper()
	began := time.Now()
	for end := time.After(programtest.Timeout); !isTrue(); {
		select {
		case <-end:
			s.t.Fatalf("it is not %s:\n%s", what, s.logged())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return time.Since(began)
}

func (s *repositoryServer) get(path string) string {
	s.t.Helper()
	res, err := http.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(body)
}

// serves waits until a commit is served, stale or not, and returns how long that took.
func (s *repositoryServer) serves(commit string, stale bool) time.Duration {
	s.t.Helper()
	return s.await(fmt.Sprintf("serving %s, stale %v", commit, stale), func() bool {
		body := s.get("/readyz")
		return strings.Contains(body, fmt.Sprintf(`"commit": %q`, commit)) && strings.Contains(body, fmt.Sprintf(`"stale": %v`, stale))
	})
}

func (s *repositoryServer) signal() {
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		s.t.Fatal(err)
	}
}

func (s *repositoryServer) reload(status int) string {
	s.t.Helper()
	res, err := http.Post(s.url+"/admin/reload", "", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	if res.StatusCode != status {
		s.t.Errorf("the reload is answered with %s: %s", res.Status, body)
	}
	return string(body)
}

const repositoryTool = `audit { file = "audit.jsonl" }
tool "hello" {
  description = "Say hello."
  shell { command = ["cat", "hello.txt"] }
}
`

func TestServeFollowsARepository(t *testing.T) {
	s := newRepositoryServer(t, "--every", "1h")
	s.remote.Write("prod/tools.hcl", repositoryTool)
	s.remote.Write("prod/hello.txt", "from the repository")
	first := s.remote.Push()
	s.start()
	s.serves(first, false)
	if answer := callTool(t, s.url, "hello"); !strings.Contains(fmt.Sprint(answer), "from the repository") {
		t.Errorf("the tool that reads a file of the repository answers %+v", answer)
	}

	s.remote.Write("prod/tools.hcl", repositoryTool+`tool "bye" {
  description = "Say bye."
  text        = "bye"
}
`)
	second := s.remote.Push()
	s.signal()
	if took := s.serves(second, false); *bounds && took > time.Second {
		t.Errorf("a push is served %s after the signal", took)
	}
	s.await("logging the commit", func() bool {
		return strings.Contains(s.logged(), `msg="configuration reloaded" trigger=SIGHUP commit=`+second)
	})
	audit, err := filepath.Glob(filepath.Join(filepath.Dir(s.state), "prod-*.git", "audit.jsonl"))
	if err != nil || len(audit) != 1 {
		t.Fatalf("the audit log is at %v, %v", audit, err)
	}
	if text, err := os.ReadFile(audit[0]); err != nil || !strings.Contains(string(text), `"commit":"`+second+`"`) {
		t.Errorf("the audit log does not name the commit: %s, %v", text, err)
	}

	s.remote.Write("prod/tools.hcl", `tool "hello" {`)
	s.remote.Push()
	if body := s.reload(http.StatusUnprocessableEntity); !strings.Contains(body, `"commit": "`) {
		t.Errorf("the report of a commit with errors is %s", body)
	}
	s.serves(second, true)
	if body := s.get("/readyz"); !strings.Contains(body, "tools.hcl") || !strings.Contains(body, `"tools": 2`) {
		t.Errorf("with a commit with errors: %s", body)
	}

	s.remote.Git("reset", "-q", "--hard", first)
	s.remote.PushHead()
	s.reload(http.StatusOK)
	s.serves(first, false)

	s.remote.Away.Store(true)
	if body := s.reload(http.StatusUnprocessableEntity); !strings.Contains(body, "Revision not served") {
		t.Errorf("the report of a fetch that fails is %s", body)
	}
	s.serves(first, true)
	s.stop()
	s.start()
	s.serves(first, true)
	if !strings.Contains(s.logged(), "revision not served, the last one is served again") {
		t.Errorf("the log of a start without the repository is:\n%s", s.logged())
	}
	s.remote.Away.Store(false)
	s.signal()
	s.serves(first, false)
}

func TestMetricsNameTheCommit(t *testing.T) {
	s := newRepositoryServer(t)
	s.remote.Write("prod/tools.hcl", "telemetry {\n  metrics {}\n}\n")
	first := s.remote.Push()
	s.start()
	s.serves(first, false)
	info := func() (commit, revision string) {
		m := regexp.MustCompile(`hatchel_config_info{commit="(.*)",revision="(.*)"} 1\n`).FindStringSubmatch(s.get("/metrics"))
		if m == nil {
			t.Fatal(s.get("/metrics"))
		}
		return m[1], m[2]
	}
	commit, revision := info()
	s.remote.Write("README", "outside of the folder")
	second := s.remote.Push()
	s.reload(http.StatusOK)
	if next, same := info(); commit != first || next != second || revision != same {
		t.Errorf("first %s %s, then %s %s", commit, revision, next, same)
	}
}

func TestASignalEndsTheFirstFetch(t *testing.T) {
	s := newRepositoryServer(t)
	s.remote.Write("prod/tools.hcl", repositoryTool)
	s.remote.Push()
	s.remote.Hangs.Store(true)
	s.launch()
	s.await("fetching", func() bool { return s.remote.Requests.Load() > 0 })
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err := s.cmd.Wait()
	if want := "hatchel: stopped before " + s.location() + " was served\n"; err != nil || s.logged() != want {
		t.Errorf("%v\n%s", err, s.logged())
	}
	s.cmd = nil
}

func TestASecretIsRenewedWhileNoRevisionCanBe(t *testing.T) {
	s := newRepositoryServer(t, "--every", "1h")
	dir := t.TempDir()
	writeSecret := func(name, value string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tools := func(secret string) string {
		return `secret "key" { file = "` + filepath.Join(dir, secret) + `" }
tool "show" {
  description = "Show the length of a secret."
  shell {
    command = ["sh", "-c", "printf %s $KEY | wc -c"]
    env     = { KEY = secret.key }
  }
}
`
	}
	shows := func(length string) {
		t.Helper()
		s.await("using a secret of the length "+length, func() bool {
			return strings.Contains(fmt.Sprint(callTool(t, s.url, "show")), length)
		})
	}
	writeSecret("key", "k3y")
	s.remote.Write("prod/tools.hcl", tools("key"))
	first := s.remote.Push()
	s.start()
	shows("3")

	s.remote.Away.Store(true)
	s.reload(http.StatusUnprocessableEntity)
	writeSecret("key", "longer")
	shows("6")
	s.serves(first, true)
	s.remote.Away.Store(false)

	s.remote.Write("prod/tools.hcl", tools("other"))
	second := s.remote.Push()
	s.reload(http.StatusUnprocessableEntity)
	s.serves(first, true)
	writeSecret("other", "other_key")
	shows("9")
	s.serves(second, false)

	s.remote.Write("prod/tools.hcl", tools("other")+`tool "bye" {`)
	s.remote.Push()
	s.reload(http.StatusUnprocessableEntity)
	writeSecret("other", "k3y")
	shows("3")
	s.serves(second, true)
}

func TestServePollsARepository(t *testing.T) {
	s := newRepositoryServer(t, "--every", "1s")
	s.remote.Write("prod/tools.hcl", repositoryTool)
	commit := s.remote.Push()
	s.start()
	s.serves(commit, false)
	commit = s.remote.Push()
	s.serves(commit, false)
	s.remote.Away.Store(true)
	s.serves(commit, true)
	s.remote.Away.Store(false)
	s.serves(commit, false)
	s.await("logging two reloads", func() bool { return strings.Count(s.logged(), "configuration reloaded") == 2 })
}

func TestServeRefusesUnsignedCommits(t *testing.T) {
	s := newRepositoryServer(t)
	key, signer := s.remote.Key("ann")
	signers := filepath.Join(t.TempDir(), "allowed_signers")
	if err := os.WriteFile(signers, []byte(signer), 0o600); err != nil {
		t.Fatal(err)
	}
	s.flags = []string{"--signed-by", signers}
	s.remote.Write("prod/tools.hcl", repositoryTool)
	signed := s.remote.Push(key)
	s.start()
	s.serves(signed, false)
	s.remote.Push()
	s.reload(http.StatusUnprocessableEntity)
	s.serves(signed, true)
	s.stop()
	s.start()
	s.serves(signed, true)
	signed = s.remote.Push(key)
	s.reload(http.StatusOK)
	s.serves(signed, false)
}

func TestCommandsSayWhatARepositoryNeeds(t *testing.T) {
	remote := gittest.New(t)
	remote.Write("prod/tools.hcl", `tool "hello" {`)
	remote.Push()
	dir := t.TempDir()
	location := "git+" + remote.URL + "//prod"
	for want, args := range map[string][]string{
		"--every requires a git repository":                     {"serve", "--every", "5s", dir},
		"--signed-by requires a git repository":                 {"serve", "--signed-by", "f", dir},
		"--every must be from 1s to 1h0m0s, and is 10ms":        {"serve", "--every", "10ms", location},
		"none cannot be read: it does not exist":                {"serve", "--signed-by", dir + "/none", location},
		"only git+https, git+ssh and git+file are accepted":     {"serve", "git+http://git.example/tools.git"},
		"give it to git by a credential helper":                 {"serve", "git+https://ann:s3cret@git.example/tools.git"},
		"hatchel validate reads a directory, and only serve":    {"validate", location},
		"hatchel list reads a directory, and only serve":        {"list", "-C", location},
		"hatchel call reads a directory, and only serve":        {"call", "-C", location, "hello"},
		"hatchel lint reads a directory, and only serve":        {"lint", location},
		"has 1 error and is not served":                         {"serve", location},
		"it has no folder \"dev\"":                              {"serve", "git+" + remote.URL + "//dev"},
		"it has no branch and no tag none":                      {"serve", location + "?ref=none"},
		"cannot be fetched: unable to access 'https://127.0.0.": {"serve", "git+https://127.0.0.1:1/tools.git"},
	} {
		if args[0] == "serve" {
			args = append(args, "--state", filepath.Join(dir, "state.db"), "--listen", "127.0.0.1:0")
		}
		out, err := exec.Command("hatchel", args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) || strings.Contains(string(out), "s3cret") {
			t.Errorf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

func TestAnEmptyPushDoesNotReplaceTheToolsThatAreServed(t *testing.T) {
	s := newRepositoryServer(t, "--every", "1h")
	s.remote.Write("prod/tools.hcl", repositoryTool)
	s.remote.Write("prod/hello.txt", "from the repository")
	first := s.remote.Push()
	s.start()
	s.serves(first, false)
	s.remote.Git("rm", "-q", "-r", "prod")
	s.remote.Write("prod/README.md", "Nothing is here.")
	s.remote.Push()
	if body := s.reload(http.StatusConflict); !strings.Contains(body, "declares no tools any more, and the served configuration has 1") {
		t.Errorf("an empty push is answered with %s", body)
	}
	s.serves(first, true)
	s.remote.Write("prod/tools.hcl", repositoryTool)
	s.remote.Write("prod/.hatchelignore", "*\n")
	s.remote.Push()
	s.reload(http.StatusConflict)
	s.serves(first, true)
	if answer := callTool(t, s.url, "hello"); !strings.Contains(fmt.Sprint(answer), "from the repository") {
		t.Errorf("after an empty push the tool answers %+v", answer)
	}
}

// A repository of this machine is served for trying, with the same hold as any other.
func TestARepositoryOfThisMachineIsServed(t *testing.T) {
	s := newRepositoryServer(t, "--every", "1h")
	s.remote.Write("prod/tools.hcl", repositoryTool)
	s.remote.Write("prod/hello.txt", "from the repository")
	first := s.remote.Push()
	s.remote.URL = "file://" + s.remote.Dir // the working tree, of which the commits are served
	s.start()
	s.serves(first, false)
	if answer := callTool(t, s.url, "hello"); !strings.Contains(fmt.Sprint(answer), "from the repository") {
		t.Errorf("the tool answers %+v", answer)
	}
	s.remote.Write("prod/hello.txt", "changed")
	second := s.remote.Push()
	s.reload(http.StatusOK)
	s.serves(second, false)
}

// heldRepository serves a repository whose folder has a lock, and reloads only when it is told to.
type heldRepository struct {
	*repositoryServer
	served string // the commit
}

const (
	lockedTools = `audit { file = "audit.jsonl" }
policy "staff" { allow = "'staff' in caller.groups" }
tool "hello" {
  description = "Say hello."
  text        = "hello"
}
`
	widerTools  = lockedTools + `policy "guests" { allow = "'guests' in caller.groups" }` + "\n"
	widestTools = widerTools + `policy "all" { allow = "true" }` + "\n"
)

// harmless returns tools with a description that nobody has to approve.
func harmless(tools string) string {
	return strings.Replace(tools, `"Say hello."`, `"Say hello politely."`, 1)
}

// lock writes the lock of the working tree.
func (s *heldRepository) lock() {
	s.t.Helper()
	if out, err := exec.Command("hatchel", "lock", filepath.Join(s.remote.Dir, "prod")).CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
}

// push commits tools.
func (s *heldRepository) push(tools string, withLock bool) {
	s.t.Helper()
	s.remote.Write("prod/tools.hcl", tools)
	if withLock {
		s.lock()
	}
	s.remote.Push()
}

// waits reloads, and checks that the commit before is served still.
func (s *heldRepository) waits(differences ...string) {
	s.t.Helper()
	body := s.reload(http.StatusConflict)
	for _, d := range differences {
		if !strings.Contains(body, d) {
			s.t.Errorf("no difference is %s: %s", d, body)
		}
	}
	s.serves(s.served, true)
	if ready := s.get("/readyz"); !strings.Contains(ready, `"held_since"`) {
		s.t.Errorf("nothing is held: %s", ready)
	}
}

// follows reloads, and checks that the pushed commit is served and that nothing is held.
func (s *heldRepository) follows() {
	s.t.Helper()
	s.reload(http.StatusOK)
	s.served = strings.TrimSpace(s.remote.Git("rev-parse", "HEAD"))
	s.serves(s.served, false)
	if ready := s.get("/readyz"); strings.Contains(ready, "held") {
		s.t.Errorf("something is held: %s", ready)
	}
}

// audited returns the records of reloads that were "held" and "released".
func (s *heldRepository) audited() (events []string) {
	s.t.Helper()
	names, err := filepath.Glob(filepath.Join(filepath.Dir(s.state), "prod-*.git", "audit.jsonl"))
	if err != nil || len(names) != 1 {
		s.t.Fatalf("the audit log is at %v, %v", names, err)
	}
	text, err := os.ReadFile(names[0])
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.Contains(line, `"event":"held"`):
			events = append(events, "held")
		case strings.Contains(line, `"event":"reload"`) && strings.Contains(line, `"message":"held since`):
			events = append(events, "released")
		}
	}
	return events
}

// commitSequence is commits that are pushed one after the other, with what the audit log has of them.
type commitSequence struct {
	name  string
	run   func()
	audit []string
}

// TestACommitThatWidensWaitsForItsLock pushes commits in several sequences, each after the same first commit.
func TestACommitThatWidensWaitsForItsLock(t *testing.T) {
	s := &heldRepository{repositoryServer: newRepositoryServer(t, "--every", "1h", "--hold", "widening")}
	s.remote.Write("prod/tools.hcl", lockedTools)
	s.lock()
	first := s.remote.Push()
	s.served = first
	s.start()
	s.serves(first, false)
	sequences := []commitSequence{
		{"harmless", func() {
			s.push(harmless(lockedTools), false)
			s.follows()
		}, nil},
		{"widened and reverted, twice", func() {
			for range 2 {
				s.push(widerTools, false)
				s.waits("group guests", "gains hello")
				s.remote.Git("revert", "--no-edit", "HEAD")
				s.remote.PushHead()
				s.follows()
			}
			s.push(harmless(lockedTools), true)
			s.follows()
		}, []string{"held", "held"}},
		{"widened, then harmless", func() {
			s.push(widerTools, false)
			s.waits("gains hello")
			s.push(harmless(widerTools), false)
			s.waits("gains hello")
			s.push(harmless(lockedTools), false)
			s.follows()
		}, []string{"held", "held"}},
		{"widened twice", func() {
			s.push(widerTools, false)
			s.waits("group guests")
			s.push(widestTools, false)
			s.waits("everyone")
			s.push(widerTools, false)
			s.waits("group guests")
		}, []string{"held", "held", "held"}},
		{"widened with its lock", func() {
			s.push(widerTools, true)
			s.follows()
			s.push(widestTools, false)
			s.waits("everyone")
		}, []string{"held"}},
		{"widened, and locked later", func() {
			s.push(widerTools, false)
			s.waits("gains hello")
			s.push(widestTools, false)
			s.waits("everyone")
			s.push(widerTools, true)
			s.push(widestTools, false) // the lock is that of the commit before
			s.waits("everyone")
			s.push(widestTools, true)
			s.follows()
		}, []string{"held", "held", "held", "released"}},
		{"widened, and pushed back by force", func() {
			s.push(widerTools, false)
			s.waits("gains hello")
			s.remote.Git("reset", "-q", "--hard", s.served)
			s.remote.PushHead()
			s.follows()
			s.push(widerTools, true)
			s.follows()
			s.remote.Git("reset", "-q", "--hard", "HEAD~1") // a restriction, with its lock
			s.remote.PushHead()
			s.follows()
		}, []string{"held"}},
		{"locked alone", func() { // a lock that permits more serves nothing by itself
			s.push(widerTools, true)
			s.push(lockedTools, false)
			s.follows()
			s.push(widestTools, false)
			s.waits("everyone")
			s.remote.Git("rm", "-q", "prod/hatchel.lock.json")
			s.remote.Push()
			s.waits("There is no hatchel.lock.json")
		}, []string{"held", "held"}},
	}
	last := commitSequence{"widened, and started again with --locked", func() { // the flag stays
		s.push(widerTools, false)
		s.waits("gains hello")
		s.stop()
		s.flags = append(slices.Clip(s.flags), "--locked")
		s.start()
		s.serves(s.served, true)
		s.push(widerTools, true)
		s.follows()
	}, []string{"held"}}
	for _, sequence := range append(sampletest.Of(t, 4, sequences), last) {
		t.Run(sequence.name, func(t *testing.T) {
			s.t, s.served = t, first
			s.remote.Git("reset", "-q", "--hard", first)
			s.remote.PushHead()
			s.follows()
			before := len(s.audited())
			sequence.run()
			if got := s.audited()[before:]; !slices.Equal(got, sequence.audit) {
				t.Errorf("the audit log has %q, not %q", got, sequence.audit)
			}
		})
	}
}
