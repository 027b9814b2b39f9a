package call

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"unsafe"

	"hatchel/adapters"
	"hatchel/hcl/jsonscan"
)

// Traceparent returns the W3C trace context of a request in version 00, from its header or else its _meta. It returns
// "" if neither has a valid one.
func Traceparent(header http.Header, meta []byte) string {
	if parent := traceparentOf(header); parent != "" || len(meta) == 0 {
		return parent
	}
	return new(traceMemory).traceparentOf(meta)
}

// traceparentOf is Traceparent for a header.
func traceparentOf(header http.Header) string {
	values := header["Traceparent"]
	if len(values) != 1 || !isTraceparent(values[0]) {
		return ""
	}
	if parent := values[0]; parent[:2] != "00" {
		return "00" + parent[2:traceparentLength]
	}
	return values[0]
}

// traceMemory is the memory of a call for its trace context, so that forwarding one allocates
// nothing. A text in it is a string without a copy: it is written only before the call has its trace
// context, and who keeps a text of it for longer than the call copies that.
type traceMemory [traceparentLength]byte

// traceparentOf is Traceparent for a _meta, with a text in the memory.
func (m *traceMemory) traceparentOf(meta []byte) string {
	if !bytes.Contains(meta, []byte(`"traceparent"`)) {
		return ""
	}
	value, _ := jsonscan.Lookup(meta, "traceparent")
	text, _ := jsonscan.AppendText(m[:0], value)
	if parent := unsafe.String(unsafe.SliceData(text), len(text)); isTraceparent(parent) {
		return m.join("00", parent[2:traceparentLength])
	}
	return ""
}

// withoutSampling returns a trace context that is not sampled: what a caller was not trusted to decide for this server
// is not decided for its backends either.
func (m *traceMemory) withoutSampling(parent string) string {
	if parent == "" || !isSampled(parent) {
		return parent
	}
	return m.join(parent[:traceparentLength-2], "00")
}

// join returns a text of two parts, each of which may be at its place in the memory already.
func (m *traceMemory) join(begin, end string) string {
	copy(m[copy(m[:], begin):], end)
	return unsafe.String(&m[0], len(m))
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

// hopsOf returns how many servers of this kind a request says that it has passed, from its _meta; 0 if it does not say.
// A number that is none is as good as too many.
func hopsOf(meta []byte) int {
	if !bytes.Contains(meta, []byte(adapters.HopsMember)) {
		return 0
	}
	raw, ok := jsonscan.Lookup(meta, adapters.HopsMember)
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < 0 {
		return adapters.MaxHops
	}
	return n
}
