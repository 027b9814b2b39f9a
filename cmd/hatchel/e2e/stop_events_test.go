package e2e_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const eventsConfig = `
events {}
tool "plain" {
  description = "Answer."
  input "text" { type = optional(string) }
  text = "plain"
}
`

func TestAServerThatStopsEndsStreamsOfEventsAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(eventsConfig), 0o644); err != nil {
		t.Fatal(err)
	}
	r := startReplica(t, dir, "")
	res, err := http.Get(r.url + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	stalled, err := net.Dial("tcp", r.address())
	if err != nil {
		t.Fatal(err)
	}
	defer stalled.Close()
	stalled.(*net.TCPConn).SetReadBuffer(4096)
	if _, err := io.WriteString(stalled, "GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	read := make(chan string, 1)
	go func() {
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Error(err)
		}
		read <- string(text)
	}()
	c := newProtocolClient(r.url, false)
	c.arguments["text"] = strings.Repeat("x", 7000)
	for range 1000 { // more than the buffers of a connection have room for
		if _, err := c.call("plain"); err != nil {
			t.Fatal(err)
		}
	}
	c.transport.CloseIdleConnections()
	limit := 25 * time.Second // the grace period is 30s
	if *bounds {
		limit = 4 * time.Second
	}
	began := time.Now()
	r.terminate(t)
	if text := <-read; !strings.Contains(text, `"state":"stopping"`) || !strings.HasSuffix(text, "\n\n") {
		t.Errorf("the stream ends with %q", text[max(0, len(text)-300):])
	}
	r.awaitEnd(t)
	if took := time.Since(began); took > limit {
		t.Errorf("the server took %v to stop", took)
	}
}
