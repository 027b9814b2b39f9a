package runtime

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/runtime/edge/mcp"
)

// TestAHintIsForWhoHasStartedTheServer calls as a client over a pair of streams does, and as one over HTTP.
func TestAHintIsForWhoHasStartedTheServer(t *testing.T) {
	w := newFakeBackend()
	dir := t.TempDir()
	w.do["look up"] = func(context.Context, *adapters.Call) (any, error) {
		return nil, &adapters.Fault{Message: "denied", Hint: "write " + filepath.Join(dir, "x"), Cause: errors.New("x")}
	}
	const step = "step \"s\" {\nfake { do = \"look up\" }\n}\n"
	h := newHost(t, tool("inner", `fake { do = "look up" }`)+tool("outer", "step \"s\" {\ntool \"inner\" {}\n}\ntext = \"x\"")+
		tool("words", "fake { do = \"look up\" }\nerror = \"It failed.\"")+
		tool("each", "step \"s\" {\neach = [1]\nfake { do = \"look up\" }\n}\ntext = \"x\"")+
		"resource \"r\" {\nuri = \"x://r\"\n"+step+"text = \"x\"\n}\nprompt \"p\" {\ndescription = \"P.\"\n"+step+"message \"user\" { text = \"x\" }\n}\n", w.use, inDir(dir))
	const hint = "Hint for the author of the %: write x."
	for _, operates := range []bool{false, true} {
		req := func(name string) *mcp.CallRequest {
			return &mcp.CallRequest{Name: name, Caller: &mcp.Caller{Revision: mcp.Revision20260728, Operates: operates}}
		}
		_, ofResource := h.ReadResource(t.Context(), req("x://r"))
		_, ofPrompt := h.GetPrompt(t.Context(), req("p"))
		said := map[string]string{"resource": ofResource.Error(), "prompt": ofPrompt.Error()}
		for _, name := range []string{"inner", "outer", "words", "each"} {
			out, err := requestTool(t.Context(), h, req(name))
			if err != nil {
				t.Fatal(err)
			}
			said["tool "+name] = string(out.AppendResult(nil, mcp.Revision20260728))
		}
		for of, text := range said {
			kind, _, _ := strings.Cut(of, " ")
			if strings.Contains(text, strings.Replace(hint, "%", kind, 1)) != operates {
				t.Errorf("%s, operates %v: %s", of, operates, text)
			}
		}
	}
}

// TestPathsInTheConfigurationAreRelativeForCallers has a failure with paths in every answer that a caller gets.
func TestPathsInTheConfigurationAreRelativeForCallers(t *testing.T) {
	w := newFakeBackend()
	base := t.TempDir()
	dir, link := filepath.Join(base, "tools"), filepath.Join(base, "link")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Symlink(dir, link)); err != nil {
		t.Fatal(err)
	}
	text := "no " + dir + "/data/x.csv, " + dir + ": " + link + "/y (" + dir + ") '" + dir + "' " + dir + "-old/z a" + dir + "/q " + dir + "/"
	want := "no data/x.csv, .: y (.) '.' " + dir + "-old/z a" + dir + "/q ."
	w.do["look up"] = func(context.Context, *adapters.Call) (any, error) { return nil, &adapters.Fault{Message: text} }
	const step = "step \"s\" {\nfake { do = \"look up\" }\n}\n"
	h := newHost(t, tool("fails", `fake { do = "look up" }`)+tool("partly", "step \"s\" {\non_error = \"continue\"\nfake { do = \"look up\" }\n}\ntext = \"x\"")+
		tool("words", "fake { do = \"look up\" }\nerror = \"${error.message}\"")+tool("keyed", keyed+`fake { do = "look up" }`)+
		"resource \"r\" {\nuri = \"x://r\"\n"+step+"text = \"x\"\n}\nprompt \"p\" {\ndescription = \"P.\"\n"+step+"message \"user\" { text = \"x\" }\n}\n", w.use, inDir(link))
	req := func(name string) *mcp.CallRequest {
		r := &mcp.CallRequest{Name: name, Caller: &mcp.Caller{Revision: mcp.Revision20260728, Subject: "ann"}}
		if name == "keyed" {
			r.Arguments = []byte(`{"idempotency_key":"k"}`)
		}
		return r
	}
	_, ofResource := h.ReadResource(t.Context(), req("x://r"))
	_, ofPrompt := h.GetPrompt(t.Context(), req("p"))
	said := []string{ofResource.Error(), ofPrompt.Error()}
	for _, name := range []string{"fails", "partly", "words", "keyed", "keyed"} {
		out, err := requestTool(t.Context(), h, req(name))
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, string(out.AppendResult(nil, mcp.Revision20260728)))
	}
	for i, got := range said {
		if !strings.Contains(got, want) {
			t.Errorf("%d: got %s\nwant %s", i, got, want)
		}
	}
}
