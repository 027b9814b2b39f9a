package hcl

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/internal/hostname"
)

// Introspection is one introspection block: an authorization server that is asked about access tokens (RFC 7662).
type Introspection struct {
	URL            string // the introspection endpoint
	Client         ClientAuth
	Audience       string
	SubjectClaim   string
	GroupsClaim    string
	RequiredScopes []string
	Range          Range
}

func (i *Introspection) spec() decode.Spec {
	i.SubjectClaim, i.GroupsClaim = "sub", "groups"
	return decode.Join(
		decode.Spec{
			decode.Attr(&i.URL, "url", "The introspection endpoint of the authorization server.").Require().
				Check(i.checkURL),
		},
		i.Client.Spec("the value of url"),
		decode.Spec{
			decode.Attr(&i.Audience, "audience", "The value that the member aud of a response must contain, "+
				"preferably the URL of this server.").Require().Check(checkTokenAudience(&i.Audience)),
			decode.Attr(&i.SubjectClaim, "subject_claim", "The member of a response for caller.subject.").
				DefaultDoc(`"sub"`).Check(checkClaimName(&i.SubjectClaim)),
			decode.Attr(&i.GroupsClaim, "groups_claim", "The member of a response for caller.groups, a string or a "+
				"list of strings. A dot selects a nested member: realm_access.roles.").DefaultDoc(`"groups"`).
				Check(checkClaimName(&i.GroupsClaim)),
			scopesField(&i.RequiredScopes, "required_scopes", "The scopes that every token must have."),
		})
}

func (i *Introspection) checkURL(d *decode.Decoder, r Range) {
	if why := urlProblem(i.URL); why != "" {
		d.Diags.Errorf(r, "Invalid introspection URL", "url is the introspection endpoint, such as "+
			"\"https://id.example/oauth2/introspect\": %s.", why)
	}
}

// checkSubject refuses members that many people have alike, and warns of those that may be given to another person. A
// token of a program alone has its client_id as its subject.
func (i *Introspection) checkSubject(d *decode.Decoder, b *hclsyntax.Block) {
	name, at := lastOfClaim(i.SubjectClaim), d.FieldRange(&i.SubjectClaim, b)
	switch {
	case name == "client_id":
	case slices.Contains(sharedClaims, name):
		reportShared(d, at, i.SubjectClaim, "sub")
	case slices.Contains(addressClaims, name) || slices.Contains(changeableClaims, name):
		warnChangeable(d, at, i.SubjectClaim, "sub")
	}
}

// Origin returns the origin of URL, which is what authenticates the subjects of the tokens.
func (i *Introspection) Origin() string {
	u, _ := hostname.ParseURL(i.URL, 0)
	return hostname.Origin(u.Scheme, u.Hostname(), u.Port())
}

// decodeIntrospection decodes an introspection block.
func (a *Auth) decodeIntrospection(d *decode.Decoder, b *hclsyntax.Block) {
	i := &Introspection{Range: headerRange(b)}
	before := len(d.Diags)
	d.Body(b, i.spec())
	i.Client.Check(&blockRefuser{d, b, "Invalid client"})
	i.checkSubject(d, b)
	if d.Diags[before:].HasErrors() {
		return
	}
	for _, other := range a.Introspections {
		if other.Origin() == i.Origin() {
			d.Errorf(b.DefRange(), "Duplicate introspection", "The server %s is already asked by the block at %s:%d. "+
				"Callers are told apart by the server and their subject, so each server has one block.",
				i.Origin(), other.Range.File, other.Range.Start.Line)
			d.Diags.Relate(other.Range)
			return
		}
	}
	a.Introspections = append(a.Introspections, i)
}
