package hcl

import (
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/schema"
)

// inputs collects the input blocks of a tool, or the argument blocks of a prompt, into one object type.
type inputs struct {
	of        *workDecl
	noun      string // what a block is called
	texts     *texts // what arrives are texts, as for prompts and URIs; nil for JSON
	members   []*schema.Member
	whole     *schema.Type // a verbatim schema
	wholeAt   hclsyntax.Expression
	labelsAt  map[string]Range
	completes map[string]*hclsyntax.Block // complete blocks, by input
	partial   bool                        // there are more inputs, and what is wrong with them was reported
}

func newInputs(w *workDecl) *inputs {
	return &inputs{of: w, noun: "input", labelsAt: map[string]Range{}}
}

func (in *inputs) spec() Spec {
	return Spec{labelled("input", "name", "One argument of the tool.", inputSpec, in.input)}
}

var inputDocs = map[string]string{
	"title": "The name as a person reads it.", "description": "What the value means. Who fills it in, a model or a person, goes by this text.",
	"example": "A value that shows what is meant.", "sensitive": "Whether the value is kept out of logs and errors.", "header": "The HTTP header that mirrors the input for proxies.",
	"enum": "The values that are allowed.", "min": "The least number.", "max": "The greatest number.", "above": "What the number must be greater than.", "below": "What the number must be less than.",
	"multiple_of": "What the number must be a multiple of.", "min_length": "The least number of characters.", "max_length": "The greatest number of characters.",
	"pattern": "A regular expression that the text must match.", "format": "date, date-time, email, uri, uuid and the like; it is enforced.",
	"min_items": "The least number of elements.", "max_items": "The greatest number of elements.", "max_size": "The greatest size of a file, as in \"10MiB\".", "types": "The media types of a file that are allowed, as in [\"application/pdf\", \"image/*\"].", "schema": "More keywords of JSON Schema, as an object.",
}

// inputSpec documents an input block. It is made once, because a configuration has thousands of them: what it names is read by inputs.input.
var inputSpec = sync.OnceValue(func() Spec {
	ignore := func(*decoder, hclsyntax.Expression) {}
	spec := Spec{
		special("type", "type", "What values it takes, as in integer or list(string).", ignore).Require(),
		special("default", "value", "What it is when it is left out. A default makes it optional.", ignore),
	}
	for _, name := range schema.Keywords() {
		spec = append(spec, special(name, "value", inputDocs[name], ignore))
	}
	return append(spec, completeFields()...)
})

// argumentSpec documents an input that arrives as a text.
var argumentSpec = sync.OnceValue(func() Spec {
	spec := slices.DeleteFunc(slices.Clone(inputSpec()), func(f Field) bool { return f.Name == "header" })
	spec[0].Required, spec[0].Default = false, "string"
	return spec
})

// input decodes one block. A second of the same name is reported and dropped.
func (in *inputs) input(d *decoder, block *hclsyntax.Block) {
	if len(block.Labels) != 1 {
		d.errorf(block.TypeRange, "Wrong number of labels", "%s block is written `%s \"name\" {`.", sentence(article(in.noun)), in.noun)
		return
	}
	before := len(d.diags)
	m := in.member(d, block)
	if first, twice := in.labelsAt[m.Name]; twice {
		d.errorf(m.Range, "Duplicate "+in.noun, "The %s %q is already declared in line %d.", in.noun, m.Name, first.Start.Line)
		return
	}
	if !d.diags[before:].HasErrors() {
		d.uploadable(m)
		in.travels(d, m, block)
		in.complete(d, m, block)
	}
	in.labelsAt[m.Name] = at(m.Range)
	in.members = append(in.members, m)
}

// member reads the type of an input, and what stands beside it.
func (in *inputs) member(d *decoder, block *hclsyntax.Block) *schema.Member {
	m := &schema.Member{Name: block.Labels[0], Type: anyType, Range: block.LabelRanges[0]}
	if !hclsyntax.ValidIdentifier(m.Name) {
		d.diags = append(d.diags, invalidName(in.noun, m.Name, m.Range))
	}
	spec := inputSpec()
	if in.texts != nil {
		spec, m.Type = argumentSpec(), stringType
	}
	d.body(block.Body, spec, block.DefRange())
	written := block.Body.Attributes
	if a := written["type"]; a != nil {
		t, option, diags := schema.Parse(a.Expr, d.typeEnv())
		d.diags = append(d.diags, adopt(diags)...)
		m.Type, m.Optional, m.HasDefault, m.Default = t, option.Optional, option.HasDefault, option.Default
	}
	if in.noun != "input" || in.texts != nil {
		if a := written["type"]; a != nil {
			d.refuseFile(m.Type, a.Expr, article(in.noun)+" that arrives as a text")
		}
	}
	beside := false
	for _, a := range inOrder(written) {
		if _, keyword := inputDocs[a.Name]; !keyword {
			continue
		}
		beside = true
		t, diags := m.Type.With(a.AsHCLAttribute(), d.typeEnv())
		d.diags = append(d.diags, adopt(diags)...)
		m.Type = t
	}
	if a := written["default"]; a != nil {
		v, ok, diags := m.Type.Default(a.Expr, d.typeEnv())
		d.diags = append(d.diags, adopt(diags)...)
		m.Optional, m.HasDefault, m.Default = true, ok, v
	} else if m.HasDefault && beside {
		in.recheck(d, m, written["type"].Expr)
	}
	return m
}

// recheck reports a default inside the type that a keyword beside the type has ruled out.
func (in *inputs) recheck(d *decoder, m *schema.Member, at hclsyntax.Expression) {
	if _, violations := m.Type.Compile().Check(m.Default); len(violations) > 0 {
		d.errorf(at.Range(), "Invalid default", "The default does not fit the %s: %s.", in.noun, violations[0])
	}
}

// verbatim reads the whole input schema as JSON Schema.
func (in *inputs) verbatim(d *decoder, e hclsyntax.Expression) {
	n := d.compileKnown(e, Field{Name: "schema"})
	if !n.known {
		return
	}
	t, _, err := schema.FromJSONSchema(n.value)
	if err != nil {
		d.errorf(e.Range(), "Invalid JSON Schema", "%s.", sentence(err.Error()))
	}
	in.whole, in.wholeAt = t, e
}

// finish makes the type of all inputs.
func (in *inputs) finish() {
	w := in.of.work
	w.Input = schema.ObjectOf(in.members...)
	if in.whole != nil {
		if len(in.members) > 0 {
			in.of.dec.errorf(in.wholeAt.Range(), "Two input schemas", "schema gives the whole input schema, so there can be no input blocks beside it.")
		}
		w.Input = in.whole
	}
	w.Validator = w.Input.Compile()
	names := memberNames(w.Input)
	sort.Strings(names)
	for i := 1; i < len(names); i++ {
		if strings.EqualFold(names[i], names[i-1]) {
			in.of.dec.diags.warnf(in.labelsAt[names[i]], "Easily confused names", "The %ss %q and %q differ only in case; a model will mix them up.", in.noun, names[i-1], names[i])
		}
	}
}
