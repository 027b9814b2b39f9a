// Package served has what is served of one configuration, and as which lists each toolset shows it. It does not know
// how a configuration is loaded, replaced and closed.
package served

import (
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"slices"

	"hatchel/hcl"
	"hatchel/runtime/call"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/durable/store"
	"hatchel/runtime/edge/auth"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/signin/provider"
	"hatchel/runtime/edge/view"
	"hatchel/runtime/observe/metrics"
	"hatchel/runtime/observe/probe"
	"hatchel/runtime/stage/files"
	"hatchel/runtime/stage/policy"
)

// Served is what is served of one configuration. Its fields are set while that is compiled. Its methods may be called
// concurrently.
type Served struct {
	Config        *hcl.Config
	Commit        string // that the configuration is of; empty outside of a repository
	Home          string // in which the path of an audit log begins
	Env           *call.Environment
	Programs      map[string]*call.Program
	Sorted        []*call.Program   // by name
	Operations    []*call.Operation // of tools, prompts, resources and completions
	Prompts       []*call.Prompt    // by name
	Resources     []*call.Resource  // by name
	Skills        []*call.Resource  // by name
	Completions   map[*hcl.Completion]*call.Completion
	Authenticator *auth.Authenticator // nil without authentication
	Certificates  *auth.Certificates  // nil without TLS
	Audit         AuditLog            // nil when requests are not recorded
	Metrics       *metrics.Metrics    // nil when nothing is measured
	Console       *hcl.Console        // nil for no console
	SignIn        *SignIn             // nil when this is no authorization server
	Provider      *provider.Provider  // of the sign_in block, also where SignIn is nil; nil without a block
	Probes        *probe.Set
	Apps          map[string]*view.App // that show the results of tools, by the names of these
	Views         Views

	directories map[*hcl.Skill]map[string]*mcp.List // see newDirectories
}

// AuditLog is where requests are recorded.
type AuditLog interface {
	// Append adds a record. After an error, what the record is about must not happen.
	Append(r *audit.Record, durable bool) error
	// Check returns why records cannot be added. After a failed Append it tries again.
	Check(ctx context.Context) error
	Close() error
}

// List returns a list with all that is listed there.
func (s *Served) List(of mcp.Listing) *mcp.List { return s.Views.Full.List(of) }

// ListFor returns a list as a caller sees it.
func (s *Served) ListFor(ctx context.Context, caller *mcp.Caller, of mcp.Listing) *mcp.List {
	return s.Views.Full.ListFor(ctx, caller, of)
}

// Info returns how the server introduces itself.
func (s *Served) Info() *mcp.Info { return s.Views.Full.Info }

// Count returns how many entries a list of a toolset has, of which a caller may see fewer; 0 for an
// unknown toolset.
func (s *Served) Count(toolset string, of mcp.Listing) int {
	return s.Views.Of(toolset).List(of).Len()
}

// Program returns a tool by its name, also one that is not listed.
func (s *Served) Program(name string) (*call.Program, bool) {
	p, ok := s.Programs[name]
	return p, ok
}

// Names returns the names of all tools, sorted, also of those that are not listed.
func (s *Served) Names() []string {
	names := make([]string, len(s.Sorted))
	for i, p := range s.Sorted {
		names[i] = p.Decl.Name
	}
	return names
}

// Explain says how the rules decide about a call of a tool, of a prompt, or of the resource at a
// URI. The error is one of the protocol.
func (s *Served) Explain(ctx context.Context, kind string, req *mcp.CallRequest) (call.Explanation, error) {
	switch kind {
	case "tool":
		if p, ok := s.Programs[req.Name]; ok {
			return p.Explain(ctx, req), nil
		}
		return call.Explanation{}, mcp.Unknown("tool", req.Name)
	case "prompt":
		if p := s.Views.Full.Prompts[req.Name]; p != nil {
			return p.Explain(ctx, req)
		}
		return call.Explanation{}, mcp.Unknown("prompt", req.Name)
	}
	r, variables := s.Views.Full.Resource(req.Name)
	if r == nil {
		return call.Explanation{}, mcp.Unknown("resource", req.Name)
	}
	return r.Explain(ctx, req, variables), nil
}

// ListRules returns the rules about all tools, then prompts, resources and skills, each by name.
func (s *Served) ListRules() []call.OperationRules {
	denyByDefault := s.Config.Server.DenyByDefault
	all := make([]call.OperationRules, 0, len(s.Sorted)+len(s.Prompts)+len(s.Resources)+len(s.Skills))
	for _, p := range s.Sorted {
		all = append(all, p.ListRules(denyByDefault))
	}
	for _, p := range s.Prompts {
		all = append(all, p.ListRules(denyByDefault))
	}
	for _, r := range slices.Concat(s.Resources, s.Skills) {
		all = append(all, r.ListRules(denyByDefault))
	}
	return all
}

