package hcl

import (
	"time"

	"hatchel/hcl/schema"
)

// The blocks of a step that are not backends are Backends all the same: Config is one of the types below, and Kind the name of the block.

// Progress tells the client how far the call is.
type Progress struct {
	Done    *Expr // a number
	Total   *Expr // a number, nil when unknown
	Message *Message
}

// Log sends a message to the client's log.
type Log struct {
	Level   string // as in RFC 5424: "debug" to "emergency"
	Logger  string
	Message *Message // with Data, one of the two
	Data    *Expr
}

// Wait does nothing for a while: one of the two says for how long.
type Wait struct {
	For     time.Duration
	Seconds *Expr // a number that is known only in the call
}

// Fail ends the call as one that failed, in words for the model.
type Fail struct{ Message *Message }

// ProtocolFault ends the request with an error of the protocol.
type ProtocolFault struct {
	Code    int
	Message *Message
	Data    *Expr // nil for none
}

// Round is the ask blocks of one step: the client is asked all of it at once. Its output is an object of the answers by key. The step may have a When, a
// Continue and Expects, and has neither Each nor Repeat.
type Round struct{ Asks []*Ask }

// Ask is one question to the client. One of Elicit, Sample and Roots is set.
type Ask struct {
	Key      string        // unique among all questions of a tool, a prompt or a resource
	When     *Condition    // when it is false nobody is asked, and the answer is null
	Timeout  time.Duration // that the client has to answer
	Fallback *Expr         // what Instead answers where the client cannot be asked; nil refuses the call there
	Elicit   *Elicit
	Sample   *Sample
	Roots    *Roots
	Range    Range
}

// Elicit asks the user to fill in a form, or to open a URL.
type Elicit struct {
	Message  *Message
	Fields   *schema.Type // of the form
	Answer   *schema.Validator
	URL      *Address // instead of a form
	Declined bool     // on_decline = "continue": that the user declined or cancelled is an answer; otherwise it ends the call
}

// Sample asks the model of the client.
type Sample struct {
	Messages     []*PromptMessage
	System       *Message // nil for none
	MaxTokens    int
	Temperature  *float64
	Stop         []string
	Models       []string // hints, the best first
	Cost         *float64 // how much each matters, from 0 to 1
	Speed        *float64
	Intelligence *float64
	Include      string // "none", "thisServer" or "allServers"; empty leaves it to the client
}

// Roots asks which folders the user has opened.
type Roots struct{}
