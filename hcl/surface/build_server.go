package surface

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl"
	"hatchel/hcl/diag"
)

func (b *builder) server() {
	s := &b.config.Server
	b.out.Server = Server{Name: s.Name, Title: s.Title, Version: s.Version, Instructions: s.Instructions,
		DenyDefault: s.DenyByDefault, Limit: limitOf(s.Limit), Hold: s.Hold,
		Hosts: slices.Sorted(slices.Values(s.Hosts)), Coerce: s.Lenience.Coerce,
		Ignored: slices.Sorted(slices.Values(s.Lenience.Ignore))}
	if s.CORS != nil {
		b.out.Server.Origins = slices.Sorted(slices.Values(s.CORS.Origins))
	}
	if block := b.blocks["server"]; block != nil {
		b.placeBlock("server", diag.RangeOf(block.DefRange()))
	}
	if a := b.config.Auth; a != nil {
		b.auth(a)
	}
	if a := b.config.Approvals; a != nil {
		b.out.Server.Approvers = b.condition(a.Allow)
		b.place("approvals", a.Range)
	}
}

// auth adds who may come in: the names, groups and scopes of keys and which keys these are, and of issuers what is
// written.
func (b *builder) auth(a *hcl.Auth) {
	out := &b.out.Server
	out.Auth = true
	b.place("auth", a.Range)
	proofs := map[string]*hclsyntax.Block{}
	if block := b.blocks["auth"]; block != nil {
		for _, nested := range block.Body.Blocks {
			switch nested.Type {
			case "api_key":
				proofs[nested.Labels[0]] = nested
			case "jwt":
				line := "issuer " + b.shape(attribute(nested, "issuer")) + b.issuerRules(nested)
				out.Issuers = append(out.Issuers, line)
				b.place("auth."+line, diag.RangeOf(nested.DefRange()))
			}
		}
		if e := attribute(block, "headers"); e != nil {
			out.Issuers = append(out.Issuers, "headers "+b.shape(e))
			b.place("auth.headers "+b.shape(e), diag.RangeOf(e.Range()))
		}
	}
	for _, k := range a.Keys {
		line := "key " + k.Name
		if len(k.Groups) > 0 {
			line += " groups " + JoinNames(k.Groups, ",")
		}
		if len(k.Scopes) > 0 {
			line += " scopes " + JoinNames(k.Scopes, ",")
		}
		out.Keys = append(out.Keys, line+b.keyProof(k, proofs[k.Name]))
		b.place("auth.key "+k.Name, k.Range)
	}
	slices.Sort(out.Keys)
	out.Keys = slices.Compact(out.Keys)
	if t := b.config.TLS; t != nil && t.ClientCA != "" {
		out.Issuers = append(out.Issuers, "client certificates of "+b.contents(attribute(b.blocks["tls"], "client_ca")))
	}
	slices.Sort(out.Issuers)
}

// contents returns what an argument that names a file says: the name, and the digest of a file of the configuration.
func (b *builder) contents(e hclsyntax.Expression) string {
	text := b.shape(e)
	for _, f := range b.reads[e.Range().Filename].FilesOf(e.Range().Start.Byte, e.Range().End.Byte) {
		text += " " + f.Digest
	}
	return text
}

// keyProof returns which key a caller sends: its digest, or the secret that holds it.
func (b *builder) keyProof(k *hcl.APIKey, block *hclsyntax.Block) (proof string) {
	if !k.Expires.IsZero() {
		proof = " until " + k.Expires.UTC().Format(time.RFC3339)
	}
	if e := attribute(block, "secret"); e != nil {
		if secrets := b.secretsIn(e.Range()); len(secrets) > 0 {
			return proof + " " + b.form(e)
		}
	}
	return proof + fmt.Sprintf(" sha256 %x", k.Digest)
}

// issuerRules returns the arguments of a jwt block that decide which tokens are accepted.
func (b *builder) issuerRules(block *hclsyntax.Block) (rules string) {
	arguments := map[string]string{}
	b.arguments(arguments, "", block, "issuer")
	for _, name := range diag.SortedNames(arguments) {
		rules += " " + name + " " + arguments[name]
	}
	return rules
}

func (b *builder) policy(p *hcl.Policy) {
	out := &Policy{Allow: b.condition(p.Allow), Deny: b.condition(p.Deny), Approve: b.condition(p.Approve)}
	if p.Approval != nil {
		out.Approval = approver(p.Approval)
	}
	if block := b.blocks["policy "+p.Name]; block != nil {
		out.Message = b.message(attribute(block, "message"))
		for _, nested := range block.Body.Blocks {
			out.Message += b.message(attribute(nested, "message"))
		}
		out.Args = b.rest(block, []string{"allow", "deny", "approve", "message", "tools", "prompts", "resources",
			"skills"})
	}
	b.placeBlock("policy "+p.Name, p.Range)
	b.out.Policies[p.Name] = out
}

