package surface

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
)

// The arguments of sign_in and introspection are those of the setting auth, by paths such as "sign_in.documents",
// "sign_in.client desk.redirects" and "introspection https://id.example/introspect.audience". Ids of clients and of
// groups at the provider are there by their digests.

const (
	signInBlock        = "sign_in"
	introspectionBlock = "introspection"
	groupNames         = signInBlock + ".group_names"
)

// authArguments returns the arguments of an auth block that Server does not have; nil for none.
func (b *builder) authArguments(block *hclsyntax.Block, covered []string) map[string]string {
	out := map[string]string{}
	for _, nested := range block.Body.Blocks {
		switch nested.Type {
		case introspectionBlock: // their order has no meaning
			at := introspectionBlock + " " + strings.Trim(b.form(attribute(nested, "url")), `"`)
			b.arguments(out, at+".", nested)
			b.place("auth."+at, diag.RangeOf(nested.DefRange()))
			concealID(out, at+".client_id")
		case signInBlock:
			b.placeArguments("auth."+signInBlock, nested)
			for _, inner := range nested.Body.Blocks {
				b.placeArguments("auth."+signInBlock+"."+header(inner), inner)
				b.place("auth."+signInBlock+"."+header(inner), diag.RangeOf(inner.DefRange()))
			}
		}
	}
	maps.Copy(out, b.rest(block, append(slices.Clone(covered), introspectionBlock)))
	concealID(out, signInBlock+".client_id")
	b.concealGroups(out)
	if len(out) == 0 {
		return nil
	}
	return out
}

// concealID puts the digest of a literal in place of it.
func concealID(args map[string]string, path string) {
	if form := args[path]; strings.HasPrefix(form, `"`) {
		args[path] = digest([]byte(form))
	}
}

// concealGroups puts the digests of the ids of groups in place of them.
func (b *builder) concealGroups(args map[string]string) {
	for path, form := range maps.Clone(args) {
		id, isEntry := strings.CutPrefix(path, groupNames+".")
		switch {
		case isEntry:
			delete(args, path)
			args[groupNames+"."+digest([]byte(id))] = form
		case path == groupNames && form != "{}":
			args[path] = digest([]byte(form))
		}
	}
}

// argumentRule compares one argument of sign_in or introspection, of which either side may be empty, at a place.
type argumentRule func(c *comparison, at, name, old, new string)

// signInRules are the rules of the arguments in a sign_in block, by the block and the argument. The test of them has
// each argument that the language has.
var signInRules = map[string]argumentRule{
	"url":                 compareMeaning,
	"provider":            compareMeaning,
	"client_id":           compareMeaning, // the provider may let in other people
	"client_secret":       compareProof,
	"key":                 compareProof,
	"assertion_file":      compareProof,
	"client_auth":         proofOf(`"basic"`),
	"key_id":              compareProof,
	"key_algorithm":       compareProof,
	"certificate":         compareProof,
	"assertion_audience":  compareProof,
	"assertion_type":      compareProof,
	"scopes":              listOf(`["openid", "profile"]`),
	"subject_claim":       meaningOf(`"sub"`),
	"groups_claim":        meaningOf(`"groups"`),
	"group_names":         compareMeaning,
	"claims":              listOf("[]"),
	"allow":               compareAllow,
	"session":             numberOf(`"12h"`),
	"documents":           listOf("[]"),
	"resources":           listOf("[]"),
	"clock_skew":          numberOf(`"60s"`),
	"algorithms":          listOf(defaultAlgorithms),
	"register.redirects":  listOf("[]"),
	"client.redirects":    listOf("[]"),
	"client.secret":       compareClientProof,
	"client.keys":         compareClientProof,
	"scope.description":   compareText,
	"scope.allow":         compareAllow,
	"assertions.issuer":   meaningOf("that of the provider"),
	"assertions.clients":  listOf("[]"),
	"assertions.public":   comparePublic,
	"group_names.ENTRIES": compareGroupName,
}

// introspectionRules are the rules of the arguments in an introspection block.
var introspectionRules = map[string]argumentRule{
	"url":                compareMeaning,
	"audience":           compareMeaning,
	"subject_claim":      meaningOf(`"sub"`),
	"groups_claim":       meaningOf(`"groups"`),
	"required_scopes":    compareRequired,
	"client_id":          compareProof,
	"client_secret":      compareProof,
	"key":                compareProof,
	"assertion_file":     compareProof,
	"client_auth":        proofOf(`"basic"`),
	"key_id":             compareProof,
	"key_algorithm":      compareProof,
	"certificate":        compareProof,
	"assertion_audience": compareProof,
	"assertion_type":     compareProof,
}

