package runtime

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/hcl/value"
	"hatchel/runtime/files"
	"hatchel/runtime/mcp"
)

const takesFiles = `
files { base_url = "https://tools.example.com" }

tool "t" {
  description = "Takes files."
  input "scan" { type = file("A scan", { max_size = "1KiB" }) }
  input "more" { type = optional(map(list(object({ page = file }))), {}) }
  locals { again = input.scan }
  fake {
    do    = "read"
    value = input.scan.path
  }
}
`

// given is a file of an owner, and the arguments that name it.
func given(t *testing.T, g *Generation, owner, content string) (*files.File, []byte) {
	t.Helper()
	f, err := g.UploadLocal(t.Context(), files.Upload{Owner: owner, Name: "a.txt", Length: -1}, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return f, fmt.Appendf(nil, `{"scan":{"file_id":%q}}`, f.ID)
}

// A call that waits is gone on with by another process, or after a restart: its files are read there, under the names that the caller gave them, as long as they are there.
func TestACallThatWaitedHasItsFilesAgain(t *testing.T) {
	w := newWorld()
	h := w.host(t, takesFiles)
	defer h.Close()
	p, _ := h.Current().Program("t")
	f, _ := given(t, h.Current(), "anna", "content")
	c := p.newCall(t.Context(), anonymous, adapters.Nobody{})
	defer c.release()
	c.action.Owner = "anna"
	raw := fmt.Sprintf(`{"scan":{"file_id":%q,"filename":"called.txt"},"more":{"a":[{"page":{"file_id":%[1]q}}]}}`, f.ID)
	if err := p.admit(c, inputs{raw: []byte(raw)}); err != nil {
		t.Fatal(err)
	}
	c.frame.Steps["s"] = map[string]any{"kept": c.frame.Input["scan"], "$file": "no file"}
	frozen, err := c.freeze(c.frame.Input)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(frozen, []byte("content")) && bytes.Contains(frozen, []byte("sha256")) {
		t.Errorf("more than the name is frozen: %s", frozen)
	}
	again := p.newCall(t.Context(), anonymous, adapters.Nobody{})
	defer again.release()
	again.action.Owner = "anna"
	if err := again.thaw(frozen); err != nil {
		t.Fatal(err)
	}
	page := again.frame.Input["more"].(map[string]any)["a"].([]any)[0].(map[string]any)["page"]
	step := again.frame.Steps["s"].(map[string]any)
	for what, v := range map[string]any{"called.txt": again.frame.Input["scan"], "a.txt": page, "called.txt again": step["kept"]} {
		file, ok := v.(value.File)
		if !ok {
			t.Fatalf("%s is %#v", what, v)
		}
		if name, err := file.Member("filename"); name != strings.TrimSuffix(what, " again") || err != nil {
			t.Errorf("%s is called %v, %v", what, name, err)
		}
		if content, err := value.Raw(file); err != nil || string(content.(value.Bytes)) != "content" {
			t.Errorf("%s holds %v, %v", what, content, err)
		}
	}
	if step["$file"] != "no file" {
		t.Errorf("a text became %#v", step["$file"])
	}
	for what, gone := range map[string]func(*call){
		"somebody else's call":   func(c *call) { c.action.Owner = "bert" },
		"after it has gone away": func(c *call) { h.build.State.files.Remove(t.Context(), f) },
	} {
		late := p.newCall(t.Context(), anonymous, adapters.Nobody{})
		late.action.Owner = "anna"
		gone(late)
		if err := late.thaw(frozen); err == nil || !strings.Contains(err.Error(), `the file "`) {
			t.Errorf("%s: %v", what, err)
		}
		late.release()
	}
}

func TestAFileThatGoesAwayFailsTheCallThatReadsIt(t *testing.T) {
	w := newWorld()
	h := w.host(t, takesFiles)
	defer h.Close()
	p, _ := h.Current().Program("t")
	f, raw := given(t, h.Current(), "", "content")
	c := p.newCall(t.Context(), anonymous, adapters.Nobody{})
	defer c.release()
	if err := p.admit(c, inputs{raw: raw}); err != nil {
		t.Fatal(err)
	}
	file := c.frame.Input["scan"].(value.File)
	if removed, err := h.build.State.files.Remove(t.Context(), f); !removed || err != nil {
		t.Fatal(err)
	}
	in, err := file.Open()
	if err == nil {
		_, err = io.ReadAll(in)
	}
	if err == nil || !strings.Contains(err.Error(), "is not there any more") {
		t.Errorf("reading it: %v", err)
	}
	if path, err := file.Member("path"); err == nil {
		t.Errorf("its copy is %v", path)
	}
}

func TestCopiesLastAsLongAsTheCall(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	w := newWorld()
	var paths []string
	h := w.host(t, takesFiles)
	defer h.Close()
	w.do = map[string]func(context.Context, *adapters.Call) (any, error){"read": func(_ context.Context, call *adapters.Call) (any, error) {
		path, err := call.Frame.Input["scan"].(value.File).Member("path")
		if err != nil {
			return nil, err
		}
		content, err := os.ReadFile(path.(string))
		if err != nil || string(content) != "content" {
			t.Errorf("%s holds %s, %v", path, content, err)
		}
		if folder := call.Frame.StagedDir(); !strings.HasPrefix(path.(string), folder+"/") {
			t.Errorf("%s is not in %s", path, folder)
		}
		paths = append(paths, path.(string))
		return nil, nil
	}}
	_, raw := given(t, h.Current(), "", "content")
	for range 2 {
		out, err := h.CallTool(t.Context(), &mcp.CallRequest{Name: "t", Arguments: raw, Caller: &mcp.Caller{Revision: mcp.Revision20260728}})
		if err != nil || out.IsError {
			t.Fatalf("%s, %v", out.AppendResult(nil, mcp.Revision20260728), err)
		}
	}
	if len(paths) != 2 || paths[0] == paths[1] {
		t.Fatalf("the calls had %v", paths)
	}
	for _, path := range paths {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
}

func TestWhereNoToolTakesFilesThereAreNone(t *testing.T) {
	w := newWorld()
	h := w.host(t, `tool "t" {
  description = "Takes no files."
  fake { do = "x" }
}`)
	defer h.Close()
	if _, err := h.Files(t.Context(), &mcp.Caller{}, false); err != ErrNoFiles {
		t.Errorf("files: %v", err)
	}
	load(t, h, takesFiles)
	files, err := h.Files(t.Context(), &mcp.Caller{}, false)
	if err != nil {
		t.Fatal(err)
	}
	files.Close()
}

// What may not be uploaded as a type may not be called that afterwards.
func TestAFileIsCalledNoTypeThatIsNotTaken(t *testing.T) {
	w := newWorld()
	h := w.host(t, strings.Replace(takesFiles, `{ base_url = "https://tools.example.com" }`, `{ types = ["text/plain", "text/csv"] }`, 1))
	defer h.Close()
	p, _ := h.Current().Program("t")
	f, _ := given(t, h.Current(), "anna", "content <b>and so on</b>")
	for kind, taken := range map[string]bool{"text/plain": true, "text/csv": true, "text/html": false, "application/json": false, "nothing": false} {
		c := p.newCall(t.Context(), anonymous, adapters.Nobody{})
		c.action.Owner = "anna"
		err := p.admit(c, inputs{raw: fmt.Appendf(nil, `{"scan":{"file_id":%q,"content_type":%q}}`, f.ID, kind)})
		if taken != (err == nil) {
			t.Errorf("%s: %v", kind, err)
		}
		c.release()
	}
}

// A list may name any number of files: the store is asked once about each, and not for ever about those that are not there.
func TestALongListOfFilesIsSoonLookedThrough(t *testing.T) {
	w := newWorld()
	h := w.host(t, strings.Replace(takesFiles, `optional(map(list(object({ page = file }))), {})`, `optional(list(file), [])`, 1))
	defer h.Close()
	p, _ := h.Current().Program("t")
	f, _ := given(t, h.Current(), "anna", "content")
	for claim, c := range map[string]struct {
		id   string
		want int
	}{"one that is there": {f.ID, 0}, "one that is not": {"file_" + strings.Repeat("a", 26), maxViolations}} {
		list := strings.TrimSuffix(strings.Repeat(fmt.Sprintf(`{"file_id":%q},`, c.id), 5000), ",")
		call := p.newCall(t.Context(), anonymous, adapters.Nobody{})
		call.action.Owner = "anna"
		err := p.admit(call, inputs{raw: fmt.Appendf(nil, `{"scan":{"file_id":%q},"more":[%s]}`, f.ID, list)})
		if n := strings.Count(fmt.Sprint(err), "is not known"); n != c.want || (err != nil) != (c.want > 0) {
			t.Errorf("%s: %d violations, %v", claim, n, err)
		}
		if more, _ := call.frame.Input["more"].([]any); err == nil && more[0].(*attachedFile).file != more[len(more)-1].(*attachedFile).file {
			t.Errorf("%s: the store was asked again", claim)
		}
		call.release()
	}
}
