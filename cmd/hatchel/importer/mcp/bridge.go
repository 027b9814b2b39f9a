package mcp

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// bridge is the command of a program that does nothing but send messages of stdio to a URL. The URL is imported in
// place of it.
type bridge struct {
	url     string
	headers []string // as name: value
	ignored []string // other arguments
	problem error
}

// bridgedURL returns what a command bridges. ok reports whether it is a bridge.
func bridgedURL(words []string) (b bridge, ok bool) {
	at := slices.IndexFunc(words, func(word string) bool {
		name, _, _ := strings.Cut(path.Base(word), "@")
		return name == "mcp-remote"
	})
	if at < 0 || at > 3 {
		return b, false
	}
	for rest := words[at+1:]; len(rest) > 0; rest = rest[1:] {
		switch word := rest[0]; {
		case b.url == "" && (strings.HasPrefix(word, "https://") || strings.HasPrefix(word, "http://")):
			b.url = word
		case word == "--header" && len(rest) > 1:
			b.headers, rest = append(b.headers, rest[1]), rest[1:]
		case word == "--transport" && len(rest) > 1:
			if rest[1] == "sse-only" {
				b.problem = fmt.Errorf("its transport is that of 2024-11-05 (SSE), in which the server chooses the " +
					"address of requests: give the URL of its Streamable HTTP transport, which often ends in /mcp")
			}
			rest = rest[1:]
		default:
			b.ignored = append(b.ignored, word)
		}
	}
	return b, b.url != ""
}

// bridge adds the headers of a bridge to a server. References in them are to its own environment first.
func (f *ClientFile) bridge(s *Server, b bridge) error {
	own := s.env
	s.env = nil
	for _, header := range b.headers {
		name, value, ok := strings.Cut(header, ":")
		if !ok {
			return fmt.Errorf("the header of its bridge has no colon")
		}
		t, err := parseText(strings.TrimSpace(value), f.short)
		if err != nil {
			return err
		}
		var all text
		for _, p := range t {
			i := slices.IndexFunc(own, func(v setting) bool { return p.kind == "env" && v.name == p.name })
			if i < 0 {
				all = append(all, p)
				continue
			}
			all = append(all, own[i].value...)
		}
		s.headers = append(s.headers, setting{strings.TrimSpace(name), all})
	}
	if len(b.ignored) > 0 {
		f.lose(s.Name, "argument left out", fmt.Sprintf(
			"%d of the bridge mcp-remote, which is not started: its URL is imported", len(b.ignored)))
	}
	return nil
}
