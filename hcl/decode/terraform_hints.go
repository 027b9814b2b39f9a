package decode

import "slices"

// Who comes from Terraform writes its words. What they are called here is said where they stand.

// terraformBlocks are blocks of Terraform, by what is written here instead.
var terraformBlocks = map[string]string{
	"provider":      ` What others reach through a provider is a connection here: connection "http" "name" { … }.`,
	"data":          ` What reads is a tool, a resource, or a step of one: tool "name" { http { get = "…" } }.`,
	"output":        " What a tool answers is its result or its text; values with a name stand in locals.",
	"module":        " One folder is one server, and every .hcl file below it belongs to it: none is named.",
	"terraform":     " What clients are told of the server stands in server { … }, and where it remembers things in state { … }.",
	"dynamic":       " Blocks are written out. What a call does for every element is a step: step \"name\" { each = input.list … }.",
	"validation":    ` What a value must be stands in its type, as in string("A name", { pattern = "^[a-z]+$" }); what several must be is a check of the tool.`,
	"precondition":  ` What must hold before anything is done is a check of the tool: check "message" { that = "input.n > 0" }.`,
	"postcondition": ` What must hold of an answer is an expect of its step: expect "message" { that = "output.row != null" }.`,
	"provisioner":   " Programs are run by a shell block, in a tool or a step.",
}

// terraformBlockHint says what a block of Terraform is here, or otherwise.
func terraformBlockHint(block, otherwise string) string {
	if instead, ok := terraformBlocks[block]; ok {
		return instead
	}
	return otherwise
}

// terraformArgumentHint says how an argument of Terraform is written where there are those of among, or otherwise.
func terraformArgumentHint(name string, among []string, otherwise string) string {
	has := func(n string) bool { return slices.Contains(among, n) }
	switch name {
	case "count", "for_each":
		if has("each") {
			return " It is called each, and its elements are read as each.value: each = input.list."
		}
		if has("step") {
			return " What a call does for every element is a step: step \"name\" { each = input.list … }."
		}
	case "depends_on":
		return " Steps run in the order in which they are written."
	case "sensitive":
		if has("env") && has("default") {
			return ` What nobody may see is a secret: secret "name" { env = "NAME" }.`
		}
	case "nullable":
		if has("type") && has("default") {
			return " What may be null says so in its type: nullable(string)."
		}
	case "enabled", "disabled":
		if has("url") && has("retention") {
			return " A webhook is off where its url is null, as that of a secret with optional = true may be."
		}
	case "groups", "subjects", "roles":
		if has("allow") && has("deny") {
			return " A rule asks for them: allow = \"'finance' in caller.groups\"."
		}
	}
	return otherwise
}
