package surface

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/internal/lazyregexp"
)

// server compares what concerns all tools.
func (c *comparison) server() {
	a, b := &c.old.Server, &c.new.Server
	c.object = "server"
	c.text("server.name", a.Name, b.Name)
	c.text("server.title", a.Title, b.Title)
	c.text("server.instructions", a.Instructions, b.Instructions)
	switch {
	case a.DenyDefault && !b.DenyDefault:
		c.add(Widening, "allow", "server.default", "default deny → allow")
	case !a.DenyDefault && b.DenyDefault:
		c.restrict("allow", "server.default", "default allow → deny")
	}
	c.limit("server.limit", a.Limit, b.Limit)
	c.hold(a.Hold, b.Hold)
	c.names("hosts", a.Hosts, b.Hosts)
	if len(a.Hosts) > 0 && len(b.Hosts) == 0 {
		c.add(Widening, "origin", "server.hosts", "hosts removed: at addresses that other machines can "+
			"reach, every name is accepted")
	}
	c.names("cors.origins", a.Origins, b.Origins)
	c.lenience(a, b)
	c.object = "auth"
	switch {
	case a.Auth && !b.Auth:
		c.add(Widening, "credential", "auth", "authentication removed: everybody may call")
	case !a.Auth && b.Auth:
		c.restrict("credential", "auth", "authentication added")
	}
	c.credentials(append(slices.Clone(a.Keys), a.Issuers...), append(slices.Clone(b.Keys), b.Issuers...))
	c.object = "approvals"
	if !a.Approvers.Equal(b.Approvers) { // without the block nobody may decide over HTTP
		stricter, weaker := compareConditions(a.Approvers, b.Approvers, true)
		if a.Approvers == nil || b.Approvers == nil {
			stricter, weaker = b.Approvers == nil, a.Approvers == nil
		}
		was, is := orNothing(a.Approvers), orNothing(b.Approvers)
		if stricter {
			c.restrict("approval", "approvals.allow", "allow %s → %s", was, is)
		}
		if weaker {
			c.add(Widening, "approval", "approvals.allow", "allow %s → %s", was, is)
		}
	}
}

// lenience compares what calls may send beyond the types of tools.
func (c *comparison) lenience(a, b *Server) {
	switch {
	case b.Coerce && !a.Coerce:
		c.add(Compatible, "settings", "server.coerce", "JSON in strings counts as its value")
	case a.Coerce && !b.Coerce:
		c.add(Breaking, "settings", "server.coerce", "JSON in strings no longer counts as its value")
	}
	for _, name := range missing(b.Ignored, a.Ignored) {
		c.add(Compatible, "settings", "server.ignore_arguments", "argument ignored: %s", name)
	}
	for _, name := range missing(a.Ignored, b.Ignored) {
		c.add(Breaking, "settings", "server.ignore_arguments", "argument no longer ignored: %s", name)
	}
}

// hold compares which reloads wait. That fewer do is breaking, so that it waits itself.
func (c *comparison) hold(old, new string) {
	switch a, b := slices.Index(Thresholds, old), slices.Index(Thresholds, new); {
	case b < a:
		c.add(Breaking, "hold", "server.hold", "hold %s → %s", cmp.Or(old, "none"), cmp.Or(new, "none"))
	case b > a:
		c.add(Compatible, "hold", "server.hold", "hold %s → %s", cmp.Or(old, "none"), cmp.Or(new, "none"))
	}
}

// names compares the names of the server, or the origins of pages that are clients.
func (c *comparison) names(argument string, old, new []string) {
	for _, name := range missing(new, old) {
		c.add(Widening, "origin", "server."+argument, "%s added: %s", argument, name)
	}
	for _, name := range missing(old, new) {
		c.restrict("origin", "server."+argument, "%s removed: %s", argument, name)
	}
}

// credentials compares API keys and issuers. A changed one is a removed one and an added one.
func (c *comparison) credentials(old, new []string) {
	place := func(line string) string {
		words := strings.Fields(line)
		if words[0] == "key" {
			return "auth.key " + words[1]
		}
		return "auth." + line
	}
	lost := missing(old, new)
	for _, line := range missing(new, old) {
		narrows := func(was string) bool { return c.isNarrowerKey(was, line) || isNarrowerIssuer(was, line) }
		if i := slices.IndexFunc(lost, narrows); i >= 0 {
			c.restrict("credential", place(line), "%s → %s", lost[i], line)
			lost = slices.Delete(lost, i, i+1)
			continue
		}
		c.add(Widening, "credential", place(line), "added: %s", line)
	}
	for _, line := range lost {
		c.restrict("credential", place(line), "removed: %s", line)
	}
}

