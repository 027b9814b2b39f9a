package runtime

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"os"
	"time"

	"hatchel/runtime/audit"
	"hatchel/runtime/state"
)

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
	path := auditLocation(c.g.Config.Audit, c.build.Dir)
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
