package program

import (
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/functions"
	"hatchel/hcl/value"
)

func (c *compiler) call(n *ast.CallNode) term {
	switch callee := n.Callee.(type) {
	case *ast.IdentifierNode:
		return c.function(renamed(callee.Value), c.at(callee), n.Arguments)
	case *ast.MemberNode:
		name, _ := callee.Property.(*ast.StringNode)
		if name != nil {
			c.problem(c.at(callee.Property), "Method call", "Values have no methods. A function takes its value as an argument: %s(%s).", name.Value, c.written(callee.Node))
			return broken(c.at(n))
		}
	}
	c.problem(c.extent(n), "Not a function", "Only functions of the table can be called.")
	return broken(c.at(n))
}

func (c *compiler) builtin(n *ast.BuiltinNode) term {
	if b := builtins[n.Name]; b.predicate && (n.Name != "sum" || len(n.Arguments) > 1) {
		return c.predicate(n)
	}
	return c.function(n.Name, c.at(n), n.Arguments)
}

// function compiles a call of the table or of a builtin without a predicate.
func (c *compiler) function(name string, at span, args []ast.Node) term {
	fn, ok := functions.Lookup(name)
	if !ok {
		b, there := builtins[name]
		if !there || b.predicate {
			c.unknownFunction(name, at)
			for _, a := range args {
				c.expr(a)
			}
			return broken(at)
		}
		fn = b.fn
	}
	if fn.LoadOnly {
		c.problem(at, "Known at load only", "%s reads the configuration's folder. Name the result in locals, as ${%s(...)} there, and read local.name here.", name, name)
		return broken(at)
	}
	if err := fn.CheckCount(len(args)); err != nil {
		c.problem(at, "Wrong number of arguments", "%v: %s.%s", err, signature(fn), elsewhere[name])
		return broken(at)
	}
	terms := make([]term, len(args))
	for i, a := range args {
		terms[i] = c.expr(a)
		p, _ := fn.Param(i)
		c.takes(fn, p, a, terms[i])
	}
	c.advise(name, at, terms, args)
	return term{shape: resultShape(fn, terms), at: at, eval: invoke(fn, terms)}
}

// What else a call may have meant that has the wrong number of arguments.
var elsewhere = map[string]string{"trim": " White space is removed by trimspace(text)."}

func signature(fn *functions.Function) string {
	var b strings.Builder
	b.WriteString(fn.Name + "(")
	for i, p := range fn.Params {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strings.ReplaceAll(p.Name, " ", "_"))
		switch {
		case p.Variadic:
			b.WriteString("...")
		case p.Optional:
			b.WriteString("?")
		}
	}
	return b.String() + ")"
}

func kindOf(k functions.Kind) Kind {
	switch k {
	case functions.String:
		return String
	case functions.Number:
		return Number
	case functions.Integer:
		return Integer
	case functions.Bool:
		return Bool
	case functions.List:
		return List
	case functions.Object:
		return Object
	case functions.Bytes:
		return Bytes
	}
	return Any
}

func (c *compiler) takes(fn *functions.Function, p functions.Param, n ast.Node, t term) {
	k := kindOf(p.Kind)
	switch {
	case p.Kind == functions.Any:
	case p.Kind == functions.Data && (t.shape.can(String) || t.shape.can(Bytes)) && !t.shape.Nullable:
	case p.Kind == functions.Data && t.shape.Nullable:
		c.mayBeNull(n)
	case k == Any || !t.shape.can(k):
		c.problem(c.extent(n), "Wrong argument type", "%s: the %s must be %s, this is %s.", fn.Name, p.Name, p.Kind, kindWords[t.shape.Kind])
	case t.shape.Nullable:
		c.mayBeNull(n)
	}
}

// advise warns of the argument order that other expr programs have.
func (c *compiler) advise(name string, at span, terms []term, args []ast.Node) {
	if name != "split" || len(terms) != 2 || terms[0].known || !terms[1].known {
		return
	}
	c.problem(at, "Separator comes first", "split takes the separator first: write split(%s, %s).", c.written(args[1]), c.written(args[0]))
	c.problems[len(c.problems)-1].Warning = true
}

func (c *compiler) unknownFunction(name string, at span) {
	if hint := gone[name]; hint != "" {
		c.problem(at, "Unknown function", "There is no function %q here: %s", name, hint)
		return
	}
	if instead := functions.Instead(name); instead != "" {
		c.problem(at, "Unknown function", "There is no function %q. Write %s.", name, instead)
		return
	}
	var candidates []string
	for _, f := range functions.Table() {
		candidates = append(candidates, f.Name)
	}
	for _, b := range Builtins() {
		candidates = append(candidates, b.Name)
	}
	c.problem(at, "Unknown function", "There is no function %q.%s", name, didYouMean(name, candidates))
}

func resultShape(fn *functions.Function, args []term) *Shape {
	first := anything
	if len(args) > 0 {
		first = args[0].shape.notNull()
	}
	switch fn.Result.Follow {
	case functions.SameAsFirst:
		return first
	case functions.ElemOfFirst:
		return orNullable(first.elem(), fn.Result)
	case functions.ListOfFirst:
		return listOf(first)
	case functions.Unify:
		s := first
		for _, a := range args {
			s = unify(s, a.shape.notNull())
		}
		return s
	}
	s := &Shape{Kind: kindOf(fn.Result.Kind)}
	if s.Kind == Object {
		s.Kind = Map // its members are not known
	}
	if s.Kind == List {
		s.Elem = &Shape{Kind: kindOf(fn.Result.Elem)}
		if s.Elem.Kind == Object {
			s.Elem.Kind = Map
		}
	}
	return orNullable(s, fn.Result)
}

func orNullable(s *Shape, r functions.Result) *Shape {
	if r.Nullable {
		return s.orNull()
	}
	return s
}

func invoke(fn *functions.Function, args []term) eval {
	evals := make([]eval, len(args))
	for i, a := range args {
		evals[i] = a.eval
	}
	return func(f *frame) (any, error) {
		base := len(f.args) // after an error the frame is not used again
		work := 1
		for _, e := range evals {
			v, err := e(f)
			if err != nil {
				return nil, err
			}
			switch v := v.(type) {
			case string:
				work += len(v) / 64
			case []any:
				work += len(v) / 4
			case value.Bytes:
				work += len(v) / 64
			}
			f.args = append(f.args, v)
		}
		if err := f.tick(work); err != nil {
			return nil, err
		}
		v, err := fn.Call(&f.call, f.args[base:])
		f.args = f.args[:base]
		if errors.Is(err, functions.ErrMemory) {
			return nil, fmt.Errorf("%s: %s", fn.Name, sentence(err))
		}
		return v, err
	}
}