// toolsets compares the members of toolsets.
func (c *comparison) toolsets() {
	entries(c, "toolset", c.old.Toolsets, c.new.Toolsets, nil, func(c *comparison, at string, a, b *Toolset) {
		c.text(at+".title", a.Title, b.Title)
		c.text(at+".instructions", a.Instructions, b.Instructions)
		c.search(at+".search", a.Search, b.Search)
		for _, list := range []struct {
			name     string
			old, new []string
		}{{"tools", a.Tools, b.Tools}, {"prompts", a.Prompts, b.Prompts}, {"resources", a.Resources, b.Resources},
			{"skills", a.Skills, b.Skills}} {
			noun := strings.TrimSuffix(list.name, "s")
			for _, name := range missing(list.old, list.new) {
				c.add(Breaking, "toolset-member", at+"."+list.name, "%s removed: %s", noun, name)
			}
			for _, name := range missing(list.new, list.old) {
				text := noun + " added: " + name
				if t := c.new.Tools[name]; t != nil && noun == "tool" && t.Annotations.Destructive {
					text = "destructive tool added: " + name
				}
				c.add(Widening, "toolset-member", at+"."+list.name, "%s", text)
			}
		}
	})
}

// connections compares what connections reach. A connection that was added or removed shows in the tools
// that use it.
func (c *comparison) connections() {
	for _, name := range diag.SortedNames(c.new.Connections) {
		b := c.new.Connections[name]
		c.object = "connection " + name
		a := c.old.Connections[name]
		if a == nil {
			c.add(Widening, "host", c.object, "connection added: %s", strings.Join(b.Does, "; "))
			c.secrets(c.object, nil, b.Reads)
			continue
		}
		c.effects(c.object, a.Does, b.Does)
		c.secrets(c.object, a.Reads, b.Reads)
		shown := []string{"definitions"}      // each definition is compared where it is used
		if len(missing(b.Does, a.Does)) > 0 { // they are reported with the effects
			shown = append(shown, connectionEffects...)
		}
		c.otherArguments("settings", a.Args, b.Args, append(shown, c.identity(a, b)...))
	}
	for _, name := range diag.SortedNames(c.old.Connections) {
		if c.new.Connections[name] == nil {
			c.object = "connection " + name
			c.add(Compatible, "host", c.object, "connection removed")
		}
	}
}

// connectionEffects are the arguments of connections whose values are in the lines of effects.
var connectionEffects = []string{
	"base_url", "url", "headers", "env", "command", "dir", "inherit_env", "sandbox", "file", "mode", "init",
	"ca_file", "auth.oauth2.token_url", "auth.basic.username",
}

// otherArguments compares arguments without a rule of their own, but for those that are shown elsewhere. They are
// widening unless they only pace calls, or bound them more.
func (c *comparison) otherArguments(kind string, old, new map[string]string, shown []string) {
	for _, path := range changedArguments(old, new) {
		isShown := func(name string) bool { return path == name || strings.HasPrefix(path, name+".") }
		if slices.ContainsFunc(shown, isShown) {
			continue
		}
		if strings.HasPrefix(c.object, "connection mcp ") && slices.Contains(upstreamArguments, path) {
			class := upstreamClass(path, old[path], new[path])
			c.add(class, "upstream", c.object+"."+path, "%s", changeOf(path, old, new))
			continue
		}
		name, class := lastName(path), Widening
		isNewBound := old[path] == "" && (name == "rate" || name == "concurrency") // unlimited without it
		switch {
		case isNewBound, old[path] == "" && path == "breaker", strings.HasPrefix(path, "breaker."):
			class = Behaviour
		case path == "approval.timeout":
			class = classIf(!isHarmlessNumber(path, old[path], new[path]))
		case path == "retry" || strings.HasPrefix(path, "retry.") && retriesLess(old, new, false):
			class = classIf(!retriesLess(old, new, false))
		case strings.HasPrefix(path, "auth.") && slices.Contains(proofs, name):
			class = Behaviour
		case slices.Contains(certificates, name) && withoutDigest(old[path]) == withoutDigest(new[path]):
			class = Behaviour // it is renewed
		case slices.Contains(paces, name) || name == "mode" && new[path] == `"ro"`,
			slices.Contains(bounds, name) && isLowerBound(name, old[path], new[path]),
			strings.HasPrefix(path, "sandbox.") && grantsLess(old[path], new[path]):
			class = Behaviour
		}
		c.add(class, kind, c.object+"."+path, "%s", changeOf(path, old, new))
	}
}

