package e2e_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// leaver is a script that leaves processes behind, which end by themselves long after the test: a daemon (where a sandbox
// lets it be one), an orphan, and itself.
const leaver = `trap '' TERM HUP INT; ( (setsid sleep 6000.MARK || sleep 6000.MARK) >/dev/null 2>&1 </dev/null &); (sh -c 'sleep 6001.MARK; true' &); sleep 6002.MARK`

// leftBehind is how many processes leaver starts that can be told by their command line.
const leftBehind = 3

// countSleeps counts the processes that leaver has started.
func countSleeps(mark string) (n int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err == nil && bytes.HasPrefix(text, []byte("sleep\x00600")) && bytes.Contains(text, []byte("."+mark)) {
			n++
		}
	}
	return n
}

// Programs of tools, of secrets and of git end within a second of the server, which has no time to end them.
func TestNoProgramOutlivesAKilledServer(t *testing.T) {
	t.Parallel()
	const call = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"c","version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}` + "\n"
	tool := func(sandbox string) string {
		return fmt.Sprintf("tool \"t\" {\ndescription = \"Leave processes behind.\"\nshell {\nscript = %q\n%s}\n}\n", leaver, sandbox)
	}
	for name, test := range map[string]struct {
		config   string
		location string   // instead of the directory
		programs []string // leave processes behind
		flags    []string
	}{
		"a tool over standard streams":              {config: tool(""), flags: []string{"--stdio"}},
		"an unconfined tool over standard streams":  {config: tool("sandbox { mode = \"none\" }\n"), flags: []string{"--stdio"}},
		"the command of a secret":                   {config: fmt.Sprintf("secret \"k\" { command = [\"sh\", \"-c\", %q] }\n", leaver)},
		"the command of a secret, standard streams": {config: fmt.Sprintf("secret \"k\" { command = [\"sh\", \"-c\", %q] }\n", leaver), flags: []string{"--stdio"}},
		"git":            {location: "git+https://127.0.0.1:1/repository", programs: []string{"git"}},
		"the ssh of git": {location: "git+ssh://git@127.0.0.1:1/repository", programs: []string{"ssh"}},
	} {
		t.Run(name, func(t *testing.T) {
			mark := strconv.FormatInt(time.Now().UnixNano(), 10)
			dir, bin := t.TempDir(), t.TempDir()
			mustWrite := func(file, text string, mode os.FileMode) {
				if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "MARK", mark)), mode); err != nil {
					t.Fatal(err)
				}
			}
			mustWrite(filepath.Join(dir, "t.hcl"), test.config+"tool \"k\" {\ndescription = \"Know nothing.\"\ntext = \"k\"\n}\n", 0o644)
			for _, program := range test.programs {
				mustWrite(filepath.Join(bin, program), "#!/bin/sh\n"+leaver+"\n", 0o755)
			}
			location := test.location
			if location == "" {
				location = dir
			}
			args := append([]string{"serve", location, "--allow-secret-commands"}, test.flags...)
			if len(test.flags) == 0 {
				args = append(args, "--listen", "127.0.0.1:0")
			}
			server := exec.Command("hatchel", args...)
			server.Dir = dir
			server.Env = append(os.Environ(), "HOME="+t.TempDir(), "TMPDIR="+t.TempDir(), "PATH="+bin+":"+os.Getenv("PATH"))
			var said bytes.Buffer
			server.Stderr = &said
			in, err := server.StdinPipe()
			if err == nil {
				err = server.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			defer server.Process.Kill()
			if len(test.flags) > 0 {
				if _, err := io.WriteString(in, call); err != nil {
					t.Fatal(err)
				}
			}
			ended := make(chan error, 1)
			go func() { ended <- server.Wait() }()
			await(t, func() bool {
				select {
				case err := <-ended:
					t.Fatalf("the server has ended: %v: %s", err, said.String())
				default:
				}
				return countSleeps(mark) == leftBehind
			})
			_ = server.Process.Kill()
			killed := time.Now()
			await(t, func() bool { return countSleeps(mark) == 0 })
			if took := time.Since(killed); *bounds && took > time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}
