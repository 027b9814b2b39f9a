package hclexpr

import (
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/exprlang"
	"hatchel/hcl/template"
)

// Program is an expr program in an argument, which computes a value from the values of a call.
type Program struct {
	program *exprlang.Program
	reads   []string // the roots that it reads
	// the members that are read of roots that no Frame holds, var and local
	members map[string]map[string]*eval.Member
	Range   diag.Range
}

// Eval computes the program. Its root output reads output. The error is a sentence for the model.
func (p *Program) Eval(f *eval.Frame, output any) (any, error) {
	return p.eval(f, output, make(map[string]any, len(p.reads)))
}

func (p *Program) eval(f *eval.Frame, output any, roots map[string]any) (any, error) {
	if err := p.rootValues(roots, f, output); err != nil {
		return nil, err
	}
	return p.program.Run(f.Context, roots)
}

// Condition is an expr program that gives true or false.
type Condition struct{ Program }

// Eval computes the condition. Its root output reads output.
func (c *Condition) Eval(f *eval.Frame, output any) (bool, error) {
	v, err := c.Program.Eval(f, output)
	if err != nil {
		return false, err
	}
	b, _ := v.(bool)
	return b, nil
}

// EvalBuffer computes conditions without allocating for each. The zero EvalBuffer is ready for use;
// it belongs to one goroutine.
type EvalBuffer struct{ roots map[string]any }

// Eval computes a condition that does not read output.
func (r *EvalBuffer) Eval(c *Condition, f *eval.Frame) (bool, error) {
	if r.roots == nil {
		r.roots = make(map[string]any, 8)
	}
	v, err := c.eval(f, nil, r.roots)
	if err != nil {
		return false, err
	}
	b, _ := v.(bool)
	return b, nil
}

// Source is the text of the program.
func (p *Program) Source() string { return p.program.Source() }

// Reads reports whether the program reads a root.
func (p *Program) Reads(root string) bool { return slices.Contains(p.reads, root) }

// DependsOnCall reports whether the program reads inputs, or locals that are computed for a call.
func (p *Program) DependsOnCall() bool {
	if p.Reads("input") {
		return true
	}
	for _, members := range p.members {
		for _, m := range members {
			if !m.Known {
				return true
			}
		}
	}
	return false
}

// Digest is a digest of the program and of everything that it reads and that is known at load.
func (p *Program) Digest() string {
	parts := []string{p.Source()}
	for _, members := range p.members {
		for _, m := range members {
			parts = append(parts, m.Digest)
		}
	}
	slices.Sort(parts)
	return eval.HashParts(parts...)
}

// rootValues sets the roots that the program reads.
func (p *Program) rootValues(roots map[string]any, f *eval.Frame, output any) error {
	for _, name := range p.reads {
		switch name {
		case "input":
			roots[name] = f.Input
		case "output":
			roots[name] = output
		case "step":
			roots[name] = f.Steps
		case "caller":
			roots[name] = f.Caller
		case "tool":
			roots[name] = f.Tool
		case "each":
			if f.Each != nil {
				roots[name] = map[string]any{"key": f.Each.Key, "value": f.Each.Value}
			}
		default:
			values := make(map[string]any, len(p.members[name]))
			for member, m := range p.members[name] {
				v, err := m.Resolve(f)
				if err != nil {
					return err
				}
				values[member] = v
			}
			roots[name] = values
		}
	}
	return nil
}

// CompileCondition compiles a program that gives true or false. Known is what is not null where it
// stands; name is the name of its argument.
func (c *Compiler) CompileCondition(e hclsyntax.Expression, known *eval.NonNull, name string) *Condition {
	return &Condition{*c.CompileProgram(e, known, name, exprlang.WantBool)}
}

