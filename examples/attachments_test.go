package examples_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// attach uploads a file as a program on this machine does, and returns what names it in a call.
func (s *server) attach(name, kind string, content []byte) map[string]any {
	s.t.Helper()
	req, err := http.NewRequest("POST", strings.TrimSuffix(s.url, "/mcp")+"/files", bytes.NewReader(content))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	said, err := io.ReadAll(res.Body)
	var up struct {
		ID string `json:"file_id"`
	}
	if err != nil || res.StatusCode != http.StatusCreated || json.Unmarshal(said, &up) != nil {
		s.t.Fatalf("%d: %s, %v", res.StatusCode, said, err)
	}
	return map[string]any{"file_id": up.ID}
}

func TestDocumentsAreKeptReadAndArchived(t *testing.T) {
	t.Parallel()
	var got []string
	archive := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(1 << 20); err != nil {
			t.Error(err)
			return
		}
		got = append(got, r.FormValue("title"))
		for _, name := range []string{"scan", "attachment"} {
			for _, h := range r.MultipartForm.File[name] {
				in, err := h.Open()
				if err != nil {
					t.Error(err)
					continue
				}
				content, _ := io.ReadAll(in)
				in.Close()
				got = append(got, fmt.Sprintf("%s %s %s %q", name, h.Filename, h.Header.Get("Content-Type"), content))
			}
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"number":12}`)
	}))
	t.Cleanup(archive.Close)
	f := example(t, "attachments")
	f.args = []string{"--var", "archive_url=" + archive.URL}
	s := f.serve()

	text := s.attach("notes.txt", "text/plain", []byte("three short words\n"))
	pdf := s.attach("scan.pdf", "application/pdf", []byte("%PDF-1.7 and so on"))
	for range 2 {
		if r := s.call("keep_document", map[string]any{"document": text}); r.Failed || !strings.Contains(strings.ToLower(r.text()), "stored") {
			t.Errorf("keep: %s", r.text())
		}
	}
	if r := s.call("count_words", map[string]any{"text": text}); r.text() != "3 words" {
		t.Errorf("count: %s", r.text())
	}
	if r := s.call("count_words", map[string]any{"text": pdf}); !r.Failed || !strings.Contains(r.text(), "text: must be text/*") {
		t.Errorf("count a PDF: %s", r.text())
	}
	if r := s.call("archive_scan", map[string]any{"title": "Invoice 7", "scan": pdf, "attachments": []any{text}}); r.Failed || r.text() != "Archived as number 12." {
		t.Errorf("archive: %s", r.text())
	}
	want := []string{"Invoice 7", `scan scan.pdf application/pdf "%PDF-1.7 and so on"`, `attachment notes.txt text/plain "three short words\n"`}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("the archive has %q", got)
	}
}
