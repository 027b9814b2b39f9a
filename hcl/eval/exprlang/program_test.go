package exprlang

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

var update = flag.Bool("update", false, "rewrite the goldens")

func object(members map[string]*schema.Type) *schema.Type {
	t := &schema.Type{Kind: schema.Object}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		t.Members = append(t.Members, &schema.Member{Name: name, Type: members[name]})
	}
	return t
}

// testEnv is the environment of every golden.
func testEnv() Env {
	row := object(map[string]*schema.Type{"vendor": eval.StringType, "amount": eval.NumberType, "note": eval.StringType.AsNullable(), "paid": eval.BoolType})
	order := object(map[string]*schema.Type{"id": eval.IntegerType, "status": eval.StringType, "total": eval.NumberType})
	return Env{Roots: map[string]*eval.Root{
		"input": rootOf("input", object(map[string]*schema.Type{
			"from": eval.StringType, "to": eval.StringType.AsNullable(), "n": eval.IntegerType, "limit": eval.IntegerType.AsNullable(), "vendors": schema.ListOf(eval.StringType), "flag": eval.BoolType.AsNullable(), "customer_id": eval.StringType,
			"sort": {Kind: schema.String, Enum: []schema.EnumValue{{Value: "vendor"}, {Value: "revenue"}}},
		}), func(f *eval.Frame) map[string]any { return f.Input }),
		"output": eval.OutputRoot(object(map[string]*schema.Type{"rows": schema.ListOf(row), "body": eval.AnyType, "status": eval.IntegerType, "headers": {Kind: schema.Map, Elem: eval.StringType}}), eval.Facts{}),
		"step":   rootOf("step", object(map[string]*schema.Type{"fetch": object(map[string]*schema.Type{"body": order}).AsNullable()}), func(f *eval.Frame) map[string]any { return f.Steps }),
	}}
}

// rootOf is a root with the members of t, whose values are in the frame.
func rootOf(noun string, t *schema.Type, values func(*eval.Frame) map[string]any) *eval.Root {
	r := &eval.Root{Noun: noun, Members: map[string]*eval.Member{}}
	for _, m := range t.Members {
		r.Members[m.Name] = &eval.Member{Type: m.Type, Eval: func(f *eval.Frame) (any, error) { return values(f)[m.Name], nil }}
	}
	return r
}

// frameOf is the frame of a call with the values of roots.
func frameOf(roots map[string]any) *eval.Frame {
	f := eval.NewFrame(context.Background(), "", func() time.Time { return time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC) })
	f.Input, _ = roots["input"].(map[string]any)
	f.Steps, _ = roots["step"].(map[string]any)
	f.Output = roots["output"]
	return f
}

// openEnv is an environment whose only root, output, is of any type.
func openEnv() Env {
	return Env{Roots: map[string]*eval.Root{"output": eval.OutputRoot(eval.AnyType, eval.Facts{})}}
}

const testRoots = `{
	"input": {"from": "2026-01-01", "to": null, "n": 7, "limit": null, "vendors": ["a", "b"], "flag": null, "customer_id": "c1", "sort": "vendor"},
	"output": {
		"rows": [
			{"vendor": "a", "amount": 1.5, "note": null, "paid": true},
			{"vendor": "b", "amount": 20, "note": "x", "paid": false},
			{"vendor": "a", "amount": 3, "note": "y", "paid": true}
		],
		"body": {"big": 12345678901234567890, "pi": 3.141592653589793238462643383279, "items": [{"id": 1, "tags": ["t"]}, {"id": 2, "tags": []}], "none": null, "ok": true, "text": "añb"},
		"status": 200, "headers": {"content-type": "text/plain", "link": "<https://a.example/?p=2>; rel=\"next\""}
	},
	"step": {"fetch": null}
}`

