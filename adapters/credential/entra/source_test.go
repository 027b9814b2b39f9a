package entra

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"hatchel/adapters/credential"
)

// TestEveryAddressOfTheEnvironmentThatPassesIsAllowed inserts, replaces and removes each character of valid addresses.
func TestEveryAddressOfTheEnvironmentThatPassesIsAllowed(t *testing.T) {
	env := map[string]string{}
	getenv := func(name string) string { return env[name] }
	s := &Source{signer: signer{cloud: credential.NewCloud(getenv, credential.Network{})}, resource: Databases}
	allowed := map[string]func(u *url.URL) bool{
		"AZURE_AUTHORITY_HOST": func(u *url.URL) bool {
			return u.Scheme == "https" && (u.Host == "login.microsoftonline.com" || u.Host == "login.microsoftonline.us")
		},
		"IDENTITY_ENDPOINT": func(u *url.URL) bool {
			ip, err := netip.ParseAddr(u.Hostname())
			return u.Scheme == "http" && err == nil && ip.IsLoopback()
		},
	}
	for name, address := range map[string]string{
		"AZURE_AUTHORITY_HOST": "https://login.microsoftonline.com/", "IDENTITY_ENDPOINT": "http://127.0.0.1:42356/msi/token",
	} {
		accepted := 0
		for at := range len(address) + 1 {
			for _, c := range append(strings.Split("./@:#?\\%-ex2us\n\t ", ""), "", "..", ".evil.example/", "%2e", "\u3002") {
				for _, rest := range []string{address[at:], address[min(at+1, len(address)):]} {
					clear(env)
					env["IDENTITY_HEADER"], env[name] = "x", address[:at]+c+rest
					if _, err := s.provider(); err != nil || env[name] == "" {
						continue
					}
					accepted++
					if u, err := url.Parse(env[name]); err != nil || !allowed[name](u) || u.User != nil || u.RawQuery != "" {
						t.Errorf("%s accepts %q", name, env[name])
					}
				}
			}
		}
		if accepted == 0 {
			t.Errorf("%s: no valid address was accepted", name)
		}
	}
}
