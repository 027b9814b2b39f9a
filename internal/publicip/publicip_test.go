package publicip_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"hatchel/internal/publicip"
)

func TestOnlyPublicAddressesAreAccepted(t *testing.T) {
	for text, want := range map[string]bool{
		"93.184.216.34": true, "1.1.1.1": true, "2606:4700::1111": true, "::ffff:1.1.1.1": true,
		"64:ff9b::101:101": true, "2002:0101:0101::1": true, // 1.1.1.1, translated and relayed

		"127.0.0.1": false, "127.9.9.9": false, "::1": false, "0.0.0.0": false, "0.1.2.3": false, "::": false,
		"10.1.2.3": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false, "100.64.0.1": false,
		"169.254.169.254": false, "168.63.129.16": false, "::ffff:168.63.129.16": false, "64:ff9b::a83f:8110": false, "168.63.129.17": true,
		"169.254.170.2": false, "fe80::1": false, "fe80::1%eth0": false, "2606:4700::1%eth0": false,
		"fd00:ec2::254": false, "fc00::1": false, "fec0::1": false, "::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false,
		"::ffff:169.254.169.254": false, "::127.0.0.1": false, "::ffff:0:127.0.0.1": false,
		"64:ff9b::7f00:1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b::a00:1": false, "64:ff9b:1::101:101": false,
		"2002:7f00:1::1": false, "2002:a9fe:a9fe::1": false, "2001::1": false,
		"224.0.0.1": false, "239.1.1.1": false, "ff02::1": false, "255.255.255.255": false, "240.0.0.1": false,
		"198.18.0.1": false, "192.0.0.170": false,
		"100::1": false, "5f00::1": false,
	} {
		if err := publicip.Check(netip.MustParseAddr(text)); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	if publicip.Check(netip.Addr{}) == nil {
		t.Error("no address is accepted")
	}
}

// TestEveryAddressOfANameIsChecked resolves a name to addresses of this machine, on which a server listens.
func TestEveryAddressOfANameIsChecked(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	accepted := make(chan struct{}, 100)
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			accepted <- struct{}{}
			conn.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	dialer := publicip.Dialer(time.Second)
	dialer.Resolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go answerQuestion(server, "0.0.0.0", "127.0.0.1", "127.0.0.2", "10.0.0.1", "169.254.169.254")
		return client, nil
	}}
	for _, host := range []string{
		"rebound.example", "127.0.0.1", "0.0.0.0", "::1", "::ffff:127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1",
	} {
		conn, err := dialer.DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
		if _, private := errors.AsType[*publicip.PrivateError](err); err == nil || host == "rebound.example" && !private {
			t.Errorf("%s: %v, %v", host, conn, err)
		}
	}
	if len(accepted) > 0 {
		t.Error("a connection was opened")
	}
}

// answerQuestion answers one question of a resolver over TCP, for A with the addresses.
func answerQuestion(conn net.Conn, addresses ...string) {
	defer conn.Close()
	buffer := make([]byte, 2048)
	n, err := conn.Read(buffer)
	if err != nil {
		return
	}
	var m dnsmessage.Message
	if m.Unpack(buffer[2:n]) != nil && m.Unpack(buffer[:n]) != nil {
		return
	}
	m.Response = true
	for _, text := range addresses {
		if m.Questions[0].Type == dnsmessage.TypeA {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Class: dnsmessage.ClassINET},
				Body:   &dnsmessage.AResource{A: netip.MustParseAddr(text).As4()},
			})
		}
	}
	m.Additionals = nil
	packed, _ := m.Pack()
	conn.Write(append([]byte{byte(len(packed) >> 8), byte(len(packed))}, packed...))
}

// TestAServiceWhoseNameLeadsToMetadataIsNotConnectedTo resolves a name first to this machine, and then to addresses that
// no service has: what counts is the address of each connection, not that of an earlier question.
func TestAServiceWhoseNameLeadsToMetadataIsNotConnectedTo(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	answer := []string{"127.0.0.1"}
	dialer := publicip.ServiceDialer(30 * time.Second)
	dialer.Resolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go answerQuestion(server, answer...)
		return client, nil
	}}
	conn, err := dialer.DialContext(t.Context(), "tcp", net.JoinHostPort("rebound.example", port))
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	answer = []string{"169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192"}
	conn, err = dialer.DialContext(t.Context(), "tcp", net.JoinHostPort("rebound.example", port))
	if _, refused := errors.AsType[*publicip.MetadataError](err); !refused {
		t.Errorf("%v, %v", conn, err)
	}
	for _, host := range []string{"fe80::1%lo", "fd00:ec2::254", "fd20:ce::254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe"} {
		conn, err := dialer.DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
		if _, refused := errors.AsType[*publicip.MetadataError](err); !refused {
			t.Errorf("%s: %v, %v", host, conn, err)
		}
	}
}
