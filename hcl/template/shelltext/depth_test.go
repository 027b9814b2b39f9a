package shelltext

import (
	"strings"
	"testing"

	"hatchel/hcl/template"
)

func TestScriptsNestOnlySoDeep(t *testing.T) {
	for script, refused := range map[string]bool{
		strings.Repeat("$(", 50) + "ls" + strings.Repeat(")", 50):     false,
		strings.Repeat("$(", 5000) + "ls" + strings.Repeat(")", 5000): true,
	} {
		_, diags := CompileScript(&template.Tree{Nodes: []template.Node{&template.Text{Value: script}}}, Inputs{})
		if got := diags.HasErrors() && strings.Contains(diags.Error(), "nested too deeply"); got != refused {
			t.Errorf("%d bytes: refused %v (%v)", len(script), got, diags)
		}
	}
}
