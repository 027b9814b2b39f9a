package mcp_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/tools/txtar"
)

// The archives cover what only HTTP has: statuses, headers, and requests that no correct client
// sends.
func TestHTTPMatchesTheArchives(t *testing.T) {
	archives, _ := filepath.Glob("testdata/http/*.txtar")
	if len(archives) == 0 {
		t.Fatal("no archives")
	}
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runHTTPArchive(t, path) })
		})
	}
}

func runHTTPArchive(t *testing.T, path string) {
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(newFakeHandler(), wireOptions)
	client, stop := startHTTP(t, withToolsets(s))
	defer stop()
	session, got := "", ""
	changed := false
	for i, f := range a.Files {
		switch f.Name {
		case "client":
			raw := strings.ReplaceAll(expand(string(f.Data)), "SESSION", session)
			r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(addContentLength(raw))))
			if err != nil {
				t.Fatalf("section %d: %v", i+1, err)
			}
			r.RequestURI, r.URL.Scheme, r.URL.Host = "", "http", r.Host
			reply, err := client.Do(r)
			if err != nil {
				t.Fatalf("section %d: %v", i+1, err)
			}
			if id := reply.Header.Get("Mcp-Session-Id"); id != "" {
				session = id
			}
			got = formatResponse(reply)
		case "server":
			if session != "" {
				got = strings.ReplaceAll(got, session, "SESSION")
			}
			if *update {
				changed = changed || got != string(f.Data)
				a.Files[i].Data = []byte(got)
			} else if got != string(f.Data) {
				t.Errorf("section %d of %s:\n--- got\n%s--- want\n%s", i+1, path, got, f.Data)
			}
		default:
			t.Fatalf("%s has a section %q", path, f.Name)
		}
	}
	if changed {
		os.WriteFile(path, txtar.Format(a), 0o644)
	}
}

// addContentLength completes a request of an archive.
func addContentLength(raw string) string {
	head, body, _ := strings.Cut(raw, "\n\n")
	head, body = strings.TrimSpace(head), strings.TrimSuffix(body, "\n")
	return fmt.Sprintf("%s\r\nContent-Length: %d\r\n\r\n%s", strings.ReplaceAll(head, "\n", "\r\n"), len(body), body)
}

// formatResponse returns a response in the form of the archives.
func formatResponse(reply *http.Response) string {
	defer reply.Body.Close()
	var b bytes.Buffer
	fmt.Fprintln(&b, reply.Status)
	for _, h := range []string{"Allow", "Content-Type", "Mcp-Session-Id"} {
		if v := reply.Header.Get(h); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", h, v)
		}
	}
	body, _ := io.ReadAll(reply.Body)
	if len(body) > 0 {
		fmt.Fprintf(&b, "\n%s\n", bytes.TrimSuffix(body, []byte("\n")))
	}
	return b.String()
}
