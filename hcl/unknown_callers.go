package hcl

import (
	"bytes"
	"maps"
	"slices"
	"unicode/utf8"

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
// a known one is reported. Where nothing names a group, nothing is known of groups. People who sign in have the claims
// that sign_in names, and with group_names the groups that these name.
func (l *loader) warnUnknownCallers(files []*sourceFile) {
	auth := l.config.Auth
	if l.partial || l.diags.HasErrors() || auth == nil {
		return
	}
	groups, claims := testCallers(files)
	for _, key := range auth.Keys {
		groups = append(groups, key.Groups...)
	}
	hasTokens := len(auth.Issuers)+len(auth.Introspections) > 0
	hasOthers := hasTokens || l.config.TLS != nil && l.config.TLS.ClientCA != "" // certificates have groups, too
	of := "No API key and no caller of a test"
	if s := auth.SignIn; s != nil {
		of = "Neither group_names of sign_in, nor an API key or a caller of a test"
		groups = slices.AppendSeq(groups, maps.Values(s.GroupNames))
		claims = append(claims, s.Claims...)
		hasOthers = hasOthers || s.GroupNames == nil
	}
	groups = sortedSet(groups)
	seen := map[Range]bool{}
	warn := func(rule *Condition, text, summary, format string, args ...any) {
		at := rangeOfText(l.config.Sources[rule.Range.File], rule.Range, text)
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
			warn(rule, group, "Unknown group", "%s has the group %q.%s", of, group,
				diag.SuggestOr(group, groups, diag.ListAre(groups)))
		}
		if auth.SignIn != nil && !hasTokens {
			continue // see warnUncopiedClaims
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

// warnUncopiedClaims warns of claims that no caller has, because only people who sign in have claims, and sign_in does
// not copy these.
func (l *loader) warnUncopiedClaims() {
	auth := l.config.Auth
	if l.partial || l.diags.HasErrors() || auth == nil || auth.SignIn == nil ||
		len(auth.Issuers)+len(auth.Introspections) > 0 {
		return
	}
	seen := map[Range]bool{}
	for _, reads := range l.allReads() {
		src := l.config.Sources[reads.File]
		for _, read := range reads.Places {
			names := eval.SplitPath(read.Path)
			if len(names) < 3 || names[0] != "caller" || names[1] != "claims" || auth.SignIn.hasClaim(names[2]) {
				continue
			}
			at := rangeOfText(src, rangeOfBytes(reads.File, src, int(read.From), int(read.To)), names[2])
			if !seen[at] {
				seen[at] = true
				l.diags.Warnf(at, "Claim not copied", "Only people who sign in have claims, and sign_in does not copy "+
					"%q, so this is null. Write claims = %s there.", names[2],
					listLiteral(append(slices.Clone(auth.SignIn.Claims), names[2])))
			}
		}
	}
}

// allReads returns what all blocks read.
func (l *loader) allReads() (all []*eval.Reads) {
	all = slices.Clone(l.config.ValueReads)
	for _, op := range l.config.operations() {
		all = append(all, op.Reads)
	}
	for _, s := range l.config.Settings {
		all = append(all, s.Reads...)
	}
	return slices.DeleteFunc(all, func(r *eval.Reads) bool { return r == nil })
}

// rangeOfBytes returns the range of some bytes of a file.
func rangeOfBytes(file string, src []byte, from, to int) Range {
	position := func(at int) diag.Pos {
		before := src[:min(at, len(src))]
		line := before[bytes.LastIndexByte(before, '\n')+1:]
		return diag.Pos{Line: 1 + bytes.Count(before, []byte("\n")), Column: 1 + utf8.RuneCount(line), Byte: at}
	}
	return Range{File: file, Start: position(from), End: position(to)}
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
			if !isTest(test) {
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

// rangeOfText returns where a text is in a range of one line of a file; the range itself if it is not there.
func rangeOfText(src []byte, r Range, text string) Range {
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
