package crowd

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// broken are edits that do not load.
var broken = []string{
	`tool "half" {`,
	`tool "unknown" { text = "${input.nobody}" }`,
	`tool "say_hello" {
  description = "A second one of this name."
  text        = "no"
}
`,
	`connection "sqlite" "other" { file = 7 }`,
	"\x00\xff not a text",
}

// edit is one thing that an author does.
func (s *soak) edit(ctx context.Context) error {
	pause(ctx, time.Duration(rand.IntN(300))*time.Millisecond)
	switch n := rand.IntN(10); {
	case n < 5:
		return s.editWell(ctx)
	case n < 7:
		return s.editBadly()
	case n < 8:
		s.tally.add("SIGHUP")
		return syscall.Kill(s.pid, syscall.SIGHUP)
	case n < 9:
		return s.reload(http.StatusOK)
	default:
		return s.comeAndGo()
	}
}

func (s *soak) editWell(ctx context.Context) error {
	through, err := dial(ctx, s.host, "", modern, nothing)
	if err != nil {
		return err
	}
	defer through.close()
	s.tally.add("an edit")
	return s.world.make(ctx, s.world.nth(rand.IntN(1000)), through)
}

// editBadly breaks the folder, which leaves everything as it was, and mends it.
func (s *soak) editBadly() error {
	s.language.Lock()
	defer s.language.Unlock()
	name := filepath.Join(s.folder, "broken.hcl")
	if err := os.WriteFile(name, []byte(broken[rand.IntN(len(broken))]), 0o644); err != nil {
		return err
	}
	s.tally.add("an edit that does not load")
	failed := s.reload(http.StatusUnprocessableEntity)
	if err := os.Remove(name); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	return s.reload(http.StatusOK)
}

// comeAndGo adds a tool and a resource, and takes them away.
func (s *soak) comeAndGo() error {
	name := filepath.Join(s.folder, "guest.hcl")
	src := fmt.Sprintf("tool \"guest\" {\n  description = \"Here for a moment.\"\n  text        = %q\n}\n\nresource \"guest\" {\n  uri  = \"load://guest\"\n  text = \"Hello\"\n}\n", fmt.Sprint(rand.Int()))
	if err := os.WriteFile(name, []byte(src), 0o644); err != nil {
		return err
	}
	if err := s.reload(http.StatusOK); err != nil {
		return err
	}
	s.tally.add("a tool came and went")
	if err := os.Remove(name); err != nil {
		return err
	}
	return s.reload(http.StatusOK)
}

// reload asks for a reload that must come to what is expected.
func (s *soak) reload(status int) error {
	res, err := http.Post("http://"+s.host+"/admin/reload", "", nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var said [2000]byte
	n, _ := res.Body.Read(said[:])
	s.tally.add("POST /admin/reload")
	if res.StatusCode != status {
		return fmt.Errorf("a reload came to %s and not %d: %s", res.Status, status, said[:n])
	}
	return nil
}
