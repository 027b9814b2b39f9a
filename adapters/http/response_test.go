package http_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/hcl/value"
)

func respondWith(status int, kind, text string) nethttp.HandlerFunc {
	return func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

func TestBodyIsDecodedAsRequested(t *testing.T) {
	for _, x := range []struct {
		as, kind, text string
		want           any
	}{
		{"json", "application/json", "\ufeff [1, 2] \n", []any{1, 2}},
		{"json", "text/plain", `"x"`, "x"},
		{"json", "application/json", "", nil},
		{"json", "application/json", " \n", nil},
		{"text", "text/plain; charset=utf-8", "é\x00", "é\x00"},
		{"text", "text/plain; charset=ISO-8859-1", "caf\xe9", "café"},
		{"bytes", "image/png", "\x89PNG\xff", value.Bytes("\x89PNG\xff")},
	} {
		t.Run(fmt.Sprintf("%s %q", x.as, x.text), func(t *testing.T) {
			s := serve(t, respondWith(200, x.kind, x.text))
			out, err := adaptertest.Bind(t, source(s.URL, "", "", fmt.Sprintf("    get = \"/\"\n    as = %q", x.as))).Do(t.Context(), `{}`)
			if err != nil {
				t.Fatal(err)
			}
			if got := resolved(t, out["body"]); !reflect.DeepEqual(got, x.want) {
				t.Errorf("body %#v", got)
			}
		})
	}
}

func TestUnexpectedBodyIsExplained(t *testing.T) {
	for _, x := range []struct{ block, kind, text, want string }{
		{`as = "json"`, "text/html", "<html><head><title>x</title></head><body><h1>Log in</h1> please</body>", "the service's response is not JSON but text/html: Log in please"},
		{`as = "json"`, "application/json", `{"a": 1,}`, "the service's response is not JSON, although its content type is: "},
		{`as = "json"`, "application/json", `{"a": "` + "\xff" + `"}`, "the service's response is not UTF-8: 0xFF at byte 8, in line 1; the tool must name the encoding, such as encoding = \"windows-1252\", or use as = \"bytes\""},
		{`as = "json"`, "application/json", strings.Repeat("[", 600) + strings.Repeat("]", 600), "the service's response is nested too deeply"},
		{`as = "json"`, "application/json", `{"user": {"role": "reader", "role": "admin"}}`, `the service's response has more than one meaning: the key "role" appears twice in one object; as = "text" reads it as it is`},
		{`as = "text"`, "text/plain", "\xff\x00", `the service's response is not UTF-8: 0xFF at byte 1`},
		{`as = "text"`, "text/plain; charset=shift_jis", "\x83", "the service's response is not shift_jis: 0x83 at byte 1, in line 1; the tool must name another encoding"},
		{`as = "text"`, "text/plain; charset=Sk_Live_1", "x", "the service's response is text in Sk_Live_1, which"},
		{`as = "text"`, "text/plain; charset=utf-7", "+AGEA-", "the service's response is text in utf-7, which is not supported; the tool must name the encoding that it is in"},
		{`response = object({ id = integer, tags = list(string) })`, "application/json", `{"id": "x", "tags": ["a", 1]}`, "the service's response does not have the expected type: id: "},
	} {
		t.Run(x.want, func(t *testing.T) {
			s := serve(t, respondWith(200, x.kind, x.text))
			_, err := adaptertest.Bind(t, source(s.URL, "", "", "    get = \"/\"\n    "+x.block)).Do(t.Context(), `{}`)
			wantPart(t, wantFault(t, err).Message, x.want)
		})
	}
}

func TestTypedResponseMayHaveMoreMembers(t *testing.T) {
	s := serve(t, respond(`{"id": 7.0, "new": true, "inner": [{"a": "x", "b": 1}]}`))
	out, err := adaptertest.Bind(t, source(s.URL, "", "", `    get = "/"
    response = object({ id = integer, inner = list(object({ a = string })), more = optional(string, "none") })`)).Do(t.Context(), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"id": 7, "new": true, "inner": []any{map[string]any{"a": "x", "b": 1}}, "more": "none"}
	if got := resolved(t, out["body"]); !reflect.DeepEqual(got, want) {
		t.Errorf("body %#v", got)
	}
}

func TestRejectedStatusIsAFaultWithAnExcerpt(t *testing.T) {
	for _, x := range []struct {
		status     int
		kind, text string
		want       string
	}{
		{404, "application/json", `{"error":"no order 42"}`, `the service returned 404 Not Found: {"error":"no order 42"}`},
		{500, "text/plain", "boom\x1b[31m\r\n\u202eat s3cret-k3y line", "the service returned 500 Internal Server Error: boom at (secret) line"},
		{403, "image/png", "\x89PNG", "the service returned 403 Forbidden"},
		{400, "text/html", strings.Repeat("<br>", 2046) + "at s3cret-k3y line", "the service returned 400 Bad Request: at"}, // the excerpt ends inside of the secret
		{599, "", "", "the service returned 599"},
		{301, "", "", "the service returned 301 Moved Permanently"},
	} {
		t.Run(fmt.Sprint(x.status), func(t *testing.T) {
			s := serve(t, respondWith(x.status, x.kind, x.text))
			_, err := adaptertest.Bind(t, source(s.URL, "  auth {\n    bearer = secret.key\n  }", "", `    get = "/"`)).Do(t.Context(), `{}`)
			if f := wantFault(t, err); f.Message != x.want || f.Status != x.status {
				t.Errorf("%q, status %d", f.Message, f.Status)
			}
		})
	}
	t.Run("a long body is truncated", func(t *testing.T) {
		s := serve(t, respondWith(400, "text/plain", strings.Repeat("é", 5000)))
		_, err := adaptertest.Bind(t, source(s.URL, "", "", `    get = "/"`)).Do(t.Context(), `{}`)
		if n := len([]rune(wantFault(t, err).Message)); n > 350 {
			t.Errorf("%d characters", n)
		}
	})
}

func TestStatusInOKStatusIsASuccess(t *testing.T) {
	s := serve(t, respondWith(404, "application/json", `{"found": false}`))
	for _, statuses := range []string{`["2xx", "404"]`, `["2xx", 404]`} {
		out, err := adaptertest.Bind(t, source(s.URL, "", "", "    get = \"/\"\n    ok_status = "+statuses)).Do(t.Context(), `{}`)
		if err != nil || out["status"] != 404 {
			t.Errorf("%s: %v, %v", statuses, out, err)
		}
	}
}

func compress(t *testing.T, text string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestCompressedResponse(t *testing.T) {
	small, bomb := compress(t, `{"a": 1}`), compress(t, `"`+strings.Repeat("0", 16<<20)+`"`)
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		switch r.URL.Path {
		case "/small":
			_, _ = w.Write(small)
		case "/bomb":
			_, _ = w.Write(bomb)
		default:
			_, _ = w.Write([]byte("this is not compressed"))
		}
	})
	b := adaptertest.Bind(t, source(s.URL, "", `  input "p" { type = string }`, `    get = "/${input.p}"`))
	t.Run("is decompressed", func(t *testing.T) {
		out, err := b.Do(t.Context(), `{"p": "small"}`)
		if err != nil || !reflect.DeepEqual(resolved(t, out["body"]), map[string]any{"a": 1}) {
			t.Errorf("%v, %v", out, err)
		}
	})
	t.Run("is limited by its decompressed size", func(t *testing.T) {
		_, err := b.Do(t.Context(), `{"p": "bomb"}`)
		wantPart(t, wantFault(t, err).Message, "the service's response is larger than 4 MiB; request less of it")
	})
	t.Run("is rejected if it is damaged", func(t *testing.T) {
		_, err := b.Do(t.Context(), `{"p": "broken"}`)
		wantPart(t, wantFault(t, err).Message, "the service's response is not valid gzip, although its Content-Encoding says so")
	})
}

