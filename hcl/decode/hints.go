package decode

import (
	"slices"
	"strings"
)

// A hint answers a name that other languages have, or that belongs to another place of this one.
type hint struct {
	names  string // that are answered, separated by spaces
	beside string // names that the body must allow, separated by spaces; empty for every body
	text   string // where @ stands for the name that was written
}

// argumentHints are tried in order.
var argumentHints = []hint{
	{"required", "type default", " An input is required unless its type is optional(…)."},
	{"method url path", "get post", ` The verb is the argument, its value the path: get = "/path".`},
	{
		"params args parameters", "query exec",
		" A value stands in the statement, where it belongs, as ${input.x}: it is bound as a parameter.",
	},
	{
		"value default", "env file optional",
		` A secret is never written into the configuration: env = "NAME" names where it comes from.`,
	},
	{"type", "is", " What a name stands for is written is = object({ … })."},
	{"count for_each", "each", " It is called each, and its elements are read as each.value: each = input.list."},
	{
		"count for_each", "step",
		` What a call does for every element is a step: step "name" { each = input.list … }.`,
	},
	{"depends_on", "", " Steps run in the order in which they are written."},
	{"sensitive", "env default", ` What nobody may see is a secret: secret "name" { env = "NAME" }.`},
	{"nullable", "type default", " What may be null says so in its type: nullable(string)."},
	{
		"enabled disabled", "url retention",
		" A webhook is off where its url is null, as that of a secret with optional = true may be.",
	},
	{"groups subjects roles", "allow deny", ` A rule asks for them: allow = "'finance' in caller.groups".`},
}

// nestedBlockHints are about blocks inside of others, and are tried before blockHints.
var nestedBlockHints = []hint{
	{
		"sqlite postgres postgresql mysql mariadb", "sql",
		` The block is called sql, and its label is the connection: sql "name" { … }.`,
	},
	{"elicit sample roots", "ask", ` A question stands in an ask, and an ask in a step: ask "name" { @ … }.`},
	{"input", "argument", ` A prompt has arguments: argument "name" { … }. They are read as input.name.`},
	{"argument", "input", ` Arguments are of prompts, and here are inputs: input "name" { … }.`},
	{
		"variable", "input",
		` What a caller gives is an input: input "name" { type = string }. A variable stands at the top of a file, ` +
			`and is known when it is loaded.`,
	},
}

// blockHints are about blocks anywhere.
var blockHints = []hint{
	{"api_key jwt", "", " Whom the server knows stands in auth: auth { @ … }."},
	{"oauth2", "", " How requests sign in stands in auth of a connection: auth { oauth2 { … } }."},
	{"approval", "", " Calls of tools are approved: an approval stands in a tool, or in a policy with approve."},
	{"idempotency task", "", ` It stands in a tool: tool "name" { @ { … } }.`},
	{"cache", "", " Answers are kept of tools that only read, and of resources: a cache stands in those."},
	{
		"limit", "",
		" Calls are limited: a limit stands in a tool, or in server for all together. " +
			"How many use a connection at once is its concurrency.",
	},
	{
		"breaker", "",
		` What fails is a connection, for all that use it: connection "http" "name" { breaker { … } }.`,
	},
	{"sandbox", "", ` Programs are confined: a sandbox stands in a shell block, or in a connection "shell".`},
	{
		"provider", "",
		` What others reach through a provider is a connection here: connection "http" "name" { … }.`,
	},
	{"data", "", ` What reads is a tool, a resource, or a step of one: tool "name" { http { get = "…" } }.`},
	{"output", "", " What a tool answers is its result or its text; values with a name stand in locals."},
	{"module", "", " One folder is one server, and every .hcl file below it belongs to it: none is named."},
	{
		"terraform", "",
		" What clients are told of the server stands in server { … }, and where it remembers things in state { … }.",
	},
	{
		"dynamic", "",
		` Blocks are written out. What a call does for every element is a step: step "name" { each = input.list … }.`,
	},
	{
		"validation", "",
		` What a value must be stands in its type, as in string("A name", { pattern = "^[a-z]+$" }); ` +
			`what several must be is a check of the tool.`,
	},
	{
		"precondition", "",
		` What must hold before anything is done is a check of the tool: check "message" { that = "input.n > 0" }.`,
	},
	{
		"postcondition", "",
		` What must hold of an answer is an expect of its step: expect "message" { that = "output.row != null" }.`,
	},
	{"provisioner", "", " Programs are run by a shell block, in a tool or a step."},
}

// findHint returns the first hint about a name in a body that allows the names of among, or otherwise.
func findHint(hints []hint, name string, among []string, otherwise string) string {
	for _, h := range hints {
		missing := func(n string) bool { return !slices.Contains(among, n) }
		if slices.Contains(strings.Fields(h.names), name) && !slices.ContainsFunc(strings.Fields(h.beside), missing) {
			return strings.ReplaceAll(h.text, "@", name)
		}
	}
	return otherwise
}

// blockHint says where a block stands that does not stand here, or otherwise.
func blockHint(block string, among []string, otherwise string) string {
	return findHint(nestedBlockHints, block, among, TopLevelHint(block, otherwise))
}

// TopLevelHint says what to write instead of a block that does not exist at the top of a file, or otherwise.
func TopLevelHint(block, otherwise string) string { return findHint(blockHints, block, nil, otherwise) }
