package runtime

import (
	"hatchel/hcl"
	"hatchel/hcl/jsonscan"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
)

// capabilityPath is where a client declares what the language gives a name.
var capabilityPath = map[string][]string{
	"elicitation":      {"elicitation"},
	"elicitation.url":  {"elicitation", "url"},
	"roots":            {"roots"},
	"sampling":         {"sampling"},
	"sampling.context": {"sampling", "context"},
	"sampling.tools":   {"sampling", "tools"},
	"tasks":            {"extensions", mcp.TasksExtension},
}

// hasCapability reports whether a client says that it can do what the name stands for. Who can be asked to fill in a form says so, or says nothing of how it is asked.
func hasCapability(c *mcp.Caller, name string) bool {
	if name == "elicitation" {
		return c.Can("elicitation", "form") || c.Can("elicitation") && !c.Can("elicitation", "url")
	}
	return c.Can(capabilityPath[name]...)
}

// capabilityFor is the name of what a client must be able to do to answer a question.
func capabilityFor(a *hcl.Ask) string {
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

// capabilities are the names of what a client says that it can do, computed when something looks.
type capabilities mcp.Caller

// AppendJSON implements value.Deferred.
func (c *capabilities) AppendJSON(dst []byte) []byte {
	dst = append(dst, '[')
	for i, name := range c.names() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonscan.AppendString(dst, name)
	}
	return append(dst, ']')
}

// Value implements value.Deferred.
func (c *capabilities) Value() (any, error) {
	names := []any{}
	for _, name := range c.names() {
		names = append(names, name)
	}
	return names, nil
}

func (c *capabilities) names() (names []string) {
	for _, name := range hcl.Capabilities() {
		if hasCapability((*mcp.Caller)(c), name) {
			names = append(names, name)
		}
	}
	return names
}

// capabilityError refuses a client that cannot do what it must.
func capabilityError(c *mcp.Caller, name string) error {
	if c.Revision.Modern() {
		return mcp.MissingCapability(capabilityPath[name]...)
	}
	return failure.Refusal("This takes a client that has the capability \"" + name + "\", and yours does not say that it has. Nothing was done.")
}
