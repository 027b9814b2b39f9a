package call

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/scrub"
	"hatchel/hcl"
	"hatchel/hcl/eval"
	"hatchel/hcl/value"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/files"
)

const uploadingTool = `
files { types = ["text/plain", "text/csv"] }
tool "t" {
  description = "Takes files."
  input "scan" { type = file("A scan", { max_size = "1KiB" }) }
  input "more" { type = optional(map(list(object({ page = file }))), {}) }
  input "list" { type = optional(list(file), []) }
  locals { again = input.scan }
  text = "done"
}
`

// compile returns the tool "t" of a configuration without backends.
func compile(t testing.TB, src string) *Program {
	t.Helper()
	cfg, diags := hcl.Load(fstest.MapFS{"a.hcl": {Data: []byte(src)}}, hcl.Kinds{}, hcl.Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	ctx := context.WithoutCancel(t.Context())
	store, err := state.Open(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	process := state.NewProcess(t.Context(), func(context.Context) (state.Store, error) { return store, nil })
	env := &Environment{
		Dir: t.TempDir(), Now: time.Now, Log: slog.New(slog.DiscardHandler), Scrubber: scrub.New(nil),
		Running: ctx, Pinned: ctx, Process: process, Files: files.NewStore(process),
		Uploads: &files.Rules{MaxSize: 1 << 20, Types: cfg.Files.Types, TTL: time.Hour},
	}
	t.Cleanup(func() {
		env.Files.Close()
		process.Close()
		store.Close()
	})
	return NewProgram(env, cfg.Tools[0], nil)
}

// upload stores a file of an owner.
func upload(t testing.TB, p *Program, owner, content string) *files.File {
	t.Helper()
	u := files.Upload{Owner: owner, Name: "a.txt", Length: -1, Rules: *p.Env.Uploads}
	f, err := p.Env.Files.Upload(t.Context(), u, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// begin returns a call of an owner. It is released with the test.
func begin(t testing.TB, p *Program, owner string) *engine {
	c := p.newCall(t.Context(), eval.CallerMembers(anonymous), adapters.NopClient{})
	c.program, c.action.Owner = p, owner
	t.Cleanup(c.release)
	return c
}

func TestThawedCallHasItsFiles(t *testing.T) {
	p := compile(t, uploadingTool)
	f := upload(t, p, "anna", "content")
	c := begin(t, p, "anna")
	raw := fmt.Sprintf(
		`{"scan":{"file_id":%q,"filename":"called.txt"},"more":{"a":[{"page":{"file_id":%[1]q}}]}}`, f.ID)
	if err := c.admit(inputs{raw: []byte(raw)}); err != nil {
		t.Fatal(err)
	}
	c.frame.Steps["s"] = map[string]any{"kept": c.frame.Input["scan"], "$file": "no file"}
	frozen, err := c.freeze(c.frame.Input)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(frozen, []byte("content")) && bytes.Contains(frozen, []byte("sha256")) {
		t.Errorf("more than a reference is frozen: %s", frozen)
	}
	again := begin(t, p, "anna")
	if err := again.thaw(frozen, unlimited); err != nil {
		t.Fatal(err)
	}
	page := again.frame.Input["more"].(map[string]any)["a"].([]any)[0].(map[string]any)["page"]
	step := again.frame.Steps["s"].(map[string]any)
	for what, v := range map[string]any{
		"called.txt": again.frame.Input["scan"], "a.txt": page, "called.txt again": step["kept"],
	} {
		file, ok := v.(value.File)
		if !ok {
			t.Fatalf("%s is %#v", what, v)
		}
		if name, err := file.Member("filename"); name != strings.TrimSuffix(what, " again") || err != nil {
			t.Errorf("%s is named %v, error %v", what, name, err)
		}
		if content, err := value.ResolveContent(file); err != nil || string(content.(value.Bytes)) != "content" {
			t.Errorf("%s has %v, error %v", what, content, err)
		}
	}
	if step["$file"] != "no file" {
		t.Errorf("a text became %#v", step["$file"])
	}
	for what, change := range map[string]func(*engine){
		"call of another owner": func(c *engine) { c.action.Owner = "bert" },
		"file was removed":      func(*engine) { p.Env.Files.Remove(t.Context(), f) },
	} {
		late := begin(t, p, "anna")
		change(late)
		if err := late.thaw(frozen, unlimited); err == nil || !strings.Contains(err.Error(), `the file "`) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestReadingARemovedFileFails(t *testing.T) {
	p := compile(t, uploadingTool)
	f := upload(t, p, "", "content")
	c := begin(t, p, "")
	if err := c.admit(inputs{raw: fmt.Appendf(nil, `{"scan":{"file_id":%q}}`, f.ID)}); err != nil {
		t.Fatal(err)
	}
	file := c.frame.Input["scan"].(value.File)
	if removed, err := p.Env.Files.Remove(t.Context(), f); !removed || err != nil {
		t.Fatal(err)
	}
	in, err := file.Open()
	if err == nil {
		_, err = io.ReadAll(in)
	}
	if err == nil || !strings.Contains(err.Error(), "was not found") {
		t.Errorf("reading it: %v", err)
	}
	if path, err := file.Member("path"); err == nil {
		t.Errorf("it is staged at %v", path)
	}
}

func TestFileMayNotBeGivenATypeThatMayNotBeUploaded(t *testing.T) {
	p := compile(t, uploadingTool)
	f := upload(t, p, "anna", "content <b>and so on</b>")
	for kind, accepted := range map[string]bool{
		"text/plain": true, "text/csv": true, "text/html": false, "application/json": false, "nothing": false,
	} {
		c := begin(t, p, "anna")
		raw := fmt.Appendf(nil, `{"scan":{"file_id":%q,"content_type":%q}}`, f.ID, kind)
		if err := c.admit(inputs{raw: raw}); accepted != (err == nil) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestManyFilesAreLookedUpOnce(t *testing.T) {
	p := compile(t, uploadingTool)
	f := upload(t, p, "anna", "content")
	for name, c := range map[string]struct {
		id   string
		want int
	}{"exists": {f.ID, 0}, "does not exist": {"file_" + strings.Repeat("a", 26), maxViolations}} {
		list := strings.TrimSuffix(strings.Repeat(fmt.Sprintf(`{"file_id":%q},`, c.id), 5000), ",")
		call := begin(t, p, "anna")
		err := call.admit(inputs{raw: fmt.Appendf(nil, `{"scan":{"file_id":%q},"list":[%s]}`, f.ID, list)})
		if n := strings.Count(fmt.Sprint(err), "was not found"); n != c.want || (err != nil) != (c.want > 0) {
			t.Errorf("%s: %d violations, error %v", name, n, err)
		}
		more, _ := call.frame.Input["list"].([]any)
		if err == nil && more[0].(*attachedFile).file != more[len(more)-1].(*attachedFile).file {
			t.Errorf("%s: the store was asked again", name)
		}
	}
}

func TestTraceparent(t *testing.T) {
	const trace = "0af7651916cd43dd8448eb211c80319c"
	const parent = "00-" + trace + "-b7ad6b7169203331-01"
	header := func(s string) http.Header { return http.Header{"Traceparent": {s}} }
	for name, c := range map[string]struct {
		header http.Header
		meta   string
		want   string
	}{
		"header":                     {header(parent), "", parent},
		"malformed header and _meta": {header("00"), `{"traceparent":"` + parent + `"}`, parent},
		"_meta is no object":         {nil, `["traceparent",{"traceparent":"` + parent + `"}]`, ""},

		"_meta":       {nil, `{"traceparent":"` + parent + `"}`, parent},
		"escaped":     {nil, `{"traceparent":"\u0030` + parent[1:] + `"}`, parent},
		"later _meta": {nil, `{"traceparent":"01` + parent[2:] + `-more"}`, parent},
		"in a value":  {nil, `{"a":"\"traceparent\"","b":{"traceparent":"` + parent + `"}}`, ""},
		"later":       {header("01" + parent[2:] + "-more"), "", parent},
		"too long":    {header(parent + "-more"), "", ""},
		"glued":       {header("01" + parent[2:] + "more"), "", ""},
		"version ff":  {header("ff" + parent[2:]), "", ""},
		"line break":  {header(parent[:53] + "\r\n"), "", ""},
		"no parent":   {header("00-" + trace + "-0000000000000000-01"), "", ""},
		"none":        {nil, `{}`, ""},
		"upper case":  {header("00-" + strings.ToUpper(trace) + "-b7ad6b7169203331-01"), "", ""},
		"zeros":       {header("00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01"), "", ""},
		"too short":   {nil, `{"traceparent":"00"}`, ""},
		"two headers": {http.Header{"Traceparent": {"a", "b"}}, "", ""},
	} {
		if got := Traceparent(c.header, []byte(c.meta)); got != c.want {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// FuzzPausedCall thaws calls that were not frozen.
func FuzzPausedCall(f *testing.F) {
	f.Add(`{"at":1,"spent":0,"steps":{"a":{"$bytes":"AA=="}},"locals":{"x":1},"done":{"q":null}}`)
	f.Add(`{"at":0,"steps":{}}`)
	f.Add(`{"at":-1,"spent":1.5,"steps":{"$float":"NaN"},"locals":[],"done":7,"input":{}}`)
	f.Add(`{"at":0,"steps":{},"approval":"{\\"stage\\":\\"asked\\"}","key":"k"}`)
	p := compile(f, uploadingTool)
	f.Fuzz(func(t *testing.T, frozen string) {
		c := p.newCall(t.Context(), eval.CallerMembers(anonymous), &mcp.CallRequest{})
		defer c.release()
		next := &c.progress.nextStep
		if c.thaw([]byte(frozen), unlimited) == nil && (*next < 0 || *next > len(p.Steps) || c.frame.Steps == nil) {
			t.Fatalf("%q became %+v", frozen, c)
		}
	})
}
