package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
)

// startHeldCall starts a call that waits for its user, and returns when the user was asked.
func startHeldCall(t *testing.T, client officialClient) (ended chan error) {
	t.Helper()
	ended = make(chan error, 1)
	go func() { ended <- checkCall(client, "held") }()
	awaitNews(t, client, "question")
	return ended
}

// replaceAll stops all replicas one after the other, and starts each again.
func (c *cluster) replaceAll(t *testing.T) {
	t.Helper()
	for i, r := range c.replicas {
		r.terminate(t)
		r.awaitEnd(t)
		c.start(t, i)
	}
}

// A call that waits for its user outlives every process that it was in, whenever the user answers.
func TestReplicasHandOverACallThatWaitsForItsUser(t *testing.T) {
	for _, kind := range clientKinds {
		if !kind.legacy() {
			continue // its calls do not wait
		}
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, 3)
			clients := kind.connect(t, c.proxy.URL+"/mcp", 2)
			ended := startHeldCall(t, clients[0])
			c.replaceAll(t)
			clients[0].release()
			if err := <-ended; err != nil {
				t.Errorf("answered when all were replaced: %v", err)
			}
			ended = startHeldCall(t, clients[1])
			for i, r := range c.replicas {
				r.terminate(t)
				if i == 2 {
					clients[1].release()
				}
				r.awaitEnd(t)
				c.start(t, i)
			}
			if err := <-ended; err != nil {
				t.Errorf("answered while the last one stops: %v", err)
			}
		})
	}
}

// approvalTools are tools whose calls wait for approvals.
const approvalTools = `
tool "operated" {
  description = "Wait for an operator."
  input "n" { type = string }
  approval { timeout = "10m" }
  text = "operated ${input.n}"
}
tool "confirmed" {
  description = "Wait for the user."
  input "n" { type = string }
  approval {
    by      = "caller"
    message = "hold on"
  }
  text = "confirmed ${input.n}"
}
`

// approvals runs the command of operators.
func (c *cluster) approvals(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("hatchel", append([]string{"approvals", "-C", c.dir, "--var", "bank=http://127.0.0.1:1"}, args...)...)
	cmd.Env = append(os.Environ(), "STATE="+c.database)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// approve waits until n calls wait for an operator, and approves all.
func (c *cluster) approve(t *testing.T, n int) {
	t.Helper()
	var pending []struct{ ID string }
	await(t, func() bool {
		if err := json.Unmarshal([]byte(c.approvals(t, "list", "--json")), &pending); err != nil {
			t.Fatal(err)
		}
		return len(pending) == n
	})
	for _, a := range pending {
		c.approvals(t, "approve", a.ID)
	}
}

// What waits for an operator is found again by its approval. The user of these clients does not approve.
func TestReplicasHandOverCallsThatWaitForApprovals(t *testing.T) {
	c := newCluster(t, 3, "secret \"state\" { env = \"STATE\" }\nstate { postgres = secret.state }\n"+approvalTools, emptySchema(t))
	for _, kind := range clientKinds {
		if !kind.resumes() {
			continue // it has no event to return from
		}
		client := kind.connect(t, c.proxy.URL+"/mcp", 1)[0]
		answers := make(chan string, 2)
		for _, tool := range []string{"operated", "confirmed"} {
			go func() {
				text, err := client.call(tool, "n")
				answers <- fmt.Sprint(text, err)
			}()
		}
		awaitNews(t, client, "question")
		c.replaceAll(t)
		client.release()
		c.approve(t, 1)
		got := []string{<-answers, <-answers}
		slices.Sort(got)
		if want := []string{"error: The user has not approved this call. Nothing was done.<nil>", "operated n<nil>"}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q", kind, got)
		}
	}
}
