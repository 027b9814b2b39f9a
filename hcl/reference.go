package hcl

import (
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
	var step stepBlock
	var expects []*Check
	refs := []BlockReference{
		{"server", "server", "What clients are told about the server. There is at most one.", (&Server{}).spec()},
		{`variable "name"`, "variable", "A value that is given from outside: --var name=value, HATCHEL_VAR_name, or its default. Read as var.name.", (&variableBlock{}).spec()},
		{`secret "name"`, "secret", "A text that nobody may see. Read as secret.name where a secret may stand.", (&secretBlock{}).spec()},
		{"locals", "locals", "Names for values. At the top of a file they are known at load; in a tool they are computed for the call. Read as local.name.", nil},
		{`type "name"`, "type", "A name for a type. Written type.name where a type stands.", typeSpec(new(*schema.Type))},
		{`tool "name"`, "tool", "A tool that clients can call: one backend block, or steps, or none when it only computes.", toolSpec(t)},
		{`prompt "name"`, "prompt", "A prompt that a person can choose: messages, and what they need, one backend block or steps.", promptSpec(newPromptDecl(l, bare))},
		{`resource "name"`, "resource", "A document that clients can read, or with uri_template a family of them: a text, data, one backend block, or steps.", resourceSpec(newResourceDecl(l, bare))},
		{`toolset "name"`, "toolset", "A part of what is offered, under an address of its own: /mcp/<name>, or serve --toolset.", (&toolsetDecl{toolset: &Toolset{}}).spec()},
		{`input "name"`, "input", "One argument of a tool, or more of a variable of a resource. A variable is a text unless type says otherwise.", inputSpec()},
		{`argument "name"`, "argument", "One argument of a prompt. It arrives as a text, is taken as its type says, and is read as input.name.", argumentSpec()},
		{`message "role"`, "message", "One message of a prompt, or of what a model is asked.", (&messageBlock{PromptMessage: &PromptMessage{}}).spec()},
		{"complete", "complete", "How an input is completed while a person types it: one backend block, which reads what was typed as input.<name> and every other input as a text or null.", completeSpec(&Completion{})},
		{"cache", "cache", "How long clients may keep a resource.", (&cacheBlock{}).spec()},
		{`check "message"`, "check", "What must hold before anything is done. The label, or message, is what the caller is told otherwise.", checkSpec(&Check{})},
		{`expect "message"`, "expect", "What must hold of the output. Otherwise the call failed although the backend answered; under exec nothing is committed.", checkSpec(&Check{})},
		{`step "name"`, "step", "One step of a tool, with one backend block, one block of the language such as progress or fail, or ask blocks. Its result is read as step.name by what follows.", Join(step.eachSpec(), step.guardSpec(), step.repeatSpec(), expectSpec(&expects))},
		{`ask "name"`, "ask", "A question to the client, in a step. All ask blocks of a step are asked at once, and each answer is read as step.name.<name of the ask>.", askSpec(&Ask{})},
		{"elicit", "elicit", "What an ask puts to the user: a form to fill in, or a page to open. Gives action and content.", (&Elicit{}).spec()},
		{"sample", "sample", "What an ask puts to the model of the client. Gives text, model, stop_reason, role and content.", (&Sample{}).spec()},
		{"task", "task", "In a tool: its calls become tasks where the client can follow them.", (&taskBlock{}).spec()},
		{`content "kind"`, "content", "One piece of content of a result: text, image, audio, resource or link.", contentSpec(&Content{})},
	}
	for _, k := range acts {
		_, spec := k.New()
		refs = append(refs, BlockReference{k.Name, k.Name, k.Doc, spec})
	}
	for _, k := range kinds.Connections {
		_, spec := k.New()
		refs = append(refs, BlockReference{`connection "` + k.Name + `" "name"`, "connection " + k.Name, k.Doc, spec})
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
