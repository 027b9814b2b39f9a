package eval_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/expr-lang/expr/parser/operator"
	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/eval"
	"hatchel/hcl/eval/exprlang"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/functions"
	"hatchel/hcl/template"
)

// factCase is one fact that a test gives to the member x.y, and how it is found again.
type factCase struct {
	name string
	set  func(*eval.Facts)
	// has reports whether the facts of an expression have it; whole are the limits that must cut nothing.
	has func(f eval.Facts, whole []*eval.Cut) bool
	// lost are the forms that end the fact, each with a rule that says so.
	lost []string
	// refused is the summary of the diagnostic of forms that refuse a value with the fact; empty for none.
	refused string
	operand string // that has the fact; empty for x.y
}

func (c factCase) source(form, operand string) string {
	return strings.ReplaceAll(strings.ReplaceAll(form, "%s", operand), "%%", "%")
}

// isRefusal reports whether an error says that a value with the fact is refused.
func (c factCase) isRefusal(err error) bool {
	return c.refused != "" && err != nil && strings.HasPrefix(err.Error(), c.refused)
}

var cut = &eval.Cut{Member: "y"}

var factCases = []factCase{
	{"call", func(f *eval.Facts) { f.Call = true }, func(f eval.Facts, _ []*eval.Cut) bool { return f.Call }, nil, "", ""},
	{"sensitive", func(f *eval.Facts) { f.Sensitive = true },
		func(f eval.Facts, _ []*eval.Cut) bool { return f.Sensitive }, nil, "", ""},
	{"supplied", func(f *eval.Facts) { f.Supplied = true },
		func(f eval.Facts, _ []*eval.Cut) bool { return f.Supplied }, nil, "", ""},
	{"caller", func(f *eval.Facts) { f.CallerSpecific = true },
		func(f eval.Facts, _ []*eval.Cut) bool { return f.CallerSpecific },
		[]string{"try(", "can("}, "", ""}, // the fallback is for callers without the value
	{"cut", func(f *eval.Facts) { f.Cuts = []*eval.Cut{cut} }, func(f eval.Facts, whole []*eval.Cut) bool {
		return slices.Contains(slices.Concat(f.HeldCuts(), whole), cut)
	}, []string{"%s[0]", "first("}, "", ""}, // a limit leaves the first element
	{"cut inside", func(f *eval.Facts) { f.Elem = &eval.Facts{Cuts: []*eval.Cut{cut}} },
		func(f eval.Facts, whole []*eval.Cut) bool {
			return slices.Contains(slices.Concat(f.HeldCuts(), whole), cut)
		}, []string{"length(", "len(", "keys(", "for v in %s : 1"}, "", ""}, // they look at which elements there are
	{"masked", func(f *eval.Facts) { f.Masked = []*eval.Mask{mask} }, hasMask, counting, eval.MaskedDecides, ""},
	{"masked inside", func(f *eval.Facts) { f.Elem = &eval.Facts{Masked: []*eval.Mask{mask}} }, hasMask,
		[]string{"length(", "len(", "keys(", "for v in %s : 1"}, eval.MaskedDecides, ""},
	{"masked by its name", func(f *eval.Facts) {
		output := eval.TypedExpr{Type: eval.AnyType, Facts: eval.Facts{Covers: eval.CoverOutput(eval.Masks{{Mask: mask}})}}
		*f = output.MemberFacts("rows")
	}, hasMask, counting, eval.MaskedDecides, "x.y.email"},
	{"masked by its path", func(f *eval.Facts) {
		output := eval.TypedExpr{Type: eval.AnyType, Facts: eval.Facts{Covers: eval.CoverOutput(eval.Masks{{Mask: mask}})}}
		*f = output.MemberFacts("rows")
	}, hasMask, counting, eval.MaskedDecides, "x.y[0].customer.phone"},
}

// counting are the forms that count the elements of a list in which one is masked.
var counting = []string{"length(", "len(", "keys("}

var mask = newMask("email", "customer.*")

func newMask(members ...string) *eval.Mask {
	m := &eval.Mask{Name: "contact", With: eval.MaskHide}
	m.SetMembers(members)
	return m
}

func hasMask(f eval.Facts, _ []*eval.Cut) bool {
	return slices.Contains(eval.TypedExpr{Type: eval.AnyType, Facts: f}.HeldMasks(), mask)
}

