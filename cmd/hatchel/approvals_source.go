package main

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"hatchel/runtime/durable/state"
	"hatchel/runtime/stage/approval"
)

// approvalSource is where approvals are read and decided: the state store, or a server. Approvals are
// JSON, as a server shows them. Errors are those of package approval, or texts for the user.
type approvalSource interface {
	ListApprovals(ctx context.Context, q approval.ListQuery) (approvals []json.RawMessage, next string, err error)
	FindApproval(ctx context.Context, id string) ([]byte, error)
	// DecideApproval returns an approval that is still pending when the decision takes effect after a
	// server has recorded it.
	DecideApproval(ctx context.Context, id string, approved bool, reason, digest string) ([]byte, error)
	// LookAgain has the state before the call read again by a server where the call waits.
	LookAgain(ctx context.Context, id string) ([]byte, error)
	Close()
}

// localApprovals decides in the state store, which servers may have open at the same time.
type localApprovals struct {
	store     state.Store
	approvals *approval.Store
	user      string
	audited   bool // decisions are recorded in an audit log before they take effect

	cancel   context.CancelFunc
	watching sync.WaitGroup
}

// newLocalApprovals returns the approvals of a store, which it closes at the end. User decides, as in os:ann. Audited
// says that the configuration has an audit log, so that a server must record a decision before it takes effect.
func newLocalApprovals(ctx context.Context, store state.Store, user string, audited bool) *localApprovals {
	l := &localApprovals{store: store, approvals: approval.NewStore(store), user: user, audited: audited}
	ctx, l.cancel = context.WithCancel(ctx)
	// What the command does next reports a store that fails.
	l.watching.Go(func() { store.Watch(ctx, l.approvals.NotifyChange, func(error) {}) })
	return l
}

// Close implements Source.
func (l *localApprovals) Close() {
	l.cancel()
	l.watching.Wait()
	l.store.Close()
}

// ListApprovals implements Source.
func (l *localApprovals) ListApprovals(ctx context.Context, q approval.ListQuery) ([]json.RawMessage, string, error) {
	var approvals []json.RawMessage
	entries, next, err := l.approvals.List(ctx, q)
	for _, e := range entries {
		approvals = append(approvals, e.AppendJSON(nil))
	}
	return approvals, next, err
}

// FindApproval implements Source.
func (l *localApprovals) FindApproval(ctx context.Context, id string) ([]byte, error) {
	a, err := l.load(ctx, id)
	if err != nil {
		return nil, err
	}
	return a.AppendJSON(nil)
}

func (l *localApprovals) load(ctx context.Context, id string) (*approval.Approval, error) {
	a, err := l.approvals.Find(ctx, id)
	if err == nil && a == nil {
		err = approval.ErrNotFound
	}
	return a, err
}

// DecideApproval implements Source.
func (l *localApprovals) DecideApproval(
	ctx context.Context, id string, approved bool, reason, digest string,
) ([]byte, error) {
	a, err := l.load(ctx, id)
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	d := approval.Decision{By: l.user, At: now, Reason: reason, Digest: digest}
	if l.audited || a.Audited {
		a, err = l.propose(ctx, a.ID, approved, d)
	} else {
		a, err = l.approvals.Decide(ctx, a.ID, approved, d)
	}
	if err != nil {
		return nil, err
	}
	return a.AppendJSON(nil)
}

// LookAgain implements Source.
func (l *localApprovals) LookAgain(ctx context.Context, id string) ([]byte, error) {
	a, err := l.approvals.LookAgain(ctx, id)
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
	a, err := l.approvals.Propose(ctx, id, approved, d, false)
	if err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	decided, err := l.approvals.Wait(bounded, a, 0, nil)
	if err != nil && bounded.Err() != nil {
		decided, err = l.approvals.Find(context.WithoutCancel(ctx), id)
	}
	switch {
	case err != nil:
		return nil, err
	case decided == nil:
		return nil, approval.ErrNotFound
	case decided.Status == approval.Pending && decided.Proposal == nil:
		return nil, errors.New("nothing was decided: the server could not record the decision in its audit log; " +
			"its log has the reason")
	case decided.Status != approval.Pending && !isDecision(decided.Decision, d):
		return nil, &approval.DecidedError{Status: decided.Status, Decision: decided.Decision}
	}
	return decided, nil
}

// isDecision reports whether an approval was decided by d.
func isDecision(of *approval.Decision, d approval.Decision) bool {
	return of != nil && of.By == d.By && of.At.Equal(d.At)
}
