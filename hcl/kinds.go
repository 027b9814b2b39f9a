package hcl

import (
	"hatchel/hcl/decode"
	"hatchel/hcl/template/sqltext"
)

// Kinds are the blocks that adapters bring to the language.
type Kinds struct {
	Backends    []BackendKind
	Connections []ConnectionKind
}

// BackendKind is a block that does the work of a tool or a step: http, sql, shell, …
type BackendKind struct {
	Name               string
	Doc                string
	New                func() (config Describer, spec decode.Spec) // a new configuration and the spec that decodes into it
	Connections        []string                                    // the kinds of connection that its label can name; none: the block has no label
	ConnectionRequired bool                                        // a label must be written
}

// Describer is the configuration of a backend. Describe is called once, after everything else was decoded, and says what the backend gives and does. Its error
// is for the author; Blame puts it at an argument.
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

// OnBehalf is the configuration of a connection that may work in the name of who calls, with a token that is made from the caller's own. It returns the argument that says so, or nil.
type OnBehalf interface{ OnBehalf() any }

// Checker is a configuration that can be wrong as a whole. Its error is for the author; Blame puts it at an argument.
type Checker interface{ Check() error }
