package runtime

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"hatchel/hcl/schema"
)

const offered = `
tool "t" {
  description = "A tool."
  text        = "x"
}
prompt "p" {
  description = "A prompt."
  message "user" { text = "x" }
}
prompt "q" {
  description = "A prompt."
  message "user" { text = "x" }
}
resource "r" {
  uri  = "doc://r"
  text = "x"
}
resource "f" {
  uri_template = "doc://{x}"
  text         = "${input.x}"
}
toolset "s" { tools = ["t"] }
`

func TestAReportNamesAllThatAConfigurationOffers(t *testing.T) {
	h := newHost(t, offered)
	if got := h.Status().Last.Added; !slices.Equal(got, []string{"t", "prompt p", "prompt q", "resource f", "resource r", "toolset s"}) {
		t.Errorf("added %q", got)
	}
	r := h.Readiness(t.Context())
	if r.Tools != 1 || r.Prompts != 2 || r.Resources != 2 {
		t.Errorf("ready with %d tools, %d prompts and %d resources", r.Tools, r.Prompts, r.Resources)
	}
	changed := strings.NewReplacer(
		`prompt "q"`, `prompt "new"`, `"doc://r"`, `"doc://other"`, `toolset "s" { tools = ["t"] }`, "# moved\n\ntoolset \"s\" { prompts = [\"p\"] }",
	).Replace(offered)
	load(t, h, changed)
	last := h.Status().Last
	for _, c := range []struct {
		what      string
		got, want []string
	}{
		{"added", last.Added, []string{"prompt new"}},
		{"changed", last.Changed, []string{"resource r", "toolset s"}},
		{"removed", last.Removed, []string{"prompt q"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s %q, want %q", c.what, c.got, c.want)
		}
	}
	if last.Unchanged != 3 {
		t.Errorf("%d are unchanged", last.Unchanged)
	}
	load(t, h, "# a line above\n"+changed)
	if last := h.Status().Last; len(last.Changed) != 0 || last.Unchanged != 6 {
		t.Errorf("where things stand is taken for what they are: %+v", last)
	}
	if diags := h.Load(t.Context(), fileSystem("tool {")); !diags.HasErrors() || h.Status().Last.Unchanged != 6 {
		t.Errorf("a failed load reports %+v", h.Status().Last)
	}
}

func TestWhatPromptsAndResourcesSendIsProbedToo(t *testing.T) {
	w := newFakeBackend()
	w.probe = func() (*schema.Type, error) { return nil, errors.New("there is no such table") }
	h := newHost(t, `prompt "p" {
  description = "A prompt."
  fake { value = 1 }
  message "user" { text = "x" }
}
resource "r" {
  uri_template = "doc://{x}"
  input "x" {
    type = string
    complete {
      fake { value = [input.x] }
    }
  }
  fake { value = input.x }
}`, w.use)
	got := printDiagnostics(h.Current().Probe(t.Context()))
	for _, line := range []string{"tools.hcl:3:3", "tools.hcl:11:7", "tools.hcl:14:3"} {
		if !strings.Contains(got, line+": error: Backend refused") {
			t.Errorf("nothing is said of %s:\n%s", line, got)
		}
	}
}
