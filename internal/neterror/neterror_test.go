package neterror_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hatchel/internal/neterror"
)

// The errors are those of the library: each is made by a request that fails.
func TestTheReasonOfARequestThatFails(t *testing.T) {
	plain, secure := httptest.NewServer(http.NotFoundHandler()), httptest.NewUnstartedServer(http.NotFoundHandler())
	defer plain.Close()
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	closing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer closing.Close()
	go func() {
		for {
			conn, err := closing.Accept()
			if err != nil {
				return
			}
			conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}
	}()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	trusted := secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	get := func(url string, config *tls.Config) error {
		transport := &http.Transport{TLSClientConfig: config}
		defer transport.CloseIdleConnections()
		resp, err := (&http.Client{Transport: transport}).Get(url)
		if err == nil {
			resp.Body.Close()
			return errors.New("the request succeeds")
		}
		return err
	}
	expired, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	dial := func(network, address string) error {
		_, err := new(net.Dialer).DialContext(t.Context(), network, address)
		return err
	}
	_, timeout := new(net.Dialer).DialContext(expired, "tcp", closing.Addr().String())
	for name, c := range map[string]struct {
		err  error
		want neterror.Reason
	}{
		"nothing listens":    {get("http://"+free.Addr().String(), nil), neterror.Refused},
		"another name":       {get(secure.URL, &tls.Config{RootCAs: trusted, ServerName: "other.example"}), neterror.OtherName},
		"another authority":  {get(secure.URL, &tls.Config{RootCAs: x509.NewCertPool()}), neterror.Untrusted},
		"expired":            {get(secure.URL, &tls.Config{RootCAs: trusted, Time: func() time.Time { return time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC) }}), neterror.Expired},
		"no TLS":             {get(strings.Replace(plain.URL, "http:", "https:", 1), nil), neterror.NoTLS},
		"other versions":     {get(secure.URL, &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}), neterror.NoTLS},
		"reset":              {get("http://"+closing.Addr().String(), nil), neterror.Reset},
		"no such host":       {&net.DNSError{Name: "x", IsNotFound: true}, neterror.NoSuchHost},
		"no name server":     {&net.DNSError{Name: "x", IsTimeout: true}, neterror.Unresolved},
		"no route":           {os.NewSyscallError("connect", syscall.EHOSTUNREACH), neterror.Unreachable},
		"no socket":          {dial("unix", filepath.Join(t.TempDir(), "none")), neterror.NoSocket},
		"a missing file":     {os.ErrNotExist, neterror.Unknown},
		"no time":            {timeout, neterror.Timeout},
		"something else":     {errors.New("x"), neterror.Unknown},
		"no error":           {nil, neterror.Unknown},
		"an error around it": {fmt.Errorf("x: %w", syscall.ECONNREFUSED), neterror.Refused},
	} {
		if got := neterror.Of(c.err); got != c.want {
			t.Errorf("%s: %d, want %d: %v", name, got, c.want, c.err)
		}
	}
}
