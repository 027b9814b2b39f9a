package elicit

import (
	"fmt"

	"hatchel/hcl"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/failure"
)

// capabilityPath is where a client declares a capability of the language.
var capabilityPath = map[string][]string{
	"elicitation":      {"elicitation"},
	"elicitation.url":  {"elicitation", "url"},
	"roots":            {"roots"},
	"sampling":         {"sampling"},
	"sampling.context": {"sampling", "context"},
	"sampling.tools":   {"sampling", "tools"},
	"tasks":            {"extensions", mcp.TasksExtension},
}

// HasCapability reports whether a client declares a capability. A client that declares elicitation
// without a mode supports forms.
func HasCapability(c *mcp.Caller, name string) bool {
	if name == "elicitation" {
		return c.Can("elicitation", "form") || c.Can("elicitation") && !c.Can("elicitation", "url")
	}
	return c.Can(capabilityPath[name]...)
}

// CapabilityFor returns the name of the capability that answering a question takes.
func CapabilityFor(a *hcl.Ask) string {
	switch {
	case a.Sample != nil:
		return "sampling"
	case a.Roots != nil:
		return "roots"
	case a.Elicit.URL != nil:
		return "elicitation.url"
	}
	return "elicitation"
}

// CapabilityError rejects a client that lacks a capability.
func CapabilityError(c *mcp.Caller, name string) error {
	if c.Revision.Modern() {
		return mcp.MissingCapability(capabilityPath[name]...)
	}
	const text = "This requires a client with the capability %q, and yours does not declare it."
	return failure.NotDone{Message: fmt.Sprintf(text, name)}
}

// Capabilities are the names of what a client can do, as a lazy value.
type Capabilities mcp.Caller

// AppendJSON implements value.LazyJSON.
func (c *Capabilities) AppendJSON(dst []byte) []byte {
	return mcp.AppendStrings(dst, c.names())
}

// Value implements value.LazyJSON.
func (c *Capabilities) Value() (any, error) {
	names := []any{}
	for _, name := range c.names() {
		names = append(names, name)
	}
	return names, nil
}

func (c *Capabilities) names() (names []string) {
	for _, name := range hcl.Capabilities() {
		if HasCapability((*mcp.Caller)(c), name) {
			names = append(names, name)
		}
	}
	return names
}