// certificates are arguments that name a file with a certificate of the connection itself.
var certificates = []string{"cert_file", "certificate"}

// proofs are arguments of auth blocks that say where credentials come from, and how they are proved. Who the server is
// does not depend on them.
var proofs = []string{"source", "key_id", "key_algorithm"}

// fileDigest matches the digest of a file in a normal form.
var fileDigest = lazyregexp.New(` of [^"]+ sha256:[0-9a-f]{64}$`)

// withoutDigest returns the normal form of an argument that names a file, without the digest of its content.
func withoutDigest(form string) string { return fileDigest.ReplaceAllString(form, "") }

// shownTexts are arguments of other blocks whose values people read.
var shownTexts = []string{"title", "colour", "description", "message", "website"}

// grades are the words of arguments that show or permit more from word to word.
var grades = map[string][]string{
	"console.try":      {`"none"`, `"plan"`, `"call"`},
	"events.arguments": {`"none"`, `"redacted"`},
	"events.results":   {`"none"`, `"redacted"`},
}

// gradeDefaults are the words that stand for none.
var gradeDefaults = map[string]string{
	"console.try": `"plan"`, "events.arguments": `"redacted"`, "events.results": `"none"`,
}

// isLowerGrade reports whether an argument of grades shows or permits no more than before.
func isLowerGrade(at, old, new string) bool {
	words := grades[at]
	was := slices.Index(words, cmp.Or(old, gradeDefaults[at]))
	is := slices.Index(words, cmp.Or(new, gradeDefaults[at]))
	return is >= 0 && was >= is
}

// isStricterRule reports whether an argument that lets callers in lets in no more than before.
func isStricterRule(path, old, new string) bool {
	return slices.Contains(rulesOfSettings, lastName(path)) && old != "" && new != "" &&
		implies(parseCondition(new), parseCondition(old))
}

// settings compares other blocks. What a change of such a block means is not known, so that it counts as widening:
// the audit log may go elsewhere, or the store with the approvals.
func (c *comparison) settings() {
	for _, name := range diag.SortedNames(c.new.Settings) {
		b, a := c.new.Settings[name], c.old.Settings[name]
		c.object = name
		if name == "auth" || name == "server" {
			continue // see authSetting and serverSetting
		}
		switch {
		case a == nil && b.Does != nil:
			c.add(Widening, "does", name, "added: %s", strings.Join(b.Does, "; "))
		case a == nil && (name == "audit" || b.declares()):
			c.add(Compatible, "settings", name, "added")
		case a == nil:
			c.add(Widening, "settings", name, "added")
		default:
			c.setting(name, a, b)
		}
	}
	c.serverSetting()
	c.authSetting()
	for _, name := range diag.SortedNames(c.old.Settings) {
		if c.new.Settings[name] != nil || name == "auth" || name == "server" {
			continue
		}
		c.object = name
		switch {
		case name == "audit":
			c.add(Widening, "settings", name, "removed: calls are no longer recorded")
		case c.old.Settings[name].Does != nil || c.old.Settings[name].declares():
			c.add(Compatible, "settings", name, "removed")
		case slices.Contains(servedBlocks, name):
			c.restrict("settings", name, "removed: it is no longer served")
		case len(c.closed(name, c.old.Settings[name].Args, nil)) > 0 && c.onlyServes(name):
		default:
			c.add(Widening, "settings", name, "removed")
		}
	}
}

// setting compares one block that both sides have.
func (c *comparison) setting(name string, a, b *Setting) {
	blockType, _, _ := strings.Cut(name, " ")
	c.effects(name, a.Does, b.Does)
	closed := c.closed(name, a.Args, b.Args)
	for _, path := range changedArguments(a.Args, b.Args) {
		old, new := a.Args[path], b.Args[path]
		isIn := func(part string) bool { return isPartOf(path, part) }
		if slices.ContainsFunc(closed, isIn) {
			continue
		}
		if name == "server" && slices.ContainsFunc(publicParts, isIn) {
			c.public(path, a.Args, b.Args)
			continue
		}
		harmless := slices.Contains(shownTexts, lastName(path)) || isKeyInPlace(name, path, new) ||
			isStricterRule(path, old, new) || isLowerGrade(name+"."+path, old, new) ||
			strings.HasPrefix(name, "webhook ") && path == "timeout" ||
			isHarmlessNumber(blockType+"."+path, old, new) || blockType == "files" && path == "types" &&
			new != "" && (old == "" && isConstantList(new) || isShorterList(old, new))
		class := classIf(!harmless)
		c.add(class, "settings", name+"."+path, "%s", changeOf(path, a.Args, b.Args))
	}
	c.variableType(name, a.Type, b.Type)
	c.readSecrets(name, a.Reads, b.Reads)
}

