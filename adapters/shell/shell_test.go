package shell

import (
	"context"
	"errors"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
)

func newSet() adapters.Set {
	return adapters.Set{Adapters: []adapters.Adapter{newAdapter(testABI)}, Connectors: Connectors()}
}

// newTool returns a configuration with one tool with the inputs s, t (nullable strings), n, list and o, and a shell block
// with the given text.
func newTool(block string) adaptertest.Source { return newToolWithConnection("", "", block) }

// newToolWithConnection is newTool with a label that names a connection, and the declaration of the connection.
func newToolWithConnection(declared, label, block string) adaptertest.Source {
	return adaptertest.Source{Set: newSet(), HCL: declared + `
tool "t" {
  description = "Runs something for a test."
  input "s" { type = optional(string, "") }
  input "t" { type = optional(string) }
  input "n" { type = optional(integer, 0) }
  input "list" { type = optional(list(string), []) }
  input "o" { type = optional(object({ a = integer, b = string })) }
  shell ` + label + ` {
` + block + `
  }
  text = "done ${length("${input.s}${coalesce(input.t, "")}${input.n}")} ${length(input.list)} ${input.o == null}"
}`}
}

// runBlock makes one call of a block.
func runBlock(t *testing.T, block, arguments string) (map[string]any, error) {
	t.Helper()
	return adaptertest.Bind(t, newTool(block)).Do(t.Context(), arguments)
}

func mustRun(t *testing.T, block, arguments string) map[string]any {
	t.Helper()
	out, err := runBlock(t, block, arguments)
	if err != nil {
		t.Fatalf("%s\n%s: %v", block, arguments, err)
	}
	return out
}

// runFault makes a call that must end in a fault.
func runFault(t *testing.T, block, arguments string) *adapters.Fault {
	t.Helper()
	return callFault(t, adaptertest.Bind(t, newTool(block)), arguments)
}

func callFault(t *testing.T, b *adaptertest.BoundTool, arguments string) *adapters.Fault {
	t.Helper()
	out, err := b.Do(context.WithoutCancel(t.Context()), arguments)
	var f *adapters.Fault
	if !errors.As(err, &f) {
		t.Fatalf("not a fault: %v (output %v)", err, out)
	}
	adaptertest.CheckFault(t, f)
	return f
}
