package call

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

// maxAuditedArguments is how many bytes of arguments a record has.
const maxAuditedArguments = 8 << 10

// unreadableArguments replaces arguments that cannot be read, so that nobody knows what in them is
// sensitive.
const unreadableArguments = `"(no JSON object)"`

// addArguments adds to a record what the caller has sent, with sorted keys and without sensitive
// values and secrets. Of large arguments it adds the beginning, the size and a digest.
func (c *call) addArguments(r *audit.Record) {
	r.Arguments = c.redactedArguments()
	if len(r.Arguments) <= maxAuditedArguments {
		return
	}
	sum := sha256.Sum256(r.Arguments)
	r.ArgumentsSize, r.ArgumentsDigest = len(r.Arguments), hex.EncodeToString(sum[:])
	n := maxAuditedArguments
	for n > 0 && !utf8.RuneStart(r.Arguments[n]) {
		n--
	}
	r.Arguments = value.AppendString(nil, string(r.Arguments[:n]))
}

func (c *call) redactedArguments() []byte {
	given := any(c.frame.Input)
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
	if c.operation.hasSensitiveInput {
		given = result.Redact(given, c.operation.Decl.Input)
	}
	b, err := value.AppendJSON(nil, given)
	if err != nil {
		return []byte(unreadableArguments)
	}
	env := c.operation.Env
	return env.removeSignatures(env.Scrubber.JSON(b))
}

// hideInputs returns a text for a log without secrets and without the sensitive inputs of the call.
func (c *call) hideInputs(text string) string {
	if c.operation.hasSensitiveInput {
		for _, s := range result.SensitiveTexts(nil, c.frame.Input, c.operation.Decl.Input, false) {
			text = strings.ReplaceAll(text, s, hcl.Hidden)
		}
	}
	return c.operation.Env.ScrubForReader(text)
}

// ScrubForReader returns a text for readers of a log, or approvers: without secrets and without
// signed URLs.
func (e *Environment) ScrubForReader(text string) string {
	return string(e.removeSignatures([]byte(e.Scrubber.Text(text))))
}

// removeSignatures makes the signed URLs of files in a text useless: readers of a log may not have
// the files.
func (e *Environment) removeSignatures(text []byte) []byte {
	if e.Uploads == nil || !bytes.Contains(text, []byte("signature=")) {
		return text
	}
	return []byte(files.RedactSignatures(string(text)))
}

// AuditRecord returns what all records of a request have.
func (e *Environment) AuditRecord(caller *mcp.Caller, meta []byte) audit.Record {
	return audit.Record{
		Event: audit.EventCall, Caller: e.AuditedCaller(caller), Revision: e.Revision,
		TraceID: traceOf(caller.Header, meta),
	}
}

// AuditedCaller returns a caller as it is recorded.
func (e *Environment) AuditedCaller(c *mcp.Caller) audit.Caller {
	out := audit.Caller{Subject: c.Subject, Remote: c.Remote}
	if i := c.Identity; i != nil {
		out.Key, out.Groups = i.Key, i.Groups
	}
	if len(c.ClientInfo) > 0 {
		v, _ := value.Decode(c.ClientInfo)
		info, _ := v.(map[string]any)
		name, _ := info["name"].(string)
		version, _ := info["version"].(string)
		out.Client = e.Scrubber.Text(strings.TrimSpace(name + " " + version))
	}
	return out
}

// traceOf returns the trace ID of a request from its header or its _meta (W3C Trace Context); empty
// for none.
func traceOf(header http.Header, meta []byte) string {
	parent := ""
	if values := header["Traceparent"]; len(values) == 1 {
		parent = values[0]
	} else if bytes.Contains(meta, []byte(`"traceparent"`)) {
		v, _ := value.Decode(meta)
		m, _ := v.(map[string]any)
		parent, _ = m["traceparent"].(string)
	}
	parts := strings.Split(parent, "-")
	if len(parts) < 4 || len(parts[0]) != 2 || len(parts[1]) != 32 ||
		strings.Trim(parts[1], "0123456789abcdef") != "" || strings.Trim(parts[1], "0") == "" {
		return ""
	}
	return parts[1]
}
