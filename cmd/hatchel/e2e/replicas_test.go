package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"hatchel/internal/proxytest"
)

// Three processes behind a proxy that sends each request to the next of them serve every official client as one
// process does.
func TestReplicasServeOfficialClients(t *testing.T) {
	for _, kind := range clientKinds {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, 3)
			client := kind.connect(t, c.proxy.URL+"/mcp", 1)[0]
			t.Run("lists and calls in every process", func(t *testing.T) {
				for range 6 {
					if names, err := client.list(); err != nil || !slices.Contains(names, "echo") {
						t.Errorf("%v: listed are %q", err, names)
					}
					if err := checkCall(client, "echo"); err != nil {
						t.Error(err)
					}
				}
			})
			for _, question := range []string{"form", "page", "model", "roots", "everybody"} {
				if question == "page" && kind.legacy() && !kind.resumes() {
					continue // a page is a question since 2025-11-25
				}
				t.Run("answers a question at another process: "+question, func(t *testing.T) {
					for range 4 {
						if err := checkCall(client, question); err != nil {
							t.Error(err)
						}
					}
				})
			}
			t.Run("answers the questions of calls at once", func(t *testing.T) {
				var calls sync.WaitGroup
				for i := range 16 {
					calls.Go(func() {
						if err := checkCall(client, []string{"form", "everybody"}[i%2]); err != nil {
							t.Error(err)
						}
					})
				}
				calls.Wait()
			})
			t.Run("cancels a call of another process", func(t *testing.T) {
				for range 3 {
					n, ended := nextNumber(), make(chan error, 1)
					go func() {
						_, err := client.call("hold", n)
						ended <- err
					}()
					awaitEvent(t, c.bank.started)
					client.cancel(n)
					awaitEvent(t, c.bank.cancelled)
					if err := <-ended; err == nil {
						t.Error("the cancelled call was answered")
					}
				}
			})
			if kind.resumes() {
				testStreamsOfReplicas(t, c, client)
			}
			if kind.legacy() {
				testSessionsOfReplicas(t, c, kind)
			}
		})
	}
}

// testStreamsOfReplicas tests streams that the server closes before the answer, to which the client returns.
func testStreamsOfReplicas(t *testing.T, c *cluster, client officialClient) {
	t.Run("resumes a stream at another process", func(t *testing.T) {
		before := c.proxy.Count(func(r proxytest.Request) bool { return r.Resumes && r.Status == http.StatusOK })
		for range 4 {
			if err := checkCall(client, "away"); err != nil {
				t.Error(err)
			}
		}
		if n := c.proxy.Count(func(r proxytest.Request) bool { return r.Resumes && r.Status == http.StatusOK }); n < before+4 {
			t.Errorf("of 4 streams %d were resumed", n-before)
		}
	})
}

// testSessionsOfReplicas tests what only clients up to revision 2025-11-25 have.
func testSessionsOfReplicas(t *testing.T, c *cluster, kind clientKind) {
	one := func(t *testing.T) officialClient { return kind.connect(t, c.proxy.URL+"/mcp", 1)[0] }
	t.Run("sets the log level of every process", func(t *testing.T) {
		client := one(t)
		for _, level := range []string{"error", "info", "error"} {
			if err := client.setLevel(level); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				n := nextNumber()
				if err := checkNumberedCall(client, "noisy", n); err != nil {
					t.Fatal(err)
				}
				low := slices.Contains(awaitNews(t, client, "log high "+n), "log low "+n)
				if low != (level == "info") {
					t.Errorf("at level %s, the message of level info has come: %v", level, low)
				}
			}
		}
	})
	t.Run("follows a resource", func(t *testing.T) {
		client := one(t)
		if err := client.subscribe("test://note"); err != nil {
			t.Fatal(err)
		}
		repeatUntilHeard(t, client, "updated test://note", func(i int) { c.write(t, "notes/note.txt", fmt.Sprint(i)) })
		if err := client.unsubscribe("test://note"); err != nil {
			t.Error(err)
		}
	})
	t.Run("is told once of each reload", func(t *testing.T) {
		client := one(t)
		extra := func(i int) {
			c.write(t, "extra.hcl", fmt.Sprintf("tool \"extra\" {\n  description = \"Number %d.\"\n  text = \"x\"\n}\n", i))
		}
		repeatUntilHeard(t, client, "tools", extra) // its stream is open
		for drained := false; !drained; {
			select {
			case <-client.heard():
			default:
				drained = true
			}
		}
		if err := client.subscribe("test://note"); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			extra(1000 + i)
			awaitNews(t, client, "tools")
			// What comes later on the same stream shows that nothing came twice.
			others := repeatUntilHeard(t, client, "updated test://note", func(j int) { c.write(t, "notes/note.txt", fmt.Sprint(i, j)) })
			if slices.Contains(others, "tools") {
				t.Error("one reload was told twice")
			}
		}
	})
	t.Run("ends its session in every process", func(t *testing.T) {
		client := one(t)
		wire := &wireClient{path: "/mcp", id: client.session()}
		if err := checkCall(client, "echo"); err != nil {
			t.Error(err)
		}
		for _, r := range c.replicas {
			if status := wire.at(r).ping(); status != http.StatusOK {
				t.Errorf("before its end the session is answered with %d", status)
			}
		}
		if err := client.end(); err != nil {
			t.Error(err)
		}
		for _, r := range c.replicas {
			await(t, func() bool { return wire.at(r).ping() == http.StatusNotFound })
		}
	})
}

// repeatUntilHeard makes a change every second until a client has heard of it: it cannot know from when on it is told.
// It returns what the client has heard before.
func repeatUntilHeard(t *testing.T, c officialClient, want string, change func(i int)) (others []string) {
	t.Helper()
	i, next := 0, 0
	await(t, func() bool {
		if i++; i > next {
			change(i)
			next += 50
		}
		for {
			select {
			case got := <-c.heard():
				if got == want {
					return true
				}
				others = append(others, got)
			default:
				return false
			}
		}
	})
	return others
}

// The inspector is a client of its own for every command, whose requests reach different processes.
func TestReplicasServeTheInspector(t *testing.T) {
	t.Parallel()
	words := strings.Fields(os.Getenv("HATCHEL_TEST_INSPECTOR"))
	if len(words) == 0 {
		t.Skip("HATCHEL_TEST_INSPECTOR is not set")
	}
	c := startCluster(t, 3)
	for command, want := range map[string]string{
		"--method tools/list": `"everybody"`,
		"--method tools/call --tool-name echo --tool-arg n=n17": `"n17"`,
		"--method resources/read --uri test://note":             `"first"`,
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			args := append(slices.Clone(words[1:]), c.proxy.URL+"/mcp", "--transport", "http")
			cmd := exec.Command(words[0], append(args, strings.Fields(command)...)...)
			cmd.Dir = filepath.Clean(c.dir)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
