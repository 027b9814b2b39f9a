package server

import (
	"net/netip"
	"testing"

	"hatchel/hcl"
)

func TestALinkLocalProxyIsTrustedOnEveryInterface(t *testing.T) {
	trusted := &hcl.TrustedProxies{Addresses: []netip.Prefix{netip.MustParsePrefix("fe80::/10")}}
	if !isProxy(trusted, netip.MustParseAddr("fe80::1%eth0")) {
		t.Error("it is no proxy")
	}
}

func TestTheClientIsTheNearestAddressThatIsNoProxy(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")}
	for _, c := range []struct {
		name, header string
		values       []string
		want         string
	}{
		{"one proxy", "x-forwarded-for", []string{"192.0.2.1"}, "192.0.2.1"},
		{"what the client has sent is to the left", "x-forwarded-for", []string{"127.0.0.1, 192.0.2.1"}, "192.0.2.1"},
		{"proxies in a row", "x-forwarded-for", []string{"6.6.6.6, 192.0.2.1, 10.0.0.2", "10.0.0.3"}, "192.0.2.1"},
		{"only proxies", "x-forwarded-for", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"ports", "x-forwarded-for", []string{"192.0.2.1:4711, [2001:db8::1]:80"}, "192.0.2.1"},
		{"a mapped address", "x-forwarded-for", []string{"192.0.2.1, ::ffff:10.0.0.2"}, "192.0.2.1"},
		{"no header", "x-forwarded-for", nil, "10.0.0.1"},
		{"an unknown client", "x-forwarded-for", []string{"6.6.6.6, unknown, 10.0.0.2"}, "10.0.0.2"},
		{"elements", "forwarded", []string{`for=6.6.6.6, For="192.0.2.1:80";proto=https;by=10.0.0.1`, "for=10.0.0.2"}, "192.0.2.1"},
		{"IPv6", "forwarded", []string{`for="[2001:db9::1]:4711", for="[2001:db8::1]"`}, "2001:db9::1"},
		{"an obfuscated client", "forwarded", []string{"for=_hidden, for=10.0.0.2"}, "10.0.0.2"},
		{"a quoted comma", "forwarded", []string{`for=192.0.2.1;host="a, for=6.6.6.6"`}, "192.0.2.1"},
		{"an escaped quote", "forwarded", []string{`for=192.0.2.1;host="a\", for=6.6.6.6"`}, "192.0.2.1"},
		{"a quote that the client has opened", "forwarded", []string{`for=6.6.6.6;host="`, "for=192.0.2.1"}, "10.0.0.1"},
		{"an element without for", "forwarded", []string{"for=6.6.6.6, proto=https"}, "10.0.0.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			trusted := &hcl.TrustedProxies{Addresses: proxies, Header: c.header}
			if got := nearestClient(trusted, netip.MustParseAddr("10.0.0.1"), c.values).String(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
