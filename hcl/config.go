package hcl

import (
	"time"

	"hatchel/hcl/schema"
)

// Config is one loaded configuration: complete, immutable, without handles to anything outside.
type Config struct {
	ID          string // digest of all sources, variables and secrets: the revision of what is served
	Server      Server
	Connections []*Connection // by kind and name
	Tools       []*Tool       // by name; disabled ones are left out
	Prompts     []*Prompt     // by name
	Resources   []*Resource   // by name
	Toolsets    []*Toolset    // by name
	Sources     map[string][]byte
	Secrets     []string // every known secret text, for scrubbing what leaves the process
}

// Server is the server block.
type Server struct {
	Name         string
	Title        string
	Version      string
	Instructions string
	Website      string
	Icons        []*Icon
	PageSize     int // entries of one page of a list
}

// Icon is one picture of the server or a tool.
type Icon struct {
	Src      string
	MimeType string
	Sizes    []string
	Theme    string
}

// Work is what tools, prompts, resources and completions have in common: what a caller gives, what must hold of it, and what is done.
type Work struct {
	Name     string
	Requires []string      // what the client must be able to do: "sampling", "elicitation", "roots", …
	Timeout  time.Duration // of the whole, without the time in which the client is asked
	MaxText  Size          // of a text that a model receives

	Input       *schema.Type // the object of all inputs
	Validator   *schema.Validator
	Completions map[string]*Completion // by input
	Checks      []*Check
	Allow       *Condition // nil when everybody may call
	Steps       []*Step    // one backend is one step without a name; a pure computation has none

	Digest string // of the block and of everything it refers to
	Range  Range
}

// Named reports whether the backends are written as steps, so that results are read as step.<name>.
func (w *Work) Named() bool { return len(w.Steps) > 0 && w.Steps[0].Name != "" }

// Tool is one tool block.
type Tool struct {
	Work
	Title       string
	Description string
	Icons       []*Icon
	Listed      bool
	Task        *Task // nil when calls are never tasks

	ReadOnly    bool
	Destructive bool
	Idempotent  bool
	OpenWorld   bool

	Result   *Program // nil for the default of the backend
	Content  []*Content
	Text     *Message
	Error    *Message
	Returns  *schema.Type // of the structured result, declared; nil when it is not
	Returned *schema.Validator
}

// Prompt is one prompt block.
type Prompt struct {
	Work
	Title       string
	Description string
	Icons       []*Icon
	Messages    []*PromptMessage
	Error       *Message
}

// PromptMessage is one message block of a prompt: one message of the protocol for every piece of its content.
type PromptMessage struct {
	Role    string // "user" or "assistant"
	When    *Condition
	Each    *Expr // nil, or a list or map for every element of which the message is written
	Content []*Content
	Range   Range
}

// Resource is one resource block: one document, or with a Template a family of them, whose variables are inputs.
type Resource struct {
	Work
	Title       string
	Description string
	Icons       []*Icon
	Listed      bool
	URI         string       // empty for a template
	Template    *URITemplate // nil for one document
	MimeType    string       // empty when it depends on what is read: see MediaType
	Size        int          // in bytes, 0 when unknown
	Annotations *Annotations
	Text        *Message      // one of Text, Data and Body is set
	Data        *Expr         // bytes, or a text in base64
	Body        *Expr         // what the backend gives, where neither is written: a text, bytes, or a value that is sent as JSON
	Refresh     time.Duration // how often it is read again for those who follow it; 0 when it changes only with its file
	Caching     *Caching      // nil says nothing
	Error       *Message
}

// Completion is how an input is completed while it is typed: by values known at load, or by a backend, whose inputs are what was typed and
// the inputs that are filled in already, each a text or null.
type Completion struct {
	Work
	Values []string
	Result *Program // a list of texts; nil for the first column, the lines or the list that the backend gives
}

// Check is a check or an expect block: what must hold, and what the caller is told when it does not.
type Check struct {
	That    *Condition
	Message *Message
	Range   Range
}

// Step is one step of a tool.
type Step struct {
	Name     string // empty for the only backend of its work
	When     *Condition
	Each     *Expr
	Parallel int  // how many elements of Each are worked on at once; at least 1
	Continue bool // on_error = "continue"
	Repeat   *Repeat
	Backend  *Backend
	Expects  []*Check
	Range    Range
}

// Repeat asks a backend again until a condition holds.
type Repeat struct {
	Until *Condition
	Every time.Duration
	Max   int
}

// ToolCall is the backend block `tool`: another tool as a step.
type ToolCall struct {
	Name   string // of the other tool
	Tool   *Tool  // set when the whole configuration is loaded
	Inputs *Entries
}

// Content is one content block of a result.
type Content struct {
	Kind     string // "text", "image", "audio", "resource" or "link"
	When     *Condition
	Text     *Message
	Data     *Expr // bytes, or a text in base64
	MimeType string
	URI      *Text
	Name     *Text
	Title    *Text
	Note     *Message // the description of a link
	Size     int      // of what a link leads to, in bytes; 0 when unknown

	Annotations *Annotations
	Range       Range
}
