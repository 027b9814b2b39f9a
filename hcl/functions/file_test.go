package functions

import (
	"strings"
	"testing"
)

func TestTextOfAFileIsUTF8(t *testing.T) {
	files := map[string]string{"mark": "\ufeffa", "wide": "\xff\xfe\xe9\x00", "latin": "a\ncaf\xe9"}
	c := &Context{ReadFile: func(name string) ([]byte, error) { return []byte(files[name]), nil }, Memory: 1 << 20}
	for name, want := range map[string]string{"mark": "a", "wide": "é"} {
		if got, err := fileText(c, []any{name}); got != want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	_, err := fileText(c, []any{"latin"})
	if err == nil || !strings.Contains(err.Error(), `"latin" is not UTF-8: 0xE9 at byte 6, in line 2; convert it, or use filebase64`) {
		t.Error(err)
	}
}