// serverSetting compares the arguments of the server block that have no rule of their own. Without them there is no
// such setting.
func (c *comparison) serverSetting() {
	a, b := c.old.Settings["server"], c.new.Settings["server"]
	c.object = "server"
	c.setting("server", cmp.Or(a, new(Setting)), cmp.Or(b, new(Setting)))
}

// publicParts are the parts of the server block that everybody may read, without a credential.
var publicParts = []string{"well_known", "card"}

// public compares an argument that everybody may read.
func (c *comparison) public(path string, old, new map[string]string) {
	_, had := old[path]
	_, has := new[path]
	switch at := "server." + path; {
	case !had:
		what := path
		if text, ok := strings.CutPrefix(path, "well_known."); ok {
			what = "/.well-known/" + text
		}
		c.add(Widening, "public", at, "everybody may read %s: %s", what, clip(new[path], maxShown))
	case !has:
		c.restrict("public", at, "removed: it is no longer served")
	default:
		c.add(Behaviour, "public", at, "%s", changeOf(path, old, new))
	}
}

// isKeyInPlace reports whether an argument is a key of the state that was added or changed, or an earlier one: without
// a key, read access to the store is read access to what it keeps of sign-in.
func isKeyInPlace(block, path, new string) bool {
	return block == "state" && (path == "previous_key" || path == "key" && new != "")
}

// readSecrets compares the secrets that a block reads.
func (c *comparison) readSecrets(name string, old, new []string) {
	for _, secret := range missing(new, old) {
		c.add(Widening, "settings", name, "reads %s", secret)
	}
	for _, secret := range missing(old, new) {
		c.add(Widening, "settings", name, "no longer reads %s", secret)
	}
}

// authSetting compares what the auth block has besides keys and issuers: sign-in, which a block without it may have
// got.
func (c *comparison) authSetting() {
	a, b := c.old.Settings["auth"], c.new.Settings["auth"]
	a, b = cmp.Or(a, new(Setting)), cmp.Or(b, new(Setting))
	c.object = "auth"
	c.signIn(a.Args, b.Args)
	if a.Args != nil && b.Args != nil {
		c.readSecrets("auth", a.Reads, b.Reads)
	}
}

// closed reports the served parts of a block that were removed, and returns their paths.
func (c *comparison) closed(name string, old, new map[string]string) (parts []string) {
	has := func(args map[string]string, part string) bool {
		isPart := func(path string) bool { return isPartOf(path, part) }
		return slices.ContainsFunc(slices.Collect(maps.Keys(args)), isPart)
	}
	for _, served := range servedBlocks {
		part, inside := strings.CutPrefix(served, name+".")
		if inside && has(old, part) && !has(new, part) {
			parts = append(parts, part)
			c.restrict("settings", served, "removed: it is no longer served")
		}
	}
	return parts
}

// onlyServes reports whether the block of the older side has nothing but parts that are served.
func (c *comparison) onlyServes(name string) bool {
	for path := range c.old.Settings[name].Args {
		if !slices.ContainsFunc(servedBlocks, func(served string) bool { return isPartOf(name+"."+path, served) }) {
			return false
		}
	}
	return true
}

// isPartOf reports whether a path is that of a block, or of something in it.
func isPartOf(path, block string) bool { return path == block || strings.HasPrefix(path, block+".") }

// isConstantList reports whether a normal form is a list of constants.
func isConstantList(form string) bool {
	_, ok := constantValues(form)
	return ok && strings.HasPrefix(form, "[")
}

// declares reports whether a setting is the type of a variable and nothing else.
func (s *Setting) declares() bool { return s.Type != nil && s.Does == nil && s.Args == nil }

// variableType compares the types of a variable. Its values come from the operator, whom a narrower type only refuses.
func (c *comparison) variableType(at string, old, new any) {
	if old == nil && new == nil {
		return
	}
	reaches := func(string, string) string { return itsReaders }
	compareInputs(orTrue(old), orTrue(new), reaches, func(path string, class Class, _, text string) {
		c.add(classIf(class == Widening), "settings", at+".type"+path, "%s", text)
	})
}
