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

// Tool is one tool block.
type Tool struct {
	Name        string
	Title       string
	Description string
	Icons       []*Icon
	Listed      bool
	Timeout     time.Duration // of a whole call
	MaxText     Size          // of a text that a model receives

	ReadOnly    bool
	Destructive bool
	Idempotent  bool
	OpenWorld   bool

	Input     *schema.Type // the object of all inputs
	Validator *schema.Validator
	Checks    []*Check
	Allow     *Condition // nil when everybody may call
	Steps     []*Step    // a tool with one backend has one step without a name; a pure computation has none

	Result   *Program // nil for the default of the backend
	Content  []*Content
	Text     *Message
	Error    *Message
	Returns  *schema.Type // of the structured result, declared; nil when it is not
	Returned *schema.Validator

	Digest string // of the block and of everything it refers to
	Range  Range
}

// Named reports whether the tool's backends are written as steps, so that results are read as step.<name>.
func (t *Tool) Named() bool { return len(t.Steps) > 0 && t.Steps[0].Name != "" }

// Check is a check or an expect block: what must hold, and what the caller is told when it does not.
type Check struct {
	That    *Condition
	Message *Message
	Range   Range
}

// Step is one step of a tool.
type Step struct {
	Name     string // empty for the only backend of a tool
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
	Range    Range
}
