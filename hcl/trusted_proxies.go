package hcl

import (
	"net/netip"

	"hatchel/hcl/decode"
)

// TrustedProxies is the trusted_proxies block: the proxies in front of the server, and the header in
// which they name their clients.
type TrustedProxies struct {
	Addresses []netip.Prefix
	Header    string // "x-forwarded-for" or "forwarded"
}

func (p *TrustedProxies) spec() decode.Spec {
	var texts []string
	return decode.Spec{
		decode.StringSet(&texts, "addresses", "list of addresses and networks",
			"The addresses of the proxies, as in [\"10.0.0.0/8\", \"127.0.0.1\"].", p.addAddress).Require(),
		decode.Choice(&p.Header, "header", "The header to which each proxy appends the address of its client.",
			"x-forwarded-for", "forwarded").Require(),
	}
}

// addAddress adds an element of addresses.
func (p *TrustedProxies) addAddress(d *decode.Decoder, r Range, text string) string {
	network, err := netip.ParsePrefix(text)
	if ip, notIP := netip.ParseAddr(text); notIP == nil {
		network, err = ip.Prefix(ip.BitLen())
	}
	switch {
	case err != nil || network.Addr().Is4In6():
		d.Diags.Errorf(r, "Invalid address",
			"A proxy is an address or a network, as in \"10.1.2.3\" or \"10.0.0.0/8\", not %q.", text)
	case network.Bits() == 0:
		d.Diags.Errorf(r, "Every address is trusted", "%s holds every address, so clients could send any address as "+
			"theirs. Write the networks of the proxies only, as in \"10.0.0.0/8\".", text)
	default:
		p.Addresses = append(p.Addresses, network.Masked())
	}
	return text
}
