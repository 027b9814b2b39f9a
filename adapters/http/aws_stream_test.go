package http

import (
	"bytes"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/credential/aws"
	"hatchel/adapters/credential/aws/awstest"
	"hatchel/adapters/credential/cloudtest"
)

// TestAStreamedBodyIsSigned streams a body, as one with uploaded files is, and repeats it.
func TestAStreamedBodyIsSigned(t *testing.T) {
	const key, secret = "AKIASTREAM", "stream-secret"
	v := &awstest.Verifier{Service: "s3", Region: "eu-central-1", Key: func(id string) (awstest.Key, bool) {
		return awstest.Key{ID: key, Secret: secret}, id == key
	}}
	want, requests := strings.Repeat("a part of a file, ", 10_000), 0
	server := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := v.Verify(r, body); err != nil || string(body) != want || r.ContentLength != int64(len(want)) {
			t.Errorf("%v, %d of %d bytes", err, len(body), r.ContentLength)
		}
		if requests++; requests == 1 {
			w.WriteHeader(nethttp.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	env := map[string]string{"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
	signed := &aws.SigV4{Service: "s3", Identity: aws.Identity{Region: "eu-central-1"}}
	s := newService(nil, 0, adapters.Env{Defer: func(func() error) {}})
	provider := aws.NewProvider(&signed.Identity, cloudtest.New(t).Cloud(env), cloudtest.Fetches(t))
	s.decoding = aws.NewTransport(signed, provider, s.decoding)
	a := &action{block: &block{As: asText, OKStatus: []string{"2xx"}}, service: s, method: "PUT", maxBody: 1 << 20,
		repeatable: true, retry: (&retry{Attempts: 2}).policy(true)}
	a.okStatus, _ = parseStatuses(a.block.OKStatus)
	header := nethttp.Header{"Content-Type": {"multipart/form-data; boundary=x"}}
	r := &compiledRequest{target: []byte(server.URL + "/k"), header: header, call: &adapters.Call{}, stream: new(bodyStream)}
	r.stream.addText(want[:100])
	r.stream.pieces = append(r.stream.pieces, func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader([]byte(want[100:]))), nil
	})
	r.stream.size = int64(len(want))
	if _, err := a.roundTrip(t.Context(), r); err != nil || requests != 2 {
		t.Errorf("%v after %d requests", err, requests)
	}
}
