package mcp

// CompleteRequest is one completion/complete. Its slices alias memory that is reused once it has been answered.
type CompleteRequest struct {
	Kind     string // "prompt", "resource" or "tool", which is an extension of ours
	Name     string // of the prompt or tool, or the URI or template of the resource
	Argument string
	Value    string // as typed so far
	Context  []byte // the arguments that are filled in already, an object with texts as encoded JSON, or nil
	Caller   *Caller
}

// Completion continues a value. No more than 100 Values are sent.
type Completion struct {
	Values []string
	Total  int  // how many there are, 0 when unknown
	More   bool // there are more than Values
}
