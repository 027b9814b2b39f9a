package sqltext

import (
	"testing"

	"hatchel/hcl/template"
)

const threeValues = "SELECT id, name FROM orders WHERE customer = ${s} AND amount > ${n} AND name <> ${w} ORDER BY id"

func benchmarkBind(b *testing.B, source string) {
	p, diags := Compile(parse(b, source, parseTypes(b, valueTypes)), SQLite)
	if p == nil {
		b.Fatal(diags)
	}
	var f template.Frame = scope{"s": "x", "n": 5, "w": "y", "c": true, "l": []any{"a", "b", "c"}}
	args := make([]any, 0, 8)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := p.Bind(f, args[:0]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBindStatic(b *testing.B) { benchmarkBind(b, threeValues) }

func BenchmarkBindBranches(b *testing.B) {
	benchmarkBind(b, "SELECT id FROM orders WHERE 1 = 1 %{if c} AND customer = ${s} %{endif} AND name IN ${l}")
}

func BenchmarkCompile(b *testing.B) {
	tree := parse(b, threeValues, parseTypes(b, valueTypes))
	b.ReportAllocs()
	for b.Loop() {
		Compile(tree, PostgreSQL)
	}
}