func roots(t testing.TB) map[string]any {
	v, err := value.Decode([]byte(testRoots))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

// In an archive the file NAME is a source and NAME.want what becomes of it; a name that begins with "bool" wants a condition.
func TestGoldens(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no goldens", err)
	}
	for _, path := range archives {
		t.Run(filepath.Base(path), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			wants := map[string]string{}
			for _, f := range a.Files {
				if name, ok := strings.CutSuffix(f.Name, ".want"); ok {
					wants[name] = string(f.Data)
				}
			}
			out := &txtar.Archive{Comment: a.Comment}
			for _, f := range a.Files {
				if strings.HasSuffix(f.Name, ".want") {
					continue
				}
				got := render(t, f.Name, strings.TrimSuffix(string(f.Data), "\n"))
				if !*update && got != wants[f.Name] {
					t.Errorf("%s: %sgot:\n%swant:\n%s", f.Name, f.Data, got, wants[f.Name])
				}
				out.Files = append(out.Files, f, txtar.File{Name: f.Name + ".want", Data: []byte(got)})
			}
			if *update {
				if err := os.WriteFile(path, txtar.Format(out), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func render(t *testing.T, name, src string) string {
	var b strings.Builder
	want := WantAny
	if strings.HasPrefix(name, "bool") {
		want = WantBool
	}
	p, problems := Compile(src, testEnv(), want)
	for _, problem := range problems {
		word := "error"
		if problem.Warning {
			word = "warning"
		}
		if problem.Offset < 0 || problem.Length < 0 || problem.Offset+problem.Length > len(src) {
			t.Fatalf("%s: a problem lies outside the source: %+v", name, problem)
		}
		fmt.Fprintf(&b, "%s at %d [%s] %s: %s\n", word, problem.Offset, src[problem.Offset:problem.Offset+problem.Length], problem.Summary, problem.Detail)
	}
	if p == nil {
		return b.String()
	}
	given := roots(t)
	v, err := p.Run(frameOf(given), given["output"])
	var fault *eval.Error
	switch {
	case errors.As(err, &fault):
		fmt.Fprintf(&b, "fault %s\n", fault.Message)
	case err != nil:
		t.Fatalf("%s: %T is not a fault", name, err)
	default:
		out, err := value.AppendJSON(nil, v)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		fmt.Fprintf(&b, "%s\n", out)
	}
	if !value.Equal(given, roots(t)) {
		t.Errorf("%s changed what it read", name)
	}
	paths := func(title string, list []string) {
		if len(list) == 0 {
			return
		}
		b.WriteString(title)
		for _, path := range list {
			b.WriteString(" " + eval.ShowPath(path))
		}
		b.WriteByte('\n')
	}
	paths("reads", p.Reads)
	paths("not null when true:", p.NonNullWhenTrue)
	return b.String()
}

func run(t testing.TB, src string, env Env, roots map[string]any) (any, error) {
	t.Helper()
	p, problems := Compile(src, env, WantAny)
	if p == nil {
		t.Fatalf("%s: %+v", src, problems)
	}
	return p.Run(frameOf(roots), roots["output"])
}

func TestBudgetsHoldInEveryConstruct(t *testing.T) {
	for _, src := range []string{
		`reduce(1..1000, #acc + #acc, "x")`,
		`reduce(1..60, [#acc, #acc], "x")`,
		`reduce(1..60, [#acc, #acc], "x") == reduce(1..60, [#acc, #acc], "x")`,
		`jsonencode(reduce(1..60, [#acc, #acc], "x"))`,
		`string(reduce(1..60, {{a: #acc, b: #acc}}, "x"))`,
		`flatten(reduce(1..60, [#acc, #acc], "x"))`,
		`compact(reduce(1..60, [#acc, #acc], "x"))`,
		`reduce(1..60, [#acc, #acc], "x") in [reduce(1..60, [#acc, #acc], "x")]`,
		`reduce(1..10000, [#acc], "x")`,
		`map(1..10000, repeat("x", 10000))`,
		`1..1000000000`,
		`1..9223372036854775807`,
		`all(1..10000, {let a = #; all(1..10000, # > 0)})`,
		`all(1..10000, {let a = #; 0 not in 1..10000})`,
		`map(1..1000, map(1..1000, #))`,
		`join("", map(1..10000, repeat("x", 1000)))`,
		`reduce(1..1000, #acc * #acc, 99999)`,
		`reduce(1..100, concat(#acc, #acc), [1])`,
		`groupBy(1..100000, #)`,
		`sortBy(1..100000, #)`,
		`repeat("x", 2000000)`,
		`format("%4096d%4096d", 1, 2) | repeat(1000)`,
		`replace(repeat("a", 10000), "a", repeat("b", 10000))`,
	} {
		began := time.Now()
		p, problems := Compile(src, Env{}, WantAny)
		if p == nil {
			t.Fatalf("%s: %+v", src, problems)
		}
		p.limits = limits{steps: 100_000, memory: 1 << 20, result: 1 << 20}
		_, err := p.Run(frameOf(nil), nil)
		if err == nil {
			t.Errorf("%s stayed within its budget", src)
		}
		if took := time.Since(began); took > maxDuration {
			t.Errorf("%s took %v", src, took)
		}
	}
}

// maxDuration is how long a run or a compilation within its limits may take on a busy machine.
const maxDuration = 30 * time.Second

func TestEndedCallStopsTheProgram(t *testing.T) {
	p, _ := Compile(`all(1..100000, {let a = #; all(1..100000, # > 0)})`, Env{}, WantAny)
	p.limits.steps = 1 << 60
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	began := time.Now()
	f := frameOf(nil)
	f.Context = ctx
	_, err := p.Run(f, nil)
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > maxDuration {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// lazy is a LazyJSON that tells when something looks inside.
type lazy struct {
	text   string
	opened *int
}

func (l lazy) AppendJSON(dst []byte) []byte { return append(dst, l.text...) }
func (l lazy) Value() (any, error)          { *l.opened++; return value.Decode([]byte(l.text)) }

func TestDeferredValuesAreDecodedOnlyWhenLookedInto(t *testing.T) {
	for src, opened := range map[string]int{
		`output.body`: 0, `{a: output.body}`: 0, `output.status`: 0, `[output.body]`: 0, `output.status > 1 ? output.body : null`: 0,
		`output.body.a`: 1, `length(output.body)`: 1, `output.body == {a: 1}`: 1, `output.body ?? 1`: 1,
	} {
		n := 0
		v, err := run(t, src, openEnv(), map[string]any{"output": map[string]any{"status": 200, "body": lazy{`{"a":1}`, &n}}})
		if err != nil || n != opened && (opened == 0 || n == 0) {
			t.Errorf("%s: opened %d times, want %d (%v, %v)", src, n, opened, v, err)
		}
	}
}

func TestBrokenDeferredValueIsASentence(t *testing.T) {
	n := 0
	_, err := run(t, `output.body.a`, openEnv(), map[string]any{"output": map[string]any{"body": lazy{`{`, &n}}})
	if err == nil || err.Error() != "a value of the answer is not valid JSON" {
		t.Error(err)
	}
}

func TestProgramRunsConcurrently(t *testing.T) {
	p, _ := Compile(`output.rows | filter(.amount > input.n) | map({let v = .vendor; v + "!"}) | first()`, testEnv(), WantAny)
	done := make(chan error)
	for range 8 {
		go func() {
			for range 200 {
				if v, err := p.Run(frameOf(roots(t)), roots(t)["output"]); err != nil || v != "b!" {
					done <- fmt.Errorf("%v, %v", v, err)
					return
				}
			}
			done <- nil
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestBuiltinsAreDocumentedAndHaveNoTwin(t *testing.T) {
	all := Builtins()
	if !sort.SliceIsSorted(all, func(i, j int) bool { return all[i].Name < all[j].Name }) {
		t.Error("not sorted")
	}
	for _, b := range all {
		if !strings.HasSuffix(b.Doc, ".") || !strings.HasPrefix(b.Usage, b.Name+"(") {
			t.Errorf("%+v", b)
		}
	}
}

func TestLargeSourcesCompileInBoundedTime(t *testing.T) {
	for _, src := range []string{
		strings.Repeat("1+", 4000) + "1", strings.Repeat("(1)+", 3000) + "1", "[" + strings.Repeat("[1],", 3000) + "]",
		strings.Repeat("(", 30000), strings.Repeat("!", 30000) + "true", strings.Repeat("- ", 30000) + "1", strings.Repeat("f(", 20000), strings.Repeat("[", 150) + strings.Repeat("]", 150),
		strings.Repeat("x", 70000), "1" + strings.Repeat(" ?? (1", 5000), strings.Repeat("true ? 1 : ", 3000) + "2", strings.Repeat("let x = 1; ", 3000) + "x", "x" + strings.Repeat(".a", 9000),
		strings.Repeat("if true {1} else ", 3000) + "{2}", strings.Repeat("::", 20000),
	} {
		began := time.Now()
		Compile(src, Env{Roots: map[string]*eval.Root{"x": eval.OutputRoot(eval.AnyType, eval.Facts{})}}, WantAny)
		if took := time.Since(began); took > maxDuration {
			t.Errorf("%.20s... took %v", src, took)
		}
	}
}

// countedLooks is a context that counts how often it is asked whether it has ended.
type countedLooks struct {
	context.Context
	n int
}

func (c *countedLooks) Err() error {
	c.n++
	return nil
}

// Every construct looks at the time of the call at least once for every 10,000 elements.
func TestEveryConstructLooksAtTheTime(t *testing.T) {
	const n = 30_000
	texts := "map(1..30000, string(#))"
	for _, src := range []string{
		`1..30000`, `map(1..30000, #)`, `filter(1..30000, # > 1)`, `reduce(1..30000, #acc + #)`, `sortBy(1..30000, -#)`,
		`groupBy(1..30000, # % 7)`, `countBy(1..30000, # % 7)`, `all(1..30000, # > 0)`, `none(1..30000, # < 0)`,
		`sum(1..30000, #)`, `count(1..30000, # > 1)`, `(1..30000) == (1..30000)`, `-1 in 1..30000`, `mean(1..30000)`,
		`median(1..30000)`, `string(1..30000)`, `sort(` + texts + `)`, `uniq(1..30000)`, `join(",", 1..30000)`,
		`fromPairs(map(1..30000, [string(#), #])) | toPairs()`, `toJSON(1..30000)`, `fromJSON(toJSON(1..30000))`,
		`repeat("ab ", 30000) matches "(a?b?c?d?)*z"`, `reverse(1..30000)`, `flatten([[1..30000]])`, `max(1..30000)`,
	} {
		p, problems := Compile(src, Env{}, WantAny)
		if p == nil {
			t.Fatalf("%s: %+v", src, problems)
		}
		f := frameOf(nil)
		counted := &countedLooks{Context: t.Context()}
		f.Context = counted
		if _, err := p.Run(f, nil); err != nil {
			t.Errorf("%s: %v", src, err)
		}
		if counted.n < n/10_000 {
			t.Errorf("%s looks %d times at the time of the call for %d elements", src, counted.n, n)
		}
	}
}
