package hcl

import (
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// Completion provides suggestions for an input: constant values, or the output of a backend whose
// inputs are the typed text and the other inputs, each a string or null.
type Completion struct {
	Operation
	Values []string
	// a list of strings; nil for the first column, the lines or the list of the output
	Result *Program
}

// completeFields declare the argument and the block complete, which decodeCompletion reads.
func completeFields() decode.Spec {
	const doc = "The suggestions while a user types the value: a constant list, or a block with a backend " +
		"that looks them up."
	return decode.Spec{
		decode.Custom("complete", "list of texts", doc, func(*decode.Decoder, hclsyntax.Expression) {}),
		{Name: "complete", Doc: doc, NestedSpec: func() decode.Spec { return completeSpec(&Completion{}) },
			DecodeBlock: func(*decode.Decoder, *hclsyntax.Block) {}},
	}
}

// completeSpec is the spec of a complete block without its backend.
func completeSpec(c *Completion) decode.Spec { return decode.Join(c.headSpec(), c.resultSpec()) }

func (c *Completion) headSpec() decode.Spec {
	c.Timeout = 5 * time.Second
	return decode.Spec{decode.PositiveDuration(&c.Timeout, "timeout", "The timeout of a lookup.").DefaultDoc("5s")}
}

func (c *Completion) resultSpec() decode.Spec {
	return decode.Spec{decode.Attr(&c.Result, "result", "The list of suggestions. By default the first column of the "+
		"rows, the lines, or the list that the backend returns.")}
}

// decodeCompletion reads the completion of an input. A block is decoded after all inputs, because
// it can read them.
func (in *inputs) decodeCompletion(d *decode.Decoder, m *schema.Member, b *hclsyntax.Block) {
	written, block := b.Body.Attributes["complete"], decode.FindBlock(b.Body, "complete")
	switch {
	case written == nil && block == nil:
	case written != nil && block != nil:
		d.Errorf(block.DefRange(), "Two completions",
			"complete = … already lists the values. Remove it or the complete block.")
	case m.Type.Kind != schema.String && m.Type.Kind != schema.Integer && m.Type.Kind != schema.Number:
		more := "complete lists strings and numbers."
		if m.Type.Kind == schema.Bool {
			more = "true and false are suggested automatically."
		}
		d.Errorf(b.Body.Attributes["type"].Expr.Range(), "Nothing to complete", "This %s is %s: %s", in.noun,
			eval.TypePhrase(m.Type), more)
	case written != nil:
		in.setCompletion(m.Name, &Completion{Values: completionValues(d, m, written)})
	default:
		if in.completionBlocks == nil {
			in.completionBlocks = map[string]*hclsyntax.Block{}
		}
		in.completionBlocks[m.Name] = block
	}
}

func (in *inputs) setCompletion(name string, c *Completion) {
	w := in.operation.op
	if w.Completions == nil {
		w.Completions = map[string]*Completion{}
	}
	w.Completions[name] = c
}

// completionValues reads the constant suggestions, each of which must be a valid value of the
// input.
func completionValues(d *decode.Decoder, m *schema.Member, a *hclsyntax.Attribute) (values []string) {
	elems, _ := d.Known(a.Expr, decode.Field{Name: "complete"}, "list").([]any)
	valid := m.Type.Compile()
	for _, v := range elems {
		if !value.IsNumber(v) && eval.TypeOf(v) != eval.StringType {
			d.Errorf(a.Expr.Range(), "Wrong type", "complete is a list of strings, and one element is %s.",
				eval.ValuePhrase(v))
			return values
		}
		text, err := value.Text(v)
		if err != nil {
			continue
		}
		if _, violations, _ := valid.Check(parseText(m.Type, text), schema.Unlimited); len(violations) > 0 {
			d.Errorf(a.Expr.Range(), "Invalid suggestion", "The suggestion %q would be rejected: it %s.", text,
				violations[0].Message)
			continue
		}
		values = append(values, text)
	}
	return values
}

// decodeCompletions decodes the complete blocks of the inputs.
func (w *operationDecoder) decodeCompletions() {
	for _, m := range w.op.Input.Members {
		if b := w.inputs.completionBlocks[m.Name]; b != nil {
			w.inputs.setCompletion(m.Name, w.decodeCompletionBlock(m, b))
		}
	}
}

// decodeCompletionBlock decodes one complete block. It reads the inputs as the typed strings.
func (w *operationDecoder) decodeCompletionBlock(m *schema.Member, b *hclsyntax.Block) *Completion {
	out := &Completion{}
	c := newOperationDecoder(w.loader, sourceBlock{Block: b, file: w.block.file}, "completion", &out.Operation)
	out.Name = w.op.Name + "." + m.Name
	c.inputs.noun, c.singleBackend = w.inputs.noun, true
	d := c.dec
	c.deps, d.Deps, d.Observer = w.deps, w.dec.Deps, w.dec.Observer
	for _, other := range w.op.Input.Members {
		c.inputs.members = append(c.inputs.members, &schema.Member{Name: other.Name, Type: eval.StringType,
			Optional: other.Name != m.Name})
	}
	c.op.Input = schema.ObjectOf(c.inputs.members...)
	c.op.Validator = c.op.Input.Compile()

	d.CheckNames(b, completeSpec(out), c.loader.blockSpecs.backends)
	d.Fields(b, out.headSpec())
	d.Scope = c.scope()
	c.decodeSteps()
	switch {
	case len(out.Steps) == 0 && !d.Diags.HasErrors():
		d.Errorf(b.DefRange(), "Missing backend", "A complete block has one backend that looks up the values. For "+
			"constant values write `complete = [\"a\", \"b\"]`.")
	case len(out.Steps) == 1 && !out.Steps[0].Backend.Effects.Default.isSet() && !c.has("result"):
		d.Errorf(b.DefRange(), "No result",
			"The output of this backend has no list. Set result to an expression that returns a list of strings.")
	}
	d.Fields(b, out.resultSpec())
	c.requireReadOnly("A completion runs on every keystroke")
	c.requireWhole()
	out.Digest = c.digest()
	w.dec.Diags = append(w.dec.Diags, d.Diags...)
	return out
}

// Completion returns the completion of an input, declared or derived from its type; nil for none.
func (w *Operation) Completion(input string) *Completion {
	if c := w.Completions[input]; c != nil {
		return c
	}
	m, known := w.Input.Lookup(input)
	switch {
	case !known:
		return nil
	case len(m.Type.Enum) > 0:
		return &Completion{Values: enumTexts(m.Type)}
	case m.Type.Kind == schema.Bool:
		return &Completion{Values: []string{"true", "false"}}
	}
	return nil
}
