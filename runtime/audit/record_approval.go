package audit

import "time"

// EventApproval is the event of a decision about an approval. Decision says what was decided, and
// Caller is the approver.
const EventApproval = "approval"

// Approval describes the decision that allowed or refused a call. It is in the records of the call
// and in that of the decision.
type Approval struct {
	ID        string    `json:"id,omitempty"`
	Requester string    `json:"asker,omitempty"` // subject of the caller; only in the record of the decision
	By        string    `json:"by,omitempty"`
	At        time.Time `json:"at,omitzero"`
	Reason    string    `json:"reason,omitempty"`
	Rules     []string  `json:"rules,omitempty"` // that require the approval
}

func (a *Approval) append(dst []byte) []byte {
	from := len(dst)
	dst = appendText(dst, "id", a.ID)
	dst = appendText(dst, "asker", a.Requester)
	dst = appendText(dst, "by", a.By)
	if !a.At.IsZero() {
		dst = append(a.At.UTC().AppendFormat(append(appendName(dst, "at"), '"'), timeFormat), '"')
	}
	dst = appendText(dst, "reason", a.Reason)
	dst = appendTexts(dst, "rules", a.Rules)
	if len(dst) == from {
		return append(dst, "{}"...)
	}
	dst[from] = '{' // instead of the comma
	return append(dst, '}')
}
