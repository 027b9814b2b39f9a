package editor

import (
	"slices"
	"strings"

	"hatchel/cmd/hatchel/test/testblock"
	"hatchel/hcl"
	"hatchel/hcl/decode"
)

// Language is what a configuration may consist of: the blocks of the language and of the adapters, as hatchel docs
// lists them. It is immutable.
type Language struct {
	// Entry returns a tool as tools/list has it, for estimates of its tokens; nil for none.
	Entry    func(*hcl.Tool) []byte
	kinds    hcl.Kinds
	kindsOf  map[string]*Kind // by the key of hatchel docs
	topLevel []string
}

// Kind is a kind of block in one place. Its Spec is empty for a block whose arguments have any name, such as locals.
type Kind struct {
	Key  string // as of hatchel docs, such as "connection http auth"
	Name string // as it is written, with its labels
	Doc  string
	Spec decode.Spec
}

// NewLanguage returns the language with the blocks of some adapters.
func NewLanguage(kinds hcl.Kinds) *Language {
	l := &Language{kinds: kinds, kindsOf: map[string]*Kind{}, topLevel: hcl.TopLevelBlocks()}
	for _, r := range slices.Concat(hcl.Reference(kinds), testblock.Reference(kinds)) {
		l.kindsOf[r.Key] = &Kind{r.Key, r.Name, r.Doc, r.Spec}
	}
	return l
}

// Kind returns the kind of block with a key of hatchel docs, or nil.
func (l *Language) Kind(key string) *Kind { return l.kindsOf[key] }

// keyed returns the kind of a top-level block; nil for none.
func (l *Language) keyed(name string, labels []string) *Kind {
	if name == "connection" {
		if len(labels) == 0 {
			return nil
		}
		return l.kindsOf["connection "+labels[0]]
	}
	if !slices.Contains(l.topLevel, name) {
		return nil
	}
	return l.kindsOf[name]
}

// Inside returns the kind of a block in a block of the kind outer; nil for none.
func (l *Language) Inside(outer *Kind, name string, labels []string) *Kind {
	switch {
	case outer == nil:
		return nil
	case name == "mock" && outer.Key == "test":
		if len(labels) == 0 {
			return nil
		}
		return l.kindsOf["mock "+labels[0]]
	}
	if f := outer.Field(name, false); f != nil {
		return l.nested(outer, f)
	}
	if slices.Contains(l.Backends(outer), name) {
		if name == "tool" {
			return l.kindsOf["tool step"]
		}
		return l.kindsOf[name]
	}
	return nil
}

// nested returns the kind of the block of a field. A block with a page of its own has the documentation of that page.
func (l *Language) nested(outer *Kind, f *decode.Field) *Kind {
	spec := f.Nested()
	for _, key := range []string{outer.Key + " " + f.Name, f.Name} {
		if page := l.kindsOf[key]; page != nil && (len(spec) == 0 || sameNames(page.Spec, spec)) {
			return page
		}
	}
	name := f.Name
	if f.Label != "" {
		name += ` "` + f.Label + `"`
	}
	return &Kind{Key: outer.Key + " " + f.Name, Name: name, Doc: f.Doc, Spec: spec}
}

func sameNames(a, b decode.Spec) bool {
	return slices.EqualFunc(a, b, func(x, y decode.Field) bool { return x.Name == y.Name })
}

// Backends returns the names of the blocks that say what a block of a kind does: its backends, its steps, and what
// else steps consist of. It is empty for a block that does nothing.
func (l *Language) Backends(k *Kind) (names []string) {
	switch k.Key {
	case "tool", "prompt", "resource", "step", "complete", "before":
	default:
		return nil
	}
	for _, b := range l.kinds.Backends {
		names = append(names, b.Name)
	}
	switch k.Key {
	case "tool", "prompt", "resource":
		names = append(names, "tool", "step", "expect")
	case "step":
		names = append(names, "tool", "ask")
	}
	if k.Key != "complete" && k.Key != "before" {
		names = append(names, hcl.StepBlocks()...)
	}
	return names
}

// Field returns the argument or the nested block of a name; nil for none.
func (k *Kind) Field(name string, argument bool) *decode.Field {
	if k == nil {
		return nil
	}
	for i := range k.Spec {
		if f := &k.Spec[i]; f.Name == name && (f.DecodeAttr != nil) == argument {
			return f
		}
	}
	return nil
}

// Documentation returns the documentation of the kind as Markdown.
func (k *Kind) Documentation() string { return "```hcl\n" + k.Name + "\n```\n" + k.Doc }

// fieldDocumentation returns the documentation of an argument as Markdown.
func fieldDocumentation(f *decode.Field) string {
	var notes []string
	if f.Required {
		notes = append(notes, "required")
	}
	if f.Default != "" {
		notes = append(notes, "default "+f.Default)
	}
	if f.Secret {
		notes = append(notes, "may contain secrets")
	}
	text := "```hcl\n" + f.Name + " = " + f.Type + "\n```\n" + f.Doc
	if len(notes) > 0 {
		text += "\n\n*" + strings.Join(notes, ", ") + "*"
	}
	return text
}
