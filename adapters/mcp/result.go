package mcp

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"sync"

	"hatchel/adapters"
	"hatchel/adapters/mcp/client"
	"hatchel/adapters/scrub"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/internal/cut"
)

const maxErrorText = 4 << 10 // bytes of the text of a result that is an error

// output returns the output of a result, or the fault of one that is an error. It removes the token that the server may
// repeat; nil for none.
func (a *action) output(
	call *adapters.Call, result *client.Result, token *scrub.Scrubber,
) (map[string]any, error) {
	clean := cleaner{keep: a.HiddenText == hiddenKeep, fetched: token}
	r := contentReader{connection: a.server.name, links: a.Links, clean: &clean}
	err := r.read(token.JSON(result.Content)) // of all members, before the texts are cleaned
	if err != nil {
		return nil, invalidResult(err)
	}
	if result.IsError {
		return nil, toolError(joinTexts(r.out.Blocks))
	}
	out := map[string]any{
		"content": &r.out, "text": joinTexts(r.out.Blocks), "truncated": r.count() > 0, "structured": nil,
	}
	if result.Structured != nil || a.returned != nil {
		s := &structured{of: a}
		if s.raw, err = clean.json(result.Structured); err != nil {
			return nil, invalidResult(err)
		}
		out["structured"] = s
	}
	if a.Delimit {
		r.out.Delimiter = newDelimiter(a.server.name)
	}
	call.Received.Add(adapters.Received{Hidden: clean.removed, LeftOut: r.count()})
	return out, nil
}

// toolError returns the failure of a result that says that it is one. Its message is the text of the server.
func toolError(text string) *adapters.Fault {
	message := strings.TrimSpace(text)
	if message == "" {
		message = "the server of this tool reports a failure without saying which"
	}
	if len(message) > maxErrorText {
		message = message[:cut.Before(message, maxErrorText-len("…"))] + "…"
	}
	return &adapters.Fault{Message: message}
}

// invalidResult returns the failure of a call that was carried out, and whose result cannot be read.
func invalidResult(err error) *adapters.Fault {
	const message = "the server of this tool has answered with a result that cannot be read"
	return &adapters.Fault{Message: message, Cause: err, Change: adapters.ChangeUnknown}
}

// newDelimiter returns a word that no text of a server can have.
func newDelimiter(connection string) string {
	var random [8]byte
	rand.Read(random[:])
	return connection + " " + hex.EncodeToString(random[:])
}

// structured is a structured result, which is decoded on first use, and checked by the pinned definition. It is safe
// for concurrent use.
type structured struct {
	of   *action
	raw  []byte // valid JSON, never modified; nil if there is none, although the definition promises one
	once sync.Once
	v    any
	err  error
}

// AppendJSON implements value.LazyJSON.
func (s *structured) AppendJSON(dst []byte) []byte {
	if s.raw == nil {
		return append(dst, "null"...)
	}
	return append(dst, s.raw...)
}

// IsAbsent reports whether the server has sent none.
func (s *structured) IsAbsent() bool { return s.raw == nil }

// Weight returns that of the decoded value; see value.Weight.
func (s *structured) Weight() int64 { return value.WeightOfJSON(s.raw) }

// Value implements value.LazyJSON.
func (s *structured) Value() (any, error) {
	s.once.Do(func() { s.v, s.err = s.read() })
	return s.v, s.err
}

const maxViolations = 5

func (s *structured) read() (any, error) {
	if s.raw == nil {
		return nil, &value.FormError{Text: "the result of " + s.of.Call + " has no structured content"}
	}
	v, err := value.Decode(s.raw)
	if err != nil || s.of.returned == nil {
		return v, err
	}
	checked, violations, err := s.of.returned.Check(v, schema.Unlimited)
	if err != nil || len(violations) == 0 {
		return checked, err
	}
	var list []string
	for _, violation := range violations[:min(len(violations), maxViolations)] {
		list = append(list, violation.String())
	}
	return nil, &value.FormError{Text: strings.Join(list, "; ")}
}