// hclForms are the operators of HCL; %s is an operand.
var hclForms = strings.Split(`(%s)
%s.m
%s["m"]
%s[0]
%s[1]
%s[*].m
%s[*]
[1, 2][%s]
{ a = 1 }[%s]
{ a = %s }
{ (%s) = 1 }
{ a = %s }.a
[%s]
[1, %s]
[%s][0]
[for v in %s : v]
[for v in %s : 1]
[for k, v in %s : "${k}"]
[for v in [1] : %s]
[for v in [1] : v if %s]
{ for k, v in %s : k => v }
{ for v in ["a"] : v => %s }
{ for v in ["a"] : v => %s... }
{ for v in [1] : %s => 1 }
%s ? 1 : 2
true ? %s : 2
x.free ? %s : 2
x.free ? 1 : %s
"${%s}"
"a${%s}b"
"%%{if %s}a%%{endif}"
"%%{for v in %s}${v}%%{endfor}"
"%%{for v in [1]}${%s}%%{endfor}"
"%%{if x.free}${%s}%%{else}b%%{endif}"
try(%s, 1)
try(1, %s)
can(%s)
filename(%s)
under("a", %s)
!%s
-%s
%s + 1
1 - %s
%s * 2
2 / %s
%s %% 2
%s < 1
1 <= %s
%s > 1
1 >= %s
%s == 1
1 != %s
%s && true
true && %s
%s || false
false || %s`, "\n")

// programForms are the operators of programs other than binary and unary ones, which their parser lists.
var programForms = strings.Split(`(%s)
%s.m
%s?.m
%s["m"]
%s[0]
%s[1]
%s[-1]
[1, 2][%s]
{a: 1}[%s]
{a: %s}
{(%s): 1}
{a: %s}.a
[%s]
[%s][0]
%s[:1]
%s[1:]
[1, 2][%s:]
%s ? 1 : 2
x.free ? %s : 2
x.free ? 1 : %s
let v = %s; v
let v = %s; v + 1
let v = 1; %s
if %s { 1 } else { 2 }`, "\n")

// argumentOf returns an argument for a parameter in both languages.
func argumentOf(p functions.Param) string {
	switch {
	case p.Only != "":
		return fmt.Sprintf("%q", p.Only)
	case p.Name == "pattern":
		return `"a"`
	}
	return "x.free"
}

// callForms returns the calls of a function with an operand as each of its arguments.
func callForms(fn *functions.Function) (forms []string) {
	params := fn.Params
	for i := range params {
		args := make([]string, len(params))
		for j, p := range params {
			args[j] = argumentOf(p)
		}
		args[i] = "%s"
		forms = append(forms, fn.Name+"("+strings.Join(args, ", ")+")")
	}
	return forms
}

func allHCLForms() []string {
	forms := slices.Clone(hclForms)
	for _, fn := range functions.Table() {
		if !fn.LoadOnly {
			forms = append(forms, callForms(&fn)...)
		}
	}
	return forms
}

func allProgramForms() []string {
	forms := slices.Clone(programForms)
	for name := range operator.Binary {
		if name != "|" {
			forms = append(forms, "%s "+name+" x.free", "x.free "+name+" %s")
		}
	}
	for name := range operator.Unary {
		forms = append(forms, name+" %s")
	}
	for _, fn := range functions.Table() {
		if !fn.LoadOnly {
			forms = append(forms, callForms(&fn)...)
		}
	}
	for _, b := range exprlang.Builtins() {
		inside := strings.TrimSuffix(b.Usage[strings.Index(b.Usage, "(")+1:], ")")
		params := strings.Split(inside, ", ")
		for i := range params {
			args := slices.Clone(params)
			for j, p := range params {
				switch {
				case i == j:
					args[j] = "%s"
				case strings.HasPrefix(p, "predicate"):
					args[j] = "#.m"
				case strings.HasPrefix(p, "order"):
					args[j] = `"asc"`
				default:
					args[j] = "x.free"
				}
			}
			forms = append(forms, b.Name+"("+strings.Join(args, ", ")+")")
		}
	}
	slices.Sort(forms)
	return forms
}

// scopeWith returns a scope in which x.y has a fact, and x.free none.
func scopeWith(set func(*eval.Facts)) (*eval.Scope, *eval.Root) {
	value := func(*eval.Frame) (any, error) { return nil, nil }
	y, free := &eval.Member{Type: eval.AnyType, Eval: value}, &eval.Member{Type: eval.AnyType, Eval: value}
	set(&y.Facts)
	r := &eval.Root{Noun: "member", Type: eval.AnyType, Members: map[string]*eval.Member{"y": y, "free": free}}
	return (&eval.Scope{}).With("x", r).DuringCall().WithSecrets(eval.AllowSecrets), r
}

