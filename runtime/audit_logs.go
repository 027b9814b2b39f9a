package runtime

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"os"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/edge/served"
	"hatchel/runtime/load/hold"
)

// AuditLogs are the audit logs of all generations. A log at the same place is shared by the
// generations that declare it, so that its chain survives reloads.
type AuditLogs struct {
	Stdout io.Writer // for a log on standard output; nil when that belongs to the client
	shared[served.AuditLog]
}

var errNoStdout = errors.New("standard output belongs to the client here")

func (as *AuditLogs) openLog(ctx context.Context, decl *hcl.Audit, location string) (served.AuditLog, error) {
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
	if files, ok := g.Audit.(*audit.Log); ok {
		files.SetLimits(auditLimits(g.Config.Audit))
	}
}

// openAudit opens the audit log, if one is declared and this program keeps one.
func (c *compiler) openAudit() {
	decl := c.g.Config.Audit
	if decl == nil || c.build.AuditLogs == nil {
		return
	}
	logs, location := c.build.AuditLogs, served.AuditLocation(decl, c.g.Home)
	open := func() (served.AuditLog, error) { return logs.openLog(c.g.Env.Running, decl, location) }
	log, release, err := logs.acquire(c.ctx, location, open, served.AuditLog.Close)
	if err != nil {
		const summary = "Audit log not available"
		switch {
		case decl.Postgres != "":
			c.reportTransient(summary, "The audit log in the database cannot be opened: "+err.Error()+".", decl.Range)
		case decl.Stdout:
			c.report(summary, "The audit log cannot be written to standard output: "+err.Error()+
				". Write it to a file: file = \"audit.jsonl\".", decl.Range)
		default:
			c.report(summary, "The audit log "+decl.File+" cannot be opened: "+err.Error()+".", decl.Range)
		}
		return
	}
	c.g.cleanups.add(release)
	c.g.Audit, c.g.Env.Audit, c.g.Env.AuditOmits = log, c.measureAudit(log), decl.Omit
}

// recordReload records that next is served instead of last, in the audit log of next, or else of
// last. A reload that waited names the owner of the lock that has released it.
func recordReload(last, next *Generation, report *Report) {
	g := next
	if g.Audit == nil {
		g = last
	}
	if g.Audit == nil {
		return
	}
	r := audit.NewRecord(audit.EventReload, audit.Common{Revision: next.Config.ID})
	r.Commit, r.Previous, r.Added, r.Changed = report.Commit, report.Previous, report.Added, report.Changed
	r.Removed, r.Differences = report.Removed, hold.Lines(report.Differences)
	if released := report.Released; released != nil {
		r.Message = "held since " + released.Since.UTC().Format(time.RFC3339)
		r.SHA256, r.Caller = released.Lock, audit.Caller{Subject: released.Owner}
	}
	g.Record(g.Env.Running, r)
}

// rememberAudit lets the state, if there is one, remember the last record of the log.
func (c *compiler) rememberAudit() {
	log, ok := c.g.Audit.(interface {
		Remember(ctx context.Context, m audit.Memory) (cut bool, err error)
	})
	if !ok || c.g.Config.Audit.Stdout || c.diags.HasErrors() {
		return
	}
	m := &auditMemory{}
	cut := false
	opened, err := c.build.State.OpenIfExists(c.ctx)
	if opened != nil {
		m.records = opened.Store
		if m.name, err = c.auditName(); err == nil {
			cut, err = log.Remember(c.ctx, m)
		}
	}
	if err != nil {
		c.g.Env.LogFailure(c.ctx, slog.LevelWarn, "audit log not compared with the state", err)
	}
	if cut {
		c.build.Log.Error("audit log cut off: records at its end are missing that the state remembers",
			"log", m.name)
	}
}

// auditName names the log in the state: a table by its database and schema, and files by their machine, if several
// share the state, and their path.
func (c *compiler) auditName() (string, error) {
	if table, ok := c.g.Audit.(*audit.Table); ok {
		return table.Place(c.ctx)
	}
	path := served.AuditLocation(c.g.Config.Audit, c.g.Home)
	if declared := c.g.Config.State; declared != nil && declared.Postgres != "" {
		host, _ := os.Hostname()
		return host + " " + path, nil
	}
	return path, nil
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
