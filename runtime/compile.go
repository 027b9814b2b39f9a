package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/credential"
	"hatchel/hcl"
	"hatchel/internal/logonce"
	"hatchel/runtime/call"
	"hatchel/runtime/durable/grant"
	"hatchel/runtime/durable/store"
	"hatchel/runtime/edge/auth"
	"hatchel/runtime/edge/auth/issuer"
	"hatchel/runtime/edge/served"
	"hatchel/runtime/edge/signin/client"
	"hatchel/runtime/edge/signin/provider"
	"hatchel/runtime/observe/event"
	"hatchel/runtime/observe/metrics"
	"hatchel/runtime/observe/probe"
	"hatchel/runtime/observe/recent"
	"hatchel/runtime/observe/trace"
	"hatchel/runtime/stage/files"
	"hatchel/runtime/stage/limit"
	"hatchel/runtime/stage/policy"
	"hatchel/runtime/stage/result"
)

// Build is what a configuration is compiled with. It is the same for every generation of a Host, but for Dir and Commit
// of a Revision.
type Build struct {
	Set         adapters.Set
	Dir         string            // absolute path of the configuration directory
	Commit      string            // that the configuration is of; empty outside of a repository
	Home        string            // in which the path of an audit log begins; empty is Dir
	Version     string            // of the program
	Inspect     bool              // connections create and change nothing, and no secret is read; no calls are made
	Start       bool              // of a process: server { on_missing } may refuse tools
	Log         *slog.Logger      // nil discards
	LogDropped  func() uint64     // counts the lines that Log has dropped; nil for a log that drops none
	Now         func() time.Time  // clock of calls; nil is time.Now
	Connections *Connections      // open connections; nil shares none
	Issuers     *issuer.Issuers   // issuers with known keys; nil knows none
	Documents   *client.Documents // documents of clients; nil knows none
	AuditLogs   *AuditLogs        // nil records nothing, whatever is declared
	Metrics     *metrics.Exporter // nil measures nothing, whatever is declared
	Console     *Console          // nil serves no console, whatever is declared
	SignIn      bool              // people can sign in; otherwise nobody can, whatever is declared
	State       *store.State      // nil keeps state for as long as what is made with it
	Observer    *call.Observer    // of calls; nil outside of tests
	Mocks       adapters.Mocks    // answers in tests of tools; nil for the real thing

	caches  *processCaches
	current func() *Generation // what is served; nil without a Host
}

// processCaches is what a process knows of calls for as long as it runs. It outlives generations.
type processCaches struct {
	limiter   *limit.Limiter
	results   *result.Cache
	waiters   *call.Waiters
	exporters shared[*trace.Exporter]
	events    *event.Ring
	recent    func() *recent.Log
	refusals  event.Refusals
	secrets   result.Rotation

	spansDropped atomic.Uint64
	logged       logonce.Changes // problems that were logged
}

func (b Build) withDefaults(ctx context.Context) *Build {
	b.Log = cmp.Or(b.Log, slog.New(slog.DiscardHandler))
	b.Connections, b.Issuers = cmp.Or(b.Connections, new(Connections)), cmp.Or(b.Issuers, new(issuer.Issuers))
	if b.Now == nil {
		b.Now = time.Now
	}
	if b.Documents == nil {
		b.Documents = client.NewDocuments(client.DocumentsOptions{Log: b.Log, Now: b.Now})
	}
	if b.State == nil {
		b.State = store.NewMemory(ctx)
	}
	if b.caches == nil {
		b.caches = &processCaches{
			limiter: limit.New(b.State.OpenStore), results: result.NewCache(), waiters: call.NewWaiters(),
			events: event.NewRing(b.State.Process.Name()),
			recent: sync.OnceValue(func() *recent.Log { return recent.NewLog(processLabel()) }),
		}
	}
	return &b
}

// adapterEnv returns what a backend or a connection is bound with. Owner runs its cleanups.
func (b *Build) adapterEnv(owner *cleanups) adapters.Env {
	return adapters.Env{
		Dir: b.Dir, Log: b.Log, Version: b.Version, Inspect: b.Inspect, Mocks: b.Mocks, Defer: owner.add,
	}
}