// CompileProgram compiles a program, which must be a literal text, and places its problems in the
// file. Known is what is not null where it stands; name is the name of its argument.
func (c *Compiler) CompileProgram(e hclsyntax.Expression, known *eval.NonNull, name string,
	want exprlang.Want) *Program {
	out := &Program{Range: diag.RangeOf(e.Range())}
	t, ok := e.(*hclsyntax.TemplateExpr)
	if !ok || !t.IsStringLiteral() && !isPlainText(t) {
		c.Errorf(e.Range(), "Program needed", "%s is an expr program: write it in quotes, without ${...}: %s = %s.",
			name, name, c.asProgram(e))
		return out
	}
	text := c.programText(t)
	p, problems := c.env.Programs.Compile(text.Value, c.programEnv(known), want)
	for _, x := range problems {
		severity := diag.Error
		if x.Warning {
			severity = diag.Warning
		}
		from, to := min(x.Offset, len(text.Value)), min(x.Offset+x.Length, len(text.Value))
		if local, secret := c.secretLocal(text.Value[:to]); secret && !x.Warning {
			x.Summary, x.Detail = "Secret in a program",
				local+" holds a secret, which a program cannot read. Use it where a secret is allowed, as in a "+
					"header or env: ${"+local+"}."
		}
		if why := c.laterStepReason(text.Value[:from], text.Value[from:to]); why != "" && !x.Warning {
			x.Summary, x.Detail = "Value not available here", why
		}
		c.Diags = append(c.Diags, &diag.Diagnostic{Severity: severity, Summary: x.Summary, Detail: x.Detail,
			Subject: diag.RangeOf(text.Place(from, to))})
	}
	if p == nil {
		return out
	}
	out.program = p
	c.recordReads(out)
	return out
}

// asProgram writes an expression as a program, for suggestions.
func (c *Compiler) asProgram(e hclsyntax.Expression) string {
	src := strings.TrimSpace(c.sourceText(e.Range()))
	inner, opened := strings.CutPrefix(src, `"`)
	if inner, closed := strings.CutSuffix(inner, `"`); opened && closed {
		src = strings.NewReplacer("${", "", "}", "", `\"`, "'").Replace(inner)
	}
	return `"` + strings.ReplaceAll(src, `"`, "'") + `"`
}

func isPlainText(t *hclsyntax.TemplateExpr) bool {
	for _, p := range t.Parts {
		l, ok := p.(*hclsyntax.LiteralValueExpr)
		if !ok {
			return false
		}
		if _, isText := LiteralValue(l.Val).(string); !isText {
			return false
		}
	}
	return true
}

// programText is the text of a program, with the places of its bytes.
func (c *Compiler) programText(t *hclsyntax.TemplateExpr) *template.Text {
	if nodes := c.compileNodes(t, LexicalEnv{}); len(nodes) == 1 {
		if text, ok := nodes[0].(*template.Text); ok {
			return text
		}
	}
	return &template.Text{Place: func(int, int) hclv2.Range { return t.Range() }}
}

// recordReads records what the program reads.
func (c *Compiler) recordReads(p *Program) {
	seen := map[string]bool{}
	for _, path := range p.program.Reads() {
		name := path[0]
		r, _ := c.Scope.Find(name)
		if r == nil {
			continue
		}
		if name == "caller" && c.deps != nil {
			c.deps.Caller = true
		}
		if len(path) > 2 && name == "caller" && path[1] == "headers" {
			c.checkCallerHeader(path[2], p.Range)
		}
		if !seen[name] {
			seen[name] = true
			p.reads = append(p.reads, name)
		}
		for key, m := range r.Members {
			if len(path) > 1 && path[1] != key || m.Sensitive {
				continue
			}
			c.markUse(m)
			if p.members == nil {
				p.members = map[string]map[string]*eval.Member{}
			}
			if p.members[name] == nil {
				p.members[name] = map[string]*eval.Member{}
			}
			p.members[name][key] = r.Members[key]
		}
	}
}

// laterStepReason says why a step cannot be read where a program names it, or "".
func (c *Compiler) laterStepReason(before, name string) string {
	r, _ := c.Scope.Find("step")
	if r == nil || !strings.HasSuffix(before, "step.") || r.Members[name] != nil {
		return ""
	}
	return r.Unavailable[name]
}

// secretLocal reports whether a text ends with a local that holds a secret, which programs cannot
// read.
func (c *Compiler) secretLocal(text string) (name string, secret bool) {
	i := strings.LastIndex(text, "local.")
	r, _ := c.Scope.Find("local")
	if i < 0 || r == nil {
		return "", false
	}
	m := r.Members[text[i+len("local."):]]
	return text[i:], m != nil && m.Sensitive
}

// NonNullWhenTrue returns the traversals that are certainly not null if the condition is true. A
// nil Condition has none.
func (c *Condition) NonNullWhenTrue() [][]string {
	if c == nil || c.program == nil {
		return nil
	}
	return c.program.NonNullWhenTrue()
}

// NonNullWhenFalse returns the traversals that are certainly not null if the condition is false. A
// nil Condition has none.
func (c *Condition) NonNullWhenFalse() [][]string {
	if c == nil || c.program == nil {
		return nil
	}
	return c.program.NonNullWhenFalse()
}
