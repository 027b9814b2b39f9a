package mcp

import "context"

// Handler is what the protocol needs from the server behind it. Its methods are called by many goroutines at once.
//
// An [*Error] that a method returns reaches the caller as it is; any other error, and a panic, is logged and reaches the caller as an
// internal error with a correlation id. What a model should read is not an error but an Outcome with IsError.
type Handler interface {
	// Info describes the server as of this moment. It is nil when there is no such toolset.
	Info(toolset string) *Info

	// List returns one of the lists as caller may see it, as an immutable snapshot. It is never nil.
	List(ctx context.Context, caller *Caller, of Listing) *List

	// CallTool serves one call. The context ends when the caller cancels, goes away, or the server gives up draining. After CallTool has
	// returned, only the Appenders of its Outcome may still refer to req and to what it holds. The same holds for GetPrompt and
	// ReadResource.
	CallTool(ctx context.Context, req *CallRequest) (Outcome, error)

	// GetPrompt writes the messages of a prompt.
	GetPrompt(ctx context.Context, req *CallRequest) (Document, error)

	// ReadResource reads the document whose URI is req.Name.
	ReadResource(ctx context.Context, req *CallRequest) (Document, error)

	// Complete continues a value that is being typed.
	Complete(ctx context.Context, req *CompleteRequest) (Completion, error)

	// Follow says that somebody wants to be told by Server.ResourceUpdated when the document at uri changes. Every Follow that returned nil is
	// undone by one Unfollow with the same toolset and uri.
	Follow(ctx context.Context, caller *Caller, uri string) error
	Unfollow(toolset, uri string)

	// MayFollow reports whether a caller who follows the document at uri may still hear of it. It is asked before each message about it, and must not block.
	MayFollow(caller *Caller, uri string) bool

	// Task serves tasks/get, tasks/update and tasks/cancel. What tasks/get answers is the members of the object as encoded JSON, without braces; the
	// others answer nil.
	Task(ctx context.Context, req *TaskRequest) (Appender, error)
}

// Listing is one of the lists of a server.
type Listing int

// The lists of a server. Resources and templates change together: clients are told of both by one notification.
const (
	Tools Listing = iota
	Prompts
	Resources
	Templates
)
