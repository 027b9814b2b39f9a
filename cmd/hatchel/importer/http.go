package importer

import "strings"

// HTTP is an http block of a tool, whatever source it is imported from. The values of its arguments are expressions.
type HTTP struct {
	Connection, Method string
	URL                string   // the inside of a quoted template
	Query, Headers     string   // maps; empty for none
	Rest               []string // the arguments and blocks that say what is sent, and how
}

// Block returns the block.
func (h HTTP) Block() string {
	lines := []string{"http " + Quote(h.Connection) + " {", strings.ToLower(h.Method) + ` = "` + h.URL + `"`}
	if h.Query != "" {
		lines = append(lines, "query = "+h.Query)
	}
	if h.Headers != "" {
		lines = append(lines, "headers = "+h.Headers)
	}
	return strings.Join(append(lines, h.Rest...), "\n") + "\n}\n"
}

// BytesContent returns the block with which a tool answers the bytes of a response. kind is image, audio or resource.
func BytesContent(tool, kind, mediaType string) string {
	lines := []string{"data = output.body", "mime_type = " + Quote(mediaType)}
	if kind == "resource" {
		lines = append(lines, "uri = "+Quote("result://"+tool))
	}
	return "content " + Quote(kind) + " {\n" + strings.Join(lines, "\n") + "\n}"
}

// Map returns a map with an entry on each line; empty for none.
func Map(entries []string) string {
	if len(entries) == 0 {
		return ""
	}
	return "{\n" + strings.Join(entries, "\n") + "\n}"
}

// Input returns the block of an input.
func Input(name, typ string) string { return "input " + Quote(name) + " { type = " + typ + " }\n" }

// Secret returns the block of a secret that an environment variable has.
func Secret(name, env string) string {
	return "secret " + Quote(name) + " { env = " + Quote(env) + " }\n"
}
