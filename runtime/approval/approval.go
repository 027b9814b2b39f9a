package approval

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hatchel/runtime/state"
)

// Kinds of the records in the store.
const (
	Kind         = "approval"
	ProposalKind = "approval.proposal" // a decision that is being written down; Proposed is of which approval
	askedKind    = "approval.asked"    // one for each that is pending, in the group of who asks
)

// Status is what has become of an approval.
type Status string

const (
	Pending  Status = "pending"
	Approved Status = "approved" // and not used yet
	Rejected Status = "rejected"
	Expired  Status = "expired" // nobody decided, or it was not used, in time
	Used     Status = "used"
	Void     Status = "void" // it could not count any more before anybody had decided
)

// Statuses are all that there are.
var Statuses = []Status{Pending, Approved, Rejected, Expired, Used, Void}

const (
	usable = 5 * time.Minute    // that what was approved may be used for, at least
	kept   = 7 * 24 * time.Hour // that what somebody has decided is kept after its time
	unmet  = time.Hour          // that what nobody has decided, or what is void, is: callers ask for as much as they like
	hold   = 30 * time.Second   // that a proposal keeps others from deciding
)

// Who is who asks for something.
type Who struct {
	Subject string   `json:"subject,omitempty"`
	Key     string   `json:"key,omitempty"`
	Groups  []string `json:"groups,omitempty"`
	Client  string   `json:"client,omitempty"`
	Remote  string   `json:"remote,omitempty"`
}

// Request is what somebody must approve. All of it is shown to reviewers, so that no secret may be in it.
type Request struct {
	Tool      string          `json:"tool"`
	Title     string          `json:"title,omitempty"`
	Message   string          `json:"message"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // redacted; of large ones the beginning, as a string
	Effect    string          `json:"effect,omitempty"`    // what it would do, redacted; of a long one the beginning
	Partial   bool            `json:"partial,omitempty"`   // the arguments, or the effect, are not shown to their end
	Caller    Who             `json:"caller"`
	Rules     []string        `json:"rules,omitempty"`    // that want it
	Revision  string          `json:"revision,omitempty"` // of the configuration
	Asked     time.Time       `json:"asked"`
	Until     time.Time       `json:"until"`             // when it is too late to decide
	Audited   bool            `json:"audited,omitempty"` // a decision must be written down by who decides before it holds: with Propose and Confirm

	Seal string `json:"-"` // of who asks, and of the configuration for which it counts: what VoidAll knows it by. It is shown to nobody
}

// Decision is who has decided, when, and why.
type Decision struct {
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
}

// Approval is a request and what has become of it.
type Approval struct {
	ID     string
	Status Status
	Request
	Decision *Decision // nil while it is pending, and when nobody has decided in time

	record *state.Record // as it was read
}

var (
	// ErrUnknown is why nothing can be decided: there is no such approval, or it is forgotten.
	ErrUnknown = errors.New("there is no such approval")

	// ErrCrowded is why nothing can be asked for: too much is pending, of all callers together.
	ErrCrowded = errors.New("too many approvals are pending")

	// ErrShare is why a caller can ask for nothing more: MostOfCaller of theirs are pending.
	ErrShare = errors.New("too many approvals of one caller are pending")
)

// MostOfCaller is how many approvals of one caller may be pending, about, so that nobody uses up what all share. Who is not known is not counted: where nobody is asked who they are, all share alike.
const MostOfCaller = 1024

// How many may be pending, about: others may add some at the same moment.
const mostPending = 16384

// AlreadyError is why somebody cannot decide: what has become of it already. While somebody else is deciding, Status is Pending and Decision is theirs.
type AlreadyError struct {
	Status   Status
	Decision *Decision // nil when nobody has decided in time
}

func (e *AlreadyError) Error() string {
	d := e.Decision
	switch {
	case d != nil && e.Status == Void:
		return fmt.Sprintf("it is void since %s: %s", d.At.UTC().Format(time.RFC3339), d.Reason)
	case d == nil && e.Status == Expired:
		return "nobody has decided in time"
	case d == nil:
		return fmt.Sprintf("it is %s already", e.Status)
	case e.Status == Pending:
		return fmt.Sprintf("%s is deciding it at this moment", d.By)
	}
	verb, then := "approved", ""
	switch e.Status {
	case Rejected:
		verb = "rejected"
	case Used:
		then = ", and it was used"
	case Expired:
		then = ", and it was not used in time"
	}
	return fmt.Sprintf("%s has %s it already, at %s%s", d.By, verb, d.At.UTC().Format(time.RFC3339), then)
}

func already(a *Approval) *AlreadyError {
	return &AlreadyError{Status: a.Status, Decision: a.Decision}
}
