package decode

import (
	"slices"
	"strings"

	"hatchel/hcl/diag"
)

// hint is the advice for a name from another language, or from another block.
type hint struct {
	names  string // separated by spaces
	beside string // names that the body must accept, separated by spaces; empty for any body
	text   string // @ is replaced by the written name
}

// argumentHints are tried in order.
var argumentHints = []hint{
	{"required optional", "type default", " An input is required unless its type is optional(…)."},
	{"value default", "env file optional",
		` A secret is not written in the configuration: env = "NAME" names its environment variable.`},
	{"type", "is", " The type is set by is = object({ … })."},
	{"count for_each", "each", " Write each = input.list, and read its elements as each.value."},
	{"count for_each", "step",
		` To repeat work for every element, write a step: step "name" { each = input.list … }.`},
	{"depends_on", "", " Steps run in the order in which they are written."},
	{"sensitive", "env default", ` A sensitive value is a secret: secret "name" { env = "NAME" }.`},
	{"nullable", "type default", " Nullability is part of the type: nullable(string)."},
	{"enabled disabled", "url retention",
		" A webhook is disabled when its url is null, for example an unset secret with optional = true."},
	{"groups subjects roles", "allow deny", ` Check them in a rule: allow = "'finance' in caller.groups".`},
}

// nestedBlockHints apply to nested blocks and are tried before blockHints.
var nestedBlockHints = []hint{
	{"elicit sample roots", "ask", ` A question belongs in an ask, and an ask in a step: ask "name" { @ … }.`},
	{"before", "timeout notify",
		" A before block reads the inputs of one tool: it belongs in an approval of the tool."},
	{"input", "argument", ` A prompt has arguments: argument "name" { … }. They are read as input.name.`},
	{"argument", "input", ` Only prompts have arguments; here, declare inputs: input "name" { … }.`},
	{"variable", "input", ` A value from the caller is an input: input "name" { type = string }. A variable is ` +
		`declared at the top level of a file, and is known when it is loaded.`},
}

// blockHints apply to all blocks.
var blockHints = []hint{
	{"api_key jwt", "", " Authentication is declared in auth: auth { @ … }."},
	{"oauth2", "", " Credentials for requests belong in the auth block of a connection: auth { oauth2 { … } }."},
	{"approval", "", " Approvals apply to tool calls: an approval belongs in a tool, or in a policy with approve."},
	{"idempotency task", "", ` It belongs in a tool: tool "name" { @ { … } }.`},
	{"cache", "", " Only read-only tools and resources can be cached: a cache belongs in one of them."},
	{"limit", "", " Calls are limited: put limit in a tool, or in server for all tools together. " +
		"How many use a connection at once is its concurrency."},
	{"breaker", "", ` A breaker belongs in a connection: connection "http" "name" { breaker { … } }.`},
	{"provider", "", ` In place of a provider, declare a connection: connection "http" "name" { … }.`},
	{"data", "", ` In place of a data source, write a tool, a resource, or a step: tool "name" { http { get ` +
		`= "…" } }.`},
	{"output", "", " The output of a tool is its result or its text; named values belong in locals."},
	{"module", "", " One folder is one server, and every .hcl file below it is loaded; files are not named."},
	{"terraform", "", " Server information belongs in server { … }, and the state store in state { … }."},
	{"dynamic", "", ` Blocks cannot be generated. To repeat work for every element, write a step: step "name" { each ` +
		`= input.list … }.`},
	{"validation", "", ` The constraints of a value belong in its type, as in string("A name", { pattern = ` +
		`"^[a-z]+$" }); what several must be is a check of the tool.`},
	{"precondition", "", ` A precondition is a check of the tool: check "message" { that = "input.n > 0" }.`},
	{"postcondition", "",
		` A condition on the output is an expect of its step: expect "message" { that = "output.row != null" }.`},
	{"provisioner", "", " Programs are run by a shell block in a tool or a step."},
}

// findHint returns the first matching hint for a name in a body that accepts among, or otherwise.
func findHint(hints []hint, name string, among []string, otherwise diag.Suggestion) diag.Suggestion {
	for _, h := range hints {
		missing := func(n string) bool { return !slices.Contains(among, n) }
		if slices.Contains(strings.Fields(h.names), name) && !slices.ContainsFunc(strings.Fields(h.beside), missing) {
			return otherwise.Says(strings.ReplaceAll(h.text, "@", name))
		}
	}
	return otherwise
}

// fieldHint returns the hint of the first field that authors write a name in place of, or otherwise.
func fieldHint(parts []Spec, name string, otherwise diag.Suggestion) diag.Suggestion {
	for f := range fields(parts) {
		if slices.Contains(f.instead, name) {
			return otherwise.Says(f.hint)
		}
	}
	return otherwise
}

// blockHint returns the hint for a misplaced block, or otherwise.
func (d *Decoder) blockHint(block string, parts []Spec, among []string, otherwise diag.Suggestion) diag.Suggestion {
	hint := d.Env.TopLevelHint(block, otherwise)
	return fieldHint(parts, block, findHint(nestedBlockHints, block, among, hint))
}

// TopLevelHint returns the hint for an unknown top-level block, or otherwise.
func (e *Env) TopLevelHint(block string, otherwise diag.Suggestion) diag.Suggestion {
	if text, ok := e.Misplaced[block]; ok {
		return otherwise.Says(text)
	}
	return findHint(blockHints, block, nil, otherwise)
}
