package hcl

import (
	"cmp"
	"net/netip"
	"net/url"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/internal/hostname"
)

// Server is the server block.
type Server struct {
	Name          string
	Title         string
	Version       string
	Instructions  string
	Website       string
	Icons         []*Icon
	PageSize      int      // page size of lists
	DenyByDefault bool     // calls that no rule allows are denied
	RefuseTools   bool     // at start, tools that need a missing value are refused
	Hold          string   // class of changes from which a reload waits for its lock; empty for none
	NoSessions    bool     // clients up to revision 2025-11-25 get no session over HTTP
	Limit         *Limit   // on the calls of all tools together; nil for none
	Hosts         []string // names and addresses under which it is served, in the form of hostname.Parse
	CORS          *CORS    // nil for none
	Proxies       *TrustedProxies
	Health        *HealthAccess
	WellKnown     map[string]string // texts below /.well-known/, by name
	Card          *Card             // nil for none
	Lenience      schema.Lenience   // what calls may send beyond the types of tools
}

// HealthAccess is the health block: who may see the health of the server besides its operators.
type HealthAccess struct {
	Allow *Condition // over caller
}

func (h *HealthAccess) spec() decode.Spec {
	return decode.Spec{decode.Attr(&h.Allow, "allow", "Who may see it: an expression over caller, as in "+
		"\"'monitoring' in caller.groups\". \"true\" lets everybody see it.").Require()}
}

// healthField declares the health block. Its rule is compiled in the scope of a call.
func (s *Server) healthField(call *eval.Scope) decode.Field {
	f := decode.Block(&s.Health, "health", "Who may see the state of the server in GET /readyz, besides the callers "+
		"who may see all of it: whether it is ready and stale, the revision of the configuration, and the state of "+
		"each connection.", (*HealthAccess).spec)
	decodeBody := f.DecodeBlock
	f.DecodeBlock = func(d *decode.Decoder, b *hclsyntax.Block) {
		d.In(call, func() { decodeBody(d, b) })
	}
	return f
}

// Icon is one icon of the server, a tool, a prompt or a resource.
type Icon struct {
	Src      string
	MimeType string
	Sizes    []string
	Theme    string
}

// holdClasses are the values of hold. Each holds what those before it hold, too.
var holdClasses = []string{"breaking", "widening", "behaviour", "any"}

const (
	defaultPageSize = 1000
	maxPageSize     = 1000
)

// spec declares the block. Its rules are compiled in the scope of a call.
func (s *Server) spec(call *eval.Scope) decode.Spec {
	return decode.Spec{
		decode.Attr(&s.Name, "name", "The name of the server.").DefaultDoc("hatchel"),
		decode.Attr(&s.Title, "title", "The display name."),
		decode.Attr(&s.Version, "version", "The version of the server's tools.").DefaultDoc("0.0.0"),
		decode.Attr(&s.Instructions, "instructions", "Instructions for models that use the tools."),
		decode.Attr(&s.Website, "website", "A page about the server."),
		decode.Attr(&s.PageSize, "page_size", "The page size of lists.").DefaultDoc("1000").Check(s.checkPageSize),
		decode.BoolChoice(&s.DenyByDefault, "default",
			"Whether to allow or deny calls that no policy and no allow decides.", "allow", "deny").DefaultDoc("allow"),
		limitField(&s.Limit, "A limit on the rate and concurrency of all tools together, in addition to the "+
			"limits of the tools. By default, with auth, each caller may run 10 calls at once, and 100 more wait."),
		decode.BoolChoice(&s.RefuseTools, "on_missing", "What a missing secret, variable or sandbox path does when "+
			"the server starts: `fail` stops the start, `refuse_tool` refuses the tools, prompts and resources whose "+
			"backend, connection or sandbox needs it. They are not listed, and calls of them fail with the "+
			"reason. What anything else needs, such as auth, a policy, an approval or a limit, still stops the start, "+
			"and a reload always fails.", "fail", "refuse_tool").DefaultDoc("fail"),
		decode.Choice(&s.Hold, "hold", "Which reloads wait until hatchel.lock.json is that of their files: those with "+
			"a difference to it that is breaking, or also widening, a change of behaviour, or any. The configuration "+
			"that is served decides. Stricter rules and removed credentials never wait.",
			holdClasses...),
		decode.BoolChoice(&s.NoSessions, "sessions", "What clients up to revision 2025-11-25 get over HTTP: `sealed` "+
			"gives each a session that every process with the same state knows, also after a restart. `none` gives "+
			"them none, so that they cannot be asked, subscribe, or be told of changes.", "sealed", "none").
			DefaultDoc("sealed"),
		decode.StringSet(&s.Hosts, "hosts", "list of host names and addresses", "The names under which the server is "+
			"served, as in [\"tools.example\"], with any port. A request with another name in its Host header is "+
			"refused, and so is one of a page of another origin. The names of this machine, localhost and loopback "+
			"addresses, are always accepted. At an address that other machines can reach, its IP addresses are "+
			"accepted too, and without hosts every name. List only names whose DNS you control.", keepHost),
		decode.Block(&s.CORS, "cors", "Which pages of other origins may use the MCP endpoints, as MCP clients in "+
			"browsers do. They need the same credentials as every client.", (*CORS).spec),
		decode.Block(&s.Proxies, "trusted_proxies", "The proxies in front of the server. A request that comes from "+
			"one of them has the rightmost address in its header that is not one of them. That address is for the "+
			"log, the audit log and limits only: it neither identifies a caller nor makes a request one of this "+
			"machine.",
			(*TrustedProxies).spec),
		decode.Attr(&s.Lenience.Coerce, "coerce", "Whether JSON in a string counts as the value that it holds, "+
			"where the type of an input has no string: `\"{\\\"a\\\": 1}\"` for an object, `\"5\"` for a number, "+
			"`\"true\"` for a boolean. Some clients send values so. Checks, policies, approvals and the "+
			"audit log see the value.").
			DefaultDoc("false"),
		decode.StringSet(&s.Lenience.Ignore, "ignore_arguments", "list of names", "Arguments that clients add to "+
			"calls, as in [\"toolCallId\"]. They are dropped before anything reads them, unless the tool has an "+
			"input of that name or accepts every name.", keepArgumentName),
		s.healthField(call),
		s.wellKnownField(),
		s.cardField(),
		iconsField(&s.Icons, "Icons of the server."),
	}
}

