package schema

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hatchel/hcl/value"
	"hatchel/internal/sampletest"
)

// allocated returns how many bytes do allocates.
func allocated(do func()) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// repeated returns a JSON text of at least a megabyte: open, then the elements that of returns, then shut.
func repeated(open, shut string, of func(i int) string) string {
	var b strings.Builder
	b.WriteString(open)
	for i := 0; b.Len() < 1<<20; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(of(i))
	}
	return b.String() + shut
}

func always(text string) func(int) string { return func(int) string { return text } }

var shapesOfArguments = []struct{ name, text string }{
	{"ones", repeated("[", "]", always("1"))},
	{"nulls", repeated("[", "]", always("null"))},
	{"integers", repeated("[", "]", func(i int) string { return fmt.Sprint(1000 + i) })},
	{"floats", repeated("[", "]", func(i int) string { return fmt.Sprint(float64(i) + 0.5) })},
	{"decimals", repeated("[", "]", always("12345678901234567890.123"))},
	{"numbers of many digits", repeated("[", "]", always(strings.Repeat("7", 1000)))},
	{"short strings", repeated("[", "]", always(`""`))},
	{"strings", repeated("[", "]", always(`"abcdefgh"`))},
	{"escapes", repeated("[", "]", always(`"\u00e9\n"`))},
	{"empty lists", repeated("[", "]", always("[]"))},
	{"lists of one", repeated("[", "]", always("[1]"))},
	{"deep lists", repeated("[", "]", always(strings.Repeat("[", 40)+strings.Repeat("]", 40)))},
	{"empty objects", repeated("[", "]", always("{}"))},
	{"small objects", repeated("[", "]", always(`{"a":1}`))},
	{"rows", repeated("[", "]", func(i int) string {
		return fmt.Sprintf(`{"id":%d,"name":"name %d","amount":%d.5,"tags":["a","b"]}`, i, i, i)
	})},
	{"wide objects", repeated("[", "]", always(`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1}`))},
	{"many keys", repeated("{", "}", func(i int) string { return fmt.Sprintf(`"%x":1`, i) })},
	{"many escaped keys", repeated("{", "}", func(i int) string { return fmt.Sprintf(`"\n%x":1`, i) })},
	{"a map of lists", repeated("{", "}", func(i int) string { return fmt.Sprintf(`"%x":[1]`, i) })},
	{"a long string", `"` + strings.Repeat("a", 1<<20) + `"`},
	{"a long escaped string", `"` + strings.Repeat(`\n`, 1<<19) + `"`},
}

// typesOfArguments are types of the argument x.
var typesOfArguments = map[string]*Type{
	"string": {Kind: String}, "number": {Kind: Number}, "bool": {Kind: Bool}, "any": {},
	"list(string)": ListOf(&Type{Kind: String}), "list(number)": ListOf(&Type{Kind: Number}),
	"list(any)": ListOf(&Type{}), "set(any)": {Kind: Set, Elem: &Type{}}, "list(list(string))": ListOf(ListOf(&Type{Kind: String})),
	"map(string)": {Kind: Map, Elem: &Type{Kind: String}}, "map(any)": {Kind: Map, Elem: &Type{}},
	"object":                       ObjectOf(&Member{Name: "a", Type: &Type{Kind: String}}),
	"list(object)":                 ListOf(ObjectOf(&Member{Name: "a", Type: &Type{Kind: String}, Optional: true})),
	"one_of(string, list(string))": {OneOf: []*Type{{Kind: String}, ListOf(&Type{Kind: String})}},
}

