package access

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"hatchel/hcl"
	"hatchel/hcl/eval"
	"hatchel/hcl/surface"
	"hatchel/runtime/call"
	"hatchel/runtime/edge/mcp"
)

// Identity says as whom the calls of a tool, prompt or resource act on a connection.
type Identity struct {
	Connection string `json:"connection"` // its name
	// Needs are the values of the caller without which every call fails, as in caller.claims.tenant.
	Needs     []string `json:"needs,omitempty"`
	Instances []string `json:"instances,omitempty"` // one of which the call chooses
	Roles     []string `json:"roles,omitempty"`     // one of which the call takes
	RunsAs    string   `json:"runs_as,omitempty"`   // for one caller
	Fails     string   `json:"fails,omitempty"`     // why the call of one caller fails; empty if it does not
}

// Identities says as whom the calls of operations act.
type Identities struct{ reads *surface.CallerReads }

// NewIdentities reads a configuration that was loaded without errors. It contacts nobody.
func NewIdentities(cfg *hcl.Config) *Identities { return &Identities{surface.NewCallerReads(cfg, nil)} }

// Of returns the identities of the calls of an operation, one for each connection that has them, also of the tools that
// its steps call. With a caller they say as whom a call of that caller acts; nil for nobody.
func (i *Identities) Of(op *hcl.Operation, caller *mcp.Caller) []Identity {
	var out []Identity
	for _, conn := range connectionsOf(op, map[*hcl.Operation]bool{}) {
		parts := i.reads.Identity(conn)
		if parts == nil {
			continue
		}
		of := Identity{Connection: conn.Name}
		for _, part := range parts {
			of.Needs = append(of.Needs, part.Needs...)
		}
		of.Needs = sortedSet(of.Needs)
		if part := parts["instance"]; part != nil {
			of.Instances = part.Texts
		}
		if part := parts["role"]; part != nil {
			of.Roles = part.Texts
		}
		if caller != nil {
			f := eval.NewLoadFrame("", time.Now)
			f.Caller = call.CallerRoot(caller)
			var err error
			if of.RunsAs, err = conn.DescribeIdentity(f); err != nil {
				of.Fails = err.Error()
			}
		}
		out = append(out, of)
	}
	return out
}

// SampleCaller returns the members of a caller who has what the calls of an operation need; nil if they need nothing.
func (i *Identities) SampleCaller(op *hcl.Operation) map[string]any {
	return i.reads.SampleCaller(connectionsOf(op, map[*hcl.Operation]bool{}))
}

// connectionsOf returns the connections of the steps of an operation and of the tools that they call, by kind and name.
func connectionsOf(op *hcl.Operation, seen map[*hcl.Operation]bool) (all []*hcl.Connection) {
	if seen[op] {
		return nil
	}
	seen[op] = true
	add := func(steps []*hcl.Step) {
		for _, s := range steps {
			if nested, ok := s.Backend.Config.(*hcl.ToolCall); ok && nested.Tool != nil {
				all = append(all, connectionsOf(&nested.Tool.Operation, seen)...)
			}
			if s.Backend.Connection != nil {
				all = append(all, s.Backend.Connection)
			}
		}
	}
	add(op.Steps)
	for _, before := range op.Before {
		add(before.Steps)
	}
	slices.SortFunc(all, func(a, b *hcl.Connection) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	return slices.Compact(all)
}

// String says what a call needs, as in "caller.claims.tenant for the connection desk (roles ro, rw)".
func (i Identity) String() string {
	text := "nothing of the caller"
	if len(i.Needs) > 0 {
		text = strings.Join(i.Needs, ", ")
	}
	text += " for the connection " + i.Connection
	var facts []string
	if len(i.Instances) > 0 {
		facts = append(facts, "instances "+strings.Join(i.Instances, ", "))
	}
	if len(i.Roles) > 0 {
		facts = append(facts, "roles "+strings.Join(i.Roles, ", "))
	}
	if len(facts) > 0 {
		text += " (" + strings.Join(facts, "; ") + ")"
	}
	return text
}

// identityNotes returns a sentence for each connection that needs values of the caller, with the tools that use it.
func identityNotes(cfg *hcl.Config) (notes []string) {
	if !slices.ContainsFunc(cfg.Connections, func(c *hcl.Connection) bool { return c.IdentityParts() != nil }) {
		return nil
	}
	identities := NewIdentities(cfg)
	tools := map[string][]string{}
	for _, t := range cfg.Tools {
		for _, i := range identities.Of(&t.Operation, nil) {
			if len(i.Needs) > 0 {
				tools[i.String()] = append(tools[i.String()], t.Name)
			}
		}
	}
	for needs, names := range tools {
		verb := "need"
		if len(names) == 1 {
			verb = "needs"
		}
		slices.Sort(names)
		notes = append(notes, fmt.Sprintf("%s %s %s; a call that lacks one fails.", strings.Join(names, ", "), verb,
			needs))
	}
	slices.Sort(notes)
	return notes
}
