package runtime

import (
	"io"
	"path/filepath"
	"sync"

	"hatchel/hcl"
	"hatchel/runtime/audit"
)

// Audits are the audit logs of all generations. One that is written to the same place is shared by the generations that have it, so that its chain goes on through reloads, and is
// closed when the last of them is gone.
type Audits struct {
	Stdout io.Writer // for what is to go to standard output; nil when that is somebody else's

	mu   sync.Mutex
	open map[string]*sharedLog // by path; guarded by mu
}

type sharedLog struct {
	log   *audit.Log
	users int // guarded by Audits.mu
}

// acquire returns the log of a block, opening it when no generation has it open, and the function that gives it back. The error is a sentence for the author.
func (as *Audits) acquire(decl *hcl.Audit, dir string) (*audit.Log, func() error, error) {
	path := ""
	if !decl.Stdout {
		if path = filepath.FromSlash(decl.File); !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			path = filepath.Join(folder, filepath.Base(path))
		}
	}
	as.mu.Lock()
	defer as.mu.Unlock()
	s := as.open[path]
	if s == nil {
		log, err := as.begin(path, limitsOf(decl))
		if err != nil {
			return nil, nil, err
		}
		if s = (&sharedLog{log: log}); as.open == nil {
			as.open = map[string]*sharedLog{}
		}
		as.open[path] = s
	}
	s.users++
	return s.log, func() error { return as.release(path, s) }, nil
}

// errNoStdout is a sentence for the author.
type errNoStdout struct{}

func (errNoStdout) Error() string {
	return "standard output belongs to the client here"
}

func (as *Audits) begin(path string, limits audit.Limits) (*audit.Log, error) {
	switch {
	case path != "":
		return audit.Open(path, limits)
	case as.Stdout == nil:
		return nil, errNoStdout{}
	}
	return audit.Stream(as.Stdout)
}

func (as *Audits) release(path string, s *sharedLog) error {
	as.mu.Lock()
	defer as.mu.Unlock() // until it is closed, because only one may be open
	if s.users--; s.users > 0 {
		return nil
	}
	delete(as.open, path)
	return s.log.Close()
}

func limitsOf(decl *hcl.Audit) audit.Limits {
	return audit.Limits{Rotate: int64(decl.Rotate), Keep: decl.Keep}
}

// audit opens the log in which calls are written down, if one is declared and this program keeps one.
func (c *compiler) audit() {
	decl := c.g.Config.Audit
	if decl == nil || c.build.Audits == nil {
		return
	}
	log, release, err := c.build.Audits.acquire(decl, c.build.Dir)
	if err != nil {
		detail := "Calls cannot be written down in " + decl.File + ": " + err.Error() + "."
		if decl.Stdout {
			detail = "Calls cannot be written to standard output: " + err.Error() + ". Write them to a file: file = \"audit.jsonl\"."
		}
		c.diags = append(c.diags, &hcl.Diagnostic{Summary: "Audit refused", Detail: detail, Subject: decl.Range})
		return
	}
	c.g.cleanups.add(release)
	c.g.audit = log
}

// AuditHealth says whether calls can be written down.
type AuditHealth struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// auditHealth tries again when the last record could not be written; nil when nothing is written down.
func (g *Generation) auditHealth() *AuditHealth {
	if g.audit == nil {
		return nil
	}
	if err := g.audit.Check(); err != nil {
		return &AuditHealth{Error: g.scrubber.sentence(err.Error())}
	}
	return &AuditHealth{OK: true}
}

// Unwritable reports whether no call can be made, because none can be written down.
func (h *Host) Unwritable() bool {
	g := h.pin()
	if g == nil {
		return false
	}
	defer g.leave()
	health := g.auditHealth()
	return health != nil && !health.OK
}
