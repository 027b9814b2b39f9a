package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/mcp/client"
)

// everyKind is content of every kind, of which a part is not valid.
const everyKind = `[
	{"type":"text","text":"Hel\u200blo"},
	{"type":"image","data":"aGVsbG8=","mimeType":"image/png","annotations":{"audience":["user","root"],"priority":0.5}},
	{"type":"image","data":"aGVsbG8=","mimeType":"text/html"},
	{"type":"image","data":"not base64","mimeType":"image/png"},
	{"type":"audio","data":"aGVsbG8=","mimeType":"audio/wav","_meta":{"x":1}},
	{"type":"resource","resource":{"uri":"file:///srv/a b.txt","mimeType":"text/plain","text":"body"}},
	{"type":"resource","resource":{"uri":"file:///srv/a.bin","blob":"aGVsbG8="}},
	{"type":"resource","resource":{"text":"no URI"}},
	{"type":"resource_link","uri":"https://docs.example/a?b=c","name":"a\ndocument","title":"Guide"},
	{"type":"resource_link","uri":"file:///etc/passwd","name":"p"},
	{"type":"video","data":"aGVsbG8="},
	{"type":"text"}
]`

func readAll(t *testing.T, a *action, content string) (map[string]any, *adapters.Call) {
	t.Helper()
	call := new(adapters.Call)
	out, err := a.output(call, &client.Result{Content: []byte(content)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out, call
}

// TestHalfOfASurrogatePairIsReplaced reads texts that JavaScript servers cut in the middle of a character.
func TestHalfOfASurrogatePairIsReplaced(t *testing.T) {
	a := &action{block: &block{HiddenText: hiddenRemove, Links: linksDeclared}, server: &server{name: "docs"}}
	out, _ := readAll(t, a, `[{"type":"text","text":"cut \ud83d"},`+
		`{"_meta":{"x":"\udc00"},"type":"resource","resource":{"x":"\udc00","uri":"file:///a","text":"\ude00 cut"}}]`)
	if out["text"] != "cut \ufffd\n\ufffd cut" || out["truncated"] != false {
		t.Errorf("the text is %q, truncated %v", out["text"], out["truncated"])
	}
}

func TestContentOfEveryKindKeepsItsOrder(t *testing.T) {
	a := &action{block: &block{HiddenText: hiddenRemove, Links: linksDeclared}, server: &server{name: "docs"}}
	out, call := readAll(t, a, everyKind)
	content := out["content"].(*adapters.Content)
	const want = `[{"type":"text","text":"Hello"},` +
		`{"type":"image","mimeType":"image/png","data":"aGVsbG8=","annotations":{"audience":["user"],"priority":0.5}},` +
		`{"type":"audio","mimeType":"audio/wav","data":"aGVsbG8="},` +
		`{"type":"resource","resource":{"uri":"hatchel://docs/file:%2F%2F%2Fsrv%2Fa%20b.txt","mimeType":"text/plain","text":"body"}},` +
		`{"type":"resource","resource":{"uri":"hatchel://docs/file:%2F%2F%2Fsrv%2Fa.bin","blob":"aGVsbG8="}},` +
		`{"type":"text","text":"Link: Guide https://docs.example/a?b=c"}]`
	got := string(content.AppendJSON(nil))
	if got != want || !json.Valid([]byte(got)) {
		t.Errorf("got %s", got)
	}
	if out["text"] != "Hello\nbody\nLink: Guide https://docs.example/a?b=c" || out["truncated"] != true {
		t.Errorf("the text is %q, truncated %v", out["text"], out["truncated"])
	}
	if call.Received != (adapters.Received{Hidden: 1, LeftOut: 6}) {
		t.Errorf("counted %+v", call.Received)
	}
	if n := strings.Join(content.Notices, "|"); n != "Left out of the answer: 1 × content of an unknown kind, 1 × embedded "+
		"resource that is not valid, 2 × image whose data or media type is not valid, 1 × link and 1 × text without its text." {
		t.Errorf("the notice is %s", n)
	}
	if v, err := content.Value(); err != nil || len(v.([]any)) != 6 {
		t.Errorf("as a value it is %v, %v", v, err)
	}
}

func TestLinksAndResourcesAreLeftOutOnRequest(t *testing.T) {
	a := &action{block: &block{HiddenText: hiddenKeep, Links: linksNone, Delimit: true}, server: &server{name: "docs"}}
	out, call := readAll(t, a, everyKind)
	content := out["content"].(*adapters.Content)
	if len(content.Blocks) != 3 || content.Blocks[0].Text != "Hel\u200blo" || call.Received.Hidden != 0 ||
		!strings.HasPrefix(content.Delimiter, "docs ") {
		t.Errorf("got %+v", content)
	}
}

func TestAResultThatIsAnErrorFailsTheCallWithItsText(t *testing.T) {
	a := &action{block: &block{HiddenText: hiddenRemove}, server: &server{name: "docs"}}
	for content, want := range map[string]string{
		`[{"type":"text","text":" No such\u202e issue. "}]`: "No such issue.",
		`[]`: "the server of this tool reports a failure without saying which",
		`[{"type":"text","text":"` + strings.Repeat("é", 4096) + `"}]`: strings.Repeat("é", 2046) + "…",
	} {
		_, err := a.output(new(adapters.Call), &client.Result{Content: []byte(content), IsError: true}, nil)
		if err == nil || err.Error() != want {
			t.Errorf("%.40s: got %v", content, err)
		}
	}
}
