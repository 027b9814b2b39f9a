package http_test

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"fmt"
	"io"
	nethttp "net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"hatchel/adapters/adaptertest"
	"hatchel/hcl/value"
)

var encoders = map[string]func(io.Writer) io.WriteCloser{
	"br": func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
	"zstd": func(w io.Writer) io.WriteCloser {
		e, _ := zstd.NewWriter(w)
		return e
	},
	"deflate":     func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
	"raw deflate": func(w io.Writer) io.WriteCloser { e, _ := flate.NewWriter(w, 1); return e },
}

// TestResponsesInEveryContentCodingAreDecoded has a service that encodes without being asked.
func TestResponsesInEveryContentCodingAreDecoded(t *testing.T) {
	for name, encoder := range encoders {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
				text := map[string]string{"/json": `{"a": 1}`, "/bomb": `"` + strings.Repeat("0", 8<<20) + `"`, "/error": `{"why": "none"}`}[r.URL.Path]
				var buf bytes.Buffer
				e := encoder(&buf)
				_, _ = io.WriteString(e, text)
				e.Close()
				w.Header().Set("Content-Encoding", strings.TrimPrefix(name, "raw "))
				w.Header().Set("Content-Type", "application/json")
				if r.URL.Path == "/error" {
					w.WriteHeader(400)
				}
				if r.URL.Path == "/broken" {
					buf = *bytes.NewBufferString("not encoded")
				}
				_, _ = w.Write(buf.Bytes())
			})
			call := func(path, as string) (any, error) {
				b := adaptertest.Bind(t, source(s.URL, "", "", fmt.Sprintf("    get = %q\n    as = %q", path, as)))
				out, err := b.Do(t.Context(), `{}`)
				if err != nil {
					return nil, err
				}
				return resolved(t, out["body"]), nil
			}
			for as, want := range map[string]any{"json": map[string]any{"a": 1}, "text": `{"a": 1}`, "bytes": value.Bytes(`{"a": 1}`)} {
				if got, err := call("/json", as); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %v, %v", as, got, err)
				}
			}
			_, err := call("/bomb", "json")
			wantPart(t, wantFault(t, err).Message, "the service's response is larger than 4 MiB; request less of it")
			_, err = call("/error", "json")
			wantPart(t, wantFault(t, err).Message, `the service returned 400 Bad Request: {"why": "none"}`)
			_, err = call("/broken", "json")
			wantPart(t, wantFault(t, err).Message, "the service's response is not valid "+strings.TrimPrefix(name, "raw ")+", although its Content-Encoding says so")
		})
	}
}

func TestAnUnknownContentCodingIsNamed(t *testing.T) {
	for _, x := range []struct{ coding, as, body, want string }{
		{"snappy", "json", "\xff\x06\x00\x00sNaPpY", "the service's response has the content encoding snappy, which is not supported; gzip, deflate, br and zstd are"},
		{"compress", "text", "\x1f\x9d\x90a", "content encoding compress,"},
		{"exi", "bytes", "$EXI", "content encoding exi,"},
		{"Sk_Live_1", "bytes", "x", "content encoding Sk_Live_1,"}, // as it is written, as a secret is found only so
		{"snappy", "json", `{"a": 1}`, ""},                         // some services name a coding that they do not use
		{"UTF-8", "bytes", "x", ""},
		{"aws-chunked", "bytes", "x", ""},
	} {
		s := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Content-Encoding", x.coding)
			_, _ = io.WriteString(w, x.body)
		})
		_, err := adaptertest.Bind(t, source(s.URL, "", "", fmt.Sprintf("    get = \"/\"\n    as = %q", x.as))).Do(t.Context(), `{}`)
		if x.want == "" {
			if err != nil {
				t.Errorf("%s: %v", x.coding, err)
			}
			continue
		}
		wantPart(t, wantFault(t, err).Message, x.want)
	}
}
