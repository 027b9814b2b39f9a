package functions

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"hatchel/hcl/value"
)

// looks is a context that counts how often it is asked whether it has ended, and that ends after a number of times.
type looks struct {
	context.Context
	n, ends int
}

var errEnded = errors.New("ended")

func (l *looks) Err() error {
	if l.n++; l.ends > 0 && l.n >= l.ends {
		return errEnded
	}
	return nil
}

const manyElements = 30_000

// hostile returns large arguments for a parameter.
func hostile(p Param) []any {
	list := func(of func(i int) any) []any {
		out := make([]any, manyElements)
		for i := range out {
			out[i] = of(i)
		}
		return out
	}
	object := func(of func(i int) any) map[string]any {
		out := make(map[string]any, manyElements)
		for i := range manyElements {
			out[fmt.Sprint("k", i)] = of(i)
		}
		return out
	}
	long := json.Number(strings.Repeat("7", value.MaxDigits))
	lists := []any{
		list(func(i int) any { return i }), list(func(i int) any { return fmt.Sprint("k", i) }),
		list(func(int) any { return long }), list(func(i int) any { return []any{fmt.Sprint("k", i), i} }),
		list(func(int) any { return true }), list(func(int) any { return false }),
	}
	objects := []any{
		object(func(i int) any { return i }), object(func(i int) any { return []any{fmt.Sprint("v", i)} }),
		map[string]any{"link": strings.Repeat("x,", 1<<16)},
	}
	texts := []any{
		strings.Repeat("a,", 1<<15), "[" + strings.Repeat("1,", 1<<15) + "1]", strings.Repeat("a\n", 1<<15),
		strings.Repeat("7", 1<<15), strings.Repeat("%d", 2000), ",", "a", "(a*)*b|a",
	}
	numbers := []any{long, json.Number("1e1000"), json.Number("-1e1000"), manyElements, 1, 2, 0.5}
	switch p.Kind {
	case List:
		return lists
	case Object:
		return objects
	case String:
		return texts
	case Number:
		return numbers
	case Integer:
		return []any{manyElements, 1, 2}
	case Bytes:
		return []any{value.Bytes(strings.Repeat("a", 1<<18))}
	}
	return append(append(append(append([]any{nil, true}, lists...), objects...), texts...), numbers...)
}

// calls calls do with arguments that are hostile, one at a time and all at once.
func callsOf(f *Function, do func(args []any)) {
	n := max(1, len(f.Params))
	choices := make([][]any, n)
	for i := range f.Params {
		choices[i] = hostile(f.Params[i])
		if f.Params[i].Only != "" {
			choices[i] = []any{f.Params[i].Only}
		}
	}
	rounds := 0
	for _, c := range choices {
		rounds = max(rounds, len(c))
	}
	const shifts = 2 // of the arguments of two parameters against each other
	for round := range rounds * shifts {
		args := make([]any, len(f.Params))
		for i := range f.Params {
			at := round % rounds
			if i%2 == 1 {
				at += round / rounds
			}
			args[i] = choices[i][at%len(choices[i])]
		}
		do(args)
		if len(f.Params) < 2 && round+1 == rounds {
			return
		}
	}
}

// constant are the functions that look at a few elements of any list.
var constant = map[string]bool{
	"element": true, "slice": true, "coalescelist": true, "tolist": true, "lookup": true, "coalesce": true,
}

// A function looks at the time of the call at least once for every 10,000 elements of its arguments, and computes
// nothing after it has seen that the call is over.
func TestEveryFunctionLooksAtTheTime(t *testing.T) {
	for _, f := range Table() {
		if f.LoadOnly || constant[f.Name] {
			continue
		}
		callsOf(&f, func(args []any) {
			counted := &looks{Context: t.Context()}
			c := testContext()
			c.Memory, c.Call = DefaultMemory, counted
			result, err := f.Call(c, args)
			read := len(fmt.Sprint(err)) // a refusal may come before anything is read
			if list, ok := result.([]any); ok {
				read = len(list)
			}
			if m, ok := result.(map[string]any); ok {
				read = len(m)
			}
			if text, ok := result.(string); ok {
				read = len(text) / 256
			}
			if counted.n < read/10_000 {
				t.Errorf("%s%.60v looked %d times while it made %d elements", f.Name, args, counted.n, read)
			}
			if counted.n < 3 {
				return
			}
			ends := &looks{Context: t.Context(), ends: counted.n / 2}
			c = testContext()
			c.Memory, c.Call = DefaultMemory, ends
			if _, err := f.Call(c, args); !errors.Is(err, errEnded) || ends.n > ends.ends {
				t.Errorf("%s%.60v goes on after the call has ended, for %d looks: %v", f.Name, args, ends.n-ends.ends, err)
			}
		})
	}
}

