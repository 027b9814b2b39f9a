package runtime

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/runtime/audit"
	"hatchel/runtime/files"
	"hatchel/runtime/mcp"
)

// maxAuditedArguments is how many bytes of arguments a record holds.
const maxAuditedArguments = 8 << 10

// unreadableArguments stands where arguments are that cannot be read, so that nobody knows what in them nobody may see.
const unreadableArguments = `"(no JSON object)"`

// addArguments puts into a record what the caller has sent: with sorted keys, without what is sensitive and without secrets. Of many there is the beginning, and a digest of the whole.
func (c *call) addArguments(r *audit.Record) {
	r.Arguments = c.redactedArguments()
	if len(r.Arguments) <= maxAuditedArguments {
		return
	}
	sum := sha256.Sum256(r.Arguments)
	r.Size, r.Digest = len(r.Arguments), hex.EncodeToString(sum[:])
	n := maxAuditedArguments
	for n > 0 && !utf8.RuneStart(r.Arguments[n]) {
		n--
	}
	r.Arguments = value.AppendString(nil, string(r.Arguments[:n]))
}

func (c *call) redactedArguments() []byte {
	given, hides := any(c.frame.Input), c.operation.hasSensitiveInput
	if c.frame.Input == nil {
		v, err := value.Decode(c.audit.raw)
		if _, isObject := v.(map[string]any); err != nil || !isObject {
			if len(c.audit.raw) == 0 {
				return nil
			}
			return []byte(unreadableArguments)
		}
		given = v
	}
	if hides {
		given = redact(given, c.operation.decl.Input)
	}
	b, err := value.AppendJSON(nil, given)
	if err != nil {
		return []byte(unreadableArguments)
	}
	return c.operation.generation.removeSignatures(c.operation.generation.scrubber.json(b))
}

// removeSignatures is a text in which no signed address of a file is good: who reads a log, or is asked to agree, is not given the file.
func (g *Generation) removeSignatures(text []byte) []byte {
	if !g.uploads || !bytes.Contains(text, []byte("signature=")) {
		return text
	}
	return []byte(files.Unsigned(string(text)))
}

// redact returns a value without what its type says is sensitive. What an object does not declare may be a sensitive member under a wrong name, so it is left out, too.
func redact(v any, t *schema.Type) any {
	switch {
	case t == nil:
		return v
	case t.Sensitive:
		return hcl.Hidden
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = redact(e, memberType(t, name))
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = redact(e, t.Elem)
		}
		return out
	}
	return v
}

var sensitiveType = &schema.Type{Sensitive: true}

func memberType(t *schema.Type, name string) *schema.Type {
	if t.Kind != schema.Object {
		return t.Elem
	}
	if m, ok := t.Lookup(name); ok {
		return m.Type
	}
	return sensitiveType
}

// hasSensitive reports whether any part of a type is.
func hasSensitive(t *schema.Type) bool {
	return t != nil && (t.Sensitive || hasSensitive(t.Elem) || slices.ContainsFunc(t.Members, func(m *schema.Member) bool { return hasSensitive(m.Type) }))
}

// hideInputs is a sentence about a failure without secrets, and without the sensitive inputs of the call.
func (c *call) hideInputs(text string) string {
	if c.operation.hasSensitiveInput {
		for _, s := range sensitiveTexts(nil, c.frame.Input, c.operation.decl.Input, false) {
			text = strings.ReplaceAll(text, s, hcl.Hidden)
		}
	}
	return c.operation.generation.scrubForReader(text)
}

// scrubForReader is a text for who reads a log, or is asked to agree: without secrets and signed addresses.
func (g *Generation) scrubForReader(text string) string {
	return string(g.removeSignatures([]byte(g.scrubber.sentence(text))))
}

// sensitiveTexts are the sensitive texts and numbers of a value; within says that all of it is sensitive.
func sensitiveTexts(dst []string, v any, t *schema.Type, within bool) []string {
	within = within || t != nil && t.Sensitive
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			var of *schema.Type
			if t != nil {
				of = memberType(t, name)
			}
			dst = sensitiveTexts(dst, e, of, within)
		}
	case []any:
		for _, e := range v {
			var of *schema.Type
			if t != nil {
				of = t.Elem
			}
			dst = sensitiveTexts(dst, e, of, within)
		}
	case nil, bool:
	default:
		if text, err := value.Text(v); within && err == nil && len(text) > 2 {
			dst = append(dst, text)
		}
	}
	return dst
}

// auditedCaller is who makes a request, as it is written down.
func (g *Generation) auditedCaller(c *mcp.Caller) audit.Caller {
	out := audit.Caller{Subject: c.Subject, Remote: c.Remote}
	if i := c.Identity; i != nil {
		out.Key, out.Groups = i.Key, i.Groups
	}
	if len(c.ClientInfo) > 0 {
		v, _ := value.Decode(c.ClientInfo)
		info, _ := v.(map[string]any)
		name, _ := info["name"].(string)
		version, _ := info["version"].(string)
		out.Client = g.scrubber.sentence(strings.TrimSpace(name + " " + version))
	}
	return out
}

// traceOf is the id of the trace that a request belongs to, as its header or its _meta says (W3C Trace Context); empty for none.
func traceOf(header http.Header, meta []byte) string {
	said := ""
	if values := header["Traceparent"]; len(values) == 1 {
		said = values[0]
	} else if bytes.Contains(meta, []byte(`"traceparent"`)) {
		v, _ := value.Decode(meta)
		m, _ := v.(map[string]any)
		said, _ = m["traceparent"].(string)
	}
	parts := strings.Split(said, "-")
	if len(parts) < 4 || len(parts[0]) != 2 || len(parts[1]) != 32 || strings.Trim(parts[1], "0123456789abcdef") != "" || strings.Trim(parts[1], "0") == "" {
		return ""
	}
	return parts[1]
}
