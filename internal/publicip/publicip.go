// Package publicip connects to public addresses only, for requests to hosts that somebody else has chosen: such a
// request must not reach this machine, its network or the metadata service of a cloud. For hosts that a configuration
// names, it refuses the latter.
package publicip

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// Dialer returns a dialer that resolves a name once, and connects only to those of its addresses that Check accepts.
// The timeout is that of a connection.
func Dialer(timeout time.Duration) *net.Dialer {
	return &net.Dialer{Timeout: timeout, Control: control}
}

// control refuses a connection after the name was resolved, so that no second answer of the DNS counts.
func control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	return Check(at.Addr())
}

// PrivateError is the refusal of an address that is not public.
type PrivateError struct{ Address netip.Addr }

func (e *PrivateError) Error() string { return fmt.Sprintf("%s is a private address", e.Address) }

// Check returns a *PrivateError for an address that is not public: one of a network that a machine, a company or a
// cloud may have for itself, or that contains such an IPv4 address.
func Check(ip netip.Addr) error {
	if inner := embedded(ip.Unmap().WithZone("")); ip.Zone() != "" || !isPublic(inner) {
		return &PrivateError{ip.Unmap()}
	}
	return nil
}

// ServiceDialer is Dialer for a host that the configuration names: it connects to private addresses, too, but only to
// those that CheckService accepts.
func ServiceDialer(timeout time.Duration) *net.Dialer {
	return &net.Dialer{Timeout: timeout, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return CheckService(at.Addr())
	}}
}

// CheckService returns a *MetadataError for a link-local address, and for one at which a cloud tells a machine its
// credentials. The name of a service may lead there only by mistake, or by an attack on the DNS.
func CheckService(ip netip.Addr) error {
	inner := embedded(ip.Unmap().WithZone(""))
	if inner.IsLinkLocalUnicast() || slices.Contains(metadata, inner) {
		return &MetadataError{ip.Unmap()}
	}
	return nil
}

// MetadataError is the refusal of an address that no service has.
type MetadataError struct{ Address netip.Addr }

func (e *MetadataError) Error() string {
	return fmt.Sprintf("%s is an address of a cloud's metadata or of the local link", e.Address)
}

// metadata are addresses of metadata services that are not link-local.
var metadata = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"),   // AWS
	netip.MustParseAddr("fd00:ec2::23"),    // AWS, EKS
	netip.MustParseAddr("fd20:ce::254"),    // Google
	netip.MustParseAddr("168.63.129.16"),   // Azure
	netip.MustParseAddr("100.100.100.200"), // Alibaba
	netip.MustParseAddr("192.0.0.192"),     // Oracle
}

// embedded returns the IPv4 address to which a translator (RFC 6052) or a relay (RFC 3056) sends what is for an IPv6
// address, and any other address as it is.
func embedded(ip netip.Addr) netip.Addr {
	b := ip.As16()
	switch {
	case translated.Contains(ip):
		return netip.AddrFrom4([4]byte(b[12:]))
	case relayed.Contains(ip):
		return netip.AddrFrom4([4]byte(b[2:]))
	}
	return ip
}

var (
	translated = netip.MustParsePrefix("64:ff9b::/96")
	relayed    = netip.MustParsePrefix("2002::/16")
	unicast    = netip.MustParsePrefix("2000::/3") // what IANA assigns of IPv6
)

func isPublic(ip netip.Addr) bool {
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.Is6() && !unicast.Contains(ip) {
		return false
	}
	for _, network := range special {
		if network.Contains(ip) {
			return false
		}
	}
	return true
}

// special are the networks of the registries of IANA for special purposes that netip does not know. Those for
// documentation are not among them: nobody has anything there.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),        // this network (RFC 791)
	netip.MustParsePrefix("100.64.0.0/10"),    // carrier-grade NAT (RFC 6598), also private addresses in clouds
	netip.MustParsePrefix("168.63.129.16/32"), // the services that Azure has for each of its machines
	netip.MustParsePrefix("192.0.0.0/24"),     // protocol assignments (RFC 6890)
	netip.MustParsePrefix("192.88.99.0/24"),   // relays of 6to4 (RFC 7526)
	netip.MustParsePrefix("198.18.0.0/15"),    // benchmarks (RFC 2544)
	netip.MustParsePrefix("240.0.0.0/4"),      // reserved (RFC 1112)
	netip.MustParsePrefix("2001::/23"),        // protocol assignments, with Teredo (RFC 2928)
}
