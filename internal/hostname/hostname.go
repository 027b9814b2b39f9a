// Package hostname parses the hosts of URLs and of Host headers: names of the DNS, and IP addresses.
package hostname

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxName  = 253 // bytes of a name (RFC 1035)
	maxLabel = 63  // bytes between two dots
)

// Parse returns a host without a port in the form in which hosts are compared: in lower case and without the dot at
// the end of a name; an address as netip writes it, without brackets. It reports false for a text that is neither a
// name in ASCII nor an address, and for an address with a zone.
func Parse(text string) (host string, ok bool) {
	if inner, bracketed := strings.CutPrefix(text, "["); bracketed {
		inner, closed := strings.CutSuffix(inner, "]")
		ip, err := netip.ParseAddr(inner)
		return addressText(ip), closed && err == nil && ip.Is6() && ip.Zone() == ""
	}
	if ip, err := netip.ParseAddr(text); err == nil {
		return addressText(ip), ip.Zone() == ""
	}
	if strings.ContainsFunc(text, func(c rune) bool { return c >= utf8.RuneSelf }) {
		return "", false // some letters become ASCII in lower case, where browsers find another name
	}
	host = strings.ToLower(strings.TrimSuffix(text, "."))
	if ip, err := netip.ParseAddr(host); err == nil { // with a dot at its end
		return addressText(ip), ip.Is4()
	}
	return host, isName(host)
}

func addressText(ip netip.Addr) string {
	if !ip.IsValid() {
		return ""
	}
	return ip.Unmap().String()
}

// isName reports whether a text in lower case is a name. Browsers read a name whose last label is a number as an
// address.
func isName(text string) bool {
	if text == "" || len(text) > maxName {
		return false
	}
	var label string
	for label = range strings.SplitSeq(text, ".") {
		if label == "" || len(label) > maxLabel || strings.ContainsFunc(label, isForeign) {
			return false
		}
	}
	_, err := strconv.ParseUint(label, 0, 64)
	return err != nil && strings.Trim(label, "0123456789") != ""
}

// isForeign reports whether a name has no such character. Names of containers may have an underscore.
func isForeign(c rune) bool {
	return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_'
}

// Split returns the host of a Host header, in the form of Parse, and its port, empty for none.
func Split(hostport string) (host, port string, ok bool) {
	host = hostport
	if at := strings.LastIndexByte(hostport, ':'); at >= 0 && !strings.HasSuffix(hostport, "]") {
		host, port = hostport[:at], hostport[at+1:]
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return "", "", false
		}
	}
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		return "", "", false // an IPv6 address needs brackets
	}
	host, ok = Parse(host)
	return host, port, ok
}

// IsLocal reports whether a host in the form of Parse is this machine: localhost, or a loopback address.
func IsLocal(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// IsAddress reports whether a host in the form of Parse is an IP address, which no page can resolve to another one.
func IsAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// Origin returns the origin of a URL as browsers send it, of a host in the form of Parse.
func Origin(scheme, host, port string) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" && port != defaultPorts[scheme] {
		host += ":" + port
	}
	return scheme + "://" + host
}

var defaultPorts = map[string]string{"http": "80", "https": "443"}
