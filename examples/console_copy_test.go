package examples_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// copies returns what the console offers to be copied of a call with these arguments, by the id of its place.
func (f *folder) copies(origin, tool, arguments string) map[string]string {
	f.t.Helper()
	address, err := f.command("console", "--server", origin, "--print").Output()
	if err != nil {
		f.t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		f.t.Fatal(err)
	}
	client := &http.Client{Jar: jar, Transport: pooled.Transport, Timeout: maxWait}
	get := func(address string) *html.Node {
		res, err := client.Get(address)
		if err != nil {
			f.t.Fatal(err)
		}
		defer res.Body.Close()
		page, err := html.Parse(res.Body)
		if err != nil {
			f.t.Fatal(err)
		}
		return page
	}
	get(strings.TrimSpace(string(address)))
	found := map[string]string{}
	for n := range get(origin + "/console/tools/" + tool + "?arguments=" + url.QueryEscape(arguments)).Descendants() {
		if n.Data != "details" || len(n.Attr) < 2 || n.Attr[0].Val != "copy" {
			continue
		}
		for d := range n.Descendants() {
			if d.Data == "pre" && d.FirstChild != nil {
				found[n.Attr[1].Val] = d.FirstChild.Data
			}
		}
	}
	return found
}

const echoTool = `
tool "echo" {
  description = "Returns its inputs."
  input "text" {
    type   = string
    header = "Text"
  }
  input "many" { type = optional(list(string)) }
  input "any" { type = optional(any) }
  input "none" { type = optional(nullable(string)) }
  input "number" { type = optional(number) }
  result = "input"
}
`

// TestWhatTheConsoleCopiesMakesTheSameCall runs the commands that the page of a tool has, against the server.
func TestWhatTheConsoleCopiesMakesTheSameCall(t *testing.T) {
	t.Parallel()
	f := example(t, "console")
	f.args = []string{"--state", f.file("state.db")}
	f.write("echo.hcl", echoTool)
	s := f.serve()
	origin := strings.TrimSuffix(s.url, "/mcp")
	f.env = append(f.env, "HATCHEL_KEY="+evasKey)
	programs := t.TempDir()
	if err := os.Symlink(hatchel, filepath.Join(programs, "hatchel")); err != nil {
		t.Fatal(err)
	}
	run := func(command string) []byte {
		t.Helper()
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir = t.TempDir()
		cmd.Env = []string{"PATH=" + programs + ":" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "HATCHEL_KEY=" + evasKey}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s: %v: %s", command, err, &stderr)
		}
		return out
	}
	for _, arguments := range []string{
		`{"text":"it's $HOME \"and\" ` + "`id`" + ` \\ -x"}`, `{"text":"42","many":["a b","'"],"number":-0.10}`, `{"text":"","none":null}`,
		`{"text":"=x\n@y","any":{"a":[1,"z",null]}}`, `{"text":"a\u202eb\u0007\té"}`, `{"text":"true","any":"7","none":"null"}`,
	} {
		copies := f.copies(origin, "echo", arguments)
		var want any
		if err := json.Unmarshal([]byte(arguments), &want); err != nil {
			t.Fatal(err)
		}
		wanted, _ := json.Marshal(want)
		for id, suffix := range map[string]string{"copy-call": " --json", "copy-curl": ""} {
			if strings.Contains(copies[id], evasKey) || copies[id] == "" {
				t.Fatalf("%s is %q", id, copies[id])
			}
			out := run(copies[id] + suffix)
			var reply struct {
				Structured any `json:"structuredContent"`
				Result     struct {
					Structured any `json:"structuredContent"`
				}
			}
			if err := json.Unmarshal(out, &reply); err != nil {
				t.Errorf("%s: %v: %s", copies[id], err, out)
				continue
			}
			if reply.Structured == nil {
				reply.Structured = reply.Result.Structured
			}
			if got, _ := json.Marshal(reply.Structured); !sameMembers(got, wanted) {
				t.Errorf("%s\nreturns %s\nand not %s", copies[id], got, wanted)
			}
		}
		var file struct {
			Servers map[string]struct {
				Type, URL string
				Headers   map[string]string
			} `json:"mcpServers"`
		}
		if err := json.Unmarshal([]byte(copies["copy-client"]), &file); err != nil || file.Servers["shop"].URL != s.url ||
			file.Servers["shop"].Type != "http" || file.Servers["shop"].Headers["Authorization"] != "Bearer ${HATCHEL_KEY}" {
			t.Errorf("%v: %s", err, copies["copy-client"])
		}
	}
}

// sameMembers reports whether an object has the members of another one, and otherwise only null.
func sameMembers(got, want []byte) bool {
	var a, b map[string]any
	if json.NewDecoder(bytes.NewReader(got)).Decode(&a) != nil || json.Unmarshal(want, &b) != nil {
		return false
	}
	for name, value := range a {
		if _, ok := b[name]; !ok && value == nil {
			delete(a, name)
		}
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}
