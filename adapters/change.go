package adapters

import (
	"errors"
	"strings"
	"sync"
)

// Change is what an Action that has failed has changed in its backend.
type Change int

// What an Action that has failed may have changed.
const (
	ChangeAnswered Change = iota // the backend has answered how it failed, and the message says so
	ChangeUnsent                 // nothing was sent or begun
	ChangeUndone                 // what was begun was undone, so nothing is changed
	ChangeUnknown                // it may have taken effect, in part or in full
	ChangeDone                   // it has taken effect; only what came afterwards has failed
)

// WithChange returns an error of an Action with what the Action has changed; nil for nil.
func WithChange(err error, change Change) error {
	if err == nil {
		return nil
	}
	return &changeError{err, change}
}

type changeError struct {
	error
	change Change
}

func (e *changeError) Unwrap() error { return e.error }

// ChangeOf returns what an Action that has returned an error has changed. That is unknown unless the error is a Fault,
// because a context may end, and an Action may fail, after something was sent.
func ChangeOf(err error) Change {
	var e *changeError
	var f *Fault
	switch {
	case errors.As(err, &e):
		return e.change
	case !errors.As(err, &f):
		return ChangeUnknown
	case f.Change == ChangeAnswered && f.NotSent:
		return ChangeUnsent
	}
	return f.Change
}

// Worse returns which of two changes a failed Action reports that has made both.
func Worse(a, b Change) Change {
	for _, change := range []Change{ChangeDone, ChangeUnknown, ChangeAnswered, ChangeUndone} {
		if a == change || b == change {
			return change
		}
	}
	return ChangeUnsent
}

// Changes records what the Actions of a call have changed, with those of the tools that it calls. The zero value is
// that of a call that has changed nothing. It is safe for concurrent use.
type Changes struct {
	Tool string // the tool whose call it is; parts of others are named with their tool

	mu     sync.Mutex
	parts  []Part // in the order in which they began; guarded by mu
	undone bool   // an Action has begun something that it has undone; guarded by mu
}

// Part counts how often a part of a call, such as a step, was carried out.
type Part struct {
	Name     string `json:"name"`              // such as `the step "pay"`
	Done     int    `json:"done,omitempty"`    // took effect
	Unknown  int    `json:"unknown,omitempty"` // may have taken effect, or is running
	Answered int    `json:"-"`                 // has failed last, with the backend's answer
}

// Begin records that an Action begins. End must be called with what it has changed.
func (c *Changes) Begin(part string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.part(part).Unknown++
}

// End records what an Action has changed. An action that has not failed has done something.
func (c *Changes) End(part string, change Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.part(part)
	switch change {
	case ChangeUnknown:
		return
	case ChangeUndone:
		c.undone = true
	case ChangeAnswered:
		p.Answered++
	case ChangeDone:
		p.Done++
	}
	p.Unknown--
}

// part returns a part by its name. The caller holds mu.
func (c *Changes) part(name string) *Part {
	for i := range c.parts {
		if c.parts[i].Name == name {
			return &c.parts[i]
		}
	}
	c.parts = append(c.parts, Part{Name: name})
	return &c.parts[len(c.parts)-1]
}

// Merge adds the changes of a part of the call whose failure, if it has failed, does not end the call: what its backend
// has answered is not in the message of the call.
func (c *Changes) Merge(from *Changes) {
	parts := from.Parts()
	for i := range parts {
		parts[i].Unknown += parts[i].Answered
		parts[i].Answered = 0
	}
	c.Restore(parts)
	if from.HasUndone() {
		c.mu.Lock()
		c.undone = true
		c.mu.Unlock()
	}
}

// Parts returns the parts that have taken effect, or may have.
func (c *Changes) Parts() (parts []Part) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.parts {
		if p.Done+p.Unknown+p.Answered > 0 {
			parts = append(parts, p)
		}
	}
	return parts
}

// HasUndone reports whether an Action has begun something that it has undone.
func (c *Changes) HasUndone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.undone
}

// Restore adds parts that were recorded elsewhere, in another process perhaps.
func (c *Changes) Restore(parts []Part) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range parts {
		known := c.part(p.Name)
		known.Done += p.Done
		known.Unknown += p.Unknown
		known.Answered += p.Answered
	}
}

// NothingSent and NothingChanged are clauses about a call that has failed.
const (
	NothingSent    = "nothing was sent"
	NothingChanged = "nothing was changed"
)

// Unchanged returns the clause about a failure after which nothing is changed; empty for another one.
func Unchanged(change Change) string {
	if change == ChangeUndone {
		return NothingChanged
	}
	return ""
}

// JoinFailure joins what has failed, what was done and what to do now. What was done and what to do are clauses
// without an end, and may be empty. Advice that begins with a capital letter is a sentence.
func JoinFailure(message, done, advice string) string {
	text, ends := message, strings.HasSuffix(message, "\n") || strings.Contains(message, "\n- ")
	switch {
	case done == "":
	case ends || endsSentence(message):
		text = join(text, capitalize(done)+".")
	default:
		text += "; " + done
	}
	switch {
	case advice == "":
	case advice != capitalize(advice) && endsSentence(text):
		text = strings.TrimSuffix(text, ".") + "; " + advice
	case advice != capitalize(advice) && done != "":
		text += ", " + advice
	case advice != capitalize(advice):
		text += "; " + advice
	case !endsSentence(text):
		text += ". " + advice
	default:
		text = join(text, advice)
	}
	return text
}

// join joins sentences.
func join(text, sentence string) string {
	switch {
	case strings.HasSuffix(text, "\n"):
		return text + sentence
	case strings.Contains(text, "\n- "):
		return text + "\n" + sentence
	}
	return text + " " + sentence
}

func endsSentence(text string) bool {
	return text != "" && strings.ContainsAny(text[len(text)-1:], ".!?")
}

func capitalize(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
