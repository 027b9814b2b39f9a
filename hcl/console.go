package hcl

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"hatchel/hcl/decode"
	"hatchel/internal/hostname"
)

// Console is the console block: pages for people who operate the server.
type Console struct {
	Allow    *Condition    // over caller; nil for operators
	Try      string        // what forms of tools can do: TryNone, TryPlan or TryCall
	Listen   string        // HOST:PORT; empty for the address of the server
	Title    string        // of every page; empty for that of the server
	Colour   string        // of the header of every page, one of consoleColours; empty for none
	TraceURL string        // address of a trace, with {trace_id}; empty for none
	Session  time.Duration // after which a person signs in again
	Keep     time.Duration // how long calls are kept in the state; 0 keeps them in memory only
	KeepNone bool          // calls are not kept at all
	Range    Range         // of Listen, or of the block
}

// The values of try.
const (
	TryNone = "none"
	TryPlan = "plan"
	TryCall = "call"
)

const (
	defaultConsoleSession = 8 * time.Hour
	minConsoleSession     = time.Minute
	maxConsoleSession     = 7 * 24 * time.Hour
	minConsoleKeep        = time.Minute
	maxConsoleKeep        = 7 * 24 * time.Hour
	traceIDPlaceholder    = "{trace_id}"
)

var consoleColours = []string{"red", "orange", "yellow", "green", "blue", "purple", "grey"}

// NewConsole returns the console block without arguments.
func NewConsole() *Console { return &Console{Try: TryPlan, Session: defaultConsoleSession} }

func (c *Console) spec() decode.Spec {
	c.Try, c.Session = TryPlan, defaultConsoleSession
	return decode.Spec{
		decode.Attr(&c.Allow, "allow", "Who may see the console: an expression over caller, as in \"'ops' in "+
			"caller.groups\". By default the group admin may, and without auth a person who signs in with the command "+
			"hatchel console on this machine. Policies, limits and approvals apply to them as to every caller."),
		decode.Choice(&c.Try, "try", "What the form of a tool can do. \"none\": there is no form. \"plan\": it shows "+
			"what a call would send. \"call\": it also calls the tool as the person who is signed in.", TryNone,
			TryPlan, TryCall).DefaultDoc("\"plan\""),
		decode.Attr(&c.Listen, "listen", "An address HOST:PORT of its own, as in \"127.0.0.1:8081\", which serves the "+
			"console and nothing else, also beside --stdio. It uses the certificates of the tls block. By default the "+
			"console is at the address of the server, at /console/.").Check(c.checkListen),
		decode.Attr(&c.Title, "title", "The title of every page, as in \"Payments, production\". It tells people "+
			"which server they see. By default the title of the server, or its name."),
		decode.Choice(&c.Colour, "colour", "The colour of the line above every page: red, orange, yellow, green, "+
			"blue, purple or grey. It helps people to tell servers apart. By default there is no line.",
			consoleColours...),
		decode.Attr(&c.TraceURL, "trace_url", "The address of a trace in your tracing system, as in "+
			"\"https://tempo.example/trace/{trace_id}\". The page of a call links to it.").Check(c.checkTraceURL),
		decode.PositiveDuration(&c.Session, "session", "The time after which a person must sign in again, from 1m to "+
			"168h. A session without a request for 30 minutes ends, too.").DefaultDoc("8h").Check(c.checkSession),
		decode.Attr(&c.Keep, "keep", "How long the latest 1,000 calls of tools of each process are kept in the state, "+
			"from 1m to 168h, as in \"24h\": the console of each process shows the calls of all, also after a "+
			"restart. \"0s\" keeps no calls. By default each process keeps its own in memory.").Check(c.checkKeep),
	}
}

// decodeConsole decodes the console block.
func (l *loader) decodeConsole() {
	l.onlyBlock("console", func(d *decode.Decoder, b sourceBlock) {
		c := &Console{Range: headerRange(b.Block)}
		d.Scope = l.call
		d.Body(b.Block, c.spec())
		l.config.Console = c
		host, ok := splitAddress(c.Listen)
		if identified := l.identifiesCallers(); identified || l.partial {
			return
		}
		if allow := b.Body.Attributes["allow"]; allow != nil {
			d.Errorf(allow.NameRange, "Does not apply here", "Without authentication nobody can be told apart, so the "+
				"console is for this machine only. Declare auth { api_key \"name\" { … } }, or remove allow.")
		}
		if ok && c.Listen != "" && !hostname.IsLocal(host) {
			d.Diags.Errorf(c.Range, "Console without protection", "Other machines can connect to %s, and without "+
				"authentication the console is for this machine only. Declare auth { api_key \"name\" { … } }, or "+
				"listen on 127.0.0.1.", c.Listen)
		}
	})
}

// identifiesCallers reports whether the configuration declares a credential of callers.
func (l *loader) identifiesCallers() bool {
	return len(l.blocks["auth"]) > 0 || slices.ContainsFunc(l.blocks["tls"], func(b sourceBlock) bool {
		return b.Body.Attributes["client_ca"] != nil
	})
}

func (c *Console) checkListen(d *decode.Decoder, r Range) {
	c.Range = r
	if _, ok := splitAddress(c.Listen); !ok {
		d.Diags.Errorf(r, "Invalid address", "listen is HOST:PORT, as in \"127.0.0.1:8081\", not %q.", c.Listen)
	}
}

func (c *Console) checkTraceURL(d *decode.Decoder, r Range) {
	address := strings.ReplaceAll(c.TraceURL, traceIDPlaceholder, "0")
	_, problem := hostname.ParseURL(address, hostname.Query|hostname.Fragment)
	if problem == "" && address == c.TraceURL {
		problem = "it has no {trace_id}"
	}
	if problem != "" {
		d.Diags.Errorf(r, "Invalid trace_url", "trace_url is the address of a trace with the placeholder {trace_id}, "+
			"as in \"https://tempo.example/trace/{trace_id}\", not %q: %s.", c.TraceURL, problem)
	}
}

func (c *Console) checkSession(d *decode.Decoder, r Range) {
	switch {
	case c.Session > maxConsoleSession:
		d.Diags.Errorf(r, "Session too long", "A session in the console has at most 7 days: write session = "+
			"\"168h\" or less.")
	case c.Session < minConsoleSession:
		d.Diags.Errorf(r, "Session too short", "A session in the console has at least a minute: write session = "+
			"\"1m\" or more.")
	}
}

func (c *Console) checkKeep(d *decode.Decoder, r Range) {
	switch {
	case c.Keep == 0:
		c.KeepNone = true
	case c.Keep > maxConsoleKeep:
		d.Diags.Errorf(r, "Calls kept too long", "The console keeps calls for at most 7 days: write keep = \"168h\" "+
			"or less. The audit log has them for longer.")
	case c.Keep < minConsoleKeep:
		d.Diags.Errorf(r, "Calls kept too shortly", "The console keeps calls for at least a minute: write keep = "+
			"\"1m\" or more, or \"0s\" to keep none.")
	}
}

// TraceAddress returns the address of a trace; empty without trace_url.
func (c *Console) TraceAddress(id string) string {
	return strings.ReplaceAll(c.TraceURL, traceIDPlaceholder, url.QueryEscape(id))
}
