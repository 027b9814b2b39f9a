package hcl

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/schema"
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
	bare := sourceBlock{file: &sourceFile{}, Block: &hclsyntax.Block{}}
	t := newToolDecoder(l, bare)
	step := &Step{}
	backends := " Backends are " + strings.Join(diag.SortedNames(l.backendKinds), ", ") + "."
	refs := []BlockReference{
		{"server", "server", "Information about the server for clients. At most one.", (&Server{}).spec(nil)},
		{`variable "name"`, "variable",
			"A value set at start: --var name=value, HATCHEL_VAR_name, or the default. Read as var.name.",
			(&variableBlock{}).spec()},
		{`secret "name"`, "secret",
			"A sensitive value, read from an environment variable or a file. It is never logged or " +
				"returned. Read as secret.name where a secret is allowed.", (&secretBlock{}).spec()},
		{"locals", "locals", "Named values. At the top level they are computed at load; in a tool, for each " +
			"call. Read as local.name.", nil},
		{`type "name"`, "type", "A named type. Refer to it as type.name.", typeSpec(new(*schema.Type))},
		{"auth", "auth", "Authentication: API keys, JWT issuers and client certificates. With this block every HTTP " +
			"request must be authenticated, except /healthz and the status of /readyz. Without it the server accepts " +
			"only connections from this machine. At most one.", new(Auth).spec()},
		{"tls", "tls", "Serves HTTPS. At most one.", (&TLS{}).spec()},
		{"audit", "audit", "The audit log: caller, tool, arguments, policy decision and outcome of every " +
			"call. A call that cannot be recorded is not made. At most one.", (&Audit{}).spec()},
		{"state", "state", "The state store, for data that must survive a restart: tasks, approvals, " +
			"idempotency keys, webhook events, rate limits, uploaded files, and the key that seals the " +
			"tokens given to clients. It is not encrypted. By default a SQLite file in $STATE_DIRECTORY or " +
			"~/.local/state/hatchel. At most one.", (&State{}).spec()},
		{"files", "files", "Lets callers upload files for inputs of the type file. POST /files takes the " +
			"bytes of a file and returns its file_id, which the caller passes to such an input. POST " +
			"/files/uploads returns a one-time URL for uploading one file without a credential. Only the " +
			"caller who uploaded a file can use it. At most one.", (&Files{}).spec()},
		{`webhook "name"`, "webhook",
			"A receiver of events from approvals (approval.requested, approval.decided) and tasks (task.finished) " +
				"that name it in notify, and of those that an on block selects. The body is JSON, {type, timestamp, " +
				"data}, signed according to Standard Webhooks in the headers webhook-id, webhook-timestamp and " +
				"webhook-signature. An event without a 2xx response is sent again with the same webhook-id, also " +
				"after a restart.", (&Webhook{}).spec()},
		{`tool "name"`, "tool", "A tool that clients can call. It has one backend block, or steps, or " +
			"neither if it only computes." + backends, toolSpec(t)},
		{`prompt "name"`, "prompt",
			"A prompt that users can choose: messages, and optionally one backend block or steps for the " +
				"data they need." + backends, promptSpec(newPromptDecoder(l, bare))},
		{`resource "name"`, "resource",
			"A document that clients can read, or with uri_template a family of documents. It has a text, " +
				"data, one backend block, or steps." + backends + " Without text or data its content is the " +
				"output of its backend: a file, a response body, rows as JSON, or the output of a " +
				"program.", resourceSpec(newResourceDecoder(l, bare))},
		{`toolset "name"`, "toolset",
			"A subset of the tools, prompts and resources, served at /mcp/<name> or with serve --toolset.",
			new(Toolset).spec(exposedNames{})},
		{`policy "name"`, "policy",
			"Access rules for the tools, prompts and resources that it names, or for all of them if it names none. A " +
				"deny that is true overrides every allow. A call that is allowed and for which an approve is true " +
				"waits for approval. If policies have an allow, at least one must be true; the allow of the tool " +
				"itself must also be true. A call that no rule decides is decided by default in the server block. A " +
				"rule that cannot be evaluated denies. Rules read caller, input and tool, which has kind (tool, " +
				"prompt or resource), name, title, read_only, destructive, idempotent and open_world; an input that " +
				"not all of them have may be null. Callers do not see what they may not call in lists, unless the " +
				"rule reads inputs.", new(Policy).spec()},
		{"approvals", "approvals",
			"Who may decide pending approvals over HTTP: GET /approvals, and POST /approvals/ID/approve, /reject and " +
				"/look. Without this block nobody may. On the machine of the server, " +
				"hatchel approvals decides for everyone who can write its state. At most one.", (&Approvals{}).spec()},
		{"telemetry", "telemetry", "What the server tells about itself to monitoring systems. Without this block " +
			"nothing is measured. At most one.", (&Telemetry{}).spec()},
		{"events", "events", "The events of the server, which GET /events sends as they happen: calls, steps and " +
			"results, approvals, tasks, reloads, connections, refusals and sessions. hatchel docs event-types lists " +
			"them. Without this block there is no such path. The server records events, 4 MiB of the latest, while " +
			"somebody listens and for 5 minutes after that. At most one.", (&Events{}).spec()},
		{`on "event"`, "on", "A hook: events of a type are sent to webhooks. The label is " +
			diag.JoinOr(hookEvents()) + ". The body is that of a webhook, with count: {type, timestamp, data, " +
			"count}, where data is the event as GET /events sends it. There may be several for one type of " +
			"event.", new(Hook).spec(exposedNames{})},
		{"console", "console", "Pages for people who operate the server, at /console/: its tools, what calls " +
			"would do, and what is wrong with the configuration. People sign in with a key, a client certificate, " +
			"or the address that hatchel console opens. Without this block there is no console. At most one.",
			(&Console{}).spec()},
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
			"which is null if it was skipped." + backends, decode.Join(step.headSpec(), step.outputSpec())},
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
		{"annotations", "annotations", "The intended audience and the importance of a content item or a resource.",
			(&Annotations{}).spec()},
	}
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

// TopLevelBlocks returns the sorted names of the blocks at the top level of a file.
func TopLevelBlocks() []string { return blockTypeNames() }

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
