// Package reference renders the reference of the language: pages for a terminal, Markdown files,
// and a search. Its data are the specs that decode the blocks, so that it cannot differ from what
// the server accepts.
package reference

import (
	"embed"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/test/testblock"
	"hatchel/hcl"
	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
)

// Reference documents every block of the language and of the adapters. It is immutable.
type Reference struct {
	Groups []*Group
	Topics []*Topic
	blocks []*Block // those of all groups, in order
	all    []*Block // the same, each followed by those inside it that have no page of their own
}

// Group is a page of the reference.
type Group struct {
	Key    string // the name of its file
	Title  string
	Doc    string
	Blocks []*Block
	all    []*Block // with those inside them that have no page of their own
}

// Block documents a kind of block in one place. A block inside another one has a Block of its own,
// unless it is the same everywhere.
type Block struct {
	Key      string // the words after hatchel docs, as in "connection http auth"
	Name     string // as it is written, with its labels: `connection "http" "name"`
	Doc      string
	Spec     decode.Spec
	Example  string // empty for none
	Parent   *Block // nil for a block of a group
	group    *Group
	children map[string]*Block // by the name of the field
}

// groupKeys lists the blocks of every group but those of connections and backends.
var groupKeys = []struct {
	key, title, doc string
	blocks          []string
}{
	{"server", "Server and values", "The server, and the values that a configuration declares by name.",
		[]string{"server", "variable", "secret", "locals", "type"}},
	{"connections", "Connections", "Systems that backends use. A connection is declared once and named by its blocks.",
		[]string{"breaker"}},
	{"tools", "Tools, prompts, resources and skills", "Blocks that clients can call and read, and their parts.",
		[]string{"tool", "prompt", "resource", "skill", "toolset", "search", "input", "argument", "message", "complete",
			"content", "view", "column", "annotations", "projection", "page", "cache", "tool cache"}},
	{"backends", "Backends", "What a tool, a prompt, a resource or a step does: one of these blocks.",
		[]string{"tool step"}},
	{"steps", "Steps", "The steps of a tool, a prompt or a resource, checks, and questions to the client.",
		[]string{"step", "check", "expect", "ask", "elicit", "sample", "roots", "progress", "log", "wait", "fail",
			"fault"}},
	{"trust", "Trust", "Who may connect, who may call what, who approves it, and what is recorded.",
		[]string{"auth", "tls", "policy", "mask", "approval", "before", "approvals", "audit"}},
	{"operation", "Operation", "State, limits and features that outlive a request.",
		[]string{"state", "files", "webhook", "task", "idempotency", "limit", "telemetry", "events", "on",
			"console"}},
	{"tests", "Tests", "Tests of tools, prompts and resources, which hatchel test runs.",
		[]string{"test", "search_test"}},
}

//go:embed examples
var examples embed.FS

// New returns the reference of the language with the blocks of some adapters.
func New(kinds hcl.Kinds) *Reference {
	r := &Reference{Topics: newTopics()}
	refs := map[string]hcl.BlockReference{}
	keys := map[string][]string{} // of the blocks of adapters, by group
	var mocks []string
	for _, ref := range slices.Concat(hcl.Reference(kinds), testblock.Reference(kinds)) {
		refs[ref.Key] = ref
		if strings.HasPrefix(ref.Key, "connection ") {
			keys["connections"] = append(keys["connections"], ref.Key)
		}
	}
	for _, k := range kinds.Backends {
		keys["backends"] = append(keys["backends"], k.Name)
		if k.Mock != nil {
			mocks = append(mocks, "mock "+k.Name)
		}
	}
	for _, g := range groupKeys {
		if g.key == "tests" {
			g.blocks = slices.Concat(g.blocks, mocks)
		}
		group := &Group{Key: g.key, Title: g.title, Doc: g.doc}
		r.Groups = append(r.Groups, group)
		for _, key := range slices.Concat(keys[g.key], g.blocks) {
			b := &Block{Key: key, Name: refs[key].Name, Doc: refs[key].Doc, Spec: refs[key].Spec, group: group}
			if src, err := examples.ReadFile("examples/" + key + ".hcl"); err == nil {
				b.Example = string(src)
			}
			group.Blocks = append(group.Blocks, b)
		}
		r.blocks = append(r.blocks, group.Blocks...)
	}
	for _, b := range r.blocks {
		r.addChildren(b)
	}
	return r
}

// addChildren documents the blocks inside a block. A block that has a page elsewhere is shared with
// that page.
func (r *Reference) addChildren(b *Block) {
	b.children = map[string]*Block{}
	r.all, b.group.all = append(r.all, b), append(b.group.all, b)
	for _, f := range b.Spec {
		if f.Type != "" {
			continue
		}
		if page := r.pageOf(f); page != nil {
			b.children[f.Name] = page
			continue
		}
		child := &Block{
			Key: b.Key + " " + f.Name, Name: fieldName(f), Doc: f.Doc, Spec: f.Nested(), Parent: b, group: b.group,
		}
		r.addChildren(child)
		b.children[f.Name] = child
	}
}

