package main

import (
	"context"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/approval"
	"hatchel/runtime/server"
	"hatchel/runtime/state"
)

// localApprovals decides in the state store, which servers may have open at the same time.
type localApprovals struct {
	store   state.Store
	book    *approval.Store
	audited bool // decisions are recorded in an audit log before they take effect

	cancel   context.CancelFunc
	watching sync.WaitGroup
}

// openLocal opens the state of a directory. Errors in the configuration matter only when they hide
// where the state is and --state does not say: tools may need secrets that an operator does not
// have.
func (f *approvalsFlags) openLocal(ctx context.Context, stderr io.Writer) (approvalSource, error) {
	folder, err := f.decode(f.dir, stderr)
	if err != nil {
		return nil, err
	}
	cfg := folder.config
	if folder.diags.HasErrors() && f.state == "" && !knowsState(cfg) {
		return nil, failf("%s has %s, and the location of its state is unknown: "+
			"run hatchel validate %s, or name the file with --state",
			f.dir, countDiagnostics(folder.diags), f.dir)
	}
	if err := checkStateExists(f.state, folder.dir, cfg.State); err != nil {
		return nil, err
	}
	store, err := server.OpenState(ctx, f.state, folder.dir, cfg.State)
	if err != nil {
		return nil, failf("%s", err)
	}
	l := &localApprovals{store: store, book: approval.NewStore(store)}
	l.audited = cfg.Audit != nil && (cfg.Audit.Stdout || cfg.Audit.File != "" || cfg.Audit.Postgres != "")
	ctx, l.cancel = context.WithCancel(ctx)
	// What the command does next reports a store that fails.
	l.watching.Go(func() { store.Watch(ctx, l.book.NotifyChange, func(error) {}) })
	return l, nil
}

// knowsState reports whether a configuration with errors declares the location of the state.
func knowsState(cfg *hcl.Config) bool {
	if cfg.State == nil {
		return !cfg.Partial
	}
	return cfg.State.SQLite != "" || cfg.State.Postgres != ""
}

// checkStateExists returns an error for a state file that no server has created, because opening it
// would create it.
func checkStateExists(file, dir string, block *hcl.State) error {
	if block != nil && block.Postgres != "" {
		return nil
	}
	path, err := server.StatePath(file, dir, block)
	if err != nil {
		return failf("%s", err)
	}
	if _, err := os.Stat(path); err != nil {
		return failf("%s cannot be read: %s. A server creates it with the first approval; "+
			"approvals of a server elsewhere are decided with --server URL", path, reason(err))
	}
	return nil
}

// Close implements approvalSource.
func (l *localApprovals) Close() {
	l.cancel()
	l.watching.Wait()
	l.store.Close()
}

// ListApprovals implements approvalSource.
func (l *localApprovals) ListApprovals(ctx context.Context, q approval.ListQuery) ([]json.RawMessage, string, error) {
	var approvals []json.RawMessage
	entries, next, err := l.book.List(ctx, q)
	for _, e := range entries {
		approvals = append(approvals, e.AppendJSON(nil))
	}
	return approvals, next, err
}

// FindApproval implements approvalSource.
func (l *localApprovals) FindApproval(ctx context.Context, id string) ([]byte, error) {
	a, err := l.load(ctx, id)
	if err != nil {
		return nil, err
	}
	return a.AppendJSON(nil)
}

func (l *localApprovals) load(ctx context.Context, id string) (*approval.Approval, error) {
	a, err := l.book.Find(ctx, id)
	if err == nil && a == nil {
		err = approval.ErrNotFound
	}
	return a, err
}

// DecideApproval implements approvalSource.
func (l *localApprovals) DecideApproval(ctx context.Context, id string, approved bool, reason string) ([]byte, error) {
	a, err := l.load(ctx, id)
	if err != nil {
		return nil, err
	}
	d := approval.Decision{By: localUser(), At: time.Now().UTC().Truncate(time.Microsecond), Reason: reason}
	if l.audited || a.Audited {
		a, err = l.propose(ctx, a.ID, approved, d)
	} else {
		a, err = l.book.Decide(ctx, a.ID, approved, d)
	}
	if err != nil {
		return nil, err
	}
	return a.AppendJSON(nil)
}

// recordTimeout is the time that a running server has to record a decision before the command
// returns.
const recordTimeout = 5 * time.Second

// propose stores a decision for the server that has the audit log, and waits until it has taken
// effect. The approval is still pending when no server has recorded the decision in time; the next
// one to start does.
func (l *localApprovals) propose(
	ctx context.Context, id string, approved bool, d approval.Decision,
) (*approval.Approval, error) {
	a, err := l.book.Propose(ctx, id, approved, d, false)
	if err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	decided, err := l.book.Wait(bounded, a, 0, nil)
	if err != nil && bounded.Err() != nil {
		decided, err = l.book.Find(context.WithoutCancel(ctx), id)
	}
	switch {
	case err != nil:
		return nil, err
	case decided == nil:
		return nil, approval.ErrNotFound
	case decided.Status == approval.Pending && decided.Proposal == nil:
		return nil, failf("nothing was decided: the server could not record the decision in its audit log; its log " +
			"has the reason")
	case decided.Status != approval.Pending && !isDecision(decided.Decision, d):
		return nil, &approval.DecidedError{Status: decided.Status, Decision: decided.Decision}
	}
	return decided, nil
}

// isDecision reports whether an approval was decided by d.
func isDecision(of *approval.Decision, d approval.Decision) bool {
	return of != nil && of.By == d.By && of.At.Equal(d.At)
}

// keyVariable holds the credential, because other users of the machine can read command lines.
const keyVariable = "HATCHEL_KEY"

// newRemoteApprovals returns the source for a server, given its base URL or that of its MCP
// endpoint.
func newRemoteApprovals(address string) (approvalSource, error) {
	if os.Getenv(keyVariable) == "" {
		if _, err := newClient(address); err != nil {
			return nil, err
		}
		return nil, misusef("--server requires your API key or token in the environment variable %s", keyVariable)
	}
	return newClient(address)
}

// newClient returns the client of a server, given its base URL or that of its MCP endpoint. It sends the
// key of the environment, if there is one.
func newClient(address string) (*server.Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		return nil, misusef("--server requires the URL of a server, as in https://example.com, and got %q", address)
	}
	if u.Scheme == "http" && !server.IsLoopback(u.Host) && u.Hostname() != "localhost" {
		return nil, misusef("--server: http would send the key to %s unencrypted. Use https", u.Host)
	}
	key := os.Getenv(keyVariable)
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, misusef("--server: the value of %s is not a valid key", keyVariable)
	}
	base := strings.TrimSuffix(strings.TrimSuffix(u.Scheme+"://"+u.Host+u.EscapedPath(), "/"), "/mcp")
	return server.NewClient(base, key, "hatchel/"+release()), nil
}
