package examples_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// npmServers are the MCP servers and SDKs from npm.
type npmServers struct{ node, packages string }

func needsUpstreams(t *testing.T) npmServers {
	t.Helper()
	node, packages, ok := strings.Cut(os.Getenv("HATCHEL_TEST_UPSTREAMS"), " ")
	if !ok {
		t.Skip("HATCHEL_TEST_UPSTREAMS does not say where Node and the MCP servers from npm are")
	}
	return npmServers{node, packages}
}

// script returns the command that runs a program of testdata/upstreams, from a directory in which it finds its packages.
func (n npmServers) script(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	src, err := os.ReadFile(filepath.Join("testdata", "upstreams", name))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name), src, 0o644)
	}
	if err == nil {
		err = os.Symlink(n.packages, filepath.Join(dir, "node_modules"))
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(n.node, append([]string{"--disable-warning=ExperimentalWarning", name}, args...)...)
	cmd.Dir = dir
	return cmd
}

// goEverything is the path of the conformance server of the Go SDK, which is built once.
var goEverything = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(hatchel), "everything-server")
	const source = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"
	out, err := exec.Command("go", "build", "-o", path, source).CombinedOutput()
	if err != nil {
		err = &buildError{err, string(out)}
	}
	return path, err
})

type buildError struct {
	err error
	out string
}

func (e *buildError) Error() string { return e.err.Error() + "\n" + e.out }

var listens = regexp.MustCompile(` at (?:(http://\S+)|(127\.0\.0\.1:\d+))$`)

// startUpstream starts an MCP server, and returns its URL, which it writes on standard error when it is ready. It is
// stopped when the test ends.
func startUpstream(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said, address, drained := new(journal), make(chan string, 1), make(chan struct{})
	go func() {
		defer close(drained)
		lines := bufio.NewReader(stderr)
		for {
			line, err := lines.ReadString('\n')
			io.WriteString(said, line)
			if m := listens.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				select {
				case address <- m[1] + m[2]:
				default:
				}
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		stdin.Close()
		cmd.Process.Kill()
		<-drained
		cmd.Wait() // whatever it ends with
	})
	select {
	case at := <-address:
		if !strings.HasPrefix(at, "http://") {
			at = "http://" + at
		}
		return at
	case <-drained:
		t.Fatalf("the MCP server did not start:\n%s", said)
	case <-time.After(maxWait):
		t.Fatalf("the MCP server is not ready:\n%s", said)
	}
	return ""
}
