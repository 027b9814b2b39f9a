package call

import (
	"bytes"
	"net/http"
	"strings"

	"hatchel/hcl/jsonscan"
)

// Traceparent returns the W3C trace context of a request in version 00, from its header or else its _meta. It returns
// "" if neither has a valid one.
func Traceparent(header http.Header, meta []byte) string {
	parent := ""
	if values := header["Traceparent"]; len(values) == 1 && isTraceparent(values[0]) {
		parent = values[0]
	} else if bytes.Contains(meta, []byte(`"traceparent"`)) {
		parent, _ = jsonscan.LookupText(meta, "traceparent")
		if !isTraceparent(parent) {
			return ""
		}
	}
	if parent == "" {
		return ""
	}
	if parent[:2] == "00" {
		return parent
	}
	return "00" + parent[2:traceparentLength]
}

// maxTracestate is how many bytes of a tracestate are passed on, as the specification asks for at least. A longer
// one is dropped whole.
const maxTracestate = 512

// tracestate returns the W3C tracestate that belongs to what Traceparent has returned: from the _meta of a request, or
// from its header if meta is nil. It returns "" for one that is too long, or that no header can have.
func tracestate(parent string, header http.Header, meta []byte) (state string) {
	switch {
	case parent == "":
		return ""
	case meta == nil:
		state = strings.Join(header["Tracestate"], ",")
	case bytes.Contains(meta, []byte(`"tracestate"`)):
		state, _ = jsonscan.LookupText(meta, "tracestate")
	}
	if len(state) > maxTracestate || strings.ContainsFunc(state, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return state
}

const traceparentLength = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")

// isTraceparent reports whether a text is version-trace-parent-flags. Later versions may have more fields.
func isTraceparent(s string) bool {
	if len(s) < traceparentLength || s[:2] == "ff" ||
		len(s) > traceparentLength && (s[:2] == "00" || s[traceparentLength] != '-') {
		return false
	}
	for i, c := range []byte(s[:traceparentLength]) {
		isHyphen := i == 2 || i == 35 || i == 52
		isHex := '0' <= c && c <= '9' || 'a' <= c && c <= 'f'
		if isHyphen && c != '-' || !isHyphen && !isHex {
			return false
		}
	}
	return strings.Trim(s[3:35], "0") != "" && strings.Trim(s[36:52], "0") != ""
}

// traceID returns the trace id of what Traceparent has returned.
func traceID(traceparent string) string {
	if traceparent == "" {
		return ""
	}
	return traceparent[3:35]
}

// spanID returns the span id of what Traceparent has returned.
func spanID(traceparent string) string { return traceparent[36:52] }

// traceID returns the id of the trace that the call belongs to, or "".
func (c *call) traceID() string { return traceID(c.action.Traceparent) }
