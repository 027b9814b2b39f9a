package contentcoding

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// encode encodes a text. raw is the name of deflate without the header of zlib.
func encode(t *testing.T, coding string, content []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip", "x-gzip":
		w = gzip.NewWriter(&buf)
	case "deflate":
		w = zlib.NewWriter(&buf)
	case "raw":
		w, _ = flate.NewWriter(&buf, flate.BestCompression)
	case "br":
		w = brotli.NewWriterLevel(&buf, 2)
	case "zstd":
		w, _ = zstd.NewWriter(&buf, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func response(body io.Reader, codings ...string) *http.Response {
	return &http.Response{
		Header: http.Header{"Content-Encoding": codings, "Content-Length": {"1"}}, ContentLength: 1, Body: io.NopCloser(body),
	}
}

func headerOf(coding string) string {
	if coding == "raw" {
		return "deflate"
	}
	return coding
}

var all = []string{"gzip", "x-gzip", "deflate", "raw", "br", "zstd"}

func TestEveryCodingIsDecoded(t *testing.T) {
	random := make([]byte, 20_000)
	source := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte(source.IntN(256))
	}
	for _, content := range [][]byte{nil, []byte("a"), []byte(`{"a": 1}`), bytes.Repeat([]byte("abc"), 20_000), random} {
		for _, outer := range all {
			for _, inner := range append([]string{""}, all...) {
				encoded, header := encode(t, outer, content), headerOf(outer)
				if inner != "" {
					encoded, header = encode(t, outer, encode(t, inner, content)), headerOf(inner)+", "+strings.ToUpper(headerOf(outer))
				}
				resp := response(iotest.HalfReader(bytes.NewReader(encoded)), header)
				Decode(resp)
				got, err := io.ReadAll(resp.Body)
				if err != nil || !bytes.Equal(got, content) {
					t.Errorf("%s of %d bytes: %d bytes, %v", header, len(content), len(got), err)
				}
				if len(resp.Header) > 0 || resp.ContentLength != -1 || !resp.Uncompressed {
					t.Errorf("%s: %v, %d", header, resp.Header, resp.ContentLength)
				}
			}
		}
	}
}

func TestHeadersNameTheCodings(t *testing.T) {
	gzipped := string(encode(t, "gzip", []byte("x")))
	for _, c := range []struct {
		codings             []string
		body, want, unknown string
	}{
		{nil, "x", "x", ""},
		{[]string{""}, "x", "x", ""},
		{[]string{"identity"}, "x", "x", ""},
		{[]string{"GZip"}, gzipped, "x", ""},
		{[]string{"identity, gzip", "identity"}, gzipped, "x", ""},
		{[]string{"gzip"}, "", "", ""}, // an empty body is empty in every coding
		{[]string{"snappy"}, "x", "x", "snappy"},
		{[]string{"snappy, gzip"}, gzipped, "x", "snappy"},
		{[]string{"gzip, snappy"}, gzipped, gzipped, "gzip, snappy"},
		{[]string{"UTF-8"}, "x", "x", ""},
		{[]string{"aws-chunked"}, "x", "x", ""},
		{[]string{"gzip,gzip,gzip,gzip,gzip,gzip"}, gzipped, gzipped, "gzip, gzip, gzip, gzip, gzip, gzip"},
	} {
		resp := response(strings.NewReader(c.body), c.codings...)
		Decode(resp)
		got, err := io.ReadAll(resp.Body)
		if string(got) != c.want || err != nil || Unknown(resp.Header) != c.unknown {
			t.Errorf("%q: %q, %v, unknown %q", c.codings, got, err, Unknown(resp.Header))
		}
	}
}

func TestABrokenBodyNamesItsCoding(t *testing.T) {
	content := []byte(strings.Repeat("some text ", 1000))
	for _, coding := range all {
		whole := encode(t, coding, content)
		for name, broken := range map[string][]byte{"cut": whole[:len(whole)/2], "text": []byte("this is not encoded"), "one byte": whole[:1]} {
			resp := response(bytes.NewReader(broken), headerOf(coding))
			Decode(resp)
			_, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			var of *Error
			if !errors.As(err, &of) || of.Coding != headerOf(coding) {
				t.Errorf("%s, %s: %v", coding, name, err)
			}
		}
		failed := errors.New("reset")
		resp := response(io.MultiReader(bytes.NewReader(whole[:len(whole)/2]), iotest.ErrReader(failed)), headerOf(coding))
		Decode(resp)
		if _, err := io.ReadAll(resp.Body); err != failed {
			t.Errorf("%s: an error of the network became %v", coding, err)
		}
	}
}

// TestABombTakesLittleMemory reads the beginning of bodies that are small and decode to 32 MiB, also in two codings.
func TestABombTakesLittleMemory(t *testing.T) {
	zeros := make([]byte, 32<<20)
	for _, coding := range []string{"gzip", "raw", "br", "zstd"} {
		bomb := encode(t, coding, zeros)
		for n, body := range [][]byte{bomb, encode(t, "gzip", bomb)} {
			header := headerOf(coding)
			if n == 1 {
				header += ", gzip"
			}
			t.Run(fmt.Sprintf("%s with %d bytes", header, len(body)), func(t *testing.T) {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				resp := response(bytes.NewReader(body), header)
				Decode(resp)
				if _, err := io.CopyN(io.Discard, resp.Body, 4<<20); err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				runtime.ReadMemStats(&after)
				if took := after.TotalAlloc - before.TotalAlloc; took > 24<<20 {
					t.Errorf("it took %d MiB", took>>20)
				}
			})
		}
	}
}

func TestAWindowBeyondTheLimitIsRefused(t *testing.T) {
	var buf bytes.Buffer
	w, err := zstd.NewWriter(&buf, zstd.WithWindowSize(64<<20))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write(make([]byte, 1<<20))
	_ = w.Flush()
	_ = w.Close()
	resp := response(&buf, "zstd")
	Decode(resp)
	if _, err := io.ReadAll(resp.Body); !errors.As(err, new(*Error)) {
		t.Error(err)
	}
}

// TestATransportReadsEachHeader has a service that names each coding in a header of its own, as proxies add theirs.
func TestATransportReadsEachHeader(t *testing.T) {
	content := []byte(`{"a": 1}`)
	body, codings := []byte(nil), []string(nil)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, coding := range codings {
			w.Header().Add("Content-Encoding", coding)
		}
		w.Header().Set("Seen", r.Header.Get("Accept-Encoding"))
		_, _ = w.Write(body)
	}))
	defer s.Close()
	next := new(http.Transport)
	defer next.CloseIdleConnections()
	ask := func(method, name, text string) (*http.Response, string, error) {
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if name != "" {
			r.Header.Set(name, text)
		}
		resp, err := Transport{next}.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.Request != r {
			t.Error("the request of the response is another one")
		}
		got, err := io.ReadAll(resp.Body)
		return resp, string(got), err
	}
	for _, outer := range all {
		for _, inner := range all {
			body, codings = encode(t, outer, encode(t, inner, content)), []string{headerOf(inner), headerOf(outer)}
			if resp, got, err := ask("GET", "", ""); got != string(content) || err != nil || resp.Header["Content-Encoding"] != nil {
				t.Errorf("%v: %q, %v, %v", codings, got, err, resp.Header)
			}
		}
	}
	whole := encode(t, "gzip", bytes.Repeat(content, 100))
	body, codings = whole[:len(whole)-8], []string{"gzip"}
	if _, _, err := ask("GET", "", ""); !errors.As(err, new(*Error)) {
		t.Errorf("a body that is cut: %v", err)
	}
	codings = nil
	for _, c := range []struct{ method, name, text, want string }{
		{"GET", "", "", "gzip"}, {"POST", "", "", "gzip"}, {"HEAD", "", "", ""}, {"GET", "Range", "bytes=0-1", ""},
		{"GET", "Accept-Encoding", "br", "br"},
	} {
		if resp, _, _ := ask(c.method, c.name, c.text); resp.Header.Get("Seen") != c.want {
			t.Errorf("%+v: %q", c, resp.Header.Get("Seen"))
		}
	}
}
