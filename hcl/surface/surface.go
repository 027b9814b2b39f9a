// Package surface says what a configuration offers to agents, what its tools do, and who may call
// them, in a form that can be kept in a file, reviewed and compared.
//
// Of derives the Surface of a loaded configuration. Lock writes it and ReadLock reads it. Compare
// returns the differences of two surfaces as typed changes: a change of a type is breaking or
// compatible because of the values that the types accept, not because of their text.
package surface

import (
	"crypto/sha256"
	"encoding/hex"

	"hatchel/hcl"
	"hatchel/hcl/eval"
)

// Version is the version of the form of a lock.
const Version = 2

// LockName is the name of the lock in a configuration directory.
const LockName = "hatchel.lock.json"

// Surface is what a configuration offers. It is immutable. A surface that was read from a lock has no
// positions.
type Surface struct {
	Server      Server
	Tools       map[string]*Tool
	Prompts     map[string]*Prompt
	Resources   map[string]*Resource
	Skills      map[string]*Skill
	Toolsets    map[string]*Toolset
	Policies    map[string]*Policy
	Masks       map[string]*Mask
	Connections map[string]*Connection // by kind and name, such as "http shop"
	Settings    map[string]*Setting    // other blocks by their first line, such as "webhook ops" or "secret key"
	// Access holds who may call each tool, by tool and caller; the caller "*" stands for all that are not named.
	// Of does not set it. Compare ignores it unless both surfaces have it.
	Access map[string]map[string]string

	// Earlier is the version of an earlier lock, which does not say everything; 0 for none. Such a surface is only for
	// Compare.
	Earlier int

	positions map[string]hcl.Range // by place
}

// Server is what concerns all tools.
type Server struct {
	Name         string   `json:"name"`
	Title        string   `json:"title,omitempty"`
	Version      string   `json:"version"`
	Instructions string   `json:"instructions,omitempty"`
	DenyDefault  bool     `json:"deny_by_default,omitempty"` // calls that no rule allows are denied
	Limit        *Limit   `json:"limit,omitempty"`
	Hold         string   `json:"hold,omitempty"`
	Hosts        []string `json:"hosts,omitempty"`
	Origins      []string `json:"origins,omitempty"` // of pages that are clients
	Coerce       bool     `json:"coerce,omitempty"`
	Ignored      []string `json:"ignore_arguments,omitempty"`
	Auth         bool     `json:"auth,omitempty"` // callers need credentials
	Keys         []string `json:"keys,omitempty"` // API keys, with their groups and scopes
	Issuers      []string `json:"issuers,omitempty"`
	// who may decide over HTTP
	Approvers *eval.Formula `json:"approvers,omitempty"`
}

// Operation is the common part of tools, prompts, resources and skills.
type Operation struct {
	Digest      string            `json:"digest"` // of the other members
	Title       string            `json:"title,omitempty"`
	Description string            `json:"description,omitempty"`
	Input       any               `json:"input,omitempty"` // a decoded JSON Schema
	Order       []string          `json:"order,omitempty"` // of the inputs
	Requires    []string          `json:"requires,omitempty"`
	Listed      bool              `json:"listed"`
	Does        []string          `json:"does,omitempty"`
	Reads       []string          `json:"reads,omitempty"` // secrets, and where they go
	May         May               `json:"may,omitzero"`
	Guards      []string          `json:"guards,omitempty"`    // where the block reads the caller, besides its rules
	Sensitive   []string          `json:"sensitive,omitempty"` // inputs whose values are never shown
	Texts       map[string]string `json:"texts,omitempty"`     // templates that models read, as they are written
	Steps       []*Step           `json:"steps,omitempty"`     // in the order in which they run
	Rest        map[string]string `json:"rest,omitempty"`      // the other arguments of the block, by path
}

// Step is one backend of an operation. A Path of its arguments is that of Operation.Rest, and their texts are normal
// forms: texts that differ do something else.
type Step struct {
	// Name is that of a step, "before x" or "complete x"; empty for a single backend
	Name       string `json:"name,omitempty"`
	Kind       string `json:"kind"` // of the backend, such as sql
	Connection string `json:"connection,omitempty"`
	Writes     bool   `json:"writes,omitempty"` // it may change something

	When    *eval.Formula     `json:"when,omitempty"`
	Each    string            `json:"each,omitempty"`
	OnError string            `json:"on_error,omitempty"` // "continue", or nothing
	Until   *eval.Formula     `json:"until,omitempty"`    // what ends its repetition
	Expect  []*eval.Formula   `json:"expect,omitempty"`
	Does    []string          `json:"does,omitempty"`
	Reads   []string          `json:"reads,omitempty"` // of the call, the caller and secrets, also through locals
	Args    map[string]string `json:"args,omitempty"`  // all arguments of the step and its backend, by path
	Types   map[string]any    `json:"types,omitempty"` // decoded JSON Schemas of the arguments that are types, by path
	Code    map[string]string `json:"code,omitempty"`  // digests of the files that its programs may read, by name

	// Upstream is the tool of another MCP server that the step calls; nil for another backend.
	Upstream *Upstream `json:"upstream,omitempty"`

	traits hcl.Traits // of Kind
}

