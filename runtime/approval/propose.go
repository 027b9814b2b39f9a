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

// Proposal is a decision that does not hold yet, because it is not written down. While there is one nobody else decides. It is
// forgotten after half a minute; until it is claimed, with the approval.
type Proposal struct {
	Approval *Approval // that it is about, pending
	Approved bool
	Decision Decision

	record *state.Record
}

// proposal is the body of its record.
type proposal struct {
	Approved bool     `json:"approved"`
	Decision Decision `json:"decision"`
	Writer   string   `json:"writer,omitempty"` // who writes it down; empty while nobody does
}

// Proposed is the ID of the approval that a proposal is about, whose record is called so. The name is its own: who gives one up late gives up no later one. The slot of the record is the
// ID, so that there is one at a time.
func Proposed(name string) (id string) {
	id, _, _ = strings.Cut(name, ".")
	return id
}

// Propose begins to decide. Writer is who will write the decision down and Confirm it; empty when whoever hears of it may, by Claim. It fails as Decide does.
func (b *Book) Propose(ctx context.Context, id string, p Proposal, writer string) (*Proposal, error) {
	a, err := b.pending(ctx, id)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(proposal{p.Approved, p.Decision, writer})
	if err != nil {
		return nil, err
	}
	until := time.Now().Add(hold)
	if writer == "" && a.Until.After(until) {
		until = a.Until // no process with the audit log may be running
	}
	r := &state.Record{Kind: ProposalKind, Name: a.ID + "." + rand.Text(), Slot: a.ID, Version: 1, Due: until, Expires: until, Body: body}
	there, err := b.store.Add(ctx, r)
	if err != nil {
		return nil, err
	}
	if there != nil {
		return nil, inProgress(there)
	}
	made := &Proposal{Approval: a, Approved: p.Approved, Decision: p.Decision, record: r}
	// Who has decided before may have done so after the approval was read, and before the proposal was there; or somebody has heard of this proposal, and it holds already.
	if a, err = b.Find(ctx, a.ID); err == nil && (a == nil || a.record.Version != made.Approval.record.Version && !made.holds(a)) {
		if err = ErrUnknown; a != nil {
			err = already(a)
		}
	}
	if err != nil {
		return nil, errors.Join(err, b.drop(ctx, made))
	}
	return made, nil
}

// holds reports whether an approval was decided as it is proposed.
func (p *Proposal) holds(a *Approval) bool {
	d := a.Decision
	return d != nil && d.By == p.Decision.By && d.At.Equal(p.Decision.At)
}

// proposed is who is deciding an approval at this moment; nil when nobody is.
func (b *Book) proposed(ctx context.Context, id string) (*AlreadyError, error) {
	r, err := b.store.Holder(ctx, ProposalKind, id)
	if err != nil || r == nil {
		return nil, err
	}
	return inProgress(r), nil
}

func inProgress(r *state.Record) *AlreadyError {
	var p proposal
	if json.Unmarshal(r.Body, &p) != nil {
		return &AlreadyError{Status: Pending}
	}
	return &AlreadyError{Status: Pending, Decision: &p.Decision}
}

// Claim makes a writer the one who writes a proposal down that nobody does yet: exactly one of any number is given it, the others nil. Id is that of the approval.
func (b *Book) Claim(ctx context.Context, id, writer string) (*Proposal, error) {
	r, err := b.store.Holder(ctx, ProposalKind, id)
	if err != nil || r == nil {
		return nil, err
	}
	var p proposal
	if err := json.Unmarshal(r.Body, &p); err != nil {
		return nil, errBody
	}
	a, err := b.Find(ctx, id)
	if err != nil || a == nil || p.Writer != "" {
		return nil, err
	}
	p.Writer = writer
	r.Due = time.Now().Add(hold)
	r.Expires = r.Due
	if r.Body, err = json.Marshal(p); err != nil {
		return nil, err
	}
	won, err := b.store.Replace(ctx, r)
	if err != nil || !won {
		return nil, err
	}
	return &Proposal{Approval: a, Approved: p.Approved, Decision: p.Decision, record: r}, nil
}

// Proposals are the IDs of the approvals that somebody is deciding.
func (b *Book) Proposals(ctx context.Context) ([]string, error) {
	list, err := b.store.List(ctx, state.Query{Kind: ProposalKind, Limit: sweepAtOnce})
	ids := make([]string, len(list))
	for i, r := range list {
		ids[i] = r.Slot
	}
	return ids, err
}

// Confirm makes a proposal hold, now that it is written down, and returns the approval as it is then.
func (b *Book) Confirm(ctx context.Context, p *Proposal) (*Approval, error) {
	a, err := b.settle(ctx, p.Approval, p.Approved, p.Decision)
	if err != nil {
		return nil, err
	}
	b.drop(ctx, p) // otherwise it goes by itself
	return a, nil
}

// Withdraw gives a proposal up, and reports whether it is gone without holding. It is not when somebody has claimed it and still writes it down, nor when it holds already.
func (b *Book) Withdraw(ctx context.Context, p *Proposal) (bool, error) {
	gone, err := b.store.Remove(ctx, p.record)
	if err != nil || gone {
		b.wake(p.Approval.ID)
		return gone, err
	}
	there, err := b.store.Holder(ctx, ProposalKind, p.Approval.ID)
	if err != nil || there != nil && there.Name == p.record.Name {
		return false, err
	}
	a, err := b.Find(ctx, p.Approval.ID)
	return err == nil && (a == nil || a.Decision == nil), err
}

func (b *Book) drop(ctx context.Context, p *Proposal) error {
	_, err := b.Withdraw(ctx, p)
	return err
}
