package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/internal/programtest"
	"hatchel/internal/proxytest"
)

// clusterConfig is the configuration of the replicas that official clients use. $BLOCKS is replaced.
const clusterConfig = `
$BLOCKS
variable "bank" { type = string }
connection "http" "bank" { base_url = var.bank }
tool "echo" {
  description = "Answer with the argument."
  input "n" { type = string }
  text = input.n
}
tool "form" {
  description = "Ask the user with a form."
  input "n" { type = string }
  step "user" {
    ask "name" {
      timeout = "10s"
      elicit {
        message = "Who is ${input.n}"
        fields  = object({ name = string })
      }
    }
  }
  text = "form ${step.user.name.content.name}"
}
tool "held" {
  description = "Ask a user who takes time to answer."
  input "n" { type = string }
  step "user" {
    ask "name" {
      elicit {
        message = "hold on ${input.n}"
        fields  = object({ name = string })
      }
    }
  }
  text = "held ${step.user.name.content.name}"
}
tool "page" {
  description = "Ask the user with a page."
  input "n" { type = string }
  step "user" {
    ask "consent" {
      elicit {
        message = "Sign in"
        url     = "https://example.com/sign-in"
      }
    }
  }
  text = "page ${input.n} ${step.user.consent.action}"
}
tool "model" {
  description = "Ask the model of the client."
  input "n" { type = string }
  step "model" {
    ask "answer" {
      sample {
        prompt     = input.n
        max_tokens = 100
      }
    }
  }
  text = step.model.answer.text
}
tool "roots" {
  description = "Ask for the directories of the user."
  input "n" { type = string }
  step "client" {
    ask "roots" {
      roots {}
    }
  }
  text = "roots ${input.n} ${step.client.roots.roots[0].uri}"
}
tool "everybody" {
  description = "Ask three questions at once."
  input "n" { type = string }
  step "all" {
    ask "name" {
      timeout = "10s"
      elicit {
        message = "Who is ${input.n}"
        fields  = object({ name = string })
      }
    }
    ask "answer" {
      sample {
        prompt     = input.n
        max_tokens = 100
      }
    }
    ask "roots" {
      roots {}
    }
  }
  text = "${step.all.name.content.name}, ${step.all.answer.text}, ${step.all.roots.roots[0].uri}"
}
tool "hold" {
  description = "Wait until the call is cancelled."
  input "n" { type = string }
  http "bank" { get = "/hold" }
  text = "done"
}
tool "begun" {
  description = "Ask the user, and then wait until the call is cancelled."
  input "n" { type = string }
  step "user" {
    ask "name" {
      elicit {
        message = input.n
        fields  = object({ name = string })
      }
    }
  }
  step "work" {
    http "bank" { get = "/hold" }
  }
  text = "done"
}
tool "noisy" {
  description = "Write two log messages."
  input "n" { type = string }
  step "low" {
    log { message = "low ${input.n}" }
  }
  step "high" {
    log {
      level   = "error"
      message = "high ${input.n}"
    }
  }
  text = "noisy ${input.n}"
}
tool "away" {
  description = "Close the connection and answer later."
  input "n" { type = string }
  step "away" {
    wait {
      for    = "100ms"
      detach = true
    }
  }
  text = "away ${input.n}"
}
resource "note" {
  uri         = "test://note"
  description = "A file that clients follow."
  mime_type   = "text/plain"
  file {
    directory = "notes"
    read      = "note.txt"
  }
}
`

// cluster is a server of several processes that have one configuration and one state.
type cluster struct {
	dir, database string
	bank          *bank
	replicas      []*replica
	flags         [][]string // of each replica, with its address
	proxy         *proxytest.Proxy
}

// startCluster starts n processes with a PostgreSQL state, and a proxy whose backends take turns.
func startCluster(t testing.TB, n int) *cluster {
	t.Helper()
	return newCluster(t, n, postgresState, emptySchema(t))
}

// newCluster starts n processes with blocks that say where their state is, and may say more.
func newCluster(t testing.TB, n int, blocks, database string) *cluster {
	t.Helper()
	c := &cluster{dir: t.TempDir(), database: database}
	var url string
	c.bank, url = startBank(t)
	if err := os.Mkdir(filepath.Join(c.dir, "notes"), 0o755); err != nil {
		t.Fatal(err)
	}
	c.write(t, "notes/note.txt", "first")
	c.write(t, "tools.hcl", strings.Replace(clusterConfig, "$BLOCKS", blocks, 1))
	var addresses []string
	for i := range n {
		address := reserveAddress(t)
		addresses = append(addresses, address)
		c.flags = append(c.flags, []string{"--listen", address, "--var", "bank=" + url})
		c.replicas = append(c.replicas, nil)
		c.start(t, i)
	}
	c.proxy = proxytest.Start(t, nil, addresses...)
	return c
}

// start starts a replica, on the address that it always has.
func (c *cluster) start(t testing.TB, i int) {
	t.Helper()
	c.replicas[i] = startReplica(t, c.dir, c.database, c.flags[i]...)
}

func (c *cluster) write(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// numbers makes arguments that no two calls share.
var numbers atomic.Int64

func nextNumber() string { return fmt.Sprintf("n%d", numbers.Add(1)) }

// answers are what the tools of clusterConfig answer, by tool, to a client that answers every question.
var answers = map[string]string{
	"echo": "$N", "form": "form $N", "page": "page $N accept", "model": "model $N", "roots": "roots $N file:///srv/project",
	"everybody": "$N, model $N, file:///srv/project", "noisy": "noisy $N", "away": "away $N", "held": "held $N",
}

// checkCall makes a call and returns what is wrong with its answer.
func checkCall(c officialClient, tool string) error {
	return checkNumberedCall(c, tool, nextNumber())
}

func checkNumberedCall(c officialClient, tool, n string) error {
	text, err := c.call(tool, n)
	if want := strings.ReplaceAll(answers[tool], "$N", n); err == nil && text != want {
		err = fmt.Errorf("%q, not %q", text, want)
	}
	if err != nil {
		return fmt.Errorf("%s of %s: %w", tool, n, err)
	}
	return nil
}

// awaitNews waits until a client has heard something, and returns what it has heard before.
func awaitNews(t *testing.T, c officialClient, want string) (others []string) {
	t.Helper()
	limit := time.After(programtest.Timeout)
	for {
		select {
		case got := <-c.heard():
			if got == want {
				return others
			}
			others = append(others, got)
		case <-limit:
			t.Fatalf("%q is not heard, only %q", want, others)
		}
	}
}
