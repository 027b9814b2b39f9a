package console

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"hatchel/adapters/scrub"
	"hatchel/internal/printable"
	"hatchel/runtime/edge/mcp"
	output "hatchel/runtime/stage/result"
)

// result is the outcome of a call.
type result struct {
	condition
	Parts    []part
	Approval string // that the call needs before it is carried out; empty for none
	View     *viewFrame
	Tokens   int    // of a call that has not failed, estimated
	Format   string // csv, markdown or json of a tool with a format; empty for another one
	Next     string // the cursor of the next page; empty for none

	encoded []byte // as a client gets it; nil for a call that waits or has failed
}

// part is a part of a result: a text, an image, or JSON with its table.
type part struct {
	Label, Text string // Label is empty for the only text
	Table       *table // of Text, which is JSON; nil for none
	Image       string // as data of its media type; empty for none
	Rest        string // where the whole text can be downloaded; empty if it is shown
}

// Labels of parts.
const (
	textLabel = "Text"
	jsonLabel = "Structured"
)

const (
	maxShownTexts  = 64 << 10 // bytes that the texts of a result take in a page
	maxShownImages = 64 << 10 // bytes of the images of a result
)

// imageTypes are the media types of images that are shown, by their bytes.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// content is one block of a result.
type content struct {
	Type, Text, Data string
	Name, URI        string // of a link
	Resource         struct{ URI, Text, Blob string }
}

// newResult returns what a call has come to, which takes the room of a page.
func (c *Console) newResult(q *request, outcome *mcp.Outcome, hidden *scrub.Scrubber, room int) *result {
	switch {
	case outcome.Approval != "":
		return &result{condition: waitsForApproval, Approval: outcome.Approval}
	case outcome.Questions != nil:
		const word = "the tool asks its client a question, which the console cannot answer"
		return &result{condition: condition{"warn", word}}
	}
	out := &result{condition: condition{"ok", "ok"}}
	if outcome.IsError {
		out.condition = condition{"bad", "failed"}
	}
	var decoded struct {
		Content    []content
		Structured json.RawMessage `json:"structuredContent"`
		Meta       output.Meta     `json:"_meta"`
	}
	encoded := outcome.AppendResult(nil, mcp.Revision20260728)
	if err := json.Unmarshal(encoded, &decoded); err != nil {
		decoded.Structured = encoded
	}
	var texts []string
	for _, block := range decoded.Content {
		texts = append(texts, block.Text)
	}
	if !outcome.IsError {
		out.encoded, out.Tokens = encoded, output.AnswerTokens(texts, decoded.Structured)
		out.Next = nextCursor(decoded.Structured, texts)
	}
	w := resultWriter{console: c, request: q, hidden: hidden, texts: min(maxShownTexts, room/3*2)}
	w.images = min(maxShownImages, base64.StdEncoding.DecodedLen(room-w.texts))
	if said := decoded.Meta.String(); said != "" {
		out.condition = stateOf(decoded.Meta.Outcome)
		w.addText("Failures", said)
	}
	if decoded.Structured != nil {
		w.addJSON(jsonLabel, decoded.Structured)
	}
	for _, block := range decoded.Content {
		if block.Type != "text" || !isSameJSON(block.Text, decoded.Structured) {
			w.add(block)
		}
	}
	if out.Parts = w.parts; len(out.Parts) == 1 && slices.Contains([]string{textLabel, jsonLabel}, out.Parts[0].Label) {
		out.Parts[0].Label = "" // nothing to tell it from
	}
	return out
}

// nextCursor returns the cursor of the page after an answer; empty for none.
func nextCursor(structured json.RawMessage, texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	if structured == nil {
		structured = json.RawMessage(texts[0]) // a tool with a format may send JSON as a text alone
	}
	var page struct {
		Cursor string `json:"next_cursor"`
	}
	if json.Unmarshal(structured, &page) != nil || page.Cursor == "" {
		return output.NoticedCursor(texts[0])
	}
	return page.Cursor
}

// isSameJSON reports whether a text is the JSON that is shown already, which clients without structured content read.
func isSameJSON(text string, structured json.RawMessage) bool {
	return structured != nil && json.Valid([]byte(text)) && sameJSON([]byte(text), structured)
}

// resultWriter makes parts of what a call has returned.
type resultWriter struct {
	console *Console
	request *request
	hidden  *scrub.Scrubber
	texts   int // bytes that texts may still take in the page
	images  int // bytes that images may still have
	parts   []part
}

func (w *resultWriter) add(block content) {
	switch block.Type {
	case "text":
		w.addText(textLabel, block.Text)
	case "image":
		w.addImage(block.Data)
	case "resource_link":
		w.addText("Link to a resource", block.Name+"\n"+block.URI)
	case "resource":
		if block.Resource.Blob == "" {
			w.addText("Resource "+w.hidden.Text(block.Resource.URI), block.Resource.Text)
			return
		}
		fallthrough
	default:
		w.parts = append(w.parts, part{Label: block.Type, Text: "is not shown here"})
	}
}

// addText adds a text, of which the page shows the beginning.
func (w *resultWriter) addText(label, text string) {
	w.parts = append(w.parts, w.newPart(label, w.hidden.Text(text)))
}

func (w *resultWriter) newPart(label, text string) part {
	end := fittingIn(w.texts, text)
	p := part{Label: label, Text: text[:end]}
	w.texts -= sizeInPage(p.Text)
	if end < len(text) {
		p.Rest = downloadPath + w.console.downloads.keep(w.request.session.ID, text, w.request.now)
	}
	return p
}

// addJSON adds JSON with its table, which takes at most half of the page.
func (w *resultWriter) addJSON(label string, text json.RawMessage) {
	indented := w.hidden.Text(indentJSON(text))
	t := newTable([]byte(indented))
	if t != nil {
		w.texts -= t.limit(w.texts / 2)
	}
	p := w.newPart(label, indented)
	p.Table = t
	w.parts = append(w.parts, p)
}

func (w *resultWriter) addImage(data string) {
	p := part{Label: "Image"}
	image, err := base64.StdEncoding.DecodeString(data)
	mediaType := http.DetectContentType(image)
	switch {
	case err != nil || !slices.Contains(imageTypes, mediaType):
		p.Text = "is none that the console shows"
	case len(image) > w.images:
		p.Text = "is too large to be shown"
	default:
		w.images -= len(image)
		p.Image = "data:" + mediaType + ";base64," + data
	}
	w.parts = append(w.parts, p)
}

// fittingIn returns how many bytes of a text take at most so many bytes in a page.
func fittingIn(limit int, text string) int {
	for at, r := range text {
		if limit -= runeInPage(r); limit < 0 {
			return at
		}
	}
	return len(text)
}

// sizeInPage returns how many bytes a text takes in a page.
func sizeInPage(text string) (size int) {
	for _, r := range text {
		size += runeInPage(r)
	}
	return size
}

func runeInPage(r rune) int {
	switch {
	case strings.ContainsRune(`"'&<>+`, r):
		return len("&#34;")
	case r != '\n' && !printable.Is(r):
		return len(`\U0010ffff`)
	}
	return utf8.RuneLen(r)
}
