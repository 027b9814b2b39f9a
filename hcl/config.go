package hcl

import (
	"hatchel/hcl/decode"
	"hatchel/hcl/template/sqltext"
)

// Config is one loaded configuration. It is complete and immutable and holds no external resources.
type Config struct {
	ID          string // digest of all sources, variables and secrets: the revision of the configuration
	Server      Server
	Auth        *Auth  // nil for no authentication
	TLS         *TLS   // nil for plain HTTP
	Audit       *Audit // nil for no audit log
	State       *State // nil for the default location
	Files       Files
	Connections []*Connection // by kind and name
	Webhooks    []*Webhook    // by name
	Tools       []*Tool       // by name, without disabled ones
	Prompts     []*Prompt     // by name
	Resources   []*Resource   // by name
	Toolsets    []*Toolset    // by name
	Policies    []*Policy     // by name
	Approvals   *Approvals    // nil if nobody may decide over HTTP
	Settings    []Setting     // all blocks but those of tools, prompts, resources, values and types
	Tests       []TestBlock   // in the order of the files; only with Options.Tests
	// NewTestDecoder returns a Decoder for the test blocks of a file, whose text is src; nil without Options.Tests.
	NewTestDecoder func(src []byte) *decode.Decoder
	Sources        map[string][]byte // by path, as they were read
	Secrets        []string          // all known secrets, for scrubbing output
	// a file or a top-level block could not be read, so its declarations are missing
	Partial bool
}

// listedOperation is an operation with the name of its list: tools, prompts or resources.
type listedOperation struct {
	list string
	*Operation
}

// operations returns the operations of all tools, prompts and resources.
func (c *Config) operations() (all []listedOperation) {
	for _, t := range c.Tools {
		all = append(all, listedOperation{"tools", &t.Operation})
	}
	for _, p := range c.Prompts {
		all = append(all, listedOperation{"prompts", &p.Operation})
	}
	for _, r := range c.Resources {
		all = append(all, listedOperation{"resources", &r.Operation})
	}
	return all
}

// Setting is a block that decides how calls are served.
type Setting struct {
	Name   string // its first line, such as "connection http shop"
	Digest string // of the block and everything it refers to
}

// Kinds are the blocks that adapters add to the language.
type Kinds struct {
	Backends    []BackendKind
	Connections []ConnectionKind
}

// BackendKind is a type of backend block: http, sql, shell, …
type BackendKind struct {
	Name string
	Doc  string
	// returns a new configuration and the spec that decodes into it
	New func() (config Describer, spec decode.Spec)
	// the kinds of connection that its label can name; empty for a block without label
	Connections        []string
	ConnectionRequired bool // the label is required
}

// Describer is the configuration of a backend. Describe is called once, after decoding, and returns
// the effects of the backend. Its error is for the author; Blame places it at an argument.
type Describer interface {
	Describe(conn *Connection) (Effects, error)
}

// ConnectionKind is a kind of connection, the first label of the block, as in connection "http"
// "shop".
type ConnectionKind struct {
	Name    string
	Doc     string
	New     func() (config any, spec decode.Spec) // config may implement Checked
	Dialect sqltext.Dialect                       // of the SQL in its backends; for databases only
}

// OnBehalf is the configuration of a connection that may act on behalf of the caller, with a token
// exchanged for the caller's own. It returns the argument that enables this, or nil.
type OnBehalf interface{ OnBehalf() any }

// Checker is a configuration with conditions over several arguments. Its error is for the author;
// Blame places it at an argument.
type Checker interface{ Check() error }
