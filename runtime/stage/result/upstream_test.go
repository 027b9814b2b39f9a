package result

import (
	"encoding/base64"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/scrub"
	"hatchel/hcl"
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
		if got, _ := w.appendUpstream(nil, content, new(hcl.Frame)); string(got) != c.want {
			t.Errorf("%q: got %s", c.texts, got)
		}
	}
}

// Clients that decode data would refuse the whole result if a secret was removed from it.
func TestDataOfAnotherServerThatHasASecretIsLeftOut(t *testing.T) {
	encode := base64.StdEncoding.EncodeToString
	secret := encode([]byte("an image with s3cret-of-the-server in it"))
	content := &adapters.Content{Notices: []string{"A."}, Blocks: []adapters.ContentBlock{
		{Kind: adapters.ContentImage, MIMEType: "image/png", Data: secret},
		{Kind: adapters.ContentImage, MIMEType: "image/png", Data: encode([]byte("an image"))},
		{Kind: adapters.ContentResource, URI: "hatchel://x/y", Data: secret},
	}}
	w := &Writer{MaxText: 100, Scrubber: scrub.New([]string{"s3cret-of-the-server"})}
	got, leftOut := w.appendUpstream(nil, content, new(hcl.Frame))
	const want = `[{"type":"image","mimeType":"image/png","data":"YW4gaW1hZ2U="},{"type":"text","text":` +
		`"[A. Left out of the answer: 2 × data with a secret.]"}]`
	if string(got) != want || leftOut != 2 {
		t.Errorf("got %s, %d", got, leftOut)
	}
}
