package exprlang

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"hatchel/hcl/value"
)

func benchmark(b *testing.B, src string, env Env, roots map[string]any) {
	p, problems := Compile(src, env, WantAny)
	if p == nil {
		b.Fatal(problems)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f := frameOf(roots)
	f.Context = ctx
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Run(f, f.Output); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompareInput(b *testing.B) { benchmark(b, `input.n > 3`, testEnv(), roots(b)) }

func BenchmarkGuardedCondition(b *testing.B) {
	benchmark(b, `input.limit == null || input.limit > 3 && input.sort in ["vendor", "revenue"]`, testEnv(), roots(b))
}

func BenchmarkCallFunction(b *testing.B) { benchmark(b, `upper(input.from)`, testEnv(), roots(b)) }

func megabyte() []byte {
	var s strings.Builder
	s.WriteByte('[')
	for i := 0; s.Len() < 1<<20; i++ {
		if i > 0 {
			s.WriteByte(',')
		}
		fmt.Fprintf(&s, `{"id":%d,"vendor":"vendor number %d","amount":%d.5,"paid":%t,"note":"some text that is long enough"}`, i, i%7, i%1000, i%2 == 0)
	}
	s.WriteByte(']')
	return []byte(s.String())
}

func BenchmarkFilterMegabyte(b *testing.B) {
	rows, err := value.Decode(megabyte())
	if err != nil {
		b.Fatal(err)
	}
	benchmark(b, `output.rows | filter(.amount > 500 && .paid)`, openEnv(), map[string]any{"output": map[string]any{"rows": rows}})
}

func BenchmarkMapMegabyte(b *testing.B) {
	rows, err := value.Decode(megabyte())
	if err != nil {
		b.Fatal(err)
	}
	benchmark(b, `output.rows | map({{id: .id, total: .amount * 2}})`, openEnv(), map[string]any{"output": map[string]any{"rows": rows}})
}

func BenchmarkDecodeMegabyte(b *testing.B) {
	src := megabyte()
	for b.Loop() {
		if _, err := value.Decode(src); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeMegabyteWithEncodingJSON(b *testing.B) {
	src := megabyte()
	for b.Loop() {
		var v any
		if err := json.Unmarshal(src, &v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if p, problems := Compile(`output.rows | filter(.amount > input.n) | map({{v: .vendor, a: .amount}})`, testEnv(), WantAny); p == nil {
			b.Fatal(problems)
		}
	}
}
