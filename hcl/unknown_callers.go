package hcl

import (
	"bytes"
	"slices"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
)

// commonClaims are claims of many issuers (OpenID Connect Core 5.1, RFC 9068), which a rule may mean by a name like
// theirs.
var commonClaims = []string{"sub", "email", "email_verified", "name", "preferred_username", "given_name", "family_name",
	"locale", "groups", "roles", "scope", "azp", "client_id", "department", "tenant", "tid", "oid", "amr", "acr"}

// warnUnknownCallers warns of rules about groups and claims that no caller has as far as the configuration says: API
// keys have groups, and tests name callers. A token may have any, so that with a jwt block only a name that is close to
// a known one is reported. Where nothing names a group, nothing is known of groups.
func (l *loader) warnUnknownCallers(files []*sourceFile) {
	auth := l.config.Auth
	if l.partial || l.diags.HasErrors() || auth == nil {
		return
	}
	groups, claims := testCallers(files)
	for _, key := range auth.Keys {
		groups = append(groups, key.Groups...)
	}
	groups = sortedSet(groups)
	hasTokens := len(auth.Issuers) > 0
	hasOthers := hasTokens || l.config.TLS != nil && l.config.TLS.ClientCA != "" // certificates have groups, too
	seen := map[Range]bool{}
	warn := func(rule *Condition, text, summary, format string, args ...any) {
		at := l.rangeOfText(rule.Range, text)
		if !seen[at] {
			seen[at] = true
			l.diags.Warnf(at, summary, format, args...)
		}
	}
	for _, rule := range l.callerRules() {
		for _, group := range rule.Compared()["caller.groups"] {
			near := diag.NearestOf(group, groups)
			if len(groups) == 0 || slices.Contains(groups, group) || hasOthers && !near.IsFix() {
				continue
			}
			warn(rule, group, "Unknown group", "No API key and no caller of a test has the group %q.%s", group,
				diag.SuggestOr(group, groups, diag.ListAre(groups)))
		}
		for _, path := range rule.Traversals() {
			names := eval.SplitPath(path)
			if len(names) < 3 || names[0] != "caller" || names[1] != "claims" {
				continue
			}
			name := names[2]
			known := sortedSet(slices.Concat(claims, commonClaims))
			switch near := diag.NearestOf(name, known); {
			case slices.Contains(claims, name):
			case !hasTokens:
				warn(rule, name, "Unknown claim", "Only tokens have claims, and there is no jwt block: for a caller "+
					"with an API key this is null. Read caller.groups or caller.subject.")
			case !slices.Contains(known, name) && near.IsFix():
				warn(rule, name, "Unknown claim", "No caller of a test has the claim %q.%s", name,
					diag.SuggestOr(name, known, ""))
			}
		}
	}
}

// callerRules returns the conditions that decide who may do something.
func (l *loader) callerRules() (rules []*Condition) {
	add := func(all ...*Condition) {
		for _, c := range all {
			if c != nil && c.Type() != nil {
				rules = append(rules, c)
			}
		}
	}
	for _, op := range l.config.operations() {
		add(op.Allow)
	}
	for _, t := range l.config.Tools {
		for _, a := range t.Approvals {
			add(a.When)
		}
	}
	for _, p := range l.config.Policies {
		add(p.Allow, p.Deny, p.Approve)
	}
	if c := l.config; c.Approvals != nil {
		add(c.Approvals.Allow)
	}
	if c := l.config; c.Events != nil {
		add(c.Events.Allow)
	}
	if c := l.config; c.Console != nil {
		add(c.Console.Allow)
	}
	return rules
}

// testCallers returns the groups and the claims of the callers in test blocks.
func testCallers(files []*sourceFile) (groups, claims []string) {
	for _, f := range files {
		if f.body == nil {
			continue
		}
		for _, test := range f.body.Blocks {
			if test.Type != testBlock.name {
				continue
			}
			for _, caller := range test.Body.Blocks {
				if a := caller.Body.Attributes["groups"]; caller.Type == "caller" && a != nil {
					groups = append(groups, literalTexts(a.Expr)...)
				}
				if a := caller.Body.Attributes["claims"]; caller.Type == "caller" && a != nil {
					claims = append(claims, literalKeys(a.Expr)...)
				}
			}
		}
	}
	return groups, claims
}

// literalTexts returns the elements of a list that are constant texts.
func literalTexts(e hclsyntax.Expression) (texts []string) {
	list, _ := e.(*hclsyntax.TupleConsExpr)
	if list == nil {
		return nil
	}
	for _, element := range list.Exprs {
		if v, diags := element.Value(nil); !diags.HasErrors() && v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
			texts = append(texts, v.AsString())
		}
	}
	return texts
}

// literalKeys returns the keys of an object that are constant.
func literalKeys(e hclsyntax.Expression) (keys []string) {
	object, _ := e.(*hclsyntax.ObjectConsExpr)
	if object == nil {
		return nil
	}
	for _, item := range object.Items {
		if name := hclv2.ExprAsKeyword(item.KeyExpr); name != "" {
			keys = append(keys, name)
		}
	}
	return keys
}

// rangeOfText returns where a text is in a range of one line; the range itself if it is not there.
func (l *loader) rangeOfText(r Range, text string) Range {
	src := l.config.Sources[r.File]
	if r.Start.Line != r.End.Line || r.End.Byte > len(src) {
		return r
	}
	at := bytes.Index(src[r.Start.Byte:r.End.Byte], []byte(text))
	if at < 0 {
		return r
	}
	out := r
	out.Start.Byte += at
	out.Start.Column += len([]rune(string(src[r.Start.Byte:out.Start.Byte])))
	out.End.Byte, out.End.Column = out.Start.Byte+len(text), out.Start.Column+len([]rune(text))
	return out
}

func sortedSet(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}
