package hcl

import (
	"strings"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
)

// BlockReference documents one block. The reference is built from the specs that decode the blocks.
type BlockReference struct {
	Name string // as it is written, with its labels: `connection "http" "name"`
	Key  string // its name for `hatchel docs`: "http", "connection http"
	Doc  string
	Spec decode.Spec
}

// Reference documents every block of the language and of the adapters.
func Reference(kinds Kinds) []BlockReference {
	l := newLoader(nil, kinds, Options{})
	step := &Step{}
	backends := "Backends are " + strings.Join(diag.SortedNames(l.backendKinds), ", ") + "."
	refs := append(l.references(backends), []BlockReference{
		{`input "name"`, "input", "One argument of a tool, or one variable of a uri_template. The type of a " +
			"variable is string by default. Read as input.name.", inputSpec()},
		{`argument "name"`, "argument",
			"One argument of a prompt. Clients send it as a string, which is converted to the type. Read as " +
				"input.name.", argumentSpec()},
		{`message "role"`, "message", "One message of a prompt or of a sample block.",
			(&messageBlock{PromptMessage: &PromptMessage{}}).spec()},
		{"complete", "complete", "Suggestions for an input while a user types it, from one backend block. " +
			"It reads the typed text as input.<name>, and every other input as a string, or null while it " +
			"is empty. Clients receive at most 100 values.", completeSpec(&Completion{})},
		{"cache", "cache", "How long clients may cache a resource. Sent to clients of revision 2026-07-28 and later.",
			(&CacheHint{}).spec()},
		{"cache", "tool cache", "In a read-only tool: caches its results. Concurrent calls with the same " +
			"key share one execution; failures are not cached.", (&ResultCache{}).spec()},
		{"projection", "projection", "In a tool: the members of each row that callers may choose with the input " +
			"fields. The server leaves the others out of the result; the backend reads them all the same.",
			(&Projection{}).spec()},
		{"page", "page", "In a read-only tool with one backend: it answers with a part of the rows, as an object " +
			"with rows and next_cursor, and takes the cursor for the next part. Each page is a call of its own, with " +
			"all its rules. The backend reads page.limit, the number of rows to read, and page.after, the keys of " +
			"the last row delivered.", (&Page{}).spec()},
		{"search", "search", "In a toolset: its list of tools has the pinned tools, and find_tools, read_tool and " +
			"call_tool, which find and call the others. Calls through them are judged, limited, approved and " +
			"recorded as calls of the tools themselves.", new(Search).spec(exposedNames{})},
		{"idempotency", "idempotency",
			"In a tool: adds the input idempotency_key. Calls with the same key and arguments are executed " +
				"once and return the same result, also after a restart; a call whose outcome is unknown is " +
				"never executed again. HTTP requests other than GET and HEAD carry the key as " +
				"Idempotency-Key.", (&Idempotency{}).spec()},
		{"limit", "limit", "In a tool or in server: limits the rate and concurrency of calls. Calls beyond " +
			"the limit are rejected with the time to retry. Results from a cache or for a repeated " +
			"idempotency key do not count.", new(Limit).spec()},
		{"breaker", "breaker", "In a connection: stops sending requests to a failing backend for a while.",
			(&Breaker{}).spec()},
		{`check "message"`, "check",
			"A precondition on the arguments. The label, or message, is the error for the caller.",
			checkSpec(&Check{})},
		{`expect "message"`, "expect",
			"A condition on the output. If it is false, the call fails; in a block with exec nothing is committed.",
			checkSpec(&Check{})},
		{`step "name"`, "step", "One step of a tool, a prompt or a resource: one backend block, one of " +
			"progress, log, wait, fail and fault, or ask blocks. Later steps read its result as step.name, " +
			"which is null if it was skipped. " + backends, decode.Join(step.headSpec(), step.outputSpec())},
		{`ask "name"`, "ask", "A question to the client, in a step. All ask blocks of a step are sent " +
			"together, and each answer is read as step.<step>.<ask>. Steps that are done are not repeated " +
			"when the client answers.", new(Ask).spec()},
		{"elicit", "elicit", "In an ask: a form for the user to fill in, or a page to open. Returns action, " +
			"which is \"accept\", \"decline\", \"cancel\" or \"fallback\", and for a form content, the " +
			"user's input, which is null after a decline.", (&Elicit{}).spec()},
		{"sample", "sample", "In an ask: a question to the model of the client. Returns text, the model's " +
			"answer, and model, stop_reason, role and content as sent by the client.", (&Sample{}).spec()},
		{"roots", "roots", "In an ask: asks the client for the folders that the user has opened. Returns " +
			"roots, a list of objects with uri and name, which may be null. The block is empty: roots {}.", nil},
		{"approval", "approval", "Requires approval before a call does anything; the approver is shown what " +
			"the call would do. The block belongs in a tool, or, without when, in a policy that has " +
			"approve. The call waits meanwhile, as a task if the client supports tasks. An approval is for " +
			"one call: of this tool in its current configuration, with these arguments, by this caller. If " +
			"several blocks apply, all of them are required.", approvalSpec(&Approval{}, nil)},
		{`before "name"`, "before", "In an approval of a tool: reads what the approver is shown of the state before " +
			"the call, with one backend block that changes nothing.", nil},
		{"task", "task", "In a tool: calls of clients that support tasks become tasks. The client receives " +
			"a task at once and asks for the result later; other clients wait for the result.", (&Task{}).spec()},
		{`content "kind"`, "content", "One content item of a result: text, image, audio, resource or link.",
			contentSpec(&Content{})},
		{`view "kind"`, "view", "How hosts of MCP Apps show the results of a tool: as a table, a chart, a record or " +
			"a form. Hosts without views have the text of the result. The block names the tools that a view calls, " +
			"with the rights, approvals and audit of any call of the same caller.", (&View{}).spec()},
		{`column "member"`, "column", "In a view: how a member of the result is shown.", (&ViewColumn{}).spec()},
		{"annotations", "annotations", "The intended audience and the importance of a content item or a resource.",
			(&Annotations{}).spec()},
	}...)
	for _, a := range stepBlocks {
		_, spec := a.New()
		refs = append(refs, BlockReference{a.Name, a.Name, a.Doc, spec})
	}
	for _, k := range kinds.Connections {
		_, spec := k.New()
		refs = append(refs, BlockReference{`connection "` + k.Name + `" "name"`, "connection " + k.Name, k.Doc,
			decode.Join(spec, new(ConnectionLimits).spec())})
	}
	for _, k := range kinds.Backends {
		_, spec := k.New()
		name := k.Name
		switch {
		case k.ConnectionRequired:
			name += ` "connection"`
		case len(k.Connections) > 0:
			name += ` ["connection"]`
		}
		refs = append(refs, BlockReference{name, k.Name, k.Doc, spec})
	}
	return append(refs, BlockReference{`tool "other"`, "tool step", "Calls another tool as the backend of a step. " +
		"The arguments are the inputs of that tool. Returns output.result and output.text.", nil})
}

// FunctionReference documents a function.
type FunctionReference struct{ Usage, Doc string }

// TemplateFunctions returns the functions that exist in one kind of template only.
func TemplateFunctions() []FunctionReference {
	return []FunctionReference{
		{"ident(name)", "In SQL: quotes the name of a table or column, or a list of names. The argument is " +
			"an enum or known at load. ident(schema, name) quotes both."},
		{"raw(text)", "In SQL: inserts a text that is known at load, as in raw(local.period[input.by])."},
		{"path(value)", "In the path of a URL: inserts several segments, each escaped, with their slashes."},
		{"segment(value)", "In the path of a URL: inserts one segment whose slashes are escaped, as in " +
			"group%2Fproject. Each part between them must be a name: not empty, not . and not `..`."},
		{"under(folder, name)", "Joins a folder and a name, resolves links, and rejects paths outside the " +
			"folder, which is known at load and does not contain the configuration directory. The programs of the " +
			"call may read the path. For commands, scripts, dir, and file names."},
		{"filename(name)", "The name of a file in a folder, as in \"${var.folder}/${filename(input.name)}\": rejects " +
			"a name that is empty, begins with a dot, or has a slash or backslash."},
	}
}