func TestFunctionsThatReadAListLookAtTheTime(t *testing.T) {
	list := hostile(Param{Kind: List})
	object := hostile(Param{Kind: Object})
	for name, args := range map[string][]any{
		"contains": {list[0], -1}, "index": {list[1], "k29999"}, "concat": {list[0], list[1]}, "distinct": {list[0]},
		"flatten": {list[3]}, "reverse": {list[0]}, "sort": {list[1]}, "chunklist": {list[0], 1}, "min": {list[2]},
		"alltrue": {list[4]}, "anytrue": {list[5]}, "setunion": {list[0]}, "setintersection": {list[0], list[0]},
		"setsubtract": {list[0], list[1]}, "keys": {object[0]}, "values": {object[0]}, "merge": {object[0], object[1]},
		"zipmap": {list[1], list[0]}, "transpose": {object[1]}, "omit": {object[0], "k1"}, "compact": {object[0]},
		"brackets": {object[0]}, "sum": {list[0]}, "jsonencode": {list[0]}, "join": {",", list[0]},
		"formatlist": {"%v", list[0]}, "jsondecode": {"[" + strings.Repeat("1,", manyElements) + "1]"},
		"csvdecode": {"a\n" + strings.Repeat("1\n", manyElements)}, "split": {",", strings.Repeat("a,", manyElements)},
		"regexall": {"a", strings.Repeat("a,", manyElements)}, "regexreplace": {strings.Repeat("a", manyElements), "a", "b"},
		"range": {manyElements}, "tostring": {json.Number("1")},
	} {
		f, _ := Lookup(name)
		counted := &looks{Context: t.Context()}
		c := testContext()
		c.Memory, c.Call = 1<<30, counted
		if _, err := f.Call(c, args); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if counted.n < manyElements/10_000 && name != "tostring" {
			t.Errorf("%s looks %d times at the time of the call for %d elements", name, counted.n, manyElements)
		}
	}
}

// A function that reads a text looks at the time of the call for each MiB of it, and computes nothing after it has
// seen that the call is over.
func TestFunctionsThatReadATextLookAtTheTime(t *testing.T) {
	const size = 8 << 20
	many := func(s string) string { return strings.Repeat(s, size/len(s)) }
	list := make([]any, size>>10)
	for i := range list {
		list[i] = strings.Repeat("a", 1<<10)
	}
	for _, call := range []struct {
		name string
		args []any
	}{
		{"upper", []any{many("é")}}, {"lower", []any{many("É")}}, {"title", []any{many("a ")}}, {"strrev", []any{many("é")}},
		{"urlencode", []any{many("a")}}, {"length", []any{many("é")}}, {"substr", []any{many("é"), -1, 1}},
		{"substr", []any{many("é"), 1 << 30, -1}}, {"strcontains", []any{many("ab"), "ba b"}},
		{"replace", []any{many("ab"), "bb", "c"}}, {"replace", []any{many("a"), "a", "b"}}, {"replace", []any{many("a"), "", "b"}},
		{"indent", []any{1, many("abcdefgh\n")}}, {"split", []any{"bb", many("ab")}}, {"split", []any{"c", many("abcdefghijklmnopqrstuvwxyz")}},
		{"trim", []any{many("a"), "a"}}, {"trim", []any{"b", many("a")}}, {"join", []any{"", list}}, {"join", []any{many("a")[:1<<20], list[:9]}},
		{"base64encode", []any{many("a")}}, {"base64decode", []any{many("QUFB")}}, {"base64bytes", []any{many("\n")}},
		{"sha256", []any{many("a")}}, {"md5", []any{many("a")}}, {"hmac_sha256", []any{many("a"), "a"}}, {"hmac_sha256", []any{"a", many("a")}},
		{"jsonencode", []any{many("\n")[:1<<22]}}, {"jsonencode", []any{list}}, {"csvdecode", []any{"a\n" + many(strings.Repeat("b", 1023)+"\n")}},
		{"regex", []any{"b|$", many("a")}}, {"regexreplace", []any{many("a"), "b", ""}}, {"regexall", []any{"b", many("a")[:1<<22]}},
		{"format", []any{"%s", many("a")}}, {"contains", []any{[]any{many("a")[:1<<20], many("a")[:1<<20]}, many("a")[1:1<<20] + "b"}},
	} {
		f, ok := Lookup(call.name)
		if !ok {
			t.Fatal(call.name)
		}
		counted := &looks{Context: t.Context()}
		c := testContext()
		c.Memory, c.Call = 1<<30, counted
		if _, err := f.Call(c, call.args); err != nil {
			t.Errorf("%s: %v", call.name, err)
		}
		if counted.n < 3 && call.name != "contains" && call.name != "format" && call.name != "jsonencode" {
			t.Errorf("%s%.20q looks %d times at the time of the call for %d MiB", call.name, call.args, counted.n, size>>20)
		}
		if counted.n < 2 {
			continue
		}
		ends := &looks{Context: t.Context(), ends: counted.n / 2}
		c = testContext()
		c.Memory, c.Call = 1<<30, ends
		if _, err := f.Call(c, call.args); !errors.Is(err, errEnded) || ends.n > ends.ends {
			t.Errorf("%s%.20q goes on after the call has ended, for %d looks: %v", call.name, call.args, ends.n-ends.ends, err)
		}
	}
}

