package hcl

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/mock"
	"hatchel/hcl/schema"
	"hatchel/hcl/template/sqltext"
	"hatchel/internal/hostname"
)

// Config is one loaded configuration. It is complete and immutable and holds no external resources.
type Config struct {
	Kinds       Kinds  // what adapters add to the language
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
	Skills      []*Skill      // by name
	Toolsets    []*Toolset    // by name
	Policies    []*Policy     // by name
	Masks       []*Mask       // by name
	Approvals   *Approvals    // nil if nobody may decide over HTTP
	Telemetry   Telemetry
	Events      *Events            // nil if nobody may follow the events
	Hooks       []*Hook            // in the order of the files
	Console     *Console           // nil for no console
	Settings    []Setting          // all blocks but those of tools, prompts, resources, values and types
	Tests       []TestBlock        // in the order of the files; only with Options.Tests
	Values      []*hclsyntax.Block // the locals, variable and secret blocks, as they are written
	ValueReads  []*eval.Reads      // of these blocks
	// VariableTypes are the types that variables declare, by their names.
	VariableTypes map[string]*schema.Type
	// NewTestDecoder returns a Decoder for a test block; nil without Options.Tests.
	NewTestDecoder func(TestBlock) *decode.Decoder
	// DecodeAgain decodes one block of a file that has changed since the load, among the other declarations of the
	// configuration, tells o what it finds, and returns the mistakes. It changes nothing. It is nil without
	// Options.ForEditor.
	DecodeAgain func(b *hclsyntax.Block, src []byte, o decode.Observer) Diagnostics
	Sources     map[string][]byte // by path, as they were read
	FileDigests map[string]string // of the files that functions read at load, by name
	Secrets     []string          // all known secrets, for scrubbing output
	SecretNames []string          // of the Secrets, such as "secret.token"
	// Code is the files in the configuration directory that the programs of each backend may run or read, by name, with
	// digests of their content. It is empty in an editor, and for a configuration with errors.
	Code map[*Backend]map[string]string
	// SecretCode is the files in the configuration directory that the commands of secrets may run or read, by secret,
	// as Code has them
	SecretCode map[string]map[string]string
	// a file or a top-level block could not be read, so its declarations are missing
	Partial bool

	// UnreadSecrets reports whether the value of a secret is unknown, because no secret is read, or no command.
	UnreadSecrets bool
	// OldSecrets reports whether a command of a secret fails, and its earlier output is used.
	OldSecrets bool
	// Blocks are all top-level blocks of all files, those too that the language does not have; only with
	// Options.ForEditor.
	Blocks []BlockHeader
	// Observers are those of the blocks, also of blocks that the load before has decoded; only with Options.ForEditor.
	Observers []decode.Observer
}

// Hosts returns the names and addresses under which the server is served, besides those of this machine.
func (c *Config) Hosts() []string {
	if c.Auth == nil || c.Auth.SignIn == nil {
		return c.Server.Hosts
	}
	host := c.Auth.SignIn.Host()
	if host == "" || hostname.IsLocal(host) || slices.Contains(c.Server.Hosts, host) {
		return c.Server.Hosts
	}
	return append(slices.Clone(c.Server.Hosts), host)
}

// observe adds who was told of a block; nil for nobody.
func (c *Config) observe(o decode.Observer) {
	if o != nil {
		c.Observers = append(c.Observers, o)
	}
}

// observer returns who is told of a block of a file; nil for nobody.
func (l *loader) observer(file string) decode.Observer {
	if l.opts.observe == nil {
		return nil
	}
	return l.opts.observe(file)
}

func (l *loader) listBlock(b *hclsyntax.Block) {
	if l.opts.observe != nil {
		l.config.Blocks = append(l.config.Blocks, HeaderOf(b))
	}
}

// BlockHeader is the first line of a block.
type BlockHeader struct {
	Type   string
	Labels []string
	Names  []Range // of the labels
	Header Range
	Whole  Range
	// the names of its arguments and of the blocks in it
	Members []string
}

