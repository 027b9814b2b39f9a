package hcl

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// blockType is a type of top-level block.
type blockType struct {
	name     string
	labels   int
	form     string        // its first line
	decode   func(*loader) // decodes all blocks of the type
	declares string        // what the last label names, as eval.Reference says it; empty for nothing
	// no test uses the block: the values that tests give to secrets are not valid there, such as that of a webhook,
	// which has 24 characters
	untested bool
	// decodes one block again for an editor and returns its diagnostics; nil for a type whose blocks are decoded
	// alike
	again func(*loader, sourceBlock) Diagnostics
	// for the reference: what it is, with the names of the backends for {backends}, and its arguments, which are of
	// the block if these depend on one
	doc  string
	spec func(*loader, sourceBlock) decode.Spec
}

// globalBlocks are the types of blocks that other blocks can read, in decoding order. Types come
// first and are resolved on demand.
var globalBlocks = []blockType{
	{name: "type", labels: 1, form: `type "name" {`, decode: (*loader).declareTypes, declares: "type",
		again: (*loader).decodeTypeAgain,
		spec:  func(*loader, sourceBlock) decode.Spec { return typeSpec(new(*schema.Type)) },
		doc:   "A named type. Refer to it as type.name."},
	{name: "variable", labels: 1, form: `variable "name" {`, decode: (*loader).decodeVariables, declares: "var",
		spec: specOf[variableBlock],
		doc:  "A value set at start: --var name=value, HATCHEL_VAR_name, or the default. Read as var.name."},
	{name: "secret", labels: 1, form: `secret "name" {`, decode: (*loader).decodeSecrets, declares: "secret",
		spec: specOf[secretBlock],
		doc: "A sensitive value, read from an environment variable or a file. It is never logged or returned. Read " +
			"as secret.name where a secret is allowed."},
	{name: "locals", form: "locals {", decode: (*loader).decodeLocals, again: (*loader).decodeLocalsAgain,
		doc: "Named values. At the top level they are computed at load; in a tool, for each call. Read as " +
			"local.name."},
	{name: "tls", form: "tls {", decode: (*loader).decodeTLS, untested: true, spec: specOf[TLS],
		doc: "Serves HTTPS. At most one."},
	{name: "auth", form: "auth {", decode: (*loader).decodeAuth, untested: true,
		spec: func(*loader, sourceBlock) decode.Spec { return new(Auth).spec(nil) },
		doc: "Authentication: API keys, JWT issuers, sign-in and client certificates. With this block every HTTP " +
			"request must be authenticated, except /healthz and the status of /readyz. Without it the server accepts " +
			"only connections from this machine. At most one."},
	{name: "server", form: "server {", decode: (*loader).decodeServer,
		spec: func(*loader, sourceBlock) decode.Spec { return (&Server{}).spec(nil) },
		doc:  "Information about the server for clients. At most one."},
	{name: "connection", labels: 2, form: `connection "http" "name" {`, decode: (*loader).decodeConnections,
		declares: "connection"},
	{name: "mask", labels: 1, form: `mask "name" {`, decode: (*loader).decodeMasks, declares: "mask",
		spec: func(l *loader, _ sourceBlock) decode.Spec { return (&Mask{Mask: new(eval.Mask)}).spec(l) },
		doc: "Members of outputs of backends that not every caller may see. They are masked as soon as a backend " +
			"has answered, before anything reads them, so results, texts, questions, files, later steps and events " +
			"have what the caller may see. A masked value may be shown. It may not decide anything, and it is " +
			"sent to another backend only as unmasked(…) and to a connection in reveal_to."},
	{name: "audit", form: "audit {", decode: (*loader).decodeAudit, untested: true, spec: specOf[Audit],
		doc: "The audit log: caller, tool, arguments, policy decision and outcome of every call. A call that cannot " +
			"be recorded is not made. At most one."},
	{name: "state", form: "state {", decode: (*loader).decodeState, untested: true, spec: specOf[State],
		doc: "The state store, for data that must survive a restart: tasks, approvals, idempotency keys, webhook " +
			"events, rate limits, uploaded files, and the key that seals the tokens given to clients. It is not " +
			"encrypted, but for what it keeps of sign_in. By default a SQLite file in $STATE_DIRECTORY or " +
			"~/.local/state/hatchel. At most one."},
	{name: "files", form: "files {", decode: (*loader).decodeFiles, spec: specOf[Files],
		doc: "Lets callers upload files for inputs of the type file. POST /files takes the bytes of a file and " +
			"returns its file_id, which the caller passes to such an input. POST /files/uploads returns a one-time " +
			"URL for uploading one file without a credential. Only the caller who uploaded a file can use it. At " +
			"most one."},
	{name: "webhook", labels: 1, form: `webhook "name" {`, decode: (*loader).decodeWebhooks, declares: "webhook",
		untested: true, spec: specOf[Webhook],
		doc: "A receiver of events from approvals (approval.requested, approval.decided) and tasks (task.finished) " +
			"that name it in notify, and of those that an on block selects. The body is JSON, {type, timestamp, " +
			"data}, signed according to Standard Webhooks in the headers webhook-id, webhook-timestamp and " +
			"webhook-signature. An event without a 2xx response is sent again with the same webhook-id, also after " +
			"a restart."},
}