// Compile makes a configuration without errors ready to be called. It opens every connection, binds
// every backend, and reports all that are rejected; when one is, it closes what it has opened and
// returns no Generation.
func Compile(ctx context.Context, cfg *hcl.Config, build Build) (*Generation, hcl.Diagnostics) {
	return (&compiler{ctx: ctx}).compile(cfg, build)
}

func (c *compiler) compile(cfg *hcl.Config, build Build) (*Generation, hcl.Diagnostics) {
	c.ownsState = build.State == nil
	c.build, c.connections = build.withDefaults(c.ctx), map[*hcl.Connection]*connection{}
	c.missing = map[*hcl.Connection]string{}
	c.g = &Generation{
		Served: &served.Served{
			Config: cfg, Commit: c.build.Commit, Home: cmp.Or(c.build.Home, c.build.Dir),
			Programs:    make(map[string]*call.Program, len(cfg.Tools)),
			Completions: map[*hcl.Completion]*call.Completion{},
		},
		build: c.build, drained: make(chan struct{}), ended: make(chan struct{}),
	}
	c.g.Views.Unlisted = c.build.Mocks != nil // in a test of tools
	c.makeEnvironment()
	if c.ownsState {
		c.g.cleanups.add(c.build.State.Close)
	}
	c.removeStagedFiles()
	c.openTracing()
	c.openConsole()
	c.openMetrics()
	c.openEvents()
	c.openAudit()
	c.openSignIn()
	c.openAuthentication()
	c.openConnections()
	c.bindTools()
	c.bindPromptsAndResources()
	c.gatherRules()
	c.probeChanges()
	c.checkRequirements()
	c.rememberAudit()
	if c.diags.HasErrors() {
		errs, _ := c.diags.Counts()
		c.held = errs == c.transient
		c.g.close()
		return nil, c.diags.Sort().Limit()
	}
	c.g.Views.Make(c.g.Served)
	return c.g, c.diags.Sort().Limit()
}

// compiler is one Compile.
type compiler struct {
	ctx         context.Context
	last        *Generation // what is served; nil without a Host
	held        bool        // every error may be gone when the same configuration is loaded again
	transient   int         // errors that may be gone then
	ownsState   bool        // the state ends with the generation
	build       *Build
	g           *Generation
	connections map[*hcl.Connection]*connection
	missing     map[*hcl.Connection]string // why a connection is not open whose operations are refused
	diags       hcl.Diagnostics
}

func (c *compiler) report(summary, detail string, subject hcl.Range) {
	c.diags = append(c.diags, &hcl.Diagnostic{Summary: summary, Detail: detail, Subject: subject})
}

// reportTransient is report of an error that may be gone when the same configuration is loaded again. It holds a
// reload, and ends a start.
func (c *compiler) reportTransient(summary, detail string, subject hcl.Range) {
	if c.last != nil && c.last.Config.ID != "" {
		c.transient++
	}
	c.report(summary, detail, subject)
}

// makeEnvironment makes what all calls of the generation need of the server.
func (c *compiler) makeEnvironment() {
	g, b, cfg := c.g, c.build, c.g.Config
	env := &call.Environment{
		Dir: b.Dir, Now: b.Now, Log: b.Log, Server: cfg.Server.Name, Revision: cfg.ID,
		Scrubber:   b.caches.secrets.NewScrubber(cfg.Secrets, b.Now()),
		Generation: g, State: b.State, Limiter: b.caches.limiter,
		Results: b.caches.results, Waiters: b.caches.waiters, Tasks: b.State.Tasks, Keys: b.State.Keys,
		Process: b.State.Process, Files: b.State.Files, OpenCalls: b.State.OpenCalls,
		Observer: b.Observer, Lenience: cfg.Server.Lenience,
	}
	if cfg.AcceptsUploads() {
		rules := served.UploadRules(&cfg.Files)
		env.Uploads = &rules
	}
	background := context.WithoutCancel(c.ctx)
	env.Running, g.cancel = context.WithCancelCause(background)
	env.Pinned, g.cancelPinned = context.WithCancelCause(background)
	g.Env = env
	g.Probes = probe.New(probe.Options{
		Running: env.Running, Scrubber: env.Scrubber, Log: b.Log, Logged: &b.caches.logged,
		Shaper:  func(tool string) *result.Shaper { return g.Programs[tool].Shaper },
		Learned: g.Views.MarkStale, Changed: b.publishConnection,
	})
}

