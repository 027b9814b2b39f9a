package server

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"hatchel/hcl"
)

// clientAddress returns the network address of the client of a request: that of the connection, or
// what trusted proxies say. It is for logs, records and limits only.
func (s *Server) clientAddress(r *http.Request) string {
	proxies := s.Host.Current().Config.Server.Proxies
	if proxies == nil {
		return r.RemoteAddr
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !isProxy(proxies, peer.Addr()) {
		return r.RemoteAddr
	}
	return nearestClient(proxies, peer.Addr(), r.Header.Values(proxies.Header)).String()
}

// nearestClient returns the rightmost address in the values of the header that is not one of a proxy,
// or the leftmost if all are. Elements to the left of one that cannot be read are ignored.
func nearestClient(proxies *hcl.TrustedProxies, proxy netip.Addr, values []string) netip.Addr {
	text := strings.Join(values, ",")
	hops := strings.Split(text, ",")
	if proxies.Header == "forwarded" {
		hops = forwardedFor(text)
	}
	client := proxy.Unmap()
	for _, hop := range slices.Backward(hops) {
		ip, ok := parseHop(strings.TrimSpace(hop))
		if !ok {
			break
		}
		if client = ip; !isProxy(proxies, ip) {
			break
		}
	}
	return client
}

func isProxy(proxies *hcl.TrustedProxies, ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("") // a network holds no address with a zone
	return slices.ContainsFunc(proxies.Addresses, func(network netip.Prefix) bool { return network.Contains(ip) })
}

// parseHop parses an address with or without a port.
func parseHop(text string) (netip.Addr, bool) {
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().Unmap(), true
	}
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return ip.Unmap(), err == nil && ip.Zone() == ""
}

// forwardedFor returns the value of the parameter for of each element of a Forwarded header (RFC 7239,
// section 4), empty where there is none. It returns nothing for a header with an unfinished quoted
// string, because a client may have opened it.
func forwardedFor(text string) (values []string) {
	value, quoted, escaped := "", false, false
	var name, part strings.Builder
	current := &name
	endParameter := func() {
		if strings.EqualFold(strings.TrimSpace(name.String()), "for") {
			value = part.String()
		}
		name.Reset()
		part.Reset()
		current = &name
	}
	for _, c := range []byte(text) {
		switch {
		case escaped:
			current.WriteByte(c)
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
			current.WriteByte(c)
		case c == '=' && current == &name:
			current = &part
		case c == ';':
			endParameter()
		case c == ',':
			endParameter()
			values, value = append(values, value), ""
		default:
			current.WriteByte(c)
		}
	}
	if quoted {
		return nil
	}
	endParameter()
	return append(values, value)
}