// compileHCL returns the facts of an expression, and the limits that must cut nothing of what it reads.
func compileHCL(src string, scope *eval.Scope) (f eval.Facts, whole []*eval.Cut, err error) {
	e, diags := hclsyntax.ParseExpression([]byte(src), "a.hcl", hclv2.InitialPos)
	if diags.HasErrors() {
		return f, nil, diags
	}
	deps := &eval.Dependencies{}
	c := hclexpr.NewCompiler(&hclexpr.CompileEnv{Dir: "/srv/config"}, []byte(src), scope, deps)
	c.Nulls = eval.PrintNull
	f = c.Compile(e, hclexpr.LexicalEnv{}).Facts
	if c.Diags.HasErrors() {
		return f, nil, fmt.Errorf("%s: %s", c.Diags[0].Summary, c.Diags[0].Detail)
	}
	for cut := range deps.Whole {
		whole = append(whole, cut)
	}
	return f, slices.Concat(whole, deps.Delivered), nil
}

func compileProgram(src string, root *eval.Root) (f eval.Facts, whole []*eval.Cut, err error) {
	p, problems := exprlang.Compile(src, exprlang.Env{Roots: map[string]*eval.Root{"x": root}}, exprlang.WantAny)
	if p == nil {
		return f, nil, fmt.Errorf("%s: %s", problems[0].Summary, problems[0].Detail)
	}
	return p.Facts, slices.Concat(p.Whole, p.CutReads), nil
}

// A fact of a value reaches every expression that contains it, unless a rule of the form says otherwise.
func TestFactsReachWhatContainsThem(t *testing.T) {
	for _, fact := range factCases {
		scope, root := scopeWith(fact.set)
		for _, form := range allHCLForms() {
			checkFact(t, "HCL", fact, form, func(src string) (eval.Facts, []*eval.Cut, error) {
				return compileHCL(src, scope)
			})
		}
		for _, form := range allProgramForms() {
			if fact.name != "sensitive" { // a program reads no secret
				checkFact(t, "program", fact, form, func(src string) (eval.Facts, []*eval.Cut, error) {
					return compileProgram(src, root)
				})
			}
		}
	}
}

func checkFact(t *testing.T, language string, fact factCase, form string,
	compile func(string) (eval.Facts, []*eval.Cut, error)) {
	t.Helper()
	src := fact.source(form, cmp.Or(fact.operand, "x.y"))
	f, whole, err := compile(src)
	if fact.isRefusal(err) {
		return
	}
	if err != nil {
		t.Errorf("%s: %s: %v", language, src, err)
		return
	}
	isLost := slices.ContainsFunc(fact.lost, func(part string) bool { return strings.Contains(form, part) })
	if !isLost && !fact.has(f, whole) {
		t.Errorf("%s: %s is not %s", language, src, fact.name)
	}
}

// Facts reach through random nestings, too.
func TestFactsReachThroughNestings(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 24))
	for _, fact := range append(slices.Clone(factCases[:5]), factCases[6], factCases[8]) {
		scope, root := scopeWith(fact.set)
		compiled := 0
		for range 3000 {
			forms, program := allForms.hcl, false
			if random.IntN(2) == 0 && fact.name != "sensitive" {
				forms, program = allForms.program, true
			}
			src, ends := cmp.Or(fact.operand, "x.y"), false
			for range 2 + random.IntN(3) {
				form := forms[random.IntN(len(forms))]
				ends = ends || slices.ContainsFunc(fact.lost, func(part string) bool { return strings.Contains(form, part) })
				src = fact.source(form, "("+src+")")
			}
			compile := func() (eval.Facts, []*eval.Cut, error) { return compileHCL(src, scope) }
			if program {
				compile = func() (eval.Facts, []*eval.Cut, error) { return compileProgram(src, root) }
			}
			f, whole, err := compile()
			if fact.isRefusal(err) {
				compiled++
				continue
			}
			if err != nil {
				continue // the types do not fit together
			}
			compiled++
			if !ends && !fact.has(f, whole) {
				t.Errorf("%s is not %s", src, fact.name)
			}
		}
		if compiled < 500 {
			t.Errorf("%s: only %d expressions compile", fact.name, compiled)
		}
	}
}