// exposedBlocks are the types of blocks that clients can see, or that restrict them, in decoding
// order. No global block can read them.
var exposedBlocks = []blockType{
	{name: "tool", labels: 1, form: `tool "name" {`, decode: (*loader).decodeTools, declares: "tool",
		again: (*loader).decodeToolAgain,
		spec:  func(l *loader, b sourceBlock) decode.Spec { return toolSpec(newToolDecoder(l, b)) },
		doc: "A tool that clients can call. It has one backend block, or steps, or neither if it only computes. " +
			"{backends}"},
	{name: "prompt", labels: 1, form: `prompt "name" {`, decode: (*loader).decodePrompts, declares: "prompt",
		again: (*loader).decodePromptAgain,
		spec:  func(l *loader, b sourceBlock) decode.Spec { return promptSpec(newPromptDecoder(l, b)) },
		doc: "A prompt that users can choose: messages, and optionally one backend block or steps for the data they " +
			"need. {backends}"},
	{name: "resource", labels: 1, form: `resource "name" {`, decode: (*loader).decodeResources,
		declares: "resource", again: (*loader).decodeResourceAgain,
		spec: func(l *loader, b sourceBlock) decode.Spec { return resourceSpec(newResourceDecoder(l, b)) },
		doc: "A document that clients can read, or with uri_template a family of documents. It has a text, data, one " +
			"backend block, or steps. {backends} Without text or data its content is the output of its backend: a " +
			"file, a response body, rows as JSON, or the output of a program."},
	{name: "skill", labels: 1, form: `skill "name" {`, decode: (*loader).decodeSkills, declares: "skill",
		again: (*loader).decodeSkillAgain,
		spec:  func(l *loader, b sourceBlock) decode.Spec { return skillSpec(newSkillDecoder(l, b)) },
		doc: "A skill: a directory with a SKILL.md, in the format of Agent Skills, that tells agents how to use the " +
			"tools. Clients list skills with skills/list and read the files as resources, skill://<name>/SKILL.md. " +
			"The label is the name in the SKILL.md. Files are sent as they are; no templates."},
	{name: "toolset", labels: 1, form: `toolset "name" {`, decode: (*loader).decodeToolsets, declares: "toolset",
		spec: func(*loader, sourceBlock) decode.Spec { return new(Toolset).spec(exposedNames{}) },
		doc:  "A subset of the tools, prompts, resources and skills, served at /mcp/<name> or with serve --toolset."},
	{name: "policy", labels: 1, form: `policy "name" {`, decode: (*loader).decodePolicies, declares: "policy",
		spec: specOf[Policy],
		doc: "Access rules for the tools, prompts, resources and skills that it names, or for all of them if it " +
			"names none. " +
			"A deny that is true overrides every allow. A call that is allowed and for which an approve is true " +
			"waits for approval. If policies have an allow, at least one must be true; the allow of the tool itself " +
			"must also be true. A call that no rule decides is decided by default in the server block. A rule that " +
			"cannot be evaluated denies. Rules read caller, input and tool, which has kind (tool, prompt, " +
			"resource or skill), name, title, read_only, destructive, idempotent and open_world; an input that not " +
			"all of them have may be null. Callers do not see what they may not call in lists, unless the rule reads " +
			"inputs."},
	{name: "approvals", form: "approvals {", decode: (*loader).decodeApprovers, untested: true,
		spec: specOf[Approvals],
		doc: "Who may decide pending approvals over HTTP: GET /approvals, and POST /approvals/ID/approve, /reject " +
			"and /look. Without this block nobody may. On the machine of the server, hatchel approvals decides for " +
			"everyone who can write its state. At most one."},
	{name: "telemetry", form: "telemetry {", decode: (*loader).decodeTelemetry, untested: true,
		spec: specOf[Telemetry],
		doc: "What the server tells about itself to monitoring systems. Without this block nothing is measured. At " +
			"most one."},
	{name: "events", form: "events {", decode: (*loader).decodeEvents, untested: true, spec: specOf[Events],
		doc: "The events of the server, which GET /events sends as they happen: calls, steps and results, approvals, " +
			"tasks, reloads, connections, refusals and sessions. hatchel docs event-types lists them. Without this " +
			"block there is no such path. The server records events, 4 MiB of the latest, while somebody listens " +
			"and for 5 minutes after that. At most one."},
	{name: "on", labels: 1, form: `on "event" {`, decode: (*loader).decodeHooks, untested: true,
		spec: func(*loader, sourceBlock) decode.Spec { return new(Hook).spec(exposedNames{}) },
		doc: "A hook: events of a type are sent to webhooks. The label is {events}. The body is that of a webhook, " +
			"with count: {type, timestamp, data, count}, where data is the event as GET /events sends it. There may " +
			"be several for one type of event."},
	{name: "console", form: "console {", decode: (*loader).decodeConsole, untested: true, spec: specOf[Console],
		doc: "Pages for people who operate the server, at /console/: its tools, what calls would do, and what is " +
			"wrong with the configuration. People sign in with a key, a client certificate, or the address that " +
			"hatchel console opens. Without this block there is no console. At most one."},
}

