package e2e_test

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"

	"hatchel/internal/programtest"
)

const filesConfig = `
files {
  max_size = "20MiB"
  base_url = "https://tools.example.com"
}

audit { file = "audit.jsonl" }

auth {
  api_key "anna" { sha256 = "%[1]x" }
  api_key "bert" { sha256 = "%[2]x" }
}

connection "http" "dms" { base_url = %[3]q }

connection "sqlite" "ledger" {
  file = "ledger.db"
  mode = "rw"
  init = "CREATE TABLE IF NOT EXISTS scans (name TEXT, content BLOB)"
}

tool "raw" {
  description = "Sends a file as it is."
  input "scan" { type = file }
  http "dms" {
    post = "/raw"
    body = input.scan
  }
}

tool "again" {
  description = "Sends a file to a service that is busy at first, and then somewhere else."
  input "scan" { type = file }
  http "dms" {
    put  = "/busy"
    body = input.scan
    retry {
      attempts = 2
      backoff  = "1ms"
    }
  }
}

tool "form" {
  description = "Sends files in a form."
  input "scan" { type = file }
  input "more" { type = optional(list(file), []) }
  http "dms" {
    post      = "/form"
    multipart = { title = "A scan", scan = input.scan, more = input.more, named = { content = input.scan, filename = "renamed.bin", type = "application/x-renamed" } }
  }
}

tool "fetch" {
  description = "Has a service fetch a file."
  input "scan" { type = file }
  http "dms" {
    post = "/fetch"
    json = { url = input.scan.url, name = input.scan.filename, size = input.scan.size, sha256 = input.scan.sha256, type = input.scan.content_type }
  }
}

tool "told" {
  description = "Tells a service, which complains and repeats what it was told."
  input "scan" { type = optional(file) }
  input "what" { type = optional(string, "") }
  http "dms" {
    post = "/complain"
    json = { url = try(input.scan.url, input.what) }
  }
}

tool "blob" {
  description = "Keeps a file in the database."
  input "scan" { type = file }
  sql "ledger" { exec = "INSERT INTO scans (name, content) VALUES (${input.scan.filename}, ${input.scan})" }
}

tool "program" {
  description = "Has a program read a file."
  input "scan" { type = file }
  shell { command = ["sha256sum", "--", input.scan.path] }
  text = output.stdout
}

tool "script" {
  description = "Has a script read a file by its environment and its standard input."
  input "scan" { type = file }
  shell {
    script = "sha256sum < \"$SCAN\"; sha256sum; echo ${input.scan.path}; if echo x 2>/dev/null >> \"$SCAN\"; then echo written; fi"
    env    = { SCAN = input.scan.path }
    stdin  = input.scan
  }
  text = output.stdout
}

tool "outer" {
  description = "Hands a file on to another tool."
  input "scan" { type = file }
  step "inner" {
    tool "program" { scan = input.scan }
  }
  text = step.inner.text
}

tool "small" {
  description = "Takes small pictures."
  input "scan" {
    type = object({ page = file("A page", { max_size = "1KiB", types = ["image/*"] }) })
  }
  text = "${input.scan.page.filename} ${input.scan.page.content_type}"
}
`

const (
	annasKey = "key-of-anna-0123456789"
	bertsKey = "key-of-bert-0123456789"
)

// upstreamService is the HTTP service that the tools send files to.
type upstreamService struct {
	mu     sync.Mutex
	raw    []byte // guarded by mu, as all of it
	header http.Header
	length int64
	parts  map[string][]part
	asked  map[string]any
	busy   bool
	gone   func() // called while it is busy, unless it is nil
}

type part struct {
	name, kind string
	content    []byte
}