// keepArgumentName returns an element of ignore_arguments.
func keepArgumentName(d *decode.Decoder, r Range, name string) string {
	if name == "" {
		d.Diags.Errorf(r, "Empty name", "Write the name of an argument as the client sends it, as in \"toolCallId\".")
	}
	return name
}

func (s *Server) checkPageSize(d *decode.Decoder, r Range) {
	if s.PageSize < 0 || s.PageSize > maxPageSize {
		d.Diags.Errorf(r, "Invalid page size", "The page size is 1 to %d.", maxPageSize)
	}
}

var iconType = schema.ListOf(schema.ObjectOf(
	&schema.Member{Name: "src", Type: eval.StringType},
	&schema.Member{Name: "mime_type", Type: eval.StringType, Optional: true},
	&schema.Member{Name: "sizes", Type: schema.ListOf(eval.StringType), Optional: true},
	&schema.Member{Name: "theme", Type: enumOf("light", "dark"), Optional: true},
)).Compile()

// iconsField declares the argument icons: a list of { src, mime_type, sizes, theme }.
func iconsField(dst *[]*Icon, doc string) decode.Field {
	return decode.Custom("icons", "list of { src, mime_type, sizes, theme }", doc,
		func(d *decode.Decoder, e hclsyntax.Expression) {
			n := d.CompileKnown(e, decode.Field{Name: "icons"})
			if !n.Known {
				return
			}
			v, violations, _ := iconType.Check(n.Value, schema.Unlimited)
			for _, x := range violations {
				d.Errorf(e.Range(), "Invalid icon",
					"%s. An icon is { src = \"https://…\", mime_type = \"image/png\", sizes = [\"48x48\"], "+
						"theme = \"dark\" }; only src is required.", diag.ToSentence(x.String()))
			}
			items, _ := v.([]any)
			text := func(v any) string {
				s, _ := v.(string)
				return s
			}
			for _, item := range items {
				m, _ := item.(map[string]any)
				icon := &Icon{Src: text(m["src"]), MimeType: text(m["mime_type"]), Theme: text(m["theme"])}
				sizes, _ := m["sizes"].([]any)
				for _, s := range sizes {
					icon.Sizes = append(icon.Sizes, text(s))
				}
				*dst = append(*dst, icon)
			}
		})
}

func (l *loader) decodeServer() {
	s := &l.globals.server
	l.onlyBlock("server", func(d *decode.Decoder, b sourceBlock) {
		before := len(d.Diags)
		d.Body(b.Block, s.spec(l.base.DuringCall().With("caller", callerRoot())))
		if len(d.Diags) == before {
			s.checkCard(d, b.Block)
		}
	})
	s.Name, s.Version = cmp.Or(s.Name, "hatchel"), cmp.Or(s.Version, "0.0.0")
	if s.PageSize <= 0 {
		s.PageSize = defaultPageSize
	}
}

