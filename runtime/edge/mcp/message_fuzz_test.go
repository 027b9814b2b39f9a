package mcp

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzParsedMembersAreJSON checks what parse splits a message into. The fuzz targets of package
// jsonscan check what is accepted.
func FuzzParsedMembersAreJSON(f *testing.F) {
	for _, seed := range []string{
		benchCall, `[]`, `{}`, `{"a":1,"a":2}`,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, `[{"jsonrpc":"2.0","id":1,"method":"m"},7]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse(bytes.Clone(data), 8)
		if err != nil {
			return
		}
		if !json.Valid(data) {
			t.Fatalf("%q was accepted", data)
		}
		for _, m := range p.Messages {
			for _, part := range [][]byte{m.ID, m.params, m.name, m.arguments, m.meta, m.metaVersion, m.progressToken, m.Result} {
				if part != nil && !json.Valid(part) {
					t.Fatalf("%q was split into %q", data, part)
				}
			}
		}
		p.Release()
	})
}

func FuzzCursorIsOneThatWasGivenOutOrRefused(f *testing.F) {
	f.Add("")
	f.Add("YWZ0ZXI6bnVtYmVy")
	f.Add("YWZ0ZXI6")
	f.Add("not base64")
	f.Fuzz(func(t *testing.T, cursor string) {
		name, ok := parseCursor(cursor)
		if ok && string(appendCursor(nil, name)) != cursor {
			t.Fatalf("%q stands for %q, which is given out as %q", cursor, name, appendCursor(nil, name))
		}
	})
}