var allForms = struct{ hcl, program []string }{allHCLForms(), allProgramForms()}

// Each field of Facts has a rule in Same, Either and From: this test fails for a new field until it says which.
func TestEveryFactHasItsRules(t *testing.T) {
	set := func(f *eval.Facts) {
		f.Marks = eval.Marks{Call: true, Sensitive: true, Supplied: true, CallerSpecific: true}
		f.NullReason, f.Known, f.Value = "it may be null", true, "-a"
		f.Choices, f.Absent = func() []any { return []any{"-a"} }, func(*eval.Frame) bool { return true }
		f.Dash, f.AsPath, f.Cuts = true, template.PathUnsafe, []*eval.Cut{cut}
		f.Masked, f.Covers = []*eval.Mask{mask}, eval.CoverOutput(eval.Masks{{Mask: mask}})
		f.Members, f.Elem = map[string]*eval.Facts{"a": {Cuts: f.Cuts}}, &eval.Facts{Cuts: f.Cuts}
	}
	full, empty := eval.TypedExpr{Type: eval.AnyType}, eval.TypedExpr{Type: eval.AnyType}
	set(&full.Facts)
	const keeps, drops = true, false
	rules := map[string]struct{ either, from bool }{
		"Call": {keeps, keeps}, "Sensitive": {keeps, keeps}, "Supplied": {keeps, keeps},
		"CallerSpecific": {keeps, keeps}, "NullReason": {keeps, drops}, "Known": {drops, drops},
		"Value": {drops, drops}, "Choices": {keeps, drops}, "Absent": {drops, drops}, "Dash": {keeps, keeps},
		"AsPath": {keeps, keeps}, "Cuts": {keeps, keeps}, "Masked": {keeps, keeps},
		"Covers": {keeps, drops}, "Members": {keeps, drops}, "Elem": {keeps, drops},
	}
	either, from := eval.Either(empty, full), eval.From(empty, full)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[eval.Facts]()) {
		if f.Anonymous {
			continue
		}
		rule, declared := rules[f.Name]
		if !declared || reflect.ValueOf(full.Facts).FieldByIndex(f.Index).IsZero() {
			t.Errorf("Facts.%s has no rule in this test", f.Name)
		}
		for name, verb := range map[string]struct {
			facts eval.Facts
			keeps bool
		}{"Same": {eval.Same(full), keeps}, "Either": {either, rule.either}, "From": {from, rule.from}} {
			if kept := !reflect.ValueOf(verb.facts).FieldByIndex(f.Index).IsZero(); kept != verb.keeps {
				t.Errorf("%s keeps Facts.%s: %v, want %v", name, f.Name, kept, verb.keeps)
			}
		}
	}
}

// What functions declare of their results holds for random values.
func TestFunctionsKeepWhatTheyDeclare(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	texts := []string{"-", "-a", "--all", "-a b", "-x,-y", "a", "", "2020-01-01T00:00:00Z", "-%s", "%s", "0"}
	var value func(k functions.Kind) any
	value = func(k functions.Kind) any {
		switch k {
		case functions.String:
			return texts[random.IntN(len(texts))]
		case functions.Integer, functions.Number:
			return random.IntN(3)
		case functions.List:
			list := []any{}
			for range random.IntN(3) {
				list = append(list, value(functions.String))
			}
			return list
		case functions.Object:
			return map[string]any{"a": value(functions.String), "b": value(functions.List)}
		}
		return value([]functions.Kind{functions.String, functions.List, functions.Object}[random.IntN(3)])
	}
	for _, fn := range functions.Table() {
		if fn.LoadOnly {
			continue
		}
		for range 2000 {
			var args []any
			for _, p := range fn.Params {
				if !p.Optional || random.IntN(2) == 0 {
					args = append(args, value(p.Kind))
				}
			}
			out, err := fn.Call(&functions.Context{Memory: functions.DefaultMemory}, args)
			if err != nil {
				continue
			}
			if beginsWithDash(out) && slices.ContainsFunc(args, beginsWithDash) && !fn.Keeps.Has(functions.Beginning) {
				t.Errorf("%s(%q) is %q: declare that it keeps the beginning", fn.Name, args, out)
				break
			}
		}
	}
}

func beginsWithDash(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.HasPrefix(v, "-")
	case []any:
		return slices.ContainsFunc(v, beginsWithDash)
	}
	return false
}