// Probe asks the servers behind all connections, backends, issuers, sign-in and webhooks whether they will
// work, and reports what fails. It is what `validate --connect` does after a load.
func (s *Served) Probe(ctx context.Context) hcl.Diagnostics {
	diags := append(s.Probes.Check(ctx), s.Authenticator.Probe(ctx)...)
	if s.Provider != nil {
		if err := s.Provider.Probe(ctx); err != nil {
			diags = append(diags, &hcl.Diagnostic{
				Summary: "Provider not available", Detail: "Nobody can sign in: " + err.Error() + ".",
				Subject: s.Config.Auth.SignIn.Range,
			})
		}
	}
	diags = append(diags, store.ProbeWebhooks(ctx, s.Config)...)
	s.Views.Publish()
	return diags.Sort()
}

// Learn asks the reachable databases about the types of their rows, which are part of the list of
// tools.
func (s *Served) Learn(ctx context.Context) {
	s.Probes.Learn(ctx)
	s.Views.Publish()
}

// RefusedOperations reports the operations that the start has refused, because the server lacks what they need.
func (s *Served) RefusedOperations() (diags hcl.Diagnostics) {
	for _, o := range s.Operations {
		if o.Missing != "" {
			const text = "The %s %s is refused, because the server lacks %s."
			diags.Warnf(o.Decl.Range, "Not available", text, o.Kind, o.Decl.Name, o.Missing)
		}
	}
	return diags
}

// Allows reports whether a rule over the caller is true. Text is logged when it cannot be evaluated, which is false.
func (s *Served) Allows(ctx context.Context, rule *hcl.Condition, c *mcp.Caller, text string) bool {
	frame := hcl.NewFrame(ctx, s.Env.Dir, s.Env.Now)
	frame.Caller = call.CallerRoot(c)
	may, err := rule.Eval(frame, nil)
	if err != nil {
		s.Env.LogFailure(ctx, slog.LevelError, text, err, "subject", c.Subject)
	}
	return may && err == nil
}

// AllowsIdentity reports whether a rule of sign_in is true for a person.
func (s *Served) AllowsIdentity(rule *hcl.Condition, i *mcp.Identity) bool {
	caller := new(mcp.Caller)
	caller.SetIdentity(i)
	return s.Allows(s.Env.Running, rule, caller, "rule of sign_in not evaluated")
}

// AuditHealth checks the audit log, and tries again after a failed record; nil when requests are
// not recorded.
func (s *Served) AuditHealth(ctx context.Context) *store.Health {
	if s.Audit == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, store.PingTimeout)
	defer cancel()
	if err := s.Audit.Check(ctx); err != nil {
		return &store.Health{Error: s.Env.Scrubber.Text(err.Error())}
	}
	return &store.Health{OK: true}
}

// Record adds a record of a request that is no call. It gets an ID when it has none.
func (s *Served) Record(ctx context.Context, r *audit.Record) {
	r.ID = cmp.Or(r.ID, rand.Text())
	if err := s.Env.Audit.Append(r, false); err != nil {
		s.Env.LogAuditFailure(ctx, err)
	}
}

// RecordUnknown logs and records a request for something that does not exist, and returns its error.
func (s *Served) RecordUnknown(ctx context.Context, kind string, req *mcp.CallRequest) error {
	err := mcp.Unknown(kind, req.Name)
	s.measureUnknown(kind, req.Caller, err)
	r := s.Env.AuditRecord(audit.EventCall, req.Caller, req.Meta)
	r.Kind, r.Outcome, r.Message = kind, audit.Refused, s.Env.Scrubber.Text(err.Message)
	s.Env.Log.LogAttrs(ctx, slog.LevelInfo, "call refused", slog.String("subject", req.Caller.Subject),
		slog.String("outcome", r.Outcome), slog.String("remote", req.Caller.Remote),
		slog.String("trace_id", r.TraceID), slog.String("message", r.Message))
	if s.Audit == nil {
		return err
	}
	if r.Name = s.Env.Scrubber.Text(req.Name); kind == "resource" {
		r.Name, r.URI = "", r.Name
	}
	s.Record(ctx, r)
	return err
}

