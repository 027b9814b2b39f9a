package sqltext

import (
	"testing"

	"hatchel/hcl/template"
)

const threeHoles = "SELECT id, name FROM orders WHERE customer = ${s} AND amount > ${n} AND name <> ${w} ORDER BY id"

func benchmarkProgram(b *testing.B, source string, d Dialect) (*Program, scope) {
	tree := parse(b, source, parseTypes(b, holeTypes))
	p, diags := Compile(tree, d)
	if p == nil {
		b.Fatal(diags)
	}
	return p, scope{"s": "x", "n": 5, "w": "y", "c": true, "l": []any{"a", "b", "c"}}
}

func BenchmarkBindStatic(b *testing.B) {
	p, values := benchmarkProgram(b, threeHoles, SQLite)
	var f template.Frame = values
	args := make([]any, 0, 8)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := p.Bind(f, args[:0]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBindBranches(b *testing.B) {
	p, values := benchmarkProgram(b, "SELECT id FROM orders WHERE 1 = 1 %{if c} AND customer = ${s} %{endif} AND name IN ${l}", SQLite)
	var f template.Frame = values
	args := make([]any, 0, 8)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := p.Bind(f, args[:0]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	tree := parse(b, threeHoles, parseTypes(b, holeTypes))
	b.ReportAllocs()
	for b.Loop() {
		Compile(tree, PostgreSQL)
	}
}
