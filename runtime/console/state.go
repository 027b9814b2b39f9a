package console

import (
	"cmp"
	"strconv"
	"strings"

	"hatchel/hcl"
	"hatchel/runtime"
	"hatchel/runtime/limit"
)

const statePath = "/console/state"

// maxLimits is how many limits the page shows.
const maxLimits = 100

// stateData is the data of the page about the state of the server.
type stateData struct {
	*runtime.ServerState
	Systems []systemRow
	More    int // limits that are not shown
}

// systemRow is a connection on the page.
type systemRow struct {
	Kind, Name, Breaker, Pool, Note string
	Up                              condition
}

// state shows the systems that the server depends on, and what is in its memory.
func (c *Console) state(q *request) (*answer, error) {
	data := &stateData{ServerState: c.Host.ServerState(q.Context())}
	for i, conn := range data.Connections {
		row := systemRow{Kind: conn.Kind, Name: conn.Name, Breaker: conn.Breaker, Up: upState(conn.Up)}
		if conn.Pool != nil {
			row.Pool = strconv.Itoa(conn.Pool.InUse) + " of " + strconv.Itoa(conn.Pool.Max)
		}
		if i < len(data.Health) { // unless a reload came between
			row.Note = cmp.Or(data.Health[i].Error, data.Health[i].Reason)
		}
		data.Systems = append(data.Systems, row)
	}
	if data.More = len(data.Limits) - maxLimits; data.More > 0 {
		data.Limits = data.Limits[:maxLimits]
	}
	return &answer{template: "server-state", title: "State", data: data}, nil
}

// upState says whether a system answers.
func upState(up *bool) condition {
	if up == nil {
		return condition{"off", "not asked"}
	}
	return conditionOf(*up)
}

// Stores returns the state of what the server keeps, each with its name.
func (d *stateData) Stores() (stores []dependency) {
	store := dependency{"state store", upState(nil), d.Engine}
	if d.State != nil {
		store.condition = conditionOf(d.State.Up)
	}
	stores = append(stores, store)
	if d.AuditWritable != nil {
		stores = append(stores, dependency{"audit log", upState(d.AuditWritable), ""})
	}
	return stores
}

// CacheSize returns the size of the cached results, for people.
func (d *stateData) CacheSize() string { return hcl.Size(d.Bytes).String() }

// limitCaller returns under whose name a limit counts, for people.
func limitCaller(u limit.Usage) string {
	if _, subject, ok := strings.Cut(u.Caller, "\n"); ok {
		return subject
	}
	if u.Caller == "" {
		return "all or unknown callers"
	}
	return u.Caller
}
