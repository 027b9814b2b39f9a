package hcl

import (
	"hatchel/hcl/decode"
	"hatchel/hcl/template/sqltext"
)

// Config is one loaded configuration: complete, immutable, without handles to anything outside.
type Config struct {
	ID          string // digest of all sources, variables and secrets: the revision of what is served
	Server      Server
	Auth        *Auth  // nil when nobody is asked who they are
	TLS         *TLS   // nil when the server speaks without it
	Audit       *Audit // nil when nothing is written down
	State       *State // nil when nobody says the location of the state
	Files       Files
	Connections []*Connection     // by kind and name
	Webhooks    []*Webhook        // by name
	Tools       []*Tool           // by name; disabled ones are left out
	Prompts     []*Prompt         // by name
	Resources   []*Resource       // by name
	Toolsets    []*Toolset        // by name
	Policies    []*Policy         // by name
	Approvals   *Approvals        // nil when nobody may decide over HTTP
	Sources     map[string][]byte // by path, as they were read
	Secrets     []string          // every known secret text, for scrubbing what leaves the process
	// a file, or something at the top of one, could not be read, and what it may declare is not
	// here
	Partial bool
}

// Kinds are the blocks that adapters bring to the language.
type Kinds struct {
	Backends    []BackendKind
	Connections []ConnectionKind
}

// BackendKind is a block that does the work of a tool or a step: http, sql, shell, …
type BackendKind struct {
	Name string
	Doc  string
	// a new configuration and the spec that decodes into it
	New func() (config Describer, spec decode.Spec)
	// the kinds of connection that its label can name; none: the block has no label
	Connections        []string
	ConnectionRequired bool // a label must be written
}

// Describer is the configuration of a backend. Describe is called once, after everything else was
// decoded, and says what the backend gives and does. Its error is for the author; Blame puts it at
// an argument.
type Describer interface {
	Describe(conn *Connection) (Effects, error)
}

// ConnectionKind is a kind of connection block: the second word, as in connection "http" "shop".
type ConnectionKind struct {
	Name    string
	Doc     string
	New     func() (config any, spec decode.Spec) // config may implement Checked
	Dialect sqltext.Dialect                       // of the SQL that its backends write; meaningful for databases only
}

// OnBehalf is the configuration of a connection that may work in the name of who calls, with a
// token that is made from the caller's own. It returns the argument that says so, or nil.
type OnBehalf interface{ OnBehalf() any }

// Checker is a configuration that can be wrong as a whole. Its error is for the author; Blame puts
// it at an argument.
type Checker interface{ Check() error }
