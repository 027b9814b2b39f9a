package event

import (
	"context"

	"hatchel/hcl/eventkind"
	"hatchel/runtime/observe/logging"
)

// Refusal is a call, or a request, that was refused.
type Refusal struct {
	Operation, Name string // that was called; empty for a request that is no call
	Reason          string // in a word
	Limit           bool   // a limit has refused it
	Message         string
	Subject, Owner  string // of the caller

	publisher *Publisher
	ctx       context.Context // of publisher
}

// Refusals publishes at most one event a second for what is refused of one tool for one reason, with a count. Its
// zero value is ready to use, and its methods may be called concurrently.
type Refusals struct{ repeats logging.Repeats[Refusal] }

// Add counts a refusal, which is published by p with the values of ctx.
func (r *Refusals) Add(ctx context.Context, p *Publisher, refused Refusal) {
	kind := eventkind.Refused
	if refused.Limit {
		kind = eventkind.Limit
	}
	if refused.Reason == "" || !p.Wants(kind) {
		return
	}
	refused.publisher, refused.ctx = p, context.WithoutCancel(ctx)
	key := kind.String() + "\n" + refused.Operation + "\n" + refused.Name + "\n" + refused.Reason
	r.repeats.Add(key, refused, publishRefusals)
}

// publishRefusals publishes the last one of the refusals that were counted.
func publishRefusals(last Refusal, count int) {
	m := Meta{Kind: eventkind.Refused, Operation: last.Operation, Name: last.Name}
	if count == 1 { // so that one's own refusals can be followed
		m.Subject, m.Owner = last.Subject, last.Owner
	}
	members := []Member{{last.Operation, last.Name}}
	if last.Operation == "" {
		members = nil
	}
	if last.Limit {
		m.Kind = eventkind.Limit
	} else {
		members = append(members, Member{"reason", last.Reason}, Member{"message", last.Message},
			Member{"subject", last.Subject})
	}
	last.publisher.Publish(last.ctx, m, append(members, Member{"count", count})...)
}