// removeStagedFiles removes the staged files of dead processes. Where that fails staging fails,
// too, and says so.
func (c *compiler) removeStagedFiles() {
	if c.g.Env.Uploads == nil {
		return
	}
	if err := files.RemoveStale(); err != nil {
		c.g.Env.LogFailure(c.ctx, slog.LevelWarn, "stale staged files not removed", err)
	}
}

// openSignIn makes the provider of a sign_in block, and the authorization server in front of it where it is served.
func (c *compiler) openSignIn() {
	cfg, b := c.g.Config, c.build
	if cfg.Auth == nil || cfg.Auth.SignIn == nil {
		return
	}
	decl := cfg.Auth.SignIn
	own := c.openClient(&decl.Client, decl.Range)
	if own == nil {
		return
	}
	c.g.Provider = provider.New(c.ctx, decl, provider.Options{
		Issuers: b.Issuers, Client: own, Log: b.Log, Now: b.Now, Defer: c.g.cleanups.add,
	})
	if !b.SignIn {
		return
	}
	c.g.SignIn = &served.SignIn{
		Decl: decl, Provider: c.g.Provider,
		Clients: client.New(c.ctx, decl, client.Options{
			Documents: b.Documents, Issuers: b.Issuers, Sealer: registrationSealer{b.State}, Log: b.Log,
			Now: b.Now, Defer: c.g.cleanups.add,
		}),
	}
}

// registrationSealer seals registrations of clients with the secret of the state store, which is open when a
// configuration with a sign_in block is served.
type registrationSealer struct{ state *store.State }

func (s registrationSealer) sealer() grant.Sealer {
	return s.state.CurrentGrants().LastingSealer("registration")
}

func (s registrationSealer) Seal(plain []byte) string { return s.sealer().Seal(plain) }

func (s registrationSealer) Open(text string) (plain []byte, ok bool) { return s.sealer().Open(text) }

// openAuthentication makes what authenticates callers, and opens the certificates of TLS.
func (c *compiler) openAuthentication() {
	cfg := c.g.Config
	if cfg.TLS != nil && !c.build.Inspect {
		opened, err := auth.OpenCertificates(cfg.TLS, c.build.Dir, c.build.Log)
		if err != nil {
			c.report("Invalid certificates", "The certificates cannot be used: "+err.Error()+".", cfg.TLS.Range)
			return
		}
		c.g.Certificates = opened
	}
	c.g.Authenticator = auth.New(c.ctx, cfg.Auth, auth.Options{
		Issuers: c.build.Issuers, Certificates: c.g.Certificates, Log: c.build.Log, Now: c.build.Now,
		Names: c.g.ServerNames(), Defer: c.g.cleanups.add,
		SignIn: auth.SignIn{
			Grants: c.build.State.CurrentGrants, Allows: c.g.AllowsIdentity, Renew: c.g.RenewSignIn,
		},
		Client: func(client *hcl.ClientAuth, block hcl.Range) auth.Client { return c.openClient(client, block) },
	})
}

// openClient opens a client of an authorization server, which a block declares.
func (c *compiler) openClient(client *hcl.ClientAuth, block hcl.Range) *credential.OAuthClient {
	opened, err := credential.OpenClient(client, c.build.adapterEnv(&c.g.cleanups))
	c.diags = append(c.diags, client.Diagnose(err, block)...)
	return opened
}

func (c *compiler) openConnections() {
	for _, conn := range c.g.Config.Connections {
		if conn.Incomplete() {
			continue
		}
		open := func() (*connection, error) { return openConnection(c.ctx, conn, c.build) }
		key := conn.Kind + " " + conn.Name + " " + conn.Digest + " " + c.build.Dir // in which its paths begin
		opened, release, err := c.build.Connections.acquire(c.ctx, key, open, (*connection).close)
		if missing := c.refusal(err); missing != nil {
			c.missing[conn] = missing.Name
			c.diags.Warnf(conn.Range, "Invalid connection", "%s What needs it is refused.", missing)
			continue
		}
		if err != nil {
			c.diags = append(c.diags, conn.Diagnose(err)...)
			continue
		}
		c.g.cleanups.add(release)
		c.connections[conn] = opened
		c.observeConnection(conn, opened)
	}
}

