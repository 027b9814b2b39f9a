package mcp

import (
	"fmt"
	"mime"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"hatchel/adapters"
	"hatchel/adapters/mcp/client"
	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/jsonscan"
	"hatchel/internal/cut"
	"hatchel/internal/printable"
)

// maxDepth is the maximum nesting of what a server sends.
const maxDepth = client.MaxDepth

// contentReader reads the content of one result.
type contentReader struct {
	connection string
	links      string // argument of the block
	clean      *cleaner
	out        adapters.Content
	dropped    map[string]int // by kind, in the words of a notice
}

// read reads the content of a result, an array of blocks as the server sent it. What is not delivered is
// counted, and named by a notice.
func (r *contentReader) read(raw []byte) error {
	if raw == nil {
		return nil
	}
	r.dropped = map[string]int{}
	s := jsonscan.NewLossy(raw, maxDepth)
	if s.Peek() != '[' {
		return s.Fail("a list of content")
	}
	if err := s.EnterArray(); err != nil {
		return err
	}
	for {
		more, err := s.NextElement()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if s.Peek() != '{' {
			if _, err := s.Value(); err != nil {
				return err
			}
			r.drop(unknownContent)
			continue
		}
		block, err := s.Object()
		if err != nil {
			return err
		}
		r.block(block)
	}
	if len(r.dropped) > 0 {
		r.out.Notices = append(r.out.Notices, "Left out of the answer: "+r.listDropped()+".")
	}
	return nil
}

// listDropped returns what is left out, as a sentence has it.
func (r *contentReader) listDropped() string {
	var parts []string
	for _, what := range diag.SortedNames(r.dropped) {
		parts = append(parts, fmt.Sprintf("%d × %s", r.dropped[what], what))
	}
	return diag.JoinAnd(parts)
}

// count returns how many blocks are left out.
func (r *contentReader) count() (n int) {
	for _, k := range r.dropped {
		n += k
	}
	return n
}

func (r *contentReader) drop(what string) { r.dropped[what]++ }

const (
	unknownContent = "content of an unknown kind"
	dataWithSecret = "data with a secret" // from which the token of the request was removed
)

// block reads one block.
func (r *contentReader) block(raw jsonscan.Object) {
	kind, _ := raw.Text("type")
	b := adapters.ContentBlock{Kind: kind}
	switch kind {
	case adapters.ContentText:
		text, ok := raw.Text("text")
		if !ok {
			r.drop("text without its text")
			return
		}
		b.Text = r.clean.text(text)
	case adapters.ContentImage, adapters.ContentAudio:
		if !r.media(raw, &b) {
			return
		}
	case adapters.ContentResource:
		if !r.resource(raw, &b) {
			return
		}
	case "resource_link":
		if !r.link(raw, &b) {
			return
		}
	default:
		r.drop(unknownContent)
		return
	}
	readAnnotations(raw, &b)
	r.out.Blocks = append(r.out.Blocks, b)
}

// media reads an image or audio. It reports false for one whose data or media type is not valid.
func (r *contentReader) media(raw jsonscan.Object, b *adapters.ContentBlock) bool {
	b.Data, _ = raw.Text("data")
	b.MIMEType = mediaType(raw)
	if strings.Contains(b.Data, hcl.Hidden) {
		r.drop(dataWithSecret)
		return false
	}
	if !isBase64(b.Data) || !strings.HasPrefix(b.MIMEType, b.Kind+"/") {
		r.drop(b.Kind + " whose data or media type is not valid")
		return false
	}
	return true
}

// resource reads an embedded resource. Its URI is one of this server, which names the connection and the URI of the
// other server.
func (r *contentReader) resource(raw jsonscan.Object, b *adapters.ContentBlock) bool {
	if r.links == linksNone {
		r.drop("embedded resource")
		return false
	}
	s := jsonscan.NewLossy(raw.Get("resource"), maxDepth)
	resource, _ := s.Object() // what is no object has no URI
	uri, _ := resource.Text("uri")
	b.MIMEType = mediaType(resource)
	text, isText := resource.Text("text")
	data, isData := resource.Text("blob")
	if isData && strings.Contains(data, hcl.Hidden) {
		r.drop(dataWithSecret)
		return false
	}
	if uri == "" || isText == isData || isData && !isBase64(data) {
		r.drop("embedded resource that is not valid")
		return false
	}
	b.URI = ownURI(r.connection, uri)
	if isText {
		b.Text = r.clean.text(text)
	}
	b.Data = data
	return true
}

