package runtime

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"unicode/utf8"

	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/runtime/audit"
	"hatchel/runtime/files"
	"hatchel/runtime/mcp"
	"hatchel/runtime/result"
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
		given = result.Redact(given, c.operation.decl.Input)
	}
	b, err := value.AppendJSON(nil, given)
	if err != nil {
		return []byte(unreadableArguments)
	}
	return c.operation.generation.removeSignatures(c.operation.generation.scrubber.JSON(b))
}

// removeSignatures is a text in which no signed address of a file is good: who reads a log, or is asked to agree, is not given the file.
func (g *Generation) removeSignatures(text []byte) []byte {
	if !g.uploads || !bytes.Contains(text, []byte("signature=")) {
		return text
	}
	return []byte(files.Unsigned(string(text)))
}

// hideInputs is a sentence about a failure without secrets, and without the sensitive inputs of the call.
func (c *call) hideInputs(text string) string {
	if c.operation.hasSensitiveInput {
		for _, s := range result.SensitiveTexts(nil, c.frame.Input, c.operation.decl.Input, false) {
			text = strings.ReplaceAll(text, s, hcl.Hidden)
		}
	}
	return c.operation.generation.scrubForReader(text)
}

// scrubForReader is a text for who reads a log, or is asked to agree: without secrets and signed addresses.
func (g *Generation) scrubForReader(text string) string {
	return string(g.removeSignatures([]byte(g.scrubber.Text(text))))
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
		out.Client = g.scrubber.Text(strings.TrimSpace(name + " " + version))
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