// Until the memory of arguments is reserved, they cost less than their text, whatever they are: so do arguments of a
// wrong kind, which are refused. The decoded ones take no more than was reserved.
func TestArgumentsCostWhatIsReserved(t *testing.T) {
	errRefused := errors.New("refused")
	var all [][2]int // types, and shapes
	names := slices.Sorted(maps.Keys(typesOfArguments))
	for n := range names {
		for m := range shapesOfArguments {
			all = append(all, [2]int{n, m})
		}
	}
	for _, one := range sampletest.Of(t, len(all)/2, all) {
		name, shape := names[one[0]], shapesOfArguments[one[1]]
		v := ObjectOf(&Member{Name: "x", Type: typesOfArguments[name]}).Compile()
		raw := []byte(`{"x":` + shape.text + `}`)
		reserved := int64(-1)
		var violations []Violation
		before := allocated(func() {
			_, violations, _ = v.Arguments(raw, reserving(func(n int64) error {
				reserved = n
				return errRefused
			}))
		})
		if limit := int64(len(raw)); before > limit {
			t.Errorf("%s for %s: %d bytes before anything is reserved, %.1f times the text", shape.name, name, before,
				float64(before)/float64(len(raw)))
		}
		if violations != nil {
			continue
		}
		took := allocated(func() {
			_, violations, _ = v.Arguments(raw, Unlimited)
		}) - before
		const slack = 768 << 10 // for violations
		if took > reserved+allocationSlack(reserved)+slack {
			t.Errorf("%s for %s: %d bytes were reserved, %d taken", shape.name, name, reserved, took)
		}
		if reserved > 2*took+slack && violations == nil {
			t.Errorf("%s for %s: %d bytes were reserved, only %d taken", shape.name, name, reserved, took)
		}
		if violations != nil && reserved > 3*int64(len(raw)) && name != "set(any)" {
			t.Errorf("%s for %s: %d bytes were reserved for arguments that are refused: %v", shape.name, name, reserved,
				violations[0])
		}
	}
}

// What is wrong with arguments is said at the same places as after they were decoded in full.
func TestWrongKindsAreReportedAtTheirPlaces(t *testing.T) {
	ones := "[" + strings.Repeat("1,", 999) + "1]"
	list := ListOf(&Type{Kind: String})
	v := ObjectOf(
		&Member{Name: "a", Type: &Type{Kind: String}},
		&Member{Name: "b", Type: list, Optional: true},
		&Member{Name: "c", Type: &Type{Kind: Map, Elem: &Type{Kind: Number}}, Optional: true},
		&Member{Name: "d", Type: typesOfArguments["one_of(string, list(string))"], Optional: true},
	).Compile()
	for raw, want := range map[string]string{
		`{"a":` + ones + `}`:                  "a: must be a string, got a list of 1000",
		`{"a":{"x":` + ones + `}}`:            "a: must be a string, got an object",
		`{"a":"x","b":["y",` + ones + `,{}]}`: "b[1]: must be a string, got a list of 1000; b[2]: must be a string, got an object",
		`{"a":"x","b":{}}`:                    "b: must be a list, got an object",
		`{"a":"x","c":{"k":[],"l":1}}`:        "c.k: must be a number, got a list of 0",
		`{"a":"x","z":` + ones + `}`: "unknown argument \"z\"; leave it out. If the client adds it to every call, " +
			"the server can ignore it: server { ignore_arguments = [\"z\"] }",
		`{"a":"x","d":{}}`:    "d: must be a string or a list, got an object",
		`{"a":"x","d":[[1]]}`: "d: fits none of the 2 alternatives; the nearest is list(string); d[0]: must be a string, got a list of 1",
		`{"a":"x","c":{"k":1` + strings.Repeat("0", 1000) + `}}`: "c.k: is a number of more than 1000 digits, which no number may have",
		`{"a":"x","c":{"k":1,}}`:                                 "the arguments are not valid JSON: a key is expected at byte 20",
		ones:                                                     "the arguments must be an object, got a list of 1000",
		`1`:                                                      "the arguments must be an object, got the number 1",
	} {
		_, violations, _ := v.Arguments([]byte(raw), Unlimited)
		var got []string
		for _, v := range violations {
			got = append(got, v.String())
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%.60s: got %q, want %q", raw, got, want)
		}
	}
	_, violations, _ := v.Arguments([]byte(`{"b":`+ones+`}`), Unlimited)
	if len(violations) != maxViolations+1 || violations[99].String() != "b[99]: must be a string, got the number 1" ||
		!strings.Contains(violations[100].Message, "further violations") {
		t.Errorf("%d violations, the last ones %v", len(violations), violations[max(0, len(violations)-2):])
	}
}

