package console

import (
	"fmt"
	"io"
	"strings"
)

// Content is a content block of a result, as far as a terminal can show it.
type Content struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     []byte `json:"data"`
	MimeType string `json:"mimeType"`
	URI      string `json:"uri"`
	Name     string `json:"name"`
	Resource struct {
		URI  string `json:"uri"`
		Text string `json:"text"`
		Blob []byte `json:"blob"`
	} `json:"resource"`
}

// Print prints text as it is, and the size of binary data.
func (c *Content) Print(w io.Writer) {
	switch c.Type {
	case "text":
		fmt.Fprintln(w, strings.TrimSuffix(c.Text, "\n"))
	case "resource_link":
		fmt.Fprintf(w, "[link %s: %s]\n", c.Name, c.URI)
	case "resource":
		if c.Resource.Text != "" {
			fmt.Fprintf(w, "[resource %s]\n%s\n", c.Resource.URI, c.Resource.Text)
			return
		}
		fmt.Fprintf(w, "[resource %s, %d bytes]\n", c.Resource.URI, len(c.Resource.Blob))
	default:
		fmt.Fprintf(w, "[%s %s, %d bytes]\n", c.Type, c.MimeType, len(c.Data))
	}
}

// Message is a message of a prompt or of a sampling request.
type Message struct {
	Role    string
	Content Content
}

// PrintMessages prints messages, with a heading where the role changes.
func PrintMessages(w io.Writer, messages []Message) {
	for i, m := range messages {
		if i == 0 || messages[i-1].Role != m.Role {
			fmt.Fprintf(w, "%s:\n", m.Role)
		}
		m.Content.Print(w)
	}
}
