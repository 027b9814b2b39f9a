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

// rememberAudit lets the state, if there is one, remember the last record of the log in files.
func (c *compiler) rememberAudit() {
	log, ok := c.g.audit.(*audit.Log)
	if !ok || c.g.Config.Audit.Stdout || c.diags.HasErrors() {
		return
	}
	cut := false
	opened, err := c.build.State.openIfExists(c.ctx)
	if opened != nil {
		m := &auditMemory{records: opened.Store, name: auditLocation(c.g.Config.Audit, c.build.Dir)}
		if declared := c.g.Config.State; declared != nil && declared.Postgres != "" { // shared by several machines
			host, _ := os.Hostname()
			m.name = host + " " + m.name
		}
		cut, err = log.Remember(c.ctx, m)
	}
	if err != nil {
		c.g.env.LogFailure(c.ctx, slog.LevelWarn, "audit log not compared with the state", err)
	}
	if cut {
		c.build.Log.Error("audit log cut off: records at its end are missing that the state remembers",
			"file", c.g.Config.Audit.File)
	}
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
