package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// brokenFiles do not load.
var brokenFiles = []string{
	`tool "half" {`,
	`tool "unknown" { text = "${input.nobody}" }`,
	"tool \"say_hello\" {\n  description = \"A second tool of this name.\"\n  text = \"no\"\n}\n",
	`connection "sqlite" "other" { file = 7 }`,
	"\x00\xff not a text",
}

const guestFile = `tool "guest" {
  description = "Present for a moment."
  text        = "%d"
}

resource "guest" {
  uri  = "load://guest"
  text = "Hello"
}
`

// edit does one thing that an author does.
func (r *run) edit(ctx context.Context) error {
	sleep(ctx, time.Duration(rand.IntN(300))*time.Millisecond)
	ctx = context.WithoutCancel(ctx) // no edit is left half-done
	switch n := rand.IntN(10); {
	case n < 5:
		session, closeSession, err := dial(ctx, r.server.host, "", modern, &mcp.ClientOptions{})
		if err != nil {
			return err
		}
		defer closeSession()
		r.count("edit")
		return r.folder.apply(ctx, pick(r.folder.changes), session)
	case n < 7:
		r.count("edit that does not load")
		return r.writeBriefly(ctx, "broken.hcl", pick(brokenFiles), http.StatusUnprocessableEntity)
	case n < 8:
		r.count("SIGHUP")
		return syscall.Kill(r.server.pid(), syscall.SIGHUP)
	case n < 9:
		r.count("POST /admin/reload")
		return r.server.reload(ctx, http.StatusOK)
	default:
		r.count("tool added and removed")
		return r.writeBriefly(ctx, "guest.hcl", fmt.Sprintf(guestFile, rand.Int()), http.StatusOK)
	}
}

// writeBriefly adds a file, reloads with the expected status, and removes the file again.
func (r *run) writeBriefly(ctx context.Context, name, text string, status int) error {
	r.edits.Lock()
	defer r.edits.Unlock()
	path := filepath.Join(r.folder.path, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	failed := r.server.reload(ctx, status)
	if err := os.Remove(path); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	return r.server.reload(ctx, http.StatusOK)
}
