package result

import (
	"strings"
	"testing"

	"hatchel/adapters"
)

func TestTextsOfAnotherServerThatAreLeftOutAreNamed(t *testing.T) {
	for _, c := range []struct {
		texts []string
		want  string
	}{
		{[]string{"1234", "567890"}, `[{"type":"text","text":"1234"},{"type":"text","text":"567890"}]`},
		{[]string{"1234", "5678901", "x"}, `[{"type":"text","text":"1234"},{"type":"text","text":"567890"},` +
			`{"type":"text","text":"[A. Truncated: 10 bytes of 12 bytes of text are shown. Ask for less.]"}]`},
		{[]string{"1234567890", "x"}, `[{"type":"text","text":"1234567890"},` +
			`{"type":"text","text":"[A. Truncated: 10 bytes of 11 bytes of text are shown. Ask for less.]"}]`},
		{[]string{"123456789ü", "x"}, `[{"type":"text","text":"123456789"},` +
			`{"type":"text","text":"[A. Truncated: 10 bytes of 12 bytes of text are shown. Ask for less.]"}]`},
	} {
		content := &adapters.Content{}
		for _, text := range c.texts {
			content.Blocks = append(content.Blocks, adapters.ContentBlock{Kind: adapters.ContentText, Text: text})
		}
		if strings.Contains(c.want, "[A. ") {
			content.Notices = []string{"A."}
		}
		w := &Writer{MaxText: 10, Hint: "Ask for less."}
		if got := string(w.appendUpstream(nil, content)); got != c.want {
			t.Errorf("%q: got %s", c.texts, got)
		}
	}
}