// TrustedProxies is the trusted_proxies block: the proxies in front of the server, and the header in
// which they name their clients.
type TrustedProxies struct {
	Addresses []netip.Prefix
	Header    string // "x-forwarded-for" or "forwarded"
}

func (p *TrustedProxies) spec() decode.Spec {
	var texts []string
	return decode.Spec{
		decode.StringSet(&texts, "addresses", "list of addresses and networks",
			"The addresses of the proxies, as in [\"10.0.0.0/8\", \"127.0.0.1\"].", p.addAddress).Require(),
		decode.Choice(&p.Header, "header", "The header to which each proxy appends the address of its client.",
			"x-forwarded-for", "forwarded").Require(),
	}
}

// addAddress adds an element of addresses.
func (p *TrustedProxies) addAddress(d *decode.Decoder, r Range, text string) string {
	network, err := netip.ParsePrefix(text)
	if ip, notIP := netip.ParseAddr(text); notIP == nil {
		network, err = ip.Prefix(ip.BitLen())
	}
	switch {
	case err != nil || network.Addr().Is4In6():
		d.Diags.Errorf(r, "Invalid address",
			"A proxy is an address or a network, as in \"10.1.2.3\" or \"10.0.0.0/8\", not %q.", text)
	case network.Bits() == 0:
		d.Diags.Errorf(r, "Every address is trusted", "%s holds every address, so clients could send any address as "+
			"theirs. Write the networks of the proxies only, as in \"10.0.0.0/8\".", text)
	default:
		p.Addresses = append(p.Addresses, network.Masked())
	}
	return text
}

// CORS is the cors block: the origins of pages that are MCP clients.
type CORS struct {
	Origins []string // as browsers send them
}

func (c *CORS) spec() decode.Spec {
	return decode.Spec{
		decode.StringSet(&c.Origins, "origins", "list of origins", "The origins of the pages, as in "+
			"[\"https://inspector.example\"], with https, or http on this machine.", keepOrigin).Require(),
	}
}

// keepHost returns an element of hosts as it is compared.
func keepHost(d *decode.Decoder, r Range, text string) string {
	host, ok := hostname.Parse(text)
	isAny := host == "0.0.0.0" || host == "::"
	if ok && !isAny {
		return host
	}
	const form = "A host is a name or an IP address, as in \"tools.example\"."
	u, err := url.Parse(text)
	if isAny {
		d.Diags.Errorf(r, "Invalid host", "%s Clients cannot connect to %q: write the name that they use.", form, text)
	} else if named, _, split := hostname.Split(text); split {
		d.Diags.Errorf(r, "Invalid host", "%s It is valid for every port: write %q.", form, named)
	} else if named, _, isURL := hostname.Split(hostOf(u)); err == nil && isURL {
		d.Diags.Errorf(r, "Invalid host", "%s It is not a URL: write %q.", form, named)
	} else if strings.Contains(text, "*") {
		d.Diags.Errorf(r, "Invalid host", "%s Write each name: a wildcard would accept names that others can create.",
			form)
	} else {
		d.Diags.Errorf(r, "Invalid host", "%s It has letters of ASCII, digits, hyphens and dots, and %q is none that "+
			"clients send.", form, text)
	}
	return ""
}

func hostOf(u *url.URL) string {
	if u == nil {
		return ""
	}
	return u.Host
}

// keepOrigin returns an element of origins as browsers send it.
func keepOrigin(d *decode.Decoder, r Range, text string) string {
	const form = "An origin is a scheme, a host and an optional port, as in \"https://inspector.example\" or " +
		"\"http://localhost:6274\"."
	u, err := url.Parse(text)
	host, port, ok := hostname.Split(hostOf(u))
	isWeb := err == nil && (u.Scheme == "https" || u.Scheme == "http") && ok && u.User == nil
	switch {
	case text == "*" || text == "null" || strings.Contains(text, "*"):
		d.Diags.Errorf(r, "Invalid origin", "%s Write each of them: %q would let every page use the tools.", form, text)
	case !isWeb:
		d.Diags.Errorf(r, "Invalid origin", "%s", form)
	case u.Scheme == "http" && !hostname.IsLocal(host):
		d.Diags.Errorf(r, "Invalid origin", "%s Pages of other machines need https, because others could change "+
			"them on the way.", form)
	case u.Path != "" || u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		d.Diags.Errorf(r, "Invalid origin", "%s It has no path: write %q.", form, u.Scheme+"://"+u.Host)
	default:
		return hostname.Origin(u.Scheme, host, port)
	}
	return ""
}
