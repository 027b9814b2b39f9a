package decode

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/spelling"
)

// CheckNames reports arguments and blocks that the parts of a spec do not have.
func (d *Decoder) CheckNames(b *hclsyntax.Body, parts ...Spec) {
	d.Typos = nil
	for name, a := range b.Attributes {
		f, known := findField(parts, name, true)
		switch {
		case known && f.DecodeAttr != nil:
		case known:
			d.Errorf(a.NameRange, "Block needed", "%s is a block: write `%s { … }` without the equals sign.", name, name)
		case renamedTo(parts, name) != "":
			present := renamedTo(parts, name)
			d.noteMeant(present)
			d.Errorf(a.NameRange, "Renamed argument", "%q was renamed to %q. Write %s = ….", name, present, present)
		default:
			all, attrs, _ := fieldNames(parts)
			d.noteTypo(name, all)
			d.Errorf(a.NameRange, "Unknown argument", "There is no argument %q here.%s", name, foreignArgumentHint(name, all, diag.SuggestOr(name, all, argumentHint(name, parts, diag.ListAre(attrs)))))
		}
	}
	for _, nested := range b.Blocks {
		f, known := findField(parts, nested.Type, false)
		switch {
		case known && f.DecodeAttr == nil:
		case known:
			d.Errorf(nested.TypeRange, "Argument needed", "%s is an argument: write `%s = …`.", nested.Type, nested.Type)
		default:
			all, _, blocks := fieldNames(parts)
			d.noteTypo(nested.Type, all)
			d.Errorf(nested.TypeRange, "Unknown block", "There is no block %q here.%s", nested.Type, blockHint(nested.Type, all, diag.SuggestOr(nested.Type, all, diag.ListAre(blocks))))
		}
	}
}

// noteTypo records which argument a misspelled name was meant to be, so that its absence is not reported as well.
func (d *Decoder) noteTypo(name string, among []string) {
	d.noteMeant(spelling.Nearest(name, among))
	if name == "type" && slices.Contains(among, "is") {
		d.noteMeant("is")
	}
}

// noteMeant records that an argument was written under another name.
func (d *Decoder) noteMeant(name string) {
	if d.Typos == nil {
		d.Typos = map[string]bool{}
	}
	d.Typos[name] = true
}

// renamedTo returns the present name of an argument that was called name before, or "".
func renamedTo(parts []Spec, name string) string {
	for _, spec := range parts {
		for i := range spec {
			if spec[i].formerly == name && name != "" {
				return spec[i].Name
			}
		}
	}
	return ""
}

// findField finds what a name means, as an argument or as a block where it can be both.
func findField(parts []Spec, name string, argument bool) (found *Field, known bool) {
	for _, spec := range parts {
		for i := range spec {
			if spec[i].Name != name {
				continue
			}
			if found = &spec[i]; argument == (found.DecodeAttr != nil) {
				return found, true
			}
		}
	}
	return found, found != nil
}

func fieldNames(parts []Spec) (all, attrs, blocks []string) {
	for _, f := range Join(parts...) {
		all = append(all, f.Name)
		if f.DecodeAttr != nil {
			attrs = append(attrs, f.Name)
		} else {
			blocks = append(blocks, f.Name)
		}
	}
	return all, attrs, blocks
}

// argumentHint says which block here holds an argument that stands beside it, or otherwise.
func argumentHint(name string, parts []Spec, otherwise string) string {
	for _, f := range Join(parts...) {
		if f.DecodeAttr != nil {
			continue
		}
		if inner, known := findField([]Spec{f.Nested()}, name, true); known && inner.DecodeAttr != nil {
			return " It stands in the block " + f.Name + ": " + f.Name + " { " + name + " = … }."
		}
	}
	return otherwise
}

// foreignArgumentHint says how the thing is said here that has an argument of its own elsewhere, or otherwise.
func foreignArgumentHint(name string, among []string, otherwise string) string {
	has := func(n string) bool { return slices.Contains(among, n) }
	switch {
	case name == "required" && has("type") && has("default"):
		return " An input is required unless its type is optional(…)."
	case name == "method" || name == "url" || name == "path":
		if has("get") && has("post") {
			return ` The verb is the argument, its value the path: get = "/path".`
		}
	case (name == "params" || name == "args" || name == "parameters") && has("query") && has("exec"):
		return " A value stands in the statement, where it belongs, as ${input.x}: it is bound as a parameter."
	case (name == "value" || name == "default") && has("env") && has("file") && has("optional"):
		return ` A secret is never written into the configuration: env = "NAME" names where it comes from.`
	}
	if name == "type" && has("is") {
		return " What a name stands for is written is = object({ … })."
	}
	return terraformArgumentHint(name, among, otherwise)
}

// blockHint says where a block of the language stands that does not stand here, or otherwise.
func blockHint(block string, among []string, otherwise string) string {
	switch {
	case slices.Contains([]string{"sqlite", "postgres", "postgresql", "mysql", "mariadb"}, block) && slices.Contains(among, "sql"):
		return ` The block is called sql, and its label is the connection: sql "name" { … }.`
	case slices.Contains([]string{"elicit", "sample", "roots"}, block) && slices.Contains(among, "ask"):
		return " A question stands in an ask, and an ask in a step: ask \"name\" { " + block + " … }."
	case block == "input" && slices.Contains(among, "argument"):
		return " A prompt has arguments: argument \"name\" { … }. They are read as input.name."
	case block == "argument" && slices.Contains(among, "input"):
		return " Arguments are of prompts, and here are inputs: input \"name\" { … }."
	case block == "variable" && slices.Contains(among, "input"):
		return " What a caller gives is an input: input \"name\" { type = string }. A variable stands at the top of a file, and is known when it is loaded."
	}
	return TopLevelHint(block, otherwise)
}

// TopLevelHint says in which block one stands that is about trust, or otherwise.
func TopLevelHint(block, otherwise string) string {
	switch block {
	case "api_key", "jwt":
		return " Whom the server knows stands in auth: auth { " + block + " … }."
	case "oauth2":
		return " How requests sign in stands in auth of a connection: auth { oauth2 { … } }."
	case "approval":
		return " Calls of tools are approved: an approval stands in a tool, or in a policy with approve."
	case "idempotency", "task":
		return " It stands in a tool: tool \"name\" { " + block + " { … } }."
	case "cache":
		return " Answers are kept of tools that only read, and of resources: a cache stands in those."
	case "limit":
		return " Calls are limited: a limit stands in a tool, or in server for all together. How many use a connection at once is its concurrency."
	case "breaker":
		return " What fails is a connection, for all that use it: connection \"http\" \"name\" { breaker { … } }."
	case "sandbox":
		return " Programs are confined: a sandbox stands in a shell block, or in a connection \"shell\"."
	}
	return terraformBlockHint(block, otherwise)
}
