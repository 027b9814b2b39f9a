package hcl

import (
	"fmt"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/syntax"
	"hatchel/hcl/value"
)

// variableBlock is a variable block without its type.
type variableBlock struct {
	typ         *schema.Type
	Description string
	Env         string
	def         hclsyntax.Expression
}

func (v *variableBlock) spec() decode.Spec {
	return decode.Spec{
		decode.Custom("type", "type", "The type of the variable. By default any.",
			func(d *decode.Decoder, e hclsyntax.Expression) {
				v.typ = d.DecodeType(e)
				d.RejectFileType(v.typ, e, "a variable")
			}),
		decode.Custom("default", "value", "The value if none is set. Without a default the variable is required.",
			func(_ *decode.Decoder, e hclsyntax.Expression) { v.def = e }),
		decode.Attr(&v.Description, "description", "The purpose of the variable."),
		decode.Attr(&v.Env, "env", "An additional environment variable to read, besides HATCHEL_VAR_<name>."),
	}
}

// decodeVariables decodes the variable blocks.
func (l *loader) decodeVariables() {
	l.eachBlock("variable", l.decodeVariable)
	l.checkStrayVariables()
	l.base = l.base.With("var", l.knownRoot("variable", l.variables))
}

func (l *loader) decodeVariable(d *decode.Decoder, b sourceBlock) {
	name := b.Labels[0]
	checkIdentifier(&l.diags, "variable", name, labelRange(b.Block))
	v := &variableBlock{typ: eval.AnyType}
	d.Body(b.Block, v.spec())
	m := &eval.Member{Type: v.typ, Facts: eval.Facts{Known: true}}
	text, source, given := l.givenValue(name, v.Env)
	switch {
	case given:
		m.Supplied = true
		var problem string
		if m.Value, problem = parseVariable(v.typ, text); problem != "" {
			d.Errorf(b.LabelRanges[0], "Invalid variable value", "The value of %q from %s is invalid: %s.", name,
				source, problem)
			m.MarkFailed()
		}
	case v.def != nil:
		var ok bool
		if m.Value, ok = v.typ.Default(v.def, d.TypeEnv()); !ok {
			m.MarkFailed()
		}
	case l.opts.UnsetVars:
		m.MarkFailed()
		m.Missing = []*eval.Missing{{}}
	default:
		detail := fmt.Sprintf(
			"The variable %[1]q has no default. Set it with --var %[1]s=…, HATCHEL_VAR_%[1]s or a --var-file.", name)
		l.declareMissing(m, diag.MissingVariable, fmt.Sprintf("variable %q", name), labelRange(b.Block),
			"Missing variable value", detail)
	}
	if v.def != nil {
		v.refuseCredential(d, name)
		m.Supplied = m.Supplied || d.Diags.Credentials() != nil
	}
	if m.Value == nil && m.Known {
		m.NullReason = "var." + name + " is null"
	}
	if l.declare("variable", name, b) {
		l.variables[name] = m
	}
}

// refuseCredential reports a default that is a credential by the name of the variable, also if another value is set.
func (v *variableBlock) refuseCredential(d *decode.Decoder, name string) {
	quiet := *d
	quiet.Diags = nil
	quiet.CompileKnown(v.def, decode.Field{Name: name, Secret: true})
	for _, x := range quiet.Diags {
		if x.Credential != nil && d.Diags.Credentials() == nil {
			d.Diags = append(d.Diags, x)
		}
	}
}

func (l *loader) givenValue(name, env string) (text, source string, ok bool) {
	if text, ok = l.opts.Vars[name]; ok {
		return text, "--var or --var-file", true
	}
	for _, key := range []string{"HATCHEL_VAR_" + name, env} {
		if key == "" {
			continue
		}
		if text, ok = l.opts.Getenv(key); ok {
			return text, "the environment variable " + key, true
		}
	}
	return "", "", false
}

// checkStrayVariables reports values given for variables that are not declared.
func (l *loader) checkStrayVariables() {
	for _, name := range diag.SortedNames(l.opts.Vars) {
		if l.variables[name] == nil && !l.opts.AnyVars {
			l.diags.Errorf(Range{}, "Unknown variable",
				"A value is set for %q, but no file declares that variable.%s", name,
				diag.DidYouMean(name, diag.SortedNames(l.variables)))
		}
	}
}

// parseVariable parses a value set outside the files: a string as it is, other types as JSON.
func parseVariable(t *schema.Type, text string) (v any, problem string) {
	v = text
	if t.Kind != schema.String && t.Kind != schema.Any {
		decoded, err := value.Decode([]byte(text))
		if err != nil {
			return nil, fmt.Sprintf("%s is needed, written as JSON", eval.TypePhrase(t))
		}
		v = decoded
	}
	v, violations, _ := t.Compile().Check(v, schema.Unlimited)
	return v, joinViolations(violations)
}

// ParseVars parses a variables file with lines `name = value`, like Terraform's .tfvars. Values
// that are not strings are returned as JSON.
func ParseVars(name string, src []byte) (map[string]string, Diagnostics) {
	body, diags := syntax.Parse(name, src)
	if diags.HasErrors() {
		return nil, diags
	}
	vars := map[string]string{}
	d := &decode.Decoder{Env: &decode.Env{}, Src: src}
	for _, b := range body.Blocks {
		d.Errorf(b.TypeRange, "Unexpected block", "A variables file contains names and values: `name = value`.")
	}
	for _, a := range sortedAttributes(body.Attributes) {
		key := a.Name
		n := d.CompileKnown(a.Expr, decode.Field{})
		if text, ok := n.Value.(string); ok {
			vars[key] = text
			continue
		}
		b, err := value.AppendJSON(nil, n.Value)
		if err != nil {
			d.Errorf(a.Expr.Range(), "Invalid value", "The value of %q cannot be written as JSON.", key)
		}
		vars[key] = string(b)
	}
	return vars, d.Diags.Sort()
}