func (a *upstreamService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.header, a.length, a.parts = r.Header, r.ContentLength, map[string][]part{}
	switch r.URL.Path {
	case "/busy":
		if io.Copy(io.Discard, r.Body); a.busy {
			if a.busy = false; a.gone != nil {
				a.gone()
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		http.Redirect(w, r, "/raw", http.StatusTemporaryRedirect)
		return
	case "/complain":
		w.WriteHeader(http.StatusInternalServerError)
		io.Copy(w, r.Body)
		return
	case "/raw":
		a.raw, _ = io.ReadAll(r.Body)
	case "/fetch":
		json.NewDecoder(r.Body).Decode(&a.asked)
	case "/form":
		form, err := r.MultipartReader()
		for err == nil {
			var p *multipart.Part
			if p, err = form.NextPart(); err == nil {
				content, _ := io.ReadAll(p)
				a.parts[p.FormName()] = append(a.parts[p.FormName()], part{p.FileName(), p.Header.Get("Content-Type"), content})
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, `{"ok":true}`)
}

// fileServer is a server that accepts uploads of two callers.
type fileServer struct {
	t       *testing.T
	dir     string
	server  *replica
	url     string
	archive *upstreamService
}

func startFileServer(t *testing.T) *fileServer {
	t.Helper()
	f := &fileServer{t: t, dir: t.TempDir(), archive: &upstreamService{}}
	upstream := httptest.NewServer(f.archive)
	t.Cleanup(upstream.Close)
	config := strings.NewReplacer("%[1]x", fmt.Sprintf("%x", sha256.Sum256([]byte(annasKey))), "%[2]x", fmt.Sprintf("%x", sha256.Sum256([]byte(bertsKey))), "%[3]q", fmt.Sprintf("%q", upstream.URL)).Replace(filesConfig)
	if err := os.WriteFile(filepath.Join(f.dir, "a.hcl"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	f.start()
	return f
}

func (f *fileServer) start() {
	f.server = startReplica(f.t, f.dir, "", "--state", filepath.Join(f.dir, "state.db"))
	f.url = f.server.url
}

// send makes a request with headers in pairs, and returns the response.
func (f *fileServer) send(method, path string, body io.Reader, headers ...string) (*http.Response, []byte) {
	f.t.Helper()
	req, err := http.NewRequest(method, f.url+path, body)
	if err != nil {
		f.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	said, err := io.ReadAll(res.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return res, said
}

// uploadResponse is the response to an upload.
type uploadResponse struct {
	ID      string    `json:"file_id"`
	Name    string    `json:"filename"`
	Type    string    `json:"content_type"`
	Size    int64     `json:"size"`
	SHA256  string    `json:"sha256"`
	Expires time.Time `json:"expires"`
	URL     string    `json:"url"`
}

// upload uploads a file as anna.
func (f *fileServer) upload(name, kind string, content []byte) (up uploadResponse) {
	f.t.Helper()
	res, said := f.send("POST", "/files", bytes.NewReader(content), "X-Api-Key", annasKey, "Content-Type", kind, "Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	if res.StatusCode != http.StatusCreated || json.Unmarshal(said, &up) != nil {
		f.t.Fatalf("%d: %s", res.StatusCode, said)
	}
	return up
}

// call calls a tool with an API key, and returns the text of the result.
func (f *fileServer) call(key, tool, arguments string) (text string, failed bool) {
	f.t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, tool, arguments)
	_, said := f.send("POST", "/mcp", strings.NewReader(body), "X-Api-Key", key, "Content-Type", "application/json", "Accept", "application/json, text/event-stream", "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool)
	if i := bytes.IndexByte(said, '{'); i > 0 {
		said = said[i:]
	}
	var answer struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	if err := json.Unmarshal(said, &answer); err != nil || len(answer.Result.Content) == 0 {
		f.t.Fatalf("%s: %v: %s", tool, err, said)
	}
	return answer.Result.Content[0].Text, answer.Result.IsError
}

// mustCall calls a tool as anna with a file.
func (f *fileServer) mustCall(tool, id string) string {
	f.t.Helper()
	text, failed := f.call(annasKey, tool, fmt.Sprintf(`{"scan":{"file_id":%q}}`, id))
	if failed {
		f.t.Fatalf("%s: %s", tool, text)
	}
	return text
}

func randomBytes(n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(rand.Uint32())
	}
	return out
}

func TestFilesReachBackendsByteForByte(t *testing.T) {
	t.Parallel()
	f := startFileServer(t)
	content := randomBytes(3<<20 + 17)
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	up := f.upload("März scan.bin", "application/x-scan", content)
	if up.Name != "März scan.bin" || up.Type != "application/x-scan" || up.Size != int64(len(content)) || up.SHA256 != digest || !strings.HasPrefix(up.URL, "https://tools.example.com/files/"+up.ID+"?") {
		t.Errorf("the response to the upload is %+v", up)
	}
	if until := time.Until(up.Expires); until > 24*time.Hour || until < 23*time.Hour {
		t.Errorf("it expires in %s", until)
	}

	t.Run("body of a request", func(t *testing.T) {
		f.mustCall("raw", up.ID)
		if !bytes.Equal(f.archive.raw, content) || f.archive.header.Get("Content-Type") != "application/x-scan" || f.archive.length != int64(len(content)) {
			t.Errorf("the body had %d bytes of %d, as %s", len(f.archive.raw), f.archive.length, f.archive.header.Get("Content-Type"))
		}
	})

	t.Run("body of a retry and a redirect", func(t *testing.T) {
		f.archive.raw, f.archive.busy = nil, true
		if f.mustCall("again", up.ID); !bytes.Equal(f.archive.raw, content) {
			t.Errorf("the body had %d bytes", len(f.archive.raw))
		}
	})

	t.Run("parts of a form", func(t *testing.T) {
		other := f.upload("other.txt", "text/plain", []byte("another"))
		if text, failed := f.call(annasKey, "form", fmt.Sprintf(`{"scan":{"file_id":%q},"more":[{"file_id":%q,"filename":"../called.txt"},{"file_id":%q}]}`, up.ID, other.ID, up.ID)); failed {
			t.Fatal(text)
		}
		for name, want := range map[string][]part{
			"title": {{"", "", []byte("A scan")}},
			"scan":  {{"März scan.bin", "application/x-scan", content}},
			"named": {{"renamed.bin", "application/x-renamed", content}},
			"more":  {{"called.txt", "text/plain", []byte("another")}, {"März scan.bin", "application/x-scan", content}},
		} {
			got := f.archive.parts[name]
			if len(got) != len(want) {
				t.Fatalf("%s has %d parts", name, len(got))
			}
			for i, w := range want {
				if got[i].name != w.name || got[i].kind != w.kind || !bytes.Equal(got[i].content, w.content) {
					t.Errorf("%s is %q, %q, %d bytes", name, got[i].name, got[i].kind, len(got[i].content))
				}
			}
		}
		if f.archive.length < int64(3*len(content)) {
			t.Errorf("the Content-Length is %d", f.archive.length)
		}
	})

	t.Run("value of a database", func(t *testing.T) {
		f.mustCall("blob", up.ID)
		db, err := sql.Open("sqlite3", filepath.Join(f.dir, "ledger.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var name, kind string
		var blob []byte
		if err := db.QueryRow("SELECT name, typeof(content), content FROM scans").Scan(&name, &kind, &blob); err != nil || name != "März scan.bin" || kind != "blob" || !bytes.Equal(blob, content) {
			t.Errorf("the database holds %q, %d bytes of %s, %v", name, len(blob), kind, err)
		}
	})

	t.Run("path of a program", func(t *testing.T) {
		if said := f.mustCall("program", up.ID); !strings.HasPrefix(said, digest) {
			t.Errorf("the program read %s", said)
		}
		if said := f.mustCall("outer", up.ID); !strings.HasPrefix(said, digest) {
			t.Errorf("the program of the other tool read %s", said)
		}
	})
	t.Run("environment and standard input of a script", func(t *testing.T) {
		said := f.mustCall("script", up.ID)
		lines := strings.Fields(said)
		if len(lines) != 5 || lines[0] != digest || lines[2] != digest {
			t.Fatalf("the script read %s", said)
		}
		if _, err := os.Stat(lines[4]); !os.IsNotExist(err) {
			t.Errorf("the copy %s still exists: %v", lines[4], err)
		}
	})

	t.Run("signed URL", func(t *testing.T) {
		f.mustCall("fetch", up.ID)
		link, _ := f.archive.asked["url"].(string)
		if f.archive.asked["name"] != "März scan.bin" || f.archive.asked["sha256"] != digest || f.archive.asked["size"] != float64(len(content)) || f.archive.asked["type"] != "application/x-scan" {
			t.Errorf("the service received %v", f.archive.asked)
		}
		res, got := f.send("GET", strings.TrimPrefix(link, "https://tools.example.com"), nil)
		if res.StatusCode != http.StatusOK || !bytes.Equal(got, content) {
			t.Errorf("%s: %d and %d bytes", link, res.StatusCode, len(got))
		}
		for header, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Content-Security-Policy": "sandbox; default-src 'none'", "Content-Type": "application/x-scan"} {
			if got := res.Header.Get(header); got != want {
				t.Errorf("%s is %q", header, got)
			}
		}
		if how, params, err := mime.ParseMediaType(res.Header.Get("Content-Disposition")); how != "attachment" || params["filename"] != "März scan.bin" || err != nil {
			t.Errorf("Content-Disposition is %q", res.Header.Get("Content-Disposition"))
		}
	})
}

func TestFilesAreVisibleToTheirOwnerOnly(t *testing.T) {
	t.Parallel()
	f := startFileServer(t)
	up := f.upload("a.txt", "text/plain", []byte("hers"))
	unknown := "file_" + strings.Repeat("a", 26)
	strange := func(id string) string {
		text, failed := f.call(bertsKey, "raw", fmt.Sprintf(`{"scan":{"file_id":%q}}`, id))
		if !failed {
			t.Errorf("bert has sent %s", id)
		}
		return text
	}
	if of, none := strange(up.ID), strange(unknown); of != none {
		t.Errorf("bert is told of a file of anna's: %s, and not %s", of, none)
	}
	for _, method := range []string{"GET", "HEAD", "DELETE"} {
		of, saidOf := f.send(method, "/files/"+up.ID, nil, "X-Api-Key", bertsKey)
		none, saidNone := f.send(method, "/files/"+unknown, nil, "X-Api-Key", bertsKey)
		if of.StatusCode != http.StatusNotFound || none.StatusCode != http.StatusNotFound || !bytes.Equal(saidOf, saidNone) {
			t.Errorf("%s: %d %s, and %d %s", method, of.StatusCode, saidOf, none.StatusCode, saidNone)
		}
	}
	for path, want := range map[string]int{
		"/files": http.StatusUnauthorized, "/files/uploads": http.StatusUnauthorized, "/files/" + up.ID: http.StatusUnauthorized,
		"/files/" + up.ID + "?signature=": http.StatusForbidden, "/files?signature=x": http.StatusNotFound, "/files/uploads?signature=x": http.StatusNotFound,
	} {
		method := "GET"
		if !strings.Contains(path, up.ID) && want == http.StatusUnauthorized {
			method = "POST"
		}
		if res, said := f.send(method, path, nil); res.StatusCode != want && res.StatusCode != http.StatusForbidden {
			t.Errorf("%s %s: %d %s", method, path, res.StatusCode, said)
		}
	}
	if res, said := f.send("GET", "/files/"+up.ID, nil, "X-Api-Key", annasKey); res.StatusCode != http.StatusOK || string(said) != "hers" {
		t.Errorf("anna: %d %s", res.StatusCode, said)
	}
	if res, said := f.send("HEAD", "/files/"+up.ID, nil, "X-Api-Key", annasKey); res.StatusCode != http.StatusOK || res.ContentLength != 4 || len(said) != 0 {
		t.Errorf("anna asks for what is known: %d, %d bytes", res.StatusCode, res.ContentLength)
	}
	if res, _ := f.send("GET", "/files/"+up.ID, nil, "X-Api-Key", annasKey, "Origin", "https://evil.example"); res.StatusCode != http.StatusForbidden {
		t.Errorf("from a page of somebody: %d", res.StatusCode)
	}
	if res, _ := f.send("DELETE", "/files/"+up.ID, nil, "X-Api-Key", annasKey); res.StatusCode != http.StatusNoContent {
		t.Errorf("anna removes it: %d", res.StatusCode)
	}
	if res, _ := f.send("GET", "/files/"+up.ID, nil, "X-Api-Key", annasKey); res.StatusCode != http.StatusNotFound {
		t.Errorf("after it was removed: %d", res.StatusCode)
	}
	if res, _ := f.send("GET", strings.TrimPrefix(up.URL, "https://tools.example.com"), nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("its signed address after it was removed: %d", res.StatusCode)
	}
}

func TestUploadsAreValidated(t *testing.T) {
	t.Parallel()
	f := startFileServer(t)
	large := int64(20<<20 + 1)
	for name, body := range map[string]io.Reader{"too large by Content-Length": bytes.NewReader(make([]byte, large)), "too large without Content-Length": io.LimitReader(zeroReader{}, large)} {
		t.Run(name, func(t *testing.T) {
			res, said := f.send("POST", "/files", body, "X-Api-Key", annasKey)
			if res.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("%d %s", res.StatusCode, said)
			}
		})
	}
	gif := f.upload("a.gif", "image/gif", []byte("GIF89a, more or less"))
	if text, failed := f.call(annasKey, "small", fmt.Sprintf(`{"scan":{"page":{"file_id":%q}}}`, gif.ID)); failed || text != "a.gif image/gif" {
		t.Errorf("a picture: %s", text)
	}
	for name, file := range map[string]uploadResponse{
		"too large for the input":   f.upload("b.gif", "image/gif", append([]byte("GIF89a"), make([]byte, 1<<10)...)),
		"content of another type":   f.upload("c.gif", "image/gif", []byte("<html><script>")),
		"declared type not allowed": f.upload("d.txt", "text/plain", []byte("text")),
		"no type":                   f.upload("e", "", []byte{0, 1, 2}),
	} {
		t.Run(name, func(t *testing.T) {
			text, failed := f.call(annasKey, "small", fmt.Sprintf(`{"scan":{"page":{"file_id":%q}}}`, file.ID))
			if !failed || !strings.Contains(text, "- scan.page: must ") {
				t.Error(text)
			}
		})
	}
	if text, failed := f.call(annasKey, "small", fmt.Sprintf(`{"scan":{"page":{"file_id":%q,"content_type":"text/plain"}}}`, gif.ID)); !failed {
		t.Errorf("called a text: %s", text)
	}
	for method, path := range map[string]string{"GET": "/files", "PUT": "/files/uploads", "PATCH": "/files/" + gif.ID} {
		t.Run(method, func(t *testing.T) {
			res, _ := f.send(method, path, nil, "X-Api-Key", annasKey)
			if res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") == "" {
				t.Errorf("%s: %d", path, res.StatusCode)
			}
		})
	}
	f.send("GET", "/files/"+gif.ID, nil, "X-Api-Key", bertsKey)
	records, err := os.ReadFile(filepath.Join(f.dir, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"event":"file"[^\n]*"kind":"upload","name":"a.gif","uri":"/files/` + gif.ID + `","caller":{"subject":"anna"[^\n]*"bytes":20,"sha256":"` + gif.SHA256 + `"`,
		`"event":"request"[^\n]*"uri":"/files"[^\n]*"status":413`,
		`"event":"request"[^\n]*"uri":"/files/` + gif.ID + `","caller":{"subject":"bert"[^\n]*"status":404`,
	} {
		if !regexp.MustCompile(want).Match(records) {
			t.Errorf("no record matches %s", want)
		}
	}
	if bytes.Contains(records, []byte("signature=")) {
		t.Error("a signature is in the audit log")
	}
}

// A signed URL gives access to the file, so that the audit log hides its signature wherever it
// occurs.
func TestSignedURLsAreNotInTheAuditLog(t *testing.T) {
	t.Parallel()
	f := startFileServer(t)
	up := f.upload("a.txt", "text/plain", []byte("hers"))
	if text, failed := f.call(annasKey, "told", fmt.Sprintf(`{"scan":{"file_id":%q}}`, up.ID)); !failed || !strings.Contains(text, "500") {
		t.Error(text)
	}
	if text, failed := f.call(annasKey, "told", fmt.Sprintf(`{"what":%q}`, up.URL)); !failed || !strings.Contains(text, "500") {
		t.Error(text)
	}
	records, err := os.ReadFile(filepath.Join(f.dir, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(records, []byte("signature=(hidden)")); n < 3 || regexp.MustCompile(`signature=[A-Za-z0-9_-]`).Match(records) {
		t.Errorf("%d addresses are hidden in %s", n, records)
	}
}

// Every upload, download and removal has a record before it takes effect, and no record contains a
// signature.
func TestEveryUseOfAFileIsRecorded(t *testing.T) {
	t.Parallel()
	f := startFileServer(t)
	log := filepath.Join(f.dir, "audit.jsonl")
	written := func(want string) bool {
		records, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(records, []byte("signature=")) {
			t.Error("a signature is in the audit log")
		}
		return regexp.MustCompile(want).Match(records)
	}
	up := f.upload("a.txt", "text/plain", []byte("hers"))
	uri := `"name":"a.txt","uri":"/files/` + up.ID + `",`
	f.send("HEAD", "/files/"+up.ID, nil, "X-Api-Key", annasKey)
	if written(`"kind":"download"`) {
		t.Error("a HEAD request has a record")
	}
	if res, got := f.send("GET", "/files/"+up.ID, nil, "X-Api-Key", annasKey); res.StatusCode != http.StatusOK || string(got) != "hers" {
		t.Fatalf("%d %s", res.StatusCode, got)
	}
	if !written(`"event":"file"[^\n]*"kind":"download",` + uri + `"caller":{"subject":"anna","key":"anna"[^\n]*"outcome":"ok","bytes":4,"sha256":"` + up.SHA256 + `"`) {
		t.Error("the download of the owner has no record")
	}
	if res, got := f.send("GET", strings.TrimPrefix(up.URL, "https://tools.example.com"), nil); res.StatusCode != http.StatusOK || string(got) != "hers" {
		t.Fatalf("by the signed address: %d %s", res.StatusCode, got)
	}
	if !written(`"kind":"download",` + uri + `"caller":{"key":"signed address","remote":"[^"]+"}`) {
		t.Error("the download with a signed URL has no record")
	}
	res, said := f.send("POST", "/files/uploads", strings.NewReader(`{"filename":"scan.txt"}`), "X-Api-Key", annasKey)
	var ticket struct {
		ID  string `json:"file_id"`
		URL string `json:"upload_url"`
	}
	if json.Unmarshal(said, &ticket); res.StatusCode != http.StatusCreated || !written(`"kind":"ticket","name":"scan.txt","uri":"/files/`+ticket.ID+`","caller":{"subject":"anna"`) {
		t.Errorf("the ticket has no record: %d", res.StatusCode)
	}
	f.send("PUT", strings.TrimPrefix(ticket.URL, "https://tools.example.com"), strings.NewReader("scanned"))
	if !written(`"kind":"upload","name":"scan.txt","uri":"/files/` + ticket.ID + `","caller":{"subject":"anna","key":"signed address"`) {
		t.Error("the upload with the ticket has no record")
	}

	large := f.upload("large.bin", "", make([]byte, 18<<20))
	req, err := http.NewRequestWithContext(t.Context(), "GET", f.url+"/files/"+large.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", annasKey)
	part, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	io.ReadFull(part.Body, make([]byte, 1))
	part.Body.Close()
	limit, tick := time.After(programtest.Timeout), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for !written(`"kind":"download","name":"large.bin"[^\n]*"outcome":"cancelled","message":"The caller has not received all of it."`) {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("the incomplete download has no record")
		}
	}

	if err := os.Rename(log, log+".away"); err != nil {
		t.Fatal(err)
	}
	for what, request := range map[string][2]string{"read": {"GET", "/files/" + up.ID}, "removed": {"DELETE", "/files/" + up.ID}, "uploaded": {"POST", "/files"}, "an address": {"POST", "/files/uploads"}} {
		var body io.Reader
		if what == "uploaded" {
			body = strings.NewReader("unseen")
		}
		res, said := f.send(request[0], request[1], body, "X-Api-Key", annasKey)
		if res.StatusCode != http.StatusServiceUnavailable || !bytes.Contains(said, []byte("Nothing was done")) || bytes.Contains(said, []byte("hers")) || bytes.Contains(said, []byte("signature")) {
			t.Errorf("%s without an audit log: %d %s", what, res.StatusCode, said)
		}
	}
	if err := os.Rename(log+".away", log); err != nil {
		t.Fatal(err)
	}
	f.send("GET", "/readyz", nil) // it looks whether records can be written again
	if res, got := f.send("GET", "/files/"+up.ID, nil, "X-Api-Key", annasKey); res.StatusCode != http.StatusOK || string(got) != "hers" {
		t.Errorf("afterwards: %d %s", res.StatusCode, got)
	}
	if res, _ := f.send("DELETE", "/files/"+up.ID, nil, "X-Api-Key", annasKey); res.StatusCode != http.StatusNoContent || !written(`"kind":"removal",`+uri) {
		t.Errorf("removed: %d", res.StatusCode)
	}
	printed, code := runHatchel(t, "", "audit", log)
	if code != 0 {
		t.Fatalf("audit exits with %d: %s", code, printed)
	}
	for _, want := range []string{
		`Z  upload     a\.txt /files/` + up.ID + `  anna from 127\.0\.0\.1:\d+  4 bytes\n`,
		`Z  download   a\.txt /files/` + up.ID + `  \(signed address\) from 127\.0\.0\.1:\d+  4 bytes\n`,
		`Z  ticket     scan\.txt /files/` + ticket.ID + `  anna from [0-9.:]+\n`,
		`Z  download   large\.bin /files/` + large.ID + `  anna from [0-9.:]+  \d+ bytes  cancelled  The caller has not received all of it\.\n`,
	} {
		if !regexp.MustCompile(want).MatchString(printed) {
			t.Errorf("no line is %s in:\n%s", want, printed)
		}
	}
}

func TestAFileRemovedDuringACallIsReported(t *testing.T) {
	t.Parallel()
	f := startFileServer(t)
	up := f.upload("a.txt", "text/plain", []byte("hers"))
	f.archive.busy, f.archive.gone = true, func() {
		req, err := http.NewRequest("DELETE", f.url+"/files/"+up.ID, nil)
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("X-Api-Key", annasKey)
		res, err := http.DefaultClient.Do(req)
		if err != nil || res.StatusCode != http.StatusNoContent {
			t.Error(res, err)
			return
		}
		res.Body.Close()
	}
	text, failed := f.call(annasKey, "again", fmt.Sprintf(`{"scan":{"file_id":%q}}`, up.ID))
	if !failed || !strings.Contains(text, `the file "a.txt" was not found`) {
		t.Error(text)
	}
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestAFormHasOneFile(t *testing.T) {
	t.Parallel()
	f := startFileServer(t)
	form := func(parts ...string) (*http.Response, []byte) {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		for i, name := range parts {
			h := textproto.MIMEHeader{"Content-Disposition": {fmt.Sprintf(`form-data; name="p%d"; filename="%s"`, i, name)}, "Content-Type": {"text/csv"}}
			p, err := w.CreatePart(h)
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(p, "a,b\n")
		}
		w.Close()
		return f.send("POST", "/files", &body, "X-Api-Key", annasKey, "Content-Type", w.FormDataContentType())
	}
	res, said := form("../../rows.csv")
	var up uploadResponse
	if json.Unmarshal(said, &up); res.StatusCode != http.StatusCreated || up.Name != "rows.csv" || up.Type != "text/csv" || up.Size != 4 {
		t.Errorf("one file: %d %s", res.StatusCode, said)
	}
	if res, said := form("a.csv", "b.csv"); res.StatusCode != http.StatusBadRequest {
		t.Errorf("two files: %d %s", res.StatusCode, said)
	}
	records, err := os.ReadFile(filepath.Join(f.dir, "audit.jsonl"))
	if n := bytes.Count(records, []byte(`"kind":"upload"`)); n != 1 || err != nil {
		t.Errorf("%d uploads are recorded, %v", n, err)
	}
	if res, said := form(); res.StatusCode != http.StatusBadRequest {
		t.Errorf("no file: %d %s", res.StatusCode, said)
	}
	const head, end = "--b\r\nContent-Disposition: form-data; name=file; filename=a.csv\r\n", "\r\na,b\r\n--b--\r\n"
	for what, body := range map[string]string{
		"long preamble":       strings.Repeat("a line\r\n", 8<<10) + head + end,
		"long header":         head + "X: " + strings.Repeat("x", 64<<10) + "\r\n" + end,
		"long epilogue":       head + strings.Replace(end, "--b--", "--b\r\nX: "+strings.Repeat("x", 64<<10)+"\r\n\r\n--b--", 1),
		"part without a file": "--b\r\nContent-Disposition: form-data; name=other\r\n" + end,
	} {
		t.Run(what, func(t *testing.T) {
			res, said := f.send("POST", "/files", strings.NewReader(body),
				"X-Api-Key", annasKey, "Content-Type", "multipart/form-data; boundary=b")
			if res.StatusCode != http.StatusBadRequest {
				t.Errorf("%d %s", res.StatusCode, said)
			}
		})
	}
	if res, said := f.send("POST", "/files", strings.NewReader(head+end), "X-Api-Key", annasKey, "Content-Type", "multipart/form-data; boundary=b"); res.StatusCode != http.StatusCreated {
		t.Errorf("a form with one file: %d %s", res.StatusCode, said)
	}
}

func TestATicketAllowsOneUploadWithoutCredentials(t *testing.T) {
	t.Parallel()
	f := startFileServer(t)
	res, said := f.send("POST", "/files/uploads", strings.NewReader(`{"filename":"scan.txt","content_type":"text/plain"}`), "X-Api-Key", annasKey)
	var ticket struct {
		ID  string `json:"file_id"`
		URL string `json:"upload_url"`
	}
	if json.Unmarshal(said, &ticket); res.StatusCode != http.StatusCreated || !strings.HasPrefix(ticket.URL, "https://tools.example.com/files/uploads/"+ticket.ID+"?") {
		t.Fatalf("%d %s", res.StatusCode, said)
	}
	path := strings.TrimPrefix(ticket.URL, "https://tools.example.com")
	if res, _ := f.send("PUT", strings.Replace(path, "signature=", "signature=A", 1), strings.NewReader("x")); res.StatusCode != http.StatusForbidden {
		t.Errorf("with another signature: %d", res.StatusCode)
	}
	if res, said := f.send("PUT", path, strings.NewReader("through the ticket")); res.StatusCode != http.StatusCreated {
		t.Fatalf("%d %s", res.StatusCode, said)
	}
	if res, said := f.send("PUT", path, strings.NewReader("once more")); res.StatusCode != http.StatusNotFound {
		t.Errorf("once more: %d %s", res.StatusCode, said)
	}
	f.mustCall("raw", ticket.ID)
	if string(f.archive.raw) != "through the ticket" || f.archive.header.Get("Content-Type") != "text/plain" {
		t.Errorf("the service has %q", f.archive.raw)
	}
	if _, failed := f.call(bertsKey, "raw", fmt.Sprintf(`{"scan":{"file_id":%q}}`, ticket.ID)); !failed {
		t.Error("bert has sent a file that anna has asked for")
	}
}

// A process that is killed during an upload leaves no readable file. Complete files survive.
func TestAnUploadOfAKilledProcessIsRemoved(t *testing.T) {
	t.Parallel()
	f := startFileServer(t)
	kept := f.upload("kept.bin", "", randomBytes(1<<20))
	in, out := io.Pipe()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		req, _ := http.NewRequest("POST", f.url+"/files", in)
		req.Header.Set("X-Api-Key", annasKey)
		if res, err := http.DefaultClient.Do(req); err == nil {
			res.Body.Close()
			t.Errorf("the upload was answered with %d", res.StatusCode)
		}
	}()
	out.Write(make([]byte, 2<<20))
	id := ""
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(f.dir, "state.db")+"?mode=ro&_busy_timeout=10000")
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(programtest.Timeout); id == "" && time.Now().Before(deadline); {
		// A part of it is in the store.
		db.QueryRow("SELECT grp FROM records WHERE kind = 'chunk' AND grp <> ?", kept.ID).Scan(&id)
	}
	db.Close()
	f.server.kill()
	out.Close()
	<-gone
	f.start()
	if id == "" {
		t.Fatal("nothing was kept of the upload while it was under way")
	}
	if res, said := f.send("GET", "/files/"+id, nil, "X-Api-Key", annasKey); res.StatusCode != http.StatusNotFound {
		t.Errorf("the file that was cut short: %d %s", res.StatusCode, said)
	}
	if text, failed := f.call(annasKey, "raw", fmt.Sprintf(`{"scan":{"file_id":%q}}`, id)); !failed {
		t.Errorf("it was sent: %s", text)
	}
	if res, got := f.send("GET", "/files/"+kept.ID, nil, "X-Api-Key", annasKey); res.StatusCode != http.StatusOK || len(got) != 1<<20 {
		t.Errorf("the one that was complete: %d, %d bytes", res.StatusCode, len(got))
	}
}
