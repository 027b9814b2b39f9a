package runtime

import (
	"context"
	"time"

	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
)

const (
	kindSuspended     = "suspended"
	maxSuspendedCalls = 1000 // of a session, that are looked through for a question
)

// LoadCall implements mcp.CallStore.
func (s sessionStore) LoadCall(ctx context.Context, name string) (mcp.StoredCall, error) {
	r, err := s.records.Record(ctx, kindSuspended, name)
	if err != nil || r == nil {
		return mcp.StoredCall{}, failure.Unavailable(err)
	}
	return mcp.StoredCall{Name: r.Name, Body: r.Body, Version: r.Version}, nil
}

// ListCalls implements mcp.CallStore.
func (s sessionStore) ListCalls(ctx context.Context, session string) (calls []mcp.StoredCall, err error) {
	query := state.Query{Kind: kindSuspended, Group: session, Limit: maxSuspendedCalls}
	records, err := s.records.List(ctx, query)
	for _, r := range records {
		calls = append(calls, mcp.StoredCall{Name: r.Name, Body: r.Body, Version: r.Version})
	}
	return calls, failure.Unavailable(err)
}

// SaveCall implements mcp.CallStore.
func (s sessionStore) SaveCall(
	ctx context.Context, session string, call mcp.StoredCall, until time.Time,
) (bool, error) {
	r := &state.Record{
		Kind: kindSuspended, Name: call.Name, Group: session, Version: call.Version, Due: time.Now(),
		Expires: until.Add(state.MaxClockSkew), Body: call.Body, Priority: state.FollowUp, NoNotify: true,
	}
	if r.Version > 0 {
		replaced, err := s.records.Replace(ctx, r)
		return replaced, failure.Unavailable(err)
	}
	existing, err := s.records.Add(ctx, r)
	return existing == nil && err == nil, failure.Unavailable(err)
}
