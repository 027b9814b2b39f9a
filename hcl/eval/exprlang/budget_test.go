package exprlang

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"hatchel/hcl/functions"
	"hatchel/hcl/value"
	"hatchel/internal/sampletest"
)

// gaps is a context that measures the processor time between two questions whether it has ended.
type gaps struct {
	context.Context
	began, last, longest time.Duration
}

func (g *gaps) Err() error {
	now := threadTime()
	g.longest, g.last = max(g.longest, now-g.last), now
	if now-g.began > enough {
		return context.DeadlineExceeded
	}
	return nil
}

func threadTime() time.Duration {
	const thread = 1 // RUSAGE_THREAD
	var used syscall.Rusage
	if err := syscall.Getrusage(thread, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

const (
	enough       = 20 * time.Millisecond // after which a computation is ended
	manyBytes    = 4 << 20
	manyElements = 100_000
	// maxGap is far more than a computation may take between two looks at the time, because the collector of memory may
	// take a part of it.
	maxGap = 50 * time.Millisecond
)

func large() map[string]any {
	list := func(of func(i int) any) []any {
		out := make([]any, manyElements)
		for i := range out {
			out[i] = of(i)
		}
		return out
	}
	object := make(map[string]any, manyElements)
	for i := range manyElements {
		object[fmt.Sprint("k", i)] = i
	}
	text := func(unit string) string { return strings.Repeat(unit, manyBytes/len(unit)) }
	digits := json.Number(strings.Repeat("7", value.MaxDigits))
	return map[string]any{
		"ints": list(func(i int) any { return i * 7919 % manyElements }), "texts": list(func(i int) any { return fmt.Sprint("k", i*7919%manyElements) }),
		"numbers": list(func(int) any { return digits })[:20_000], "pairs": list(func(i int) any { return []any{fmt.Sprint("k", i), i} }),
		"lists": list(func(i int) any { return []any{i, []any{i}} })[:100_000], "bools": list(func(int) any { return true }), "object": object,
		"long":   list(func(i int) any { return strings.Repeat("x", 1<<10) + fmt.Sprint(i) })[:12_000],
		"huge":   []any{text("a"), text("a")},
		"nested": map[string]any{"a": list(func(i int) any { return map[string]any{"b": i} })[:100_000]},
		"a":      text("a"), "commas": text("a,"), "lines": text("abcdefg\n"), "wide": text("é"), "json": `"` + text(`\n`) + `"`, "plain": `"` + text(`a`) + `"`, "escapedKey": `{"` + text(`\n`) + `":1}`, "wideText": `"` + text("é") + `"`,
		"list": "[" + strings.Repeat("1,", 1<<20) + "1]", "spaces": text(" ") + "1", "digits": text("7"), "csv": "a\n" + text("b"), "quoted": "a\n\"" + text("b\n") + "\"",
		"base64": text("QUFB"), "percent": text("%%"), "escapes": text("%20"), "n": digits, "quotes": text("\""), "keys": `{"` + text("k") + `":1}`, "url": "https://a.example/?" + text("a=b&"),
	}
}

// computations are programs for the operators and the functions with a predicate. A list is of the object output.
func computations() (programs []string) {
	lists := []string{"ints", "texts", "numbers", "lists", "long", "pairs", "bools", "huge"}
	texts := []string{"a", "commas", "wide"}
	for _, b := range Builtins() {
		if builtins[b.Name].fn != nil {
			continue
		}
		for _, predicate := range []string{"true", "false", "#", "# != null", "# in output.ints", "[#]"} {
			for _, list := range lists {
				programs = append(programs, fmt.Sprintf("%s(output.%s, %s)", b.Name, list, predicate))
			}
		}
	}
	for _, l := range lists {
		for _, format := range []string{"output.%s == output.%[1]s[:]", "-1 in output.%s", `"x" in output.%s`, "output.%s[1:]", "output.%s + output.%[1]s", "[output.%s, output.%[1]s] == [output.%[1]s[:], []]",
			"output.%s in [output.%[1]s[1:], output.%[1]s[:]]", "output.%s | map({let v = #; v})", "{a: output.%s}.a != {a: output.%[1]s}.a", "output.%s == null", "output.object == output.%s"} {
			programs = append(programs, fmt.Sprintf(format, l))
		}
	}
	for _, x := range texts {
		for _, format := range []string{"output.%s + output.%[1]s", "output.%s == output.%[1]s + \"\"", "output.%s < output.%[1]s + \"b\"", "output.%s contains \"aab\"", "output.%s startsWith output.%[1]s",
			"output.%s endsWith \"b\"", "output.%s matches \"b|(a,)*$\"", "output.%s matches \"(a|b)*c\"", "output.%s in output.object", "output.%s in output.huge", "output.%s[1:2000000]", "output.%s contains output.%[1]s[1:]",
			"`${output.%s}`", "output.%s in output.texts", "output[output.%s]", "output.object[output.%s]", "\"b\" + output.%s matches output.%[1]s"} {
			programs = append(programs, fmt.Sprintf(format, x))
		}
	}
	return append(programs, "0..2000000", "1..9223372036854775807", "output.object == output.object", "\"k1\" in output.object", "output.nested == {a: output.nested.a}",
		"output.n + output.n", "output.n * output.n", "output.n ** 3", "output.n % 7", "output.n / 3", "-output.n", "output.n < output.n", "output.n .. output.n", "keys(output.object)[0]", "output.object | toPairs() | fromPairs()",
		"string(output)", "output == output", "reduce(output.texts, #acc + #, \"\")", "reduce(output.ints, concat(#acc, [#]), [])", "sortBy(output.texts, #, \"desc\")", "groupBy(output.texts, # + \"x\")", "sum(output.numbers)")
}

// calls are programs that call each function of both tables with large arguments of its kinds.
func calls() (programs []string) {
	kinds := map[functions.Kind][]string{
		functions.List: {"ints", "texts", "numbers", "lists", "long", "pairs", "bools", "huge"}, functions.Object: {"object", "nested"}, functions.Number: {"n"}, functions.Integer: {"2000000", "3"},
		functions.String: {"a", "commas", "lines", "wide", "json", "plain", "list", "spaces", "digits", "csv", "quoted", "base64", "percent", "escapes", "quotes", "keys", "url", "escapedKey", "wideText", `","`, `"a"`, `""`},
		functions.Bytes:  {"a", "base64", "wide"}, functions.Any: {"ints", "texts", "object", "nested", "a", "wide", "json", "n", "digits", "long", "huge", "lists"},
	}
	table := functions.Table()
	for _, b := range builtins {
		if b.fn != nil {
			table = append(table, *b.fn)
		}
	}
	for _, f := range table {
		if f.LoadOnly {
			continue
		}
		most := 1
		for i := range f.Params {
			most = max(most, len(kinds[f.Params[i].Kind]))
		}
		for round := range most {
			args := make([]string, len(f.Params))
			for i, p := range f.Params {
				choices := kinds[p.Kind]
				if len(choices) == 0 {
					choices = kinds[functions.Any]
				}
				arg := choices[(round+i*7)%len(choices)]
				if _, isMember := largeValues[arg]; isMember {
					arg = "output." + arg
				}
				if p.Only != "" {
					arg = fmt.Sprintf("%q", p.Only)
				}
				args[i] = arg
			}
			programs = append(programs, f.Name+"("+strings.Join(args, ", ")+")")
		}
	}
	return programs
}

var largeValues map[string]any

// No operator and no function of a program, of those that are and those that will be, computes for long between two
// looks at the time of the call.
func TestNothingComputesLongWithoutALookAtTheTime(t *testing.T) {
	largeValues = large()
	defer func() { largeValues = nil }()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ran, programs := 0, sampletest.Of(t, 400, append(computations(), calls()...))
	for _, src := range programs {
		p, _ := Compile(src, openEnv(), WantAny)
		if p == nil {
			continue // not a program: the function does not take such a value
		}
		ran++
		longest := time.Hour
		for try := 0; try < 3 && longest > maxGap; try++ {
			f := frameOf(map[string]any{"output": largeValues})
			now := threadTime()
			g := &gaps{t.Context(), now, now, 0}
			f.Context = g
			_, _ = p.Run(f, f.Output)
			_ = g.Err()
			longest = min(longest, g.longest)
		}
		if longest > maxGap {
			t.Errorf("%s computes for %v between two looks", src, longest)
		}
	}
	if ran*3 < len(programs) {
		t.Errorf("only %d of %d programs compile", ran, len(programs))
	}
}
