package mcp

import (
	"errors"
	"time"

	"hatchel/adapters/credential/auth"
	"hatchel/adapters/mcp/client"
	"hatchel/adapters/mcp/definition"
	"hatchel/adapters/sandbox"
	"hatchel/hcl"
	"hatchel/hcl/decode"
)

// connection is a connection "mcp" block.
type connection struct {
	URL          string
	Command      []string
	Definitions  string
	Headers      *hcl.KeyValues
	Auth         *auth.Block
	Protocol     string
	Sessions     string
	MaxSessions  int // 0 for the default of url or command
	Idle         time.Duration
	Start        string
	StartTimeout time.Duration
	Refresh      time.Duration
	OnDrift      string
	Asks         []string
	AskHosts     []string
	Roots        []string
	MaxMessage   hcl.Size
	Env          *hcl.KeyValues
	Sandbox      *sandbox.Block

	pinned []byte           // the content of the file of definitions
	file   *definition.File // nil if it was not read
}

// Values of the argument sessions.
const (
	sessionsCaller = "caller"
	sessionsShared = "shared"
	sessionsCall   = "call"
)

// Values of the argument start.
const (
	startLoad = "load"
	startCall = "call"
)

// Values of the argument on_drift.
const (
	driftRefuse     = "refuse"
	driftCompatible = "compatible"
)

// What a server may ask, as in the argument asks.
const (
	asksElicitation    = client.AskForm
	asksElicitationURL = client.AskPage
	asksSampling       = client.AskSampling
	asksRoots          = "roots"
)

var allAsks = []string{asksElicitation, asksElicitationURL, asksSampling, asksRoots}

const (
	defaultIdle         = 10 * time.Minute
	defaultStartTimeout = 20 * time.Second
	defaultRefresh      = 5 * time.Minute
)

func (c *connection) spec() hcl.Spec {
	c.Sessions, c.Idle, c.MaxMessage = sessionsCaller, defaultIdle, client.DefaultMaxMessage
	c.Refresh, c.OnDrift = defaultRefresh, driftRefuse
	return hcl.Join(
		hcl.ExactlyOneOf("the server",
			hcl.Attr(&c.URL, "url", `The endpoint of the server, such as "https://mcp.github.example/mcp".`),
			hcl.Attr(&c.Command, "command", "The program that is the server, and its arguments. It speaks MCP over "+
				"its standard input and output."),
		),
		hcl.Spec{
			hcl.Attr(&c.Definitions, "definitions", "The file of the definitions of the server's tools, relative to "+
				"the configuration directory. `hatchel import mcp` writes it. A tool whose definition differs at "+
				"the server is refused.").Require().ReadPins(&c.pinned).Check(c.readDefinitions),
			hcl.Headers(&c.Headers, "headers", "Headers of every request. They may read `caller`; a call whose header "+
				"is null is refused.").FixedKeys(),
			hcl.Block(&c.Auth, "auth", "How requests are authenticated.", (*auth.Block).Spec),
			hcl.Choice(&c.Protocol, "protocol", "The revision of the protocol that is used with the server.",
				client.Revision20250326, client.Revision20250618, client.Revision20251125, client.Revision20260728).
				DefaultDoc("what the server supports"),
			hcl.Choice(&c.Sessions, "sessions", "Who shares a session or a process: each caller has their own, all "+
				"share one, or each call has its own.", sessionsCaller, sessionsShared, sessionsCall).
				DefaultDoc(`"caller"`),
			hcl.PositiveInt(&c.MaxSessions, "max_sessions", "The maximum number of sessions or processes. When all "+
				"are busy, calls wait until their timeout.").DefaultDoc("256 with url, 16 with command"),
			hcl.PositiveDuration(&c.Idle, "idle", "When a session or a process that no call uses is ended.").
				DefaultDoc(`"10m"`),
			hcl.Choice(&c.Start, "start", "When a program is started: when the configuration is loaded, or by the "+
				"first call.", startLoad, startCall).DefaultDoc(`"load"`),
			hcl.PositiveDuration(&c.StartTimeout, "start_timeout", "How long a program may take until it speaks MCP.").
				DefaultDoc(`"20s"`),
			hcl.Attr(&c.Refresh, "refresh", `How often the definitions of the server are compared with the file; "0s" `+
				"compares them before each call.").DefaultDoc(`"5m"`),
			hcl.Choice(&c.OnDrift, "on_drift", "Which differences refuse the calls of a tool: all of them, or those "+
				"that are not compatible. A change of texts and a new optional argument are compatible.",
				driftRefuse, driftCompatible).DefaultDoc(`"refuse"`),
			asksField(&c.Asks),
			hcl.Attr(&c.AskHosts, "ask_hosts", `The hosts of pages that the server may have the user open, such as `+
				`"github.example" or "*.github.example".`),
			hcl.Attr(&c.Roots, "roots", `The URIs that the server is told as roots, such as "file:///srv/docs".`),
			hcl.Attr(&c.MaxMessage, "max_message", "The maximum size of a message of the server.").
				DefaultDoc(`"4MiB"`),
			hcl.Attr(&c.Env, "env", "Environment variables of the program, beside PATH, HOME and TMPDIR.").
				AllowSecret().FixedKeys(),
			hcl.Block(&c.Sandbox, "sandbox", "The permissions of the program. Without a sandbox block, it reads the "+
				"system's programs and the files of the configuration directory that the command names, writes to a "+
				"temporary directory of its own, and has no network.", (*sandbox.Block).ServerSpec),
		},
	)
}

// readDefinitions reads the file of definitions.
func (c *connection) readDefinitions(d *decode.Decoder, r hcl.Range) {
	if c.pinned == nil {
		return
	}
	file, err := definition.Read(c.pinned)
	if failed, ok := errors.AsType[*definition.FileError](err); ok && failed.Line > 0 {
		d.Diags.Errorf(r, "Invalid definitions", "%s:%d: %s", c.Definitions, failed.Line, failed.Text)
		return
	}
	if err != nil {
		d.Diags.Errorf(r, "Invalid definitions", "%s: %s", c.Definitions, err)
		return
	}
	c.pinned, c.file = nil, &file
}

// asksField declares what a server may ask.
func asksField(dst *[]string) hcl.Field {
	keep := func(d *decode.Decoder, r hcl.Range, ask string) string {
		for _, known := range allAsks {
			if ask == known {
				return ask
			}
		}
		d.Diags.Errorf(r, "Unknown choice", `A server may ask for %s, not %q.`, listAsks(), ask)
		return ""
	}
	return decode.StringSet(dst, "asks", "list of strings", "What the server may ask the user of a call: "+listAsks()+
		".", keep).DefaultDoc("nothing")
}