func (b *builder) mask(m *hcl.Mask) {
	name := "mask " + m.Name
	out := &Mask{Members: m.Members, Connections: m.Connections, Tools: m.Tools, Prompts: m.Prompts,
		Resources: m.Resources, Unless: b.condition(m.Unless), With: string(m.With), RevealTo: m.RevealTo}
	if m.Detect != 0 {
		out.Detect, out.With = m.Detect.Words(), ""
	}
	b.placeBlock(name, m.Range)
	if block := b.blocks[name]; block != nil {
		if key := attribute(block, "key"); key != nil {
			out.Key = b.shape(key)
		}
	}
	b.out.Masks[m.Name] = out
}

func (b *builder) connection(c *hcl.Connection) {
	name := "connection " + c.Kind + " " + c.Name
	out := &Connection{Args: map[string]string{}}
	if lister, ok := c.Config.(hcl.EffectLister); ok {
		out.Does = b.does(lister.Effects(nil), "", "", c.SourceOf)
	}
	b.placeBlock(name, c.Range)
	if block := b.blocks[name]; block != nil {
		for _, secret := range b.secretsIn(block.Range()) {
			out.Reads = append(out.Reads, secret+"→"+c.Name)
		}
		out.Does = append(out.Does, b.sent("HEADER", block, "headers")...)
		out.Does = append(out.Does, b.sent("ENV", block, "env")...)
		b.arguments(out.Args, "", block)
	}
	out.Identity = b.identity(c)
	b.out.Connections[c.Kind+" "+c.Name] = out
}

// shownBlocks are the blocks that a surface shows in parts.
var shownBlocks = []string{"tool", "prompt", "resource", "skill", "toolset", "policy", "mask", "connection",
	"approvals", "on"}

// settings adds the blocks that have no form of their own, and where the values of secrets and variables come from.
func (b *builder) settings() {
	for _, block := range b.config.Values {
		name := strings.Join(append([]string{block.Type}, block.Labels...), " ")
		out := &Setting{}
		for _, argument := range []string{"env", "file", "credential"} {
			if e := attribute(block, argument); e != nil {
				out.Does = append(out.Does, "READ "+argument+" "+b.shape(e))
			}
		}
		if e := attribute(block, "command"); e != nil && block.Type == "secret" {
			out.Does = append(out.Does, "RUN "+b.shape(e))
		}
		if block.Type == "secret" {
			code := b.config.SecretCode[block.Labels[0]]
			for _, file := range diag.SortedNames(code) {
				out.Does = append(out.Does, "CODE "+file+" "+code[file])
			}
			out.Args = b.rest(block, []string{"env", "file", "credential", "command"})
		}
		if block.Type == "variable" {
			out.Type = decodeSchema(b.config.VariableTypes[block.Labels[0]])
		}
		if out.Does != nil || out.Args != nil || out.Type != nil {
			b.place(name, diag.RangeOf(block.DefRange()))
			b.out.Settings[name] = out
		}
	}
	for _, h := range b.config.Hooks {
		b.hook(h)
	}
	for _, s := range b.config.Settings {
		block := b.blocks[s.Name]
		if block == nil || slices.Contains(shownBlocks, block.Type) {
			continue
		}
		var covered []string
		switch block.Type {
		case "server":
			covered = []string{"name", "title", "version", "instructions", "default", "limit", "hold", "hosts", "cors",
				"coerce", "ignore_arguments"}
		case "auth":
			covered = []string{"api_key", "jwt", "headers"}
		case "tls":
			covered = []string{"client_ca"}
		}
		out := &Setting{Args: b.rest(block, covered)}
		if block.Type == "auth" {
			out.Args = b.authArguments(block, covered)
		}
		if out.Args == nil && covered != nil {
			continue
		}
		out.Reads = b.secretsIn(block.Range())
		if block.Type == "webhook" {
			out.Does = []string{"POST " + b.shape(attribute(block, "url"))}
		}
		for _, inner := range block.Body.Blocks {
			if e := attribute(inner, "endpoint"); e != nil && block.Type == "telemetry" {
				out.Does = append(out.Does, "POST "+b.shape(e))
			}
		}
		b.placeBlock(s.Name, diag.RangeOf(block.DefRange()))
		b.out.Settings[s.Name] = out
	}
}

// hook adds where events go. Hooks of the same type of event are one setting.
func (b *builder) hook(h *hcl.Hook) {
	name := "on " + h.Event.String()
	line := "SEND " + h.Event.String() + " to " + JoinNames(h.Notify, ", ")
	if len(h.Tools) > 0 {
		line += " of " + JoinNames(h.Tools, ", ")
	}
	if when := b.condition(h.When); when != nil {
		line += " when " + when.String()
	}
	line += ", " + h.Limit.String()
	out := b.out.Settings[name]
	if out == nil {
		out = &Setting{}
		b.out.Settings[name] = out
		b.place(name, h.Range)
	}
	out.Does = append(out.Does, line)
	slices.Sort(out.Does)
	b.place(name+".does "+line, h.Range)
}
