package issuer_test

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"testing"

	"hatchel/runtime/edge/auth/issuer"
)

// Package net/http quotes responses that it cannot read. In such a one may be a token, and errors are logged.
func TestNoErrorHasTheResponse(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, response := range []string{
		`{"access_token":"MARKER"}`, "MARKER\r\n\r\n", "HTTP/1.1 MARKER\r\n\r\n", "MARKER 200 OK\r\n\r\n",
		ok + "MARKER\r\n\r\n", ok + " MARKER: x\r\n\r\n", ok + "Content-Length: MARKER\r\n\r\n",
		ok + "Transfer-Encoding: MARKER\r\n\r\n", ok + "Transfer-Encoding: chunked\r\n\r\nMARKER\r\n\r\n",
		"HTTP/1.1 302 Found\r\nLocation: http://[MARKER\r\n\r\n",
		ok + "Transfer-Encoding: chunked\r\n\r\n0\r\nMARKER\r\n\r\n",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				http.ReadRequest(bufio.NewReader(c))
				c.Write([]byte(response))
				c.Close()
			}
		}()
		req, err := http.NewRequest(http.MethodGet, "http://"+l.Addr().String()+"/token", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = issuer.NewClient().Do(req); err == nil || strings.Contains(err.Error(), "MARKER") {
			t.Errorf("%q gives %v", response, err)
		}
	}
}
