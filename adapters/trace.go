package adapters

// Trace receives what an Action sends and receives, in a call that a person traces: an event and its
// text, without the secrets that the Action knows. It may be called concurrently.
type Trace func(event, text string)

// The events of a Trace. The number of a page or of a try may follow.
const (
	TraceSent     = "sent"
	TraceReceived = "received" // the whole answer; without this event, the output is the answer
	TraceStderr   = "stderr"
)