// HeaderOf returns the first line of a block.
func HeaderOf(b *hclsyntax.Block) BlockHeader {
	h := BlockHeader{Type: b.Type, Labels: b.Labels, Header: headerRange(b), Whole: diag.RangeOf(b.Range())}
	h.Whole.End = diag.RangeOf(b.CloseBraceRange).End
	for _, r := range b.LabelRanges {
		h.Names = append(h.Names, diag.RangeOf(r))
	}
	if b.Body == nil {
		return h // it is being typed
	}
	h.Members = slices.Collect(maps.Keys(b.Body.Attributes))
	for _, inner := range b.Body.Blocks {
		h.Members = append(h.Members, inner.Type)
	}
	return h
}

// listedOperation is an operation with the name of its list: tools, prompts, resources or skills.
type listedOperation struct {
	list string
	*Operation
}

// operations returns the operations of all tools, prompts, resources and skills.
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
	for _, s := range c.Skills {
		all = append(all, listedOperation{"skills", &s.Operation})
	}
	return all
}

// Setting is a block that decides how calls are served.
type Setting struct {
	Name   string // its first line, such as "connection http shop"
	Digest string // of the block and everything it refers to
	// Reads are those of the block; blocks with the same first line, which only on blocks may have, have one each
	Reads []*eval.Reads
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
	ConnectionRequired bool       // the label is required
	Mock               *mock.Kind // what tests write in its place; nil for a backend that asks nothing
	Snippets           []Snippet
	// names that authors take for that of the block
	Aliases []string
	// what is said of a block that only blocks and connections of this kind have, by the name of that block
	Misplaced map[string]string
	Traits
}

// Traits are what hatchel diff and the warning about equal tools know of a kind of backend, beside its effects.
type Traits struct {
	// Request: it sends a request. A text in it is sent as it is written, and a value that is null is left out.
	Request bool
	// Program: it runs a program, of which nothing is known, so it may change something whatever its effects are.
	Program    bool
	Statements []string // its arguments that are statements of SQL
	// Files: what it is given is written to files of this machine, and sent nowhere.
	Files bool
}

// Snippet is a whole tool to begin with, as editors insert it. CONNECTION in it stands for the name of a connection.
type Snippet struct{ Label, Doc, Text string }

// Mock returns what tests write in place of a kind of backend; nil for nothing.
func (k Kinds) Mock(backend string) *mock.Kind { return k.backend(backend).Mock }

// Traits returns those of a kind of backend, or none for a block of the language.
func (k Kinds) Traits(backend string) Traits { return k.backend(backend).Traits }

func (k Kinds) backend(name string) (found BackendKind) {
	if i := slices.IndexFunc(k.Backends, func(b BackendKind) bool { return b.Name == name }); i >= 0 {
		found = k.Backends[i]
	}
	return found
}

// Mocked returns the names of the backends that tests replace.
func (k Kinds) Mocked() (names []string) {
	for _, b := range k.Backends {
		if b.Mock != nil {
			names = append(names, b.Name)
		}
	}
	return names
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
// exchanged for the caller's own. It returns nil if it does not.
type OnBehalf interface{ OnBehalf() *Delegation }

// Delegation is how a connection acts on behalf of callers.
type Delegation struct {
	Argument any // enables it
	// Accepts reports whether the tokens of an issuer can be exchanged; nil if those of each issuer can. Issuer is one
	// of them, for people to write.
	Accepts func(issuer string) bool
	Issuer  string
	// AcceptsScopes reports whether a sign-in at Issuer that asks for scopes gets a token that can be exchanged. Scope
	// is one with which it does, for people to write.
	AcceptsScopes func(scopes []string) bool
	Scope         string
}

// Checker is a configuration with conditions over several arguments. Its error is for the author;
// Blame places it at an argument.
type Checker interface{ Check() error }

// ComputedChecker is a configuration of a connection with conditions over arguments that are computed for each call. It
// is checked also where the values that are known at load are missing or not read.
type ComputedChecker interface{ CheckComputed() error }
