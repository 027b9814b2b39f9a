package schema

import (
	"strings"
	"testing"

	"hatchel/hcl/value"
)

const sixInputs = `
input "from" { type = string("First day", { format = "date" }) }
input "customer" { type = string("Name", { max_length = 80 }) }
input "limit" { type = optional(integer("Rows", { min = 1, max = 100 }), 10) }
input "minimum" { type = optional(number) }
input "sort" { type = optional(enum("vendor", "revenue"), "revenue") }
input "exact" { type = optional(bool, false) }
`

const sixArguments = `{"from":"2026-01-31","customer":"Example Ltd","limit":50,"minimum":12.5,"sort":"vendor","exact":true}`

func BenchmarkArguments(b *testing.B) { benchmarkArguments(b, sixInputs, []byte(sixArguments)) }

func benchmarkArguments(b *testing.B, types string, raw []byte) {
	b.ReportAllocs()
	b.SetBytes(int64(len(raw)))
	typ, _ := inputs(nil, types)
	v := typ.Compile()
	for b.Loop() {
		if _, violations, _ := v.Arguments(raw, Unlimited); violations != nil {
			b.Fatal(violations)
		}
	}
}

func BenchmarkDecodeOnly(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := value.Decode([]byte(sixArguments)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckOnly(b *testing.B) {
	b.ReportAllocs()
	typ, _ := inputs(nil, sixInputs)
	v := typ.Compile()
	decoded, _ := value.Decode([]byte(sixArguments))
	for b.Loop() {
		if _, violations, _ := v.Check(decoded, Unlimited); violations != nil {
			b.Fatal(violations)
		}
	}
}

func BenchmarkLibraryOnly(b *testing.B) {
	b.ReportAllocs()
	typ, _ := inputs(nil, sixInputs)
	raw, _ := value.Decode(typ.AppendSchema(nil))
	library, err := compileLibrary(raw)
	if err != nil {
		b.Fatal(err)
	}
	decoded, _ := value.Decode([]byte(sixArguments))
	for b.Loop() {
		if err := library.idle.Get().(*librarySchema).Schema.Validate(decoded); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRows(b *testing.B) {
	row := `{"date":"2026-01-31","amount":12.5,"vendor":"Example Ltd"}`
	raw := `{"rows":[` + row + strings.Repeat(","+row, 99) + `]}`
	benchmarkArguments(b, `input "rows" { type = list(object({ date = string("", { format = "date" }), amount = number, vendor = string("", { max_length = 80 }) })) }`, []byte(raw))
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	typ, _ := inputs(nil, sixInputs)
	for b.Loop() {
		typ.Compile()
	}
}
