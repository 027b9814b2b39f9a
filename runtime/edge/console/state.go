package console

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime"
	"hatchel/runtime/observe/metrics"
	"hatchel/runtime/stage/limit"
)

const statePath = "/console/state"

// stateData is the data of the page about the state of the server.
type stateData struct {
	*runtime.ServerState
	Systems []systemRow
	SignIn  []dependency // of a sign_in block

	Upstreams []upstreamView
}

// systemRow is a connection on the page.
type systemRow struct {
	metrics.Connection
	Note       string
	Credential *adapters.CredentialState // nil if it fetches none
}

// state shows the systems that the server depends on, and what is in its memory.
func (c *Console) state(q *request) (*answer, error) {
	data := &stateData{ServerState: c.Host.Telemetry().ServerState(q.Context())}
	for i, conn := range data.Connections {
		row := systemRow{Connection: conn}
		if i < len(data.Health) { // unless a reload came between
			row.Note, row.Credential = cmp.Or(data.Health[i].Error, data.Health[i].Reason), data.Health[i].Credential
			if row.Credential != nil {
				row.Note = cmp.Or(row.Note, row.Credential.Failure)
			}
		}
		data.Systems = append(data.Systems, row)
	}
	for _, u := range data.Upstream {
		data.Upstreams = append(data.Upstreams, newUpstreamView(u))
	}
	data.SignIn = c.signInState(q.Context())
	return &answer{template: "server-state", title: "State", data: data}, nil
}

// providerTimeout bounds the load of the metadata of a provider, which are kept.
const providerTimeout = time.Second

// signInState returns the state of what people sign in with; nothing without a sign_in block.
func (c *Console) signInState(ctx context.Context) []dependency {
	s := c.Host.Current().SignIn
	if s == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	provider, keys := dependency{"provider " + hostOf(s.Decl.Provider), conditionOf(true), ""}, 0
	if err := s.Provider.Health(ctx); err != nil {
		provider.condition, provider.Note = conditionOf(false), err.Error()
	}
	grants, open := c.Host.Operator().State.CurrentGrants(), condition{"bad", "not open"}
	if grants != nil {
		keys, open = len(grants.Keys()), condition{"ok", "open"}
	}
	return []dependency{provider, {"keys of tokens", open, count(keys, "key") + " published"}}
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
		stores = append(stores, dependency{"audit log", auditState(*d.AuditWritable), ""})
	}
	return stores
}

// CacheSize returns the size of the cached results, for people.
func (d *stateData) CacheSize() string { return hcl.Size(d.Bytes).String() }

// More returns how many limits are not shown.
func (d *stateData) More() int { return d.InUse - len(d.Limits) }

// limitCaller returns under whose name a limit counts, for people.
func limitCaller(u limit.Usage) string {
	_, subject, ok := strings.Cut(u.Caller, "\n")
	switch {
	case ok:
		return subject
	case u.Caller != "":
		return u.Caller
	case u.Rule != nil && u.Rule.Shared:
		return "all callers"
	}
	return "unknown callers"
}

// rateLeft returns how much is left of the rate of a limit, for people; empty for a limit without one.
func rateLeft(u limit.Usage) string {
	switch {
	case u.Rule == nil || u.Rule.Rate.Calls == 0:
		return ""
	case u.Left < 0:
		return "unknown, the state store does not answer"
	}
	return fmt.Sprintf("%d of %d, %s", u.Left, u.Rule.Burst, u.Rule.Rate)
}
