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

// largestAudited is how many bytes of arguments a record holds.
const largestAudited = 8 << 10

// withheldArguments stands where arguments are that cannot be read, so that nobody knows what in them nobody may see.
const withheldArguments = `"(no JSON object)"`

// arguments puts into a record what the caller has sent: with sorted keys, without what is sensitive and without secrets. Of many there is the beginning, and a digest of the whole.
func (c *call) arguments(r *audit.Record) {
	r.Arguments = c.redacted()
	if len(r.Arguments) <= largestAudited {
		return
	}
	sum := sha256.Sum256(r.Arguments)
	r.Size, r.Digest = len(r.Arguments), hex.EncodeToString(sum[:])
	n := largestAudited
	for n > 0 && !utf8.RuneStart(r.Arguments[n]) {
		n--
	}
	r.Arguments = value.AppendString(nil, string(r.Arguments[:n]))
}

func (c *call) redacted() []byte {
	given, hides := any(c.frame.Input), c.routine.hides
	if c.frame.Input == nil {
		v, err := value.Decode(c.entry.raw)
		if _, isObject := v.(map[string]any); err != nil || !isObject {
			if len(c.entry.raw) == 0 {
				return nil
			}
			return []byte(withheldArguments)
		}
		given = v
	}
	if hides {
		given = redact(given, c.routine.decl.Input)
	}
	b, err := value.AppendJSON(nil, given)
	if err != nil {
		return []byte(withheldArguments)
	}
	return c.routine.generation.unsigned(c.routine.generation.scrubber.json(b))
}

// unsigned is a text in which no signed address of a file is good: who reads a log, or is asked to agree, is not given the file.
func (g *Generation) unsigned(text []byte) []byte {
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
			out[name] = redact(e, memberOf(t, name))
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

var hidden = &schema.Type{Sensitive: true}

func memberOf(t *schema.Type, name string) *schema.Type {
	if t.Kind != schema.Object {
		return t.Elem
	}
	if m, ok := t.Lookup(name); ok {
		return m.Type
	}
	return hidden
}

// sensitive reports whether any part of a type is.
func sensitive(t *schema.Type) bool {
	return t != nil && (t.Sensitive || sensitive(t.Elem) || slices.ContainsFunc(t.Members, func(m *schema.Member) bool { return sensitive(m.Type) }))
}

// withoutInputs is a sentence about a failure without secrets, and without the sensitive inputs of the call.
func (c *call) withoutInputs(text string) string {
	if c.routine.hides {
		for _, s := range hiddenTexts(nil, c.frame.Input, c.routine.decl.Input, false) {
			text = strings.ReplaceAll(text, s, hcl.Hidden)
		}
	}
	return c.routine.generation.scrubbed(text)
}

// scrubbed is a text for who reads a log, or is asked to agree: without secrets and signed addresses.
func (g *Generation) scrubbed(text string) string {
	return string(g.unsigned([]byte(g.scrubber.sentence(text))))
}

// hiddenTexts are the sensitive texts and numbers of a value; within says that all of it is sensitive.
func hiddenTexts(dst []string, v any, t *schema.Type, within bool) []string {
	within = within || t != nil && t.Sensitive
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			var of *schema.Type
			if t != nil {
				of = memberOf(t, name)
			}
			dst = hiddenTexts(dst, e, of, within)
		}
	case []any:
		for _, e := range v {
			var of *schema.Type
			if t != nil {
				of = t.Elem
			}
			dst = hiddenTexts(dst, e, of, within)
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