// meaningOf returns the rule of arguments of which another value admits others, and no longer those before. Otherwise
// is what applies without the argument.
func meaningOf(otherwise string) argumentRule {
	return func(c *comparison, at, name, old, new string) {
		was, is := clip(cmp.Or(old, otherwise), maxShown), clip(cmp.Or(new, otherwise), maxShown)
		c.add(Widening, "sign-in", at, "%s %s → %s", name, was, is)
		c.restrict("sign-in", at, "%s %s → %s", name, was, is)
	}
}

var compareMeaning = meaningOf("none")

// proofOf returns the rule of arguments with which the server proves who it is.
func proofOf(otherwise string) argumentRule {
	return func(c *comparison, at, name, old, new string) {
		c.add(Behaviour, "sign-in", at, "%s %s → %s", name, clip(cmp.Or(old, otherwise), maxShown),
			clip(cmp.Or(new, otherwise), maxShown))
	}
}

var compareProof = proofOf("none")

// compareClientProof is the rule of what a client proves itself with.
func compareClientProof(c *comparison, at, name, old, new string) {
	switch {
	case old == "":
		c.restrict("sign-in", at, "%s added: the client must authenticate", name)
	case new == "":
		c.add(Widening, "sign-in", at, "%s removed: the client no longer authenticates with it", name)
	default:
		compareMeaning(c, at, name, old, new)
	}
}

func compareText(c *comparison, at, name, old, new string) {
	c.add(Behaviour, "text", at, "%s", wordDiff(strings.Trim(old, `"`), strings.Trim(new, `"`)))
}

// formulaOf returns the condition of an argument; nil for one that always holds, as without it.
func formulaOf(form string) *eval.Formula {
	if form == "" || form == "true" {
		return nil
	}
	return parseCondition(form)
}

func compareAllow(c *comparison, at, name, old, new string) {
	stricter, weaker := compareConditions(formulaOf(old), formulaOf(new), true)
	was, is := cmp.Or(old, "everyone"), cmp.Or(new, "everyone")
	if stricter {
		c.restrict("sign-in", at, "%s %s → %s", name, was, is)
	}
	if weaker {
		c.add(Widening, "sign-in", at, "%s %s → %s", name, was, is)
	}
}

func comparePublic(c *comparison, at, name, old, new string) {
	if cmp.Or(new, "false") == "false" {
		c.restrict("sign-in", at, "%s %s → %s", name, cmp.Or(old, "false"), cmp.Or(new, "false"))
		return
	}
	c.add(Widening, "sign-in", at, "%s %s → %s", name, cmp.Or(old, "false"), new)
}

// compareGroupName is the rule of one entry of group_names.
func compareGroupName(c *comparison, at, name, old, new string) {
	if old != "" {
		c.restrict("sign-in", at, "group mapping removed: %s", old)
	}
	if new != "" {
		c.add(Widening, "sign-in", at, "group mapping added: %s", new)
	}
}

// compareRequired is the rule of the scopes that every token must have.
func compareRequired(c *comparison, at, name, old, new string) {
	before, ok := constantValues(cmp.Or(old, "[]"))
	after, also := constantValues(cmp.Or(new, "[]"))
	if !ok || !also {
		compareMeaning(c, at, name, old, new)
		return
	}
	c.scopes(strings.TrimSuffix(at, "."+name), before, after)
}

// numberOf returns the rule of a duration of which a longer one admits more. Otherwise is the one without the argument.
func numberOf(otherwise string) argumentRule {
	return func(c *comparison, at, name, old, new string) {
		was, is := cmp.Or(old, otherwise), cmp.Or(new, otherwise)
		shorter, longer := isLower(was, is), isLower(is, was) // neither if one of them is not known here
		if !longer {
			c.restrict("sign-in", at, "%s %s → %s", name, was, is)
		}
		if !shorter {
			c.add(Widening, "sign-in", at, "%s %s → %s", name, was, is)
		}
	}
}

// listOf returns the rule of a list of which each element admits more. Otherwise is the one without the argument.
func listOf(otherwise string) argumentRule {
	return func(c *comparison, at, name, old, new string) {
		before, ok := constantValues(cmp.Or(old, otherwise))
		after, also := constantValues(cmp.Or(new, otherwise))
		if !ok || !also {
			compareMeaning(c, at, name, old, new)
			return
		}
		const every = "'*'"
		for _, element := range missing(after, before) {
			if !slices.Contains(before, every) {
				c.add(Widening, "sign-in", at, "%s added: %s", name, strings.Trim(element, "'"))
			}
		}
		for _, element := range missing(before, after) {
			if !slices.Contains(after, every) {
				c.restrict("sign-in", at, "%s removed: %s", name, strings.Trim(element, "'"))
			}
		}
	}
}

