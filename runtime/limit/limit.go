// Package limit decides whether a call of a tool may run now, later or not at all.
//
// A [Limiter] counts running calls and queues others in the memory of the process. The rate of
// calls is counted in the state store, so that all processes that share a store share it.
package limit

import (
	"fmt"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/digest"
	"hatchel/runtime/failure"
	"hatchel/runtime/state"
)

// Limit is one limit that the calls of a tool are subject to.
type Limit struct {
	tool string // empty for the limit of the whole server
	rule *hcl.Limit
}

// defaultLimit applies to each caller of a server that authenticates its callers and declares no
// limit.
var defaultLimit = &hcl.Limit{Concurrency: 10, Queue: 100, MaxWait: 10 * time.Second}

// Of returns the limits of a tool. The limit of the server comes first, so that a call does not
// occupy a place of the tool while it waits for the server.
func Of(cfg *hcl.Config, t *hcl.Tool) (all []Limit) {
	switch {
	case cfg.Server.Limit != nil:
		all = append(all, Limit{"", cfg.Server.Limit})
	case cfg.Auth != nil:
		all = append(all, Limit{"", defaultLimit})
	}
	if t.Limit != nil {
		all = append(all, Limit{"tool " + t.Name, t.Limit})
	}
	return all
}

// OfServer reports whether the limit is that of the whole server. Calls that are steps of another
// call do not count there.
func (l Limit) OfServer() bool { return l.tool == "" }

// HasRate reports whether the limit has a rate, which takes a state store.
func (l Limit) HasRate() bool { return l.rule.Rate.Calls > 0 }

// Key returns the key under which calls of this caller are counted.
func (l Limit) Key(caller string) Key {
	if l.rule.Shared {
		return Key{tool: l.tool}
	}
	return Key{l.tool, "of " + caller} // an unknown caller is one caller, too
}

// rate returns how often calls may begin.
func (l Limit) rate() state.Rate {
	r := state.Rate{Interval: l.rule.Rate.Every(), Burst: l.rule.Burst}
	if l.rule.Queue > 0 {
		r.MaxWait = l.rule.MaxWait
	}
	return r
}

// subject returns what is limited, as part of a sentence.
func (l Limit) subject() string {
	subject := "this tool"
	if l.tool == "" {
		subject = "the tools of this server"
	}
	if l.rule.Shared {
		return subject + " by all callers"
	}
	return subject + " by one caller"
}

func (l Limit) errTooMany() error {
	const text = "Too many calls of %s at once: at most %d run at a time. Nothing was done. " +
		"Try again when one has ended, in %v at the earliest."
	return &Error{fmt.Sprintf(text, l.subject(), l.rule.Concurrency, time.Second), time.Second}
}

func (l Limit) errRateLimited(retryAfter time.Duration) error {
	const text = "Too many calls of %s: at most %s. Nothing was done. Try again in %v."
	retryAfter = max(retryAfter.Round(time.Second), time.Second)
	return &Error{fmt.Sprintf(text, l.subject(), l.rule.Rate, retryAfter), retryAfter}
}

// Key is what calls are counted under: a tool, or all tools where tool is empty; one caller, or all
// callers where caller is empty.
type Key struct{ tool, caller string }

// String returns the name of the key in the state store. It does not contain the caller's name.
func (k Key) String() string { return digest.Of("pace", k.tool, k.caller).String() }

// Error is a call that a limit rejects.
type Error struct {
	Message    string // for the model
	RetryAfter time.Duration
}

func (e *Error) Error() string { return e.Message }

// Failure implements the interface of package failure.
func (e *Error) Failure() *failure.Failure {
	return &failure.Failure{Message: e.Message, Refused: true, RetryAfter: e.RetryAfter}
}
