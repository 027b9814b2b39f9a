package shell

import (
	"context"
	"errors"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
)

func set() adapters.Set {
	return adapters.Set{Adapters: []adapters.Adapter{newAdapter(confinedBy)}, Connectors: Connectors()}
}

// tool is a configuration with one tool that has the inputs s, t (strings, may be null), n, list and o, and the given text in its shell block.
func tool(block string) adaptertest.Source { return toolOver("", "", block) }

// toolOver is a tool whose block names a connection, which is declared before it.
func toolOver(declared, label, block string) adaptertest.Source {
	return adaptertest.Source{Set: set(), HCL: declared + `
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

// run makes one call of a block.
func run(t *testing.T, block, arguments string) (map[string]any, error) {
	t.Helper()
	return adaptertest.Bind(t, tool(block)).Do(t.Context(), arguments)
}

func must(t *testing.T, block, arguments string) map[string]any {
	t.Helper()
	out, err := run(t, block, arguments)
	if err != nil {
		t.Fatalf("%s\n%s: %v", block, arguments, err)
	}
	return out
}

// fault makes a call that must end in a Fault.
func fault(t *testing.T, block, arguments string) *adapters.Fault {
	t.Helper()
	return faultOf(t, adaptertest.Bind(t, tool(block)), arguments)
}

func faultOf(t *testing.T, b *adaptertest.Bound, arguments string) *adapters.Fault {
	t.Helper()
	out, err := b.Do(context.WithoutCancel(t.Context()), arguments)
	var f *adapters.Fault
	if !errors.As(err, &f) {
		t.Fatalf("not a fault: %v (output %v)", err, out)
	}
	adaptertest.CheckFault(t, f)
	return f
}
