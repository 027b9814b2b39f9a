package runtime

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/hcl/value"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/upload"
	"hatchel/runtime/stage/files"
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

// uploadFor uploads a file of an owner, and returns it with arguments that refer to it.
func uploadFor(t *testing.T, g *Generation, owner, content string) (*files.File, []byte) {
	t.Helper()
	f, err := g.UploadLocal(t.Context(), files.Upload{Owner: owner, Name: "a.txt", Length: -1}, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return f, fmt.Appendf(nil, `{"scan":{"file_id":%q}}`, f.ID)
}

func TestCopiesLastAsLongAsTheCall(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	w := newFakeBackend()
	var paths []string
	h := newHost(t, takesFiles, w.use)
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
	_, raw := uploadFor(t, h.Current(), "", "content")
	for range 2 {
		out, err := requestTool(t.Context(), h, &mcp.CallRequest{Name: "t", Arguments: raw, Caller: &mcp.Caller{Revision: mcp.Revision20260728}})
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
	w := newFakeBackend()
	h := newHost(t, `tool "t" {
  description = "Takes no files."
  fake { do = "x" }
}`, w.use)
	if _, err := h.Files(&mcp.Caller{}, false); err != upload.ErrNoFiles {
		t.Errorf("files: %v", err)
	}
	load(t, h, takesFiles)
	files, err := h.Files(&mcp.Caller{}, false)
	if err != nil {
		t.Fatal(err)
	}
	files.Close()
}