// measureUnknown counts a call of something that does not exist.
func (s *Served) measureUnknown(kind string, caller *mcp.Caller, err *mcp.Error) {
	meter := s.Metrics.Operation(kind, metrics.Unknown)
	meter.Begin()
	meter.End(&metrics.Call{HTTP: caller.Header != nil, Outcome: audit.Refused, IsError: true, Code: err.Code})
}

// Prompt serves one prompts/get from this generation.
func (s *Served) Prompt(ctx context.Context, req *mcp.CallRequest) (mcp.Document, error) {
	p := s.Views.Of(req.Caller.Toolset).Prompts[req.Name]
	if p == nil {
		return mcp.Document{}, s.RecordUnknown(ctx, "prompt", req)
	}
	return p.Get(ctx, req)
}

// Read serves one resources/read from this generation.
func (s *Served) Read(ctx context.Context, req *mcp.CallRequest) (mcp.Document, error) {
	v := s.Views.Of(req.Caller.Toolset)
	if app := v.app(req.Name); app != nil {
		return s.readApp(ctx, req, v, app)
	}
	r, variables := v.Resource(req.Name)
	if r == nil {
		return mcp.Document{}, s.RecordUnknown(ctx, "resource", req)
	}
	return r.Read(ctx, req, variables)
}

// IsAuthenticated reports whether the generation may serve a request as far as that depends on who
// makes it: a caller over HTTP has a credential that is valid in this configuration, and a caller
// on stdio has started the process.
func (s *Served) IsAuthenticated(c *mcp.Caller) bool {
	return c.Header == nil || s.Authenticator.StillValid(c.Identity)
}

// StillKnown is IsAuthenticated, also for the caller of a call that has become a task in the
// meantime.
func (s *Served) StillKnown(c *mcp.Caller) bool {
	if i := c.Identity; c.Header == nil && i != nil && i.Grant != "" {
		return s.Authenticator.StillValid(i)
	}
	return s.IsAuthenticated(c)
}

// ToolRoot returns what rules read as `tool` about an operation, or about none.
func (s *Served) ToolRoot(operation, name string) map[string]any {
	switch operation {
	case "tool":
		if p, ok := s.Programs[name]; ok {
			return policy.ToolRoot(p.Tool())
		}
	case "prompt":
		for _, p := range s.Prompts {
			if p.Decl.Name == name {
				return policy.OperationRoot(p.Kind, p.Decl, p.Prompt.Title)
			}
		}
	case "resource", "skill":
		for _, r := range slices.Concat(s.Resources, s.Skills) {
			if r.Kind == operation && r.Decl.Name == name {
				return policy.OperationRoot(r.Kind, r.Decl, r.Resource.Title)
			}
		}
	}
	return policy.OperationRoot("", &hcl.Operation{}, "")
}

// ToolEntry returns a tool as clients of both eras see it in a list.
func (s *Served) ToolEntry(name string) (mcp.Entry, bool) {
	p, ok := s.Programs[name]
	if !ok {
		return mcp.Entry{}, false
	}
	return toolEntry(p, s.Apps[name]), true
}

// PromptEntry returns a prompt as clients see it in a list.
func PromptEntry(p *hcl.Prompt) []byte { return promptEntry(p).Modern }

// ResourceEntry returns a resource, or a resource template, as clients see it in a list.
func ResourceEntry(r *hcl.Resource) []byte { return resourceEntry(r).Modern }

// ServerNames returns the names under which the server is served.
func (s *Served) ServerNames() mcp.Names {
	c := s.Config
	names := mcp.Names{Hosts: c.Hosts()}
	if c.Server.CORS != nil {
		names.Origins = c.Server.CORS.Origins
	}
	return names
}

// UploadLocal stores a file for a call that the program itself makes.
func (s *Served) UploadLocal(ctx context.Context, u files.Upload, in io.Reader) (*files.File, error) {
	u.Rules = UploadRules(&s.Config.Files)
	return s.Env.Files.Upload(ctx, u, in)
}

// UploadRules returns what may be uploaded.
func UploadRules(f *hcl.Files) files.Rules {
	return files.Rules{MaxSize: int64(f.MaxSize), Types: f.Types, TTL: f.TTL, BaseURL: f.BaseURL}
}

// UnrecordedError reports that nothing was done about a file or an approval, because it could not be
// recorded. Message is for the caller.
type UnrecordedError struct {
	Message string
	Cause   error
}

func (u *UnrecordedError) Error() string { return u.Message }

func (u *UnrecordedError) Unwrap() error { return u.Cause }

// Title returns the title of the server, or its name.
func (s *Served) Title() string {
	server := s.Config.Server
	return cmp.Or(server.Title, server.Name)
}
