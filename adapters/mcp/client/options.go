package client

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// The revisions of the protocol that a Session may speak.
const (
	Revision20250326 = "2025-03-26"
	Revision20250618 = "2025-06-18"
	Revision20251125 = "2025-11-25"
	Revision20260728 = "2026-07-28"
)

// What the server may ask the user of a call, as in Options.Asks.
const (
	AskForm     = "elicitation"     // a form: elicitation/create with mode form
	AskPage     = "elicitation.url" // a page to open: elicitation/create with mode url
	AskSampling = "sampling"        // a message of a model: sampling/createMessage
)

// The limits of what a server sends.
const (
	DefaultMaxMessage = 4 << 20          // bytes of a message
	maxCallBytes      = 16 << 20         // bytes of all messages of a call
	maxCallMessages   = 1000             // messages of a call, the answer among them
	MaxQuestions      = 4                // questions of a call
	maxTools          = 1000             // definitions of a list
	maxListBytes      = 4 << 20          // bytes of all pages of a list
	maxPages          = 100              // pages of a list
	MaxListTime       = 30 * time.Second // of a list
	maxListDepth      = 1000             // levels of nesting of a message with a list
	maxState          = 64 << 10         // bytes of the state of a question
	MaxDepth          = 64               // levels of nesting of any other message
)

// Options are what a Session declares and whom it tells of what the server sends outside of calls. The zero value is
// ready to use.
type Options struct {
	// Name and Version tell the server which program this is; "hatchel" and "0" if empty. Nothing of a caller belongs
	// here.
	Name, Version string

	// Protocol is the only revision to speak. If it is empty, the revision is negotiated: server/discover is tried
	// first, then initialize with 2025-11-25.
	Protocol string

	// Memory remembers what was negotiated, for the next sessions with the same server. It may be nil.
	Memory *Memory

	// Asks are the questions that the server may ask during a call: AskForm, AskPage and AskSampling. All others are
	// refused.
	Asks []string

	// Roots is the constant list of roots; nil declares no roots.
	Roots []Root

	// MaxMessage is the maximum size of a message in bytes; DefaultMaxMessage if 0.
	MaxMessage int

	// Changed is called when the server says that its list of tools has changed. It must not block, and may be called
	// concurrently. If it is nil, the Session does not listen.
	Changed func()

	// Log is called for log messages that belong to no call. It must not block, and may be called concurrently. If it
	// is nil, they are dropped.
	Log func(Log)

	// LogLevel is the least level of log messages that the server is asked for, such as "warning"; "" asks for none,
	// and servers up to 2025-11-25 then choose. [Session.SetLogLevel] changes it.
	LogLevel string

	// Trace is called for every message, before it is sent or read. The message is valid during the call only and may
	// contain secrets. It may be called concurrently.
	Trace func(sent bool, message []byte)
}

// Root is a directory of the client, as roots/list reports it.
type Root struct{ URI, Name string }

// Memory remembers which revision a server speaks until a session fails, and that it ends when it is asked for a
// revision that it does not know. It is safe for concurrent use. The zero value remembers nothing.
type Memory struct {
	mu       sync.Mutex
	revision string // that was negotiated last; Revision20251125 if the server has ended during server/discover
}

// forget drops what was remembered, so that the next session negotiates again.
func (m *Memory) forget() { m.set("") }

func (m *Memory) set(revision string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.revision = revision
}

func (m *Memory) get() string {
	if m == nil {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.revision
}

// HTTPConfig is a server of the streamable HTTP transport.
type HTTPConfig struct {
	// URL is the endpoint, with scheme http or https.
	URL string

	// RoundTripper sends the requests. It must not repeat a POST that the server may have processed, unlike
	// [http.Transport], and must support httptrace, or nothing counts as not sent. [NewRoundTripper] returns one that
	// tells exactly when nothing was processed. Redirects are followed by the Session: 307 and 308 on the same origin.
	RoundTripper http.RoundTripper

	// Header returns the headers of one request, such as credentials. It is called for every request with the context
	// of the call; requests outside of calls have the values of the context of Open. Its error means that nothing is
	// sent, and is wrapped by the [*Error]. Headers of the protocol are set by the Session afterwards. It may be nil.
	Header func(ctx context.Context) (http.Header, error)
}
