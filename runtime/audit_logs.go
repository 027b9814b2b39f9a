package runtime

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"time"

	"hatchel/hcl"
	"hatchel/hcl/jsonscan"
	"hatchel/runtime/audit"
	"hatchel/runtime/hold"
	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
)

// auditLog is where requests are recorded.
type auditLog interface {
	// Append adds a record. After an error, what the record is about must not happen.
	Append(r *audit.Record, durable bool) error
	// Check returns why records cannot be added. After a failed Append it tries again.
	Check(ctx context.Context) error
	Close() error
}

// AuditLogs are the audit logs of all generations. A log at the same place is shared by the
// generations that declare it, so that its chain survives reloads.
type AuditLogs struct {
	Stdout io.Writer // for a log on standard output; nil when that belongs to the client
	shared[auditLog]
}

// auditLocation returns the path of a file or the address of a database; empty for standard output.
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
	if resolved, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(resolved, filepath.Base(path))
	}
	return path
}

var errNoStdout = errors.New("standard output belongs to the client here")

func (as *AuditLogs) openLog(ctx context.Context, decl *hcl.Audit, location string) (auditLog, error) {
	switch {
	case decl.Postgres != "":
		return audit.OpenTable(ctx, location)
	case !decl.Stdout:
		return audit.Open(location, auditLimits(decl))
	case as.Stdout == nil:
		return nil, errNoStdout
	}
	return audit.Stream(as.Stdout)
}

func auditLimits(decl *hcl.Audit) audit.Limits {
	return audit.Limits{MaxFileSize: int64(decl.Rotate), MaxFiles: decl.MaxFiles}
}

// applyAuditLimits sets when a log file is rotated from now on.
func (g *Generation) applyAuditLimits() {
	if files, ok := g.audit.(*audit.Log); ok {
		files.SetLimits(auditLimits(g.Config.Audit))
	}
}

// UnrecordedError reports that nothing was done about a file or an approval, because it could not be
// recorded. Message is for the caller.
type UnrecordedError struct {
	Message string
	Cause   error
}

func (u *UnrecordedError) Error() string { return u.Message }

func (u *UnrecordedError) Unwrap() error { return u.Cause }

// openAudit opens the audit log, if one is declared and this program keeps one.
func (c *compiler) openAudit() {
	decl := c.g.Config.Audit
	if decl == nil || c.build.AuditLogs == nil {
		return
	}
	logs, location := c.build.AuditLogs, auditLocation(decl, cmp.Or(c.build.Home, c.build.Dir))
	open := func() (auditLog, error) { return logs.openLog(c.g.env.Running, decl, location) }
	log, release, err := logs.acquire(c.ctx, location, open, auditLog.Close)
	if err != nil {
		detail := "The audit log " + decl.File + " cannot be opened: " + err.Error() + "."
		switch {
		case decl.Postgres != "":
			detail = "The audit log in the database cannot be opened: " + err.Error() + "."
		case decl.Stdout:
			detail = "The audit log cannot be written to standard output: " + err.Error() +
				". Write it to a file: file = \"audit.jsonl\"."
		}
		c.report("Audit log not available", detail, decl.Range)
		return
	}
	c.g.cleanups.add(release)
	c.g.audit, c.g.env.Audit = log, c.measureAudit(log)
}

// AuditSource returns the audit log, to be read. It is nil when nothing can be read, and why says so in a sentence
// without a full stop.
func (g *Generation) AuditSource() (log audit.Source, why string) {
	decl := g.Config.Audit
	switch {
	case decl == nil || g.audit == nil:
		return nil, "The configuration has no audit block, so nothing is recorded"
	case decl.Stdout:
		return nil, "The audit log goes to standard output, so it can be read where that is collected"
	}
	location := auditLocation(decl, cmp.Or(g.build.Home, g.build.Dir))
	if decl.Postgres != "" {
		return audit.Database(location), ""
	}
	return audit.File(location), ""
}

// auditHealth checks the audit log, and tries again after a failed record; nil when requests are
// not recorded.
func (g *Generation) auditHealth(ctx context.Context) *Health {
	if g.audit == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if err := g.audit.Check(ctx); err != nil {
		return &Health{Error: g.env.Scrubber.Text(err.Error())}
	}
	return &Health{OK: true}
}

// AuditUnavailable reports whether no call can be made, because none can be recorded.
func (h *Host) AuditUnavailable(ctx context.Context) bool {
	g := h.pin()
	if g == nil {
		return false
	}
	defer g.leave()
	health := g.auditHealth(ctx)
	return health != nil && !health.OK
}

// withAuditLog calls do with the current generation, unless that records nothing or the server has
// stopped.
func (h *Host) withAuditLog(do func(*Generation)) {
	g := h.pin()
	if g == nil {
		return
	}
	defer g.leave()
	if g.audit != nil {
		do(g)
	}
}

// recordReload records that next is served instead of last, in the audit log of next, or else of
// last. A reload that waited names the owner of the lock that has released it.
func recordReload(last, next *Generation, report *Report) {
	g := next
	if g.audit == nil {
		g = last
	}
	if g.audit == nil {
		return
	}
	r := audit.NewRecord(audit.EventReload, audit.Common{Revision: next.Config.ID})
	r.Commit, r.Previous, r.Added, r.Changed = report.Commit, report.Previous, report.Added, report.Changed
	r.Removed, r.Differences = report.Removed, hold.Lines(report.Differences)
	if released := report.Released; released != nil {
		r.Message = "held since " + released.Since.UTC().Format(time.RFC3339)
		r.SHA256, r.Caller = released.Lock, audit.Caller{Subject: released.Owner}
	}
	g.record(g.env.Running, r)
}

