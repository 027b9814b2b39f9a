package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hatchel/adapters/mcp/client/mcptest"
	"hatchel/adapters/mcp/definition/definitiontest"
)

// programMode makes the test binary an MCP server with the tool act, over its standard input and output. The word after
// it marks its processes.
const programMode = "mcp-program"

const actDefinition = `{"name":"act","inputSchema":{"type":"object","properties":{"how":{"type":"string"}}}}`

func serveProgram() {
	s := &mcptest.Server{Era: mcptest.Legacy}
	s.SetTools(actDefinition)
	s.Handle("act", func(c *mcptest.Call) (any, error) {
		var in struct{ How string }
		if err := json.Unmarshal(c.Arguments, &in); err != nil {
			return nil, err
		}
		switch in.How {
		case "env":
			return mcptest.Text("%s", strings.Join(os.Environ(), "\n")), nil
		case "half":
			os.Stdout.WriteString(`{"jsonrpc":"2.0","id":`)
			os.Exit(0)
		case "endless":
			for {
				os.Stdout.WriteString(strings.Repeat("x", 1<<16))
			}
		case "lines":
			os.Stdout.WriteString(strings.Repeat("a line of a log\n", 1000))
			time.Sleep(time.Hour)
		case "close":
			os.Stdout.Close()
			time.Sleep(time.Hour)
		case "fork":
			for {
				_ = exec.Command(os.Args[0], leftMode, os.Args[2]).Start()
			}
		case "memory":
			all := make([][]byte, 0, 100)
			for range 100 {
				all = append(all, bytes.Repeat([]byte{1}, 10<<20))
			}
			return mcptest.Text("%d", len(all)), nil
		case "errors":
			for range 64 {
				os.Stderr.WriteString(strings.Repeat("x", 1<<20))
			}
		}
		return mcptest.Text("%d", os.Getpid()), nil
	})
	signal.Ignore(syscall.SIGTERM)
	_ = exec.Command(os.Args[0], leftMode, os.Args[2]).Start()
	s.ServeStdio(context.Background(), os.Stdin, os.Stdout)
	time.Sleep(time.Hour)
}

// leftMode makes the test binary a process that a program leaves behind.
const leftMode = "mcp-program-left"

// countWith counts the processes that have a word on their command line.
func countWith(word string) (n int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil && bytes.Contains(text, []byte("\x00"+word+"\x00")) {
			n++
		}
	}
	return n
}

// programSet is a configuration of programs that are MCP servers.
type programSet struct {
	t    *testing.T
	dir  string
	mark string
	file string
}

func newProgramSet(t *testing.T) *programSet {
	t.Helper()
	file, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &programSet{t, t.TempDir(), strconv.FormatInt(time.Now().UnixNano(), 10), file}
	if err := os.WriteFile(filepath.Join(s.dir, "act.tools.json"), []byte(definitiontest.Text(t, actDefinition)), 0o644); err != nil {
		t.Fatal(err)
	}
	return s
}

// word returns the word that marks the processes of a program.
func (s *programSet) word(name string) string { return name + "-" + s.mark }

