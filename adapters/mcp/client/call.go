package client

import (
	"context"
	"time"
)

// Request is one tools/call.
type Request struct {
	// Name is the name of the tool as the server lists it.
	Name string

	// Arguments is a JSON object; nil sends an empty one. It is sent as it is.
	Arguments []byte

	// Mirrored are the arguments that a server of 2026-07-28 requires in headers, of [MirroredArguments].
	Mirrored []MirroredArgument

	// Meta is a JSON object whose members become members of _meta, such as traceparent; nil for none. Names that
	// begin with io.modelcontextprotocol/ and progressToken are set by the Session.
	Meta []byte

	// Ask answers a question that a server of a revision up to 2025-11-25 asks during the call. It runs in a
	// goroutine of its own, at most MaxQuestions times for a call; ctx ends with the call. An error refuses the
	// question: the server gets action cancel, or an error if it asked for sampling. If Ask is nil, every question is
	// refused. A server of 2026-07-28 asks by an [*InputRequired] instead.
	Ask func(ctx context.Context, q Question) (Answer, error)

	// Responses answer the questions of an *InputRequired, by their keys, and State is its state.
	Responses map[string]Answer
	State     string

	// Progress is called for progress of the call: never decreasing, at most ten times a second. Log is called for
	// log messages of the call; a program does not say which call a message is of, so it is called while this is the
	// only one. Both are called by one goroutine at a time, and must not block for long. If Progress is nil, the server
	// is not asked for progress.
	Progress func(Progress)
	Log      func(Log)
}

// Result is the result of a tools/call. Its slices are raw JSON of the server, which is valid, has no duplicate keys
// and at most MaxDepth levels; they are not used by anything else.
type Result struct {
	Content    []byte // an array; nil if there is none
	Structured []byte // structuredContent, any value; nil if there is none
	IsError    bool
	Meta       []byte // an object; nil if there is none
	Raw        []byte // the whole result
	Bytes      int    // of all messages of the call that were received
}

// Question is what a server asks the user of a call.
type Question struct {
	Key    string // of the server: its name among the questions, or the id of its request
	Method string // elicitation/create or sampling/createMessage
	Params []byte // an object as raw JSON
}

// Answer is the answer to a Question.
type Answer struct {
	Result []byte    // a JSON object, such as {"action":"accept","content":{…}}
	Error  *RPCError // in place of Result; nil for none
}

// Progress is the progress of a call.
type Progress struct {
	Progress float64
	Total    float64 // 0 if the server gives none
	Message  string  // of the server, as it is
}

// Log is a log message of a server.
type Log struct {
	Level  string // of the protocol, such as "warning"
	Logger string
	Data   []byte // raw JSON
}

// Definition is the definition of a tool as the server lists it.
type Definition struct {
	Name string // "" if it has none
	Raw  []byte // valid JSON, without duplicate keys
}

// List is the list of tools of a server.
type List struct {
	Tools []Definition  // in the order of the server; a name may appear twice
	TTL   time.Duration // of ttlMs, the shortest of all pages; negative if the server gives none
}

// MirroredArgument is an argument that is repeated in a header, because the schema of the tool has x-mcp-header.
type MirroredArgument struct {
	Header string   // Mcp-Param-Name
	Path   []string // property names from the outside in
}
