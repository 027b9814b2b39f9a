package mcp

import "testing"

func TestHiddenCharactersOfAResultAreRemovedAndCounted(t *testing.T) {
	for _, c := range []struct {
		text, want string
		removed    int
	}{
		{`{"a": [1.10, 9007199254740993, "x"]}`, `{"a": [1.10, 9007199254740993, "x"]}`, 0},
		{"{\"a\":\"x\U000E0041\U000E0042y\"}", `{"a":"xy"}`, 2},
		{`{"a":"x\u200by","n":1e400,"big":9007199254740993}`, `{"a":"xy","n":1e400,"big":9007199254740993}`, 1},
		{`{"a":["\u202e",true,null,{"\u2066k":"v"}]}`, `{"a":["",true,null,{"k":"v"}]}`, 2},
		{"\"Zürich 🎉 é\"", "\"Zürich 🎉 é\"", 0},
	} {
		clean := cleaner{}
		got, err := clean.json([]byte(c.text))
		if err != nil || string(got) != c.want || clean.removed != c.removed {
			t.Errorf("%q: got %s, %d removed, %v", c.text, got, clean.removed, err)
		}
	}
	clean := cleaner{}
	if got, err := clean.json([]byte(`{"a":1,"a\u200b":2}`)); err == nil {
		t.Errorf("two members with one name became %s", got)
	}
	keep := cleaner{keep: true}
	if got, _ := keep.json([]byte(`"\u200b"`)); string(got) != `"\u200b"` || keep.removed != 0 {
		t.Errorf("kept %s", got)
	}
}
