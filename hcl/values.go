package hcl

import (
	"fmt"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// values reads what is known at load: types, variables, secrets, locals, the server.
func (l *loader) values() {
	l.variables, l.secrets, l.local = map[string]*member{}, map[string]*member{}, map[string]*member{}
	l.base = &scope{}
	for _, name := range []string{"input", "output", "step", "each", "caller", "error"} {
		l.base = l.base.without(name, name+" is known only during a call, and this is read once, when the file is loaded.")
	}
	for _, name := range []string{"var", "secret", "local"} {
		l.base = l.base.without(name, name+" cannot be read here: this is read before any value is known. Write the value itself.")
	}
	l.types = &typeSet{loader: l, blocks: map[string]block{}, done: map[string]*schema.Type{}}
	for _, b := range l.blocks["type"] {
		l.identifier("type", b.label(0), b.LabelRanges[0])
		if l.claim("type", b.label(0), b) {
			l.types.blocks[b.label(0)] = b
		}
	}
	for _, b := range l.blocks["variable"] {
		l.variable(b)
	}
	l.strayVariables()
	l.base = l.base.with("var", l.knownRoot("variable", l.variables))
	for _, b := range l.blocks["secret"] {
		l.secret(b)
	}
	l.base = l.base.with("secret", &root{noun: "secret", members: l.secrets, typ: anyType, sealed: true, partial: l.partial})
	l.locals()
	for _, name := range sortedNames(l.types.blocks) {
		b := l.types.blocks[name]
		_, diags := l.types.get(name, b.LabelRanges[0])
		l.diags = append(l.diags, adopt(diags)...)
	}
	l.server()
}

// A variableBlock is what a variable block holds beside its type.
type variableBlock struct {
	typ         *schema.Type
	Description string
	Env         string
	def         hclsyntax.Expression
}

func (v *variableBlock) spec() Spec {
	return Spec{
		special("type", "type", "What values the variable takes. Any when it is left out.", func(d *decoder, e hclsyntax.Expression) { v.typ = d.typ(e) }),
		special("default", "value", "The value when none is given. Without a default a value must be given.", func(_ *decoder, e hclsyntax.Expression) { v.def = e }),
		Attr(&v.Description, "description", "What the variable is for."),
		Attr(&v.Env, "env", "Another environment variable to read beside HATCHEL_VAR_<name>."),
	}
}

func (l *loader) variable(b block) {
	name := b.label(0)
	l.identifier("variable", name, b.LabelRanges[0])
	v := &variableBlock{typ: anyType}
	d := l.decoder(b.file)
	d.body(b.Body, v.spec(), b.DefRange())
	m := &member{typ: v.typ, known: true}
	text, source, given := l.given(name, v.Env)
	switch {
	case given:
		var problem string
		if m.value, problem = parseVariable(v.typ, text); problem != "" {
			d.errorf(b.LabelRanges[0], "Invalid variable value", "The value of %q given by %s is refused: %s.", name, source, problem)
			m.fail()
		}
	case v.def != nil:
		var ok bool
		if m.value, ok = d.variableDefault(v); !ok {
			m.fail()
		}
	default:
		d.errorf(b.LabelRanges[0], "Missing variable value", "The variable %q has no default. Give it with --var %s=…, HATCHEL_VAR_%s or a --var-file.", name, name, name)
		m.fail()
	}
	if m.value == nil && m.known {
		m.nullable = "var." + name + " is null"
	}
	l.diags = append(l.diags, d.diags...)
	if l.claim("variable", name, b) {
		l.variables[name] = m
	}
}

func (d *decoder) variableDefault(v *variableBlock) (any, bool) {
	val, ok, diags := v.typ.Default(v.def, d.typeEnv())
	d.diags = append(d.diags, adopt(diags)...)
	return val, ok
}

func (l *loader) given(name, env string) (text, source string, ok bool) {
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

// strayVariables reports values given for variables that are not declared.
func (l *loader) strayVariables() {
	for _, name := range sortedNames(l.opts.Vars) {
		if l.variables[name] == nil {
			l.diags = append(l.diags, &Diagnostic{Summary: "Unknown variable", Detail: fmt.Sprintf("A value was given for %q, and no file declares that variable.%s", name, didYouMean(name, sortedNames(l.variables)))})
		}
	}
}

// parseVariable reads a value written outside the files: a string as it is, everything else as JSON.
func parseVariable(t *schema.Type, text string) (v any, problem string) {
	v = text
	if t.Kind != schema.String && t.Kind != schema.Any {
		decoded, err := value.Decode([]byte(text))
		if err != nil {
			return nil, fmt.Sprintf("%s is needed, written as JSON", describe(t))
		}
		v = decoded
	}
	v, violations := t.Compile().Check(v)
	if len(violations) > 0 {
		var all []string
		for _, x := range violations {
			all = append(all, x.String())
		}
		return nil, strings.Join(all, "; ")
	}
	return v, ""
}

// A secretBlock is what a secret block holds.
type secretBlock struct {
	Env, File string
	Optional  bool
}

func (s *secretBlock) spec() Spec {
	return Join(
		Exactly("where the secret comes from",
			Attr(&s.Env, "env", "The environment variable that holds the secret."),
			Attr(&s.File, "file", "The file that holds the secret; one line break at its end is dropped. Relative to the folder.")),
		Spec{Attr(&s.Optional, "optional", "Whether the secret may be missing; it is null then.").Or("false")},
	)
}

func (l *loader) secret(b block) {
	name := b.label(0)
	l.identifier("secret", name, b.LabelRanges[0])
	s := &secretBlock{}
	d := l.decoder(b.file)
	d.body(b.Body, s.spec(), b.DefRange())
	m := &member{typ: stringType, known: true, sensitive: true}
	text, ok, where := l.reveal(s)
	switch {
	case ok:
		m.value = text
		l.revealed = append(l.revealed, text)
	case s.Optional:
		m.nullable = "secret." + name + " is optional and not set"
	case s.Env != "" || s.File != "":
		d.errorf(b.LabelRanges[0], "Missing secret", "The secret %q is not there: %s. Write optional = true if the tools can do without.", name, where)
		m.fail()
	default:
		m.fail()
	}
	l.diags = append(l.diags, d.diags...)
	if l.claim("secret", name, b) {
		l.secrets[name] = m
	}
}

func (l *loader) reveal(s *secretBlock) (text string, ok bool, where string) {
	if s.Env != "" {
		text, ok = l.opts.Getenv(s.Env)
		return text, ok && text != "", fmt.Sprintf("the environment variable %s is not set", s.Env)
	}
	if s.File == "" || l.opts.ReadSecret == nil {
		return "", false, "files of secrets are not read here"
	}
	content, err := l.opts.ReadSecret(s.File)
	if err != nil {
		return "", false, fmt.Sprintf("the file %s cannot be read", s.File)
	}
	text = strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	return text, text != "", fmt.Sprintf("the file %s is empty", s.File)
}

// A typeSet resolves type blocks on demand, so that their order does not matter.
type typeSet struct {
	loader *loader
	blocks map[string]block
	done   map[string]*schema.Type
	path   []string // being resolved, for cycles
}

func (s *typeSet) get(name string, r hclv2.Range) (*schema.Type, hclv2.Diagnostics) {
	fail := func(summary, format string, args ...any) (*schema.Type, hclv2.Diagnostics) {
		return nil, hclv2.Diagnostics{{Severity: hclv2.DiagError, Summary: summary, Detail: fmt.Sprintf(format, args...), Subject: &r}}
	}
	if t, ok := s.done[name]; ok {
		return t, nil
	}
	b, ok := s.blocks[name]
	if !ok {
		if s.loader.partial {
			return anyType, nil // it may be declared in a file that could not be read
		}
		return fail("Unknown type", "There is no type block %q.%s", name, suggestOr(name, sortedNames(s.blocks), thereAre(sortedNames(s.blocks))))
	}
	if contains(s.path, name) {
		return fail("Type refers to itself", "type.%s contains itself: %s. Write any where it would begin again.", name, strings.Join(append(s.path, name), " → "))
	}
	s.path = append(s.path, name)
	var t *schema.Type
	d := s.loader.decoder(b.file)
	d.body(b.Body, typeSpec(&t), b.DefRange())
	s.loader.diags = append(s.loader.diags, d.diags...)
	s.path = s.path[:len(s.path)-1]
	if t == nil {
		t = anyType
	}
	left := maxParts
	if parts(t, &left); left < 0 { // a type that is named twice in another, and that twice again, doubles with each line
		t = anyType
		s.done[name] = t
		return fail("Type too large", "type.%s has more than %d parts, those of the types in it included. Write any for some of them.", name, maxParts)
	}
	s.done[name] = t
	return t, nil
}

const maxParts = 10_000 // of a type: members and elements at every depth

// parts takes the parts of a type from left, and stops below zero.
func parts(t *schema.Type, left *int) {
	if *left--; *left < 0 || t == nil {
		return
	}
	if t.Elem != nil {
		parts(t.Elem, left)
	}
	for _, m := range t.Members {
		parts(m.Type, left)
	}
}

func typeSpec(t **schema.Type) Spec {
	return Spec{special("is", "type", "What the name stands for.", func(d *decoder, e hclsyntax.Expression) { *t = d.typ(e) }).Require()}
}

// typ reads a type expression.
func (d *decoder) typ(e hclsyntax.Expression) *schema.Type {
	t, diags := schema.ParseType(e, d.typeEnv())
	d.diags = append(d.diags, adopt(diags)...)
	return t
}

// namedType resolves type.name.
func (d *decoder) namedType(name string, r hclv2.Range) (*schema.Type, hclv2.Diagnostics) {
	if d.uses != nil {
		d.uses.types = append(d.uses.types, name)
	}
	return d.shared.types.get(name, r)
}

// digest is of everything that a type says.
func (s *typeSet) digest(name string) string {
	t := s.done[name]
	if t == nil {
		return ""
	}
	return digest("type", name, fmt.Sprint(t.Sensitive), string(t.AppendSchema(nil)))
}

// typeEnv is what type expressions of the file may refer to.
func (d *decoder) typeEnv() schema.Env {
	return schema.Env{
		Type: d.namedType,
		Eval: func(e hclv2.Expression) (any, hclv2.Diagnostics) {
			x, ok := e.(hclsyntax.Expression)
			if !ok {
				return nil, nil
			}
			n := d.compileKnown(x, Field{})
			return n.value, nil
		},
	}
}
