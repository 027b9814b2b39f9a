package mcp

import (
	"slices"
	"strings"

	"hatchel/adapters"
	"hatchel/adapters/mcp/client"
	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/internal/hostname"
)

// listAsks returns what a server may ask, as a sentence has it.
func listAsks() string {
	quoted := make([]string, len(allAsks))
	for i, ask := range allAsks {
		quoted[i] = `"` + ask + `"`
	}
	return diag.JoinOr(quoted)
}

// Check implements hcl.Checker.
func (c *connection) Check() error {
	var checks adapters.Checks
	c.checkURL(&checks)
	c.checkCommand(&checks)
	c.checkAsks(&checks)
	c.checkShared(&checks)
	adapters.CheckHeaderNames(&checks, &c.Headers, c.Headers.Names())
	c.Auth.CheckSigned(&checks, &c.Headers, c.Headers.Names())
	if c.Auth != nil {
		c.Auth.Check(&checks)
		checks.Refuse(!c.Auth.SetsHeaders(), &c.Auth, "Requests of an mcp connection are authenticated by headers: "+
			"bearer, basic, header, oauth2, google or entra.")
	}
	return checks.Err()
}

// checkURL refuses a URL that is none, and one that has more than an address.
func (c *connection) checkURL(checks *adapters.Checks) {
	if c.URL == "" {
		return
	}
	u, problem := hostname.ParseURL(c.URL, hostname.User|hostname.Query|hostname.Fragment)
	checks.Refuse(u == nil, &c.URL, `url must be a URL such as "https://mcp.example/mcp": %s.`, problem)
	if u == nil {
		return
	}
	checks.Refuse(u.User != nil, &c.URL, "url must not contain a user name or password. "+
		"Write auth { basic = { username = …, password = secret.… } } instead.")
	checks.Refuse(u.Fragment != "", &c.URL, "url must not contain a fragment, because it is not sent.")
	c.Auth.CheckAddress(checks, &c.URL, u)
}

// checkShared refuses a session of several callers that depends on one of them.
func (c *connection) checkShared(checks *adapters.Checks) {
	if c.Sessions != sessionsShared || c.Protocol == client.Revision20260728 {
		return
	}
	const text = `%s, and a session that all callers share cannot tell them apart. Write sessions = "caller"%s.`
	modern := `, or protocol = "2026-07-28", which has no sessions`
	if c.Command != nil {
		modern = ""
	}
	checks.Refuse(len(c.Asks) > 0 && !slices.Equal(c.Asks, []string{asksRoots}), &c.Sessions, text,
		"The server may ask the user of a call", modern)
	checks.Refuse(c.OnBehalf() != nil, &c.Sessions, text, "Each caller has a token of their own", modern)
	checks.Refuse(c.OnBehalf() == nil && c.callerSpecific(), &c.Sessions, text, "A header reads caller", modern)
}

// checkAsks refuses hosts without questions that name pages, and the other way round.
func (c *connection) checkAsks(checks *adapters.Checks) {
	pages := slices.Contains(c.Asks, asksElicitationURL)
	checks.Refuse(pages && len(c.AskHosts) == 0, &c.Asks, `elicitation.url has the user open a page. Name the hosts `+
		`that it may be on: ask_hosts = ["github.example"].`)
	checks.Refuse(!pages && c.AskHosts != nil, &c.AskHosts, `ask_hosts belongs to asks = ["elicitation.url"].`)
	for _, host := range c.AskHosts {
		_, isHost := hostname.Parse(strings.TrimPrefix(host, "*."))
		checks.Refuse(!isHost, &c.AskHosts, `%q is not a host. Write one in ASCII and without a port, such as `+
			`"github.example" or "*.github.example".`, host)
	}
	roots := slices.Contains(c.Asks, asksRoots)
	checks.Refuse(roots && len(c.Roots) == 0, &c.Asks, `The server is told constant roots. Name them: `+
		`roots = ["file:///srv/docs"].`)
	checks.Refuse(!roots && c.Roots != nil, &c.Roots, `roots belongs to asks = ["roots"].`)
	for _, root := range c.Roots {
		checks.Refuse(!strings.HasPrefix(root, "file://"), &c.Roots,
			`%q is not a root. Write a URI such as "file:///srv/docs".`, root)
	}
}

// Effects implements hcl.EffectLister.
func (c *connection) Effects(*hcl.Connection) []hcl.Effect {
	if c.Command != nil {
		return append([]hcl.Effect{{Verb: "RUN", Source: []any{&c.Command}}}, c.Sandbox.Effects()...)
	}
	effects := []hcl.Effect{{Verb: "HOST", Source: []any{&c.URL}}}
	if c.Auth != nil {
		effects = append(effects, c.Auth.Effects()...)
	}
	return effects
}

// OnBehalf implements hcl.OnBehalf.
func (c *connection) OnBehalf() *hcl.Delegation {
	if c.Auth == nil {
		return nil
	}
	return c.Auth.OnBehalf()
}
