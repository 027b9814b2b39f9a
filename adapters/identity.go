package adapters

import (
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/value"
)

// Identified is an Action whose connection may act as the caller of a call, or with values of the caller.
type Identified interface {
	// IdentityNeeded reports whether Identity is set for every call.
	IdentityNeeded() bool
	// Identity returns as whom the call acts. It depends on the caller alone, sends nothing, and its error is one that
	// Do would return.
	Identity(call *Call) (*Identity, error)
}

// Identity is as whom an Action acts in its backend.
type Identity struct {
	Kind       string // of the connection
	Connection string // its name
	Instance   string // the key of the instance; empty for a connection without instances
	Role       string // empty for that of the login
	Session    []SessionValue
}

// SessionValue is a named value that a session with a backend has.
type SessionValue struct {
	Name, Value string
	Sensitive   bool // the value must not be shown
}

// String returns the identity as a plan has it, without sensitive values: as tenant_ro on desk[eu], app.tenant =
// "acme".
func (i *Identity) String() string {
	var out strings.Builder
	if i.Role != "" {
		out.WriteString("as " + i.Role + " ")
	}
	out.WriteString("on " + hcl.InstanceName(i.Connection, i.Instance))
	for _, v := range i.Session {
		out.WriteString(", " + v.Name + " = ")
		if v.Sensitive {
			out.WriteString(hcl.Hidden)
			continue
		}
		out.Write(value.AppendString(nil, v.Value))
	}
	return out.String()
}
