package mcp

import (
	"strings"
	"testing"

	"hatchel/hcl/jsonscan"
)

const benchCall = `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"tool_0001","arguments":{"input0":"some text","input1":42},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1.0"},"io.modelcontextprotocol/clientCapabilities":{}}}}`

func BenchmarkParseCall(b *testing.B) {
	data := []byte(benchCall)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		p, err := Parse(data, 64)
		if err != nil {
			b.Fatal(err)
		}
		p.Release()
	}
}

func BenchmarkParseLongText(b *testing.B) {
	data := []byte(`{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"t","arguments":{"text":"` + strings.Repeat("words and words ", 6400) + `"}}}`)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		p, err := Parse(data, 64)
		if err != nil {
			b.Fatal(err)
		}
		p.Release()
	}
}

func BenchmarkAppendLongText(b *testing.B) {
	s := strings.Repeat("words and words\n", 6400)
	b.SetBytes(int64(len(s)))
	var dst []byte
	for b.Loop() {
		dst = jsonscan.AppendString(dst[:0], s)
	}
}

func TestParsingACallDoesNotAllocate(t *testing.T) {
	data := []byte(benchCall)
	p := new(Packet)
	read := func() {
		p.scan.Reset(data, 64)
		if err := p.read(); err != nil {
			t.Fatal(err)
		}
	}
	read()
	if n := testing.AllocsPerRun(100, read); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