// What is decoded along a type is what is decoded whole, with the same violations.
func FuzzArgumentsAlongATypeAreThoseReadWhole(f *testing.F) {
	for _, text := range []string{
		`{"x":null}`, `{"x":[1,"a",null,{}]}`, `{"x":{"a":[1],"b":{"c":2}}}`, `{}`, `{"y":1}`, `{"x":[[["a"]],[1.5e3,-0]]}`,
		`{"x":"\u00e9\n"}`, `{"x":[{"a":"b"},{"b":[1]}]}`, `{"x":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18]}`,
		`{"x":{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":[9]}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		whole, err := value.Decode([]byte(text))
		object, isObject := whole.(map[string]any)
		if err != nil || !isObject {
			return
		}
		for name, typ := range typesOfArguments {
			v := ObjectOf(&Member{Name: "x", Type: typ}, &Member{Name: "a", Type: &Type{Kind: Integer, Nullable: true}, Optional: true}).Compile()
			got, violations, _ := v.Arguments([]byte(text), Unlimited)
			want, wantViolations, _ := v.Values(object, Unlimited)
			if len(wantViolations) > maxViolations {
				continue
			}
			if !slices.Equal(violations, wantViolations) || !value.Equal(got, want) {
				t.Errorf("%s with %s: got %v %v, want %v %v", text, name, got, violations, want, wantViolations)
			}
			whole, _ = value.Decode([]byte(text)) // Values may change it
			object, _ = whole.(map[string]any)
		}
	})
}

func TestAnswersCostWhatIsReserved(t *testing.T) {
	errRefused := errors.New("refused")
	for _, shape := range shapesOfArguments {
		raw, reserved := []byte(shape.text), int64(0)
		before := allocated(func() {
			if _, err := DecodeWithin(raw, func(n int64) error { reserved = n; return errRefused }); err != errRefused {
				t.Errorf("%s: %v", shape.name, err)
			}
		})
		took := allocated(func() {
			if _, err := DecodeWithin(raw, func(int64) error { return nil }); err != nil {
				t.Errorf("%s: %v", shape.name, err)
			}
		}) - before
		if before > int64(len(raw))+allocationSlack(int64(len(raw))) || took > reserved+allocationSlack(reserved)+64<<10 {
			t.Errorf("%s: %d bytes before %d were reserved, and %d afterwards", shape.name, before, reserved, took)
		}
	}
}

// reserving is a budget of memory.
type reserving func(bytes int64) error

func (r reserving) Reserve(bytes int64) error { return r(bytes) }
func (reserving) Step(int) error              { return nil }

var errTimeOver = errors.New("the time is over")

// timed is a budget of time. It fails if there are more steps between two looks than there may be.
type timed struct{ elements, steps, most int }

func (*timed) Reserve(int64) error { return nil }

func (b *timed) Step(n int) error {
	b.most = max(b.most, n)
	b.steps++
	if b.elements -= n; b.elements < 0 {
		return errTimeOver
	}
	return nil
}

// What takes long ends with the budget of time, and looks at it before every 10,000 elements.
func TestChecksOfInputsLookAtTheTime(t *testing.T) {
	slow, err := NewPattern("^(a?){400}b?$")
	if err != nil {
		t.Fatal(err)
	}
	anywhere, err := NewPattern("(aa?){400}b")
	if err != nil {
		t.Fatal(err)
	}
	words := &Type{Kind: String, Pattern: slow}
	either := &Type{OneOf: []*Type{words, {Kind: Bool}, {Kind: Integer}}}
	library := func(doc map[string]any) *Type {
		l, err := compileLibrary(doc)
		if err != nil {
			t.Fatal(err)
		}
		return &Type{library: l}
	}
	nested := map[string]any{"items": map[string]any{"$ref": "#"}}
	nestedTwice := map[string]any{"anyOf": []any{map[string]any{"allOf": []any{nested, false}}, nested}}
	a30 := `"` + strings.Repeat("a", 30) + `",`
	for name, c := range map[string]struct {
		typ  *Type
		text string
	}{
		"a long text":    {&Type{Kind: String, Pattern: anywhere}, `"` + strings.Repeat("a", 3<<20) + `"`},
		"many texts":     {ListOf(words), `[` + strings.Repeat(a30, 100_000) + `"a"]`},
		"a map":          {&Type{Kind: Map, Elem: ListOf(words)}, `{"a":[` + strings.Repeat(a30, 100_000) + `"a"]}`},
		"items of a set": {&Type{Kind: Set, Elem: &Type{Kind: Integer}}, `[` + strings.Repeat("1,", 1_500_000) + `1]`},
		"a raw schema":   {library(map[string]any{"items": map[string]any{"pattern": "^(a?){400}b?$"}}), `[` + strings.Repeat(a30, 100_000) + `"a"]`},
		"names":          {library(map[string]any{"patternProperties": map[string]any{"(aa?){400}b": true}}), `{"` + strings.Repeat("a", 3<<20) + `":1}`},
		"references":     {library(nestedTwice), strings.Repeat("[", 60) + strings.Repeat("]", 60)},
		"alternatives":   {ListOf(either), `[` + strings.Repeat(a30, 100_000) + `"a"]`},
	} {
		v := ObjectOf(&Member{Name: "x", Type: c.typ}).Compile()
		b := &timed{elements: 200_000}
		_, violations, err := v.Arguments([]byte(`{"x":`+c.text+`}`), b)
		if err != errTimeOver || violations != nil || b.most > 10_000 || b.elements < -10_000 {
			t.Errorf("%s: %v, %v, %d elements at once, %d after the end", name, violations, err, b.most, -b.elements)
		}
	}
}

// A text of a format is not read when it is longer than one of the format is.
func TestFormatsHaveALength(t *testing.T) {
	for _, format := range formatNames() {
		v := ObjectOf(&Member{Name: "x", Type: &Type{Kind: String, Format: format}}).Compile()
		for _, part := range []string{"a", "1.", "/", "(a)*", "{a}"} {
			raw := []byte(`{"x":"` + strings.Repeat(part, 3<<20/len(part)) + `"}`)
			if took := allocated(func() { v.Arguments(raw, Unlimited) }); took > 9*int64(len(raw)) {
				t.Errorf("%s of %q takes %d times its text", format, part, took/int64(len(raw)))
			}
		}
	}
}

// What a type adds to arguments is reserved, too: defaults, copies without nulls, and what is remembered of alternatives
// that contain themselves.
func TestWhatATypeAddsIsReserved(t *testing.T) {
	var defaults []*Member
	for i := range 9 {
		defaults = append(defaults, &Member{Name: fmt.Sprint("m", i), Type: &Type{Kind: String}, HasDefault: true, Default: "x"})
	}
	withDefaults := ListOf(ObjectOf(defaults...))
	optional := ObjectOf(&Member{Name: "a", Type: &Type{Kind: String}, Optional: true})
	withoutNulls := ListOf(&Type{OneOf: []*Type{optional, {Kind: String}}, fits: func() []*Validator { return nil }})
	nested := named(t, "one_of(integer, list(type.x))")
	for name, c := range map[string]struct {
		typ  *Type
		text string
	}{
		"defaults":     {withDefaults, repeated("[", "]", always("{}"))},
		"nulls":        {withoutNulls, repeated("[", "]", always(`{"a":null}`))},
		"alternatives": {nested, repeated("[", "]", always("[1]"))},
	} {
		v := ObjectOf(&Member{Name: "x", Type: c.typ}).Compile()
		raw, reserved := []byte(`{"x":`+c.text+`}`), int64(0)
		before := allocated(func() {
			v.Arguments(raw, reserving(func(n int64) error { reserved = n; return errors.New("refused") }))
		})
		var arguments map[string]any
		var violations []Violation
		took := allocated(func() { arguments, violations, _ = v.Arguments(raw, Unlimited) }) - before
		if violations != nil || took > reserved+allocationSlack(reserved)+768<<10 || reserved > 2*took {
			t.Errorf("%s: %d bytes were reserved, %d taken: %v", name, reserved, took, violations)
		}
		runtime.KeepAlive(arguments)
	}
}

// Reading arguments along a type takes time that is linear in their text: alternatives do not multiply with the depth,
// and objects of many members look at the time.
func TestTypesDoNotMultiplyTheTimeOfReading(t *testing.T) {
	either := named(t, "one_of(object({ k = enum(\"a\"), x = optional(type.x) }), object({ k = enum(\"b\"), x = optional(type.x) }))")
	v := ObjectOf(&Member{Name: "x", Type: either}).Compile()
	raw := `{"x":` + strings.Repeat(`{"k":"a","x":`, 200) + `{"k":"b"}` + strings.Repeat("}", 201)
	if _, violations, _ := v.Arguments([]byte(raw), Unlimited); violations != nil {
		t.Error(violations)
	}
	var members []*Member
	for i := range 1000 {
		members = append(members, &Member{Name: fmt.Sprintf("m%03d", i), Type: &Type{Kind: Integer}, Optional: true})
	}
	for _, element := range []string{"{}", `{"m999":1}`} {
		b := &timed{elements: 200_000}
		v := ObjectOf(&Member{Name: "x", Type: ListOf(ObjectOf(members...))}).Compile()
		_, violations, err := v.Arguments([]byte(`{"x":`+repeated("[", "]", always(element))+`}`), b)
		if err != errTimeOver || violations != nil || b.most > 10_000 || b.elements < -10_000 {
			t.Errorf("%s: %v, %v, %d elements at once, %d after the end", element, violations, err, b.most, -b.elements)
		}
	}
}