// record adds a record of a request that is no call.
func (g *Generation) record(ctx context.Context, r *audit.Record) {
	r.ID = rand.Text()
	if err := g.env.Audit.Append(r, false); err != nil {
		g.env.LogAuditFailure(ctx, err)
	}
}

// recordUnknown logs and records a request for something that does not exist, and returns its error.
func (g *Generation) recordUnknown(ctx context.Context, kind string, req *mcp.CallRequest) error {
	err := mcp.Unknown(kind, req.Name)
	g.measureUnknown(kind, req.Caller, err)
	r := g.env.AuditRecord(audit.EventCall, req.Caller, req.Meta)
	r.Kind, r.Outcome, r.Message = kind, audit.Refused, g.env.Scrubber.Text(err.Message)
	g.log().LogAttrs(ctx, slog.LevelInfo, "call refused", slog.String("subject", req.Caller.Subject),
		slog.String("outcome", r.Outcome), slog.String("remote", req.Caller.Remote),
		slog.String("trace_id", r.TraceID), slog.String("message", r.Message))
	if g.audit == nil {
		return err
	}
	if r.Name = g.env.Scrubber.Text(req.Name); kind == "resource" {
		r.Name, r.URI = "", r.Name
	}
	g.record(ctx, r)
	return err
}

// Refusal is a request over HTTP that was refused before there was a call, because of its
// credentials.
type Refusal struct {
	Status int         // of the response
	Reason string      // a sentence without anything that the request has sent
	Path   string      // of the request
	Caller *mcp.Caller // what is known of the caller; nil for nothing
	Key    string      // the name of the key or issuer that was tried; empty for none
}

// RecordRefusal logs that a request was refused, at most once a second for each address, and records
// it where requests are recorded.
func (h *Host) RecordRefusal(ctx context.Context, refusal Refusal) {
	refusal.Caller = cmp.Or(refusal.Caller, new(mcp.Caller))
	h.logRefusal(refusal)
	h.Current().metrics.RefusedRequest()
	h.countRefusal(ctx, &refusal)
	h.withAuditLog(func(g *Generation) {
		r := g.env.AuditRecord(audit.EventRequest, refusal.Caller, nil)
		r.Outcome, r.Status = audit.Refused, refusal.Status
		r.URI, r.Message = g.env.Scrubber.Text(refusal.Path), g.env.Scrubber.Text(refusal.Reason)
		r.Caller.Key = cmp.Or(r.Caller.Key, refusal.Key)
		g.record(ctx, r)
	})
}

func (h *Host) logRefusal(r Refusal) {
	scrubber := h.Current().env.Scrubber
	address, _, err := net.SplitHostPort(r.Caller.Remote)
	if err != nil {
		address = r.Caller.Remote
	}
	h.refusals.Add(address, slog.Int("status", r.Status), slog.String("path", jsonscan.Excerpt(scrubber.Text(r.Path))),
		slog.String("reason", scrubber.Text(r.Reason)), slog.String("subject", r.Caller.Subject),
		slog.String("key", r.Key), slog.String("remote", r.Caller.Remote))
}

// rememberAudit lets the state, if there is one, remember the last record of the log.
func (c *compiler) rememberAudit() {
	log, ok := c.g.audit.(interface {
		Remember(ctx context.Context, m audit.Memory) (cut bool, err error)
	})
	if !ok || c.g.Config.Audit.Stdout || c.diags.HasErrors() {
		return
	}
	m := &auditMemory{}
	cut := false
	opened, err := c.build.State.openIfExists(c.ctx)
	if opened != nil {
		m.records, m.name = opened.Store, c.auditName()
		cut, err = log.Remember(c.ctx, m)
	}
	if err != nil {
		c.g.env.LogFailure(c.ctx, slog.LevelWarn, "audit log not compared with the state", err)
	}
	if cut {
		c.build.Log.Error("audit log cut off: records at its end are missing that the state remembers",
			"log", m.name)
	}
}

// auditName names the log in the state: a table by its database, and files by their machine, if several share the
// state, and their path.
func (c *compiler) auditName() string {
	if table, ok := c.g.audit.(*audit.Table); ok {
		return table.Place()
	}
	path := auditLocation(c.g.Config.Audit, cmp.Or(c.build.Home, c.build.Dir))
	if declared := c.g.Config.State; declared != nil && declared.Postgres != "" {
		host, _ := os.Hostname()
		return host + " " + path
	}
	return path
}

// auditMemory keeps the head of a log in the state store.
type auditMemory struct {
	records state.Records
	name    string
}

const auditMemoryKind = "audit"

// Head implements audit.Memory.
func (m *auditMemory) Head(ctx context.Context) (h audit.Head, err error) {
	r, err := m.records.Record(ctx, auditMemoryKind, m.name)
	if r != nil && err == nil {
		err = json.Unmarshal(r.Body, &h)
	}
	return h, err
}

// Keep implements audit.Memory.
func (m *auditMemory) Keep(ctx context.Context, h audit.Head) error {
	r, err := m.records.Record(ctx, auditMemoryKind, m.name)
	if err != nil {
		return err
	}
	isNew := r == nil
	r = cmp.Or(r, &state.Record{Kind: auditMemoryKind, Name: m.name})
	r.Expires, r.NoNotify, r.Priority = time.UnixMilli(math.MaxInt64), true, state.FollowUp
	if r.Body, err = json.Marshal(h); err != nil {
		return err
	}
	if isNew {
		_, err = m.records.Add(ctx, r)
	} else {
		_, err = m.records.Replace(ctx, r)
	}
	return err
}