// signInPart is one part of the arguments: the sign_in block itself, a block in it, or an introspection block.
type signInPart struct {
	at   string            // its path; of sign_in itself "sign_in"
	kind string            // "sign_in", the type of the block in it, or "introspection"
	args map[string]string // by name
}

// signInParts returns the parts of the arguments of the setting auth, by path.
func signInParts(args map[string]string) map[string]*signInPart {
	parts := map[string]*signInPart{}
	add := func(at, kind, name, form string) {
		if parts[at] == nil {
			parts[at] = &signInPart{at, kind, map[string]string{}}
		}
		if name != "" {
			parts[at].args[name] = form
		}
	}
	for path, form := range args {
		rest, inSignIn := strings.CutPrefix(path, signInBlock+".")
		end := strings.LastIndexByte(path, '.')
		switch {
		case strings.HasPrefix(path, introspectionBlock+" "):
			add(path[:end], introspectionBlock, path[end+1:], form)
		case !inSignIn:
			add(path, path, "", form)
		case strings.HasPrefix(path, groupNames+"."):
			add(signInBlock, signInBlock, rest, form)
		case strings.Contains(rest, "."):
			kind, _, _ := strings.Cut(rest, " ")
			kind, _, _ = strings.Cut(kind, ".")
			add(signInBlock, signInBlock, "", "")
			add(path[:end], kind, path[end+1:], form)
		default:
			add(signInBlock, signInBlock, rest, form)
		}
	}
	return parts
}

// ruleOf returns the rule of an argument; nil if it has none.
func (p *signInPart) ruleOf(name string) argumentRule {
	switch {
	case p.kind == introspectionBlock:
		return introspectionRules[name]
	case p.kind != signInBlock:
		return signInRules[p.kind+"."+name]
	case strings.HasPrefix(name, "group_names."):
		return compareGroupName
	}
	return signInRules[name]
}

// summary says what a part that was added or removed is.
func (p *signInPart) summary() string {
	text := strings.TrimPrefix(p.at, signInBlock+".")
	for _, name := range []string{"provider", "allow", "redirects", "clients", "audience", "description"} {
		if form := p.args[name]; form != "" {
			text += " " + name + " " + form
		}
	}
	return text
}

// signIn compares how people sign in, and whom introspection admits.
func (c *comparison) signIn(old, new map[string]string) {
	before, after := signInParts(old), signInParts(new)
	for _, at := range diag.SortedNames(after) {
		b, place := after[at], "auth."+at
		a := before[at]
		if a == nil {
			if !c.isInAdded(before, after, at) {
				c.add(Widening, "sign-in", place, "added: %s", b.summary())
			}
			continue
		}
		if a.mapsGroups() != b.mapsGroups() {
			compareMeaning(c, place+".group_names", "group_names", a.groupNames(), b.groupNames())
		}
		for _, name := range changedArguments(a.args, b.args) {
			if strings.HasPrefix(name, "group_names") && a.mapsGroups() != b.mapsGroups() {
				continue
			}
			if name == "group_names" && a.args[name]+b.args[name] == "{}" {
				continue // its entries are compared one by one, and an empty map has none
			}
			rule := b.ruleOf(name)
			if rule == nil {
				rule = compareMeaning
			}
			rule(c, place+"."+name, name, a.args[name], b.args[name])
		}
	}
	for _, at := range diag.SortedNames(before) {
		if after[at] == nil && !c.isInAdded(after, before, at) {
			c.restrict("sign-in", "auth."+at, "removed: %s", before[at].summary())
		}
	}
}

// isInAdded reports whether a part is in a sign_in block that the other side does not have, and which is reported
// itself.
func (c *comparison) isInAdded(without, with map[string]*signInPart, at string) bool {
	return at != signInBlock && strings.HasPrefix(at, signInBlock+".") && without[signInBlock] == nil &&
		with[signInBlock] != nil
}

// mapsGroups reports whether a sign_in block has group_names.
func (p *signInPart) mapsGroups() bool { return p.groupNames() != "" }

// groupNames says what group_names are; it is empty for none.
func (p *signInPart) groupNames() string {
	var names []string
	for _, name := range diag.SortedNames(p.args) {
		if strings.HasPrefix(name, "group_names") {
			names = append(names, p.args[name])
		}
	}
	return strings.Join(names, ", ")
}
