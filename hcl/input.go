package hcl

import (
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// inputs collects the input blocks of a tool, or the argument blocks of a prompt, into one object
// type.
type inputs struct {
	operation        *operationDecoder
	noun             string      // the name of a block in messages
	texts            *textInputs // inputs are sent as strings, as for prompts and URIs; nil for JSON
	members          []*schema.Member
	verbatim         *schema.Type // a verbatim schema
	verbatimExpr     hclsyntax.Expression
	labelRanges      map[string]Range
	completionBlocks map[string]*hclsyntax.Block // complete blocks, by input
	partial          bool                        // further inputs have mistakes, which were reported
}

var inputDocs = map[string]string{
	"title": "The display name.", "description": "The meaning of the value, for the model or user that provides it.",
	"example": "An example value.", "sensitive": "Whether the value is kept out of logs and errors.",
	"header": "The HTTP header in which clients repeat the input, for proxies.", "enum": "The allowed values.",
	"min": "The minimum.", "max": "The maximum.", "above": "The exclusive minimum.",
	"below": "The exclusive maximum.", "multiple_of": "The value must be a multiple of this number.",
	"min_length": "The minimum number of characters.", "max_length": "The maximum number of characters.",
	"pattern":   "A regular expression that the value must match.",
	"format":    "date, date-time, email, uri, uuid and the like; it is enforced.",
	"min_items": "The minimum number of elements.", "max_items": "The maximum number of elements.",
	"max_size": "The maximum size of a file, as in \"10MiB\".",
	"types":    "The allowed media types of a file, as in [\"application/pdf\", \"image/*\"].",
	"schema":   "Additional JSON Schema keywords, as an object.",
}

// inputSpec is the spec of an input block for the reference and for checking names. It is built
// once, because a configuration has thousands of inputs.
var inputSpec = sync.OnceValue(func() decode.Spec {
	ignore := func(*decode.Decoder, hclsyntax.Expression) {}
	spec := decode.Spec{
		decode.Custom("type", "type", "The type, as in integer or list(string).", ignore).Require(),
		decode.Custom("default", "value", "The default value. A default makes the argument optional.", ignore),
	}
	for _, name := range schema.Keywords() {
		spec = append(spec, decode.Custom(name, "value", inputDocs[name], ignore))
	}
	return append(spec, completeFields()...)
})

// argumentSpec is the spec of an input that is sent as a string.
var argumentSpec = sync.OnceValue(func() decode.Spec {
	spec := slices.DeleteFunc(slices.Clone(inputSpec()), func(f decode.Field) bool { return f.Name == "header" })
	spec[0].Required, spec[0].Default = false, "string"
	return spec
})

// decodeInput decodes one block. A duplicate name is reported and dropped.
func (in *inputs) decodeInput(d *decode.Decoder, block *hclsyntax.Block) {
	if len(block.Labels) != 1 {
		d.Errorf(block.TypeRange, "Wrong number of labels", "%s block is written `%s \"name\" {`.",
			diag.ToSentence(diag.WithArticle(in.noun)), in.noun)
		return
	}
	before := len(d.Diags)
	m := in.decodeMember(d, block)
	if first, twice := in.labelRanges[m.Name]; twice {
		d.Errorf(m.Range, "Duplicate "+in.noun, "The %s %q is already declared in line %d.", in.noun, m.Name,
			first.Start.Line)
		d.Diags.Relate(first)
		return
	}
	if !d.Diags[before:].HasErrors() {
		in.checkFileLimits(d, m)
		in.checkTextType(d, m, block)
		in.decodeCompletion(d, m, block)
	}
	in.labelRanges[m.Name] = diag.RangeOf(m.Range)
	in.members = append(in.members, m)
}

// decodeMember reads the type of an input and its keywords.
func (in *inputs) decodeMember(d *decode.Decoder, block *hclsyntax.Block) *schema.Member {
	m := &schema.Member{Name: block.Labels[0], Type: eval.AnyType, Range: block.LabelRanges[0]}
	checkIdentifier(&d.Diags, in.noun, m.Name, labelRange(block))
	spec := inputSpec()
	if in.texts != nil {
		spec, m.Type = argumentSpec(), eval.StringType
	}
	d.Body(block, spec)
	written := block.Body.Attributes
	if a := written["type"]; a != nil {
		schema.ParseMember(m, a.Expr, d.TypeEnv())
		if in.texts != nil {
			d.RejectFileType(m.Type, a.Expr, diag.WithArticle(in.noun)+" that arrives as a text")
		}
	}
	beside := false
	for _, a := range sortedAttributes(written) {
		if _, keyword := inputDocs[a.Name]; !keyword {
			continue
		}
		beside = true
		m.Type = m.Type.With(a.AsHCLAttribute(), d.TypeEnv())
	}
	if a := written["default"]; a != nil {
		m.Default, m.HasDefault = m.Type.Default(a.Expr, d.TypeEnv())
		m.Optional = true
	} else if m.HasDefault && beside { // a keyword may exclude the default inside the type
		if _, violations, _ := m.Type.Compile().Check(m.Default, schema.Unlimited); len(violations) > 0 {
			d.Errorf(written["type"].Expr.Range(), "Invalid default", "The default does not fit the %s: %s.", in.noun,
				violations[0])
		}
	}
	return m
}

// decodeSchema reads the whole input schema as JSON Schema.
func (in *inputs) decodeSchema(d *decode.Decoder, e hclsyntax.Expression) {
	n := d.CompileKnown(e, decode.Field{Name: "schema"})
	if !n.Known {
		return
	}
	t, err := schema.FromJSONSchema(n.Value)
	if err != nil {
		d.Errorf(e.Range(), "Invalid JSON Schema", "%s.", diag.ToSentence(err.Error()))
	}
	in.verbatim, in.verbatimExpr = t, e
}

// buildInputType builds the type of all inputs.
func (in *inputs) buildInputType() {
	w := in.operation.op
	w.Input = schema.ObjectOf(in.members...)
	if in.verbatim != nil {
		if len(in.members) > 0 {
			in.operation.dec.Errorf(in.verbatimExpr.Range(), "Two input schemas",
				"schema replaces the input schema. Remove it or the input blocks.")
		}
		w.Input = in.verbatim
	}
	w.Validator = w.Input.Compile()
	names := w.Input.MemberNames()
	sort.Strings(names)
	for i := 1; i < len(names); i++ {
		if strings.EqualFold(names[i], names[i-1]) {
			in.operation.dec.Diags.Warnf(in.labelRanges[names[i]], "Easily confused names",
				"The %ss %q and %q differ only in case; models will confuse them.", in.noun, names[i-1], names[i])
		}
	}
}

// textInputs describes inputs that are sent as strings: the arguments of a prompt and the variables
// of a URI.
type textInputs struct {
	phrase string // one of them in a sentence: "an argument of a prompt"
	json   bool   // a list or an object may be written as JSON
}

// checkTextType reports an input whose type cannot be sent as a string.
func (in *inputs) checkTextType(d *decode.Decoder, m *schema.Member, b *hclsyntax.Block) {
	if in.texts == nil {
		return
	}
	fit := "string, integer, number, bool or an enum"
	switch m.Type.Kind {
	case schema.String, schema.Integer, schema.Number, schema.Bool:
		return
	case schema.List, schema.Set, schema.Map, schema.Object:
		if in.texts.json {
			return
		}
	default:
		fit = "string"
	}
	d.Errorf(b.Body.Attributes["type"].Expr.Range(), "Type not allowed here",
		"%s is sent as a string, so its type cannot be %s. Use %s.", diag.ToSentence(in.texts.phrase),
		eval.TypePhrase(m.Type), fit)
}

// ParseTexts validates inputs that were sent as strings. A string type takes the text itself, other
// types parse it as JSON. An empty text counts as absent unless the type is a plain string. It
// returns the inputs with defaults applied, or all violations.
func (w *Operation) ParseTexts(given map[string]string, time schema.Time) (map[string]any, []schema.Violation, error) {
	values := make(map[string]any, len(given))
	for name, text := range given {
		m, known := w.Input.Lookup(name)
		switch {
		case !known:
			values[name] = text // the validator rejects it
		case text != "" || !m.Optional || m.Type.Kind == schema.String && len(m.Type.Enum) == 0:
			values[name] = parseText(m.Type, text)
		}
	}
	return w.Validator.Values(values, time)
}

// ParsePartial parses inputs that are not complete yet: missing and invalid inputs are null.
func (w *Operation) ParsePartial(given map[string]string, time schema.Time) (map[string]any, error) {
	values := make(map[string]any, len(w.Input.Members))
	for _, m := range w.Input.Members {
		values[m.Name] = nil
		text, there := given[m.Name]
		if !there {
			continue
		}
		v, violations, err := m.Type.Compile().Check(parseText(m.Type, text), time)
		if err != nil {
			return nil, err
		}
		if len(violations) == 0 {
			values[m.Name] = v
		}
	}
	return values, nil
}

// parseText parses a text for a type. A text that cannot be parsed stays a string, which the
// validator rejects.
func parseText(t *schema.Type, text string) any {
	if t.Kind == schema.String {
		return text
	}
	v, err := value.Decode([]byte(text))
	if err != nil || v == nil {
		return text
	}
	return v
}
