package hcl

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/schema"
)

// BlockReference documents one block: the reference that the program prints about itself is made of these, and these are made of the specs
// that decode the blocks.
type BlockReference struct {
	Name string // as it is written, with its labels: `connection "http" "name"`
	Key  string // what `hatchel docs` calls it: "http", "connection http"
	Doc  string
	Spec Spec
}

// Reference documents every block of the language and of the adapters.
func Reference(kinds Kinds) []BlockReference {
	l := newLoader(nil, kinds, Options{})
	l.values()
	bare := block{file: &source{}, Block: &hclsyntax.Block{Labels: []string{""}}}
	t := newToolDecl(l, bare)
	step := &Step{}
	backends := " Backends are " + strings.Join(backendNames(kinds), ", ") + "."
	refs := []BlockReference{
		{"server", "server", "What clients are told about the server. There is at most one.", (&Server{}).spec()},
		{`variable "name"`, "variable", "A value that is given from outside: --var name=value, HATCHEL_VAR_name, or its default. Read as var.name.", (&variableBlock{}).spec()},
		{`secret "name"`, "secret", "A text that nobody may see. Read as secret.name where a secret may stand.", (&secretBlock{}).spec()},
		{"locals", "locals", "Names for values. At the top of a file they are known at load; in a tool they are computed for the call. Read as local.name.", nil},
		{`type "name"`, "type", "A name for a type. Written type.name where a type stands.", typeSpec(new(*schema.Type))},
		{"auth", "auth", "Whom the server knows. With it every request over HTTP proves who makes it, or is refused; /healthz and the state of /readyz are open. Without it the server is reached from this machine only. There is at most one.", (&authDecl{auth: &Auth{}}).spec()},
		{"tls", "tls", "Serves HTTPS. There is at most one.", (&TLS{}).spec()},
		{"audit", "audit", "Writes every call down: who called what with which arguments, what was decided by which rule, and what came of it. A call that cannot be written down is not made. There is at most one.", (&Audit{}).spec()},
		{"state", "state", "Where what outlives a process is kept, not encrypted: the key of what is sealed, which of that was used, tasks, calls with a key, approvals, deliveries to webhooks, how often calls were made, and uploaded files. Without it that is a file of SQLite in a place of its own. There is at most one.", (&State{}).spec()},
		{"files", "files", "What callers may upload, for inputs of the type file. POST /files takes the bytes and answers a file_id, which is what such an input is given; POST /files/uploads answers an address that takes them once, for who has no credential. A file belongs to who has uploaded it. There is at most one.", (&Files{}).spec()},
		{`webhook "name"`, "webhook", "Where the server tells what happens, as Standard Webhooks says: POST with JSON {type, timestamp, data}, and the headers webhook-id, webhook-timestamp and webhook-signature. Events are approval.requested, approval.decided and task.finished. What is not answered with 2xx is sent again, with the same webhook-id, also after a restart.", (&Webhook{}).spec()},
		{`tool "name"`, "tool", "A tool that clients can call: one backend block, or steps, or none when it only computes." + backends, toolSpec(t)},
		{`prompt "name"`, "prompt", "A prompt that a person can choose: messages, and what they need, one backend block or steps." + backends, promptSpec(newPromptDecl(l, bare))},
		{`resource "name"`, "resource", "A document that clients can read, or with uri_template a family of them: a text, data, one backend block, or steps." + backends + " Without text or data it holds what its backend gives: a file, the body of an answer, rows as JSON, what a program prints.", resourceSpec(newResourceDecl(l, bare))},
		{`toolset "name"`, "toolset", "A part of what is offered, under an address of its own: /mcp/<name>, or serve --toolset.", (&toolsetDecl{toolset: &Toolset{}}).spec()},
		{`policy "name"`, "policy", "Rules about who may call what: the tools, prompts and resources that it names, or everything when it names nothing. A deny that holds goes before every allow. What an approve holds of must be agreed to by somebody, once it is allowed. Where policies have an allow, one of them must hold, and the allow of the tool itself must hold in any case. What no rule decides is decided by default in the server block. A rule that cannot be computed denies. Rules read caller, input and tool, which has kind (tool, prompt or resource), name, title, read_only, destructive, idempotent and open_world; an input that not all of them have may be null. What a caller may not call is not listed for them, unless the rule reads inputs.", (&policyDecl{policy: &Policy{}}).spec()},
		{"approvals", "approvals", "Who may decide about the calls that an operator must approve, over HTTP: GET /approvals, POST /approvals/ID/approve and /approvals/ID/reject. Without it nobody may; on the machine itself, hatchel approvals decides for who may write the state. There is at most one.", (&Approvals{}).spec()},
		{`input "name"`, "input", "One argument of a tool, or what there is to say of a variable of a uri_template. A variable needs no type, and is a text then. Read as input.name.", inputSpec()},
		{`argument "name"`, "argument", "One argument of a prompt. It arrives as a text, is taken as its type says, and is read as input.name.", argumentSpec()},
		{`message "role"`, "message", "One message of a prompt, or of what a model is asked.", (&messageBlock{PromptMessage: &PromptMessage{}}).spec()},
		{"complete", "complete", "How an input is completed while a person types it: one backend block. It reads what was typed as input.<name>, a text, and every other input as a text, or null while it is not filled in. Clients get at most 100 values.", completeSpec(&Completion{})},
		{"cache", "cache", "How long clients may keep what they read of a resource. Clients since 2026-07-28 are told.", (&cacheBlock{}).spec()},
		{"cache", "tool cache", "In a tool that only reads: its answers are kept for a while and given again. Calls that ask the same at once wait for one of them; failures are not kept.", (&Memo{}).spec()},
		{"idempotency", "idempotency", "In a tool: a call may bring a key, as the input idempotency_key. Calls with the same key and arguments are carried out once, and have the same result, also after a restart; one whose outcome is not known is never carried out again. Backends that send a request other than GET or HEAD send the key as Idempotency-Key.", (&Idempotency{}).spec()},
		{"limit", "limit", "In a tool, or in server: how often, and how many at once, calls may be. What is beyond is refused, with when to come back. What is answered from a cache, or again for the same key, does not count.", new(Limit).spec("caller")},
		{"breaker", "breaker", "In a connection: when the other side is left alone because it fails.", (&Breaker{}).spec()},
		{`check "message"`, "check", "What must hold before anything is done. The label, or message, is what the caller is told otherwise.", checkSpec(&Check{})},
		{`expect "message"`, "expect", "What must hold of the output. Otherwise the call failed although the backend answered; under exec nothing is committed.", checkSpec(&Check{})},
		{`step "name"`, "step", "One step of a tool, a prompt or a resource: one backend block, one of progress, log, wait, fail and fault, or ask blocks. What follows reads its result as step.name, null when it was skipped." + backends, Join(step.eachSpec(), step.guardSpec(), step.repeatSpec(), expectSpec(&step.Expects))},
		{`ask "name"`, "ask", "A question to the client, in a step. All ask blocks of a step are asked at once, and each answer is read as step.<step>.<ask>. However often the client comes back, a step that was done is not done again.", askSpec(&Ask{})},
		{"elicit", "elicit", "What an ask puts to the user: a form to fill in, or a page to open. Gives action, which is \"accept\", \"decline\", \"cancel\" or \"fallback\", and for a form content, what was filled in; after a decline that is null.", (&Elicit{}).spec()},
		{"sample", "sample", "What an ask puts to the model of the client. Gives text, what it has answered, and model, stop_reason, role and content as the client sent them.", (&Sample{}).spec()},
		{"roots", "roots", "Asks the client which folders the user has opened, in an ask. Gives roots, a list of objects with uri and name, which may be null. It holds nothing: roots {}.", nil},
		{"approval", "approval", "In a tool, or in a policy with approve, without when: somebody must agree to a call before anything of it is done, and is shown what would be done. The call waits, as a task where the client can follow one. What was agreed to counts for this tool as it is configured, these arguments and this caller, and for one call. An operator agrees with hatchel approvals, or over HTTP; the user of the client is asked by the client, which proves less: that a person has agreed is what the client says.", approvalSpec(&Approval{})},
		{"task", "task", "In a tool: its calls become tasks where the client can follow them. It is told at once that the work has begun, and comes back for the result; any other client waits for it.", (&Task{}).spec()},
		{`content "kind"`, "content", "One piece of content of a result: text, image, audio, resource or link.", contentSpec(&Content{})},
		{"annotations", "annotations", "For whom a piece of content or a resource is, and how much it matters.", (&Annotations{}).spec()},
	}
	for _, a := range acts {
		_, spec := a.New()
		refs = append(refs, BlockReference{a.Name, a.Name, a.Doc, spec})
	}
	for _, k := range kinds.Connections {
		_, spec := k.New()
		refs = append(refs, BlockReference{`connection "` + k.Name + `" "name"`, "connection " + k.Name, k.Doc, Join(spec, new(Guard).spec())})
	}
	for _, k := range kinds.Backends {
		_, spec := k.New()
		name := k.Name
		switch {
		case k.Needed:
			name += ` "connection"`
		case len(k.Connections) > 0:
			name += ` ["connection"]`
		}
		refs = append(refs, BlockReference{name, k.Name, k.Doc, spec})
	}
	return append(refs, BlockReference{`tool "other"`, "tool step", "Another tool as the backend of a step; its arguments are the inputs of that tool. Gives output.result and output.text.", nil})
}

func backendNames(kinds Kinds) (names []string) {
	for _, k := range kinds.Backends {
		names = append(names, k.Name)
	}
	return names
}

// FunctionReference describes a function as its author calls it.
type FunctionReference struct{ Usage, Doc string }

// ContextualFunctions are the functions that belong to one kind of template.
func ContextualFunctions() []FunctionReference {
	return []FunctionReference{
		{"ident(name)", "In SQL: quotes the name of a table or column, or each of a list. What it is given is an enum, or known at load. ident(schema, name) quotes both."},
		{"raw(text)", "In SQL: puts a text that is known at load there as it is, as in raw(local.period[input.by])."},
		{"path(value)", "In the path of a URL: several segments, their slashes kept, each escaped."},
		{"under(folder, name)", "Joins a folder and a name, follows links, and refuses what leaves the folder. In a command, a script, dir, and the names of files."},
	}
}