// write writes a file with a connection and a tool of a name, with arguments of both.
func (s *programSet) write(name, connection, limits, tool string) {
	s.t.Helper()
	text := fmt.Sprintf(`
connection "mcp" %[1]q {
  command     = [%[2]q, %[3]q, %[4]q]
  definitions = "act.tools.json"
  sandbox {
    read = [%[2]q]
    %[6]s
  }
  %[5]s
}
tool %[1]q {
  description = "Act."
  input "how" { type = optional(string, "pid") }
  mcp %[1]q { call = "act" }
  %[7]s
}
`, name, s.file, programMode, s.word(name), connection, limits, tool)
	if err := os.WriteFile(filepath.Join(s.dir, name+".hcl"), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// act returns the text of a call.
func (s *programSet) act(r *replica, name, how string) string {
	s.t.Helper()
	res := sendRPC(s.t, r.url, "tools/call", map[string]any{"name": name, "arguments": map[string]any{"how": how}})
	return res.text()
}

// pid returns the process of a program, once it answers.
func (s *programSet) pid(r *replica, name string) (pid string) {
	s.t.Helper()
	await(s.t, func() bool {
		pid = s.act(r, name, "pid")
		_, err := strconv.Atoi(pid)
		return err == nil
	})
	return pid
}

// states returns the states of the upstream servers in /readyz.
func states(t *testing.T, r *replica) map[string]string {
	t.Helper()
	all := map[string]string{}
	list, _ := readHealth(t, r, "")["upstreams"].([]any)
	for _, item := range list {
		u := item.(map[string]any)
		all[u["connection"].(string)] = u["state"].(string)
	}
	return all
}

func TestProgramsLiveAsLongAsTheirBlock(t *testing.T) {
	t.Parallel()
	s := newProgramSet(t)
	for _, name := range []string{"kept", "changed", "removed"} {
		s.write(name, `sessions = "shared"`, "", "")
	}
	r := startReplicaIn(t, s.dir, []string{"OF_THE_SERVER=s3cret", "TMPDIR=" + t.TempDir()})
	kept, changed := s.pid(r, "kept"), s.pid(r, "changed")
	s.pid(r, "removed")
	for line := range strings.Lines(s.act(r, "kept", "env")) {
		switch name, _, _ := strings.Cut(line, "="); name {
		case "PATH", "LANG", "HOME", "TMPDIR":
		default:
			t.Errorf("the program has %s", line)
		}
	}
	await(t, func() bool {
		all := states(t, r)
		return all["mcp.kept"] == "ready" && all["mcp.changed"] == "ready" && all["mcp.removed"] == "ready"
	})

	s.write("kept", `sessions = "shared"`, "", `title = "Another title"`)
	s.write("changed", "sessions = \"shared\"\n  env = { A = \"1\" }", "", "")
	if err := os.Remove(filepath.Join(s.dir, "removed.hcl")); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { return countWith(s.word("removed")) == 0 && s.pid(r, "changed") != changed })
	if now := s.pid(r, "kept"); now != kept {
		t.Errorf("the process %s of a block that is the same was replaced by %s", kept, now)
	}
	r.kill()
	for _, name := range []string{"kept", "changed", "removed"} {
		await(t, func() bool { return countWith(s.word(name)) == 0 })
		if !strings.Contains(r.log.String(), `msg="upstream server ready" connection=mcp.`+name) {
			t.Errorf("the log does not say that %s is ready:\n%s", name, r.log)
		}
	}
}

func TestAHostileProgramHarmsNoOtherOne(t *testing.T) {
	t.Parallel()
	s := newProgramSet(t)
	modes := map[string]string{ // with what the log says
		"half":    "ended with exit code 0",
		"endless": "the server sent a message of more than 4194304 bytes",
		"lines":   "the server sent 100 messages that belong to no request",
		"close":   "the program has closed its standard output",
		"fork":    "was ended because it used more than 8 processes at the same time",
		"memory":  "ended with exit code 2", // the program gets no more memory
	}
	s.write("kept", "", "", "")
	s.write("errors", "", "", "")
	for mode := range modes {
		s.write(mode, `start = "call"`, "processes = 8\n    memory = \"256MiB\"", "")
	}
	r := startReplicaIn(t, s.dir, []string{"TMPDIR=" + t.TempDir()})
	kept, errors := s.pid(r, "kept"), s.pid(r, "errors")
	for mode := range modes {
		before := s.pid(r, mode)
		if got := s.act(r, mode, mode); !strings.HasPrefix(got, "the server of this tool stopped during the call") {
			t.Errorf("%s: %s", mode, got)
		}
		if after := s.pid(r, mode); after == before {
			t.Errorf("%s: the process %s was not replaced", mode, before)
		}
	}
	if got := s.act(r, "errors", "errors"); got != errors {
		t.Errorf("after much error output: %s", got)
	}
	if now := s.pid(r, "kept"); now != kept {
		t.Errorf("the process %s was replaced by %s", kept, now)
	}
	r.terminate(t)
	r.awaitEnd(t)
	for mode, want := range modes {
		if n := countWith(s.word(mode)); n > 0 {
			t.Errorf("%d processes of %s are left", n, mode)
		}
		found := false
		for line := range strings.Lines(r.log.String()) {
			found = found || strings.Contains(line, `msg="program ended" connection=mcp.`+mode) && strings.Contains(line, want)
		}
		if !found {
			t.Errorf("the log does not say %q of %s:\n%s", want, mode, r.log)
		}
	}
}

// An import starts programs that are installed, also before its directory exists, and says how one ended that does not
// run.
func TestAnImportStartsProgramsThatAreInstalled(t *testing.T) {
	t.Parallel()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, ".mcp.json")
	const format = `{"mcpServers":{"runs":{"command":%[1]q,"args":[%[2]q,"silent"]},` +
		`"ends":{"command":%[1]q,"args":[%[3]q,"nothing"]}}}`
	text := fmt.Sprintf(format, binary, talkMode, payMode)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("hatchel", "import", "mcp", file, "--start", "-o", "tools")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	for _, want := range []string{
		"mcp runs: 1 tool; blocks: 2 added.",
		"ends: server left out: the program ended with exit code 1 before it had initialized, and its error output ends with",
		"not imported: 1 of 2 servers",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%v: the output does not have %q:\n%s", err, want, out)
		}
	}
}
