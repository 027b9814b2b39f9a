package adapters

import (
	"strconv"

	"hatchel/hcl/jsonscan"
	"hatchel/hcl/value"
)

// Content is the content of the answer of another MCP server, as its blocks in their order. An Action puts it into its
// output as the member that Effects.Default.Content names. Expressions read it as a list of objects. It is immutable.
type Content struct {
	Blocks []ContentBlock
	// Notices are sentences about what is left out, for the model. They are delivered as a block of their own.
	Notices []string
	// Delimiter encloses each text that is delivered, with a text that the server cannot know; empty for nothing.
	Delimiter string
}

// Received counts what was taken out of the answers of other MCP servers.
type Received struct {
	Hidden  int `json:"hidden,omitempty"`   // characters that people do not see
	LeftOut int `json:"left_out,omitempty"` // blocks of content
}

// Add adds what was taken out of another answer.
func (r *Received) Add(more Received) {
	r.Hidden += more.Hidden
	r.LeftOut += more.LeftOut
}

// Kinds of a ContentBlock.
const (
	ContentText     = "text"
	ContentImage    = "image"
	ContentAudio    = "audio"
	ContentResource = "resource"
)

// ContentBlock is one block of Content. Its texts may have secrets, and have no hidden characters that the Action
// removes.
type ContentBlock struct {
	Kind     string
	Text     string   // of a text, and of a resource without Data; a limit may cut it
	Data     string   // of an image, of audio, and of a resource: valid base64
	MIMEType string   // valid; of a resource maybe empty
	URI      string   // of a resource
	Audience []string // "user", "assistant" or both; nil for everybody
	Priority *float64 // from 0 to 1; nil for none
}

// IsText reports whether the block has a text.
func (b *ContentBlock) IsText() bool {
	return b.Kind == ContentText || b.Kind == ContentResource && b.Data == ""
}

// AppendJSON appends the block of the protocol with a text in place of its own, which data has no meaning for. Clean is
// applied to the other texts.
func (b *ContentBlock) AppendJSON(dst []byte, text []byte, clean func(string) string) []byte {
	dst = value.AppendString(append(dst, `{"type":`...), b.Kind)
	if b.Kind == ContentResource {
		dst = value.AppendString(append(dst, `,"resource":{"uri":`...), clean(b.URI))
	}
	if b.MIMEType != "" {
		dst = value.AppendString(append(dst, `,"mimeType":`...), clean(b.MIMEType))
	}
	switch {
	case b.IsText():
		dst = jsonscan.AppendString(append(dst, `,"text":`...), text)
	case b.Kind == ContentResource:
		dst = value.AppendString(append(dst, `,"blob":`...), clean(b.Data))
	default:
		dst = value.AppendString(append(dst, `,"data":`...), clean(b.Data))
	}
	if b.Kind == ContentResource {
		dst = append(dst, '}')
	}
	return append(b.appendAnnotations(dst), '}')
}

func (b *ContentBlock) appendAnnotations(dst []byte) []byte {
	if len(b.Audience) == 0 && b.Priority == nil {
		return dst
	}
	dst = append(dst, `,"annotations":{`...)
	for i, role := range b.Audience {
		if i == 0 {
			dst = append(dst, `"audience":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = value.AppendString(dst, role)
	}
	if len(b.Audience) > 0 {
		dst = append(dst, ']')
	}
	if b.Priority != nil {
		if len(b.Audience) > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendFloat(append(dst, `"priority":`...), *b.Priority, 'f', -1, 64)
	}
	return append(dst, '}')
}

// AppendJSON implements value.LazyJSON.
func (c *Content) AppendJSON(dst []byte) []byte {
	dst = append(dst, '[')
	for i := range c.Blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		b := &c.Blocks[i]
		dst = b.AppendJSON(dst, []byte(b.Text), func(text string) string { return text })
	}
	return append(dst, ']')
}

// Value implements value.LazyJSON.
func (c *Content) Value() (any, error) { return value.Decode(c.AppendJSON(nil)) }

// Weight returns that of the decoded value; see value.Weight.
func (c *Content) Weight() int64 {
	weight := int64(64)
	for i := range c.Blocks {
		weight += 512 + int64(len(c.Blocks[i].Text)+len(c.Blocks[i].Data))
	}
	return weight
}
