package approval

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"hatchel/runtime/state"
)

// Proposal is a decision that is not effective yet, because it is not in the audit log. While there
// is one nobody else can decide. It is dropped 30 seconds after it has a writer; before that, when
// the approval expires.
type Proposal struct {
	Approval *Approval // pending
	Approved bool
	Decision Decision

	record *state.Record
}

// proposalBody is the body of the record of a proposal.
type proposalBody struct {
	Approved bool     `json:"approved"`
	Decision Decision `json:"decision"`
	Writer   string   `json:"writer,omitempty"` // who records it; empty until it is claimed
}

// ProposedApproval returns the ID of the approval that a proposal is about, from the name of its record. The
// name has a random part, so that a late Withdraw cannot drop a later proposal. The unique key of the
// record is the ID, so that there is one proposal at a time.
func ProposedApproval(name string) (id string) {
	id, _, _ = strings.Cut(name, ".")
	return id
}

// Propose starts a decision. The writer will record it and call Confirm; without a writer any process
// may become it with Claim. It fails like Decide.
func (b *Store) Propose(ctx context.Context, id string, p Proposal, writer string) (*Proposal, error) {
	a, err := b.findPending(ctx, id)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(proposalBody{p.Approved, p.Decision, writer})
	if err != nil {
		return nil, err
	}
	until := time.Now().Add(proposalTTL)
	if writer == "" && a.Deadline.After(until) {
		until = a.Deadline // no process that has the audit log may be running
	}
	r := &state.Record{
		Kind: ProposalKind, Name: a.ID + "." + rand.Text(), UniqueKey: a.ID, Version: 1,
		Due: until, Expires: until, Body: body,
	}
	existing, err := b.store.Add(ctx, r)
	if err != nil {
		return nil, err
	}
	if existing != nil {
		return nil, beingDecided(existing)
	}
	made := &Proposal{Approval: a, Approved: p.Approved, Decision: p.Decision, record: r}
	// The approval may have been decided after it was read and before the proposal was added; or
	// another process has claimed this proposal and confirmed it already.
	a, err = b.Find(ctx, a.ID)
	switch {
	case err != nil:
	case a == nil:
		err = ErrNotFound
	case a.record.Version != made.Approval.record.Version && !made.isDecisionOf(a):
		err = alreadyDecided(a)
	}
	if err != nil {
		_, withdrawing := b.Withdraw(ctx, made)
		return nil, errors.Join(err, withdrawing)
	}
	return made, nil
}

// isDecisionOf reports whether an approval was decided by this proposal.
func (p *Proposal) isDecisionOf(a *Approval) bool {
	d := a.Decision
	return d != nil && d.By == p.Decision.By && d.At.Equal(p.Decision.At)
}

// checkNoProposal returns an [DecidedError] while there is a proposal for an approval.
func (b *Store) checkNoProposal(ctx context.Context, id string) error {
	r, err := b.store.ByUniqueKey(ctx, ProposalKind, id)
	if err == nil && r != nil {
		err = beingDecided(r)
	}
	return err
}

func beingDecided(r *state.Record) *DecidedError {
	var p proposalBody
	if json.Unmarshal(r.Body, &p) != nil {
		return &DecidedError{Status: Pending}
	}
	return &DecidedError{Status: Pending, Decision: &p.Decision}
}

// Claim makes a writer the one that records the proposal for an approval. Exactly one of any number
// of writers gets the proposal; the others get nil, as they do when there is none.
func (b *Store) Claim(ctx context.Context, id, writer string) (*Proposal, error) {
	r, err := b.store.ByUniqueKey(ctx, ProposalKind, id)
	if err != nil || r == nil {
		return nil, err
	}
	var p proposalBody
	if err := json.Unmarshal(r.Body, &p); err != nil {
		return nil, errMalformed
	}
	a, err := b.Find(ctx, id)
	if err != nil || a == nil || p.Writer != "" {
		return nil, err
	}
	p.Writer = writer
	r.Due = time.Now().Add(proposalTTL)
	r.Expires = r.Due
	if r.Body, err = json.Marshal(p); err != nil {
		return nil, err
	}
	claimed, err := b.store.Replace(ctx, r)
	if err != nil || !claimed {
		return nil, err
	}
	return &Proposal{Approval: a, Approved: p.Approved, Decision: p.Decision, record: r}, nil
}

// Proposals returns the IDs of the approvals that have a proposal.
func (b *Store) Proposals(ctx context.Context) ([]string, error) {
	list, err := b.store.List(ctx, state.Query{Kind: ProposalKind, Limit: expirePage})
	ids := make([]string, len(list))
	for i, r := range list {
		ids[i] = r.UniqueKey
	}
	return ids, err
}

// Confirm makes a recorded proposal effective, and returns the decided approval.
func (b *Store) Confirm(ctx context.Context, p *Proposal) (*Approval, error) {
	a, err := b.storeDecision(ctx, p.Approval, p.Approved, p.Decision)
	if err != nil {
		return nil, err
	}
	b.Withdraw(ctx, p) // after a failure it expires by itself
	return a, nil
}

// Withdraw drops a proposal, and reports whether it is gone without having taken effect. It is not
// when another process has claimed it and is recording it, or has confirmed it.
func (b *Store) Withdraw(ctx context.Context, p *Proposal) (bool, error) {
	removed, err := b.store.Remove(ctx, p.record)
	if err != nil || removed {
		b.announce(p.Approval.ID)
		return removed, err
	}
	current, err := b.store.ByUniqueKey(ctx, ProposalKind, p.Approval.ID)
	if err != nil || current != nil && current.Name == p.record.Name {
		return false, err
	}
	a, err := b.Find(ctx, p.Approval.ID)
	return err == nil && (a == nil || a.Decision == nil), err
}
