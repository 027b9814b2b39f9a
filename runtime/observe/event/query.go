package event

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"hatchel/hcl/eventkind"
)

// Query says which events a listener gets, and from where on. The zero Query gets all that the
// ring has, and ends there.
type Query struct {
	Kinds    eventkind.Set // 0 for all; a gap is always sent
	Tool     string        // a name, or a pattern with * for any characters; empty for all events
	Caller   string        // the subject; empty for all events
	Outcomes []string      // nil for all events
	Own      bool          // only events about what the listener itself has called
	Follow   bool          // goes on with what is published later

	// From where on: at most one is set. Without any, a listener that follows begins with the next
	// event, and another one with the oldest.
	After  string    // the ID of an event, as Event.AppendID makes it
	Since  time.Time // the oldest time
	Replay int       // how many of the latest events that the listener gets

	// Check returns why the listener must end, after another configuration is served; nil if it may go on. Without a
	// Check, Viewer.Check alone decides.
	Check func() error
}

// maxReplay is the maximum of Query.Replay.
const maxReplay = 10_000

// QueryError reports a parameter that is not accepted, in a sentence.
type QueryError struct{ Message string }

func (q *QueryError) Error() string { return q.Message }

func queryErrorf(format string, args ...any) error {
	return &QueryError{fmt.Sprintf(format, args...)}
}

// Parameters are the names of the parameters of GET /events.
var Parameters = []string{"types", "tool", "caller", "outcome", "own", "since", "replay", "follow"}

// ParseQuery parses the query string of GET /events. LastID is the header Last-Event-ID, which wins over since. The
// error is a QueryError.
func ParseQuery(text, lastID string, now time.Time) (q Query, err error) {
	q.Follow = true
	values, err := url.ParseQuery(text)
	if err != nil { // a filter that is left out would show more than was asked for
		return q, queryErrorf("The query string is not valid: %s", err)
	}
	for name, given := range values {
		switch {
		case !slices.Contains(Parameters, name):
			return q, queryErrorf("Unknown parameter %q. The parameters are %s", name, strings.Join(Parameters, ", "))
		case len(given) > 1:
			return q, queryErrorf("The parameter %s is given twice", name)
		}
	}
	if q.Kinds, err = parseKinds(values.Get("types")); err != nil {
		return q, err
	}
	if q.Outcomes, err = parseOutcomes(values.Get("outcome")); err != nil {
		return q, err
	}
	q.Tool, q.Caller = values.Get("tool"), values.Get("caller")
	for name, to := range map[string]*bool{"own": &q.Own, "follow": &q.Follow} {
		if text := values.Get(name); text == "true" || text == "false" {
			*to = text == "true"
		} else if text != "" {
			return q, queryErrorf("%s is true or false, not %q", name, text)
		}
	}
	if text := values.Get("replay"); text != "" {
		if q.Replay, err = strconv.Atoi(text); err != nil || q.Replay < 0 || q.Replay > maxReplay {
			return q, queryErrorf("replay is a number from 0 to %d, not %q", maxReplay, text)
		}
	}
	return q, q.parseSince(values.Get("since"), lastID, now)
}

func (q *Query) parseSince(since, lastID string, now time.Time) error {
	if since != "" && q.Replay > 0 {
		return queryErrorf("At most one of since and replay may be set")
	}
	if lastID != "" {
		if _, _, ok := parseID(lastID); !ok {
			return queryErrorf("The header Last-Event-ID is the id of an event, not %q", lastID)
		}
		q.After, q.Replay = lastID, 0
		return nil
	}
	if since == "" {
		return nil
	}
	if _, _, ok := parseID(since); ok {
		q.After = since
		return nil
	}
	if d, err := time.ParseDuration(since); err == nil && d > 0 {
		q.Since = now.Add(-d)
		return nil
	}
	at, err := time.Parse(time.RFC3339, since)
	if err != nil {
		return queryErrorf("since is the id of an event, a duration such as 5m, or a time such as "+
			"2026-01-02T15:04:05Z, not %q", since)
	}
	q.Since = at
	return nil
}

func parseKinds(text string) (s eventkind.Set, err error) {
	for name := range splitList(text) {
		kind := eventkind.Parse(name)
		if name == "" || kind == eventkind.None {
			return 0, queryErrorf("Unknown type %q. The types are %s", name, eventkind.List())
		}
		s |= eventkind.Of(kind)
	}
	return s, nil
}

func parseOutcomes(text string) (outcomes []string, err error) {
	for name := range splitList(text) {
		if !slices.Contains(eventkind.Outcomes, name) {
			return nil, queryErrorf("Unknown outcome %q. The outcomes are %s", name,
				strings.Join(eventkind.Outcomes, ", "))
		}
		outcomes = append(outcomes, name)
	}
	return outcomes, nil
}

// splitList yields the elements of a list with commas; none of an empty text.
func splitList(text string) func(yield func(string) bool) {
	if text == "" {
		return func(func(string) bool) {}
	}
	return strings.SplitSeq(text, ",")
}

// parseID splits the ID of an event.
func parseID(id string) (epoch string, number uint64, ok bool) {
	epoch, text, ok := strings.Cut(id, "-")
	if !ok || len(epoch) != epochLength || len(text) > 0 && (text[0] < '0' || text[0] > '9') {
		return "", 0, false
	}
	number, err := strconv.ParseUint(text, 10, 64)
	return epoch, number, err == nil
}