// Upstream is a tool of another MCP server by its reviewed definition.
type Upstream struct {
	Tool       string   `json:"tool"`
	Definition string   `json:"definition"`         // digest
	Safe       []string `json:"safe,omitempty"`     // what the server promises of the effects
	Warnings   []string `json:"warnings,omitempty"` // what it warns of
}

// May says who may call, and what a call needs.
type May struct {
	Scopes   []string        `json:"scopes,omitempty"`
	Allow    *eval.Formula   `json:"allow,omitempty"`
	Policies []string        `json:"policies,omitempty"` // that apply
	Approval []*Approval     `json:"approval,omitempty"`
	Checks   []*eval.Formula `json:"checks,omitempty"` // conditions on the arguments
	Limit    *Limit          `json:"limit,omitempty"`
}

// Approval is a consent that a call needs.
type Approval struct {
	By   string        `json:"by"`             // "caller" or "operator"
	When *eval.Formula `json:"when,omitempty"` // nil for every call
}

// String returns the approval as people read it.
func (a *Approval) String() string {
	if a.When == nil {
		return a.By
	}
	return a.By + " when " + a.When.String()
}

// Limit is a limit on the rate and the concurrency of calls. Zero is no limit.
type Limit struct {
	Rate        float64 `json:"rate,omitempty"` // calls an hour
	Burst       int     `json:"burst,omitempty"`
	Shared      bool    `json:"shared,omitempty"` // by all callers
	Concurrency int     `json:"concurrency,omitempty"`
	Queue       int     `json:"queue,omitempty"`
	MaxWait     float64 `json:"max_wait,omitempty"` // seconds in the queue
}

// Tool is one tool.
type Tool struct {
	Operation
	Output      any         `json:"output,omitempty"` // a decoded JSON Schema; nil for none
	Annotations Annotations `json:"annotations"`
	Answer      Answer      `json:"answer,omitzero"`
	Masked      []string    `json:"masked,omitempty"` // members of the answer, with their masks
}

// Annotations are the hints about the effects of a tool.
type Annotations struct {
	ReadOnly    bool `json:"read_only"`
	Destructive bool `json:"destructive"`
	Idempotent  bool `json:"idempotent"`
	OpenWorld   bool `json:"open_world"`
}

// Prompt is one prompt. Its messages are texts.
type Prompt struct{ Operation }

// Resource is one resource or resource template.
type Resource struct {
	Operation
	URI      string `json:"uri"` // or the template
	MimeType string `json:"mime_type,omitempty"`
}

// Skill is one skill.
type Skill struct {
	Operation
	URI     string            `json:"uri"`
	Files   map[string]string `json:"files"`             // digests by path
	Scripts []string          `json:"scripts,omitempty"` // the files that are scripts or programs
}

// Toolset is one toolset with the names of its members.
type Toolset struct {
	Title        string   `json:"title,omitempty"`
	Instructions string   `json:"instructions,omitempty"`
	Tools        []string `json:"tools,omitempty"`
	Prompts      []string `json:"prompts,omitempty"`
	Resources    []string `json:"resources,omitempty"`
	Skills       []string `json:"skills,omitempty"`
	Search       *Search  `json:"search,omitempty"`
}

// Search is the search block of a toolset.
type Search struct {
	Areas   string   `json:"areas"`
	Pinned  []string `json:"pinned,omitempty"`
	Results int      `json:"results"`
}

// Policy is the rules of one policy. Operations list the policies that apply to them.
type Policy struct {
	Allow    *eval.Formula     `json:"allow,omitempty"`
	Deny     *eval.Formula     `json:"deny,omitempty"`
	Approve  *eval.Formula     `json:"approve,omitempty"`
	Approval string            `json:"approval,omitempty"` // who approves
	Message  string            `json:"message,omitempty"`
	Args     map[string]string `json:"args,omitempty"` // the other arguments, by path
}

// Mask is what one mask keeps from whom.
type Mask struct {
	Members     []string      `json:"members,omitempty"`
	Detect      []string      `json:"detect,omitempty"`      // in place of members
	Connections []string      `json:"connections,omitempty"` // all without
	Tools       []string      `json:"tools,omitempty"`       // patterns; everything without these three
	Prompts     []string      `json:"prompts,omitempty"`
	Resources   []string      `json:"resources,omitempty"`
	Unless      *eval.Formula `json:"unless,omitempty"` // who sees the values
	With        string        `json:"with,omitempty"`   // what others see of members
	Key         string        `json:"key,omitempty"`    // where it comes from
	RevealTo    []string      `json:"reveal_to,omitempty"`
}

// Connection is what a connection reaches.
type Connection struct {
	Does  []string          `json:"does,omitempty"`
	Reads []string          `json:"reads,omitempty"` // secrets
	Args  map[string]string `json:"args,omitempty"`  // all arguments, by path
	// Identity is as whom its calls act, by the path of the argument; nil for the login of the connection.
	Identity map[string]*IdentityPart `json:"identity,omitempty"`
}

// Setting is another block.
type Setting struct {
	Does  []string          `json:"does,omitempty"`
	Reads []string          `json:"reads,omitempty"` // secrets
	Args  map[string]string `json:"args,omitempty"`  // arguments that nothing else shows, by path
	Type  any               `json:"type,omitempty"`  // of a variable: a decoded JSON Schema
}

// digest returns the digest of a text as it stands in a lock.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}