// The texts that are computed in parts are those of the functions of the standard library.
func FuzzTextsInPartsAreThoseOfTheWhole(f *testing.F) {
	f.Add("aé\xff b ", "é", "x", 40_000)
	f.Add("\x80\x80\x80\x80a", "", "é", 30_000)
	f.Add("aab", "ab", "", 70_000)
	f.Add("a", strings.Repeat("a", 70_000), "b", 100_000)
	f.Fuzz(func(t *testing.T, unit, old, with string, n int) {
		if n < 0 || n > 100_000 || len(unit) > 16 || len(with) > 16 {
			return
		}
		s := strings.Repeat(unit, n)
		parts := strings.Split(s, old)
		list := make([]any, len(parts))
		for i, p := range parts {
			list[i] = p
		}
		for name, want := range map[string]struct {
			args []any
			want any
		}{
			"upper": {[]any{s}, strings.ToUpper(s)}, "urlencode": {[]any{s}, url.QueryEscape(s)},
			"trim": {[]any{s, old}, strings.Trim(s, old)}, "strcontains": {[]any{s, old}, strings.Contains(s, old)},
			"replace": {[]any{s, old, with}, strings.ReplaceAll(s, old, with)}, "split": {[]any{old, s}, list},
			"length": {[]any{s}, utf8.RuneCountInString(s)}, "base64decode": {[]any{base64.StdEncoding.EncodeToString([]byte(strings.ToValidUTF8(s, "")))},
				strings.ToValidUTF8(s, "")}, "base64encode": {[]any{s}, base64.StdEncoding.EncodeToString([]byte(s))},
			"jsonencode": {[]any{s}, string(value.AppendString(nil, s))}, "format": {[]any{"%s", s}, s},
		} {
			fn, _ := Lookup(name)
			c := testContext()
			c.Memory = 1 << 30
			if got, err := fn.Call(c, want.args); err != nil || !reflect.DeepEqual(got, want.want) {
				t.Errorf("%s of %d times %q: %.40v, %v", name, n, unit, got, err)
			}
		}
	})
}

func TestNumbersAreBoundedInDigits(t *testing.T) {
	long := strings.Repeat("9", value.MaxDigits+1)
	if _, err := value.Decode([]byte(long)); err == nil || !strings.Contains(err.Error(), "more than 1000 digits") {
		t.Errorf("got %v", err)
	}
	most := json.Number(long[1:])
	for name, args := range map[string][]any{
		"tonumber": {long}, "parseint": {long, 10}, "pow": {10, 1001}, "jsondecode": {"[" + long + "]"},
	} {
		f, _ := Lookup(name)
		if v, err := f.Call(testContext(), args); err == nil {
			if text, _ := value.Text(v); len(text) > value.MaxDigits {
				t.Errorf("%s gives %d digits", name, len(text))
			}
		}
	}
	for name, compute := range map[string]func(a, b any) (any, error){
		"Add": Add, "Multiply": Multiply, "Power": Power, "Subtract": Subtract,
	} {
		b := any(most)
		if name == "Subtract" {
			b = json.Number("-" + string(most))
		}
		v, err := compute(most, b)
		if text, _ := value.Text(v); err == nil && len(text) > value.MaxDigits {
			t.Errorf("%s gives %d digits", name, len(text))
		}
	}
	f, _ := Lookup("range")
	counted := &looks{Context: t.Context()}
	c := testContext()
	c.Call = counted
	if _, err := f.Call(c, []any{0, most}); !errors.Is(err, ErrMemory) || counted.n > 1 {
		t.Errorf("a range of 10^1000 numbers: %v after %d looks", err, counted.n)
	}
}

// The matches of a long text, which is read a character at a time, are those of FindAllStringSubmatchIndex.
func FuzzMatchesOfALongTextAreThoseOfAShortOne(f *testing.F) {
	for _, pattern := range []string{
		"a", "a*", "", `\b`, `^a`, `(?m)^a`, `a$`, `(?m)a$`, `(a)(b)?`, `(?P<x>a)|b`, `a|ab`, `(?i)A`, `\Bb`, `.`, `(?s).`,
		`x*|b`, `(?U)a+`, `[^a]*`,
	} {
		f.Add(pattern, "ab aab\nba é\xff xaba")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		p, err := compilePattern(pattern)
		if err != nil || len(text) > 200 {
			return
		}
		want := p.FindAllStringSubmatchIndex(text, -1)
		slow := &Pattern{p.Regexp, value.MaxQuickMatch * 2}
		if regexp.MustCompile(pattern).NumSubexp() > 20 {
			return
		}
		var got [][]int
		c := &Context{Memory: DefaultMemory}
		if err := slow.eachMatch(c, text, -1, func(m []int) error {
			got = append(got, append([]int{}, m...))
			return nil
		}); err != nil {
			if errors.Is(err, ErrTime) {
				return
			}
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q in %q: got %v, want %v", pattern, text, got, want)
		}
		if matches, err := slow.Matches(c, text); err == nil && matches != (len(want) > 0) {
			t.Errorf("%q in %q: matches %v", pattern, text, matches)
		}
	})
}
