package hcl

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/schema"
)

// BlockReference documents one block: the reference that the program prints about itself is made of these, and these are made of the specs
// that decode the blocks.
type BlockReference struct {
	Name string // as it is written, with its labels: `connection "http" "name"`
	Key  string // what `hatchel docs` calls it: "http", "connection http"
	Doc  string
	Spec decode.Spec
}

// Reference documents every block of the language and of the adapters.
func Reference(kinds Kinds) []BlockReference {
	l := newLoader(nil, kinds, Options{})
	bare := sourceBlock{file: &sourceFile{}, Block: &hclsyntax.Block{Labels: []string{""}}}
	t := newToolDecoder(l, bare)
	step := &Step{}
	backends := " Backends are " + strings.Join(backendNames(kinds), ", ") + "."
	refs := []BlockReference{
		{"server", "server", "What clients are told about the server. There is at most one.", (&Server{}).spec()},
		{`variable "name"`, "variable", "A value that is given from outside: --var name=value, HATCHEL_VAR_name, or its default. Read as var.name.", (&variableBlock{}).spec()},
		{`secret "name"`, "secret", "A text that nobody may see. Read as secret.name where a secret may stand.", (&secretBlock{}).spec()},
		{"locals", "locals", "Names for values. At the top of a file they are known at load; in a tool they are computed for the call. Read as local.name.", nil},
		{`type "name"`, "type", "A name for a type. Written type.name where a type stands.", typeSpec(new(*schema.Type))},
		{"auth", "auth", "Whom the server knows. With it every request over HTTP proves who makes it, or is refused; /healthz and the state of /readyz are open. Without it the server is reached from this machine only. There is at most one.", (&authDecoder{auth: &Auth{}}).spec()},
		{"tls", "tls", "Serves HTTPS. There is at most one.", (&TLS{}).spec()},
		{"audit", "audit", "Writes every call down: who called what with which arguments, what was decided by which rule, and what came of it. A call that cannot be written down is not made. There is at most one.", (&Audit{}).spec()},
		{"state", "state", "Where the server keeps what must outlive its process: tasks, approvals, calls with an idempotency_key, events for webhooks, how often limited tools were called, uploaded files, and the key of what clients carry from one request to the next. It is not encrypted. Without this block it is a SQLite file in $STATE_DIRECTORY or ~/.local/state/hatchel. There is at most one.", (&State{}).spec()},
		{"files", "files", "Lets callers upload files, for inputs of the type file. POST /files takes the bytes of a file and answers its file_id, which a caller gives to such an input. POST /files/uploads answers an address to which somebody without a credential can upload one file, once. A file can be used by the caller who has uploaded it, and by nobody else. There is at most one.", (&Files{}).spec()},
		{`webhook "name"`, "webhook", "An address to which the server posts events: those of an approval (approval.requested, approval.decided) and of a task (task.finished) that name it in notify. The body is JSON, {type, timestamp, data}, and is signed as Standard Webhooks says, in the headers webhook-id, webhook-timestamp and webhook-signature. An event that is not answered with 2xx is sent again with the same webhook-id, also after a restart.", (&Webhook{}).spec()},
		{`tool "name"`, "tool", "A tool that clients can call: one backend block, or steps, or none when it only computes." + backends, toolSpec(t)},
		{`prompt "name"`, "prompt", "A prompt that a person can choose: messages, and what they need, one backend block or steps." + backends, promptSpec(newPromptDecoder(l, bare))},
		{`resource "name"`, "resource", "A document that clients can read, or with uri_template a family of them: a text, data, one backend block, or steps." + backends + " Without text or data it holds what its backend gives: a file, the body of an answer, rows as JSON, what a program prints.", resourceSpec(newResourceDecoder(l, bare))},
		{`toolset "name"`, "toolset", "A part of what is offered, under an address of its own: /mcp/<name>, or serve --toolset.", (&toolsetDecoder{toolset: &Toolset{}}).spec()},
		{`policy "name"`, "policy", "Rules about who may call what: the tools, prompts and resources that it names, or everything when it names nothing. A deny that holds goes before every allow. A call for which an approve holds waits until somebody has approved it, if it is allowed. Where policies have an allow, one of them must hold, and the allow of the tool itself must hold in any case. What no rule decides is decided by default in the server block. A rule that cannot be computed denies. Rules read caller, input and tool, which has kind (tool, prompt or resource), name, title, read_only, destructive, idempotent and open_world; an input that not all of them have may be null. What a caller may not call is not listed for them, unless the rule reads inputs.", (&policyDecoder{policy: &Policy{}}).spec()},
		{"approvals", "approvals", "Who may approve calls over HTTP that wait for an operator: with GET /approvals, POST /approvals/ID/approve and POST /approvals/ID/reject. Without this block nobody may. On the machine of the server hatchel approvals decides, for everybody who may write its state. There is at most one.", (&Approvals{}).spec()},
		{`input "name"`, "input", "One argument of a tool, or what there is to say of a variable of a uri_template. A variable needs no type, and is a text then. Read as input.name.", inputSpec()},
		{`argument "name"`, "argument", "One argument of a prompt. It arrives as a text, is taken as its type says, and is read as input.name.", argumentSpec()},
		{`message "role"`, "message", "One message of a prompt, or of what a model is asked.", (&messageBlock{PromptMessage: &PromptMessage{}}).spec()},
		{"complete", "complete", "How an input is completed while a person types it: one backend block. It reads what was typed as input.<name>, a text, and every other input as a text, or null while it is not filled in. Clients get at most 100 values.", completeSpec(&Completion{})},
		{"cache", "cache", "How long clients may keep what they read of a resource. Clients since 2026-07-28 are told.", (&cacheBlock{}).spec()},
		{"cache", "tool cache", "In a tool that only reads: its answers are kept for a while and given again. Calls that ask the same at once wait for one of them; failures are not kept.", (&ResultCache{}).spec()},
		{"idempotency", "idempotency", "In a tool: a call may bring a key, as the input idempotency_key. Calls with the same key and arguments are carried out once, and have the same result, also after a restart; one whose outcome is not known is never carried out again. Backends that send a request other than GET or HEAD send the key as Idempotency-Key.", (&Idempotency{}).spec()},
		{"limit", "limit", "In a tool, or in server: how often, and how many at once, calls may be. What is beyond is refused, with when to come back. What is answered from a cache, or again for the same key, does not count.", new(Limit).spec("caller")},
		{"breaker", "breaker", "In a connection: when the other side is left alone because it fails.", (&Breaker{}).spec()},
		{`check "message"`, "check", "What must hold before anything is done. The label, or message, is what the caller is told otherwise.", checkSpec(&Check{})},
		{`expect "message"`, "expect", "What must hold of the output. Otherwise the call failed although the backend answered; under exec nothing is committed.", checkSpec(&Check{})},
		{`step "name"`, "step", "One step of a tool, a prompt or a resource: one backend block, one of progress, log, wait, fail and fault, or ask blocks. What follows reads its result as step.name, null when it was skipped." + backends, decode.Join(step.eachSpec(), step.whenSpec(), step.repeatSpec(), expectSpec(&step.Expects))},
		{`ask "name"`, "ask", "A question to the client, in a step. All ask blocks of a step are asked at once, and each answer is read as step.<step>.<ask>. However often the client comes back, a step that was done is not done again.", askSpec(&Ask{})},
		{"elicit", "elicit", "What an ask puts to the user: a form to fill in, or a page to open. Gives action, which is \"accept\", \"decline\", \"cancel\" or \"fallback\", and for a form content, what was filled in; after a decline that is null.", (&Elicit{}).spec()},
		{"sample", "sample", "What an ask puts to the model of the client. Gives text, what it has answered, and model, stop_reason, role and content as the client sent them.", (&Sample{}).spec()},
		{"roots", "roots", "Asks the client which folders the user has opened, in an ask. Gives roots, a list of objects with uri and name, which may be null. It holds nothing: roots {}.", nil},
		{"approval", "approval", "Somebody must approve a call before anything of it is done, and is shown what it would do. The block stands in a tool, or, without when, in a policy that has approve. The call waits meanwhile, as a task where the client can follow one. An approval is for one call: of this tool as it is configured now, with these arguments, by this caller. Of several blocks, every one whose when holds counts.", approvalSpec(&Approval{})},
		{"task", "task", "In a tool: its calls become tasks where the client can follow them. It is told at once that the work has begun, and comes back for the result; any other client waits for it.", (&Task{}).spec()},
		{`content "kind"`, "content", "One piece of content of a result: text, image, audio, resource or link.", contentSpec(&Content{})},
		{"annotations", "annotations", "For whom a piece of content or a resource is, and how much it matters.", (&Annotations{}).spec()},
	}
	for _, a := range stepBlocks {
		_, spec := a.New()
		refs = append(refs, BlockReference{a.Name, a.Name, a.Doc, spec})
	}
	for _, k := range kinds.Connections {
		_, spec := k.New()
		refs = append(refs, BlockReference{`connection "` + k.Name + `" "name"`, "connection " + k.Name, k.Doc, decode.Join(spec, new(ConnectionLimits).spec())})
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

// TemplateFunctions are the functions that belong to one kind of template.
func TemplateFunctions() []FunctionReference {
	return []FunctionReference{
		{"ident(name)", "In SQL: quotes the name of a table or column, or each of a list. What it is given is an enum, or known at load. ident(schema, name) quotes both."},
		{"raw(text)", "In SQL: puts a text that is known at load there as it is, as in raw(local.period[input.by])."},
		{"path(value)", "In the path of a URL: several segments, their slashes kept, each escaped."},
		{"under(folder, name)", "Joins a folder and a name, follows links, and refuses what leaves the folder. In a command, a script, dir, and the names of files."},
	}
}
