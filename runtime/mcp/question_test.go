package mcp

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// script is the way to a client at which something happens as soon as it is asked. What the client is told is written down.
type script struct {
	inquiries inquiries
	happens   func()
	told      []string
}

func (s *script) notify(frame []byte) {
	s.told = append(s.told, string(frame))
	s.happens()
}

func (s *script) asked() *inquiries         { return &s.inquiries }
func (s *script) away() bool                { return false }
func (s *script) detach(time.Duration) bool { return false }

// A client that has ended its session may not read its stream any more, and who would tell it anything would wait for that.
func TestAQuestionIsWithdrawnFromWhoMayStillAnswer(t *testing.T) {
	impatient := errors.New("the time to answer is over")
	for _, c := range []struct {
		claim string
		why   error
		told  string
	}{
		{"a question whose time is over", impatient, "elicitation/create notifications/cancelled"},
		{"one of a session that has ended", errEnded, "elicitation/create"},
	} {
		ctx, end := context.WithCancelCause(t.Context())
		wire := &script{}
		wire.happens = func() { end(c.why) }
		r := &CallRequest{Caller: &Caller{Revision: Revision20251125}, wire: wire}
		if answer, err := r.Ask(ctx, Question{Key: "who", Method: "elicitation/create"}); answer != nil || !errors.Is(err, c.why) {
			t.Errorf("%s came to %s, %v", c.claim, answer, err)
		}
		var told []string
		for _, frame := range wire.told {
			_, method, _ := strings.Cut(frame, `"method":"`)
			method, _, _ = strings.Cut(method, `"`)
			told = append(told, method)
		}
		if got := strings.Join(told, " "); got != c.told {
			t.Errorf("of %s the client is told %s", c.claim, got)
		}
	}
}
