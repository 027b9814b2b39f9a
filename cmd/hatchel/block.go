package main

import (
	"fmt"
	"io"
	"strings"
)

// block is one content block, as far as a terminal can show it.
type block struct {
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

func (b *block) print(w io.Writer) {
	switch b.Type {
	case "text":
		fmt.Fprintln(w, strings.TrimSuffix(b.Text, "\n"))
	case "resource_link":
		fmt.Fprintf(w, "[link %s: %s]\n", b.Name, b.URI)
	case "resource":
		if b.Resource.Text != "" {
			fmt.Fprintf(w, "[resource %s]\n%s\n", b.Resource.URI, b.Resource.Text)
			return
		}
		fmt.Fprintf(w, "[resource %s, %d bytes]\n", b.Resource.URI, len(b.Resource.Blob))
	default:
		fmt.Fprintf(w, "[%s %s, %d bytes]\n", b.Type, b.MimeType, len(b.Data))
	}
}