// pageOf returns the block of a group that a nested block is the same as: one of its name that has
// all its arguments. Blocks of the same name with other arguments are different blocks.
func (r *Reference) pageOf(f decode.Field) (page *Block) {
	nested := f.Nested()
	for _, b := range r.blocks {
		if word, _, _ := strings.Cut(b.Name, " "); word != f.Name || len(nested) == 0 && len(b.Spec) > 0 {
			continue
		}
		if slices.ContainsFunc(nested, func(n decode.Field) bool { return !hasField(b.Spec, n.Name) }) {
			continue
		}
		if page == nil || len(b.Spec) < len(page.Spec) {
			page = b
		}
	}
	return page
}

func hasField(spec decode.Spec, name string) bool {
	return slices.ContainsFunc(spec, func(f decode.Field) bool { return f.Name == name })
}

// ambiguous qualifies the names of blocks that occur in several groups.
var ambiguous = map[string]string{"cache": " in resource", "tool cache": " in tool", "tool step": " in step"}

// Title returns the name of a block and of those around it, as in `auth in connection "http"
// "name"`. It is unique.
func (b *Block) Title() string {
	if b.Parent == nil {
		return b.Name + ambiguous[b.Key]
	}
	return b.Name + " in " + b.Parent.Title()
}

// Find returns the blocks that a topic names: the block of that key and those that belong to it, or
// all blocks of that name, wherever they are.
func (r *Reference) Find(topic string) (found []*Block) {
	for _, b := range r.blocks {
		switch {
		case b.Key == topic:
			found = slices.Insert(found, 0, b)
		case strings.HasPrefix(b.Key, topic+" ") || strings.HasSuffix(b.Key, " "+topic):
			found = append(found, b)
		}
	}
	for _, b := range r.all {
		inFound := slices.ContainsFunc(found, func(f *Block) bool { return strings.HasPrefix(b.Key+" ", f.Key+" ") })
		if !inFound && (b.Key == topic || strings.HasSuffix(b.Key, " "+topic)) {
			found = append(found, b)
		}
	}
	return found
}

// NextWords returns the words that may follow the words of a key.
func (r *Reference) NextWords(words []string) (next []string) {
	for _, key := range r.Keys() {
		parts := strings.Fields(key)
		n := len(words)
		if len(parts) > n && slices.Equal(parts[:n], words) && !slices.Contains(next, parts[n]) {
			next = append(next, parts[n])
		}
	}
	return next
}

// Keys returns what hatchel docs accepts: the keys of all blocks and topics.
func (r *Reference) Keys() (keys []string) {
	for _, b := range r.all {
		keys = append(keys, b.Key)
	}
	for _, t := range r.Topics {
		keys = append(keys, t.Key)
	}
	return keys
}

// Topic returns the topic of a key, or nil.
func (r *Reference) Topic(key string) *Topic {
	for _, t := range r.Topics {
		if t.Key == key {
			return t
		}
	}
	return nil
}

// Holders returns the keys of the blocks that have an argument.
func (r *Reference) Holders(argument string) (keys []string) {
	for _, b := range r.all {
		if hasField(b.Spec, argument) {
			keys = append(keys, b.Key)
		}
	}
	return keys
}

// fieldName returns a nested block as it is written.
func fieldName(f decode.Field) string {
	if f.Label != "" {
		return f.Name + " \"" + f.Label + "\""
	}
	return f.Name
}

// notes returns what the reference says about an argument besides its type.
func notes(f decode.Field) (notes []string) {
	if f.Required {
		notes = append(notes, "required")
	}
	if f.Default != "" {
		notes = append(notes, "default "+f.Default)
	}
	if f.Many {
		notes = append(notes, "repeatable")
	}
	if f.Secret {
		notes = append(notes, "may contain secrets")
	}
	return notes
}

// choiceRule returns the rule of the first field of a group of alternatives, and an empty string
// for all other fields.
func choiceRule(spec decode.Spec, f decode.Field) string {
	what, required := f.Choice()
	if what == "" {
		return ""
	}
	var names []string
	for _, other := range spec {
		if w, _ := other.Choice(); w == what {
			names = append(names, other.Name)
		}
	}
	if names[0] != f.Name {
		return ""
	}
	if required {
		return "Exactly one of " + diag.JoinAnd(names) + " must be set."
	}
	return "At most one of " + diag.JoinAnd(names) + " may be set."
}

// firstSentence returns the beginning of a text up to the first full stop.
func firstSentence(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(first, ".") + "."
}
