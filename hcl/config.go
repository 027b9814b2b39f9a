package hcl

// Config is one loaded configuration: complete, immutable, without handles to anything outside.
type Config struct {
	ID          string // digest of all sources, variables and secrets: the revision of what is served
	Server      Server
	Auth        *Auth  // nil when nobody is asked who they are
	TLS         *TLS   // nil when the server speaks without it
	Audit       *Audit // nil when nothing is written down
	State       *State // nil when nobody says where it is kept
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
	Partial     bool              // a file, or something at the top of one, could not be read, and what it may declare is not here
}
