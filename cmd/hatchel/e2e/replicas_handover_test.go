package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A call that waits for its user outlives every process that it was in, whenever the user answers.
func TestReplicasHandOverACallThatWaitsForItsUser(t *testing.T) {
	t.Parallel()
	for _, kind := range clientKinds {
		if !kind.resumes() {
			continue // its calls do not wait, or a second stop in a row finds a stream without an event to return from
		}
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, 3)
			for claim, answerAfter := range map[string]int{"when all were replaced": 3, "while the last one stops": 2} {
				h := startHeldCall(t, kind.connect(t, c.proxy.URL+"/mcp", 1)[0])
				for i, r := range c.replicas {
					r.terminate(t)
					if i == answerAfter {
						h.client.release()
					}
					r.awaitEnd(t)
					c.start(t, i)
				}
				if answerAfter == len(c.replicas) {
					h.client.release()
				}
				awaitEvent(t, h.ended)
				if h.err != nil || h.text != "held "+h.n {
					t.Errorf("answered %s: %q, %v", claim, h.text, h.err)
				}
			}
		})
	}
}

// A call that waits for its user outlives processes that are killed, whenever the user answers.
func TestReplicasThatAreKilledHandOverACallThatWaitsForItsUser(t *testing.T) {
	for _, kind := range legacyKinds {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, 3)
			for claim, answerAfter := range map[string]int{"when all were killed": 3, "while the last one is gone": 2} {
				h := startHeldCall(t, kind.connect(t, c.proxy.URL+"/mcp", 1)[0])
				for i, r := range c.replicas {
					r.kill()
					if i == answerAfter {
						h.client.release()
					}
					c.start(t, i)
				}
				if answerAfter == len(c.replicas) {
					h.client.release()
				}
				awaitEvent(t, h.ended)
				if h.err != nil || h.text != "held "+h.n {
					t.Errorf("answered %s: %q, %v", claim, h.text, h.err)
				}
			}
		})
	}
}

// A call that waits for its user goes on when a single process was stopped or killed, and started again.
func TestReplicasOfOneContinueACallThatWaitsForItsUser(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, fmt.Sprintf("state { sqlite = %q }", filepath.Join(t.TempDir(), "state.db")), "")
	for _, end := range []func(r *replica){
		func(r *replica) { r.terminate(t); r.awaitEnd(t) },
		func(r *replica) { r.kill() },
	} {
		var waiting []*heldCall
		for _, client := range connectAll(t, legacyKinds, c.replicas[0].url+"/mcp", 1) {
			waiting = append(waiting, startHeldCall(t, client))
		}
		end(c.replicas[0])
		c.start(t, 0)
		for _, h := range waiting {
			h.checkAnswered(t)
		}
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
	t.Parallel()
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
		for i, r := range c.replicas {
			r.terminate(t)
			r.awaitEnd(t)
			c.start(t, i)
		}
		client.release()
		c.approve(t, 1)
		got := []string{<-answers, <-answers}
		slices.Sort(got)
		if want := []string{"error: The user has not approved this call. Nothing was done.<nil>", "operated n<nil>"}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q", kind, got)
		}
	}
}

// keyedTool pays and then asks its user, once for each key.
const keyedTool = `
tool "keyed" {
  description = "Pay once for each key, and ask the user."
  read_only   = false
  input "n" { type = string }
  idempotency { ttl = "1h" }
  step "money" {
    http "bank" { post = "/pay" }
  }
  step "user" {
    ask "name" {
      elicit {
        message = "hold on"
        fields  = object({ name = string })
      }
    }
  }
  text = "paid"
}
`

// A call with a key that waits for its user goes on with the key of the process that was killed.
func TestReplicasThatAreKilledHandOverACallWithAKey(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, "secret \"state\" { env = \"STATE\" }\nstate { postgres = secret.state }\n"+keyedTool, emptySchema(t))
	client := legacyKinds[0].connect(t, c.proxy.URL+"/mcp", 1)[0].(*goClient)
	call := func() string {
		result, err := client.CallTool(t.Context(), &sdk.CallToolParams{
			Name: "keyed", Arguments: map[string]any{"n": "n", "idempotency_key": "k"},
		})
		if err != nil {
			return err.Error()
		}
		return result.Content[0].(*sdk.TextContent).Text
	}
	answered := make(chan string)
	go func() { answered <- call() }()
	awaitNews(t, client, "question")
	for _, r := range c.replicas { // a process that is killed while it takes the call leaves its outcome unknown
		r.kill()
	}
	for i := range c.replicas {
		c.start(t, i)
	}
	client.release()
	for _, got := range []string{<-answered, call()} {
		if got != "paid" || c.bank.paid.Load() != 1 {
			t.Errorf("got %s after %d payments", got, c.bank.paid.Load())
		}
	}
}
