//go:build linux

package shell

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/adapters/adaptertest"
)

// serverVariable has the block of the tool that a server, which is this test again, calls.
const serverVariable = "HATCHEL_TEST_SERVER_BLOCK"

// leavers are scripts that leave a process behind in different ways. Each writes the IDs of its processes to files.
var leavers = map[string]string{
	"the program":    `echo $$ > a.pid; exec sleep 1000`,
	"a child":        `echo $$ > a.pid; sleep 1000 & echo $! > b.pid; wait`,
	"ignores TERM":   `trap '' TERM HUP INT; echo $$ > a.pid; sleep 1000 & echo $! > b.pid; wait; sleep 1000`,
	"double fork":    `(sh -c 'echo $$ > a.pid; exec sleep 1000' &); (sh -c 'echo $$ > b.pid; sleep 1000' &); sleep 1000`,
	"setsid":         `setsid sh -c 'echo $$ > a.pid; exec sleep 1000' || { echo $$ > a.pid; sleep 1000; }`,
	"daemon":         `perl -e 'use POSIX; exit if fork; setsid; exit if fork; open F, ">a.pid"; print F "$$\n"; close F; close STDIN; close STDOUT; close STDERR; sleep 1000'; sleep 1000`,
	"own group":      `perl -e 'setpgrp; open F, ">a.pid"; print F "$$\n"; close F; sleep 1000' & wait`,
	"no environment": `(env -i setsid sh -c 'echo $$ > a.pid; exec sleep 1000' || env -i sh -c 'echo $$ > a.pid; exec sleep 1000') & sleep 1000`,
}

// sandboxes are the modes in which programs run.
var sandboxes = map[string]string{
	"confined": writableDir, "with network": "\nsandbox {\nwrite = [\".\"]\nnetwork = true\n}",
	"with modes": "\nsandbox {\nwrite = [\".\"]\nmodes = true\n}", "unconfined": unconfined,
}

func TestNoProgramOutlivesAKilledServer(t *testing.T) {
	for mode, box := range sandboxes {
		for name, script := range leavers {
			t.Run(mode+"/"+name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				server := exec.CommandContext(t.Context(), executable(t), "-test.run", "^TestKilledServerChild$")
				server.Dir = dir
				server.Env = append(os.Environ(), serverVariable+"="+fmt.Sprintf("script = %q%s", script, box),
					"TMPDIR="+t.TempDir()) // of the workspace that it leaves
				if err := server.Start(); err != nil {
					t.Fatal(err)
				}
				want := 1 + strings.Count(script, "b.pid")
				var pids []int
				if !eventually(func() bool {
					files, _ := filepath.Glob(filepath.Join(dir, "*.pid"))
					return len(files) >= want
				}) {
					t.Fatal("the programs did not start")
				}
				files, _ := filepath.Glob(filepath.Join(dir, "*.pid"))
				for _, file := range files {
					pids = append(pids, awaitPID(t, file))
				}
				_ = server.Process.Kill()
				_ = server.Wait()
				for _, pid := range pids {
					if !eventually(func() bool { return !isRunning(pid) }) {
						t.Fatalf("process %d is still there", pid)
					}
				}
			})
		}
	}
}

func TestKilledServerChild(t *testing.T) {
	block := os.Getenv(serverVariable)
	if block == "" {
		return // it is not killed; see above
	}
	s := newTool(block)
	s.Dir, _ = os.Getwd()
	_, err := adaptertest.Bind(t, s).Do(t.Context(), `{}`)
	t.Fatalf("the call ended: %v", err)
}
