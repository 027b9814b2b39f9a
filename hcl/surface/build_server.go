package surface

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl"
	"hatchel/hcl/diag"
)

func (b *builder) server() {
	s := &b.config.Server
	b.out.Server = Server{Name: s.Name, Title: s.Title, Version: s.Version, Instructions: s.Instructions,
		DenyDefault: s.DenyByDefault, Limit: limitOf(s.Limit), Hold: s.Hold}
	if block := b.blocks["server"]; block != nil {
		b.placeBlock("server", diag.RangeOf(block.DefRange()))
	}
	if a := b.config.Auth; a != nil {
		b.auth(a)
	}
	if a := b.config.Approvals; a != nil {
		b.out.Server.Approvers = conditionText(a.Allow)
		b.place("approvals", a.Range)
	}
}

// auth adds who may come in. Of keys it knows names, groups and scopes; of issuers, what is written.
func (b *builder) auth(a *hcl.Auth) {
	out := &b.out.Server
	out.Auth = true
	b.place("auth", a.Range)
	for _, k := range a.Keys {
		line := "key " + k.Name
		if len(k.Groups) > 0 {
			line += " groups " + strings.Join(slices.Sorted(slices.Values(k.Groups)), ",")
		}
		if len(k.Scopes) > 0 {
			line += " scopes " + strings.Join(slices.Sorted(slices.Values(k.Scopes)), ",")
		}
		out.Keys = append(out.Keys, line)
		b.place("auth.key "+k.Name, k.Range)
	}
	slices.Sort(out.Keys)
	out.Keys = slices.Compact(out.Keys)
	if block := b.blocks["auth"]; block != nil {
		for _, nested := range block.Body.Blocks {
			if nested.Type == "jwt" {
				line := "issuer " + b.shape(attribute(nested, "issuer")) + b.issuerRules(nested)
				out.Issuers = append(out.Issuers, line)
				b.place("auth."+line, diag.RangeOf(nested.DefRange()))
			}
		}
	}
	if t := b.config.TLS; t != nil && t.ClientCA != "" {
		out.Issuers = append(out.Issuers, "client certificates of "+b.shape(attribute(b.blocks["tls"], "client_ca")))
	}
	slices.Sort(out.Issuers)
}

// issuerRules returns the arguments of a jwt block that decide which tokens are accepted.
func (b *builder) issuerRules(block *hclsyntax.Block) (rules string) {
	for _, name := range []string{"audience", "jwks", "jwks_url", "groups_claim", "required_scopes", "algorithms"} {
		if e := attribute(block, name); e != nil {
			rules += " " + name + " " + b.shape(e)
		}
	}
	return rules
}

func (b *builder) policy(p *hcl.Policy) {
	out := &Policy{Allow: conditionText(p.Allow), Deny: conditionText(p.Deny), Approve: conditionText(p.Approve)}
	if p.Approval != nil {
		out.Approval = describeApproval(&hcl.Approval{ByCaller: p.Approval.ByCaller})
	}
	out.Message = b.template(attribute(b.blocks["policy "+p.Name], "message"))
	b.placeBlock("policy "+p.Name, p.Range)
	b.out.Policies[p.Name] = out
}

// credentialArguments may hold credentials that an author wrote; their literal texts are not part of a
// digest, which would let them be guessed.
var credentialArguments = []string{"url", "auth", "headers", "env"}

func (b *builder) connection(c *hcl.Connection) {
	name := "connection " + c.Kind + " " + c.Name
	out := &Connection{}
	if actor, ok := c.Config.(hcl.Actor); ok {
		out.Does = b.does(actor.Acts(nil), "", "", c.SourceOf)
	}
	b.placeBlock(name, c.Range)
	if block := b.blocks[name]; block != nil {
		for _, secret := range b.secretsIn(b.closure(b.normalize(block.Range()))) {
			out.Reads = append(out.Reads, secret+"→"+c.Name)
		}
		out.Settings = b.rest(block, credentialArguments)
	}
	b.out.Connections[c.Kind+" "+c.Name] = out
}

// shownBlocks are the blocks that a surface shows in parts.
var shownBlocks = []string{"tool", "prompt", "resource", "toolset", "policy", "connection", "auth", "approvals"}

// settings adds the blocks of which only a digest is shown.
func (b *builder) settings() {
	for _, s := range b.config.Settings {
		block := b.blocks[s.Name]
		if block == nil || slices.Contains(shownBlocks, block.Type) {
			continue
		}
		covered := []string{"secret", "secrets", "token", "headers", "url"}
		if block.Type == "server" {
			covered = []string{"name", "title", "version", "instructions", "default", "limit"}
		}
		rest := b.rest(block, covered)
		if block.Type == "server" && rest == "" {
			continue
		}
		out := &Setting{Digest: rest}
		if block.Type == "webhook" {
			out.Does = []string{"POST " + b.shape(attribute(block, "url"))}
		}
		b.placeBlock(s.Name, diag.RangeOf(block.DefRange()))
		b.out.Settings[s.Name] = out
	}
}
