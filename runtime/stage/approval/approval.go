package approval

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/runtime/durable/state"
)

// Kinds of records in the state store.
const (
	Kind        = "approval"
	pendingKind = "approval.pending" // one for each pending approval, in the group of its caller
)

// Status is the state of an approval.
type Status string

// The statuses. An approved one has not been used yet; an expired one was not decided, or not used,
// in time; a void one stopped to apply before it was decided.
const (
	Pending  Status = "pending"
	Approved Status = "approved"
	Rejected Status = "rejected"
	Expired  Status = "expired"
	Used     Status = "used"
	Void     Status = "void"
)

// Statuses lists all statuses.
var Statuses = []Status{Pending, Approved, Rejected, Expired, Used, Void}

const (
	usableFor          = 5 * time.Minute    // after the decision, at least
	decidedRetention   = 7 * 24 * time.Hour // of decided approvals
	undecidedRetention = time.Hour          // of expired and void ones, whose number callers control
	proposalTTL        = 30 * time.Second   // how long a proposal keeps others from deciding
)

// Requester is a caller who needs an approval.
type Requester struct {
	Subject string   `json:"subject,omitempty"`
	Key     string   `json:"key,omitempty"`
	Groups  []string `json:"groups,omitempty"`
	Remote  string   `json:"remote,omitempty"`
	Client  string   `json:"client,omitempty"`
}

