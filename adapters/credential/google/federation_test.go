package google

import (
	"net/url"
	"path"
	"strings"
	"testing"
)

// TestEveryAddressThatAFilePassesIsOneOfGoogle inserts, replaces and removes each character of valid addresses.
func TestEveryAddressThatAFilePassesIsOneOfGoogle(t *testing.T) {
	f := federation{
		Audience: "x", SubjectTokenType: "x", Source: subjectSource{File: "x"},
		TokenURL:         "https://sts.us-east1.rep.googleapis.com/v1/token",
		ImpersonationURL: "https://iamcredentials-x.p.googleapis.com/v1/projects/-/serviceAccounts/a@b:generateAccessToken",
	}
	for member, field := range map[string]*string{"token_url": &f.TokenURL, "impersonation_url": &f.ImpersonationURL} {
		address := *field
		valid, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		service, accepted := valid.Host[:3], 0 // sts or iam
		for at := range len(address) + 1 {
			for _, c := range append(strings.Split("./@:#?\\%-ex2\n\t ", ""), "", "..", ".evil.example/", "%2e", "\u3002") {
				for _, rest := range []string{address[at:], address[min(at+1, len(address)):]} {
					changed := address[:at] + c + rest
					*field = changed
					if _, err := f.parse(); err != nil || changed == "" {
						continue
					}
					accepted++
					u, err := url.Parse(changed)
					of := err == nil && strings.HasSuffix(u.Host, ".googleapis.com") &&
						strings.HasPrefix(u.Host, service) && u.User == nil && u.RawQuery == "" &&
						u.Fragment == "" && path.Dir(u.Path) == path.Dir(valid.Path) && u.Scheme == "https"
					if !of {
						t.Errorf("%s accepts %q", member, changed)
					}
				}
			}
		}
		*field = address
		if accepted == 0 {
			t.Errorf("%s: no valid address was accepted", member)
		}
	}
}
