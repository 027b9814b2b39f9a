package hcl

import (
	"hatchel/hcl/schema"
	"hatchel/hcl/template/sqltext"
)

// Kinds are the blocks that adapters bring to the language.
type Kinds struct {
	Backends    []BackendKind
	Connections []ConnectionKind
}

// BackendKind is a block that does the work of a tool or a step: http, sql, shell, …
type BackendKind struct {
	Name        string
	Doc         string
	New         func() (config Described, spec Spec) // a new configuration and the spec that decodes into it
	Connections []string                             // the kinds of connection that its label can name; none: the block has no label
	Needed      bool                                 // a label must be written
}

// Described is the configuration of a backend. Describe is called once, after everything else was decoded, and says what the backend gives and does. Its error
// is for the author; Blame puts it at an argument.
type Described interface {
	Describe(conn *Connection) (Facts, error)
}

// ConnectionKind is a kind of connection block: the second word, as in connection "http" "shop".
type ConnectionKind struct {
	Name    string
	Doc     string
	New     func() (config any, spec Spec) // config may implement Checked
	Dialect sqltext.Dialect                // of the SQL that its backends write; meaningful for databases only
}

// Checked is a configuration that can be wrong as a whole. Its error is for the author; Blame puts it at an argument.
type Checked interface{ Check() error }

// Facts are what is known at load of every call of a backend.
type Facts struct {
	Output  *schema.Type // of the root `output`: an object whose members are documented for the backend
	Default Default      // what a call answers when the tool does not say

	ReadOnly    bool // nothing changes
	Writes      bool // something certainly changes, so that read_only = true would be untrue
	Destructive bool // something may be lost: a DELETE, an overwritten file
	Idempotent  bool // doing it twice is doing it once
	OpenWorld   bool // it reaches systems beyond the ones declared: a shell, a foreign host

	MimeType string // of Default.Document, where it is known at load
}

// Default is the answer of a tool without result, text or content. The zero Default has none, and the tool must say what it answers.
type Default struct {
	Member  string   // this member of output is the structured result
	Members []string // these members of output, as an object, are the structured result
	Text    string   // this member of output is sent as text alone

	Document string // this member of output is what a resource holds; without it that is Text, Member or Members, the first that is set
}

// Connection is one decoded connection block.
type Connection struct {
	Kind   string
	Name   string
	Config any
	Guard  Guard
	Digest string // of everything the block says, so that an unchanged one keeps its pool
	Range  Range

	personal bool // it reads who calls
}

// Backend is one decoded backend block.
type Backend struct {
	Kind       string
	Config     any         // the adapter's own type; *ToolCall for the block `tool`
	Connection *Connection // the one its label names, or nil
	Facts      Facts
	Range      Range
	places     map[any]Range
}

// Diagnose turns an error of Describe, Check or of binding the backend into diagnostics: at the argument that it blames, else at the block.
func (b *Backend) Diagnose(err error) Diagnostics {
	return blames(err, "Backend refused", b.Range, b.places)
}