func specOf[T any, P interface {
	*T
	spec() decode.Spec
}](*loader, sourceBlock) decode.Spec {
	return P(new(T)).spec()
}

// testBlocks are the types of blocks that only tests read.
var testBlocks = []blockType{
	{name: "test", labels: 1, form: `test "name" {`, declares: "test"},
	{name: "search_test", labels: 1, form: `search_test "question" {`, declares: "test"},
}

func isTest(b *hclsyntax.Block) bool {
	return slices.ContainsFunc(testBlocks, func(t blockType) bool { return t.name == b.Type })
}

// findBlockType returns a type of block by its name, and whether its blocks are exposed.
func findBlockType(name string) (found blockType, exposed, ok bool) {
	for i, types := range [][]blockType{globalBlocks, exposedBlocks, testBlocks} {
		for _, t := range types {
			if t.name == name {
				return t, i == 1, true
			}
		}
	}
	return blockType{}, false, false
}

// TopLevelBlocks returns the sorted names of the blocks at the top level of a file.
func TopLevelBlocks() (names []string) {
	for _, t := range slices.Concat(globalBlocks, exposedBlocks, testBlocks) {
		names = append(names, t.name)
	}
	slices.Sort(names)
	return names
}

// DeclaredKind returns what the last label of a top-level block names, in the words of eval.Reference; empty for
// nothing.
func DeclaredKind(name string) string {
	t, _, _ := findBlockType(name)
	return t.declares
}

// references documents the types of top-level blocks but connection, of which each kind has a page.
func (l *loader) references(backends string) (refs []BlockReference) {
	fill := strings.NewReplacer("{backends}", backends, "{events}", diag.JoinOr(hookEvents()))
	bare := sourceBlock{file: &sourceFile{}, Block: &hclsyntax.Block{}}
	for _, t := range slices.Concat(globalBlocks, exposedBlocks) {
		if t.doc == "" {
			continue
		}
		ref := BlockReference{Name: strings.TrimSuffix(t.form, " {"), Key: t.name, Doc: fill.Replace(t.doc)}
		if t.spec != nil {
			ref.Spec = t.spec(l, bare)
		}
		refs = append(refs, ref)
	}
	return refs
}
