package mcp

import (
	"context"

	"hatchel/hcl/jsonscan"
)

// Handler implements what the server offers. Its methods are called concurrently.
//
// An [*Error] that a method returns is sent to the client unchanged. Any other error, and a panic,
// is logged, and the client receives an internal error with a correlation id. What a model should
// read is not an error but an Outcome with IsError.
type Handler interface {
	// Info returns the current description of the server, or nil if the toolset does not exist.
	Info(toolset string) *Info

	// List returns one of the lists as the caller may see it. It is never nil.
	List(ctx context.Context, caller *Caller, of Listing) *List

	// CallTool runs a tool. The context ends when the caller cancels the call or disconnects, or
	// when the server stops waiting for it at shutdown. Before CallTool waits for something, it calls the
	// KeepAlive of req. After CallTool has returned, only the
	// Appenders of its Outcome may use req and its slices. The same holds for GetPrompt and
	// ReadResource.
	CallTool(ctx context.Context, req *CallRequest) (Outcome, error)

	// GetPrompt returns the messages of a prompt.
	GetPrompt(ctx context.Context, req *CallRequest) (Document, error)

	// ReadResource returns the contents of the resource whose URI is req.Name.
	ReadResource(ctx context.Context, req *CallRequest) (Document, error)

	// Skill returns the skill whose SKILL.md is at uri, if the caller may see it.
	Skill(ctx context.Context, caller *Caller, uri string) (Skill, error)

	// Directory returns the list of what a directory of a skill holds, if the caller may see it.
	Directory(ctx context.Context, caller *Caller, uri string) (*List, error)

	// Complete returns completions of an argument value.
	Complete(ctx context.Context, req *CompleteRequest) (Completion, error)

	// SubscribeResource starts to watch the resource at uri, so that Server.ResourceUpdated is called when it
	// changes. For every SubscribeResource that returned nil there is one UnsubscribeResource with the same caller, or
	// a Snapshot of it, and uri.
	SubscribeResource(ctx context.Context, caller *Caller, uri string) error
	UnsubscribeResource(caller *Caller, uri string)

	// MayNotify reports whether a caller that follows the resource at uri may still be notified of
	// it. It is called before each notification and must not block.
	MayNotify(caller *Caller, uri string) bool

	// Task serves tasks/get, tasks/update and tasks/cancel. For tasks/get it returns the members of
	// the result as encoded JSON, without braces; for the others it returns nil.
	Task(ctx context.Context, req *TaskRequest) (Appender, error)
}

// Listing is one of the lists of a server.
type Listing int

// The lists of a server. Resources, Templates and Skills share one change notification. ListingCount is how many there
// are.
const (
	Tools Listing = iota
	Prompts
	Resources
	Templates
	Skills
	ListingCount int = iota
)

// Appender is encoded JSON that is produced when it is needed.
type Appender interface {
	// AppendJSON appends the JSON to dst and returns the extended slice. It is called at most once,
	// soon after the method of the Handler has returned.
	AppendJSON(dst []byte) []byte
}

// Raw is encoded JSON.
type Raw []byte

// AppendJSON appends r unchanged.
func (r Raw) AppendJSON(dst []byte) []byte { return append(dst, r...) }

// Text is content that consists of one text block.
type Text string

// AppendJSON appends an array with the text block.
func (t Text) AppendJSON(dst []byte) []byte {
	return append(jsonscan.AppendString(append(dst, `[{"type":"text","text":`...), t), "}]"...)
}
