package adapters

import "fmt"

// Trace receives what an Action sends and receives, in a call that a person traces: an event and its
// text, without the secrets that the Action knows. It may be called concurrently.
type Trace func(event, text string)

// The events of a Trace. The number of a page or of a try may follow.
const (
	TraceIdentity = "runs" // as whom the Action acts, as in Identity.String
	TraceSent     = "sent"
	TraceReceived = "received" // the whole answer; without this event, the output is the answer
	TraceStderr   = "stderr"
	TraceSession  = "session"  // the protocol and the age of the session that the Action uses
	TraceReplaced = "replaced" // what U+FFFD has replaced in an answer
)

// CountReplaced records that U+FFFD stands for n characters of an answer, which were one half of a surrogate pair.
func (c *Call) CountReplaced(n int) {
	if n == 0 {
		return
	}
	c.Replaced += n
	if c.Trace != nil {
		c.Trace(TraceReplaced, fmt.Sprintf("%d times U+FFFD for one half of a surrogate pair, such as \\ud83d", n))
	}
}
