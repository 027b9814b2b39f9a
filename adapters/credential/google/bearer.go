package google

import (
	"strings"

	"hatchel/adapters"
	"hatchel/adapters/credential"
	"hatchel/hcl"
	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
)

// Bearer is a google block: requests have a token of Google.
type Bearer struct {
	Audience string
	Scopes   []string
}

// Spec declares the arguments of the block.
func (b *Bearer) Spec() hcl.Spec {
	return hcl.ExactlyOneOf("the kind of token",
		hcl.Attr(&b.Audience, "audience", "An ID token for this audience: the URL of a service of Cloud Run or Cloud "+
			"Functions without a path, or the client id of an application behind Identity-Aware Proxy."),
		hcl.Attr(&b.Scopes, "scopes", "An access token with these scopes, for APIs of Google, such as "+
			`["https://www.googleapis.com/auth/bigquery.readonly"].`).
			Check(func(d *decode.Decoder, r diag.Range) {
				if len(b.Scopes) == 0 {
					d.Diags.Errorf(r, "Empty list", "A token without scopes permits nothing. Write one, such as "+
						`"https://www.googleapis.com/auth/bigquery.readonly".`)
				}
			}),
	)
}

// Check reports arguments that Google does not accept.
func (b *Bearer) Check(checks *adapters.Checks) {
	if len(b.Scopes) == 0 {
		checks.Refuse(!credential.IsToken(b.Audience), &b.Audience, "audience must be a text without spaces, such as "+
			`"https://billing-x.run.app".`)
		return
	}
	for _, scope := range b.Scopes {
		checks.Refuse(!credential.IsToken(scope) || strings.Contains(scope, ","), &b.Scopes, "The scope %q must be a "+
			`text without spaces and commas, such as "https://www.googleapis.com/auth/bigquery.readonly".`, scope)
	}
}

// Source returns the source of the tokens.
func (b *Bearer) Source(fetches *credential.Fetches, cloud *credential.Cloud) *Source {
	if b.Audience != "" {
		return NewIDTokenSource(fetches, cloud, b.Audience)
	}
	return NewSource(fetches, cloud, b.Scopes...)
}

// String describes the token, for people.
func (b *Bearer) String() string {
	if b.Audience != "" {
		return "ID token of Google for " + b.Audience
	}
	return "access token of Google for " + strings.Join(b.Scopes, " ")
}
