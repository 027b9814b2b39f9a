package audit

import "time"

// EventApproval is that somebody has approved or rejected what another asks for: Decision says which. Caller is who has decided.
const EventApproval = "approval"

// Approval is who has decided about a call that takes it, in the records of the call and in that of the decision.
type Approval struct {
	ID     string    `json:"id,omitempty"`
	Asker  string    `json:"asker,omitempty"` // the subject of who asks; of the record of a decision
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at,omitzero"`
	Reason string    `json:"reason,omitempty"`
	Rules  []string  `json:"rules,omitempty"` // that want it
}

func (a *Approval) append(dst []byte) []byte {
	from := len(dst)
	dst = text(dst, "id", a.ID)
	dst = text(dst, "asker", a.Asker)
	dst = text(dst, "by", a.By)
	if !a.At.IsZero() {
		dst = append(a.At.UTC().AppendFormat(append(named(dst, "at"), '"'), timeForm), '"')
	}
	dst = text(dst, "reason", a.Reason)
	dst = texts(dst, "rules", a.Rules)
	if len(dst) == from {
		return append(dst, "{}"...)
	}
	dst[from] = '{' // in the place of the comma
	return append(dst, '}')
}