func TestLargeResponseIsRejected(t *testing.T) {
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.URL.Path == "/chunked" {
			for range 64 {
				_, _ = w.Write(bytes.Repeat([]byte(" "), 1024))
				w.(nethttp.Flusher).Flush()
			}
			return
		}
		_, _ = w.Write(bytes.Repeat([]byte(" "), 2049))
	})
	for _, path := range []string{"chunked", "known"} {
		t.Run(path, func(t *testing.T) {
			b := adaptertest.Bind(t, source(s.URL, `  max_body = "2KiB"`, "", fmt.Sprintf(`    get = "/%s"`, path)))
			_, err := b.Do(t.Context(), `{}`)
			wantPart(t, wantFault(t, err).Message, "the service's response is larger than 2 KiB")
		})
	}
}

func TestRedirects(t *testing.T) {
	var otherRequests int
	other := httptest.NewServer(nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) { otherRequests++ }))
	defer other.Close()
	s := serve(t, nil)
	s.Config.Handler = nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		switch r.URL.Path {
		case "/same":
			nethttp.Redirect(w, r, "/end?from=same", nethttp.StatusFound)
		case "/keep":
			nethttp.Redirect(w, r, "/end", nethttp.StatusPermanentRedirect)
		case "/away":
			nethttp.Redirect(w, r, other.URL+"/x", nethttp.StatusFound)
		case "/scheme":
			nethttp.Redirect(w, r, "file:///etc/passwd", nethttp.StatusFound)
		case "/network":
			nethttp.Redirect(w, r, "//"+strings.TrimPrefix(other.URL, "http://")+"/x", nethttp.StatusFound)
		case "/loop":
			nethttp.Redirect(w, r, "/loop", nethttp.StatusFound)
		default:
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, `{"method": %q, "key": %q, "referer": %q, "body": %q}`, r.Method, r.Header.Get("Authorization"), r.Header.Get("Referer"), body)
		}
	})
	call := func(verb, path string) (map[string]any, error) {
		b := adaptertest.Bind(t, source(s.URL, "  auth {\n    bearer = secret.key\n  }", "", fmt.Sprintf("    %s = %q", verb, path)))
		out, err := b.Do(t.Context(), `{}`)
		if err != nil {
			return nil, err
		}
		return resolved(t, out["body"]).(map[string]any), nil
	}
	for _, x := range []struct{ verb, path, method string }{{"get", "/same", "GET"}, {"post", "/keep", "POST"}} {
		t.Run("on the host are followed/"+x.verb+x.path, func(t *testing.T) {
			body, err := call(x.verb, x.path)
			if err != nil || body["method"] != x.method || body["key"] != "Bearer s3cret-k3y" || body["referer"] != "" {
				t.Errorf("%v, %v", body, err)
			}
		})
	}
	for path, want := range map[string]string{
		"/away": "a redirect to " + other.URL + "/x that is not followed: it is on another host", "/scheme": "another host", "/network": "another host",
		"/loop": "a redirect to /loop that is not followed: more than 5 redirects",
	} {
		t.Run("to other hosts or without end are rejected"+path, func(t *testing.T) {
			_, err := call("get", path)
			wantPart(t, redirectFault(t, err).Message, want)
			if otherRequests > 0 {
				t.Error("the other host received a request")
			}
		})
	}
	t.Run("are not followed with redirects = 0", func(t *testing.T) {
		b := adaptertest.Bind(t, source(s.URL, "  redirects = 0", "", `    get = "/same"`))
		_, err := b.Do(t.Context(), `{}`)
		if f := wantFault(t, err); f.Status != 302 || !strings.Contains(f.Message, "a redirect to /end?from=same that is not followed") {
			t.Error(f.Message)
		}
	})
}

