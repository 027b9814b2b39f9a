package audit

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hatchel/internal/wildcard"
)

// What records of another event than the end of a call have as their outcome in a Filter.
const (
	Started  = "started"  // an EventIntent
	Approved = "approved" // an EventApproval
	Rejected = "rejected" // an EventApproval
)

// Outcomes are the outcomes that a Filter selects: those of calls, then those of other records and of sign-ins.
var Outcomes = []string{
	OK, Partial, Failed, Refused, Cancelled, ProtocolError, Asked, Task, Started, Approved, Rejected,
	Consented, Denied, Refreshed, Replayed, Revoked, Asserted,
}

// Filter selects records. What is empty selects all.
type Filter struct {
	Tool    string // the name or the URI, which may contain *
	Caller  string // a subject, key, group, address or client, which may contain *
	Outcome string // one of Outcomes
	Rule    string // that has decided, which may contain *
	Since   string // a time, or a duration before now
	Until   string // alike
	Text    string // a text in the line of the record
}

// Matcher returns whether a line, which is a record, is selected. The error says which member is not valid.
func (f *Filter) Matcher(now time.Time) (func(*Line, *Record) bool, error) {
	since, err := parseTime("since", f.Since, now)
	if err != nil {
		return nil, err
	}
	until, err := parseTime("until", f.Until, now)
	if err != nil {
		return nil, err
	}
	if f.Outcome != "" && !slices.Contains(Outcomes, f.Outcome) {
		return nil, fmt.Errorf("outcome must be one of %s, and is %q", strings.Join(Outcomes, ", "), f.Outcome)
	}
	return func(l *Line, r *Record) bool {
		c := &r.Caller
		return !r.Time.Before(since) && (f.Until == "" || r.Time.Before(until)) &&
			(f.Outcome == "" || outcomeOf(r) == f.Outcome) &&
			(f.Tool == "" || wildcard.MatchAny(f.Tool, r.Name, r.URI)) &&
			(f.Caller == "" || wildcard.MatchAny(f.Caller, c.Subject, c.Key, c.Remote, c.Client) ||
				wildcard.MatchAny(f.Caller, c.Groups...)) &&
			(f.Rule == "" || wildcard.MatchAny(f.Rule, r.Rule)) &&
			(f.Text == "" || bytes.Contains(l.Text, []byte(f.Text)))
	}, nil
}

// outcomeOf returns which of Outcomes a record has; empty for none.
func outcomeOf(r *Record) string {
	switch r.Event {
	case EventIntent:
		return Started
	case EventApproval:
		return r.Decision
	}
	return r.Outcome
}

// parseTime returns the time that a text says; the zero time for an empty one.
func parseTime(name, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(n)), nil
		}
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%s must be a time (2026-01-31, 2026-01-31T15:04:05Z) "+
		"or a duration (90m, 24h, 7d), and is %q", name, text)
}