// observeConnection reports the health of a connection, of each instance on its own.
func (c *compiler) observeConnection(conn *hcl.Connection, opened *connection) {
	for _, key := range conn.Instances() {
		handle, guard := opened.instance(key), opened.guards[key]
		h, ok := handle.(adapters.Health)
		if !ok && guard.State() == "" {
			continue
		}
		pool, _ := handle.(adapters.Pooled)
		upstream, isUpstream := handle.(adapters.Upstream)
		if isUpstream {
			c.g.upstreams = append(c.g.upstreams, opened.observer)
		}
		login, _ := handle.(adapters.SignedIn)
		c.g.Probes.Connections = append(c.g.Probes.Connections, probe.Connection{
			Decl: conn, Name: hcl.InstanceName(conn.Name, key), Conn: h, Pool: pool, Login: login, Guard: guard,
			Seen: opened.health[key], Upstream: upstream,
		})
	}
}

// refusal returns the error about something that is missing on the machine if what needs it is refused, and the
// load goes on.
func (c *compiler) refusal(err error) *adapters.MissingError {
	missing, ok := errors.AsType[*adapters.MissingError](err)
	if ok && c.build.Start && c.g.Config.Server.RefuseTools {
		return missing
	}
	return nil
}

// gatherRules gives every operation the rules about it, and every tool the approvals that it needs.
func (c *compiler) gatherRules() {
	policies := policy.New(c.g.Config)
	for _, p := range c.g.Sorted {
		applies := func(policy *hcl.Policy) bool { return policy.AppliesToTool(p.Decl.Name) }
		root := policy.ToolRoot(p.Tool())
		p.Rules = policies.Rules(p.Kind, p.Decl, root, applies)
		p.SetMasks(root)
		c.setMasksOfCompletions(p.Decl, root)
		p.AddApprovals(c.g.Config.Policies)
	}
	for _, p := range c.g.Prompts {
		applies := func(policy *hcl.Policy) bool { return policy.AppliesToPrompt(p.Decl.Name) }
		root := policy.OperationRoot(p.Kind, p.Decl, p.Prompt.Title)
		p.Rules = policies.Rules(p.Kind, p.Decl, root, applies)
		p.SetMasks(root)
		c.setMasksOfCompletions(p.Decl, root)
	}
	for _, r := range c.g.Resources {
		applies := func(policy *hcl.Policy) bool { return policy.AppliesToResource(r.Decl.Name) }
		root := policy.OperationRoot(r.Kind, r.Decl, r.Resource.Title)
		r.Rules = policies.Rules(r.Kind, r.Decl, root, applies)
		r.SetMasks(root)
		c.setMasksOfCompletions(r.Decl, root)
	}
	for _, s := range c.g.Skills {
		applies := func(policy *hcl.Policy) bool { return policy.AppliesToSkill(s.Decl.Name) }
		s.Rules = policies.Rules(s.Kind, s.Decl, policy.OperationRoot(s.Kind, s.Decl, ""), applies)
	}
}

// setMasksOfCompletions completes the completions of an operation, for which rules read the same as for it.
func (c *compiler) setMasksOfCompletions(o *hcl.Operation, root map[string]any) {
	for _, decl := range o.Completions {
		if completion := c.g.Completions[decl]; completion != nil {
			completion.SetMasks(root)
		}
	}
}

const (
	// maxStartWait is how long the first load waits for probes, so that the list of tools need not
	// change right after it.
	maxStartWait = 250 * time.Millisecond
	// maxReloadWait is how long a reload waits for probes of what it adds and changes.
	maxReloadWait = 5 * time.Second
)

// probeChanges has the backends probed that are not served yet. A reload is held by statements that
// are refused.
func (c *compiler) probeChanges() {
	if c.last == nil || c.diags.HasErrors() {
		return
	}
	if c.last.Config.ID == "" {
		c.g.Probes.Start(c.last.Probes, maxStartWait)
		return
	}
	c.g.Probes.Start(c.last.Probes, maxReloadWait)
	refused := c.g.Probes.NewRefusals(c.last.Probes)
	errs, _ := refused.Counts()
	c.transient += errs
	c.diags = append(c.diags, refused...)
}

// processLabel names the process for people who look at several: in Kubernetes the host is the pod.
func processLabel() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s, process %d", cmp.Or(host, "unknown host"), os.Getpid())
}