// serveTCP starts a server that calls serve with each connection after it has read the head of a request.
func serveTCP(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				buf := make([]byte, 4096)
				if _, err := conn.Read(buf); err == nil {
					serve(conn)
				}
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

// resetConn makes closing the connection reset it.
func resetConn(conn net.Conn) {
	_ = conn.(*net.TCPConn).SetLinger(0)
}

func TestBrokenServiceIsExplained(t *testing.T) {
	secure := httptest.NewUnstartedServer(respond(`{}`))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewServer(respond(`{}`))
	defer plain.Close()
	for name, x := range map[string]struct{ url, want string }{
		"closed port":           {"http://127.0.0.1:1", "the service refuses connections; it may be down"},
		"unknown host":          {"http://no-such-host.invalid", "the service's host name could not be resolved"},
		"untrusted certificate": {secure.URL, "the service's certificate is not signed by a trusted authority"},
		"no TLS":                {strings.Replace(plain.URL, "http:", "https:", 1), "no secure connection to the service could be made"},
		"reset":                 {serveTCP(t, resetConn), "the connection to the service was closed before the response was complete"},
		"incomplete response": {serveTCP(t, func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\": 1")
		}), "the connection to the service was closed before the response was complete"},
		"not HTTP": {serveTCP(t, func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-x\r\n\r\n") }), "not valid HTTP"},
		"large headers": {serveTCP(t, func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n"+strings.Repeat("X-A: "+strings.Repeat("a", 1000)+"\r\n", 400)+"\r\n")
		}), "the headers of the service's response are too large"},
		"slow body": {serveTCP(t, func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\"")
			_, _ = io.Copy(io.Discard, c)
		}), "the service did not respond within 200ms"},
		"another protocol": {serveTCP(t, func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
			_, _ = io.Copy(io.Discard, c)
		}), "101 Switching Protocols"},
		"no response": {serveTCP(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }), "the service did not respond within 200ms"},
	} {
		t.Run(name, func(t *testing.T) {
			timeout := "60s"
			if strings.Contains(x.want, "200ms") {
				timeout = "200ms"
			}
			for verb, mayWrite := range map[string]bool{"get": false, "post": true} {
				_, err := adaptertest.Bind(t, source(x.url, fmt.Sprintf("  timeout = %q", timeout), "", fmt.Sprintf(`    %s = "/"`, verb))).Do(t.Context(), `{}`)
				f := wantFault(t, err)
				wantPart(t, f.Message, x.want)
				if strings.Contains(f.Message, "not known whether") && !mayWrite {
					t.Error(f.Message)
				}
			}
		})
	}
}

func TestUnknownOutcomeOfAWriteIsReported(t *testing.T) {
	b := adaptertest.Bind(t, source(serveTCP(t, resetConn), "", "", `    post = "/"`))
	_, err := b.Do(t.Context(), `{}`)
	if wantFault(t, err).Change != adapters.ChangeUnknown {
		t.Error(err)
	}
}

func TestConnectionsAreReused(t *testing.T) {
	var opened atomic.Int32
	s := httptest.NewUnstartedServer(respond(`{"a": "b"}`))
	s.Config.ConnState = func(_ net.Conn, state nethttp.ConnState) {
		if state == nethttp.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	b := adaptertest.Bind(t, source(s.URL, "", "", `    get = "/"`))
	for range 20 {
		if _, err := b.Do(t.Context(), `{}`); err != nil {
			t.Fatal(err)
		}
	}
	if n := opened.Load(); n > 5 { // one, but on a busy machine a connection may be returned late
		t.Errorf("%d connections", n)
	}
}

func TestContextEndsTheCall(t *testing.T) {
	s := serveTCP(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	b := adaptertest.Bind(t, source(s, "", "", "    get = \"/\"\n    retry {\n      attempts = 5\n    }"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Do(ctx, `{}`); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