// Request is what an approver decides about. Approvers see all of it, so it must hold no secrets. Its
// author bounds its size.
type Request struct {
	Tool      string          `json:"tool"`
	Title     string          `json:"title,omitempty"`
	Message   string          `json:"message"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // redacted; large ones are truncated to a JSON string
	Effect    string          `json:"effect,omitempty"`    // what the call would do, redacted; may be truncated
	// Effects is the same in parts, with the values and the contents apart; empty for what is too large
	Effects     []adapters.Effect `json:"effects,omitempty"`
	Before      []Observation     `json:"before,omitempty"`  // what the before blocks have read
	Partial     bool              `json:"partial,omitempty"` // the arguments or the effect are truncated
	Caller      Requester         `json:"caller"`
	CallID      string            `json:"tool_call_id,omitempty"` // of the call that has requested it
	Rules       []string          `json:"rules,omitempty"`        // that require the approval
	Revision    string            `json:"revision,omitempty"`     // of the configuration
	RequestedAt time.Time         `json:"asked"`
	Deadline    time.Time         `json:"until"`             // deadline for the decision
	Audited     bool              `json:"audited,omitempty"` // Propose and Confirm must be used to decide

	// Seal identifies the caller and the configuration for which the approval applies. VoidAll
	// selects approvals by it. It is never shown.
	Seal string `json:"-"`

	// Observe reads what Before has; nil for nothing. Open calls it for a new approval.
	Observe func() []Observation `json:"-"`
}

// Observation is what one before block has read of the state before the call.
type Observation struct {
	Name   string          `json:"name"`
	At     time.Time       `json:"at"`
	Result json.RawMessage `json:"result,omitempty"` // redacted; a large one is truncated to a JSON string
	Error  string          `json:"error,omitempty"`  // why there is no result
}

// Decision is the decision of an approver.
type Decision struct {
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
	// Digest is that of what the approver was shown; empty for one who decides whatever is there
	Digest string `json:"digest,omitempty"`
}

// maxReason is how many characters the reason of a decision has.
const maxReason = 1000

// CheckReason trims the reason of a decision. The error of one that is too long is a sentence for the approver.
func CheckReason(reason string) (string, error) {
	reason = strings.TrimSpace(reason)
	if utf8.RuneCountInString(reason) > maxReason {
		return "", fmt.Errorf("a reason may have at most %d characters", maxReason)
	}
	return reason, nil
}

// Proposal is a decision that has no effect yet, because it is not in the audit log. While there is
// one nobody else can decide. It is dropped 30 seconds after a process has begun to record it; before
// that, when the approval expires.
type Proposal struct {
	Approved bool `json:"approved"`
	Decision
	Claimed bool      `json:"claimed,omitempty"` // a process records it
	Until   time.Time `json:"until"`             // when it is dropped
}

// Approval is a request and its status.
type Approval struct {
	ID     string `json:"-"`
	Status Status `json:"-"`
	Request
	Digest   string    `json:"digest,omitempty"`   // of what an approver is shown
	Look     time.Time `json:"look,omitzero"`      // when an approver wanted to look again; zero for never
	Decision *Decision `json:"decision,omitempty"` // nil while nobody has decided
	Proposal *Proposal `json:"proposal,omitempty"` // of a pending approval; nil for none
	Call     *Call     `json:"call,omitempty"`     // that has used it; nil while it runs, and for none

	record *state.Record // as it was read
}

// Call is what the call came to that has used an approval.
type Call struct {
	Outcome    string    `json:"outcome"` // in the words of the audit log
	Failed     int       `json:"failed,omitempty"`
	Of         int       `json:"of,omitempty"`
	FailedStep string    `json:"failed_step,omitempty"`
	FailedKey  string    `json:"failed_key,omitempty"`
	Message    string    `json:"message,omitempty"` // of the failure, or of the first one
	At         time.Time `json:"at"`
}

// String returns the outcome in words.
func (c *Call) String() string {
	text := c.Outcome
	if c.Failed > 0 {
		text += fmt.Sprintf(", %d of %d failed", c.Failed, c.Of)
	}
	if c.Message != "" {
		text += ": " + c.Message
	}
	return text
}

// IsDecided reports whether the approval was decided, is void or has expired. It has not expired while a decision that
// was proposed in time is being recorded.
func (a *Approval) IsDecided() bool {
	return a.Status != Pending && (a.Status != Expired || a.Proposal == nil)
}

var (
	// ErrNotFound is returned for an ID without an approval.
	ErrNotFound = errors.New("approval not found")

	// ErrChanged is returned for a decision about something else than what the approval shows now.
	ErrChanged = errors.New("the approval shows something else by now")

	// ErrNobodyWaits is returned when no call waits for an approval that could look again.
	ErrNobodyWaits = errors.New("no call waits for the approval at the moment")

	// ErrTooManyPending is returned when too many approvals are pending.
	ErrTooManyPending = errors.New("too many approvals are pending")

	// ErrTooManyOfCaller is returned when [MaxPendingPerCaller] approvals of the caller are pending.
	ErrTooManyOfCaller = errors.New("too many approvals of one caller are pending")
)

// MaxPendingPerCaller is about how many approvals of one caller may be pending. Unidentified callers are not
// limited.
const MaxPendingPerCaller = 1024

// maxPending is about how many approvals may be pending. Concurrent requests may exceed it a little.
const maxPending = 16384

// DecidedError is returned when an approval cannot be decided any more. While another approver is
// deciding, Status is Pending and Decision is that of the other approver.
type DecidedError struct {
	Status   Status
	Decision *Decision // nil when nobody has decided
}

// Error describes the state of the approval, for a person who wanted to decide.
func (e *DecidedError) Error() string {
	d := e.Decision
	switch {
	case d == nil && e.Status == Expired:
		return "nobody decided in time"
	case d == nil:
		return fmt.Sprintf("it is %s already", e.Status)
	}
	at := d.At.UTC().Format(time.RFC3339)
	switch e.Status {
	case Void:
		return fmt.Sprintf("it was voided at %s: %s", at, d.Reason)
	case Pending:
		return d.By + " is deciding it right now"
	case Rejected:
		return fmt.Sprintf("%s rejected it at %s", d.By, at)
	case Used:
		return fmt.Sprintf("%s approved it at %s, and it was used", d.By, at)
	case Expired:
		return fmt.Sprintf("%s approved it at %s, and it was not used in time", d.By, at)
	}
	return fmt.Sprintf("%s approved it at %s", d.By, at)
}
