package schema

import (
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

func BenchmarkArguments(b *testing.B) {
	b.ReportAllocs()
	typ, _ := inputs(nil, sixInputs)
	v := typ.Compile()
	raw := []byte(sixArguments)
	for b.Loop() {
		if _, violations := v.Arguments(raw); violations != nil {
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
		if _, violations := v.Check(decoded); violations != nil {
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
		if err := library.Validate(decoded); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRows(b *testing.B) {
	b.ReportAllocs()
	typ, _ := inputs(nil, `input "rows" { type = list(object({ date = string("", { format = "date" }), amount = number, vendor = string("", { max_length = 80 }) })) }`)
	v := typ.Compile()
	raw := []byte(`{"rows":[`)
	for i := range 100 {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(raw, `{"date":"2026-01-31","amount":12.5,"vendor":"Example Ltd"}`...)
	}
	raw = append(raw, `]}`...)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, violations := v.Arguments(raw); violations != nil {
			b.Fatal(violations)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	typ, _ := inputs(nil, sixInputs)
	for b.Loop() {
		typ.Compile()
	}
}
