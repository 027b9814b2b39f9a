package runtime

import (
	"context"
	"io"
	"path/filepath"
	"sync"

	"hatchel/hcl"
	"hatchel/runtime/audit"
)

// auditLog is where records are written.
type auditLog interface {
	// Append adds a record. With an error what it is about must not go on.
	Append(r *audit.Record, durable bool) error
	// Check is why records cannot be written. After one that could not be it tries another.
	Check(ctx context.Context) error
	Close() error
}

// AuditLogs are the audit logs of all generations. One that is written to the same place is shared by the generations that have it, so that its chain goes on through reloads, and is
// closed when the last of them is gone.
type AuditLogs struct {
	Stdout io.Writer // for what is to go to standard output; nil when that is somebody else's

	mu   sync.Mutex
	open map[string]*sharedLog // by path or address; guarded by mu
}

type sharedLog struct {
	log   auditLog
	users int // guarded by Audits.mu
}

// acquire returns the log of a block, opening it when no generation has it open, and the function that gives it back. The error is a sentence for the author.
func (as *AuditLogs) acquire(ctx context.Context, decl *hcl.Audit, dir string) (auditLog, func() error, error) {
	place := auditLocation(decl, dir)
	as.mu.Lock()
	defer as.mu.Unlock()
	s := as.open[place]
	if s == nil {
		log, err := as.openLog(ctx, decl, place)
		if err != nil {
			return nil, nil, err
		}
		if s = (&sharedLog{log: log}); as.open == nil {
			as.open = map[string]*sharedLog{}
		}
		as.open[place] = s
	}
	s.users++
	return s.log, func() error { return as.release(place, s) }, nil
}

// auditLocation is the path of a file, the address of a database, or nothing for standard output.
func auditLocation(decl *hcl.Audit, dir string) string {
	switch {
	case decl.Stdout:
		return ""
	case decl.Postgres != "":
		return decl.Postgres.Reveal()
	}
	path := filepath.FromSlash(decl.File)
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(folder, filepath.Base(path))
	}
	return path
}

// errNoStdout is a sentence for the author.
type errNoStdout struct{}

func (errNoStdout) Error() string {
	return "standard output belongs to the client here"
}

func (as *AuditLogs) openLog(ctx context.Context, decl *hcl.Audit, place string) (auditLog, error) {
	switch {
	case decl.Postgres != "":
		return audit.OpenTable(ctx, place)
	case !decl.Stdout:
		return audit.Open(place, auditLimits(decl))
	case as.Stdout == nil:
		return nil, errNoStdout{}
	}
	return audit.Stream(as.Stdout)
}

func (as *AuditLogs) release(place string, s *sharedLog) error {
	as.mu.Lock()
	defer as.mu.Unlock() // until it is closed, because only one may be open
	if s.users--; s.users > 0 {
		return nil
	}
	delete(as.open, place)
	return s.log.Close()
}

func auditLimits(decl *hcl.Audit) audit.Limits {
	return audit.Limits{Rotate: int64(decl.Rotate), Keep: decl.MaxFiles}
}

// applyAuditLimits says when a file is full from now on. What is in a database has no files.
func (g *Generation) applyAuditLimits() {
	if files, ok := g.audit.(*audit.Log); ok {
		files.Limit(auditLimits(g.Config.Audit))
	}
}

// audit opens the log in which calls are written down, if one is declared and this program keeps one.
func (c *compiler) audit() {
	decl := c.g.Config.Audit
	if decl == nil || c.build.AuditLogs == nil {
		return
	}
	log, release, err := c.build.AuditLogs.acquire(c.g.ctx, decl, c.build.Dir)
	if err != nil {
		detail := "Calls cannot be written down in " + decl.File + ": " + err.Error() + "."
		switch {
		case decl.Postgres != "":
			detail = "Calls cannot be written down in the database: " + err.Error() + "."
		case decl.Stdout:
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
func (g *Generation) auditHealth(ctx context.Context) *AuditHealth {
	if g.audit == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if err := g.audit.Check(ctx); err != nil {
		return &AuditHealth{Error: g.scrubber.Text(err.Error())}
	}
	return &AuditHealth{OK: true}
}

// AuditUnavailable reports whether no call can be made, because none can be written down.
func (h *Host) AuditUnavailable(ctx context.Context) bool {
	g := h.pin()
	if g == nil {
		return false
	}
	defer g.leave()
	health := g.auditHealth(ctx)
	return health != nil && !health.OK
}