// ownURI returns the URI under which an embedded resource of a connection is delivered. No server of a client has it.
func ownURI(connection, uri string) string {
	return "hatchel://" + url.PathEscape(connection) + "/" + url.PathEscape(uri)
}

const (
	maxLinkName = 200  // characters
	maxLinkURI  = 2000 // bytes
)

// link reads a link. One to a page becomes a line of text.
func (r *contentReader) link(raw jsonscan.Object, b *adapters.ContentBlock) bool {
	uri, _ := raw.Text("uri")
	u, err := url.Parse(uri)
	if r.links == linksNone || err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil ||
		len(uri) > maxLinkURI || printable.HasHidden(uri) {
		r.drop("link")
		return false
	}
	name, _ := raw.Text("title")
	if name == "" {
		name, _ = raw.Text("name")
	}
	b.Kind = adapters.ContentText
	b.Text = "Link: " + u.String()
	if name = cut.Runes(strings.Join(strings.Fields(r.clean.text(name)), " "), maxLinkName); name != "" {
		b.Text = "Link: " + name + " " + u.String()
	}
	return true
}

// mediaType returns the media type of a block; empty if there is none, or none that is valid.
func mediaType(raw jsonscan.Object) string {
	text, _ := raw.Text("mimeType")
	kind, parameters, err := mime.ParseMediaType(text)
	if err != nil || !strings.Contains(kind, "/") {
		return ""
	}
	return mime.FormatMediaType(kind, parameters)
}

// isBase64 reports whether a text is base64 with its padding, and not empty.
func isBase64(text string) bool {
	if len(text) == 0 || len(text)%4 != 0 {
		return false
	}
	body := strings.TrimRight(text, "=")
	if len(text)-len(body) > 2 {
		return false
	}
	for i := range len(body) {
		if !isBase64Byte[body[i]] {
			return false
		}
	}
	return true
}

// isBase64Byte are the characters of the standard alphabet.
var isBase64Byte = func() (is [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		is[c] = true
	}
	return is
}()

// readAnnotations reads whom a block is for and how important it is. What is not valid is no annotation.
func readAnnotations(raw jsonscan.Object, b *adapters.ContentBlock) {
	annotations := raw.Get("annotations")
	if n, ok := jsonscan.Lookup(annotations, "priority"); ok {
		if p, err := strconv.ParseFloat(string(n), 64); err == nil && p >= 0 && p <= 1 {
			b.Priority = &p
		}
	}
	audience, ok := jsonscan.Lookup(annotations, "audience")
	if !ok {
		return
	}
	for _, role := range []string{"user", "assistant"} {
		if slices.Contains(readTexts(audience), role) {
			b.Audience = append(b.Audience, role)
		}
	}
}

// readTexts returns the texts of a list; nil for any other value.
func readTexts(raw []byte) (texts []string) {
	s := jsonscan.NewLossy(raw, maxDepth)
	if s.Peek() != '[' || s.EnterArray() != nil {
		return nil
	}
	for {
		more, err := s.NextElement()
		if err != nil || !more {
			return texts
		}
		v, err := s.Value()
		if err != nil {
			return texts
		}
		if text, ok := jsonscan.Text(v); ok {
			texts = append(texts, text)
		}
	}
}

// joinTexts returns the texts of the blocks, joined by line breaks.
func joinTexts(blocks []adapters.ContentBlock) string {
	var texts []string
	for i := range blocks {
		if blocks[i].IsText() {
			texts = append(texts, blocks[i].Text)
		}
	}
	return strings.Join(texts, "\n")
}
